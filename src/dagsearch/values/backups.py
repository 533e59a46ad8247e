"""Optimal values v of the explored DAG, from children to parents (sections 3.2.3 and 3.2.4).

================  ================  ===========================================================
paper             code              meaning
================  ================  ===========================================================
v_t = g_t         terminal          at a leaf there is nothing left to decide
v_i = g_i + Δ_i   boundary          a node none of whose children are in the DAG
v_i = max_j v_j   combine           any other node, over its children and, if some of them are not in
                                    the DAG, one summary variable for those: the node's own g plus
                                    the Δ of a node with that many children
================  ================  ===========================================================

With joint samples (:class:`JointSamples`) all of this holds sample by sample: no independence, no moments.

At a MIN node the children's means are negated, combined, and the result's mean is negated back; that is
the only place where the players differ.
"""

import math
from collections.abc import Sequence
from typing import Protocol, cast

import numpy as np

from dagsearch._internal.checks import is_whole
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.posterior import JointScores, Samples, Scores
from dagsearch.posterior.base import check_requirements
from dagsearch.posterior.units import Episode
from dagsearch.values.explored import Explored
from dagsearch.values.gaussians import checked_prior, fold_correlated, fold_maximum
from dagsearch.values.graph import GraphArrays, PackedGraph


class Backup(Protocol):
    """Brings the values of all nodes up to date."""

    requires_joint: bool = False
    """Whether the scores must have a joint belief; a back-up without this attribute does not require it."""
    from_scratch: bool = False
    """Whether values depend on nothing but the DAG and the scores as they are, not on earlier values."""
    draws: bool = False
    """Whether it draws random numbers."""

    def back_up(self, explored: Explored, episodes: Sequence[Episode]) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``; ``episodes`` are new since the last call.

        The scores have been conditioned on them already.
        """


@compiled
def _soften(means: FloatArray, variances: FloatArray) -> tuple[float, float]:
    """Σ w_i μ_i and Σ w_i² σ_i² with w_i ∝ exp(−(μ_max − μ_i)/σ_i)."""
    best = means[0]
    for mean in means:
        best = max(best, mean)
    total = mean = var = 0.0
    for i in range(means.size):
        gap = best - means[i]
        if gap == 0.0:
            weight = 1.0
        elif variances[i] == 0.0:
            weight = 0.0
        else:
            weight = math.exp(-gap / math.sqrt(variances[i]))
        total += weight
        mean += weight * gap
        var += weight * weight * variances[i]
    return best - mean / total, var / (total * total)


@compiled
def _value_pass(
    order: IntArray,
    arrays: PackedGraph,
    g_mean: FloatArray,
    g_var: FloatArray,
    delta_mean: FloatArray,
    delta_var: FloatArray,
    rest_mean: FloatArray,
    rest_var: FloatArray,
    widest: int,
    soft: bool,
    prior_mean: float,
    prior_var: float,
) -> None:
    """Write v of the nodes in ``order``, children before parents.

    ``rest_mean`` and ``rest_var`` are the moments of Δ by level and number of children left.
    """
    graph = GraphArrays(*arrays)
    level, sign, first, count = graph.level, graph.sign, graph.first, graph.count
    terminal, branching, edge_child = graph.terminal, graph.branching, graph.edge_child
    v_mean, v_var = graph.v_mean, graph.v_var
    means, variances = np.empty(widest + 1), np.empty(widest + 1)
    deepest = delta_mean.size - 1
    for node in order:
        depth = min(level[node], deepest)
        if terminal[node]:
            v_mean[node], v_var[node] = g_mean[node], g_var[node]
            continue
        if count[node] == 0:
            v_mean[node] = g_mean[node] + delta_mean[depth]
            v_var[node] = g_var[node] + delta_var[depth]
            continue
        options = 0
        for edge in range(first[node], first[node] + count[node]):
            child = edge_child[edge]
            if child >= 0:  # a second action to the same child is not another option
                means[options], variances[options] = sign[node] * v_mean[child], v_var[child]
                options += 1
        missing = branching[node] - options
        if missing > 0:
            means[options] = sign[node] * (g_mean[node] + rest_mean[depth, missing])
            variances[options] = g_var[node] + rest_var[depth, missing]
            options += 1
        if soft:
            mean, var = _soften(means[:options], variances[:options])
        else:
            mean, var = fold_maximum(means[:options], variances[:options], sign[node] * prior_mean, prior_var)
        v_mean[node], v_var[node] = sign[node] * mean, var


def _run(explored: Explored, soft: bool, prior: tuple[float, float]) -> None:
    """Back up by one of the two rules.

    They share one compiled function with a switch: one that took its rule as an argument would be compiled
    again in every process.
    """
    graph, scores, increments = explored.graph, explored.scores, explored.increments
    increments.widen(graph.widest)
    _value_pass(
        graph.deepest_first(),
        graph.arrays,
        *scores.moments(),
        increments.mean,
        increments.variance,
        increments.mean_table,
        increments.var_table,
        graph.widest,
        soft,
        *prior,
    )


class MomentMatching(Backup):
    """v of an inner node: the Gaussian with the moments of its children's maximum (minimum).

    Children are merged one after the other as if they were independent, as in the paper, in the order in
    which they entered the DAG.

    Parameters
    ----------
    prior : (mean, variance), optional
        Gaussian prior on the value of every inner node, applied at the last merge. It reduces the
        overestimation that comes from treating the children as independent.
    correlated : bool
        Whether the covariance of the children's scores counts: the children then are merged in the order of
        their variances, with the correlation of each partial maximum to the next child, O(b²) for b children.
        The scores must have a joint belief. Covariances of values that the scores do not explain, such as
        those of Δ, count as 0.
    """

    from_scratch = True

    def __init__(self, prior: Sequence[float] | None = None, *, correlated: bool = False) -> None:
        self._prior = checked_prior(prior)
        self.correlated = self.requires_joint = bool(correlated)

    def back_up(self, explored: Explored, episodes: Sequence[Episode] = ()) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``."""
        if self.correlated:
            _correlated_pass(explored, self._prior)
        else:
            _run(explored, False, self._prior)

    def __repr__(self) -> str:
        return f"MomentMatching(prior={self._prior}{', correlated=True' if self.correlated else ''})"


def _correlated_pass(explored: Explored, prior: tuple[float, float]) -> None:
    """Write v of all nodes, children before parents, by the correlated fold."""
    graph, scores, increments = explored.graph, cast(JointScores, explored.scores), explored.increments
    check_requirements(scores, MomentMatching(correlated=True))
    increments.widen(graph.widest)
    g_mean, g_var = scores.moments()
    for node in graph.deepest_first().tolist():
        depth = min(int(graph.level[node]), increments.depth)
        if graph.terminal[node] or graph.count[node] == 0:
            free = graph.terminal[node]
            graph.v_mean[node] = g_mean[node] + (0.0 if free else increments.mean[depth])
            graph.v_var[node] = g_var[node] + (0.0 if free else increments.variance[depth])
            continue
        children = graph.edge_child[graph.edges(node)]
        options = children[children >= 0]  # a second action to the same child is not another option
        mean, variance = graph.v_mean[options], graph.v_var[options]
        missing = int(graph.branching[node]) - options.size
        if missing > 0:
            options = np.append(options, node)
            mean = np.append(mean, g_mean[node] + increments.mean_table[depth, missing])
            variance = np.append(variance, g_var[node] + increments.var_table[depth, missing])
        sign = int(graph.sign[node])
        covariance = _value_covariance(scores.joint(options.tolist(), [])[1], variance)
        folded, graph.v_var[node] = fold_correlated(sign * mean, covariance, sign * prior[0], prior[1])
        graph.v_mean[node] = sign * folded


def _value_covariance(scores: FloatArray, variance: FloatArray) -> FloatArray:
    """Covariance of values from that of the scores and the values' variances.

    What a value varies more than its score is its own. A value that varies less, as a maximum does, shares
    accordingly less.
    """
    own = scores.diagonal()
    kept = np.sqrt(np.minimum(1.0, variance / np.where(own > 0.0, own, 1.0)))
    covariance: FloatArray = scores * kept[:, None] * kept
    covariance[np.diag_indices(variance.size)] = variance
    return covariance


class Softmax(Backup):
    """v of an inner node: its children's average, weighted towards the best (section 3.2.4).

    The paper prints weights that are normalised by themselves; here they are normalised by the sum of the
    exponentials exp(−(μ_max − μ_i)/σ_i). MIN nodes use the mirror image.
    """

    from_scratch = True

    def back_up(self, explored: Explored, episodes: Sequence[Episode] = ()) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``."""
        _run(explored, True, (0.0, math.inf))

    def __repr__(self) -> str:
        return "Softmax()"


@compiled
def _sample_pass(
    order: IntArray,
    arrays: PackedGraph,
    g: FloatArray,
    normals: FloatArray,
    delta_mean: FloatArray,
    delta_var: FloatArray,
    rest_mean: FloatArray,
    rest_var: FloatArray,
    v: FloatArray,
) -> None:
    """Write samples ``v`` of the nodes in ``order``, children before parents, from samples ``g``."""
    graph = GraphArrays(*arrays)
    level, sign, first, count = graph.level, graph.sign, graph.first, graph.count
    terminal, branching, edge_child = graph.terminal, graph.branching, graph.edge_child
    deepest = delta_mean.size - 1
    for node in order:
        depth = min(level[node], deepest)
        if terminal[node]:
            v[node] = g[node]
            continue
        if count[node] == 0:
            v[node] = g[node] + delta_mean[depth] + math.sqrt(delta_var[depth]) * normals[node]
            continue
        options = 0
        for edge in range(first[node], first[node] + count[node]):
            child = edge_child[edge]
            if child >= 0:  # a second action to the same child is not another option
                if options == 0:
                    v[node] = v[child]
                elif sign[node] > 0:
                    v[node] = np.maximum(v[node], v[child])
                else:
                    v[node] = np.minimum(v[node], v[child])
                options += 1
        missing = branching[node] - options
        if missing > 0:
            spread = math.sqrt(rest_var[depth, missing])
            rest = g[node] + rest_mean[depth, missing] + spread * normals[node]
            v[node] = np.maximum(v[node], rest) if sign[node] > 0 else np.minimum(v[node], rest)


class JointSamples(Backup):
    """v by joint samples of g: an inner node's are the elementwise maximum (minimum) of its children's.

    Correlations between children need no assumption: they are in the samples. Requires scores with joint
    samples: :class:`dagsearch.posterior.WeightScores` or :class:`dagsearch.posterior.KernelScores`.

    Parameters
    ----------
    count : int
        Number of samples.
    seed : int, numpy Generator or None
        Source of the samples.
    """

    requires_joint = True
    draws = True

    def __init__(self, count: int = 128, seed: int | np.random.Generator | None = 0) -> None:
        if not is_whole(count) or count < 2:
            raise ValueError(f"count must be a whole number of at least 2, got {count!r}")
        self.count = int(count)
        self.rng = np.random.default_rng(seed)
        self._scores: Scores | None = None
        self._samples: Samples | None = None
        self._normals = np.zeros((0, self.count))
        self.values = np.zeros((0, self.count))
        """Samples of v of every node as of the last back-up, shape ``(nodes, count)``."""

    def back_up(self, explored: Explored, episodes: Sequence[Episode] = ()) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``, the samples' moments."""
        graph = explored.graph
        self.update(explored)
        linked = np.flatnonzero(graph.level[: len(graph)] >= 0)
        graph.v_mean[linked] = self.values[linked].mean(axis=1)
        graph.v_var[linked] = self.values[linked].var(axis=1)

    def update(self, explored: Explored) -> FloatArray:
        """Bring :attr:`values` up to date, but not the graph; returns samples of g of every node."""
        graph, increments = explored.graph, explored.increments
        if self._scores is not explored.scores:
            check_requirements(explored.scores, self)
            self._scores = explored.scores
            self._samples = cast(JointScores, explored.scores).sampled(self.count, self.rng)
        assert self._samples is not None
        g = self._samples.values()
        fresh = len(g) - len(self._normals)
        if fresh > 0:
            self._normals = np.vstack([self._normals, self.rng.standard_normal((fresh, self.count))])
        increments.widen(graph.widest)
        self.values = g.copy()
        _sample_pass(
            graph.deepest_first(),
            graph.arrays,
            g,
            self._normals,
            increments.mean,
            increments.variance,
            increments.mean_table,
            increments.var_table,
            self.values,
        )
        return g

    def __repr__(self) -> str:
        return f"JointSamples({self.count})"
