"""Checks of arguments that must be numbers."""

import math
import numbers
from typing import Any

LARGEST_BUDGET = 2**63 - 1
"""Largest number of evaluations that can be asked for; ``sys.maxsize`` is allowed."""


def is_finite(value: Any) -> bool:
    """Whether ``value`` is a finite real number that a float can hold."""
    try:
        return isinstance(value, numbers.Real) and math.isfinite(value)
    except OverflowError:  # a whole number of hundreds of digits
        return False


def is_budget(value: Any) -> bool:
    """Whether ``value`` is a number of evaluations that a search can be given."""
    return is_whole(value) and 1 <= value <= LARGEST_BUDGET


def is_whole(value: Any) -> bool:
    """Whether ``value`` is a whole number and not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def shown(value: Any, length: int = 80) -> str:
    """The ``repr`` of a value for an error: on one line, of at most ``length`` characters."""
    try:
        text = repr(value)
    except Exception as error:  # whole numbers of many thousand digits, or an object of the user's
        text = f"an object of type {type(value).__name__} that has no text ({type(error).__name__})"
    return text if len(text) <= length else f"{text[: length - 1]}…"
