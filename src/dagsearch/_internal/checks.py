"""Checks of arguments that must be numbers."""

import math
import numbers
from typing import Any


def is_finite(value: Any) -> bool:
    """Whether ``value`` is a finite real number."""
    return isinstance(value, numbers.Real) and math.isfinite(value)


def is_whole(value: Any) -> bool:
    """Whether ``value`` is a whole number and not a bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)
