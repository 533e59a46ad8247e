"""Compiled pieces of the belief over a linear score, N(m, S − UᵀU)."""

import math
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray

PackedBelief = tuple[Any, ...]
"""The fields of :class:`AdditiveBelief` as a plain tuple: Numba takes 2 µs longer to unpack a named one."""


class AdditiveBelief(NamedTuple):
    """Belief over g of the children of any node, where every action adds one feature, of one value.

    The head of :mod:`dagsearch.posterior.weights` says what the symbols mean. For compiled code:
    ``AdditiveBelief(*belief)`` of a :data:`PackedBelief`.
    """

    prior: float
    """Prior mean μ, the same everywhere."""
    private: float
    """Variance p of the private offset."""
    action_columns: IntArray
    """Feature that each action at the root adds; further down the actions are those left, in this order."""
    action_value: float
    """Value of the added feature."""
    starts: IntArray
    """The features of node ``i`` are entries ``starts[i]`` to ``starts[i + 1]`` of the next two."""
    columns: IntArray
    """Which features."""
    values: FloatArray
    """Their values φ."""
    weight_mean: FloatArray
    """m, shape ``(d,)``."""
    weight_cov: FloatArray
    """S, shape ``(d, d)``."""
    recent: FloatArray
    """U, shape ``(b, d)``."""
    weight_var: FloatArray
    """Diagonal of S − UᵀU, shape ``(d,)`` or longer."""


@compiled
def gain_vector(
    columns: IntArray, values: FloatArray, weight_mean: FloatArray, weight_cov: FloatArray, recent: FloatArray
) -> tuple[FloatArray, float, float]:
    """q = (S − UᵀU) φ, φ·m and φ·q."""
    q = np.zeros(weight_mean.size)
    expected = s = 0.0
    for e in range(columns.size):
        expected += values[e] * weight_mean[columns[e]]
        row = weight_cov[columns[e]]
        for i in range(q.size):
            q[i] += values[e] * row[i]
    for b in range(recent.shape[0]):
        across = 0.0
        for e in range(columns.size):
            across += values[e] * recent[b, columns[e]]
        for i in range(q.size):
            q[i] -= across * recent[b, i]
    for e in range(columns.size):
        s += values[e] * q[columns[e]]
    return q, expected, s


@compiled
def subtract_outer(matrix: FloatArray, u: FloatArray) -> None:
    """``matrix -= outer(u, u)``."""
    for i in range(u.size):
        if u[i] != 0.0:
            for j in range(u.size):
                matrix[i, j] -= u[i] * u[j]


@compiled
def linear_belief(
    first: int,
    last: int,
    columns: IntArray,
    values: FloatArray,
    weight_mean: FloatArray,
    weight_cov: FloatArray,
    recent: FloatArray,
) -> tuple[float, float]:
    """φ·m and φᵀ(S − UᵀU)φ of a row."""
    mean = var = 0.0
    for e in range(first, last):
        mean += values[e] * weight_mean[columns[e]]
        own = weight_cov[columns[e]]
        across = 0.0
        for f in range(first, e):
            across += values[f] * own[columns[f]]
        var += values[e] * (2.0 * across + values[e] * own[columns[e]])
    for b in range(recent.shape[0]):
        across = 0.0
        for e in range(first, last):
            across += values[e] * recent[b, columns[e]]
        var -= across * across
    return mean, max(var, 0.0)


@compiled
def project(
    starts: IntArray,
    columns: IntArray,
    values: FloatArray,
    weight_mean: FloatArray,
    weight_cov: FloatArray,
    recent: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """φ·m and the variance of φ·w of each row."""
    rows = starts.size - 1
    mean, var = np.zeros(rows), np.zeros(rows)
    for i in range(rows):
        mean[i], var[i] = linear_belief(
            starts[i], starts[i + 1], columns, values, weight_mean, weight_cov, recent
        )
    return mean, var


@compiled
def project_some(
    nodes: IntArray,
    starts: IntArray,
    columns: IntArray,
    values: FloatArray,
    weight_mean: FloatArray,
    weight_cov: FloatArray,
    recent: FloatArray,
    linear_mean: FloatArray,
    linear_var: FloatArray,
) -> None:
    for node in nodes:
        linear_mean[node], linear_var[node] = linear_belief(
            starts[node], starts[node + 1], columns, values, weight_mean, weight_cov, recent
        )


@compiled
def project_added(
    starts: IntArray,
    columns: IntArray,
    values: FloatArray,
    parent_columns: IntArray,
    parent_values: FloatArray,
    weight_mean: FloatArray,
    weight_cov: FloatArray,
    recent: FloatArray,
    weight_var: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """What rows added to a parent's features add to φ·m and the variance of φ·w."""
    q, _, _ = gain_vector(parent_columns, parent_values, weight_mean, weight_cov, recent)
    rows = starts.size - 1
    mean, var = np.zeros(rows), np.zeros(rows)
    for i in range(rows):
        first = starts[i]
        if starts[i + 1] == first + 1:
            column, value = columns[first], values[first]
            mean[i] = value * weight_mean[column]
            var[i] = value * (value * weight_var[column] + 2.0 * q[column])
            continue
        mean[i], var[i] = linear_belief(
            first, starts[i + 1], columns, values, weight_mean, weight_cov, recent
        )
        for e in range(first, starts[i + 1]):
            var[i] += 2.0 * values[e] * q[columns[e]]
    return mean, var


@compiled
def project_step(
    starts: IntArray,
    columns: IntArray,
    values: FloatArray,
    q: FloatArray,
    gain: float,
    shrink: float,
    linear_mean: FloatArray,
    linear_var: FloatArray,
) -> None:
    """The linear part of all tracked nodes after one rank-1 step of the weights."""
    for i in range(starts.size - 1):
        across = 0.0
        for e in range(starts[i], starts[i + 1]):
            across += values[e] * q[columns[e]]
        linear_mean[i] += gain * across
        linear_var[i] = max(linear_var[i] - shrink * across * across, 0.0)


@compiled
def scores_of(
    nodes: IntArray,
    private: float,
    prior: FloatArray,
    linear_mean: FloatArray,
    linear_var: FloatArray,
    observed: FloatArray,
    observed_noise: FloatArray,
    mean: FloatArray,
    variance: FloatArray,
) -> None:
    """g of nodes from their linear part and, at observed leaves, the private offset."""
    for i in nodes:
        if observed_noise[i] == np.inf:
            mean[i] = prior[i] + linear_mean[i]
            variance[i] = linear_var[i] + private
        else:
            kappa = private / (private + observed_noise[i])
            mean[i] = prior[i] + (1.0 - kappa) * linear_mean[i] + kappa * observed[i]
            variance[i] = (1.0 - kappa) ** 2 * linear_var[i] + kappa * observed_noise[i]


@compiled
def linear_samples(
    starts: IntArray, columns: IntArray, values: FloatArray, weights: FloatArray
) -> FloatArray:
    """φ·w of each row and sample."""
    found = np.zeros((starts.size - 1, weights.shape[1]))
    for i in range(starts.size - 1):
        for e in range(starts[i], starts[i + 1]):
            found[i] += values[e] * weights[columns[e]]
    return found


def added_by(
    old: float, old_noise: float, residual: float, variance: float, private: float
) -> tuple[tuple[float, float], float, float]:
    """A leaf's r̄, λ̄ after a further reward, and what that reward adds on φ·w: δ and h."""
    if old_noise == math.inf:
        precision = 1.0 / (private + variance)
        return (residual, variance), precision, precision * residual
    noise = old_noise * variance / (old_noise + variance)
    merged = old + (residual - old) * noise / variance
    precision = (old_noise / variance) * noise / ((private + old_noise) * (private + noise))
    return (merged, noise), precision, precision * merged + (merged - old) / (private + old_noise)
