"""Which nodes' beliefs are brought up to date after a reward.

A reward changes the belief over every node, so that doing all of them every time makes the cost of a step
grow with the DAG. Few are looked at before the next reward: those on the way down, and their children.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Protocol

from dagsearch._internal.checks import is_finite, is_whole
from dagsearch._internal.typing import IntArray
from dagsearch.explored import Explored


class Refresh(Protocol):
    """Chooses nodes."""

    selective: bool
    """Whether it has begun to leave nodes out."""

    def nodes(self, explored: Explored, paths: Iterable[Sequence[int]], rewards: int) -> IntArray | None:
        """Those to bring up to date, children before parents; ``None`` for all.

        ``paths`` are those of the descents whose rewards have come, or are pending; ``rewards`` counts all.
        """


class Eager:
    """All nodes every time: exact."""

    selective = False

    def nodes(self, explored: Explored, paths: Iterable[Sequence[int]], rewards: int) -> IntArray | None:
        """All."""
        return None

    def __repr__(self) -> str:
        return "Eager()"


class Lazy:
    """In a large DAG the nodes of the descent and their children; all nodes at geometrically spaced times.

    Scores g are those of now wherever the descent looks. Values v of nodes off its path are at most as old as
    the last time all were done, when there were ``1/growth`` as many rewards.

    Parameters
    ----------
    above : int
        Up to so many nodes all are done every time, which is cheaper than choosing.
    growth : float
        All nodes are done whenever there are so many times as many rewards.
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
        """Those of the paths and their children, or all if it is time."""
        if not self.selective:
            if len(explored.graph) <= self.above:
                return None
            self.selective = True
            explored.scores = explored.scores.as_lazy()  # type: ignore[attr-defined]
        if rewards >= self._next:
            self._next = math.ceil(self.growth * rewards)
            return None
        return explored.around(paths)

    def __repr__(self) -> str:
        return f"Lazy(above={self.above}, growth={self.growth})"
