r"""Scores in weight space: g(x) = φ(x)·w + ε_x for covariances that are inner products of features.

==========  ==================  ================  ==================================================
symbol      code                shape             meaning
==========  ==================  ================  ==================================================
φ(x)        features            sparse rows       features of the tracked nodes
m, S        weights             ``(d,), (d, d)``  belief over the weights w, N(0, I) a priori
p           private             —                 variance of the private offset ε_x
μ           prior_mean          —                 prior mean of g
r̄, λ̄        observed, noise     ``(nodes,)``      precision-weighted mean of a leaf's rewards (minus μ)
                                                  and its noise variance, ∞ without rewards
==========  ==================  ================  ==================================================

All rewards of one leaf share its ε_x, so they act on w as one observation r̄ with variance p + λ̄. A first
reward adds the precision δ = 1/(p + λ̄) on φ·w; a further one changes λ̄ → λ̄' and r̄ → r̄', which adds

    δ = 1/(p + λ̄') − 1/(p + λ̄) = λ̄ λ̄' / (λ (p + λ̄)(p + λ̄')) ≥ 0        to the precision, and
    h = r̄'/(p + λ̄') − r̄/(p + λ̄) = δ r̄' + (r̄' − r̄)/(p + λ̄)               to the information vector.

With q = Sφ and s = φᵀq both are the same exact rank-1 step, without a division by δ:

    m += q (h − δ φ·m)/(1 + δs),    S −= q qᵀ δ/(1 + δs).

Given w, ε_x of an observed leaf is Gaussian with mean κ(r̄ − φ·w), κ = p/(p + λ̄), and variance κλ̄, so g has
mean (1−κ) φ·m + κ r̄ and variance (1−κ)² φᵀSφ + κλ̄; other nodes have φ·m and φᵀSφ + p.
"""

import math
from collections.abc import Sequence

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Overlap
from dagsearch.covariances.rows import SparseRows
from dagsearch.posterior.base import JointScores
from dagsearch.posterior.belief import Weights, advance, gain_vector, project, project_added, to_weights
from dagsearch.problem import Children, State


class WeightScores(JointScores):
    """Exact Gaussian regression in weight space: O(d²) per reward, for any number of rewards.

    Parameters
    ----------
    covariance : Overlap
        The covariance, which is an inner product of features.
    noise, mean
        See :class:`JointScores`.
    """

    covariance: Overlap

    def __init__(self, covariance: Overlap, noise: float, mean: float = 0.0) -> None:
        super().__init__(covariance, noise, mean)
        self._place = np.zeros(0, dtype=np.int64)  # number of each feature's weight
        # Weight 0 stands for every feature that no tracked node has: its m is 0, its row of S a unit vector.
        self._weights: Weights = np.zeros(1), np.ones(1), np.ones((1, 1))
        self._room = self._weights  # the same with room for more
        self._starts = np.zeros(1, dtype=np.int64)
        self._columns = np.zeros(0, dtype=np.int64)
        self._values = np.zeros(0)
        self._linear = np.zeros((2, 0))  # φ·m and φᵀSφ of all nodes, with room for more

    def track(self, states: Sequence[State]) -> None:
        rows = self._features(states)
        new = self._number(len(states))
        old = int(self._starts[new.start])
        total = old + rows.columns.size
        self._starts = grown(self._starts, new.stop + 1)
        self._columns, self._values = grown(self._columns, total), grown(self._values, total)
        self._starts[new.start + 1 : new.stop + 1] = old + rows.starts[1:]
        self._columns[old:total], self._values[old:total] = rows.columns, rows.values
        self._linear = grown(self._linear, 2, new.stop)
        self._linear[:, new] = mean, var = project(rows[:], self._weights)
        self._mean[new], self._variance[new] = self.prior_mean + mean, var + self.covariance.private

    def _features(self, states: Sequence[State]) -> SparseRows:
        """Features of states, with the numbers of their weights as columns; adds missing weights."""
        rows = self.covariance.features(states)
        needed = to_weights(rows.columns, self._places(), len(self._weights[0]))
        if needed > len(self._weights[0]):
            self._use(needed)
        return rows

    def _use(self, dimension: int) -> None:
        """Have this number of weights."""
        (mean, variance, cov), d = self._room, dimension
        if d > (before := len(mean)):
            self._room = mean, variance, cov = grown(mean, d), grown(variance, d, fill=1.0), grown(cov, d, d)
            np.fill_diagonal(cov[before:, before:], 1.0)
        self._weights = mean[:d], variance[:d], cov

    def _places(self) -> IntArray:
        """The number of the weight of each feature of the covariance."""
        if self.covariance.dimension > self._place.size:
            self._place = grown(self._place, self.covariance.dimension)
        return self._place

    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        rows = self._features(states)
        mean, var = project(rows[:], self._weights)
        return self.prior_mean + mean, var + self.covariance.private

    def predict_children(self, children: Children, node: int | None = None) -> tuple[FloatArray, FloatArray]:
        added = self.covariance.added_features(children)
        if added is None:
            return self.predict(children.states)
        parent = self._features([children.parent])[1:] if node is None else self._row(node)
        constants = self.prior_mean, self.covariance.private
        return project_added(added[:], self._places(), parent, self._weights, *constants)

    def _joint(self, nodes: IntArray) -> FloatArray:
        dense = np.zeros((len(nodes), len(self._room[0])))
        for row, node in zip(dense, nodes.tolist(), strict=True):
            np.add.at(row, *self._row(node))
        return np.asarray(dense @ self._room[2] @ dense.T)

    def _row(self, node: int) -> tuple[IntArray, FloatArray]:
        entries = slice(self._starts[node], self._starts[node + 1])
        return self._columns[entries], self._values[entries]

    def _shared_of(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        return self._linear[0][nodes], self._linear[1][nodes]  # faster than all at once

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        self._learn(node, reward, self._noise_of(noise))

    def _learn(self, node: int, reward: float, variance: float, fantasy: bool = False) -> None:
        """Add precision δ and information h on φ·w; a fantasy moves no mean, not even by rounding."""
        precision, information = self._merge(node, reward, variance, self.covariance.private)
        q, expected, s = gain_vector(self._row(node), self._weights)
        gain = 0.0 if fantasy else (information - precision * expected) / (1.0 + precision * s)
        shrink = math.sqrt(precision / (1.0 + precision * s))
        rows = self._starts[: self._nodes + 1], self._columns, self._values
        advance(self._weights, q, gain, shrink, rows, self._linear)
        self._stale = True

    def _fantasise(self, nodes: Sequence[int]) -> None:
        self._linear, self._place = self._linear.copy(), self._place.copy()
        mean, variance, cov = self._room
        self._room = mean.copy(), variance.copy(), cov.copy()
        self._use(len(self._weights[0]))
        for node in nodes:
            self.refresh([node])
            self._learn(node, float(self._mean[node]), self.noise, fantasy=True)  # a reward equal to the mean
