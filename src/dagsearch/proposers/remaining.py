"""Which leaves are left: an exact answer, for where roll-outs find only closed leaves.

A descent that ends above closed leaves adds a node and tries again. Where few leaves are left below many
states, as in the subsets of all features but one, that would walk through all of these states. Here they are
not added to the DAG: all leaves are listed by the problem's coding if they are few, or found by depth-first
search.
"""

from collections.abc import Hashable
from functools import cached_property

from dagsearch.errors import ProblemError
from dagsearch.posterior.index import Index
from dagsearch.problem import Action, State
from dagsearch.space.walks import Walk

# Number of states between two looks at the clock.
_POLLED = 256


class Remaining:
    """Finds leaves that are left: that ``index``, which may be an explored DAG, does not have as closed."""

    def __init__(self, index: Index) -> None:
        self._index = index
        # Keys of states without a leaf left. They only save time: no answer depends on what is in here, so
        # that a resumed search, which begins without any, decides as the recorded one did.
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
        """All leaves; ``None`` if they are many, or if the problem does not say what they are."""
        space = self._index.space
        declared = space.by_run is None and getattr(space.problem, "coding", None) is not None
        coding = space.coding if declared else None  # what was only found may not be all, or too much
        rows = space.few_codes
        return None if coding is None or rows is None else list(map(coding.leaf_of, rows))

    def _first_open(self, start: State) -> Walk | None:
        """The first open leaf below a state, depth first."""
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
