"""States as rows of numbers: the arrays that covariances and score models exchange."""

from collections.abc import Iterable
from copy import copy
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray, IntArray


class Stacked:
    """Rows of several kinds next to each other, such as those of the parts of a sum."""

    def __init__(self, parts: Iterable["Rows"]) -> None:
        self.parts = tuple(parts)

    def __len__(self) -> int:
        return len(self.parts[0]) if self.parts else 0

    def __getitem__(self, index: Any) -> "Stacked":
        return Stacked(map(itemgetter(index), self.parts))


Rows = Any
"""An array with one row per state, or :class:`Stacked` arrays."""


class RowStore:
    """A growing collection of rows."""

    def __init__(self) -> None:
        self.rows: Rows = Stacked([])
        """All rows so far."""
        self._array: NDArray[Any] | None = None  # with room for more
        self._parts: list[RowStore] = []  # of stacked rows

    def append(self, rows: Rows) -> None:
        """Add rows at the end; if they are wider than earlier rows, those are padded with zeros."""
        if isinstance(rows, Stacked):
            self._parts = self._parts or [RowStore() for _ in rows.parts]
            for store, part in zip(self._parts, rows.parts, strict=True):
                store.append(part)
            self.rows = Stacked([store.rows for store in self._parts])
        else:
            old, new = len(self.rows), len(self.rows) + len(rows)
            stored = np.zeros((0, 0), dtype=rows.dtype) if self._array is None else self._array
            self._array = grown(stored, new, rows.shape[1])
            self._array[old:new, : rows.shape[1]] = rows
            self.rows = self._array[:new]

    def copied(self) -> "RowStore":
        """A copy; further rows of both are kept in the same memory."""
        other = copy(self)
        other._parts = [part.copied() for part in self._parts]
        return other


class SparseRows(NamedTuple):
    """Feature vectors as compressed sparse rows."""

    starts: IntArray
    """Row ``i`` holds entries ``starts[i]`` to ``starts[i + 1]``; shape ``(n + 1,)``."""
    columns: IntArray
    """Feature index of each entry."""
    values: FloatArray
    """Value of each entry."""
