"""Which leaves are left: an exact answer, for where roll-outs find only closed leaves.

A descent that ends above closed leaves adds a node and tries again. Where few leaves are left below many
states, as in the subsets of all features but one, that would walk through all of these states. Here they are
not added to the DAG: leaves are listed by the problem's own ``leaves``, or found by depth-first search. In a
tree that takes a time proportional to the number of closed leaves. In a DAG without ``leaves`` it may take
one proportional to the number of states above them, so it is limited below single nodes.
"""

from collections.abc import Hashable, Sequence
from contextlib import suppress

from dagsearch.errors import ProblemError
from dagsearch.problem import Action, State
from dagsearch.space.walks import Walk
from dagsearch.values.explored import Explored

# Most states, or listed leaves, that are looked at below the nodes of one path.
_MOST_STATES = 2_000
# Number of states between two looks at the clock.
_POLLED = 256


class Undecided(Exception):
    """There are too many states to say whether a leaf is left below a node."""


class Remaining:
    """Finds leaves that are left, and closes nodes below which there is none.

    Parameters
    ----------
    explored : Explored
        The explored DAG, which says which leaves are closed.
    """

    def __init__(self, explored: Explored) -> None:
        self._explored = explored
        # Keys of states without a leaf left. They only save time: no answer depends on what is in here, so
        # that a resumed search, which begins without any, decides as the recorded one did.
        self._finished: set[Hashable] = set()
        self._reopenings = 0

    def below(self, path: Sequence[int]) -> Walk | None:
        """An open leaf below the last node of a path.

        If there is none, ``None`` is returned. The node is then closed, and so are the nodes before it below
        which there is none. Raises :class:`Undecided` if there are too many states below the last node.
        """
        graph, finished = self._explored.graph, set[Hashable]()
        found = self._first_open(graph.states[path[-1]], finished, _MOST_STATES)
        if found is not None:
            return found
        self._explored.close(path[-1])
        with suppress(Undecided):
            for node in reversed(path[:-1]):
                if self._first_open(graph.states[node], finished, _MOST_STATES) is not None:
                    break
                self._explored.close(node)
        return None

    def anywhere(self) -> Walk | None:
        """An open leaf below the root. If there is none, the root is closed, and ``None`` is returned."""
        explored = self._explored
        if self._reopenings != explored.reopenings:
            self._reopenings, self._finished = explored.reopenings, set()
        found = self._first_open(explored.graph.states[explored.root], self._finished, None)
        if found is None:
            explored.close(explored.root)
        return found

    def _first_open(self, start: State, finished: set[Hashable], most: int | None) -> Walk | None:
        """The first open leaf below a state."""
        if self._explored.space.leaves is not None:
            return self._listed(start, most)
        if len(self._explored.problem.actions(start)) == 0:
            return None if self._explored.is_closed(start) else (start, [])
        return self._searched(start, finished, most)

    def _listed(self, start: State, most: int | None) -> Walk | None:
        explored = self._explored
        assert explored.space.leaves is not None
        for number, (leaf, actions) in enumerate(explored.space.leaves(start)):
            if not explored.is_closed(leaf):
                return leaf, list(actions)
            self._count(number, most)
        return None

    def _searched(self, start: State, finished: set[Hashable], most: int | None) -> Walk | None:
        """Depth-first search; adds the keys of states without an open leaf to ``finished``."""
        explored, problem, graph = self._explored, self._explored.problem, self._explored.graph
        stack = [(explored.key(start), start, iter(problem.actions(start)))]
        above, taken, looked_at = {stack[0][0]}, list[Action](), 0
        while stack:
            own, state, actions = stack[-1]
            for action in actions:
                child = problem.step(state, action)
                key = explored.key(child)
                if key in finished or ((node := graph.find(key)) >= 0 and graph.closed[node]):
                    continue
                if key in above:
                    raise ProblemError(f"the problem has a cycle: {child!r} is its own descendant")
                if len(below := problem.actions(child)) == 0:
                    return child, [*taken, action]
                looked_at += 1
                self._count(looked_at, most)
                stack.append((key, child, iter(below)))
                above.add(key)
                taken.append(action)
                break
            else:
                finished.add(own)
                above.remove(own)
                stack.pop()
                del taken[-1:]
        return None

    def _count(self, number: int, most: int | None) -> None:
        if most is not None and number >= most:
            raise Undecided
        if number % _POLLED == 0:
            self._explored.deadline.check()
