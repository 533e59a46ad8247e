"""Where a descent through a game goes, rated without making the positions that moves lead to."""

import math

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.compiled import compiled, inlined
from dagsearch._internal.ties import ENOUGH, TieBreaker, picked
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.rows import SparseRows
from dagsearch.posterior.belief import Weights, gain_vector
from dagsearch.posterior.weights import WeightScores
from dagsearch.proposers.descent import (
    LONGEST_WALK,
    UNKNOWN,
    Walk,
    children_by_action,
    compared,
    number_of_actions,
)
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.values.explored import Explored
from dagsearch.values.graph import GraphArrays, PackedGraph


class MoveBounds(UpperConfidence):
    """:class:`UpperConfidence` where v is g and a move adds features to its position: one compiled walk.

    The features that moves add are kept by node, so that a descent needs Python only for new nodes.
    """

    def __init__(self, beta: float) -> None:
        super().__init__(beta)
        self._scores: object = None
        self._forget()

    def _forget(self) -> None:
        # Where the actions of each node begin in the next array, which says where the features that each adds
        # begin in the last two.
        self._first = np.full(64, -1, dtype=np.int64)
        self._starts, self._actions = np.zeros(64, dtype=np.int64), 0
        self._columns, self._values, self._used = np.zeros(64, dtype=np.int64), np.zeros(64), 0

    def follow(
        self, explored: Explored, node: int, tie_breaker: TieBreaker, one_by_one: bool
    ) -> tuple[IntArray, IntArray, int]:
        """Where :meth:`rate` leads from a node, see ``CompiledPolicy.follow``."""
        scores, graph = explored.scores, explored.graph
        if not (one_by_one and explored.has_lazy_children and isinstance(scores, WeightScores)):
            return super().follow(explored, node, tie_breaker, one_by_one)
        if self._scores is not scores:
            self._forget()
            self._scores = scores
        if not graph.terminal[node] and not graph.closed[node]:
            self._prepare(explored, scores, node)
        linear = scores.linear()  # after features may have been added
        if linear is None:
            return super().follow(explored, node, tie_breaker, one_by_one)
        nodes, actions, next_action, tie_breaker.value, tie_breaker.resolution = _walk(
            node,
            tie_breaker.value,
            tie_breaker.resolution,
            self.beta,
            graph.arrays,
            linear.weights,
            linear.rows,
            linear.mean,
            linear.variance,
            self._first,
            SparseRows(self._starts, self._columns, self._values),
        )
        return nodes, actions, next_action

    def _prepare(self, explored: Explored, scores: WeightScores, node: int) -> None:
        """Keep the features that the node's moves add."""
        self._first = grown(self._first, node + 1, fill=-1)
        if self._first[node] >= 0:
            return
        added = scores.covariance.added_features(explored.children(node))
        assert added is not None, "the covariance rates children"
        used, actions = self._used + added.columns.size, self._actions + added.starts.size
        self._columns, self._values = grown(self._columns, used), grown(self._values, used)
        self._columns[self._used : used], self._values[self._used : used] = added.columns, added.values
        self._starts = grown(self._starts, actions)
        self._starts[self._actions : actions] = self._used + added.starts
        self._first[node], self._actions, self._used = self._actions, actions, used
        scores.reserve(int(added.columns.max(initial=0)) + 1)

    def __repr__(self) -> str:
        return f"MoveBounds(beta={self.beta})"


@inlined
def _added_belief(added: SparseRows, row: int, weights: Weights, q: FloatArray) -> tuple[float, float]:
    """What added features add to the mean and variance of a position, of which q is the covariance."""
    starts, columns, values = added
    weight_mean, weight_cov, recent = weights
    mean = var = 0.0
    for e in range(starts[row], starts[row + 1]):
        mean += values[e] * weight_mean[columns[e]]
        var += 2.0 * values[e] * q[columns[e]]
        for f in range(starts[row], starts[row + 1]):
            var += values[e] * values[f] * weight_cov[columns[e], columns[f]]
    for b in range(recent.shape[0]):
        across = 0.0
        for e in range(starts[row], starts[row + 1]):
            across += values[e] * recent[b, columns[e]]
        var -= across * across
    return mean, var


@compiled
def _walk(
    node: int,
    value: float,
    resolution: float,
    beta: float,
    arrays: PackedGraph,
    weights: Weights,
    rows: SparseRows,
    linear_mean: FloatArray,
    linear_var: FloatArray,
    added_first: IntArray,
    added: SparseRows,
) -> Walk:
    """Walk by ``sign · μ + β sqrt(log(n) σ²)``, as far as the features that moves add are kept."""
    graph = GraphArrays(*arrays)
    path, actions = np.empty(LONGEST_WALK, dtype=np.int64), np.empty(LONGEST_WALK, dtype=np.int64)
    length = 0
    while length < path.size and not graph.closed[node] and not graph.terminal[node]:
        if node >= added_first.size or added_first[node] < 0:
            break
        count = number_of_actions(graph, node)
        children = children_by_action(graph, node, count)
        own = slice(rows.starts[node], rows.starts[node + 1])
        q = np.zeros(0)
        sign, width = graph.sign[node], beta * math.sqrt(math.log(graph.visits[node] + 1))
        tied, best, ties = np.empty(count, dtype=np.int64), -math.inf, 0
        for action in range(count):
            child = children[action]
            if child >= 0:
                if graph.closed[child]:
                    continue
                mean, var = graph.v_mean[child], graph.v_var[child]
            else:
                if q.size == 0:
                    q, _, _ = gain_vector(rows.columns[own], rows.values[own], weights)
                mean, var = _added_belief(added, added_first[node] + action, weights, q)
                mean, var = mean + linear_mean[node], max(var + linear_var[node], 0.0)
            rating = sign * mean + width * math.sqrt(var)
            best, ties = compared(rating, action, best, tied, ties)
        if ties == 0 or resolution < ties * ENOUGH:
            break
        option, value, resolution = picked(value, resolution, ties)
        chosen = tied[option]
        if children[chosen] < 0:
            return path[:length], actions[:length], chosen, value, resolution
        node = children[chosen]
        path[length], actions[length] = node, chosen
        length += 1
    return path[:length], actions[:length], UNKNOWN, value, resolution
