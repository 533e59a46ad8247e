"""Compiled pieces of the belief over a linear score, N(m, S − UᵀU)."""

from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray

PackedBelief = tuple[Any, ...]
"""The fields of :class:`AdditiveBelief` as a plain tuple: Numba takes 2 µs longer to unpack a named one."""


class AdditiveBelief(NamedTuple):
    """Belief over g of the children of any node, where every action adds one feature, of one value.

    The head of :mod:`dagsearch.scores.weights` says what the symbols mean. For compiled code:
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
