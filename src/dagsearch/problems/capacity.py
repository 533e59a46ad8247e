"""Which choices fit into a capacity."""

from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import FloatArray, IntArray
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
        if self.weight(fixed) > self.limit:
            raise ProblemError(f"what is fixed weighs {self.weight(fixed):g}, more than the limit {limit!r}")

    def weight(self, chosen: Collection[int]) -> float:
        """Total weight of features."""
        return float(self._features[sorted(chosen)].sum())

    def largest(self, fixed: Subset) -> int:
        """The largest number of choices that fit together."""
        totals = self.weight(fixed) + np.cumsum(np.sort(self.weights))
        return int(np.count_nonzero(totals <= self.limit))

    def fitting(self, chosen: Subset, missing: IntArray, needed: int) -> IntArray:
        """Numbers of the choices that fit in addition to a set, so that ``needed`` of them fit together.

        ``missing`` are the numbers of the choices that are not made yet.
        """
        weights, slack = self.weights[missing], self.limit - self.weight(chosen)
        if needed <= 1:
            return missing[weights <= slack]
        lightest = np.sort(weights)[:needed]
        if lightest.size < needed:
            return missing[:0]
        # With one of the lightest, the others are needed besides; with a heavier one, all but the last.
        others = lightest.sum() - np.minimum(weights, lightest[-1])
        return np.asarray(missing[weights + others <= slack])

    def share(self, chosen: Subset, fitting: IntArray, most: int) -> float:
        """Estimated probability that random play adds a choice that fits; ``most`` can be added."""
        slack = self.limit - self.weight(chosen)
        total = float(self.weights[fitting].sum())
        return min(1.0, slack / max(total, 1e-300), most / max(fitting.size, 1))
