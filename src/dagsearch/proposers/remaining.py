"""Exact search for the remaining leaves, if roll-outs find only closed ones.

Descents would add every state above closed leaves to the DAG, even if few leaves remain below many states, as
in subsets of all features but one. Here leaves are listed by the problem's coding if they are few, else found
by depth-first search, without adding to the DAG.
"""

from collections.abc import Hashable
from functools import cached_property

from dagsearch.errors import ProblemError
from dagsearch.posterior.index import Index
from dagsearch.problem import Action, State
from dagsearch.space.walks import Walk

# Number of states between two checks of the deadline.
_POLLED = 256


class Remaining:
    """Finds leaves that are not closed in ``index``, which may be an explored DAG."""

    def __init__(self, index: Index) -> None:
        self._index = index
        # Keys of states without open leaves. They only save time: a resumed search begins without them and
        # makes the same decisions.
        self._finished: set[Hashable] = set()
        self._reopenings = 0

    def anywhere(self) -> Walk | None:
        """An open leaf below the root; ``None`` if there is none."""
        root = self._index.problem.root()
        if self._index.is_closed(root):
            return None
        if self._reopenings != self._index.reopenings:
            self._reopenings, self._finished = self._index.reopenings, set()
        if self._listed is None:
            found = self._first_open(root)
        else:
            leaf = next((leaf for leaf in self._listed if not self._index.is_closed(leaf)), None)
            found = None if leaf is None else (leaf, self._index.space.actions_to(leaf))
        row = self._index.find(root)
        if found is None and row >= 0:
            self._index.table.closed[row] = True
        return found

    @cached_property
    def _listed(self) -> list[State] | None:
        """All leaves; ``None`` if they are many or not declared by the problem."""
        space = self._index.space
        declared = space.by_run is None and getattr(space.problem, "coding", None) is not None
        coding = space.coding if declared else None  # an inferred coding may be wrong
        rows = space.few_codes
        return None if coding is None or rows is None else list(map(coding.leaf_of, rows))

    def _first_open(self, start: State) -> Walk | None:
        problem, table, key_of = self._index.problem, self._index.table, self._index.key
        finished = self._finished
        if len(problem.actions(start)) == 0:
            return None if self._index.is_closed(start) else (start, [])
        stack = [(key_of(start), start, iter(problem.actions(start)))]
        above, taken, looked_at = {stack[0][0]}, list[Action](), 0
        while stack:
            own, state, actions = stack[-1]
            for action in actions:
                child = problem.step(state, action)
                key = key_of(child)
                if key in finished or ((row := table.find(key)) >= 0 and table.closed[row]):
                    continue
                if key in above:
                    raise ProblemError(f"the problem has a cycle: {child!r} is its own descendant")
                if len(below := problem.actions(child)) == 0:
                    if self._index.is_closed(child):  # not allowed
                        continue
                    return child, [*taken, action]
                looked_at += 1
                if looked_at % _POLLED == 0:
                    self._index.deadline.check()
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
