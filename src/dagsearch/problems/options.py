"""Checked options, and the base of problems that choose from one list."""

import hashlib
import json
import re
from collections.abc import Hashable, Iterable, Sequence
from enum import Enum
from itertools import islice
from typing import Any, Final

import numpy as np

from dagsearch.errors import ProblemError
from dagsearch.problem import MOST_ACTIONS
from dagsearch.space.chosen import Options


class _End(Enum):
    END = "end"

    def __repr__(self) -> str:
        return "END"


END: Final = _End.END
"""The action that ends a sequence of free length."""


def checked_options(what: str, options: Iterable[Any]) -> Options:
    """The options as a tuple, or an error about what is wrong with them; ``what`` is their name in it."""
    found = as_tuple(what, options)
    if not found:
        raise ProblemError(f"{what} are empty: there must be at least one")
    seen: set[Hashable] = set()
    for option in found:
        try:
            twice = option in seen
        except TypeError as error:
            raise ProblemError(
                f"{what} contain {option!r}, which is not hashable ({error}): use numbers, text or tuples as "
                "keys, and look up the objects in the reward"
            ) from error
        if twice:
            raise ProblemError(f"{what} contain {option!r} twice, or something equal to it")
        seen.add(option)
    return found


def as_tuple(what: str, options: Iterable[Any]) -> Options:
    """The options as a tuple; raises if they have no order or are obviously a mistake."""
    if isinstance(options, np.ndarray):
        return tuple(options.tolist())
    if isinstance(options, (set, frozenset)):
        raise ProblemError(f"{what} must be ordered, but are a {type(options).__name__}: pass a list")
    if isinstance(options, str):
        raise ProblemError(f"{what} are the text {options!r}: pass a list, for example {list(options)!r}")
    try:
        found = tuple(islice(options, MOST_ACTIONS + 1))
    except TypeError as error:
        raise ProblemError(f"{what} must be a list, got {options!r}") from error
    if len(found) > MOST_ACTIONS:
        raise ProblemError(
            f"{what} are more than {MOST_ACTIONS:,}, or endless: split the choice into several"
        )
    # JSON has no NumPy numbers.
    is_number = (np.integer, np.floating, np.bool_)
    return tuple([option.item() if isinstance(option, is_number) else option for option in found])


def checked_reward_function(reward: Any) -> Any:
    """The reward, or a function that raises an error if there is none."""
    return _no_reward if reward is None else checked_function("reward", "a leaf", reward)


def checked_function(name: str, argument: str, function: Any) -> Any:
    """The argument ``name`` if it is callable or ``None``; raises otherwise."""
    if function is not None and not callable(function):
        raise ProblemError(f"{name} must be a function of {argument}, got {function!r}")
    return function


def _no_reward(leaf: Any) -> float:
    raise ProblemError(
        "the problem has no reward: pass reward=function, or evaluate leaves yourself with ask and tell"
    )


def identified(parts: Sequence[Any], reward: Any, allowed: Any = None) -> str:
    """A digest of parts, without memory addresses, and the ``identity`` of functions."""
    text = json.dumps([re.sub(r" at 0x[0-9a-fA-F]+", "", repr(part)) for part in parts])
    own = hashlib.sha256(text.encode()).hexdigest() if parts else ""
    told = [one.identity() for one in (allowed, reward) if hasattr(one, "identity")]
    return " ".join([own, *([] if allowed is None else ["allowed"]), *told]).lstrip()


class ListedProblem:
    """Base of problems that choose from one list of items, with the user's functions."""

    def __init__(self, items: Sequence[Any], leaf: str, reward: Any, allowed: Any = None) -> None:
        self._items = items
        self._number = {item: number for number, item in enumerate(items)}
        self._reward = checked_reward_function(reward)
        self.allowed = checked_function("allowed", leaf, allowed)
        """Whether a leaf may be evaluated; ``None`` if all may."""

    def reward(self, leaf: Any) -> float:
        """The user's function."""
        return self._reward(leaf)  # type: ignore[no-any-return]

    def encode(self, state: Any) -> Any:
        """The numbers of the items, for storage."""
        return [self._number[item] for item in state]

    def decode(self, encoded: Any) -> Any:
        """The inverse of :meth:`encode`."""
        return tuple([self._items[number] for number in encoded])
