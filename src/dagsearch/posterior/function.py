r"""Scores in function space, for any covariance.

==========  ================  ==================  ================================================
paper       code              shape               meaning
==========  ================  ==================  ================================================
Σ_OO + λ    L Lᵀ              ``(n, n)``          covariance of the rewards of n leaves, factored
Σ_Oi        V = L⁻¹ Σ_Oi      ``(n, nodes)``      whitened covariance of rewards and nodes
r − μ_O     z = L⁻¹(r − μ_O)  ``(n,)``            whitened residuals
μ', Σ'_ii   mean, variance    ``(nodes,)``        μ + Vᵀz and Σ_ii − Σ_n V²
==========  ================  ==================  ================================================

The first reward of the leaf t appends a row to everything. Its row of L is (l, d) with l = L⁻¹Σ_Ot and
d² = Σ_tt − l·l + λ = Σ'_tt + λ, and z_new = (r − μ'_t)/d. All rewards of one leaf act as r̄ with the noise
variance λ̄, as in :mod:`dagsearch.posterior.weights`: a further one subtracts from the diagonal of Σ_OO + λ,
which is factored anew, and changes one residual, so that n is the number of leaves, not of rewards.

What follows holds for every model that sees a state by its covariances Σ_Zx with some others, the anchors Z:
here they are the rewarded leaves, in :mod:`dagsearch.posterior.landmarks` the landmarks.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import NoReturn

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance, SetKernel
from dagsearch.covariances.rows import Rows, joined
from dagsearch.errors import CovarianceError
from dagsearch.posterior.base import (
    AT_ONCE,
    JointScores,
    MeanFunction,
    SharedBelief,
    largest,
    offsets,
    prior_means,
)
from dagsearch.posterior.cholesky import GrowingCholesky
from dagsearch.problem import State

# A posterior variance below −_SLACK times the prior one is not a rounding error.
_SLACK = 1e-6
MOST_EXACT = 1000
"""Number of rewarded leaves from which a model of constant size takes over."""


class AnchoredScores(JointScores):
    """Base of score models over the covariances with anchors. Beliefs over nodes are computed on demand."""

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> None:
        super().__init__(covariance, noise, mean)
        self._rows: Rows = None  # of all tracked nodes
        self._scale = 0.0  # largest prior variance seen
        self._anchors: Rows = None  # prepared
        self._factor = GrowingCholesky()
        self._weights = np.zeros(0)  # z, so that the mean is μ + Vᵀz
        self._solved: FloatArray | None = None  # the last L⁻ᵀz

    def track(self, states: Sequence[State]) -> None:
        # Until they are refreshed, the beliefs of new nodes are those before any reward.
        rows, means = self.covariance.represent(states), prior_means(self.prior_mean, states)
        variances = self._checked(self.covariance.variances(rows)) + self.covariance.private
        self._rows = joined(self._rows, rows)
        new = self._number(means)
        self._mean[new], self._variance[new] = means, variances
        self._scale = max(self._scale, float(variances.max(initial=0.0)))
        self._stale = True

    @property
    def outgrown(self) -> bool:
        """Whether there are too many rewards for functions; landmarks then take over."""
        return self._rewarded.size >= MOST_EXACT

    @property
    def _rewarded(self) -> IntArray:
        """All leaves that have a reward."""
        return np.flatnonzero(np.isfinite(self._observed_noise[: self._nodes]))

    def _rows_of(self, nodes: IntArray, states: Sequence[State]) -> Rows:
        """The rows of tracked nodes and then of states that are not tracked."""
        rows = self._rows[nodes]
        return joined(rows, self.covariance.represent(states)) if len(states) > 0 else rows

    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        if len(states) > AT_ONCE:
            parts = [self.predict(states[i : i + AT_ONCE]) for i in range(0, len(states), AT_ONCE)]
            return np.concatenate([mean for mean, _ in parts]), np.concatenate([var for _, var in parts])
        rows = self.covariance.represent(states)
        return self._moments(prior_means(self.prior_mean, states), *self._related(rows))

    @property
    def reads_codes(self) -> bool:
        """Whether :meth:`predict_codes` works."""
        return self.covariance.reads_codes and not callable(self.prior_mean)

    def predict_codes(
        self, codes: IntArray, most: int, nodes: IntArray | None = None
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """:meth:`predict` for the most promising of some leaves that are given by their codes.

        With ``nodes``, −1 where there is none, a leaf that is tracked has its own rewards, too. Returns the
        places of the ``most`` leaves with the largest means, and the mean and variance of each.
        """
        cross, prior = self._related(self.covariance.from_codes(codes))
        means = prior_means(self.prior_mean, range(len(codes)))
        noise, own = np.full(len(codes), np.inf), np.zeros(len(codes))
        if nodes is not None:
            known = nodes >= 0
            noise[known], own[known] = self._observed_noise[nodes[known]], self._observed[nodes[known]]

        def merged(shared: FloatArray, kappa: FloatArray, at: IntArray | slice) -> FloatArray:
            return np.asarray(means[at] + (1.0 - kappa) * shared + kappa * own[at])

        kappa, _ = offsets(noise, self.covariance.private)
        closer = largest(merged(self._alpha @ cross, kappa, slice(None)), most)
        mean, variance, private = self._shared(cross[:, closer], prior[closer])
        kappa, offset = offsets(noise[closer], private)
        return closer, merged(mean, kappa, closer), (1.0 - kappa) ** 2 * variance + offset

    @property
    def rates_swaps(self) -> bool:
        """Whether :meth:`best_swaps` works."""
        return self._factor.size > 0 and self.reads_codes and isinstance(self.covariance, SetKernel)

    def best_swaps(self, codes: IntArray, most: int, closed: FloatArray) -> IntArray:
        """Codes of the leaves with one chosen place exchanged for another that have the largest means.

        ``closed`` are leaves of this kind that are left out: one row each, 1 for every place that is chosen.
        """
        chosen, unchosen = np.flatnonzero(codes == 1), np.flatnonzero(codes != 1)
        if chosen.size == 0 or unchosen.size == 0:
            return np.zeros((0, codes.size), dtype=codes.dtype)
        assert isinstance(self.covariance, SetKernel)
        sums = self.covariance.sums_of_swaps(codes, self._anchors, self._alpha)
        out, into = (closed[:, chosen] != 1).argmax(axis=1), (closed[:, unchosen] == 1).argmax(axis=1)
        sums[out, into] = -np.inf
        best = largest(sums.ravel(), most)
        drop, add = np.divmod(best[sums.ravel()[best] > -np.inf], sums.shape[1])
        rows = np.tile(codes, (drop.size, 1))
        rows[np.arange(drop.size), chosen[drop]] = 0
        rows[np.arange(drop.size), unchosen[add]] = 1
        return rows

    @property
    def _alpha(self) -> FloatArray:
        """L⁻ᵀω, so that the mean of g is μ + Σ_xZ L⁻ᵀω."""
        if self._solved is None:
            self._solved = self._weights @ self._factor.inverse
        return self._solved

    def _related(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Covariances of anchors with rows, shape ``(anchors, rows)``, and variances without ``private``."""
        if self._factor.size == 0:
            return np.zeros((0, len(rows))), self._checked(self.covariance.variances(rows))
        cross, shared = self.covariance.related(rows, self._anchors)
        return cross.T, self._checked(shared)

    def _checked(self, shared: FloatArray) -> FloatArray:
        # By reductions alone, which are quick: a sum is finite only if all numbers are.
        least = np.minimum.reduce(shared, initial=0.0) + self.covariance.private
        if least < 0.0 or not math.isfinite(np.add.reduce(shared)):
            self._refuse()
        return shared

    def _refuse(self) -> NoReturn:
        raise CovarianceError(
            f"the covariance {self.covariance!r} is not positive semi-definite: it gives variances that are "
            "negative or not finite. Nothing was learnt; use a valid kernel or add private variance"
        )

    def _moments(
        self, means: FloatArray, cross: FloatArray, shared: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g, from prior means and what :meth:`_related` tells."""
        mean, variance, private = self._shared(cross, shared)
        return means + mean, variance + private

    def _node_moments(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        return self._with_offsets(nodes, *self._shared(*self._related(self._rows[nodes])))

    @abstractmethod
    def _shared(self, cross: FloatArray, shared: FloatArray) -> SharedBelief:
        """Of rows, from what :meth:`_related` tells of them, with their variances."""


class FunctionScores(AnchoredScores):
    """Exact Gaussian regression with a growing Cholesky factor: O(n²) for a reward after n leaves.

    Parameters
    ----------
    covariance : Covariance
        Any positive semi-definite one.
    noise : float
        Variance λ of a reward around its leaf's g.
    mean : float or callable
        Prior mean of g.
    """

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> None:
        super().__init__(covariance, noise, mean)
        self._leaves = np.zeros(0, dtype=np.int64)  # the leaf of each row

    def _joint(self, nodes: IntArray, states: Sequence[State]) -> SharedBelief:
        rows = self._rows_of(nodes, states)
        whitened = self._factor.whiten(self._related(rows)[0])
        joint = self._among(rows) - np.asarray(whitened.T @ whitened)
        return self._weights @ whitened, joint, self.covariance.private

    def _among(self, rows: Rows) -> FloatArray:
        """Covariances among rows, without private variance."""
        return self.covariance.cross(rows, self.covariance.prepared(rows))

    def _shared(self, cross: FloatArray, shared: FloatArray) -> SharedBelief:
        whitened = self._factor.whiten(cross)
        left = np.maximum(shared - np.add.reduce(whitened * whitened), 0.0)
        return self._weights @ whitened, left, self.covariance.private

    # Rewards ------------------------------------------------------------------------------------------

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        variance = self._noise_of(noise)
        if math.isfinite(self._observed_noise[node]):
            before = self._observed[node], self._observed_noise[node]
            self._merge(node, reward, variance, self.covariance.private)
            try:
                self._learn_all(self._leaves)
            except CovarianceError:
                self._observed[node], self._observed_noise[node] = before
                raise
            return
        nodes = np.array([node])
        columns, left = self._next_columns(nodes)
        pivot = math.sqrt(max(left.item(), 0.0) + variance)
        expected = float(self._prior[node] + self._weights @ columns[:, 0])
        self._append(nodes, columns, np.array([[pivot]]))
        self._weights[-1] = (reward - expected) / pivot
        self._merge(node, reward, variance, self.covariance.private)

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        for node, reward, noise in zip(nodes, rewards, noises, strict=True):
            self._merge(node, reward, self._noise_of(noise), self.covariance.private)
        self._learn_all(np.unique(np.asarray(nodes, dtype=np.int64)))

    def _learn_all(self, leaves: IntArray) -> None:
        """Factor anew what is known of leaves, the first of which are the anchors so far."""
        rows = self._rows[leaves]
        joint = self._among(rows) + np.diag(self.covariance.private + self._observed_noise[leaves])
        try:
            self._factor = GrowingCholesky.of(joint)
        except np.linalg.LinAlgError:  # also where an entry is not finite
            self._refuse()
        if leaves.size > self._leaves.size:
            self._anchors = joined(self._anchors, self.covariance.prepared(rows))
        self._leaves = leaves
        self._weights = self._factor.whiten(self._observed[leaves, None])[:, 0]
        self._stale, self._solved = True, None

    def _next_columns(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """l = L⁻¹Σ_Ot of leaves t, and their covariance Σ_tt − l·l that is left, without noise."""
        private = self.covariance.private
        cross = self._related(self._rows[nodes])[0] + private * (self._leaves[:, None] == nodes)
        own = self._among(self._rows[nodes]) + private * (nodes[:, None] == nodes)
        columns = self._factor.solve(cross)
        left = own - columns.T @ columns
        if not math.isfinite(left.sum()) or left.diagonal().min(initial=0.0) < -_SLACK * self._scale:
            self._refuse()
        return columns, left

    def _append(self, nodes: IntArray, columns: FloatArray, corner: FloatArray) -> None:
        """Append leaves to the anchors and to the factor; their z is 0."""
        self._anchors = joined(self._anchors, self.covariance.prepared(self._rows[nodes]))
        self._leaves = np.append(self._leaves, nodes)
        self._weights = np.append(self._weights, np.zeros(nodes.size))
        self._factor.append(columns, corner)
        self._stale, self._solved = True, None

    def _fantasise(self, nodes: Sequence[int]) -> None:
        # Rewards equal to the mean: their rows of V come after those of all rewards, and their z is 0.
        self._factor = copy(self._factor)
        places = np.asarray(nodes, dtype=np.int64)
        columns, left = self._next_columns(places)
        self.refresh(places)
        for node in nodes:
            self._merge(node, float(self._mean[node]), self.noise, self.covariance.private)
        self._append(places, columns, self._corner(places, left))

    def _corner(self, nodes: IntArray, left: FloatArray) -> FloatArray:
        """The factor of what is left of leaves' covariance, with noise; rounding must not refuse it."""
        noise, rounding = self.noise, _SLACK * self._scale
        try:
            return np.asarray(np.linalg.cholesky(left + noise * np.eye(nodes.size)), np.float64)
        except np.linalg.LinAlgError:
            if np.linalg.eigvalsh(left)[0] < -rounding:
                self._refuse()
            return np.asarray(np.linalg.cholesky(left + (noise + 2.0 * rounding) * np.eye(nodes.size)))
