"""Choose k of n, any number of n within a range, or what fits into a capacity."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.problems.ground import Choice, Partial, Subset, SubsetProblem
from dagsearch.problems.options import END
from dagsearch.problems.rules import ChosenSet


class Size(NamedTuple):
    """The first decision of :class:`SubsetRange`: the number of choices."""

    choices: int
    """Number of choices, fixed ones included."""


class SubsetRange(SubsetProblem):
    """Find the best subset of any size in a range: ``least`` to ``most`` of ``n``.

    The first decision is the size, so that random play tries all sizes equally often. A leaf is the
    :class:`dagsearch.problems.ChosenSet` of what is chosen, an inner state a
    :class:`dagsearch.problems.ground.Partial`. If there is only one size, it is not decided, and inner states
    are frozensets: that is :class:`Subsets`.

    Parameters
    ----------
    n : int or sequence
        Number of features, which are then numbered ``0`` to ``n - 1``, or their names.
    least, most : int
        Smallest and largest number of choices, fixed ones included. A group is one choice. With ``least=0``
        the empty set is a leaf, too.
    reward : callable, optional
        ``reward(subset)`` of a complete subset. Without it, use ``ask`` and ``tell``.
    fixed, forbidden, groups, positions, exclude, require
        As for :class:`dagsearch.problems.Subsets`.

    Examples
    --------
    >>> problem = SubsetRange(5, 1, 3, reward=sum)
    >>> problem.actions(problem.root())
    [Size(choices=1), Size(choices=2), Size(choices=3)]
    >>> problem.step(problem.step(problem.root(), Size(1)), 4)
    {4}
    """

    def __init__(
        self,
        n: int | Iterable[Hashable],
        least: int,
        most: int,
        reward: Callable[[Any], float] | None = None,
        fixed: Iterable[Hashable] = (),
        forbidden: Iterable[Hashable] = (),
        groups: Iterable[Iterable[Hashable]] = (),
        positions: ArrayLike | None = None,
        exclude: Iterable[Iterable[Hashable]] = (),
        require: Iterable[tuple[Hashable, Hashable]] = (),
    ) -> None:
        super().__init__(n, least, most, reward, fixed, forbidden, groups, positions, exclude, require)
        possible = self.sizes if self._rules is None else self._possible_sizes
        self._least, self.k = self._held + possible[0], self._held + possible[-1]
        self._sized = self._least < self.k
        self._sizes = [Size(self._held + size) for size in possible]
        self.depth = self.k - self._held + self._sized

    def root(self) -> Partial | Subset:
        return Partial(None, self._root) if self._sized else self._with(self._root)

    def actions(self, state: Partial | Subset) -> Sequence[Any]:
        """The sizes if they are decided first, then the choices left: numbers, or tuples for groups."""
        left = self._left(state)
        if left is None:
            return list(self._sizes)
        if left == 0:
            return []
        if self._rules is None:
            return self._missing(self._chosen(state))
        choices = list(self._free)
        return [choices[number] for number in self._rules.offered(self._bits(self._chosen(state)), left)]

    def step(self, state: Partial | Subset, action: Any) -> Partial | Subset:
        """The state with the size decided, or with a choice added."""
        if not isinstance(state, Partial):
            return self._with(state | self._free[action])
        if isinstance(action, Size):
            return self._at(action.choices, state.chosen)
        return self._at(state.choices, state.chosen | self._free[action])

    def _at(self, choices: int | None, chosen: Subset) -> Partial | Subset:
        """The state on the way to a subset with some number of choices."""
        if not self._sized:
            return self._with(chosen)
        complete = self._made(chosen) + self._held == choices
        return ChosenSet(chosen) if complete else Partial(choices, chosen)

    def _with(self, chosen: Subset) -> Any:
        """The state with some choices, where all subsets have one size."""
        return ChosenSet(chosen) if self._made(chosen) == self.depth else chosen

    def _left(self, state: Partial | Subset) -> int | None:
        """Number of choices that are still to be made; ``None`` if the size is to be decided."""
        if isinstance(state, Partial):
            return None if state.choices is None else state.choices - self._held - self._made(state.chosen)
        return 0 if self._sized or isinstance(state, ChosenSet) else self.depth - self._made(state)

    def _is_open(self, state: Partial | Subset) -> bool:
        return self._left(state) != 0

    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        path = self._choices_in(leaf)
        return (Size(len(path) + self._held), *path) if self._sized else path

    def parents(self, state: Partial | Subset) -> list[tuple[Partial | Subset, Any]]:
        chosen = self._chosen(state)
        choices = state.choices if isinstance(state, Partial) else self._made(chosen) + self._held
        if choices is None:
            return []
        if self._sized and self._made(chosen) == 0:
            return [(self.root(), Size(choices))]
        return [(self._at(choices, before), choice) for before, choice in self._before(chosen)]

    def leaves(self, state: Partial | Subset) -> Iterator[tuple[ChosenSet, list[Any]]]:
        """All complete subsets below a state, and the decisions to each."""
        left, chosen = self._left(state), self._chosen(state)
        if left is not None:
            yield from self._completions(chosen, left)
            return
        for size in self._sizes:
            for leaf, added in self._completions(chosen, size.choices - self._held):
                yield leaf, [size, *added]

    def _completions(self, chosen: Subset, left: int) -> Iterator[tuple[ChosenSet, list[Any]]]:
        """All sets with ``left`` more choices, and these choices."""
        for added in self._ways(chosen, left):
            yield ChosenSet(chosen.union(*(self._free[choice] for choice in added))), list(added)

    def _ways(self, chosen: Subset, left: int) -> Iterable[Iterable[Choice]]:
        if self._rules is None:
            return combinations(self._missing(chosen), left)
        choices = list(self._free)
        found = self._rules.subsets(self._bits(chosen), left)
        return ([choices[number] for number in added] for added in found)

    @property
    def branching(self) -> Callable[[int], int] | None:
        """Number of sizes, if they are decided first, then of choices that are left; ``None`` with rules."""
        return None if self._rules is not None else self._branching

    def _branching(self, level: int) -> int:
        return len(self._sizes) if self._sized and level == 0 else len(self._free) - level + self._sized

    @property
    def added_items(self) -> Callable[[Partial | Subset, Sequence[Any]], list[Subset]] | None:
        """The features that each decision adds; ``None`` if only one of the sizes is a leaf at once."""
        return None if self._sized and self._least == self._held else self._added_by

    def _added_by(self, state: Partial | Subset, actions: Sequence[Any]) -> list[Subset]:
        return [frozenset() if isinstance(action, Size) else self._free[action] for action in actions]

    def inclusion(self, states: Sequence[Partial | Subset]) -> FloatArray:
        """Probability that random play includes each feature; where there are rules, an estimate."""
        rows = np.zeros((len(states), self.n))
        for row, state in zip(rows, states, strict=True):
            left, chosen = self._left(state), self._chosen(state)
            expected = float(np.mean(self._sizes)) - self._held if left is None else left
            row[self._choosable] = expected / max(len(self._free) - self._made(chosen), 1)
            row[self._numbers(chosen)] = 1.0
        return rows


class Subsets(SubsetRange):
    """Find the best subset: ``k`` of ``n`` features, sensors, pixels, …

    A state is the frozenset of the features chosen so far; a leaf is a
    :class:`dagsearch.problems.ChosenSet` with ``k`` choices. The order of choices does not matter, so equal
    sets are one node.

    Parameters
    ----------
    n : int or sequence
        Number of features, which are then numbered ``0`` to ``n - 1``, or their names.
    k : int
        Number of choices, fixed ones included. A group is one choice.
    reward : callable, optional
        ``reward(subset)`` of a complete subset. Without it, use ``ask`` and ``tell``.
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
    exclude : iterable of iterables
        Groups of features of which at most one may be chosen. They may overlap.
    require : iterable of pairs
        Features ``(a, b)`` such that ``b`` is chosen only together with ``a``.

    Notes
    -----
    With rules, only choices that can be completed are offered. That is decided exactly. It is fast where
    groups do not overlap or where there are enough features without rules; in general it is as hard as to
    find an independent set of a given size in a graph, and may take long if hardly any subset is possible.

    Examples
    --------
    >>> problem = Subsets(5, 2, reward=sum, forbidden=[4])
    >>> problem.actions(frozenset({3}))
    [0, 1, 2]
    >>> problem.step(frozenset({3}), 2)
    {2, 3}
    >>> named = Subsets(["age", "height", "height²"], 2, require=[("height", "height²")])
    >>> named.actions(frozenset({"height²"}))
    ['height']
    """

    _most_name = "k"

    def __init__(
        self,
        n: int | Iterable[Hashable],
        k: int,
        reward: Callable[[Any], float] | None = None,
        fixed: Iterable[Hashable] = (),
        forbidden: Iterable[Hashable] = (),
        groups: Iterable[Iterable[Hashable]] = (),
        positions: ArrayLike | None = None,
        exclude: Iterable[Iterable[Hashable]] = (),
        require: Iterable[tuple[Hashable, Hashable]] = (),
    ) -> None:
        super().__init__(n, k, k, reward, fixed, forbidden, groups, positions, exclude, require)


class Knapsack(SubsetProblem):
    """Find the best subset whose weight is within a limit.

    What fits is added until nothing else does, or until the decision ``END``. A leaf is the set of what is
    chosen, as in :class:`dagsearch.problems.Subsets`; an inner state is a
    :class:`dagsearch.problems.ground.Partial`.

    Parameters
    ----------
    n : int or sequence
        Number of features, which are then numbered ``0`` to ``n - 1``, or their names.
    least, most : int
        Smallest and largest number of choices, fixed ones included. A group is one choice. With ``least=0``
        the empty set is a leaf, too.
    reward : callable, optional
        ``reward(subset)`` of a complete subset. Without it, use ``ask`` and ``tell``.
    capacity : (weights, limit)
        Weight of each feature, not negative, and the largest total weight. Heavier subsets do not exist:
        choices are offered only where they fit and leave room for ``least``.
    fixed, forbidden, groups, positions
        As for :class:`dagsearch.problems.Subsets`.

    Examples
    --------
    >>> problem = Knapsack(3, 0, 3, reward=sum, capacity=([4, 5, 7], 9))
    >>> problem.actions(problem.step(problem.root(), 0))
    [1, END]
    >>> problem.step(problem.root(), 2)
    {2}
    """

    def __init__(
        self,
        n: int | Iterable[Hashable],
        least: int,
        most: int,
        reward: Callable[[Any], float] | None,
        capacity: tuple[ArrayLike, float],
        fixed: Iterable[Hashable] = (),
        forbidden: Iterable[Hashable] = (),
        groups: Iterable[Iterable[Hashable]] = (),
        positions: ArrayLike | None = None,
    ) -> None:
        super().__init__(n, least, most, reward, fixed, forbidden, groups, positions)
        weights, limit = np.asarray(capacity[0], dtype=np.float64), capacity[1]
        if weights.shape != (self.n,) or not np.all(np.isfinite(weights)) or np.any(weights < 0.0):
            raise ValueError(f"capacity needs the weights of all {self.n} features, finite and not negative")
        if not is_finite(limit):
            raise ValueError(f"the limit of the capacity must be a finite number, got {limit!r}")
        # What fits exactly must not fail by rounding.
        self._limit = float(limit) + 1e-9 * max(abs(float(limit)), float(weights.sum()))
        self._feature_weights = weights
        self._weights: FloatArray = np.array(
            [weights[self._numbers(members)].sum() for members in self._members]
        )
        if self._room(self._root) < 0.0:
            fixed_weight = weights[self._numbers(self._root)].sum()
            raise ProblemError(f"what is fixed weighs {fixed_weight:g}, more than the limit {limit!r}")
        fitting = int(np.count_nonzero(np.cumsum(np.sort(self._weights)) <= self._room(self._root)))
        self.k = min(self.k, self._held + fitting)
        needed = max(self._least, self._held + 1)
        if self.k < needed:
            raise ProblemError(
                f"at most {self.k} choices fit into the capacity, but at least {needed} are to be made: "
                "raise the limit or lower least"
            )
        self.depth = self.k - self._held
        self._choice = list(self._free)

    def root(self) -> Any:
        return Partial(None, self._root)

    def actions(self, state: Partial | Subset) -> Sequence[Any]:
        """What fits, and ``END`` where the subset is large enough."""
        if not isinstance(state, Partial):
            return []
        fitting = [self._choice[number] for number in self._fitting(state.chosen).tolist()]
        return [*fitting, END] if self._made(state.chosen) + self._held >= self._least else fitting

    def step(self, state: Partial, action: Any) -> Partial | Subset:
        """The state with a choice added, or ended; it ends by itself where nothing else fits."""
        if action is END:
            return ChosenSet(state.chosen)
        chosen = state.chosen | self._free[action]
        return Partial(None, chosen) if self._fitting(chosen).size else ChosenSet(chosen)

    def _room(self, chosen: Subset) -> float:
        """Weight that can be added to a set."""
        return self._limit - float(self._feature_weights[self._numbers(self._chosen(chosen))].sum())

    def _fitting(self, chosen: Subset) -> IntArray:
        """Numbers of the choices that can be added, so that enough of them fit together."""
        chosen = self._chosen(chosen)
        size = self._made(chosen) + self._held
        missing = np.flatnonzero(self.codes([chosen])[0] == 0)
        if size >= self.k:
            return missing[:0]
        weights, room, needed = self._weights[missing], self._room(chosen), self._least - size
        if needed <= 1:
            return missing[weights <= room]
        lightest = np.sort(weights)[:needed]
        if lightest.size < needed:
            return missing[:0]
        # With one of the lightest, the others are needed besides; with a heavier one, all but the last.
        others = lightest.sum() - np.minimum(weights, lightest[-1])
        return np.asarray(missing[weights + others <= room])

    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        path = self._choices_in(leaf)
        return (*path, END) if self._fitting(leaf).size else path

    def parents(self, state: Partial | Subset) -> list[tuple[Partial, Any]]:
        chosen = self._chosen(state)
        if not isinstance(state, Partial) and self._fitting(chosen).size:
            return [(Partial(None, chosen), END)]
        return [(Partial(None, before), choice) for before, choice in self._before(chosen)]

    def validate(self, state: Partial | Subset) -> None:
        super().validate(state)
        if self._room(self._chosen(state)) < 0.0:
            raise ProblemError(
                f"{self.items(state)} is not a subset of this problem: it exceeds the capacity"
            )

    def inclusion(self, states: Sequence[Partial | Subset]) -> FloatArray:
        """Estimated probability that random play includes each feature, shape ``(states, n)``."""
        rows = np.zeros((len(states), self.n))
        for row, state in zip(rows, states, strict=True):
            chosen = self._chosen(state)
            if isinstance(state, Partial):
                fitting = self._fitting(chosen)
                share = self._share(chosen, fitting)
                for number in fitting.tolist():
                    row[self._numbers(self._members[number])] = share
            row[self._numbers(chosen)] = 1.0
        return rows

    def _share(self, chosen: Subset, fitting: IntArray) -> float:
        """Estimated probability that random play adds a choice that fits."""
        by_weight = self._room(chosen) / max(float(self._weights[fitting].sum()), 1e-300)
        by_number = (self.depth - self._made(chosen)) / max(fitting.size, 1)
        return min(1.0, by_weight, by_number)

    def codes(self, states: Sequence[Partial | Subset]) -> IntArray:
        """1 for choices that are made, 0 for those that cannot be or are not, −1 where it is open."""
        rows = super().codes(states)
        for row, state in zip(rows, states, strict=True):
            if isinstance(state, Partial):
                row[row < 0] = 0
                row[self._fitting(state.chosen)] = -1
        return rows

    def _addable(self, codes: IntArray, drop: IntArray) -> tuple[IntArray, IntArray]:
        outside = np.flatnonzero(codes != 1)
        outside = outside[np.argsort(self._weights[outside], kind="stable")]
        room = self._room(self.leaf_of(codes)) + np.append(self._weights, 0.0)[drop]
        return outside, np.searchsorted(self._weights[outside], room, side="right")
