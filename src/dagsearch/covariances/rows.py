"""States as rows of numbers: the arrays that covariances and score models exchange."""

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

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


def joined(rows: Rows | None, more: Rows) -> Rows:
    """Rows and then further ones; the narrower ones are padded with zeros."""
    if rows is None:
        return more
    if isinstance(more, Stacked):
        return Stacked(map(joined, rows.parts, more.parts))
    both = np.zeros((len(rows) + len(more), max(rows.shape[1], more.shape[1])), dtype=more.dtype)
    both[: len(rows), : rows.shape[1]] = rows
    both[len(rows) :, : more.shape[1]] = more
    return both


class SparseRows(NamedTuple):
    """Feature vectors as compressed sparse rows."""

    starts: IntArray
    """Row ``i`` holds entries ``starts[i]`` to ``starts[i + 1]``; shape ``(n + 1,)``."""
    columns: IntArray
    """Feature index of each entry."""
    values: FloatArray
    """Value of each entry."""
