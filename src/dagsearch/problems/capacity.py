"""Which choices fit into a capacity."""

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import FloatArray
from dagsearch.errors import ProblemError
from dagsearch.problems.ground import Choice, Subset


class Capacity:
    """Weights of choices, and the limit of what may be chosen together.

    Parameters
    ----------
    capacity : (weights, limit)
        Weight of every feature, not negative, and the largest total weight.
    n : int
        Number of features.
    free : mapping
        What can be chosen, and the features of each choice.
    fixed : frozenset
        Features that are always chosen.
    """

    def __init__(
        self, capacity: tuple[ArrayLike, float], n: int, free: Mapping[Choice, Subset], fixed: Subset
    ) -> None:
        weights, limit = np.asarray(capacity[0], dtype=np.float64), capacity[1]
        if weights.shape != (n,) or not np.all(np.isfinite(weights)) or np.any(weights < 0.0):
            raise ValueError(f"capacity needs the weights of all {n} features, finite and not negative")
        if not is_finite(limit):
            raise ValueError(f"the limit of the capacity must be a finite number, got {limit!r}")
        self._features = weights
        self.weights: FloatArray = np.array([weights[list(members)].sum() for members in free.values()])
        """Weight of each choice."""
        # What fits exactly must not fail by rounding.
        self.limit = float(limit) + 1e-9 * max(abs(float(limit)), float(weights.sum()))
        self._number = {choice: number for number, choice in enumerate(free)}
        self._choices = list(free)
        if self.weight(fixed) > self.limit:
            raise ProblemError(f"what is fixed weighs {self.weight(fixed):g}, more than the limit {limit!r}")

    def weight(self, chosen: Collection[int]) -> float:
        """Total weight of features."""
        return float(self._features[sorted(chosen)].sum())

    def largest(self, fixed: Subset) -> int:
        """The largest number of choices that fit together."""
        totals = self.weight(fixed) + np.cumsum(np.sort(self.weights))
        return int(np.count_nonzero(totals <= self.limit))

    def fitting(self, chosen: Subset, missing: Collection[Choice], needed: int) -> list[Choice]:
        """The choices that fit in addition to a set, such that ``needed`` of them, at least one, fit."""
        numbers = np.array([self._number[choice] for choice in missing], dtype=np.int64)
        weights = self.weights[numbers]
        lightest = np.sort(weights)[: max(needed, 1)]
        if lightest.size < needed:
            return []
        # With one of the lightest, the others are needed besides; with a heavier one, all but the last.
        others = lightest.sum() - np.minimum(weights, lightest[-1]) if weights.size else weights
        slack = self.limit - self.weight(chosen)
        return [self._choices[number] for number in numbers[weights + others <= slack].tolist()]

    def share(self, chosen: Subset, fitting: Collection[Choice], most: int) -> float:
        """Estimated probability that random play adds a choice that fits; ``most`` can be added."""
        weights = self.weights[[self._number[choice] for choice in fitting]]
        slack = self.limit - self.weight(chosen)
        return min(1.0, slack / max(float(weights.sum()), 1e-300), most / max(len(fitting), 1))
