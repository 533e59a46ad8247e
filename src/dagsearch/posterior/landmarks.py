r"""Scores that see a state by its covariances with some others, the anchors; and those by landmarks.

==========  ================  ====================  ==============================================
symbol      code              shape                 meaning
==========  ================  ====================  ==============================================
Z           anchors           ``(n,)``              rewarded leaves in :class:`FunctionScores`,
                                                    landmarks in :class:`InducedScores`
L Lᵀ        factor            ``(n, n)``            their covariance, factored; with the noise where
                                                    they are rewards
φ(x)        whitened          ``(n, states)``       features L⁻¹ Σ_Zx
ω           weights           ``(n,)``              posterior mean of g: μ(x) + φ(x)·ω
—           explained         ``(states,)``         by how much rewards reduce the prior variance
==========  ================  ====================  ==============================================

The models differ in where the anchors come from, in how a reward changes L and ω, and in the explained
variance. :class:`InducedScores` has a constant cost per reward: it approximates g by its values at landmarks.

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
from abc import abstractmethod
from collections.abc import Sequence
from typing import NoReturn

import numpy as np

from dagsearch._internal import linalg
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.covariances.rows import Rows, RowStore
from dagsearch.errors import CovarianceError
from dagsearch.posterior.base import (
    JointScores,
    LeafOf,
    MeanFunction,
    evenly,
    largest,
    offsets,
    prior_means,
)
from dagsearch.posterior.belief import subtract_outer
from dagsearch.posterior.cholesky import GrowingCholesky
from dagsearch.problem import State

# Nodes that are refreshed at once, and states whose rows are made at once: they may take much memory.
_AT_ONCE, _MOST_PREDICTED = 256, 2048
# Largest number of landmarks, and the part of the largest variance below which another one is useless.
_MOST_LANDMARKS, _NOTHING = 384, 1e-6
# Largest number of leaves that landmarks are chosen from.
_MOST_CANDIDATES = 1500


class WhitenedScores(JointScores):
    """Base of score models over the whitened covariances with anchors.

    Beliefs over tracked nodes are computed when somebody asks for them.

    Parameters
    ----------
    covariance : Covariance
        Any positive semi-definite one.
    noise, mean
        As for :class:`dagsearch.posterior.JointScores`.
    """

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> None:
        super().__init__(noise, mean)
        self.covariance = covariance
        self._rows = RowStore()  # of all tracked nodes
        self._stale = False  # whether some nodes have not seen the last rewards
        self._scale = 0.0  # largest prior variance seen
        self._anchors = RowStore()  # prepared
        self._factor = GrowingCholesky()
        self._weights = np.zeros(0)  # with room for more
        self._alpha_now: FloatArray | None = None  # None if it is to be computed

    def _adopt_nodes(self, other: "WhitenedScores") -> None:
        """Track the same nodes as another model: rows do not depend on hyperparameters."""
        variances = self._prior_variances(self.covariance.variances(other._rows.rows))
        self._rows = other._rows
        nodes = self._number(other._prior[: other._nodes])
        self._variance[nodes] = variances
        self._scale = float(variances.max(initial=0.0))

    def track(self, states: Sequence[State]) -> None:
        # Until they are refreshed, their beliefs are those before any reward.
        rows = self.covariance.represent(states)
        prior = self._prior_variances(self.covariance.variances(rows))
        self._add(rows, prior_means(self._prior_mean, states), prior)
        self._stale = True

    def _add(self, rows: Rows, means: FloatArray, variances: FloatArray) -> slice:
        """Number new nodes with their prior means and variances; returns their numbers."""
        self._rows.append(rows)
        new = self._number(means)
        self._variance[new] = variances
        self._scale = max(self._scale, float(variances.max(initial=0.0)))
        return new

    def refresh(self, nodes: Sequence[int] | IntArray | None = None) -> None:
        if not self._stale:
            return
        wanted = np.arange(self._nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
        for some in np.array_split(wanted, max(1, wanted.size // _AT_ONCE)):
            self._mean[some], self._variance[some] = self._node_moments(some)
        self._stale = nodes is not None

    @abstractmethod
    def _node_moments(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of tracked nodes."""

    def _changed(self) -> None:
        """What was computed from the anchors or their weights no longer holds."""
        self._stale, self._alpha_now = True, None

    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        if len(states) > _MOST_PREDICTED:
            firsts = range(0, len(states), _MOST_PREDICTED)
            parts = [self.predict(states[first : first + _MOST_PREDICTED]) for first in firsts]
            return np.concatenate([mean for mean, _ in parts]), np.concatenate([var for _, var in parts])
        means = prior_means(self._prior_mean, states)
        return self._moments(means, *self._whiten(self.covariance.represent(states)))

    def predict_codes(
        self, codes: IntArray, most: int, leaf_of: LeafOf
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        # Leaves are made only if the covariance cannot read codes or the prior mean varies.
        reads_codes = self.covariance.reads_codes and self._factor.size > 0
        varies = callable(self._prior_mean)
        made = [] if reads_codes and not varies else [leaf_of(row) for row in codes]
        means = prior_means(self._prior_mean, made if varies else range(len(codes)))
        if reads_codes:
            cross, variances = self.covariance.of_leaves(codes, self._anchors.rows)
            prior = self._prior_variances(variances)
        else:
            across, prior = self._with_anchors(self.covariance.represent(made))
            cross = across.T
        closer = largest(means + cross @ self._alpha(), most)
        return closer, *self._moments(means[closer], prior[closer], self._factor.whiten(cross[closer].T))

    @property
    def rates_swaps(self) -> bool:  # type: ignore[override]
        return self.covariance.rates_swaps and self._factor.size > 0 and not callable(self._prior_mean)

    def best_swaps(self, codes: IntArray, most: int, closed: FloatArray) -> IntArray:
        chosen, unchosen = np.flatnonzero(codes == 1), np.flatnonzero(codes != 1)
        if chosen.size == 0 or unchosen.size == 0:
            return np.zeros((0, codes.size), dtype=codes.dtype)
        sums = self.covariance.sums_of_swaps(codes, self._anchors.rows, self._alpha())
        out, into = (closed[:, chosen] != 1).argmax(axis=1), (closed[:, unchosen] == 1).argmax(axis=1)
        sums[out, into] = -np.inf
        best = largest(sums.ravel(), most)
        drop, add = np.divmod(best[sums.ravel()[best] > -np.inf], sums.shape[1])
        rows = np.tile(codes, (drop.size, 1))
        rows[np.arange(drop.size), chosen[drop]] = 0
        rows[np.arange(drop.size), unchosen[add]] = 1
        return rows

    def _alpha(self) -> FloatArray:
        """L⁻ᵀω, so that the mean of g is μ + Σ_xZ L⁻ᵀω."""
        if self._alpha_now is None:
            self._alpha_now = self._weights[: self._factor.size] @ self._factor.inverse
        return self._alpha_now

    def _whiten(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Prior variances of untracked rows, and their φ."""
        cross, prior = self._with_anchors(rows)
        return prior, self._factor.whiten(cross)

    def _with_anchors(self, rows: Rows, count: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Covariances of the first ``count`` anchors with rows, shape ``(count, rows)``, and prior variances.

        By default of all anchors.
        """
        count = self._factor.size if count is None else count
        if count == 0:
            return np.zeros((0, len(rows))), self._prior_variances(self.covariance.variances(rows))
        cross, variances = self.covariance.of_rows(rows, self._anchors.rows[:count])
        return cross.T, self._prior_variances(variances)

    def _prior_variances(self, shared: FloatArray) -> FloatArray:
        """Prior variances: the shared part that the covariance gives, plus the private one."""
        prior = shared + self.covariance.private
        # By reductions alone, which are quick: a sum is finite only if all numbers are.
        if np.minimum.reduce(prior, initial=0.0) < 0.0 or not math.isfinite(np.add.reduce(prior)):
            raise CovarianceError(
                f"the covariance {self.covariance!r} gives variances that are negative or not finite: "
                f"{prior}; use a valid kernel"
            )
        return prior

    def _refuse(self, node: int) -> NoReturn:
        raise CovarianceError(
            f"the covariance {self.covariance!r} is not positive semi-definite: with the rewards so far it "
            f"leaves node {node} or its relatives a variance that is negative or not finite. "
            "This reward was not used; use a valid kernel or add private variance"
        )

    def _moments(
        self, means: FloatArray, prior: FloatArray, whitened: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g, from prior means and variances and φ."""
        mean = means + self._weights[: len(whitened)] @ whitened
        return mean, np.maximum(prior - self._explained(whitened), 0.0)

    @abstractmethod
    def _explained(self, whitened: FloatArray) -> FloatArray:
        """By how much rewards reduce the prior variance, from φ."""


def greedy_landmarks(covariance: Covariance, rows: Rows) -> IntArray:
    """Indices of the rows that explain the others best: each time the least explained (pivoted Cholesky).

    Of very many rows, only some are looked at.
    """
    some = evenly(len(rows), _MOST_CANDIDATES)
    rows = rows[some]
    left = covariance.variances(rows).copy()
    smallest = _NOTHING * float(left.max(initial=0.0))
    columns = np.zeros((min(_MOST_LANDMARKS, len(rows)), len(rows)))
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
    return some[np.array(chosen, dtype=np.int64)]


class InducedScores(WhitenedScores):
    """Gaussian regression on landmarks: O(m²) per reward, for any number of rewards.

    Parameters
    ----------
    covariance, noise, mean
        As for :class:`dagsearch.posterior.FunctionScores`.
    rows : Rows
        States to choose the landmarks from.
    """

    rounds_together = True

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction, rows: Rows) -> None:
        super().__init__(covariance, noise, mean)
        landmarks = rows[greedy_landmarks(covariance, rows)]
        self._landmarks = landmarks
        self._anchors.append(covariance.prepared(landmarks))
        matrix = covariance.cross(landmarks, landmarks)
        matrix[np.diag_indices(len(matrix))] += 1e-10 * float(matrix.diagonal().max(initial=1e-300))
        self._factor = GrowingCholesky.of(matrix)
        self._weights = np.zeros(len(landmarks))  # ω
        self._spread = np.eye(len(landmarks))  # S
        # S, and r̄ and λ̄ of the nodes, before fantasies; None if there are none.
        self._before: tuple[FloatArray, tuple[FloatArray, FloatArray]] | None = None

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
        prior, features = self._whiten(self._rows.rows[nodes])
        if not np.all(np.isfinite(features)):
            self._refuse(nodes[0])
        return features, self._own(prior, features)

    def _own(self, prior: FloatArray, features: FloatArray) -> FloatArray:
        """d(x), from prior variances and φ."""
        return np.asarray(np.maximum(prior - np.einsum("ij,ij->j", features, features), 0.0))

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
        tracked, fresh = self._whiten(self._rows.rows[places]), self._whiten(rows)
        prior, features = (np.concatenate([a, b], axis=-1) for a, b in zip(tracked, fresh, strict=True))
        noise = np.concatenate([self._observed_noise[places], np.full(len(states), np.inf)])
        kappa, offset = offsets(noise, self._own(prior, features))
        mean = np.concatenate([self._prior[places], prior_means(self._prior_mean, states)])
        mean += (1.0 - kappa) * (self._weights @ features)
        mean[: len(places)] += kappa[: len(places)] * self._observed[places]
        joint = features.T @ self._spread @ features * ((1.0 - kappa)[:, None] * (1.0 - kappa))
        joint[np.diag_indices(len(joint))] += offset
        return mean, joint

    # Rewards ------------------------------------------------------------------------------------------

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        assert self._before is None, "discard fantasies first"
        variance = self._noise_of(noise)
        features, own = self._node_features(np.array([node]))
        phi = features[:, 0]
        precision, information = self._merge(node, reward, variance, float(own[0]))
        missing = information - precision * float(phi @ self._weights)
        q, s = self._learn(phi, precision)
        self._weights += q * missing / (1.0 + precision * s)
        self._changed()

    def _learn(self, phi: FloatArray, precision: float) -> tuple[FloatArray, float]:
        """Add a precision on φ·w to S; returns Sφ and φᵀSφ as they were."""
        q = self._spread @ phi
        s = float(phi @ q)
        subtract_outer(self._spread, q * math.sqrt(precision / (1.0 + precision * s)))
        return q, s

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        assert np.all(np.isinf(self._observed_noise[: self._nodes])), "a fresh model is needed"
        self._learn_merged(*self._merged(nodes, rewards, noises))

    def _learn_merged(self, leaves: IntArray, residuals: FloatArray, noises: FloatArray) -> None:
        """Learn r̄ and λ̄ of distinct leaves; there must be no rewards before."""
        self._observed[leaves], self._observed_noise[leaves] = residuals, noises
        precision, information = np.eye(len(self._weights)), np.zeros(len(self._weights))
        for some in np.array_split(leaves, max(1, leaves.size // _MOST_PREDICTED)):
            features, own = self._node_features(some)
            weighted = features / (own + self._observed_noise[some])
            precision += weighted @ features.T
            information += weighted @ self._observed[some]
        self._spread = _inverse(precision)
        self._weights = self._spread @ information
        self._changed()

    def fantasise(self, nodes: Sequence[int]) -> None:
        if self._before is None:
            self._before = self._spread.copy(), self._rewards_so_far()
        leaves, counts = np.unique(np.asarray(nodes, dtype=np.int64), return_counts=True)
        features, own = self._node_features(leaves)
        old, old_noise = self._observed[leaves], self._observed_noise[leaves]
        noise = 1.0 / (1.0 / old_noise + counts / self.noise)
        kappa, _ = offsets(old_noise, own)
        expected = (1.0 - kappa) * (self._weights @ features) + kappa * old  # the rewards that are assumed
        self._observed[leaves] = old + (expected - old) * noise * counts / self.noise
        self._observed_noise[leaves] = noise
        precision = np.maximum(1.0 / (own + noise) - 1.0 / (own + old_noise), 0.0)
        for phi, added in zip(features.T, precision.tolist(), strict=True):
            self._learn(phi, added)
        self._changed()

    def discard(self) -> None:
        if self._before is not None:
            self._spread, rewards = self._before
            self._restore_rewards(*rewards)
            self._before = None
            self._changed()


def _inverse(matrix: FloatArray) -> FloatArray:
    """Inverse of a positive definite matrix, by LAPACK."""
    factor, _ = linalg.dpotrf(matrix, lower=1)
    lower = linalg.dpotri(factor, lower=1)[0]
    inverse = np.tril(lower) + np.tril(lower, -1).T
    return np.ascontiguousarray(inverse)
