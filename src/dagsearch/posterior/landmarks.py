r"""Scores by landmarks, at a constant cost per reward: g is approximated by its values at some leaves.

==========  ================  ==============  ====================================================
symbol      code              shape           meaning
==========  ================  ==============  ====================================================
Z           anchors           ``(n,)``        landmarks: leaves that explain the others best
φ(x)        whitened          ``(n,)``        features (Nyström): φ(x)·φ(y) approximates Σ_xy
w           N(ω, S)           ``(n,)``        weights, N(0, I) a priori
d(x)        Σ_xx − φ·φ        —               variance that the landmarks do not explain, kept
                                              as an offset of x alone
==========  ================  ==============  ====================================================

So g(x) = φ(x)·w + an offset of variance d(x), as in :mod:`dagsearch.posterior.weights` but with offsets that
differ, and a reward is the same rank-1 step of ω and S. Every variance is the exact one a priori; what is
lost is the part of the correlations that no landmark explains.
"""

import math
from collections.abc import Sequence

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.covariances.rows import Rows
from dagsearch.posterior.base import MeanFunction, SharedBelief, evenly
from dagsearch.posterior.belief import WeightBelief
from dagsearch.posterior.cholesky import GrowingCholesky
from dagsearch.posterior.function import AnchoredScores
from dagsearch.posterior.weights import LinearScores
from dagsearch.problem import State

# Largest number of landmarks, and the part of the largest variance below which another one is useless.
_MOST_LANDMARKS, _NOTHING = 384, 1e-6
# Largest number of leaves that landmarks are chosen from.
_MOST_CANDIDATES = 1500


def greedy_landmarks(covariance: Covariance, rows: Rows) -> IntArray:
    """Indices of the rows that explain the others best: each time the least explained (pivoted Cholesky).

    If there are very many rows, it looks at some of them.
    """
    some = evenly(len(rows), _MOST_CANDIDATES)
    rows = rows[some]
    left = covariance.variances(rows)
    scale = float(left.max(initial=0.0))
    smallest = _NOTHING * scale
    columns = np.zeros((min(_MOST_LANDMARKS, len(rows)), len(rows)))
    chosen: list[int] = []
    while len(chosen) < len(columns) and left.max() > smallest:
        pivot = int((left / scale).round(9).argmax())  # many are alike, and rounding must not decide
        count = len(chosen)
        across = covariance.cross(rows, covariance.prepared(rows[pivot : pivot + 1]))[:, 0]
        across = across - columns[:count, pivot] @ columns[:count]
        columns[count] = across / math.sqrt(left[pivot])
        left = np.maximum(left - columns[count] ** 2, 0.0)
        left[pivot] = 0.0
        chosen.append(pivot)
    return some[np.array(chosen, dtype=np.int64)]


class InducedScores(LinearScores, AnchoredScores):
    """Gaussian regression on landmarks: O(m²) per reward, for any number of rewards.

    Parameters
    ----------
    covariance, noise, mean
        As for :class:`dagsearch.posterior.FunctionScores`.
    rows : Rows
        States to choose the landmarks from.
    """

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction, rows: Rows) -> None:
        super().__init__(covariance, noise, mean)
        landmarks = rows[greedy_landmarks(covariance, rows)]
        self._anchors = covariance.prepared(landmarks)
        matrix = covariance.cross(landmarks, self._anchors)
        matrix[np.diag_indices(len(matrix))] += 1e-10 * float(matrix.diagonal().max(initial=1e-300))
        self._factor = GrowingCholesky.of(matrix)
        self._belief = WeightBelief()
        self._belief.grow(len(landmarks))
        self._weights = self._belief.arrays.mean  # ω

    @classmethod
    def of(cls, other: AnchoredScores, covariance: Covariance, noise: float) -> "InducedScores":
        """A model without nodes; landmarks are leaves that have a reward in the other."""
        return cls(covariance, noise, other.prior_mean, other._rows[other._rewarded])

    def _features(self, cross: FloatArray, shared: FloatArray) -> tuple[FloatArray, FloatArray]:
        """φ, one column each, and d of rows."""
        features = self._factor.whiten(cross)
        if not np.all(np.isfinite(features)):
            self._refuse()
        own = shared + self.covariance.private - np.einsum("ij,ij->j", features, features)
        return features, np.maximum(own, 0.0)

    def _learn(self, node: int, reward: float, variance: float, fantasy: bool = False) -> None:
        super()._learn(node, reward, variance, fantasy)
        self._solved = None

    def _row(self, node: int) -> tuple[IntArray, FloatArray, float]:
        features, own = self._features(*self._related(self._rows[[node]]))
        return np.arange(len(features)), features[:, 0], float(own[0])

    def _shared(self, cross: FloatArray, shared: FloatArray) -> SharedBelief:
        features, own = self._features(cross, shared)
        mean, cov, recent = self._belief.arrays
        aside = recent @ features
        variance = np.einsum("ij,ij->j", features, cov @ features) - (aside * aside).sum(axis=0)
        return mean @ features, np.maximum(variance, 0.0), own

    def _joint(self, nodes: IntArray, states: Sequence[State]) -> SharedBelief:
        features, own = self._features(*self._related(self._rows_of(nodes, states)))
        return *self._belief.joint(features.T), own
