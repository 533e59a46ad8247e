"""Subsets of columns: some of the free choices, each a column or a group, and all that is fixed."""

from collections.abc import Iterable, Sequence

from dagsearch.problems.subsets import Subset, Subsets


class ColumnSubsets:
    """The subsets of ``count`` columns that a selector may choose.

    A choice is a column or a group. ``choices`` has the columns of each that is neither fixed nor forbidden,
    ``fixed`` those of each that belongs to all subsets. ``least`` and ``most`` count choices, fixed ones
    included, and ``allowed`` the columns that are not forbidden, by default all.
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
        if sizes[1] == 0:  # there is one subset: what is fixed is the choice
            members, held, sizes = [tuple(sorted(held))], frozenset(), (1, 1)
        self.columns = count
        """Number of columns of the table."""
        self.allowed = count if allowed is None else allowed
        """Number of columns that are not forbidden."""
        self.choices = {one[0]: one for one in members}
        """The columns of each free choice, which is named by its first column."""
        self.fixed = held
        """The columns that belong to all subsets."""
        self.problem = Subsets(list(self.choices), sizes)
        """The problem that is searched; its leaves are sets of choices, and the selector scores them."""

    def columns_of(self, leaf: Subset) -> tuple[int, ...]:
        """The columns of a leaf, ascending."""
        return tuple(sorted(self.fixed.union(*[self.choices[name] for name in leaf])))
