"""Values as JSON types, and back, without anything executable."""

from collections.abc import Set
from typing import Any

import numpy as np

_TUPLE, _SET = "tuple", "set"


def to_json(value: Any) -> Any:
    """A value made of numbers, text, tuples and frozensets, as JSON types."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return to_json(value.item())
    # A named tuple would come back as a plain one.
    if type(value) is tuple:
        return {_TUPLE: [to_json(part) for part in value]}
    if isinstance(value, Set):
        parts = [to_json(part) for part in value]
        comparable = all(isinstance(part, int) for part in parts)  # others may not be comparable
        return {_SET: sorted(parts, key=None if comparable else repr)}
    raise TypeError(f"{value!r} of type {type(value).__name__} cannot be written as JSON")


def from_json(value: Any) -> Any:
    """The inverse of :func:`to_json`."""
    if isinstance(value, dict):
        ((tag, parts),) = value.items()
        return {_TUPLE: tuple, _SET: frozenset}[tag](from_json(part) for part in parts)
    return value
