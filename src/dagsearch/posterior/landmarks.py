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

from dagsearch._internal import linalg
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.covariances.rows import Rows
from dagsearch.posterior.anchors import AT_ONCE, AnchoredScores
from dagsearch.posterior.base import MeanFunction, evenly, offsets, prior_means
from dagsearch.posterior.cholesky import GrowingCholesky
from dagsearch.problem import State

# Largest number of landmarks, and the part of the largest variance below which another one is useless.
_MOST_LANDMARKS, _NOTHING = 384, 1e-6
# Largest number of leaves that landmarks are chosen from.
_MOST_CANDIDATES = 1500


def greedy_landmarks(covariance: Covariance, rows: Rows) -> IntArray:
    """Indices of the rows that explain the others best: each time the least explained (pivoted Cholesky).

    Of very many rows, only some are looked at.
    """
    some = evenly(len(rows), _MOST_CANDIDATES)
    rows = rows[some]
    left = covariance.variances(rows)
    smallest = _NOTHING * float(left.max(initial=0.0))
    columns = np.zeros((min(_MOST_LANDMARKS, len(rows)), len(rows)))
    chosen: list[int] = []
    while len(chosen) < len(columns) and left.max() > smallest:
        pivot = int(left.argmax())
        count = len(chosen)
        across = covariance.cross(rows, covariance.prepared(rows[pivot : pivot + 1]))[:, 0]
        across = across - columns[:count, pivot] @ columns[:count]
        columns[count] = across / math.sqrt(left[pivot])
        left = np.maximum(left - columns[count] ** 2, 0.0)
        left[pivot] = 0.0
        chosen.append(pivot)
    return some[np.array(chosen, dtype=np.int64)]


class InducedScores(AnchoredScores):
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
        self._landmarks = landmarks = rows[greedy_landmarks(covariance, rows)]
        self._anchors.append(covariance.prepared(landmarks))
        matrix = covariance.cross(landmarks, self._anchors.rows)
        matrix[np.diag_indices(len(matrix))] += 1e-10 * float(matrix.diagonal().max(initial=1e-300))
        self._factor = GrowingCholesky.of(matrix)
        self._weights = np.zeros(len(landmarks))  # ω
        self._spread = np.eye(len(landmarks))  # S
        # S, and what is known of the nodes, before fantasies; None if there are none.
        self._before: tuple[FloatArray, list[FloatArray]] | None = None

    def refitted(self, covariance: Covariance, noise: float, states: Sequence[State]) -> "InducedScores":
        # Landmarks are chosen anew, from the leaves that are rewarded by now.
        leaves = np.flatnonzero(np.isfinite(self._observed_noise[: self._nodes]))
        rows = self._rows.rows[leaves] if leaves.size > len(self._landmarks) else self._landmarks
        fresh = InducedScores(covariance, noise, self._prior_mean, rows)
        fresh._adopt_nodes(self)
        return fresh

    # Beliefs ------------------------------------------------------------------------------------------

    def _node_features(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """φ and d of tracked nodes."""
        features, own = self._features(self._rows.rows[nodes])
        if not np.all(np.isfinite(features)):
            self._refuse(nodes[0])
        return features, own

    def _features(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """φ and d of rows."""
        cross, prior = self._related(rows)
        features = self._factor.whiten(cross)
        own = prior - np.einsum("ij,ij->j", features, features)
        return features, np.maximum(own, 0.0)

    def _node_moments(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        features, own = self._node_features(nodes)
        kappa, offset = offsets(self._observed_noise[nodes], own)
        mean = (1.0 - kappa) * (self._weights @ features) + kappa * self._observed[nodes]
        spread = np.einsum("ij,ij->j", features, self._spread @ features)
        return self._prior[nodes] + mean, (1.0 - kappa) ** 2 * spread + offset

    def _explained(self, whitened: FloatArray) -> FloatArray:
        return np.asarray(
            np.einsum("ij,ij->j", whitened, whitened)
            - np.einsum("ij,ij->j", whitened, self._spread @ whitened)
        )

    def joint(self, nodes: Sequence[int], states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        places = np.asarray(nodes, dtype=np.int64)
        rows = self.covariance.represent(states) if len(states) > 0 else self._rows.rows[:0]
        tracked, fresh = self._features(self._rows.rows[places]), self._features(rows)
        features, own = (np.concatenate([a, b], axis=-1) for a, b in zip(tracked, fresh, strict=True))
        noise = np.concatenate([self._observed_noise[places], np.full(len(states), np.inf)])
        kappa, offset = offsets(noise, own)
        mean = np.concatenate([self._prior[places], prior_means(self._prior_mean, states)])
        mean += (1.0 - kappa) * (self._weights @ features)
        mean[: len(places)] += kappa[: len(places)] * self._observed[places]
        joint = features.T @ self._spread @ features * ((1.0 - kappa)[:, None] * (1.0 - kappa))
        joint[np.diag_indices(len(joint))] += offset
        return mean, joint

    # Rewards ------------------------------------------------------------------------------------------

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        assert self._before is None, "discard fantasies first"
        self._learn(node, reward, self._noise_of(noise))

    def _learn(self, node: int, reward: float, variance: float) -> None:
        """Learn what a reward adds on φ·w; a fantasy moves no mean, not even by rounding."""
        features, own = self._node_features(np.array([node]))
        phi = features[:, 0]
        precision, information = self._merge(node, reward, variance, float(own[0]))
        q = self._spread @ phi
        shrunk = 1.0 + precision * float(phi @ q)
        if self._before is None:
            self._weights += q * (information - precision * float(phi @ self._weights)) / shrunk
        u = q * math.sqrt(precision / shrunk)
        self._spread -= np.outer(u, u)
        self._changed()

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        assert np.all(np.isinf(self._observed_noise[: self._nodes])), "a fresh model is needed"
        self._learn_merged(*self._merged(nodes, rewards, noises))

    def _learn_merged(self, leaves: IntArray, residuals: FloatArray, noises: FloatArray) -> None:
        """Learn r̄ and λ̄ of distinct leaves; there must be no rewards before."""
        self._observed[leaves], self._observed_noise[leaves] = residuals, noises
        precision, information = np.eye(len(self._weights)), np.zeros(len(self._weights))
        for some in np.array_split(leaves, max(1, leaves.size // AT_ONCE)):
            features, own = self._node_features(some)
            weighted = features / (own + self._observed_noise[some])
            precision += weighted @ features.T
            information += weighted @ self._observed[some]
        self._spread = _inverse(precision)
        self._weights = self._spread @ information
        self._changed()

    def fantasise(self, nodes: Sequence[int]) -> None:
        if self._before is None:
            self._before = self._spread.copy(), self._snapshot()
        for node in nodes:  # a reward equal to the mean
            self._learn(node, self._node_moments(np.array([node]))[0].item(), self.noise)

    def discard(self) -> None:
        if self._before is not None:
            self._spread, nodes = self._before
            self._restore(nodes)
            self._before = None
            self._changed()


def _inverse(matrix: FloatArray) -> FloatArray:
    """Inverse of a positive definite matrix, by LAPACK."""
    factor, _ = linalg.dpotrf(matrix, lower=1)
    lower = linalg.dpotri(factor, lower=1)[0]
    inverse = np.tril(lower) + np.tril(lower, -1).T
    return np.ascontiguousarray(inverse)
