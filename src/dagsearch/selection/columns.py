"""Subsets of columns: some of the free choices, each a column or a group, and all that is fixed."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Coding
from dagsearch.problems.subsets import Partial, Size, Subset, Subsets


class ColumnSubsets(Subsets):
    """The subsets of columns that a selector may choose; a state is a set of columns.

    The problem has no reward of its own: the selector scores the subsets.

    Parameters
    ----------
    count : int
        Number of columns of the table.
    least, most : int
        Smallest and largest number of choices, fixed ones included. A group is one choice.
    choices : iterable of sets of int
        The columns of each choice that is neither fixed nor forbidden.
    fixed : sequence of sets of int
        The columns of each choice that belongs to all subsets.
    """

    def __init__(
        self,
        count: int,
        least: int,
        most: int,
        choices: Iterable[Iterable[int]],
        fixed: Sequence[Iterable[int]] = (),
    ) -> None:
        members = [frozenset(one) for one in choices]
        held = [frozenset(one) for one in fixed]
        sizes = least - len(held), most - len(held)
        if sizes[1] == 0:  # there is one subset: what is fixed is the choice
            members, held, sizes = [frozenset[int]().union(*held)], [], (1, 1)
        self.columns = count
        """Number of columns of the table."""
        self.choices = {_name(one): one for one in members}
        """The columns of each free choice; it is named by its column, or by those of a group in a tuple."""
        self.fixed = frozenset[int]().union(*held)
        """The columns that belong to all subsets."""
        self._owner = {column: name for name, one in self.choices.items() for column in one}
        super().__init__(list(self.choices), sizes)
        self.labels = None  # leaves are written as numbers of columns

    def root(self) -> Partial | Subset:
        root: Partial | Subset = self._outer(super().root())
        return root

    def actions(self, state: Partial | Subset) -> Sequence[Any]:
        return super().actions(self._inner(state))

    def step(self, state: Partial | Subset, action: Any) -> Partial | Subset:
        after: Partial | Subset = self._outer(super().step(self._inner(state), action))
        return after

    def leaf(self, given: Any) -> Subset:
        """The set of columns; raises if it cannot be selected."""
        chosen = frozenset(given)
        leaf: Subset = self._outer(super().leaf(self._inner(chosen)))
        if leaf != chosen:
            raise ProblemError(f"{sorted(chosen)} lacks a fixed column, or holds one that cannot be chosen")
        return leaf

    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        names = self._inner(self.leaf(leaf))
        path = tuple([name for name in self.choices if name in names])
        return (Size(len(path)), *path) if self._sized else path

    def items(self, state: Partial | Subset) -> list[int]:
        """The columns, ascending."""
        return sorted(state.chosen if isinstance(state, Partial) else state)

    @property
    def added_items(self) -> Callable[[Partial | Subset, Sequence[Any]], list[Subset]] | None:
        return None if super().added_items is None else self._columns_of

    def _columns_of(self, state: Partial | Subset, actions: Sequence[Any]) -> list[Subset]:
        return [self.choices.get(action, frozenset()) for action in actions]

    @property
    def coding(self) -> Coding:
        return super().coding

    def codes(self, states: Sequence[Partial | Subset]) -> IntArray:
        return super().codes([self._inner(state) for state in states])

    def leaf_of(self, codes: IntArray) -> Subset:
        leaf: Subset = self._outer(super().leaf_of(codes))
        return leaf

    def _numbers(self, state: Partial | Subset) -> list[int]:
        return self.items(state)

    def decode(self, encoded: Any) -> Partial | Subset:
        is_inner = isinstance(encoded, dict)
        chosen = frozenset(encoded["chosen"] if is_inner else encoded)
        return Partial(encoded["choices"], chosen) if is_inner else chosen

    def _outer(self, state: Partial | Subset) -> Any:
        """The state with columns instead of names of choices."""
        if isinstance(state, Partial):
            return Partial(state.size, self._outer(state.chosen))
        return self.fixed.union(*[self.choices[name] for name in state])

    def _inner(self, state: Partial | Subset) -> Any:
        """The state with names of choices instead of columns."""
        if isinstance(state, Partial):
            return Partial(state.size, self._inner(state.chosen))
        return frozenset([self._owner[column] for column in state if column in self._owner])


def _name(columns: frozenset[int]) -> Any:
    return next(iter(columns)) if len(columns) == 1 else tuple(sorted(columns))
