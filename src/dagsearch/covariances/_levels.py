"""Vectors with one constant value, the level, almost everywhere.

The inclusion probabilities of a subset of ten of 784 items are 1 at ten items and equal at all others. A
product with a matrix then takes about 10 n steps per vector instead of n², and a norm about 10².
"""

from typing import NamedTuple

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray


class LevelRows(NamedTuple):
    """Each row as ``level · mask`` plus a few entries."""

    mask: FloatArray
    """1 where rows are level, 0 elsewhere; shape ``(n,)``."""
    levels: FloatArray
    """The level of each row, shape ``(rows,)``."""
    starts: IntArray
    """Row ``i`` has the entries ``starts[i]`` to ``starts[i + 1]``; shape ``(rows + 1,)``."""
    columns: IntArray
    """Column of each entry."""
    entries: FloatArray
    """Number added at that column."""

    @classmethod
    def of(cls, rows: FloatArray, mask: FloatArray) -> "LevelRows":
        """Split rows into level and entries: correct for any rows, cheap for those of subsets.

        The level is a row's smallest value within the mask, since chosen items are above the others.
        """
        return cls(mask, *_split(np.ascontiguousarray(rows), mask))

    def times(self, matrix: FloatArray, matrix_mask: FloatArray) -> FloatArray:
        """Rows times a symmetric matrix, whose product with the mask is ``matrix_mask``."""
        found = np.empty((len(self.levels), len(matrix)))
        _times(*self[1:], matrix, matrix_mask, found)
        return found

    def norms(self, matrix: FloatArray, matrix_mask: FloatArray) -> FloatArray:
        """xᵀ matrix x of each row x."""
        found = np.empty(len(self.levels))
        _norms(*self[1:], matrix, matrix_mask, float(self.mask @ matrix_mask), found)
        return found

    def inner(self, others: FloatArray) -> FloatArray:
        """Inner products of dense rows with these, shape ``(others, rows)``."""
        found = np.empty((len(others), len(self.levels)))
        _inner(*self[1:], others, others @ self.mask, found)
        return found


@compiled
def _split(rows: FloatArray, mask: FloatArray) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
    levels = np.zeros(rows.shape[0])
    starts = np.zeros(rows.shape[0] + 1, dtype=np.int64)
    for i in range(rows.shape[0]):
        level = np.inf
        for j in range(rows.shape[1]):
            if mask[j] > 0.0 and rows[i, j] < level:
                level = rows[i, j]
        levels[i] = level if level < np.inf else 0.0
        count = 0
        for j in range(rows.shape[1]):
            count += rows[i, j] != levels[i] * mask[j]
        starts[i + 1] = starts[i] + count
    columns = np.empty(starts[-1], dtype=np.int64)
    entries = np.empty(starts[-1])
    for i in range(rows.shape[0]):
        at = starts[i]
        for j in range(rows.shape[1]):
            entry = rows[i, j] - levels[i] * mask[j]
            if entry != 0.0:
                columns[at], entries[at] = j, entry
                at += 1
    return levels, starts, columns, entries


@compiled
def _times(
    levels: FloatArray,
    starts: IntArray,
    columns: IntArray,
    entries: FloatArray,
    matrix: FloatArray,
    matrix_mask: FloatArray,
    found: FloatArray,
) -> None:
    for i in range(levels.size):
        for j in range(matrix_mask.size):
            found[i, j] = levels[i] * matrix_mask[j]
        for at in range(starts[i], starts[i + 1]):
            row, entry = matrix[columns[at]], entries[at]
            for j in range(matrix_mask.size):
                found[i, j] += entry * row[j]


@compiled
def _norms(
    levels: FloatArray,
    starts: IntArray,
    columns: IntArray,
    entries: FloatArray,
    matrix: FloatArray,
    matrix_mask: FloatArray,
    mask_norm: float,
    found: FloatArray,
) -> None:
    for i in range(levels.size):
        total = levels[i] * levels[i] * mask_norm
        for at in range(starts[i], starts[i + 1]):
            column, entry = columns[at], entries[at]
            total += entry * (2.0 * levels[i] * matrix_mask[column] + entry * matrix[column, column])
            for other in range(starts[i], at):
                total += 2.0 * entry * entries[other] * matrix[column, columns[other]]
        found[i] = total


@compiled
def _inner(
    levels: FloatArray,
    starts: IntArray,
    columns: IntArray,
    entries: FloatArray,
    others: FloatArray,
    others_mask: FloatArray,
    found: FloatArray,
) -> None:
    for i in range(others.shape[0]):
        for j in range(levels.size):
            total = levels[j] * others_mask[i]
            for at in range(starts[j], starts[j + 1]):
                total += entries[at] * others[i, columns[at]]
            found[i, j] = total
