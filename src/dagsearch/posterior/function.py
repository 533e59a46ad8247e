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

In the words of :mod:`dagsearch.posterior.anchors` the anchors are the rewarded leaves, the columns of V are
the features φ, and z are the weights ω.
"""

import math
from collections.abc import Sequence

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.covariances.rows import Rows
from dagsearch.posterior.anchors import AnchoredScores
from dagsearch.posterior.base import MeanFunction, prior_means
from dagsearch.posterior.cholesky import GrowingCholesky
from dagsearch.posterior.landmarks import InducedScores
from dagsearch.problem import State

# A posterior variance below −_SLACK times the prior one is not a rounding error.
_SLACK = 1e-6
# Number of rewarded leaves from which a model of constant size takes over.
_MOST_EXACT = 1000


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
        self._fantasies = 0  # the last rows, whose rewards are not real

    @property
    def _rewarded(self) -> IntArray:
        """The rewarded leaves in the order of their rows, without the fantasies."""
        return self._leaves[: self._leaves.size - self._fantasies]

    @property
    def outgrown(self) -> bool:
        return self._rewarded.size >= _MOST_EXACT

    def induced(self) -> InducedScores:
        """A model of the same nodes and rewards whose cost does not grow with the rewards."""
        assert self._fantasies == 0, "discard fantasies first"
        leaves = self._rewarded
        fresh = InducedScores(self.covariance, self.noise, self._prior_mean, self._rows.rows[leaves])
        fresh._adopt_nodes(self)
        fresh._learn_merged(leaves, self._observed[leaves], self._observed_noise[leaves])
        return fresh

    def refitted(self, covariance: Covariance, noise: float, states: Sequence[State]) -> "FunctionScores":
        fresh = type(self)(covariance, noise, self._prior_mean)
        fresh._adopt_nodes(self)
        return fresh

    def joint(self, nodes: Sequence[int], states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        places = np.asarray(nodes, dtype=np.int64)
        self.refresh(places)
        rows, mean = self._rows.rows[places], self._mean[places]
        own, whitened = self._among(rows), self._factor.whiten(self._nodes_with_rewards(places)[0])
        if len(states) > 0:
            fresh = self.covariance.represent(states)
            fresh_whitened = self._factor.whiten(self._related(fresh)[0])
            expected = prior_means(self._prior_mean, states) + self._weights @ fresh_whitened
            across = self.covariance.cross(rows, self.covariance.prepared(fresh))
            own = np.block([[own, across], [across.T, self._among(fresh)]])
            whitened = np.hstack([whitened, fresh_whitened])
            mean = np.concatenate([mean, expected])
        joint = own - np.asarray(whitened.T @ whitened)
        joint[np.diag_indices(len(joint))] += self.covariance.private
        return mean, joint

    def _among(self, rows: Rows) -> FloatArray:
        """Covariances among rows, without private variance."""
        return self.covariance.cross(rows, self.covariance.prepared(rows))

    def _node_moments(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        return self._moments(self._prior[nodes], *self._nodes_with_rewards(nodes))

    def _nodes_with_rewards(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """:meth:`_related` of tracked nodes, which share their private offset with their own rewards."""
        cross, prior = self._related(self._rows.rows[nodes])
        return cross + self.covariance.private * (self._leaves[:, None] == nodes), prior

    def _explained(self, whitened: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduce(whitened * whitened))

    # Rewards ------------------------------------------------------------------------------------------

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        assert self._fantasies == 0, "discard fantasies first"
        variance = self._noise_of(noise)
        if math.isfinite(self._observed_noise[node]):
            self._condition_again(node, reward, variance)
        else:
            nodes = np.array([node])
            columns, left = self._next_columns(nodes)
            pivot = math.sqrt(max(left.item(), 0.0) + variance)
            expected = float(self._prior[node] + self._weights @ columns[:, 0])
            self._append(nodes)
            self._factor.append(columns, np.array([[pivot]]))
            self._weights[-1] = (reward - expected) / pivot
            self._merge(node, reward, variance, self.covariance.private)
        self._changed()

    def _condition_again(self, node: int, reward: float, variance: float) -> None:
        """Learn a further reward of a leaf: λ̄ decreases by λ̄²/(λ̄ + λ)."""
        noise, place = float(self._observed_noise[node]), self._leaves.tolist().index(node)
        try:
            self._factor = self._factor.downdated(place, noise * noise / (noise + variance))
        except np.linalg.LinAlgError:
            self._refuse(node)
        self._merge(node, reward, variance, self.covariance.private)
        self._weights = self._factor.whiten(self._observed[self._rewarded, None])[:, 0]

    def _next_columns(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """l = L⁻¹Σ_Ot of leaves t, and their covariance Σ_tt − l·l that is left, without noise."""
        cross, _ = self._nodes_with_rewards(nodes)
        own = self._among(self._rows.rows[nodes]) + self.covariance.private * (nodes[:, None] == nodes)
        if not (np.all(np.isfinite(cross)) and np.all(np.isfinite(own))):
            self._refuse(nodes[0])
        columns = self._factor.solve(cross)
        left = own - columns.T @ columns
        if left.diagonal().min(initial=0.0) < -_SLACK * self._scale:
            self._refuse(nodes[int(left.diagonal().argmin())])
        return columns, left

    def _append(self, nodes: IntArray) -> None:
        """Make leaves anchors; their z is 0."""
        self._anchors.append(self.covariance.prepared(self._rows.rows[nodes]))
        self._leaves = np.append(self._leaves, nodes)
        self._weights = np.append(self._weights, np.zeros(nodes.size))

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        assert self._factor.size == 0, "a fresh model is needed"
        leaves, merged, noise = self._merged(nodes, rewards, noises)
        joint = self._among(self._rows.rows[leaves]) + np.diag(self.covariance.private + noise)
        try:
            factor = GrowingCholesky.of(joint)
        except np.linalg.LinAlgError:  # also where an entry is not finite
            self._refuse(leaves[0])
        self._append(leaves)
        self._factor, self._observed[leaves], self._observed_noise[leaves] = factor, merged, noise
        self._weights = factor.whiten(merged[:, None])[:, 0]
        self._changed()

    def fantasise(self, nodes: Sequence[int]) -> None:
        # Rewards equal to the mean: their rows of V come after those of all rewards, and their z is 0.
        places = np.asarray(nodes, dtype=np.int64)
        columns, left = self._next_columns(places)
        corner = self._corner(places, left)
        self._append(places)
        self._factor.append(columns, corner)
        self._fantasies += places.size
        self._changed()

    def _corner(self, nodes: IntArray, left: FloatArray) -> FloatArray:
        """The factor of what is left of leaves' covariance, with noise; rounding must not refuse it."""
        noise, rounding = self.noise, _SLACK * self._scale
        try:
            return np.asarray(np.linalg.cholesky(left + noise * np.eye(nodes.size)), np.float64)
        except np.linalg.LinAlgError:
            if np.linalg.eigvalsh(left)[0] < -rounding:
                self._refuse(nodes[0])
            return np.asarray(np.linalg.cholesky(left + (noise + 2.0 * rounding) * np.eye(nodes.size)))

    def discard(self) -> None:
        # To the last digit: later results must not depend on fantasies.
        if self._fantasies > 0:
            self._leaves, self._fantasies = self._rewarded, 0
            self._factor.size = self._leaves.size
            self._weights = self._weights[: self._leaves.size]
            self._anchors.truncate(self._leaves.size)
            self._changed()
