r"""Scores in weight space: g(x) = φ(x)·w + ε_x for covariances that are feature maps.

==========  ==================  ================  ==================================================
symbol      code                shape             meaning
==========  ==================  ================  ==================================================
φ(x)        features            sparse rows       features of the tracked nodes
m, S        weight_mean, _cov   ``(d,), (d, d)``  belief over the weights w, N(0, I) a priori
U           recent              ``(b, d)``        rows that S lacks
p           private             —                 variance of the private offset ε_x
μ(x)        prior               ``(nodes,)``      prior mean of g
φ·m, φᵀSφ   linear_mean, _var   ``(nodes,)``      belief over the linear part of the tracked nodes
r̄, λ̄        observed, noise     ``(nodes,)``      precision-weighted mean of a leaf's rewards (less μ)
                                                  and its noise variance, ∞ where there are none
==========  ==================  ================  ==================================================

All rewards of one leaf share its ε_x, so they act on w as one observation r̄ with variance p + λ̄. A first
reward adds the precision δ = 1/(p + λ̄) on φ·w; a further one changes λ̄ → λ̄' and r̄ → r̄', which adds

    δ = 1/(p + λ̄') − 1/(p + λ̄) = λ̄ λ̄' / (λ (p + λ̄)(p + λ̄')) ≥ 0        to the precision, and
    h = r̄'/(p + λ̄') − r̄/(p + λ̄) = δ r̄' + (r̄' − r̄)/(p + λ̄)               to the information vector.

With q = Sφ and s = φᵀq either is the same rank-1 step, exact and without a division by δ:

    m += q (h − δ φ·m)/(1 + δs),    S −= q qᵀ δ/(1 + δs),

and every tracked node follows through its own φ·q alone. Where there are many features, a pass over S for
every reward would cost more than all the rest: the last rows u = q sqrt(δ/(1 + δs)) are kept aside as U, so
that the belief's covariance is S − UᵀU, and U enters S only now and then, by one matrix product.

Given w, ε_x of an observed leaf is Gaussian with mean κ(r̄ − φ·w), κ = p/(p + λ̄), and variance κλ̄, so g has
mean (1−κ) φ·m + κ r̄ and variance (1−κ)² φᵀSφ + κλ̄; elsewhere it has φ·m and φᵀSφ + p.
"""

from collections.abc import Sequence

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance, FeatureMap
from dagsearch.covariances.rows import SparseRows
from dagsearch.posterior.base import JointScores, MeanFunction, offsets, prior_means
from dagsearch.posterior.belief import WeightBelief, project, project_added, project_step
from dagsearch.problem import Children, State

# Number of features from which rows of rewards are kept aside, and how many of them.
_MANY_FEATURES, _ASIDE = 128, 32


class WeightScores(JointScores):
    """Exact Gaussian regression in weight space: O(d²) per reward, for any number of rewards.

    Parameters
    ----------
    covariance : FeatureMap
        A covariance with features, such as :class:`dagsearch.covariances.Overlap`.
    noise : float
        Variance λ of a reward around its leaf's g.
    mean : float or callable
        Prior mean of g.
    """

    covariance: FeatureMap
    _by_node = (*JointScores._by_node, "_linear_mean", "_linear_var")

    def __init__(self, covariance: FeatureMap, noise: float, mean: MeanFunction = 0.0) -> None:
        super().__init__(noise, mean)
        self.covariance = covariance
        self._weights = WeightBelief()
        self._starts = np.zeros(1, dtype=np.int64)
        self._columns = np.zeros(0, dtype=np.int64)
        self._values = np.zeros(0)
        self._linear_mean, self._linear_var = np.zeros(0), np.zeros(0)
        # Number of updates that not all nodes have seen, whether some have, and the last update: q, and the
        # change of m and S along q.
        self._behind, self._some_ahead = 0, False
        self._last: tuple[FloatArray, float, float] = (np.zeros(0), 0.0, 0.0)
        # What fantasies change of the nodes, of the updates and of the weights; None if there are none.
        self._before: tuple[list[FloatArray], tuple[int, bool], tuple[int, FloatArray]] | None = None

    def refitted(self, covariance: Covariance, noise: float, states: Sequence[State]) -> "WeightScores":
        assert isinstance(covariance, FeatureMap)
        fresh = WeightScores(covariance, noise, self._prior_mean)
        fresh.track(states)
        return fresh

    def track(self, states: Sequence[State]) -> None:
        rows = self._features(states)
        new = self._number(prior_means(self._prior_mean, states))
        self._append_rows(new, rows)
        linear = project(rows, np.arange(len(states)), self._weights.arrays)
        self._linear_mean[new], self._linear_var[new] = linear
        self._mean[new] += linear[0]
        self._variance[new] = linear[1] + self.covariance.private
        self._some_ahead |= self._behind > 0  # the new nodes have seen all rewards

    def _features(self, states: Sequence[State]) -> SparseRows:
        """Features of states; there are weights for all of them."""
        rows = self.covariance.features(states)
        self._weights.grow(self.covariance.dimension)
        return rows

    def _append_rows(self, nodes: slice, rows: SparseRows) -> None:
        """Keep the features of new nodes."""
        old = int(self._starts[nodes.start])
        new = old + rows.columns.size
        self._starts = grown(self._starts, nodes.stop + 1)
        self._columns, self._values = grown(self._columns, new), grown(self._values, new)
        self._starts[nodes.start + 1 : nodes.stop + 1] = old + rows.starts[1:]
        self._columns[old:new], self._values[old:new] = rows.columns, rows.values

    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        rows = self._features(states)
        mean, var = project(rows, np.arange(len(states)), self._weights.arrays)
        return prior_means(self._prior_mean, states) + mean, var + self.covariance.private

    def predict_children(self, children: Children, node: int | None = None) -> tuple[FloatArray, FloatArray]:
        added = self.covariance.added_features(children)
        if added is None:
            return self.predict(children.states)
        self._weights.grow(self.covariance.dimension)
        if node is None:
            parent = self._features([children.parent])
            linear = project(parent, np.zeros(1, np.int64), self._weights.arrays)
            place = 0, float(linear[0][0]), float(linear[1][0])
        else:
            self.refresh([node])
            parent, place = self._tracked, (node, self._linear_mean[node], self._linear_var[node])
        weights, private = self._weights, self.covariance.private
        mean, var = project_added(added, parent, *place, private, weights.arrays, weights.variance)
        if callable(self._prior_mean):  # only then the children are made
            return mean + prior_means(self._prior_mean, children.states), var
        return mean + self._prior_mean, var

    def joint(self, nodes: Sequence[int], states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        fresh = self._features(states)
        dense = np.zeros((len(nodes) + len(states), self._weights.dimension))
        for row, node in zip(dense, nodes, strict=False):
            np.add.at(row, *self._row(node))
        owners = len(nodes) + np.repeat(np.arange(len(states)), np.diff(fresh.starts))
        np.add.at(dense, (owners, fresh.columns), fresh.values)
        weight_mean, weight_cov, recent = self._weights.arrays
        aside = recent @ dense.T
        mean, joint = dense @ weight_mean, dense @ weight_cov @ dense.T - aside.T @ aside
        own = np.full(len(dense), self.covariance.private)
        if len(nodes) > 0:
            kappa, own[: len(nodes)] = self._offsets(np.asarray(nodes))
            mean[: len(nodes)] += kappa * (self._observed[nodes] - mean[: len(nodes)])
            keep = np.concatenate([1.0 - kappa, np.ones(len(states))])
            joint *= keep[:, None] * keep
        joint[np.diag_indices(len(dense))] += own
        prior = np.concatenate([self._prior[nodes], prior_means(self._prior_mean, states)])
        return prior + mean, joint

    def _offsets(self, nodes: IntArray | slice) -> tuple[FloatArray, FloatArray]:
        """κ of each node, and the variance of its private offset given the weights."""
        return offsets(self._observed_noise[nodes], self.covariance.private)

    def fantasise(self, nodes: Sequence[int]) -> None:
        for node in nodes:
            self.refresh([node])
            if self._before is None:
                behind = self._behind, self._some_ahead
                self._before = self._snapshot(), behind, self._weights.snapshot()
            self._learn(node, float(self._mean[node]), self.noise)  # a reward equal to the mean

    def discard(self) -> None:
        if self._before is None:
            return
        nodes, (self._behind, self._some_ahead), weights = self._before
        self._before = None
        self._weights.restore(weights)
        self._project_nodes(self._restore(nodes))

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        assert self._before is None, "discard fantasies first"
        self._learn(node, reward, self._noise_of(noise))
        self._weights.absorb(_ASIDE if self._weights.dimension > _MANY_FEATURES else 1)

    def _learn(self, node: int, reward: float, variance: float) -> None:
        """Learn what a reward adds on φ·w: δ and h."""
        precision, information = self._merge(node, reward, variance, self.covariance.private)
        fantasy = self._before is not None
        self._last = self._weights.learn(*self._row(node), precision, information, fantasy)
        self._behind += 1

    def _row(self, node: int) -> tuple[IntArray, FloatArray]:
        """Columns and values of a node's features."""
        entries = slice(self._starts[node], self._starts[node + 1])
        return self._columns[entries], self._values[entries]

    def refresh(self, nodes: Sequence[int] | IntArray | None = None) -> None:
        if self._behind == 0:
            return
        if nodes is not None:
            self._project_nodes(np.asarray(nodes, dtype=np.int64))
            self._some_ahead = True
            return
        # From scratch with fantasies: the last digits must not depend on how many came since the last time.
        if self._behind == 1 and not self._some_ahead and self._before is None:
            project_step(self._tracked, *self._last, self._linear_mean, self._linear_var)
            self._rescore(slice(self._nodes))
        else:
            self._project_nodes(np.arange(self._nodes))
        self._behind, self._some_ahead = 0, False

    @property
    def _tracked(self) -> SparseRows:
        """The features of all nodes."""
        return SparseRows(self._starts[: self._nodes + 1], self._columns, self._values)

    def _project_nodes(self, nodes: IntArray) -> None:
        linear = project(self._tracked, nodes, self._weights.arrays)
        self._linear_mean[nodes], self._linear_var[nodes] = linear
        self._rescore(nodes)

    def _rescore(self, nodes: IntArray | slice) -> None:
        """g of nodes from their linear part and, at observed leaves, the private offset."""
        kappa, offset = self._offsets(nodes)
        linear = (1.0 - kappa) * self._linear_mean[nodes]
        self._mean[nodes] = self._prior[nodes] + linear + kappa * self._observed[nodes]
        self._variance[nodes] = (1.0 - kappa) ** 2 * self._linear_var[nodes] + offset
