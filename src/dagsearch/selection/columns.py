"""Subsets of columns: some of the free choices, each a column or a group, and all fixed ones."""

from collections.abc import Iterable, Sequence

from dagsearch.problems.subsets import Subset, Subsets


class ColumnSubsets:
    """The subsets of ``count`` columns that a selector may choose.

    A choice is a column or a group. ``choices`` holds the columns of each free choice, ``fixed`` the columns
    of each choice in all subsets. ``least`` and ``most`` count choices, including fixed ones, and ``allowed``
    counts the columns that are not forbidden, by default all.
    """

    def __init__(
        self,
        count: int,
        least: int,
        most: int,
        choices: Iterable[Iterable[int]],
        fixed: Sequence[Iterable[int]] = (),
        allowed: int | None = None,
    ) -> None:
        members = [tuple(sorted(set(one))) for one in choices]
        held = frozenset[int]().union(*fixed)
        sizes = least - len(fixed), most - len(fixed)
        if sizes[1] == 0:  # the only subset consists of the fixed columns
            members, held, sizes = [tuple(sorted(held))], frozenset(), (1, 1)
        self.columns = count
        """Number of columns of the table."""
        self.allowed = count if allowed is None else allowed
        """Number of columns that are not forbidden."""
        self.choices = {one[0]: one for one in members}
        """The columns of each free choice by its first column."""
        self.fixed = held
        """The columns that belong to all subsets."""
        self.problem = Subsets(list(self.choices), sizes)
        """The problem to search; its leaves are sets of choices, which the selector scores."""

    def columns_of(self, leaf: Subset) -> tuple[int, ...]:
        """The columns of a leaf, ascending."""
        return tuple(sorted(self.fixed.union(*[self.choices[name] for name in leaf])))
