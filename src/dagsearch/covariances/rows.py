"""States as rows of numbers: the arrays that covariances and score models exchange."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray, IntArray


class Stacked:
    """Rows of several covariances next to each other: the rows of a sum or a product."""

    def __init__(self, parts: Sequence["Rows"]) -> None:
        self.parts = tuple(parts)

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, index: Any) -> "Stacked":
        return Stacked([part[index] for part in self.parts])


Rows = Any
"""An array with one row per state, or :class:`Stacked` arrays."""


class RowStore:
    """A growing collection of rows."""

    def __init__(self) -> None:
        self._count = 0
        self._stored: list[NDArray[Any]] = []

    def append(self, rows: Rows) -> None:
        """Add rows at the end; if they are wider than earlier rows, those are padded with zeros."""
        parts = _flat(rows)
        if not self._stored:
            self._stored = [np.zeros((0, 0), dtype=part.dtype) for part in parts]
            self._nested = _nested(rows)
            self._flat = self._nested is not None and not any(self._nested)
        new = self._count + len(rows)
        for number, part in enumerate(parts):
            stored = grown(self._stored[number], new, part.shape[1])
            stored[self._count : new, : part.shape[1]] = part
            self._stored[number] = stored
        self._count = new

    def truncate(self, count: int) -> None:
        """Keep the first ``count`` rows only."""
        self._count = count

    @property
    def rows(self) -> Rows:
        """All rows so far."""
        parts = [part[: self._count] for part in self._stored]
        if self._nested is None:
            return parts[0]
        return Stacked(parts) if self._flat else _rebuilt(self._nested, iter(parts))


def _flat(rows: Rows) -> list[NDArray[Any]]:
    if isinstance(rows, Stacked):
        return [array for part in rows.parts for array in _flat(part)]
    return [rows]


def _nested(rows: Rows) -> list[Any] | None:
    """How rows are stacked: ``None`` for an array, otherwise a list with one such value per part."""
    return [_nested(part) for part in rows.parts] if isinstance(rows, Stacked) else None


def _rebuilt(nested: list[Any] | None, arrays: Iterator[NDArray[Any]]) -> Rows:
    """The inverse of :func:`_flat`."""
    return next(arrays) if nested is None else Stacked([_rebuilt(part, arrays) for part in nested])


class SparseRows(NamedTuple):
    """Feature vectors as compressed sparse rows."""

    starts: IntArray
    """Row ``i`` holds entries ``starts[i]`` to ``starts[i + 1]``; shape ``(n + 1,)``."""
    columns: IntArray
    """Feature index of each entry."""
    values: FloatArray
    """Value of each entry."""
