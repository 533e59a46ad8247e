"""Choose any number of n, within a range."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import is_whole
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Inclusion, Layout
from dagsearch.problems.capacity import Capacity
from dagsearch.problems.ground import Choice, Subset, SubsetProblem
from dagsearch.problems.options import END

# Number of random walks that measure how many choices fit at each level.
_WALKS = 64


class Size(NamedTuple):
    """The first decision of :class:`SubsetRange`: the number of choices."""

    choices: int
    """Number of choices, fixed ones included."""


class Partial(NamedTuple):
    """An inner state of :class:`SubsetRange`."""

    choices: int | None
    """Number of choices, fixed ones included; ``None`` where it is not decided."""
    chosen: Subset
    """The features chosen so far."""


class SubsetRange(SubsetProblem):
    """Find the best subset of any size in a range: ``least`` to ``most`` of ``n``.

    The first decision is the size, so that random play tries all sizes equally often. With a capacity it is
    not: what fits is added until nothing else does, or until the decision ``END``. A leaf is the frozenset of
    what is chosen, as in :class:`dagsearch.problems.Subsets`; an inner state is a :class:`Partial`.

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
    capacity : (weights, limit), optional
        Weight of each feature, and the largest total weight. Heavier subsets do not exist: choices are
        offered only where they fit and leave room for ``least``.

    Examples
    --------
    >>> problem = SubsetRange(5, 1, 3, reward=sum)
    >>> problem.actions(problem.root())
    [Size(choices=1), Size(choices=2), Size(choices=3)]
    >>> problem.step(problem.step(problem.root(), Size(1)), 4)
    frozenset({4})
    >>> knapsack = SubsetRange(3, 0, 3, reward=sum, capacity=([4, 5, 7], 9))
    >>> knapsack.actions(knapsack.step(knapsack.root(), 0))
    [1, END]
    >>> knapsack.step(knapsack.root(), 2)
    frozenset({2})
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
        capacity: tuple[ArrayLike, float] | None = None,
    ) -> None:
        super().__init__(n, reward, fixed, forbidden, groups, positions)
        self.k = self._checked_size("most", most)
        if not is_whole(least) or not self._held <= least <= self.k:
            raise ValueError(
                f"least must be a whole number between {self._held} (the number of fixed choices) "
                f"and most={self.k}, got {least!r}"
            )
        self._least = int(least)
        self._capacity: Capacity | None = None
        self._sizes = [Size(choices) for choices in range(self._least, self.k + 1)]
        self.depth = self.k - self._held + 1
        if capacity is not None:
            self._capacity = Capacity(capacity, self.n, self._free, self._root)
            self._use_capacity(self._capacity)
        self.layout = Layout("places", np.full(len(self._free), 2, dtype=np.int64))
        """One place per choice that is neither fixed nor forbidden: 1 if it is chosen, 0 if not."""

    def _use_capacity(self, capacity: Capacity) -> None:
        self.k = min(self.k, self._held + capacity.largest(self._root))
        if self.k < max(self._least, self._held + 1):
            raise ProblemError(
                f"at most {self.k} choices fit into the capacity, but at least "
                f"{max(self._least, self._held + 1)} are to be made: raise the limit or lower least"
            )
        self.depth = self.k - self._held
        rng, walks = np.random.default_rng(0), []
        for _ in range(_WALKS):
            state, widths = self.root(), []
            while len(actions := self.actions(state)) > 0:
                widths.append(len(actions))
                state = self.step(state, actions[int(rng.integers(len(actions)))])
            walks.append(widths)
        by_level = [[widths[level] for widths in walks if len(widths) > level] for level in range(self.depth)]
        self._widths = [round(float(np.mean(widths))) if widths else 1 for widths in by_level]

    @property
    def sizes(self) -> range:
        """The numbers of choices that may be made, without the fixed ones."""
        return range(self._least - self._held, self.k - self._held + 1)

    def root(self) -> Any:
        """The state with only the fixed features; the size is not decided."""
        return Partial(None, self._root)

    def actions(self, state: Partial | Subset) -> Sequence[Any]:
        """The sizes at the root, then what can still be chosen; with a capacity, what fits, and ``END``."""
        if not isinstance(state, Partial):
            return []
        if self._capacity is not None:
            ends = self._made(state.chosen) + self._held >= self._least
            fitting = [self._choice[number] for number in self._fitting(state.chosen).tolist()]
            return [*fitting, *([END] if ends else [])]
        return list(self._sizes) if state.choices is None else self._missing(state.chosen)

    def _fitting(self, chosen: Subset) -> IntArray:
        """Numbers of the choices that fit into the capacity; none if the subset is as large as it may be."""
        size = self._made(chosen) + self._held
        if self._capacity is None or size >= self.k:
            return np.empty(0, dtype=np.int64)
        return self._capacity.fitting(chosen, self._missing_numbers(chosen), self._least - size)

    def _missing_numbers(self, chosen: Subset) -> IntArray:
        """Numbers of the choices that are not made yet."""
        if not self._single:
            left = [number for number, members in enumerate(self._free.values()) if not members <= chosen]
            return np.array(left, dtype=np.int64)
        keep = np.ones(len(self._free), dtype=np.bool_)
        keep[[self._place[feature] for feature in chosen if feature in self._place]] = False
        return np.flatnonzero(keep)

    def step(self, state: Partial, action: Any) -> Any:
        """The state with the size decided, with a choice added, or ended."""
        choices, chosen = state
        if action is END:
            return chosen
        if isinstance(action, Size):
            choices = action.choices
        else:
            chosen = chosen | self._free[action]
        if self._capacity is not None:
            return Partial(None, chosen) if self._fitting(chosen).size else chosen
        return chosen if self._made(chosen) + self._held == choices else Partial(choices, chosen)

    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        """Actions that lead to a leaf."""
        self.validate(leaf)
        path = self._choices_in(leaf, range(self._least, self.k + 1))
        if self._capacity is not None:
            return (*path, END) if self._fitting(leaf).size else path
        return Size(len(path) + self._held), *path

    def parents(self, state: Partial | Subset) -> list[tuple[Partial, Any]]:
        """The states one decision before, and that decision."""
        chosen = self._chosen(state)
        if self._capacity is not None and not isinstance(state, Partial) and self._fitting(chosen).size:
            return [(Partial(None, chosen), END)]
        choices: int | None = None
        if self._capacity is None:
            choices = state.choices if isinstance(state, Partial) else self._made(chosen) + self._held
            if choices is None:
                return []
            if self._made(chosen) == 0:
                return [(self.root(), Size(choices))]
        return [(Partial(choices, before), choice) for before, choice in self._before(chosen)]

    @property
    def leaves(self) -> Callable[[Partial | Subset], Iterator[tuple[Subset, list[Any]]]] | None:
        """All complete subsets below a state, and the decisions to each; not known with a capacity."""
        return self._leaves_below if self._capacity is None else None

    def _leaves_below(self, state: Partial | Subset) -> Iterator[tuple[Subset, list[Any]]]:
        if not isinstance(state, Partial):
            yield state, []
            return
        for choices in [size.choices for size in self._sizes] if state.choices is None else [state.choices]:
            first = [Size(choices)] if state.choices is None else []
            left = choices - self._held - self._made(state.chosen)
            for leaf, added in self._completions(state.chosen, left):
                yield leaf, [*first, *added]

    def validate(self, state: Partial | Subset) -> None:
        """Raise :class:`ProblemError` unless decisions can lead to ``state``."""
        chosen = self._chosen(state)
        self._check_set(chosen)
        if not isinstance(state, Partial) and self._made(chosen) + self._held < self._least:
            raise ProblemError(f"{sorted(state)} is not a subset of this problem: it has too few choices")
        if self._capacity is not None and self._capacity.weight(chosen) > self._capacity.limit:
            raise ProblemError(f"{sorted(chosen)} is not a subset of this problem: it exceeds the capacity")

    def branching(self, level: int) -> int:
        """Number of sizes at level 0, then of choices left; with a capacity, of actions on average."""
        if self._capacity is not None:
            return self._widths[level]
        return len(self._sizes) if level == 0 else len(self._free) - (level - 1)

    def items(self, state: Partial | Subset) -> list[int]:
        """The chosen features, ascending, so that rounding does not depend on the order of choices."""
        return sorted(self._chosen(state))

    def _chosen(self, state: Partial | Subset) -> Subset:
        return state.chosen if isinstance(state, Partial) else state

    @property
    def added_items(self) -> Callable[[Partial, Sequence[Any]], list[Subset]] | None:
        """The features that each decision adds; unknown with a capacity, where some children are leaves."""
        return self._added_by if self._capacity is None else None

    def _added_by(self, state: Partial, actions: Sequence[Any]) -> list[Subset]:
        return [frozenset() if isinstance(action, Size) else self._free[action] for action in actions]

    def inclusion(self, states: Sequence[Partial | Subset]) -> FloatArray:
        """Probability that random play from each state includes each feature, shape ``(states, n)``."""
        if self._capacity is not None:
            rows = [self._included_within(self._capacity, state) for state in states]
        else:
            rows = [self._included(self._chosen(state), self._expected(state)) for state in states]
        return np.array(rows).reshape(-1, self.n)

    def _included_within(self, capacity: Capacity, state: Partial | Subset) -> FloatArray:
        """Estimated inclusion probabilities where choices must fit, shape ``(n,)``."""
        chosen, row = self._chosen(state), np.zeros(self.n)
        if isinstance(state, Partial):
            fitting = self._fitting(chosen)
            share = capacity.share(chosen, fitting, self.k - self._held - self._made(chosen))
            if self._single:
                row[self._choosable[fitting]] = share
            else:
                for number in fitting.tolist():
                    row[list(self._members[number])] = share
        row[list(chosen)] = 1.0
        return row

    def _expected(self, state: Partial | Subset) -> float:
        """Expected number of choices that are still to be made, without a capacity."""
        if not isinstance(state, Partial):
            return 0.0
        choices = np.mean(self._sizes) if state.choices is None else state.choices
        return float(choices) - self._held - self._made(state.chosen)

    def inclusion_of_children(self, states: Sequence[Partial]) -> Inclusion | None:
        """:meth:`inclusion` of all children, as in :meth:`dagsearch.problems.Subsets.inclusion_of_children`.

        ``None`` if the size of some state is not decided: its children do not differ by added features.
        """
        if any(state.choices is None for state in states):
            return None
        left = [int(self._expected(state)) - 1 for state in states]
        return self._included_with_one_more([state.chosen for state in states], left)

    # Arrays ------------------------------------------------------------------------------------------

    def codes(self, states: Sequence[Partial | Subset]) -> IntArray:
        """1 for choices that are made, 0 for those that are not, −1 where it is open; by state and choice."""
        rows = np.zeros((len(states), self.n), dtype=np.int64)
        for row, state in zip(rows, states, strict=True):
            if isinstance(state, Partial):
                row[:] = -1 if self._capacity is None else 0
                row[self._first[self._fitting(state.chosen)]] = -1
            row[list(self._chosen(state))] = 1
        return rows[:, self._first]

    @cached_property
    def _choice(self) -> list[Choice]:
        """The choices by number."""
        return list(self._free)

    @cached_property
    def _members(self) -> list[Subset]:
        """The features of each choice."""
        return list(self._free.values())

    @cached_property
    def _first(self) -> IntArray:
        """One feature of each choice."""
        return np.array([min(members) for members in self._free.values()], dtype=np.int64)

    def leaf_of(self, codes: IntArray) -> Subset:
        """The subset with these choices."""
        return self._root.union(*(self._members[place] for place in np.flatnonzero(codes == 1)))

    def neighbours(self, codes: IntArray) -> IntArray:
        """Codes of the subsets with one choice added, dropped, or exchanged for another, each once."""
        inside, outside = np.flatnonzero(codes == 1), np.flatnonzero(codes != 1)
        drop, add = (grid.ravel() for grid in np.meshgrid(inside, outside, indexing="ij"))
        size = inside.size + self._held
        if size > self._least:
            drop, add = np.append(drop, inside), np.append(add, np.full(inside.size, -1))
        if size < self.k:
            drop, add = np.append(drop, np.full(outside.size, -1)), np.append(add, outside)
        if self._capacity is not None:
            change = np.append(self._capacity.weights, 0.0)  # the last for nothing
            weight = self._capacity.weight(self.leaf_of(codes)) + change[add] - change[drop]
            drop, add = drop[weight <= self._capacity.limit], add[weight <= self._capacity.limit]
        rows = np.tile(np.append(codes, 0), (drop.size, 1))
        rows[np.arange(drop.size), drop] = 0
        rows[np.arange(add.size), add] = 1
        return rows[:, :-1]

    # For a journal -------------------------------------------------------------------------------------

    def encode(self, state: Partial | Subset) -> Any:
        """The chosen features as a list, for a journal; with the number of choices at an inner state."""
        if not isinstance(state, Partial):
            return self._encoded(state)
        return {"choices": state.choices, "chosen": self._encoded(state.chosen)}

    def decode(self, encoded: Any) -> Partial | Subset:
        """The state that :meth:`encode` was given."""
        if not isinstance(encoded, dict):
            return frozenset(encoded)
        return Partial(encoded["choices"], frozenset(encoded["chosen"]))
