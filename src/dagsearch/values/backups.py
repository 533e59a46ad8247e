"""Optimal values v of the explored DAG, from children to parents (sections 3.2.3 and 3.2.4).

================  ================  ===========================================================
paper             code              meaning
================  ================  ===========================================================
v_t = g_t         terminal          at a leaf there is nothing left to decide
—                 lower = upper     a value that is proven is certain, see :mod:`dagsearch.values.proofs`
v_i = g_i + Δ_i   boundary          a node none of whose children are in the DAG
v_i = max_j v_j   combine           any other node, over its children and, if some of them are not in
                                    the DAG, one summary variable for those: the node's own g plus
                                    the Δ of a node with that many children
================  ================  ===========================================================

At a MIN node the children's means are negated, combined, and the result's mean is negated back; that is
the only place where the players differ.
"""

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.parts import Configured
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.posterior.units import Episode
from dagsearch.values.explored import Explored
from dagsearch.values.gaussians import checked_prior, fold_maximum
from dagsearch.values.graph import GraphArrays


class Backup(Protocol):
    """Updates the values of all nodes."""

    def learn(self, explored: Explored, episodes: Sequence[Episode]) -> None:
        """Take new rewards, on which the scores have been conditioned already; nothing by default."""
        return

    def back_up(self, explored: Explored) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``."""


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
    graph: GraphArrays,
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
    level, sign, first, count = graph.level, graph.sign, graph.first, graph.count
    terminal, branching, edge_child = graph.terminal, graph.branching, graph.edge_child
    v_mean, v_var = graph.v_mean, graph.v_var
    means, variances = np.empty(widest + 1), np.empty(widest + 1)
    deepest = delta_mean.size - 1
    for node in order:
        depth = min(level[node], deepest)
        if graph.lower[node] == graph.upper[node]:
            v_mean[node], v_var[node] = graph.lower[node], 0.0
            continue
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


class MomentMatching(Configured, Backup):
    """v of an inner node: the Gaussian with the moments of its children's maximum (minimum).

    Children are merged one after the other as if they were independent, as in the paper, in the order in
    which they entered the DAG.

    Parameters
    ----------
    prior : (mean, variance), optional
        Gaussian prior on the value of every inner node, applied at the last merge. It reduces the
        overestimation that comes from treating the children as independent.
    """

    def __init__(self, prior: Sequence[float] | None = None) -> None:
        self.prior = checked_prior(prior)

    def back_up(self, explored: Explored) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``."""
        _run(explored, False, self.prior)


class Softmax(Configured, Backup):
    """v of an inner node: its children's average, weighted towards the best (section 3.2.4).

    The paper prints weights that are normalised by themselves; here they are normalised by the sum of the
    exponentials exp(−(μ_max − μ_i)/σ_i). MIN nodes use the mirror image.
    """

    def back_up(self, explored: Explored) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``."""
        _run(explored, True, (0.0, math.inf))
