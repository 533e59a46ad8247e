"""Compiled code for the belief over the weights of a linear score, N(m, S), and for rows of features.

Symbols and derivation are at the head of :mod:`dagsearch.posterior.weights`.
"""

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray, Pair

# Plain tuples, because calls with named ones take longer.
Rows = tuple[IntArray, IntArray, FloatArray]
"""The fields of :class:`dagsearch.covariances.rows.SparseRows`."""
Row = tuple[IntArray, FloatArray]
"""Columns and values of one row."""
Weights = tuple[FloatArray, FloatArray, FloatArray]
"""m and the diagonal of S, shape ``(d,)``, and S, shape ``(d, d)`` and with room for more."""


@compiled
def to_weights(columns: IntArray, place: IntArray, dimension: int) -> int:
    """Replace features by the numbers of their weights, new ones if necessary; returns how many there are."""
    for e in range(columns.size):
        if place[columns[e]] == 0:
            place[columns[e]] = dimension
            dimension += 1
        columns[e] = place[columns[e]]
    return dimension


@compiled
def gain_vector(row: Row, weights: Weights) -> tuple[FloatArray, float, float]:
    """q = Sφ, φ·m and φ·q."""
    columns, values = row
    weight_mean, _, weight_cov = weights  # arrays in a tuple are slower to access
    q = np.zeros(weight_mean.size)
    expected = s = 0.0
    for e in range(columns.size):
        expected += values[e] * weight_mean[columns[e]]
        row = weight_cov[columns[e]]
        for i in range(q.size):
            q[i] += values[e] * row[i]
    for e in range(columns.size):
        s += values[e] * q[columns[e]]
    return q, expected, s


@compiled
def project(rows: Rows, weights: Weights) -> Pair:
    """φ·m and φᵀSφ of each row."""
    starts, columns, values = rows
    weight_mean, _, weight_cov = weights
    mean, var = np.zeros(starts.size - 1), np.zeros(starts.size - 1)
    for i in range(mean.size):
        for e in range(starts[i], starts[i + 1]):
            mean[i] += values[e] * weight_mean[columns[e]]
            own, across = weight_cov[columns[e]], 0.0
            for f in range(starts[i], e):
                across += values[f] * own[columns[f]]
            var[i] += values[e] * (2.0 * across + values[e] * own[columns[e]])
        var[i] = max(var[i], 0.0)
    return mean, var


@compiled
def advance(
    weights: Weights, q: FloatArray, gain: float, shrink: float, rows: Rows, beliefs: FloatArray
) -> None:
    """m += gain q and S −= uuᵀ with u = shrink q, and with them φ·m and the variance of φ·w of all rows."""
    weight_mean, weight_var, weight_cov = weights
    u = shrink * q
    for i in range(q.size):
        weight_mean[i] += gain * q[i]
        weight_var[i] -= u[i] * u[i]
        for j in range(q.size):
            weight_cov[i, j] -= u[i] * u[j]
    starts, columns, values = rows
    for i in range(starts.size - 1):
        across = 0.0
        for e in range(starts[i], starts[i + 1]):
            across += values[e] * q[columns[e]]
        beliefs[0, i] += gain * across
        beliefs[1, i] = max(beliefs[1, i] - (shrink * across) ** 2, 0.0)


@compiled
def project_added(
    added: Rows, place: IntArray, parent: Row, weights: Weights, shift: float, private: float
) -> Pair:
    """Mean and variance of g of children: their features are those of a parent and added ones.

    ``place`` assigns added features to weights; ``shift`` and ``private`` are added to the results.
    """
    q, parent_mean, parent_var = gain_vector(parent, weights)
    starts, columns, values = added
    weight_mean, weight_var, weight_cov = weights
    mean, var = np.empty(starts.size - 1), np.empty(starts.size - 1)
    for i in range(mean.size):
        more = wider = 0.0
        for e in range(starts[i], starts[i + 1]):
            own, value = np.uint64(place[columns[e]]), values[e]  # unsigned: no check for negative indices
            more += value * weight_mean[own]
            wider += value * (value * weight_var[own] + 2.0 * q[own])
            for f in range(starts[i], e):
                if own > 0 or columns[e] == columns[f]:
                    wider += 2.0 * value * values[f] * weight_cov[own, place[columns[f]]]
        mean[i], var[i] = shift + (more + parent_mean), max(wider + parent_var, 0.0) + private
    return mean, var
