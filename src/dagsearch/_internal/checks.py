"""Checks of arguments that must be numbers, seeds, or yes and no."""

import math
import numbers
from typing import Any

import numpy as np

from dagsearch._internal.texts import shown

LARGEST_WHOLE = 2**63 - 1
"""Larger whole numbers are refused, so that every stored one can be read; ``sys.maxsize`` is allowed."""


def is_finite(value: Any) -> bool:
    """Whether ``value`` is a real number that is finite as a float."""
    try:
        return isinstance(value, numbers.Real) and math.isfinite(value)
    except OverflowError:  # a whole number or a fraction that is too large for a float
        return False


def is_whole(value: Any) -> bool:
    """Whether ``value`` is a whole number of at most :data:`LARGEST_WHOLE` in size, and not a bool."""
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return whole and -LARGEST_WHOLE <= value <= LARGEST_WHOLE


def is_count(value: Any) -> bool:
    """Whether ``value`` is a whole number of at least 0."""
    return is_whole(value) and bool(value >= 0)


def is_budget(value: Any) -> bool:
    """Whether ``value`` is a positive whole number, such as a budget."""
    return is_whole(value) and bool(value >= 1)


def is_positive(value: Any) -> bool:
    """Whether ``value`` is a finite number above 0."""
    return is_finite(value) and bool(value > 0.0)


def check(holds: bool, name: str, what: str, value: Any) -> None:
    """Raise unless the condition ``holds``: the argument ``name`` must be ``what``."""
    if not holds:
        raise ValueError(f"{name} must be {what}, got {shown(value)}")


def checked_flag(name: str, value: Any) -> bool:
    """The argument ``name`` as a bool; raises unless it is one."""
    check(isinstance(value, bool | np.bool_), name, "True or False", value)
    return bool(value)


def seed_of(seed: Any) -> int:
    """The argument ``seed`` as a number: itself, drawn from a generator, or unpredictable for ``None``."""
    if seed is None or isinstance(seed, np.random.Generator):
        return int(np.random.default_rng(seed).integers(LARGEST_WHOLE))
    check(is_count(seed), "seed", "a whole number of at least 0, a numpy Generator or None", seed)
    return int(seed)


def checked_constant(name: str, value: Any) -> float:
    """A constant of a method as a float; raises unless it is finite and not negative."""
    check(is_finite(value) and value >= 0.0, name, "finite and not negative", value)
    return float(value)
