"""A descent in compiled code, where every action adds one feature that the scores know."""

import math

import numpy as np
from numpy.typing import NDArray

from dagsearch._internal.compiled import compiled
from dagsearch._internal.ties import ENOUGH, picked
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.scores._linear import gain_vector, linear_belief


@compiled
def descend(
    node: int,
    draw: float,
    resolution: float,
    beta: float,
    prior: float,
    private: float,
    action_columns: IntArray,
    action_value: float,
    sign: IntArray,
    visits: IntArray,
    closed: BoolArray,
    level: IntArray,
    terminal: BoolArray,
    above_leaves: NDArray[np.int8],
    first: IntArray,
    count: IntArray,
    edge_child: IntArray,
    edge_action: IntArray,
    v_mean: FloatArray,
    v_var: FloatArray,
    delta_mean: FloatArray,
    delta_var: FloatArray,
    starts: IntArray,
    columns: IntArray,
    values: FloatArray,
    weight_mean: FloatArray,
    weight_cov: FloatArray,
    recent: FloatArray,
    weight_var: FloatArray,
) -> tuple[IntArray, IntArray, int, float, float]:
    """Down the options of largest ``sign · μ + β sqrt(log(n) σ²)`` of v, or of g + Δ where not in the DAG.

    Nodes, actions, the action to a child that is not in the DAG if that is next, and what is left of the
    number that breaks ties (see :class:`dagsearch._internal.ties.TieBreaker`).
    """
    path, actions = np.empty(64, dtype=np.int64), np.empty(64, dtype=np.int64)
    taken = np.zeros(weight_mean.size, dtype=np.bool_)
    child_of = np.empty(action_columns.size, dtype=np.int64)
    tied = np.empty(action_columns.size, dtype=np.int64)
    length = 0
    while length < path.size and not closed[node] and not terminal[node] and above_leaves[node] >= 0:
        own = slice(starts[node], starts[node + 1])
        mean, var = linear_belief(
            starts[node], starts[node + 1], columns, values, weight_mean, weight_cov, recent
        )
        q, _, _ = gain_vector(columns[own], values[own], weight_mean, weight_cov, recent)
        depth = min(level[node] + 1, delta_mean.size - 1)
        gain, spread = delta_mean[depth], delta_var[depth]
        if above_leaves[node] == 1:
            gain = spread = 0.0
        width = beta * math.sqrt(math.log(visits[node] + 1))
        taken[columns[own]] = True
        child_of[:] = -1
        for edge in range(first[node], first[node] + count[node]):
            child = edge_child[edge]
            child_of[edge_action[edge]] = child if child >= 0 else ~child
        best, ties, action = -math.inf, 0, 0
        for column in action_columns:
            if taken[column]:
                continue
            child = child_of[action]
            if child >= 0:
                rating = math.nan
                if not closed[child]:
                    rating = sign[node] * v_mean[child] + width * math.sqrt(v_var[child])
            else:
                child_mean = mean + action_value * weight_mean[column] + prior
                more = action_value * (action_value * weight_var[column] + 2.0 * q[column])
                child_var = max(var + more, 0.0) + private
                rating = sign[node] * (child_mean + gain) + width * math.sqrt(child_var + spread)
            if rating > best:
                best, ties = rating, 0
            if rating == best:
                tied[ties] = action
                ties += 1
            action += 1
        taken[columns[own]] = False
        if ties == 0 or resolution < ties * ENOUGH:
            break
        option, draw, resolution = picked(draw, resolution, ties)
        chosen = tied[option]
        if child_of[chosen] < 0:
            return path[:length], actions[:length], chosen, draw, resolution
        node = child_of[chosen]
        path[length], actions[length] = node, chosen
        length += 1
    return path[:length], actions[:length], -1, draw, resolution
