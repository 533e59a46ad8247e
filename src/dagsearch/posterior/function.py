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
variance λ̄, as in :mod:`dagsearch.posterior.weights`: a further one subtracts from the diagonal of Σ_OO + λ
and changes one residual, so that n is the number of leaves, not of rewards.

In the words of :mod:`dagsearch.posterior.landmarks` the anchors are the rewarded leaves, the columns of V are
the features φ, and z are the weights ω.

:class:`KernelScores` keeps V of all tracked nodes. For the leaf t, l already stands in column t of V, so that
its first reward appends

    V_new = (Σ_t· − lᵀV)/d,    z_new = (r − μ'_t)/d,    and moves    μ' += z_new V_new,    Σ'_ii −= V_new²:

one matrix–vector product, no solve. A further reward of t moves μ' and Σ'_ii in the same way.
"""

import math
from collections.abc import Sequence

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.covariances.rows import Rows, RowStore
from dagsearch.posterior.base import MeanFunction, prior_means
from dagsearch.posterior.cholesky import GrowingCholesky, Rotation
from dagsearch.posterior.landmarks import InducedScores, WhitenedScores
from dagsearch.posterior.samples import KernelSamples
from dagsearch.problem import State

# A posterior variance below −_SLACK times the prior one is not a rounding error.
_SLACK = 1e-6
# Number of rewarded leaves from which a model of constant size takes over.
_MOST_EXACT = 1000
# Largest number of nodes whose rows are also kept prepared.
_MOST_PREPARED = 2000


class FunctionScores(WhitenedScores):
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

    rounds_together = True

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> None:
        super().__init__(covariance, noise, mean)
        self._leaves = np.zeros(0, dtype=np.int64)  # the leaf of each row
        self._place: dict[int, int] = {}  # the row of each rewarded leaf
        self._fantasies = 0  # the last rows, whose rewards are not real

    @property
    def _rewarded(self) -> IntArray:
        """The rewarded leaves in the order of their rows, without the fantasies."""
        return self._leaves[: self._factor.size - self._fantasies]

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
        own, whitened = self.covariance.cross(rows, rows), self._columns_of(places)
        if len(states) > 0:
            fresh = self.covariance.represent(states)
            prior, fresh_whitened = self._whiten(fresh)
            moments = self._moments(prior_means(self._prior_mean, states), prior, fresh_whitened)
            across = self.covariance.cross(rows, fresh)
            own = np.block([[own, across], [across.T, self.covariance.cross(fresh, fresh)]])
            whitened = np.hstack([whitened, fresh_whitened])
            mean = np.concatenate([mean, moments[0]])
        joint = own - np.asarray(whitened.T @ whitened)
        joint[np.diag_indices(len(joint))] += self.covariance.private
        return mean, joint

    def _columns_of(self, nodes: IntArray) -> FloatArray:
        """Columns of V of tracked nodes."""
        return self._factor.whiten(self._nodes_with_rewards(nodes)[0])

    def _node_moments(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        cross, prior = self._nodes_with_rewards(nodes)
        return self._moments(self._prior[nodes], prior, self._factor.whiten(cross))

    def _nodes_with_rewards(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """:meth:`_with_anchors` of tracked nodes, which share their private offset with their own rewards."""
        cross, prior = self._with_anchors(self._rows.rows[nodes])
        if self.covariance.private > 0.0:
            cross = cross + self.covariance.private * (self._leaves[: len(cross), None] == nodes)
        return cross, prior

    def _explained(self, whitened: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduce(whitened * whitened))

    # Rewards ------------------------------------------------------------------------------------------

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        assert self._fantasies == 0, "discard fantasies first"
        variance = self._noise_of(noise)
        if node in self._place:
            self._merge_further(node, reward, variance)
        else:
            column, left = self._next_columns(np.array([node]))
            pivot = math.sqrt(max(left.item(), 0.0) + variance)
            expected = float(self._prior[node] + self._weights[: len(column)] @ column[:, 0])
            self._append(node, column, pivot, (reward - expected) / pivot)
            self._merge_first(node, reward, variance)
        self._changed()

    def _next_columns(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """l = L⁻¹Σ_Ot of leaves t, and their covariance Σ_tt − l·l that is left, without noise."""
        cross, _ = self._nodes_with_rewards(nodes)
        rows = self._rows.rows[nodes]
        own = self.covariance.cross(rows, rows) + self.covariance.private * (nodes[:, None] == nodes)
        if not (np.all(np.isfinite(cross)) and np.all(np.isfinite(own))):
            self._refuse(nodes[0])
        columns = self._factor.solve(cross)
        left = own - columns.T @ columns
        if left.diagonal().min(initial=0.0) < -_SLACK * self._scale:
            self._refuse(nodes[int(left.diagonal().argmin())])
        return columns, left

    def _append(self, node: int, column: FloatArray, pivot: float, residual: float) -> None:
        """Append the row (l, d) to L, and its z."""
        self._append_anchors(np.array([node]))
        self._factor.append(column, np.array([[pivot]]))
        self._weights[self._factor.size - 1] = residual

    def _append_anchors(self, nodes: IntArray) -> None:
        """Append leaves whose z is 0."""
        old, new = self._factor.size, self._factor.size + nodes.size
        self._leaves, self._weights = grown(self._leaves, new), grown(self._weights, new)
        self._leaves[old:new], self._weights[old:new] = nodes, 0.0
        self._anchors.append(self.covariance.prepared(self._rows.rows[nodes]))

    def _merge_first(self, node: int, reward: float, variance: float) -> None:
        """Keep the first reward of the leaf of the last row."""
        self._place[node] = self._factor.size - 1
        self._merge(node, reward, variance, self.covariance.private)

    def _merge_further(self, node: int, reward: float, variance: float) -> Rotation:
        """Merge a further reward of a leaf; returns how L⁻¹Σ changes."""
        place, n = self._place[node], self._factor.size
        old, old_noise = float(self._observed[node]), float(self._observed_noise[node])
        self._merge(node, reward, variance, self.covariance.private)
        merged, noise = float(self._observed[node]), float(self._observed_noise[node])
        self._weights[:n] += (merged - old) * self._factor.inverse[:, place]
        # λ̄ − λ̄' = λ̄ λ̄'/λ
        rotation = self._factor.lessen(place, old_noise / variance * noise)
        rotation.turn(self._weights[:n, None])
        return rotation

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        assert self._factor.size == 0, "a fresh model is needed"
        leaves, merged, noise = self._merged(nodes, rewards, noises)
        rows = self._rows.rows[leaves]
        joint = self.covariance.cross(rows, rows) + np.diag(self.covariance.private + noise)
        if not np.all(np.isfinite(joint)):
            self._refuse(leaves[0])
        try:
            factor = GrowingCholesky.of(joint)
        except np.linalg.LinAlgError:
            self._refuse(leaves[0])
        self._append_anchors(leaves)
        self._factor, self._observed[leaves], self._observed_noise[leaves] = factor, merged, noise
        self._place = {node: place for place, node in enumerate(leaves.tolist())}
        self._weights = factor.whiten(merged[:, None])[:, 0]
        self._changed()

    def fantasise(self, nodes: Sequence[int]) -> None:
        # Rewards equal to the mean: their rows of V come after those of all rewards, and their z is 0.
        places = np.asarray(nodes, dtype=np.int64)
        columns, left = self._next_columns(places)
        corner = self._corner(places, left)
        self._append_anchors(places)
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
            self._factor.size, self._fantasies = self._rewarded.size, 0
            self._anchors.truncate(self._factor.size)
            self._changed()


class KernelScores(FunctionScores):
    """Exact Gaussian regression that keeps V: O(n · nodes) for a reward after n leaves.

    For a search that reads all nodes after every reward, as back-ups and joint samples do.

    Parameters
    ----------
    covariance, noise, mean
        As for :class:`FunctionScores`.
    """

    outgrown = False  # what is kept of the nodes could not be replaced
    rounds_together = False

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> None:
        super().__init__(covariance, noise, mean)
        self._whitened = np.zeros((0, 0))  # V, with room for more
        self._prepared = RowStore()  # of all nodes, as long as they are few
        self._variance_before = np.zeros(0)  # the fantasies
        self._samples: KernelSamples | None = None

    def _adopt_nodes(self, other: WhitenedScores) -> None:
        super()._adopt_nodes(other)
        self._prepare(self._rows.rows, self._nodes)

    def _prepare(self, rows: Rows, nodes: int) -> None:
        """Keep new nodes prepared; if there are many, it would take more memory than everything else."""
        if nodes <= _MOST_PREPARED:
            self._prepared.append(self.covariance.prepared(rows))
        else:
            self._prepared = RowStore()

    def track(self, states: Sequence[State]) -> None:
        # Digits must not depend on whether there are fantasies, nor on which of these came first.
        rows, means = self.covariance.represent(states), prior_means(self._prior_mean, states)
        told, total = self._rewarded.size, self._factor.size
        cross, prior = self._with_anchors(rows, told)
        whitened = self._factor.whiten(cross)
        self._prepare(rows, self._nodes + len(states))
        new = self._add(rows, means, prior)
        self._mean[new], self._variance[new] = self._moments(means, prior, whitened)
        self._whitened = grown(self._whitened, total, self._nodes)
        self._whitened[:told, new] = whitened
        if self._fantasies > 0:
            self._variance_before = np.concatenate([self._variance_before, self._variance[new]])
            nodes, pivots = self._leaves[told:total], self._factor.lower.diagonal()[told:].copy()
            _add_fantasies(self._prior_rows(nodes, new), self._whitened, told, nodes, pivots, new.start)
            for row in self._whitened[told:total, new]:
                self._variance[new] = np.maximum(self._variance[new] - row * row, 0.0)

    def refresh(self, nodes: Sequence[int] | IntArray | None = None) -> None:
        """Do nothing: all nodes are always up to date."""

    def _columns_of(self, nodes: IntArray) -> FloatArray:
        return np.asarray(self._whitened[: self._factor.size, nodes])

    def sampled(self, count: int, rng: np.random.Generator) -> KernelSamples:
        self._samples = KernelSamples(self, count, rng)
        return self._samples

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        assert self._fantasies == 0, "discard fantasies first"
        variance, n = self._noise_of(noise), self._rewarded.size
        prior = self._prior_row(node)
        row, pivot = self._next_row(
            node, prior - self._whitened[:n, node] @ self._whitened[:n, : self._nodes], variance
        )
        remaining = self._remaining(node, row)
        if self._samples is not None:
            self._samples.condition(node, reward, variance, row, pivot)
        residual = float(reward - self._mean[node]) / pivot
        if node in self._place:
            rotation = self._merge_further(node, reward, variance)
            rotation.turn(self._whitened[:n, : self._nodes])
            if self._samples is not None:
                self._samples.turn(rotation)
        else:
            self._append_row(node, row, pivot, residual)
            self._merge_first(node, reward, variance)
        self._mean[: self._nodes] += residual * row
        self._variance[: self._nodes] = np.maximum(remaining, 0.0)
        self._changed()

    def _append_row(self, node: int, row: FloatArray, pivot: float, residual: float) -> None:
        n = self._factor.size
        self._append(node, self._whitened[:n, node, None], pivot, residual)
        self._whitened = grown(self._whitened, n + 1, self._nodes)
        self._whitened[n, : self._nodes] = row

    def fantasise(self, nodes: Sequence[int]) -> None:
        for node in nodes:
            n = self._factor.size
            left = _less_explained(self._prior_row(node), self._whitened, n, node, 0)
            row, pivot = self._next_row(node, left, self.noise)
            remaining = self._remaining(node, row)
            if self._fantasies == 0:
                self._variance_before = self._variance[: self._nodes].copy()
            self._append_row(node, row, pivot, 0.0)
            self._variance[: self._nodes] = np.maximum(remaining, 0.0)
            self._fantasies += 1
        self._changed()

    def discard(self) -> None:
        if self._fantasies > 0:
            self._variance[: self._nodes] = self._variance_before
        super().discard()

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        super().condition_all(nodes, rewards, noises)
        cross, prior = self._nodes_with_rewards(np.arange(self._nodes))
        self._whitened = np.ascontiguousarray(self._factor.whiten(cross))
        moments = self._moments(self._prior[: self._nodes], prior, self._whitened)
        self._mean[: self._nodes], self._variance[: self._nodes] = moments

    def _prior_row(self, node: int) -> FloatArray:
        """Prior covariances of a node with all nodes."""
        prior = self._prior_rows(np.array([node]), slice(self._nodes))[0]
        if not np.all(np.isfinite(prior)):
            self._refuse(node)
        prior[node] += self.covariance.private
        return np.asarray(prior)

    def _prior_rows(self, nodes: IntArray, others: slice) -> FloatArray:
        """Prior covariances of nodes with others, without private variance, one row per node."""
        rows = self._rows.rows[nodes]
        if self._nodes <= _MOST_PREPARED:
            return np.asarray(self.covariance.of_rows(rows, self._prepared.rows[others])[0])
        return np.asarray(self.covariance.cross(rows, self._rows.rows[others]))

    def _next_row(self, node: int, left: FloatArray, variance: float) -> tuple[FloatArray, float]:
        """The new row of V and the new pivot of L, from the covariances Σ' of a node with all nodes."""
        if left[node] < -_SLACK * self._scale:
            self._refuse(node)
        pivot = float(np.sqrt(max(left[node], 0.0) + variance))
        return left / pivot, pivot

    def _remaining(self, node: int, row: FloatArray) -> FloatArray:
        """Variances after a new row of V; by rounding they may be a little below 0."""
        remaining = self._variance[: self._nodes] - row * row
        if remaining.min(initial=0.0) < -_SLACK * self._scale:
            self._refuse(node)
        return np.asarray(remaining)


@compiled
def _less_explained(prior: FloatArray, whitened: FloatArray, rows: int, node: int, first: int) -> FloatArray:
    """Prior covariances of a node with the nodes from ``first`` on, less what the first rows of V explain.

    By BLAS, the last digits would depend on how many nodes there are.
    """
    left = prior.copy()
    for row in range(rows):
        own = whitened[row, node]
        for other in range(left.size):
            left[other] -= own * whitened[row, first + other]
    return left


@compiled
def _add_fantasies(
    prior: FloatArray, whitened: FloatArray, told: int, nodes: IntArray, pivots: FloatArray, first: int
) -> None:
    """Write the fantasies' rows of V for the nodes from ``first`` on."""
    for number in range(nodes.size):
        left = _less_explained(prior[number], whitened, told + number, nodes[number], first)
        whitened[told + number, first : first + left.size] = left / pivots[number]
