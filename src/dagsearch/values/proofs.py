"""Proven values: wins, losses and draws, and bounds on the way to them.

At a leaf the value is its reward. At MAX's turn the value is at least every child's lower bound, and at most
the largest upper bound of the children, if all of them are in the DAG; MIN's turn is the mirror image. Where
both bounds meet, the value is proven, regardless of the model. This assumes that rewards are free and have no
noise, as in a game with known rules.
"""

from collections.abc import Sequence

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.parts import Configured
from dagsearch._internal.typing import IntArray
from dagsearch.posterior.units import Episode
from dagsearch.values.backups import Backup
from dagsearch.values.explored import Explored
from dagsearch.values.graph import GraphArrays


class WithProofs(Configured, Backup):
    """A back-up that proves values where it can, and computes the others from them.

    The value of a proven node is certain, and its parents' values follow. The node is also closed: no descent
    visits it any more. A custom back-up finds proven values where ``graph.lower`` and ``graph.upper`` are
    equal.

    Parameters
    ----------
    backup : Backup
        Computes the values that are not proven.
    lowest, highest : float
        Smallest and largest reward of the problem.
    """

    def __init__(self, backup: Backup, lowest: float, highest: float) -> None:
        if not lowest < highest:
            raise ValueError(f"lowest must be less than highest, got {lowest!r} and {highest!r}")
        self.backup = backup
        self.lowest, self.highest = float(lowest), float(highest)
        self._seen = 0

    def learn(self, explored: Explored, episodes: Sequence[Episode]) -> None:
        """Let the other back-up learn."""
        self.backup.learn(explored, episodes)

    def back_up(self, explored: Explored) -> None:
        """Write ``graph.lower`` and ``graph.upper``, close proven nodes, then back up the values."""
        graph = explored.graph
        for node in range(self._seen, len(graph)):
            graph.lower[node], graph.upper[node] = self.lowest, self.highest
            if graph.terminal[node]:
                graph.lower[node] = graph.upper[node] = explored.problem.reward(graph.states[node])
        self._seen = len(graph)
        _bounds_pass(graph.deepest_first(), graph.arrays, self.lowest, self.highest)
        graph.closed[: len(graph)] |= graph.lower[: len(graph)] == graph.upper[: len(graph)]
        self.backup.back_up(explored)


@compiled
def _seen_by(sign: int, lower: float, upper: float) -> tuple[float, float]:
    """Convert bounds to a player's view and back: MIN's are those of the negated value."""
    return (lower, upper) if sign > 0 else (-upper, -lower)


@compiled
def _bounds_pass(order: IntArray, graph: GraphArrays, lowest: float, highest: float) -> None:
    """Write proven bounds of the nodes in ``order``, children before parents."""
    first, count, lower, upper = graph.first, graph.count, graph.lower, graph.upper
    for node in order:
        if graph.terminal[node] or count[node] == 0 or lower[node] == upper[node]:
            continue
        sign, known = graph.sign[node], 0
        least, most = -np.inf, -np.inf
        for edge in range(first[node], first[node] + count[node]):
            child = graph.edge_child[edge]
            if child >= 0:
                known += 1
                low, high = _seen_by(sign, lower[child], upper[child])
                least, most = max(least, low), max(most, high)
        if known < graph.branching[node]:
            low, most = _seen_by(sign, lowest, highest)
            least = max(least, low)
        lower[node], upper[node] = _seen_by(sign, least, most)
