"""States as JSON and back, without anything executable.

JSON has neither tuples nor sets, of which states are made: both become objects with one tagged entry.
"""

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from dagsearch.errors import ProblemError
from dagsearch.problem import Problem, State
from dagsearch.space import Space

_TUPLE, _SET = "tuple", "set"
# Python neither writes nor reads whole numbers of many thousand digits, other readers none beyond floats.
_LARGEST_BITS = 1024


def to_json(value: Any) -> Any:
    """A value made of numbers, text, tuples and frozensets, in types that JSON has."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return to_json(value.item())
    # A named tuple would come back as a plain one.
    if type(value) is tuple:
        return {_TUPLE: [to_json(part) for part in value]}
    if isinstance(value, frozenset):
        parts = [to_json(part) for part in value]
        return {_SET: sorted(parts, key=repr) if any(map(_lacks_order, parts)) else sorted(parts)}
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be written as JSON")


def _lacks_order(part: Any) -> bool:
    """Whether the part cannot be relied on to compare with others: only whole numbers can."""
    return not isinstance(part, int)


def from_json(value: Any) -> Any:
    """The inverse of :func:`to_json`."""
    if isinstance(value, dict):
        ((tag, parts),) = value.items()
        return {_TUPLE: tuple, _SET: frozenset}[tag](from_json(part) for part in parts)
    return value


def note_to_json(value: Any) -> Any:
    """A note in types that JSON has; never fails, because a reward may come with the note.

    NumPy's numbers and arrays become numbers and lists, tuples and sets become lists, and keys become text.
    Whole numbers of more than 1,024 bits become hexadecimal text. Everything else, such as numbers that are
    not finite, becomes its ``repr``.
    """
    try:
        return _plain(value)
    except Exception as error:
        return f"a note of type {type(value).__name__} that cannot be written ({type(error).__name__})"


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _LARGEST_BITS else hex(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(part) for part in value]
    return repr(value)


class StateCodec:
    """The problem's ``encode`` and ``decode``, or :func:`to_json` and :func:`from_json`.

    The constructor raises :class:`dagsearch.errors.ProblemError` if encoding and decoding changes the root or
    a leaf.
    """

    def __init__(self, problem: Problem | Space) -> None:
        space = Space.of(problem)
        self._encode: Callable[[State], Any] = space.encode or to_json
        self.decode: Callable[[Any], State] = space.decode or from_json
        key = space.key
        for state in (space.problem.root(), space.random_leaves[0]):
            if key(self.decode(self.encode(state))) != key(state):
                raise ProblemError(
                    f"decode(encode(state)) is another state than {state!r}: correct one of the two methods"
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
                "which returns types that JSON has, and decode(encoded)"
            ) from error
