"""The paper's synthetic problem, section 4.1."""

import hashlib

import numpy as np

from dagsearch.covariances import FeatureMap, Overlap
from dagsearch.problems.ground import Subset
from dagsearch.problems.subsets import Subsets


class Synthetic(Subsets):
    """Subsets of ``m`` out of ``n`` whose rewards are drawn from the search's own model.

    The rewards of all leaves are jointly N(0, Σ) with Σ_xy = (|x ∩ y| + 1)/(m + 1): the sum of one weight per
    member and a constant, each N(0, 1/(m + 1)). So the optimum is known: the m largest weights.

    Parameters
    ----------
    n, m : int
        Size of the ground set and of the subsets.
    seed : int, numpy Generator or None
        Source of the rewards.

    Examples
    --------
    >>> problem = Synthetic(seed=0)
    >>> problem.reward(problem.best_state) == problem.best_reward
    True
    """

    def __init__(self, n: int = 15, m: int = 5, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(n, m, self._sum)
        draws = np.random.default_rng(seed).normal(scale=(m + 1) ** -0.5, size=n + 1)
        self._weights, self._constant = draws[:n], float(draws[n])
        self.best_state: Subset = frozenset(np.argsort(self._weights)[-m:].tolist())
        """The leaf with the largest reward."""
        self.best_reward = self._sum(self.best_state)
        """Its reward."""

    @property
    def covariance(self) -> FeatureMap:
        """The covariance that the rewards were drawn from."""
        return 1.0 / (self.k + 1) * Overlap.of(self, bias=1.0, private=0.0)

    def identity(self) -> str:
        """A digest of the rewards, so that a journal of other rewards is recognised."""
        return hashlib.sha256(np.append(self._weights, self._constant).tobytes()).hexdigest()

    def _sum(self, leaf: Subset) -> float:
        return float(self._weights[sorted(leaf)].sum()) + self._constant
