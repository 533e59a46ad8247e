"""Choose k of n, or any number of n within a range."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.typing import FloatArray
from dagsearch.problems.ground import Partial, Subset, SubsetProblem


class Size(NamedTuple):
    """The first decision of :class:`SubsetRange`: the number of choices."""

    choices: int
    """Number of choices, fixed ones included."""


class SubsetRange(SubsetProblem):
    """Find the best subset of any size in a range: ``least`` to ``most`` of ``n``.

    The first decision is the size, so that random play tries all sizes equally often. A leaf is the frozenset
    of what is chosen, an inner state a :class:`dagsearch.problems.ground.Partial`. If there is only one size,
    it is not decided, and inner states are frozensets, too: that is :class:`Subsets`.

    Parameters
    ----------
    n : int
        Features are numbered ``0`` to ``n - 1``.
    least, most : int
        Smallest and largest number of choices, fixed ones included. A group is one choice. With ``least=0``
        the empty set is a leaf, too.
    reward : callable
        ``reward(subset)`` of a complete subset.
    fixed, forbidden, groups, positions
        As for :class:`dagsearch.problems.Subsets`.

    Examples
    --------
    >>> problem = SubsetRange(5, 1, 3, reward=sum)
    >>> problem.actions(problem.root())
    [Size(choices=1), Size(choices=2), Size(choices=3)]
    >>> problem.step(problem.step(problem.root(), Size(1)), 4)
    frozenset({4})
    """

    def __init__(
        self,
        n: int,
        least: int,
        most: int,
        reward: Callable[[Subset], float],
        fixed: Iterable[int] = (),
        forbidden: Iterable[int] = (),
        groups: Iterable[Iterable[int]] = (),
        positions: ArrayLike | None = None,
    ) -> None:
        super().__init__(n, least, most, reward, fixed, forbidden, groups, positions)
        self._sized = self._least < self.k
        self._sizes = [Size(choices) for choices in range(self._least, self.k + 1)]
        self.depth = self.k - self._held + self._sized

    def root(self) -> Partial | Subset:
        """The state with only the fixed features."""
        return Partial(None, self._root) if self._sized else self._root

    def actions(self, state: Partial | Subset) -> Sequence[Any]:
        """The sizes if they are decided first, then the choices left: numbers, or tuples for groups."""
        left = self._left(state)
        if left is None:
            return list(self._sizes)
        return self._missing(self._chosen(state)) if left > 0 else []

    def step(self, state: Partial | Subset, action: Any) -> Partial | Subset:
        """The state with the size decided, or with a choice added."""
        if not isinstance(state, Partial):
            return state | self._free[action]
        if isinstance(action, Size):
            return self._at(action.choices, state.chosen)
        return self._at(state.choices, state.chosen | self._free[action])

    def _at(self, choices: int | None, chosen: Subset) -> Partial | Subset:
        """The state on the way to a subset with some number of choices."""
        complete = self._made(chosen) + self._held == choices
        return Partial(choices, chosen) if self._sized and not complete else chosen

    def _left(self, state: Partial | Subset) -> int | None:
        """Number of choices that are still to be made; ``None`` if the size is to be decided."""
        if isinstance(state, Partial):
            return None if state.choices is None else state.choices - self._held - self._made(state.chosen)
        return 0 if self._sized else self.depth - self._made(state)

    def _is_open(self, state: Partial | Subset) -> bool:
        return self._left(state) != 0

    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        """Actions that lead to a leaf."""
        path = self._choices_in(leaf)
        return (Size(len(path) + self._held), *path) if self._sized else path

    def parents(self, state: Partial | Subset) -> list[tuple[Partial | Subset, Any]]:
        """The states one decision before, and that decision."""
        chosen = self._chosen(state)
        choices = state.choices if isinstance(state, Partial) else self._made(chosen) + self._held
        if choices is None:
            return []
        if self._sized and self._made(chosen) == 0:
            return [(self.root(), Size(choices))]
        return [(self._at(choices, before), choice) for before, choice in self._before(chosen)]

    def leaves(self, state: Partial | Subset) -> Iterator[tuple[Subset, list[Any]]]:
        """All complete subsets below a state, and the decisions to each."""
        left, chosen = self._left(state), self._chosen(state)
        if left is not None:
            yield from self._completions(chosen, left)
            return
        for size in self._sizes:
            for leaf, added in self._completions(chosen, size.choices - self._held):
                yield leaf, [size, *added]

    def _completions(self, chosen: Subset, left: int) -> Iterator[tuple[Subset, list[Any]]]:
        """All sets with ``left`` more choices, and these choices."""
        for added in combinations(self._missing(chosen), left):
            yield chosen.union(*(self._free[choice] for choice in added)), list(added)

    def branching(self, level: int) -> int:
        """Number of sizes, if they are decided first, then of choices that are left."""
        return len(self._sizes) if self._sized and level == 0 else len(self._free) - level + self._sized

    @property
    def added_items(self) -> Callable[[Partial | Subset, Sequence[Any]], list[Subset]] | None:
        """The features that each decision adds; ``None`` if only one of the sizes is a leaf at once."""
        return None if self._sized and self._least == self._held else self._added_by

    def _added_by(self, state: Partial | Subset, actions: Sequence[Any]) -> list[Subset]:
        return [frozenset() if isinstance(action, Size) else self._free[action] for action in actions]

    def inclusion(self, states: Sequence[Partial | Subset]) -> FloatArray:
        """Probability that random play from each state includes each feature, shape ``(states, n)``."""
        rows = np.zeros((len(states), self.n))
        for row, state in zip(rows, states, strict=True):
            left, chosen = self._left(state), self._chosen(state)
            expected = float(np.mean(self._sizes)) - self._held if left is None else left
            row[self._choosable] = expected / max(len(self._free) - self._made(chosen), 1)
            row[list(chosen)] = 1.0
        return rows


class Subsets(SubsetRange):
    """Find the best subset: ``k`` of ``n`` features, sensors, pixels, …

    A state is the frozenset of the features chosen so far; a leaf has ``k`` choices. The order of choices
    does not matter, so equal sets are one node.

    Parameters
    ----------
    n : int
        Features are numbered ``0`` to ``n - 1``.
    k : int
        Number of choices, fixed ones included. A group is one choice.
    reward : callable
        ``reward(subset)`` of a complete subset.
    fixed : iterable of int
        Features that belong to every subset.
    forbidden : iterable of int
        Features that belong to no subset.
    groups : iterable of iterables of int
        Features that enter together. Groups must not overlap; a group with a fixed member is fixed, one
        with a forbidden member forbidden.
    positions : array, shape ``(n, dimensions)``, optional
        Where each feature is, if features have positions: a pixel's row and column, a sensor's coordinates.
        :func:`dagsearch.search` then takes near features to be alike.

    Examples
    --------
    >>> problem = Subsets(5, 2, reward=sum, forbidden=[4])
    >>> problem.actions(frozenset({3}))
    [0, 1, 2]
    >>> problem.step(frozenset({3}), 2)
    frozenset({2, 3})
    """

    _most_name = "k"

    def __init__(
        self,
        n: int,
        k: int,
        reward: Callable[[Subset], float],
        fixed: Iterable[int] = (),
        forbidden: Iterable[int] = (),
        groups: Iterable[Iterable[int]] = (),
        positions: ArrayLike | None = None,
    ) -> None:
        super().__init__(n, k, k, reward, fixed, forbidden, groups, positions)
