"""States as rows of numbers, which covariances and score models exchange."""

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray, IntArray


class Stacked:
    """Rows of several arrays side by side, such as those of the parts of a sum."""

    products: Any = None
    """Cache for learning hyperparameters."""

    def __init__(self, parts: Iterable["Rows"]) -> None:
        self.parts = tuple(parts)

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, index: Any) -> "Stacked":
        return Stacked(map(itemgetter(index), self.parts))


Rows = Any
"""An array with one row per state, or :class:`Stacked` arrays."""


def joined(rows: Rows | None, more: Rows) -> Rows:
    """Concatenated rows; narrower ones are padded with zeros.

    Results have spare room, so that n rows cost O(n). Copies of a model share it.
    """
    if isinstance(more, Stacked):
        return Stacked(map(joined, [None] * len(more.parts) if rows is None else rows.parts, more.parts))
    if rows is None:
        return np.array(more)
    old, new, width = len(rows), len(rows) + len(more), more.shape[1]
    room = rows.base if isinstance(rows.base, np.ndarray) else rows
    if room.shape[0] < new or room.shape[1] < width:
        room = grown(room, new, max(rows.shape[1], width))
    room[old:new, :width], room[old:new, width:] = more, 0
    return room[:new]


class SparseRows(NamedTuple):
    """Feature vectors as compressed sparse rows."""

    starts: IntArray
    """Row ``i`` holds entries ``starts[i]`` to ``starts[i + 1]``; shape ``(n + 1,)``."""
    columns: IntArray
    """Feature index of each entry."""
    values: FloatArray
    """Value of each entry."""
