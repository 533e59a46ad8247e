"""Compiled code for the belief over the weights of a linear score, N(m, S), and for rows of features.

Symbols and derivation are at the head of :mod:`dagsearch.posterior.weights`.
"""

from typing import NamedTuple

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.rows import SparseRows


class Weights(NamedTuple):
    """The arrays of a belief over d weights, for compiled code."""

    mean: FloatArray
    """m, shape ``(d,)``."""
    cov: FloatArray
    """S, shape ``(d, d)``."""


class Step(NamedTuple):
    """What a reward changes: m += gain q, S −= uuᵀ with u = shrink q."""

    q: FloatArray
    gain: float
    shrink: float


@compiled
def downdate(cov: FloatArray, u: FloatArray) -> None:
    """S −= uuᵀ."""
    for i in range(u.size):
        for j in range(u.size):
            cov[i, j] -= u[i] * u[j]


@compiled
def gain_vector(columns: IntArray, values: FloatArray, weights: Weights) -> tuple[FloatArray, float, float]:
    """q = Sφ, φ·m and φ·q."""
    weight_mean, weight_cov = weights  # an array in a tuple costs more at every access
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
def _linear_belief(rows: SparseRows, row: int, weights: Weights) -> tuple[float, float]:
    """φ·m and φᵀSφ of a row."""
    starts, columns, values = rows
    weight_mean, weight_cov = weights
    first, last = starts[row], starts[row + 1]
    mean = var = 0.0
    for e in range(first, last):
        mean += values[e] * weight_mean[columns[e]]
        own = weight_cov[columns[e]]
        across = 0.0
        for f in range(first, e):
            across += values[f] * own[columns[f]]
        var += values[e] * (2.0 * across + values[e] * own[columns[e]])
    return mean, max(var, 0.0)


@compiled
def project(rows: SparseRows, wanted: IntArray, weights: Weights) -> tuple[FloatArray, FloatArray]:
    """φ·m and the variance of φ·w of each wanted row."""
    mean, var = np.zeros(wanted.size), np.zeros(wanted.size)
    for i in range(wanted.size):
        mean[i], var[i] = _linear_belief(rows, wanted[i], weights)
    return mean, var


@compiled
def advance(rows: SparseRows, step: Step, means: FloatArray, variances: FloatArray) -> None:
    """Let φ·m and the variance of φ·w of all rows follow a step."""
    starts, columns, values = rows
    q, gain, shrink = step
    for i in range(starts.size - 1):
        across = 0.0
        for e in range(starts[i], starts[i + 1]):
            across += values[e] * q[columns[e]]
        means[i] += gain * across
        variances[i] = max(variances[i] - (shrink * across) ** 2, 0.0)


@compiled
def project_added(
    added: SparseRows, parent: SparseRows, row: int, weights: Weights
) -> tuple[FloatArray, FloatArray]:
    """φ·m and the variance of φ·w of children: their features are those of a parent row and added ones."""
    entries = slice(parent.starts[row], parent.starts[row + 1])
    q, parent_mean, parent_var = gain_vector(parent.columns[entries], parent.values[entries], weights)
    starts, columns, values = added
    weight_mean, weight_cov = weights
    mean, var = np.empty(starts.size - 1), np.empty(starts.size - 1)
    for i in range(mean.size):
        first = starts[i]
        if starts[i + 1] == first + 1:
            column, value = columns[first], values[first]
            more = value * weight_mean[column]
            wider = value * (value * weight_cov[column, column] + 2.0 * q[column])
        else:
            more, wider = _linear_belief(added, i, weights)
            for e in range(first, starts[i + 1]):
                wider += 2.0 * values[e] * q[columns[e]]
        mean[i], var[i] = more + parent_mean, max(wider + parent_var, 0.0)
    return mean, var
