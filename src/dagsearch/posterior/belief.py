"""Compiled code for the belief over the weights of a linear score, N(m, S), and for rows of features.

Symbols and derivation are at the head of :mod:`dagsearch.posterior.weights`.
"""

from typing import NamedTuple

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray


class Weights(NamedTuple):
    """The arrays of a belief over d weights. Compiled functions take them one by one: calls are faster."""

    mean: FloatArray
    """m, shape ``(d,)``."""
    variance: FloatArray
    """Diagonal of S, shape ``(d,)``."""
    cov: FloatArray
    """S, shape ``(d, d)`` and with spare room, since contiguous rows are faster."""


@compiled
def to_weights(columns: IntArray, place: IntArray, dimension: int) -> int:
    """Replace features by the numbers of their weights; a feature without one gets the next number.

    Returns the number of weights.
    """
    for e in range(columns.size):
        feature = columns[e]
        if place[feature] == 0:
            place[feature] = dimension
            dimension += 1
        columns[e] = place[feature]
    return dimension


@compiled
def gain_vector(
    columns: IntArray, values: FloatArray, weight_mean: FloatArray, weight_cov: FloatArray
) -> tuple[FloatArray, float, float]:
    """q = Sφ, φ·m and φ·q."""
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
def _linear_belief(
    columns: IntArray, values: FloatArray, weight_mean: FloatArray, weight_cov: FloatArray
) -> tuple[float, float]:
    """φ·m and φᵀSφ."""
    mean = var = 0.0
    for e in range(columns.size):
        mean += values[e] * weight_mean[columns[e]]
        own = weight_cov[columns[e]]
        across = 0.0
        for f in range(e):
            across += values[f] * own[columns[f]]
        var += values[e] * (2.0 * across + values[e] * own[columns[e]])
    return mean, max(var, 0.0)


@compiled
def project(
    starts: IntArray, columns: IntArray, values: FloatArray, weight_mean: FloatArray, weight_cov: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """φ·m and the variance of φ·w of each row."""
    mean, var = np.zeros(starts.size - 1), np.zeros(starts.size - 1)
    for i in range(mean.size):
        row = slice(starts[i], starts[i + 1])
        mean[i], var[i] = _linear_belief(columns[row], values[row], weight_mean, weight_cov)
    return mean, var


@compiled
def append_rows(
    starts: IntArray,
    columns: IntArray,
    values: FloatArray,
    weight_mean: FloatArray,
    weight_cov: FloatArray,
    all_starts: IntArray,
    all_columns: IntArray,
    all_values: FloatArray,
    beliefs: FloatArray,
    first: int,
) -> None:
    """Write rows from number ``first`` on, with φ·m and the variance of φ·w."""
    old, new = all_starts[first], starts.size - 1
    all_starts[first + 1 : first + new + 1] = old + starts[1:]
    all_columns[old : old + columns.size], all_values[old : old + values.size] = columns, values
    beliefs[0, first : first + new], beliefs[1, first : first + new] = project(
        starts, columns, values, weight_mean, weight_cov
    )


@compiled
def advance(
    weight_mean: FloatArray,
    weight_var: FloatArray,
    weight_cov: FloatArray,
    q: FloatArray,
    gain: float,
    shrink: float,
    starts: IntArray,
    columns: IntArray,
    values: FloatArray,
    beliefs: FloatArray,
) -> None:
    """m += gain q and S −= uuᵀ with u = shrink q, and with them φ·m and the variance of φ·w of all rows."""
    u = shrink * q
    for i in range(q.size):
        weight_mean[i] += gain * q[i]
        weight_var[i] -= u[i] * u[i]
        for j in range(q.size):
            weight_cov[i, j] -= u[i] * u[j]
    for i in range(starts.size - 1):
        across = 0.0
        for e in range(starts[i], starts[i + 1]):
            across += values[e] * q[columns[e]]
        beliefs[0, i] += gain * across
        beliefs[1, i] = max(beliefs[1, i] - (shrink * across) ** 2, 0.0)


@compiled
def project_added(
    starts: IntArray,
    columns: IntArray,
    values: FloatArray,
    place: IntArray,
    parent_columns: IntArray,
    parent_values: FloatArray,
    weight_mean: FloatArray,
    weight_var: FloatArray,
    weight_cov: FloatArray,
    shift: float,
    private: float,
) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of g of children, plus constants.

    Their features are those of a parent, whose columns are numbers of weights, and added ones, whose weights
    ``place`` tells.
    """
    q, parent_mean, parent_var = gain_vector(parent_columns, parent_values, weight_mean, weight_cov)
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
