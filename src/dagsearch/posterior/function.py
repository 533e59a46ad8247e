r"""Scores in function space, for any covariance.

==========  ================  ==================  ================================================
paper       code              shape               meaning
==========  ================  ==================  ================================================
Σ_OO + λ    L Lᵀ              ``(n, n)``          covariance of the n rewards, factored
Σ_Oi        V = L⁻¹ Σ_Oi      ``(n, nodes)``      whitened covariance of rewards and tracked nodes
r − μ_O     z = L⁻¹(r − μ_O)  ``(n,)``            whitened residuals
μ', Σ'_ii   mean, variance    ``(nodes,)``        μ + Vᵀz and Σ_ii − Σ_n V²
==========  ================  ==================  ================================================

A reward at the tracked leaf t appends a row to everything. Its row of L is (l, d) with l = L⁻¹Σ_Ot, which
already stands in column t of V, and d² = Σ_tt − l·l + λ = Σ'_tt + λ; so

    V_new = (Σ_t· − lᵀV)/d,    z_new = (r − μ'_t)/d,    μ' += z_new V_new,    Σ'_ii −= V_new².

One matrix–vector product, no solve. In the words of :mod:`dagsearch.posterior.whitened` the anchors are the
rewards, the columns of V are the features φ, and z are the weights ω. With many nodes of which few are looked
at, V is not kept (``as_lazy``): those get their columns when they are refreshed.
"""

from collections.abc import Sequence

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.covariances.rows import Rows, RowStore
from dagsearch.errors import CovarianceError
from dagsearch.posterior.base import Capability, MeanFunction, checked_noise, prior_means
from dagsearch.posterior.cholesky import GrowingCholesky
from dagsearch.posterior.landmarks import InducedScores
from dagsearch.posterior.samples import KernelSamples
from dagsearch.posterior.siblings import Siblings
from dagsearch.posterior.whitened import WhitenedScores
from dagsearch.problem import State

# A posterior variance below −_SLACK times the prior one is not a rounding error.
_SLACK = 1e-6
# Number of rewards from which a model of constant size takes over, if few nodes are looked at.
_MOST_EXACT = 1000
# Number of rewards after which further rows of V are kept for a node's children.
_BLOCK = 32
# Largest number of nodes whose rows are also kept prepared.
_MOST_PREPARED = 2000


class KernelScores(WhitenedScores):
    """Exact Gaussian regression with a growing Cholesky factor: O(n · nodes) for the n-th reward.

    Parameters
    ----------
    covariance : Covariance
        Any positive semi-definite one.
    noise : float
        Variance λ of a reward around its leaf's g.
    mean : float or callable
        Prior mean of g.
    """

    can = frozenset(Capability)

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> None:
        super().__init__(covariance, noise, mean)
        self._observed = np.zeros(0, dtype=np.int64)  # the leaf of each reward
        self._fantasies = 0  # rewards that are not real, the last ones
        self._variance_before = np.zeros(0)  # the fantasies
        self._inverse_before = np.zeros((0, 0))  # L⁻¹ before the fantasies
        self._keeps_columns = True
        self._whitened = np.zeros((0, 0))  # V, with room for more; empty if it is not kept
        self._prepared = RowStore()  # of all nodes, as long as they are few
        self._samples: KernelSamples | None = None

    @property
    def _rewards(self) -> int:
        """n, with the fantasies."""
        return self._factor.size

    def refitted(self, covariance: Covariance, noise: float, states: Sequence[State]) -> "KernelScores":
        """A model of the same nodes without rewards, with another covariance and noise."""
        fresh = KernelScores(covariance, noise, self._prior_mean)
        if not self._keeps_columns:
            fresh.as_lazy()
        fresh._adopt_nodes(self)
        return fresh

    def _adopt_nodes(self, other: WhitenedScores) -> None:
        super()._adopt_nodes(other)
        if self._keeps_prepared(self._nodes):
            self._prepared.append(self.covariance.prepared(self._rows.rows))

    def _keeps_prepared(self, nodes: int) -> bool:
        """Whether rows are kept prepared; for many nodes they would take more memory than everything else."""
        return self._keeps_columns and nodes <= _MOST_PREPARED

    @property
    def outgrown(self) -> bool:
        """Whether the number of rewards is one from which a model of constant size should take over."""
        return not self._keeps_columns and self._rewards - self._fantasies >= _MOST_EXACT

    def induced(self, leaves: Sequence[int]) -> InducedScores:
        """A fresh model of the same nodes whose cost does not grow with the rewards.

        Its landmarks are chosen from these leaves.
        """
        rows = self._rows.rows[np.asarray(leaves, dtype=np.int64)]
        fresh = InducedScores(self.covariance, self.noise, self._prior_mean, rows)
        fresh._adopt_nodes(self)
        return fresh

    def track(self, states: Sequence[State]) -> None:
        """Number new states and bring their beliefs up to date.

        Their digits must not depend on whether there are fantasies, nor those of the fantasies on which came
        first.
        """
        if self._fantasies == 0 or not self._keeps_columns:
            super().track(states)
            return
        old, rewards, inverse = self._nodes, self._rewards, self._factor.inverse
        told = rewards - self._fantasies
        self._anchors.truncate(told)
        self._factor.inverse = self._inverse_before
        try:
            super().track(states)
        finally:
            self._anchors.truncate(rewards)
            self._factor.inverse = inverse
        new = slice(old, self._nodes)
        self._variance_before = np.concatenate([self._variance_before, self._variance[new]])
        nodes, pivots = self._observed[told:rewards], self._factor.lower.diagonal()[told:].copy()
        _add_fantasies(self._prior_rows(nodes, new), self._whitened, told, nodes, pivots, old)
        for row in self._whitened[told:rewards, new]:
            self._variance[new] = np.maximum(self._variance[new] - row * row, 0.0)

    def _add_nodes(self, rows: Rows, whitened: FloatArray) -> None:
        old, new = self._nodes, self._nodes + whitened.shape[1]
        if self._keeps_prepared(new):
            self._prepared.append(self.covariance.prepared(rows))
        else:
            self._prepared = RowStore()
        if self._keeps_columns:
            self._whitened = grown(self._whitened, self._rewards, new)
            self._whitened[: self._rewards, old:new] = whitened

    def as_lazy(self) -> "KernelScores":
        """Itself, from now on without the columns of V."""
        self._keeps_columns, self._whitened, self._prepared = False, np.zeros((0, 0)), RowStore()
        return self

    def _sibling_moments(self, siblings: Siblings, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        while siblings.anchors + _BLOCK <= self._rewards - self._fantasies:
            self._siblings.learn(siblings, *self._next_rows(siblings, siblings.anchors + _BLOCK))
        gain, explained = siblings.gain, siblings.explained
        if siblings.anchors < self._rewards:
            rows, residuals = self._next_rows(siblings, self._rewards)
            gain, explained = gain + residuals @ rows, explained + np.einsum("ij,ij->j", rows, rows)
        variance = siblings.prior + self.covariance.private - explained
        return means + gain, np.maximum(variance, 0.0)

    def joint(self, nodes: Sequence[int], states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of g of some tracked nodes and then of states that are not tracked."""
        n = self._rewards
        rows = self._rows.rows[np.asarray(nodes, dtype=np.int64)]
        own = self.covariance.cross(rows, rows)
        self.refresh(nodes)
        places = np.asarray(nodes, dtype=np.int64)
        whitened = self._whitened[:n, nodes] if self._keeps_columns else self._whiten_nodes(places)[1]
        mean = self._mean[nodes]
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

    def sampled(self, count: int, rng: np.random.Generator) -> KernelSamples:
        """Joint posterior samples of all tracked nodes; they follow later rewards."""
        self._samples = KernelSamples(self, count, rng)
        return self._samples

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Learn that the leaf ``node`` earned ``reward``, with its own noise variance if given."""
        assert self._fantasies == 0, "discard fantasies first"
        self._append(node, reward, self.noise if noise is None else checked_noise(noise))

    def _append(self, node: int, reward: float, variance: float, fantasy: bool = False) -> None:
        if not self._keeps_columns:
            self._append_alone(node, reward, variance)
            return
        n = self._rewards
        row, pivot = self._next_row(node, variance, fantasy)
        remaining = self._variance[: self._nodes] - row * row
        if remaining.min(initial=0.0) < -_SLACK * self._scale:
            self._refuse(node)
        if self._samples is not None:
            self._samples.condition(node, reward, variance, row, pivot)
        self._extend(node, self._whitened[:n, node], pivot, (reward - self._mean[node]) / pivot)
        self._whitened = grown(self._whitened, n + 1, self._nodes)
        self._whitened[n, : self._nodes] = row
        self._mean[: self._nodes] += self._weights[n] * row
        self._variance[: self._nodes] = np.maximum(remaining, 0.0)

    def _append_alone(self, node: int, reward: float, variance: float) -> None:
        """Append a row to L and z, and to nothing else."""
        assert self._samples is None, "joint samples need all columns of V"
        cross, prior = self._nodes_with_rewards(np.array([node]))
        whitened = self._factor.solve(cross) if np.all(np.isfinite(cross)) else cross
        mean, left = self._moments(self._prior[node : node + 1], prior, whitened)
        if not np.all(np.isfinite(whitened)) or left[0] < -_SLACK * self._scale:
            self._refuse(node)
        pivot = float(np.sqrt(left[0] + variance))
        self._extend(node, whitened[:, 0], pivot, float(reward - mean[0]) / pivot)
        self._stale = True

    def _extend(self, node: int, row: FloatArray, pivot: float, residual: float) -> None:
        """Append the row (l, d) to L, and its z."""
        n = self._rewards
        self._observed = grown(self._observed, n + 1)
        self._observed[n] = node
        own = slice(node, node + 1)
        kept = self._keeps_prepared(self._nodes)
        self._anchors.append(
            self._prepared.rows[own] if kept else self.covariance.prepared(self._rows.rows[own])
        )
        self._factor.append(row, pivot)
        self._weights = grown(self._weights, n + 1)
        self._weights[n] = residual

    def fantasise(self, node: int) -> None:
        """Count a leaf as observed for the variance of g, but not for its mean, until :meth:`discard`.

        A reward equal to the mean does that: its row of V comes after those of all rewards, and its z is 0.
        """
        self.refresh([node])
        if self._fantasies == 0:
            self._variance_before = self._variance[: self._nodes].copy()
            self._inverse_before = self._factor.inverse
        samples, self._samples = self._samples, None  # they follow real rewards only
        try:
            self._append(node, float(self._mean[node]), self.noise, fantasy=True)
        finally:
            self._samples = samples
        self._fantasies += 1

    def discard(self) -> None:
        """Take back all fantasies, to the last digit: later results must not depend on them."""
        if self._fantasies == 0:
            return
        self._anchors.truncate(self._rewards - self._fantasies)
        self._factor.inverse = self._inverse_before
        self._fantasies, self._alpha_now = 0, np.zeros(0)
        self._stale = not self._keeps_columns
        if self._keeps_columns:
            self._variance[: self._nodes] = self._variance_before

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        """:meth:`condition` on many rewards at once; the scores must have none before."""
        assert self._rewards == 0, "a fresh model is needed"
        self._observed = np.array(nodes, dtype=np.int64)
        rows = self._rows.rows[self._observed]
        joint = self.covariance.cross(rows, rows)
        joint += self.covariance.private * (self._observed[:, None] == self._observed)
        joint += np.diag([self.noise if noise is None else checked_noise(noise) for noise in noises])
        if not np.all(np.isfinite(joint)):
            self._refuse(int(self._observed[0]))
        try:
            self._factor = GrowingCholesky.of(joint)
        except np.linalg.LinAlgError:
            self._refuse(int(self._observed[0]))
        residuals = np.array(rewards, dtype=np.float64) - self._prior[self._observed]
        self._weights = self._factor.whiten(residuals[:, None])[:, 0]
        self._anchors.append(self.covariance.prepared(rows))
        self._stale = True
        if self._keeps_columns:
            prior, self._whitened = self._whiten_nodes(np.arange(self._nodes))
            moments = self._moments(self._prior[: self._nodes], prior, self._whitened)
            self._mean[: self._nodes], self._variance[: self._nodes] = moments
            self._stale = False

    def _next_row(self, node: int, variance: float, fantasy: bool) -> tuple[FloatArray, float]:
        """The new row of V, and the new pivot of L."""
        n = self._rewards
        prior = self._prior_rows(np.array([node]), slice(self._nodes))[0]
        if not np.all(np.isfinite(prior)):
            self._refuse(node)
        prior[node] += self.covariance.private
        if fantasy:
            across = _less_explained(prior, self._whitened, n, node, 0)
        else:
            across = prior - self._whitened[:n, node] @ self._whitened[:n, : self._nodes]
        if across[node] < -_SLACK * self._scale:
            self._refuse(node)
        pivot = float(np.sqrt(max(across[node], 0.0) + variance))
        return across / pivot, pivot

    def _prior_rows(self, nodes: IntArray, others: slice) -> FloatArray:
        """Prior covariances of nodes with others, without private variance, one row per node."""
        rows = self._rows.rows[nodes]
        if self._keeps_prepared(self._nodes):
            return np.asarray(self.covariance.of_rows(rows, self._prepared.rows[others])[0])
        return np.asarray(self.covariance.cross(rows, self._rows.rows[others]))

    def _whiten_nodes(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        cross, prior = self._nodes_with_rewards(nodes)
        return prior, self._factor.whiten(cross)

    def _nodes_with_rewards(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """:meth:`_with_anchors` of tracked nodes, which share their private offset with their own rewards."""
        cross, prior = self._with_anchors(self._rows.rows[nodes])
        if self.covariance.private > 0.0:
            cross = cross + self.covariance.private * (self._observed[: self._rewards, None] == nodes)
        return cross, prior

    def _explained(self, whitened: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("ij,ij->j", whitened, whitened))

    def _refuse(self, node: int) -> None:
        raise CovarianceError(
            f"the covariance {self.covariance!r} is not positive semi-definite: after "
            f"{self._rewards} rewards it leaves node {node} or its relatives a negative variance. "
            "This reward was not used; use a valid kernel or add private variance"
        )


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
