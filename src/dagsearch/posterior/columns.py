r"""Scores in function space that keep the belief over all tracked nodes up to date.

The symbols are those of :mod:`dagsearch.posterior.function`. V of all tracked nodes is kept. For the leaf t,
l already stands in column t of V, so that its first reward appends

    V_new = (Σ_t· − lᵀV)/d,    z_new = (r − μ'_t)/d,    and moves    μ' += z_new V_new,    Σ'_ii −= V_new²:

one matrix–vector product, no solve. A further reward of t moves μ' and Σ'_ii in the same way.
"""

from collections.abc import Sequence

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.covariances.rows import Rows, RowStore
from dagsearch.posterior.base import MeanFunction, checked_noise, prior_means
from dagsearch.posterior.function import _SLACK, FunctionScores
from dagsearch.posterior.samples import KernelSamples
from dagsearch.posterior.whitened import WhitenedScores
from dagsearch.problem import State

# Largest number of nodes whose rows are also kept prepared.
_MOST_PREPARED = 2000


class KernelScores(FunctionScores):
    """Exact Gaussian regression that keeps V: O(n · nodes) for a reward after n leaves.

    For a search that reads all nodes after every reward, as back-ups and joint samples do.

    Parameters
    ----------
    covariance : Covariance
        Any positive semi-definite one.
    noise : float
        Variance λ of a reward around its leaf's g.
    mean : float or callable
        Prior mean of g.
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
        """Number new states and bring their beliefs up to date.

        Their digits must not depend on whether there are fantasies, nor those of the fantasies on which came
        first.
        """
        rows, means = self.covariance.represent(states), prior_means(self._prior_mean, states)
        told, total = self._leaves, self._factor.size
        cross, prior = self._with_anchors(rows, told)
        whitened = self._factor.whiten(cross)
        self._prepare(rows, self._nodes + len(states))
        new = self._number(rows, means, prior)
        self._mean[new], self._variance[new] = self._moments(means, prior, whitened)
        self._whitened = grown(self._whitened, total, self._nodes)
        self._whitened[:told, new] = whitened
        if self._fantasies > 0:
            self._variance_before = np.concatenate([self._variance_before, self._variance[new]])
            nodes, pivots = self._observed[told:total], self._factor.lower.diagonal()[told:].copy()
            _add_fantasies(self._prior_rows(nodes, new), self._whitened, told, nodes, pivots, new.start)
            for row in self._whitened[told:total, new]:
                self._variance[new] = np.maximum(self._variance[new] - row * row, 0.0)

    def refresh(self, nodes: Sequence[int] | IntArray | None = None) -> None:
        """Do nothing: all nodes are always up to date."""

    def _columns_of(self, nodes: IntArray) -> FloatArray:
        return np.asarray(self._whitened[: self._factor.size, nodes])

    def sampled(self, count: int, rng: np.random.Generator) -> KernelSamples:
        """Joint posterior samples of all tracked nodes; they follow later rewards."""
        self._samples = KernelSamples(self, count, rng)
        return self._samples

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Learn that the leaf ``node`` earned ``reward``, with its own noise variance if given."""
        assert self._fantasies == 0, "discard fantasies first"
        variance, n = self.noise if noise is None else checked_noise(noise), self._leaves
        prior = self._prior_row(node)
        row, pivot = self._next_row(
            node, prior - self._whitened[:n, node] @ self._whitened[:n, : self._nodes], variance
        )
        remaining = self._remaining(node, row)
        if self._samples is not None:
            self._samples.condition(node, reward, variance, row, pivot)
        residual = float(reward - self._mean[node]) / pivot
        if node in self._place:
            rotation = self._merge(node, reward, variance)
            rotation.turn(self._whitened[:n, : self._nodes])
            if self._samples is not None:
                self._samples.turn(rotation)
        else:
            self._append_row(node, row, pivot, residual)
            self._keep(node, reward, variance)
        self._mean[: self._nodes] += residual * row
        self._variance[: self._nodes] = np.maximum(remaining, 0.0)
        self._changed()

    def _append_row(self, node: int, row: FloatArray, pivot: float, residual: float) -> None:
        n = self._factor.size
        self._append(node, self._whitened[:n, node, None], pivot, residual)
        self._whitened = grown(self._whitened, n + 1, self._nodes)
        self._whitened[n, : self._nodes] = row

    def fantasise(self, nodes: Sequence[int]) -> None:
        """Count leaves as observed for the variance of g, but not for its mean, until :meth:`discard`."""
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
        """Take back all fantasies, to the last digit: later results must not depend on them."""
        if self._fantasies > 0:
            self._variance[: self._nodes] = self._variance_before
        super().discard()

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        """:meth:`condition` on many rewards at once; the scores must have none before."""
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
