"""A problem whose best score is known."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from experiments.general.problems.base import Instance, noisy_instance

TIED = 1e-9
"""Difference between scores that are equal but for rounding, relative to their size."""


class Known(NamedTuple):
    """A problem whose best score is known."""

    budget: int
    """Number of evaluations after which a user would stop."""
    make: Callable[[int], Instance]
    """The instance with a number."""
    best: Callable[[int], float]
    """Its best score."""


def enumerated(budget: int, make: Callable[[int], Instance]) -> Known:
    """A problem that is small enough to score every point."""

    @cache
    def best(number: int) -> float:
        instance = make(number)
        return max(float(instance.scores(points).max()) for points in instance.space.everything())

    return Known(budget, make, best)


def noisy(known: Known) -> Known:
    """The same problem with noise."""
    return known._replace(make=lambda number: noisy_instance(known.make(number), number))


def found(score: float, best: float) -> bool:
    """Whether a score is the best one."""
    return score >= best - TIED * max(1.0, abs(best))
