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
variance λ̄, as in :mod:`dagsearch.posterior.weights`: a further one changes a residual and the diagonal of
Σ_OO + λ, which is factored again. So n is the number of leaves, not of rewards.
"""

import math
from collections.abc import Iterable, Sequence
from copy import copy
from typing import NoReturn

import numpy as np

from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.covariances import Covariance, SetKernel
from dagsearch.covariances.rows import Rows, joined
from dagsearch.errors import CovarianceError
from dagsearch.posterior.base import AT_ONCE, JointScores, largest, offsets
from dagsearch.posterior.cholesky import GrowingCholesky
from dagsearch.problem import State

# Posterior variances down to −_SLACK times the prior one are rounding errors.
_SLACK = 1e-6


class FunctionScores(JointScores):
    """Exact Gaussian regression with a growing Cholesky factor: O(n²) for a reward after n leaves.

    Beliefs over nodes are computed on demand.

    Parameters
    ----------
    covariance : Covariance
        Any positive semi-definite one.
    noise, mean
        See :class:`JointScores`.
    """

    def __init__(self, covariance: Covariance, noise: float, mean: float = 0.0) -> None:
        super().__init__(covariance, noise, mean)
        self._rows: Rows = None  # of all tracked nodes
        self._scale = 0.0  # largest prior variance seen
        self._leaves = np.zeros(0, dtype=np.int64)  # the leaf of each row of the factor
        self._anchors: Rows = None  # the leaves' rows, prepared
        self._factor = GrowingCholesky()
        self._weights = np.zeros(0)  # z, so that the mean is μ + Vᵀz
        self._alpha = np.zeros(0)  # L⁻ᵀz, so that the mean is also μ + Σ_xO L⁻ᵀz

    def track(self, states: Sequence[State]) -> None:
        # New nodes have the prior belief until they are refreshed.
        rows = self.covariance.represent(states)
        variances = self.covariance.variances(rows) + self.covariance.private
        if variances.min(initial=0.0) < 0.0 or not math.isfinite(variances.sum()):
            self._refuse()
        self._rows = joined(self._rows, rows)
        new = self._number(len(states))
        self._mean[new], self._variance[new] = self.prior_mean, variances
        self._scale = max(self._scale, float(variances.max(initial=0.0)))
        self._stale = True

    @property
    def size(self) -> int:
        """Number of leaves with rewards, fantasies included."""
        return self._factor.size

    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        some = [states[i : i + AT_ONCE] for i in range(0, max(len(states), 1), AT_ONCE)]
        found = [self._shared(*self._related(self.covariance.represent(each))) for each in some]
        mean, variance = map(np.concatenate, zip(*found, strict=True))
        return self.prior_mean + mean, variance + self.covariance.private

    def predict_codes(
        self, codes: IntArray, most: int, nodes: IntArray | None = None
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Indices, means and variances of the ``most`` leaves with the largest means, from their codes.

        ``nodes``, −1 for leaves that are not tracked, lets tracked leaves use their own rewards.
        """
        cross, prior = self._related(self.covariance.from_codes(codes))
        noise, own = np.full(len(codes), np.inf), np.zeros(len(codes))
        if nodes is not None:
            known = nodes >= 0
            noise[known], own[known] = self._observed_noise[nodes[known]], self._observed[nodes[known]]
        kappa, offset = offsets(noise, self.covariance.private)
        closer = largest(self.prior_mean + (1.0 - kappa) * (self._alpha @ cross) + kappa * own, most)
        kappa, offset, own = kappa[closer], offset[closer], own[closer]
        mean, variance = self._shared(cross[:, closer], prior[closer])
        mean = self.prior_mean + (1.0 - kappa) * mean + kappa * own
        return closer, mean, (1.0 - kappa) ** 2 * variance + offset

    def best_swaps(self, points: IntArray, most: int, closed: Iterable[BoolArray]) -> list[IntArray]:
        """Codes of the ``most`` leaves with the largest means one swap away from each point.

        Requires a :class:`dagsearch.covariances.SetKernel` and a reward. ``closed`` are leaves around each
        point to leave out: one row each, true at every chosen place.
        """
        assert isinstance(self.covariance, SetKernel)
        found, every = [], self.covariance.sums_of_swaps(points, self._anchors, self._alpha)
        for codes, sums, beside in zip(points, every, closed, strict=True):
            chosen, unchosen = np.flatnonzero(codes == 1), np.flatnonzero(codes != 1)
            if len(beside):
                sums[(~beside[:, chosen]).argmax(axis=1), beside[:, unchosen].argmax(axis=1)] = -np.inf
            best = largest(sums.ravel(), most)
            drop, add = np.divmod(best[sums.ravel()[best] > -np.inf], unchosen.size)
            rows = np.tile(codes, (drop.size, 1))
            rows[np.arange(drop.size), chosen[drop]] = 0
            rows[np.arange(drop.size), unchosen[add]] = 1
            found.append(rows)
        return found

    def _related(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Covariances of anchors with rows, shape ``(anchors, rows)``, and variances without ``private``."""
        if self._factor.size == 0:
            return np.zeros((0, len(rows))), self.covariance.variances(rows)
        cross, shared = self.covariance.related(rows, self._anchors)
        return cross.T, shared

    def _shared(self, cross: FloatArray, shared: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean minus μ and variance of the shared part of g, from the results of :meth:`_related`."""
        whitened = self._factor.whiten(cross)
        return self._weights @ whitened, np.maximum(shared - np.add.reduce(whitened * whitened), 0.0)

    def _shared_of(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        return self._shared(*self._related(self._rows[nodes]))

    def means(self, nodes: Sequence[int]) -> FloatArray:
        kappa, _ = offsets(self._observed_noise[nodes], self.covariance.private)
        shared = self._alpha @ self._related(self._rows[nodes])[0]
        return np.asarray(self.prior_mean + (1.0 - kappa) * shared + kappa * self._observed[nodes])

    def _joint(self, nodes: IntArray) -> FloatArray:
        rows = self._rows[nodes]
        whitened = self._factor.whiten(self._related(rows)[0])
        return np.asarray(self.covariance.cross(rows, self.covariance.prepared(rows)) - whitened.T @ whitened)

    def _refuse(self) -> NoReturn:
        raise CovarianceError(
            f"the covariance {self.covariance!r} is not positive semi-definite: it gives variances that are "
            "negative or not finite. Nothing was learnt; use a valid kernel or add private variance"
        )

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
        prepared, columns, left = self._next_columns(nodes)
        pivot = math.sqrt(max(left.item(), 0.0) + variance)
        expected = float(self.prior_mean + self._weights @ columns[:, 0])
        self._merge(node, reward, variance, self.covariance.private)
        self._append(nodes, prepared, columns, np.array([[pivot]]), (reward - expected) / pivot)

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        for node, reward, noise in zip(nodes, rewards, noises, strict=True):
            self._merge(node, reward, self._noise_of(noise), self.covariance.private)
        self._learn_all(np.unique(np.asarray(nodes, dtype=np.int64)))

    def _learn_all(self, leaves: IntArray) -> None:
        """Factor the covariance of leaves again."""
        rows = self._rows[leaves]
        prepared = self.covariance.prepared(rows)
        noise = np.diag(self.covariance.private + self._observed_noise[leaves])
        try:
            self._factor = GrowingCholesky.of(self.covariance.cross(rows, prepared) + noise)
        except np.linalg.LinAlgError:  # also where an entry is not finite
            self._refuse()
        self._anchors, self._leaves = joined(None, prepared), leaves
        self._weights = self._factor.whiten(self._observed[leaves, None])[:, 0]
        self._learnt()

    def _learnt(self) -> None:
        self._stale, self._alpha = True, self._weights @ self._factor.inverse

    def _next_columns(self, nodes: IntArray) -> tuple[Rows, FloatArray, FloatArray]:
        """Prepared rows of leaves t, l = L⁻¹Σ_Ot, and the covariance Σ_tt − l·l, without noise."""
        rows, private = self._rows[nodes], self.covariance.private
        prepared = self.covariance.prepared(rows)
        cross = self._related(rows)[0] + private * (self._leaves[:, None] == nodes)
        own = self.covariance.cross(rows, prepared) + private * (nodes[:, None] == nodes)
        columns = self._factor.solve(cross)
        left = own - columns.T @ columns
        if not math.isfinite(left.sum()) or left.diagonal().min(initial=0.0) < -_SLACK * self._scale:
            self._refuse()
        return prepared, columns, left

    def _append(
        self, nodes: IntArray, prepared: Rows, columns: FloatArray, corner: FloatArray, z: float
    ) -> None:
        self._anchors = joined(self._anchors, prepared)
        self._leaves = np.append(self._leaves, nodes)
        self._weights = np.append(self._weights, np.full(nodes.size, z))
        self._factor.append(columns, corner)
        self._learnt()

    def _fantasise(self, nodes: Sequence[int]) -> None:
        # Fantasies are rewards equal to the mean: the last rows of V, with z = 0.
        self._factor = copy(self._factor)
        places = np.asarray(nodes, dtype=np.int64)
        prepared, columns, left = self._next_columns(places)
        self.refresh(places)
        for node in nodes:
            self._merge(node, float(self._mean[node]), self.noise, self.covariance.private)
        noise, rounding = self.noise * np.eye(len(left)), _SLACK * self._scale
        try:
            corner = np.linalg.cholesky(left + noise)
        except np.linalg.LinAlgError:  # by rounding, unless the covariance is not valid
            if np.linalg.eigvalsh(left)[0] < -rounding:
                self._refuse()
            corner = np.linalg.cholesky(left + noise + 2.0 * rounding * np.eye(len(left)))
        self._append(places, prepared, columns, np.asarray(corner, np.float64), 0.0)
