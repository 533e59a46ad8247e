"""Which nodes are updated after a reward.

A reward changes the belief over every node. If all nodes are updated every time, the cost of a step grows
with the DAG. But the search reads few of them before the next reward: those on the path of a descent, and
their children.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from dagsearch._internal.checks import is_finite, is_whole
from dagsearch._internal.typing import IntArray
from dagsearch.values.explored import Explored


class Refresh(Protocol):
    """Selects the nodes to update after a reward."""

    selective: bool
    """Whether nodes are left out from now on."""

    def nodes(self, explored: Explored, paths: Iterable[Sequence[int]], rewards: int) -> IntArray | None:
        """The nodes to update, children before parents; ``None`` for all.

        ``paths`` are the paths of the descents whose rewards were told or are pending. ``rewards`` is the
        number of all rewards so far.
        """


class Eager:
    """Updates all nodes every time: exact."""

    selective = False

    def nodes(self, explored: Explored, paths: Iterable[Sequence[int]], rewards: int) -> IntArray | None:
        """``None``: all nodes."""
        return None

    def __repr__(self) -> str:
        return "Eager()"


class Lazy:
    """In a large DAG, updates the nodes of the descent and their children; all nodes at times.

    The scores g that a descent reads are always up to date. The values v of nodes off its path are those of
    the last update of all nodes, since which the number of rewards has grown by less than ``growth``.

    Parameters
    ----------
    above : int
        Up to this number of nodes, all are updated every time, which is cheaper than selecting some.
    growth : float
        All nodes are updated whenever the number of rewards has grown by this factor.
    """

    def __init__(self, above: int = 1000, growth: float = 1.2) -> None:
        if not is_whole(above) or above < 0:
            raise ValueError(f"above must be a whole number of nodes, got {above!r}")
        if not is_finite(growth) or growth <= 1.0:
            raise ValueError(f"growth must be larger than 1, got {growth!r}")
        self.above, self.growth = int(above), float(growth)
        self.selective = False
        self._next = 0

    def nodes(self, explored: Explored, paths: Iterable[Sequence[int]], rewards: int) -> IntArray | None:
        """The nodes of the paths and their children, or ``None`` if all nodes are due."""
        if not self.selective:
            if len(explored.graph) <= self.above:
                return None
            self.selective = True
        if rewards >= self._next:
            self._next = math.ceil(self.growth * rewards)
            return None
        return explored.around(paths)

    def __repr__(self) -> str:
        return f"Lazy(above={self.above}, growth={self.growth})"
