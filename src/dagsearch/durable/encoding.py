"""States as JSON and back, without anything executable.

JSON knows neither tuples nor sets, and states are made of them: both become objects with one tagged entry.
"""

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from dagsearch._internal.walks import random_walk, shape_rng
from dagsearch.errors import ProblemError
from dagsearch.problem import Capabilities, Problem, State

_TUPLE, _SET = "tuple", "set"


def to_json(value: Any) -> Any:
    """Numbers, text, tuples, frozensets and their like as what JSON knows."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return to_json(value.item())
    # A named tuple would come back as a plain one.
    if type(value) is tuple:
        return {_TUPLE: [to_json(part) for part in value]}
    if isinstance(value, frozenset):
        parts = [to_json(part) for part in value]
        return {_SET: sorted(parts, key=repr) if any(map(_is_odd, parts)) else sorted(parts)}
    raise TypeError(f"{value!r} of type {type(value).__name__} is nothing that JSON knows")


def _is_odd(part: Any) -> bool:
    """Whether parts are not to be compared with each other."""
    return not isinstance(part, int)


def from_json(value: Any) -> Any:
    """What :func:`to_json` was given."""
    if isinstance(value, dict):
        ((tag, parts),) = value.items()
        return {_TUPLE: tuple, _SET: frozenset}[tag](from_json(part) for part in parts)
    return value


class StateCodec:
    """The problem's ``encode`` and ``decode``, or :func:`to_json` and :func:`from_json`.

    Raises :class:`dagsearch.errors.ProblemError` at once if they do not give back the root and a leaf.
    """

    def __init__(self, problem: Problem) -> None:
        capabilities = Capabilities(problem)
        self._encode: Callable[[State], Any] = capabilities.encode or to_json
        self.decode: Callable[[Any], State] = capabilities.decode or from_json
        key = capabilities.key
        leaf, _ = random_walk(problem, problem.root(), shape_rng())
        for state in (problem.root(), leaf):
            if key(self.decode(self.encode(state))) != key(state):
                raise ProblemError(
                    f"decode(encode(state)) is another state than {state!r}; a journal needs them to match"
                )

    def encode(self, state: State) -> Any:
        """The state as JSON."""
        try:
            encoded = self._encode(state)
            json.dumps(encoded, allow_nan=False)
            return encoded
        except (TypeError, ValueError) as error:
            raise ProblemError(
                f"the state {state!r} cannot be kept in a journal ({error}): give the problem encode(state), "
                "which returns what JSON knows, and decode"
            ) from error
