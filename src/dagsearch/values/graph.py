"""The explored DAG as growing arrays. Equal states are one node.

==============  =============  ====================================================================
array           shape          meaning
==============  =============  ====================================================================
level           ``(nodes,)``   longest known path from the root; −1 while no path is known
sign            ``(nodes,)``   whose turn: +1 MAX, −1 MIN
visits          ``(nodes,)``   number of descents that came through
terminal        ``(nodes,)``   a leaf of the problem
closed          ``(nodes,)``   nothing below is left to evaluate
branching       ``(nodes,)``   number of actions, less those found to lead to another one's child
first, count    ``(nodes,)``   the node's edges are ``first`` to ``first + count``, in order of addition
room            ``(nodes,)``   number of edges that fit there before they must be moved
v_mean, v_var   ``(nodes,)``   belief over the optimal value
lower, upper    ``(nodes,)``   proven bounds of the optimal value; ∓∞ unless a back-up proves values
edge_child      ``(edges,)``   the child, or ``~child`` for a second action to the same child
edge_action     ``(edges,)``   index of the action in ``problem.actions(state)``
==============  =============  ====================================================================

Compiled code takes them as one argument, :attr:`Graph.arrays`.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.posterior.index import Numbered
from dagsearch.problem import MIN, State

_WHOLE = dict.fromkeys(("sign", "visits", "branching", "first", "count", "room"), 0)
_REAL = {"v_mean": 0.0, "v_var": 0.0, "lower": -np.inf, "upper": np.inf}
_UNKNOWN = {"level": -1, "terminal": False, **_WHOLE, **_REAL}
"""Initial values of a node in the arrays."""


class GraphArrays(NamedTuple):
    """The arrays of a graph for compiled code. They are longer than the numbers of nodes and edges."""

    level: IntArray
    sign: IntArray
    terminal: BoolArray
    branching: IntArray
    first: IntArray
    count: IntArray  # type: ignore[assignment]  # hides tuple.count
    v_mean: FloatArray
    v_var: FloatArray
    lower: FloatArray
    upper: FloatArray
    edge_child: IntArray


class Graph(Numbered):
    """Nodes, edges, and the dictionary of states."""

    level: IntArray
    sign: IntArray
    visits: IntArray
    terminal: BoolArray
    branching: IntArray
    first: IntArray
    count: IntArray
    room: IntArray
    v_mean: FloatArray
    v_var: FloatArray
    lower: FloatArray
    upper: FloatArray

    def __init__(self) -> None:
        super().__init__()
        for name, fill in _UNKNOWN.items():
            setattr(self, name, np.full(64, fill))
        self.edge_child = np.zeros(64, dtype=np.int64)
        self.edge_action = np.zeros(64, dtype=np.int64)
        self._edges = 0
        self.widest = 0
        """Largest number of actions of any node."""
        self.adversarial = False
        """Whether MIN decides anywhere."""
        self.arrays = self._packed()
        """All arrays that compiled code uses."""

    def _packed(self) -> GraphArrays:
        return GraphArrays(*[getattr(self, name) for name in GraphArrays._fields])

    def add(self, key: Hashable, state: State, sign: int, branching: int) -> int:
        """A new node without a path to it; ``branching`` is 0 at a leaf."""
        node = len(self.states)
        if node + 1 == self.level.size:  # the last entry stays free, for nodes that are not in the DAG: −1
            for name, fill in {"closed": False, **_UNKNOWN}.items():
                setattr(self, name, grown(getattr(self, name), node + 2, fill=fill))
            self.arrays = self._packed()
        super().add(key, state)
        self.sign[node] = sign
        self.branching[node] = branching
        self.terminal[node] = branching == 0
        self.widest = max(self.widest, branching)
        self.adversarial |= sign == MIN and branching > 0
        return node

    def edges(self, node: int) -> slice:
        """The node's part of the edge arrays."""
        first = int(self.first[node])
        return slice(first, first + int(self.count[node]))

    def children(self, node: int) -> IntArray:
        """The node's children in the DAG, in order of addition, one entry per edge."""
        child = self.edge_child[self.edges(node)]
        return np.maximum(child, ~child)

    def link(self, node: int, children: Sequence[int], actions: Sequence[int]) -> list[int]:
        """Add edges from ``node``; afterwards every child is at least one level below it.

        Returns the children that no path from the root led to before.
        """
        count = int(self.count[node])
        first = self._make_room(node, count, count + len(children))
        level, below = self.level, int(self.level[node]) + 1
        fresh, edge, repeated = [], first + count, 0
        for child, action in zip(children, actions, strict=True):
            again, child_level = False, level[child]
            if child_level < 0:
                fresh.append(child)
            if child_level < 0 and self.count[child] == 0:  # nothing is below it
                level[child] = below
            elif child_level < below and not _sink_below(
                node, child, level, self.first, self.count, self.edge_child
            ):
                raise ProblemError(
                    f"the problem has a cycle: {self.states[child]!r} is its own descendant, by way of "
                    f"{self.states[node]!r}; extend the states so that they differ, such as by a move counter"
                )
            else:
                again = child in self.edge_child[first:edge]
            self.edge_child[edge] = ~child if again else child
            self.edge_action[edge] = action
            edge += 1
            repeated += again
        self.count[node] = edge - first
        self.branching[node] -= repeated  # another action to the same child is not another option
        return fresh

    def _make_room(self, node: int, count: int, need: int) -> int:
        """Make room for ``need`` edges of the node, at the end if necessary; returns the first place."""
        if need <= self.room[node]:
            return int(self.first[node])
        room = need if count == 0 else max(need, 2 * count)
        if self._edges + room > self.edge_child.size:
            self.edge_child = grown(self.edge_child, self._edges + room)
            self.edge_action = grown(self.edge_action, self._edges + room)
            self.arrays = self._packed()
        if count > 0:
            for edges in (self.edge_child, self.edge_action):
                edges[self._edges : self._edges + count] = edges[self.edges(node)]
        first = self._edges
        self.first[node], self.room[node] = first, room
        self._edges += room
        return first

    def deepest_first(self) -> IntArray:
        """All nodes with a path from the root, children before their parents."""
        return _deepest_first(self.level[: len(self)])


@compiled
def _sink_below(
    node: int, child: int, level: IntArray, first: IntArray, count: IntArray, edge_child: IntArray
) -> bool:
    """Push ``child`` and its descendants below ``node``.

    Returns False and changes nothing if ``node`` itself is one of them.
    """
    if child == node:
        return False
    moved, levels = [child], [level[child]]
    level[child] = level[node] + 1
    stack = [child]
    while len(stack) > 0:
        parent = stack.pop()
        for edge in range(first[parent], first[parent] + count[parent]):
            below = edge_child[edge] if edge_child[edge] >= 0 else ~edge_child[edge]
            if below == node:
                for i in range(len(moved) - 1, -1, -1):
                    level[moved[i]] = levels[i]
                return False
            if level[below] <= level[parent]:
                moved.append(below)
                levels.append(level[below])
                level[below] = level[parent] + 1
                stack.append(below)
    return True


@compiled
def _deepest_first(level: IntArray) -> IntArray:
    """Counting sort by level, descending; nodes at level −1 are left out."""
    deepest = 0
    for i in range(level.size):
        deepest = max(deepest, level[i])
    at = np.zeros(deepest + 3, dtype=np.int64)
    for i in range(level.size):
        at[level[i] + 1] += 1
    start = 0
    for bucket in range(at.size - 1, -1, -1):
        start, at[bucket] = start + at[bucket], start
    order = np.empty(level.size, dtype=np.int64)
    for i in range(level.size):
        order[at[level[i] + 1]] = i
        at[level[i] + 1] += 1
    return order[: at[1]]
