r"""Scores at a constant cost per reward, for any covariance, which approximate g by its values at landmarks.

==========  ================  ==============  ====================================================
symbol      code              shape           meaning
==========  ================  ==============  ====================================================
Z           —                 ``(m,)``        landmarks: leaves that explain the others best
K_ZZ        L Lᵀ              ``(m, m)``      their covariance, factored
φ(x)        L⁻¹ K_Zx          ``(m,)``        features (Nyström): φ(x)·φ(y) approximates Σ_xy
w           N(ω, S)           ``(m,)``        weights, N(0, I) a priori
d(x)        Σ_xx − φ·φ        —               variance that the landmarks do not explain, kept
                                              as an offset of x alone
==========  ================  ==============  ====================================================

So g(x) = φ(x)·w + an offset of variance d(x), as in :mod:`dagsearch.posterior.weights` but with offsets that
differ, and a reward is the same rank-1 step of ω and S. Every variance is the exact one a priori; what is
lost is the part of the correlations that no landmark explains. In the words of
:mod:`dagsearch.posterior.whitened` the landmarks are the anchors. A leaf's rewards are merged into r̄ with the
noise variance λ̄, as in :mod:`dagsearch.posterior.weights`.
"""

import math
from collections.abc import Sequence

import numpy as np

from dagsearch._internal import linalg
from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.covariances.rows import Rows
from dagsearch.posterior.base import Capability, MeanFunction, checked_noise, prior_means
from dagsearch.posterior.cholesky import GrowingCholesky
from dagsearch.posterior.linear import added_by, subtract_outer
from dagsearch.posterior.siblings import Siblings
from dagsearch.posterior.whitened import WhitenedScores
from dagsearch.problem import State

# Largest number of landmarks, and the part of the largest variance below which another one is useless.
_MOST_LANDMARKS, _NOTHING = 512, 1e-6


def greedy_landmarks(covariance: Covariance, rows: Rows, most: int = _MOST_LANDMARKS) -> IntArray:
    """Indices of the rows that explain the others best: each time the least explained (pivoted Cholesky)."""
    left = covariance.variances(rows).copy()
    smallest = _NOTHING * float(left.max(initial=0.0))
    columns = np.zeros((min(most, len(rows)), len(rows)))
    chosen: list[int] = []
    while len(chosen) < len(columns) and left.max() > smallest:
        pivot = int(left.argmax())
        count = len(chosen)
        across = covariance.cross(rows[pivot : pivot + 1], rows)[0]
        across = across - columns[:count, pivot] @ columns[:count]
        columns[count] = across / math.sqrt(left[pivot])
        left = np.maximum(left - columns[count] ** 2, 0.0)
        left[pivot] = 0.0
        chosen.append(pivot)
    return np.array(chosen, dtype=np.int64)


class InducedScores(WhitenedScores):
    """Gaussian regression on landmarks: O(m²) per reward, for any number of rewards.

    Parameters
    ----------
    covariance, noise, mean
        As for :class:`KernelScores`.
    rows : Rows
        States to choose the landmarks from.
    """

    can = frozenset(Capability) - {Capability.SAMPLES}
    outgrown = False

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction, rows: Rows) -> None:
        super().__init__(covariance, noise, mean)
        landmarks = rows[greedy_landmarks(covariance, rows)]
        self._landmarks = landmarks
        self._anchors.append(covariance.prepared(landmarks))
        matrix = covariance.cross(landmarks, landmarks)
        matrix[np.diag_indices(len(matrix))] += 1e-10 * float(matrix.diagonal().max(initial=1e-300))
        self._factor = GrowingCholesky.of(matrix)
        self._weights = np.zeros(len(landmarks))  # ω
        self._weight_cov = np.eye(len(landmarks))  # S
        self._observed, self._observed_noise = np.zeros(0), np.zeros(0)  # r̄ and λ̄ of every node
        # S, and r̄ and λ̄ of the leaves concerned, before fantasies; None if there are none.
        self._before: tuple[FloatArray, dict[int, tuple[float, float]]] | None = None

    def refitted(self, covariance: Covariance, noise: float, states: Sequence[State]) -> "InducedScores":
        """A model of the same nodes without rewards, with another covariance and noise."""
        fresh = InducedScores(covariance, noise, self._prior_mean, self._landmarks)
        fresh._adopt_nodes(self)
        return fresh

    def as_lazy(self) -> "InducedScores":
        """Itself: it keeps nothing for nodes that are not refreshed."""
        return self

    def _adopt_nodes(self, other: WhitenedScores) -> None:
        super()._adopt_nodes(other)
        self._observed, self._observed_noise = np.zeros(self._nodes), np.full(self._nodes, np.inf)

    def _add_nodes(self, rows: Rows, whitened: FloatArray) -> None:
        old, new = self._nodes, self._nodes + whitened.shape[1]
        self._observed, self._observed_noise = grown(self._observed, new), grown(self._observed_noise, new)
        self._observed_noise[old:new] = np.inf

    def refresh(self, nodes: Sequence[int] | IntArray | None = None) -> None:
        """Bring mean and variance of some nodes up to date, or of all."""
        stale = self._stale
        super().refresh(nodes)
        if not stale:
            return
        wanted = np.arange(self._nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
        seen = wanted[np.isfinite(self._observed_noise[wanted])]
        if seen.size > 0:
            self._mean[seen], self._variance[seen] = self._observed_moments(seen)

    def _sibling_moments(self, siblings: Siblings, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        if siblings.anchors == 0:  # their features will not change
            self._siblings.learn(siblings, *self._next_rows(siblings, self._factor.size))
        prior = siblings.prior + self.covariance.private
        return self._moments(means, prior, siblings.whitened)

    def _observed_moments(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of nodes with rewards of their own, which determine their offsets."""
        prior, features = self._whiten_nodes(nodes)
        own = self._own(prior, features)
        noise = self._observed_noise[nodes]
        kappa = own / (own + noise)
        linear = self._weights @ features
        mean = self._prior[nodes] + (1.0 - kappa) * linear + kappa * self._observed[nodes]
        spread = np.einsum("ij,ij->j", features, self._weight_cov @ features)
        return mean, (1.0 - kappa) ** 2 * spread + kappa * noise

    def _own(self, prior: FloatArray, features: FloatArray) -> FloatArray:
        """d(x), from prior variances and φ."""
        return np.asarray(np.maximum(prior - np.einsum("ij,ij->j", features, features), 0.0))

    def joint(self, nodes: Sequence[int], states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of g of some tracked nodes and then of states that are not tracked."""
        places = np.asarray(nodes, dtype=np.int64)
        rows = self.covariance.represent(states) if len(states) > 0 else self._rows.rows[:0]
        tracked, fresh = self._whiten_nodes(places), self._whiten(rows)
        prior, features = (np.concatenate([a, b], axis=-1) for a, b in zip(tracked, fresh, strict=True))
        own = self._own(prior, features)
        noise = np.concatenate([self._observed_noise[places], np.full(len(states), np.inf)])
        seen = np.isfinite(noise)
        noise = np.where(seen, noise, 1.0)
        kappa = np.where(seen, own / (own + noise), 0.0)
        mean = np.concatenate([self._prior[places], prior_means(self._prior_mean, states)])
        mean += (1.0 - kappa) * (self._weights @ features)
        mean[: len(places)] += kappa[: len(places)] * self._observed[places]
        joint = features.T @ self._weight_cov @ features * ((1.0 - kappa)[:, None] * (1.0 - kappa))
        joint[np.diag_indices(len(joint))] += np.where(seen, kappa * noise, own)
        return mean, joint

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Learn that the leaf ``node`` earned ``reward``, with its own noise variance if given."""
        assert self._before is None, "discard fantasies first"
        self._learn(node, reward, self.noise if noise is None else checked_noise(noise))

    def _learn(self, node: int, reward: float, variance: float) -> None:
        prior, features = self._whiten_nodes(np.array([node]))
        own, phi = float(self._own(prior, features)[0]), features[:, 0]
        residual = reward - float(self._prior[node])
        old = float(self._observed[node]), float(self._observed_noise[node])
        merged, precision, information = added_by(*old, residual, variance, own)
        self._observed[node], self._observed_noise[node] = merged
        q = self._weight_cov @ phi
        s = float(phi @ q)
        if self._before is None:
            missing = information - precision * float(phi @ self._weights)
            self._weights += q * missing / (1.0 + precision * s)
        subtract_outer(self._weight_cov, q * math.sqrt(precision / (1.0 + precision * s)))
        self._stale, self._alpha_now = True, np.zeros(0)

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        """:meth:`condition` on many rewards at once; the scores must have none before."""
        assert np.all(np.isinf(self._observed_noise[: self._nodes])), "a fresh model is needed"
        for node, reward, given in zip(nodes, rewards, noises, strict=True):
            variance = self.noise if given is None else checked_noise(given)
            old = float(self._observed[node]), float(self._observed_noise[node])
            residual = reward - float(self._prior[node])
            self._observed[node], self._observed_noise[node] = added_by(*old, residual, variance, 1.0)[0]
        leaves = np.flatnonzero(np.isfinite(self._observed_noise[: self._nodes]))
        prior, features = self._whiten_nodes(leaves)
        precision = 1.0 / (self._own(prior, features) + self._observed_noise[leaves])
        weighted = features * precision
        factor = linalg.cho_factor(np.eye(len(features)) + weighted @ features.T, lower=True)
        self._weight_cov = np.ascontiguousarray(linalg.cho_solve(factor, np.eye(len(features))))
        self._weights = linalg.cho_solve(factor, weighted @ self._observed[leaves])
        self._stale, self._alpha_now = True, np.zeros(0)

    def fantasise(self, node: int) -> None:
        """Count a leaf as observed for the variance of g, but not for its mean, until :meth:`discard`."""
        self.refresh([node])
        if self._before is None:
            self._before = self._weight_cov.copy(), {}
        self._before[1].setdefault(node, (float(self._observed[node]), float(self._observed_noise[node])))
        self._learn(node, float(self._mean[node]), self.noise)

    def discard(self) -> None:
        """Take back all fantasies."""
        if self._before is not None:
            self._weight_cov, observed = self._before
            for node, before in observed.items():
                self._observed[node], self._observed_noise[node] = before
            self._before, self._stale, self._alpha_now = None, True, np.zeros(0)

    def _explained(self, whitened: FloatArray) -> FloatArray:
        return np.asarray(
            np.einsum("ij,ij->j", whitened, whitened)
            - np.einsum("ij,ij->j", whitened, self._weight_cov @ whitened)
        )
