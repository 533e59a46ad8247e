"""Choose k of n."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import is_whole
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Inclusion

Subset = frozenset[int]
Choice = int | tuple[int, ...]


class Features(Sequence[int]):
    """Features as actions: a sequence of numbers that is also at hand as an array."""

    def __init__(self, array: IntArray) -> None:
        self.array = array

    def __len__(self) -> int:
        return int(self.array.size)

    def __getitem__(self, index: Any) -> Any:
        return self.array[index].tolist()

    def __iter__(self) -> Iterator[int]:
        return iter(self.array.tolist())

    def __contains__(self, feature: object) -> bool:
        return bool(np.any(self.array == feature))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


class Rest(Features):
    """Features that are not chosen yet, ascending; the array is made only if somebody asks for it.

    Parameters
    ----------
    features : array of int
        All that can be chosen, ascending.
    taken : iterable of int
        Places in it of those that are.
    """

    def __init__(self, features: IntArray, taken: Iterable[int]) -> None:
        self._features, self._taken = features, sorted(taken)

    @cached_property
    def array(self) -> IntArray:  # type: ignore[override]
        """All of them."""
        keep = np.ones(self._features.size, dtype=np.bool_)
        keep[self._taken] = False
        return self._features[keep]

    def __len__(self) -> int:
        return int(self._features.size) - len(self._taken)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return self.array[index].tolist()
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"there are {len(self)} features left, not {index}")
        for taken in self._taken:
            if taken > place:
                break
            place += 1
        return self._features.item(place)


class Subsets:
    """Find the best subset: ``k`` of ``n`` features, sensors, pixels, …

    A state is the frozenset of what is chosen so far, a leaf one with ``k`` choices. The order of choices
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
        Features that belong to none.
    groups : iterable of iterables of int
        Features that enter together. Groups must not overlap; a group with a fixed member is fixed, one
        with a forbidden member forbidden.
    positions : array, shape ``(n, dimensions)``, optional
        Where each feature is, if it has a place: a pixel's row and column, a sensor's coordinates. Near ones
        are then taken to be alike by :func:`dagsearch.search`.

    Examples
    --------
    >>> problem = Subsets(5, 2, reward=sum, forbidden=[4])
    >>> problem.actions(frozenset({3}))
    [0, 1, 2]
    >>> problem.step(frozenset({3}), 2)
    frozenset({2, 3})
    """

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
        if not is_whole(n) or n < 1:
            raise ValueError(f"n must be a whole number of at least 1, got {n!r}")
        if not is_whole(k):
            raise ValueError(f"k must be a whole number, got {k!r}")
        self.n, self.k, self._reward = int(n), int(k), reward
        fixed, forbidden = self._known("fixed", fixed), self._known("forbidden", forbidden)
        choices = self._choices([self._known("groups", group) for group in groups])
        held = {choice for choice, members in choices.items() if members & fixed}
        banned = {choice for choice, members in choices.items() if members & forbidden}
        if held & banned:
            both = sorted(set().union(*(choices[choice] for choice in held & banned)))
            raise ValueError(f"features {both} are both fixed and forbidden, directly or by group")
        self._root: Subset = frozenset().union(*(choices[choice] for choice in held))
        self._free = {c: members for c, members in choices.items() if c not in held | banned}
        self.depth = self._most = self.k - len(held)
        if not 0 <= self.depth <= len(self._free) or self.k < 1:
            raise ValueError(
                f"k must be at least 1 and between {len(held)} (the fixed choices) and "
                f"{len(held) + len(self._free)} (all that are not forbidden), got {k!r}"
            )
        self.positions = None if positions is None else np.asarray(positions, dtype=np.float64)
        if self.positions is not None and (self.positions.ndim != 2 or len(self.positions) != self.n):
            raise ValueError(f"positions must have shape ({n}, dimensions), got {self.positions.shape}")
        self._choosable = sorted(frozenset().union(*self._free.values()))
        # Where every choice is one feature, sets say directly how many choices they hold.
        self._single = all(len(members) == 1 for members in self._free.values())
        self._place = {feature: place for place, feature in enumerate(self._choosable)}
        self._choosable_array = np.array(self._choosable, dtype=np.int64)
        self._choosable_mask = np.zeros(self.n, dtype=np.bool_)
        self._choosable_mask[self._choosable_array] = True

    def _known(self, name: str, features: Iterable[int]) -> Subset:
        known = frozenset(features)
        if not all(feature in range(self.n) for feature in known):
            raise ValueError(f"{name} must name features 0 to {self.n - 1}, got {sorted(known)}")
        return known

    def _choices(self, groups: Sequence[Subset]) -> dict[Choice, Subset]:
        """What can be chosen: single features as they are, groups as sorted tuples."""
        owner: dict[int, Subset] = {}
        for group in groups:
            if not group:
                raise ValueError("groups must not be empty")
            if taken := [feature for feature in sorted(group) if feature in owner]:
                raise ValueError(f"groups must not overlap, but share feature {taken[0]}")
            owner.update(dict.fromkeys(group, group))
        choices: dict[Choice, Subset] = {}
        for feature in range(self.n):
            members = owner.get(feature, frozenset({feature}))
            choices[feature if len(members) == 1 else tuple(sorted(members))] = members
        return choices

    def root(self) -> Subset:
        """What is fixed."""
        return self._root

    def actions(self, state: Subset) -> Sequence[Choice]:
        """What can still be chosen: features as numbers, groups as tuples."""
        return self._missing(state) if self._left(state) > 0 else []

    def _missing(self, chosen: Subset) -> Sequence[Choice]:
        if self._single:
            place = self._place
            return Rest(self._choosable_array, [place[feature] for feature in chosen if feature in place])
        return [choice for choice, members in self._free.items() if not members <= chosen]

    def step(self, state: Subset, action: Choice) -> Subset:
        """The subset with a choice added."""
        return state | self._free[action]

    def reward(self, leaf: Subset) -> float:
        """The user's function."""
        return self._reward(leaf)

    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        """Actions that lead to a leaf."""
        return self._path_to(leaf, range(self.k, self.k + 1))

    def _path_to(self, leaf: Subset, allowed: range) -> tuple[Any, ...]:
        self.validate(leaf)
        path = tuple(choice for choice, members in self._free.items() if members <= leaf)
        held = self.k - self._most
        if len(path) + held not in allowed:
            sizes = " to ".join(str(size) for size in sorted({allowed[0], allowed[-1]}))
            raise ProblemError(f"{sorted(leaf)} is no complete subset: that is {sizes} choices, groups whole")
        return path

    def parents(self, state: Subset) -> list[tuple[Subset, Choice]]:
        """The subsets with one choice less, and that choice."""
        return [(state - members, choice) for choice, members in self._free.items() if members <= state]

    def validate(self, state: Subset) -> None:
        """Raise unless ``state`` is a frozenset that choices can lead to."""
        chosen = state if isinstance(state, frozenset) else frozenset()
        whole = self._root.union(*(members for members in self._free.values() if members <= chosen))
        if state != whole or self._made(whole) > self._most:
            raise ProblemError(
                f"{state!r} is no subset of this problem: it must be a frozenset of features 0 to "
                f"{self.n - 1} with all that is fixed, nothing that is forbidden, groups whole, and at most "
                f"{self.k} choices"
            )

    def branching(self, level: int) -> int:
        """Number of choices that are left after ``level`` of them."""
        return len(self._free) - level

    def items(self, state: Any) -> list[int]:
        """The chosen features, ascending: how a set came about must not matter to the last digit."""
        return sorted(state)

    def inclusion(self, states: Sequence[Subset]) -> FloatArray:
        """Probability of each feature to be in the subset that random choices end with, one row per state."""
        return np.array([self._included(state, self._left(state)) for state in states]).reshape(-1, self.n)

    def _included(self, chosen: Subset, left: float) -> FloatArray:
        """Inclusion probabilities if so many choices are left, on average."""
        row = np.zeros(self.n)
        row[self._choosable_array] = left / max(len(self._free) - self._made(chosen), 1)
        row[list(chosen)] = 1.0
        return row

    def inclusion_of_children(self, states: Sequence[Subset]) -> Inclusion | None:
        """What :meth:`inclusion` is for all children of some states; ``None`` if they add no features."""
        return self._with_one_more(states, [self._left(state) - 1 for state in states])

    def _with_one_more(self, states: Sequence[Subset], left: Sequence[int]) -> Inclusion:
        """Of all subsets with one choice more, if so many are left then."""
        options = [len(self._free) - self._made(state) - 1 for state in states]
        shares = np.array([max(more, 0) / max(of, 1) for more, of in zip(left, options, strict=True)])
        common = shares[:, None] * self._choosable_mask
        places = [row * self.n + feature for row, state in enumerate(states) for feature in state]
        chosen = np.array(places, dtype=np.int64)
        common.reshape(-1)[chosen] = 1.0
        if self._single:
            missing = np.repeat(self._choosable_mask[None], len(states), axis=0)
            missing.reshape(-1)[chosen] = False
            family, item = np.divmod(np.flatnonzero(missing), self.n)
            return Inclusion(common, 1.0 - shares, family, np.arange(item.size), item, True)
        groups = [[members for members in self._free.values() if not members <= state] for state in states]
        family = np.repeat(np.arange(len(states)), [len(own) for own in groups])
        added = [members for own in groups for members in own]
        child = np.repeat(np.arange(len(added)), [len(members) for members in added])
        item = np.fromiter(chain.from_iterable(added), np.int64, child.size)
        return Inclusion(common, 1.0 - shares, family, child, item, False)

    def _made(self, chosen: Subset) -> int:
        """Number of choices in a set, beside the fixed ones."""
        if self._single:
            return len(chosen) - len(self._root)
        return sum(members <= chosen for members in self._free.values())

    def _left(self, state: Subset) -> int:
        """Number of choices that are still to be made."""
        return self.depth - self._made(state)

    def added_items(self, state: Subset, actions: Sequence[Choice]) -> list[Subset]:
        """The features each choice adds."""
        return [self._free[action] for action in actions]

    def encode(self, state: Any) -> Any:
        """The chosen features as a list, for a journal."""
        return [int(feature) for feature in sorted(state)]

    def decode(self, encoded: Any) -> Any:
        """The state that :meth:`encode` was given."""
        return frozenset(encoded)


class Size(NamedTuple):
    """The first decision of :class:`SubsetRange`: how many choices there will be."""

    choices: int


class Partial(NamedTuple):
    """An inner state of :class:`SubsetRange`."""

    choices: int | None
    """How many there will be; ``None`` as long as that is not decided."""
    chosen: Subset
    """What is chosen so far."""


class SubsetRange(Subsets):
    """Find the best subset of any size in a range: ``least`` to ``most`` of ``n``.

    The first decision is the size, so that random play tries all sizes alike. A leaf is the frozenset of what
    is chosen, as in :class:`Subsets`; an inner state is a :class:`Partial`.

    Parameters
    ----------
    n : int
        Features are numbered ``0`` to ``n - 1``.
    least, most : int
        Number of choices, fixed ones included. A group is one choice.
    reward : callable
        ``reward(subset)`` of a complete subset.
    fixed, forbidden, groups, positions
        As for :class:`Subsets`.

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
        super().__init__(n, most, reward, fixed, forbidden, groups, positions)
        held = self.k - self._most
        if not is_whole(least) or not max(held, 1) <= least <= self.k:
            raise ValueError(
                f"least must be a whole number between {max(held, 1)} (the fixed choices, and at least 1) "
                f"and {self.k} (the most), got {least!r}"
            )
        self._held = held
        self._sizes = [Size(choices) for choices in range(int(least), self.k + 1)]
        self.depth += 1

    def root(self) -> Any:
        """Nothing is decided but what is fixed."""
        return Partial(None, self._root)

    def actions(self, state: Any) -> Sequence[Any]:
        """The sizes at first, then what can still be chosen."""
        if not isinstance(state, Partial):
            return []
        return list(self._sizes) if state.choices is None else self._missing(state.chosen)

    def step(self, state: Any, action: Any) -> Any:
        """With the size decided, or a choice added."""
        if isinstance(action, Size):
            choices, chosen = action.choices, state.chosen
        else:
            choices, chosen = state.choices, state.chosen | self._free[action]
        return chosen if self._made(chosen) + self._held == choices else Partial(choices, chosen)

    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        """Actions that lead to a leaf."""
        path = self._path_to(leaf, range(self._sizes[0].choices, self.k + 1))
        return Size(len(path) + self._held), *path

    def parents(self, state: Any) -> list[tuple[Any, Any]]:
        """The states one decision before, and that decision."""
        chosen = self._chosen(state)
        choices = state.choices if isinstance(state, Partial) else self._made(chosen) + self._held
        if choices is None:
            return []
        if self._made(chosen) == 0:
            return [(self.root(), Size(choices))]
        return [(Partial(choices, before), choice) for before, choice in super().parents(chosen)]

    def validate(self, state: Any) -> None:
        """Raise unless ``state`` is one that decisions can lead to."""
        super().validate(self._chosen(state))
        if not isinstance(state, Partial) and self._made(state) + self._held < self._sizes[0].choices:
            raise ProblemError(f"{sorted(state)} is no subset of this problem: it has too few choices")

    def branching(self, level: int) -> int:
        """Number of sizes, then of choices that are left."""
        return len(self._sizes) if level == 0 else len(self._free) - (level - 1)

    def items(self, state: Any) -> list[int]:
        """The chosen features, ascending."""
        return sorted(self._chosen(state))

    def _chosen(self, state: Any) -> Subset:
        return state.chosen if isinstance(state, Partial) else state

    def added_items(self, state: Any, actions: Sequence[Any]) -> list[Subset]:
        """The features each decision adds."""
        return [frozenset() if isinstance(action, Size) else self._free[action] for action in actions]

    def inclusion(self, states: Sequence[Any]) -> FloatArray:
        """Probability of each feature to be in the subset that random choices end with, one row per state."""
        rows = [self._included(self._chosen(state), self._expected(state)) for state in states]
        return np.array(rows).reshape(-1, self.n)

    def _expected(self, state: Any) -> float:
        """Number of choices still to be made, on average."""
        if not isinstance(state, Partial):
            return 0.0
        choices = np.mean(self._sizes) if state.choices is None else state.choices
        return float(choices) - self._held - self._made(state.chosen)

    def inclusion_of_children(self, states: Sequence[Any]) -> Inclusion | None:
        """What :meth:`inclusion` is for all children of some states; ``None`` for sizes."""
        if any(state.choices is None for state in states):
            return None
        left = [int(self._expected(state)) - 1 for state in states]
        return self._with_one_more([state.chosen for state in states], left)

    def encode(self, state: Any) -> Any:
        """The chosen features as a list, for a journal; with the number of choices at an inner state."""
        if not isinstance(state, Partial):
            return super().encode(state)
        return {"choices": state.choices, "chosen": super().encode(state.chosen)}

    def decode(self, encoded: Any) -> Any:
        """The state that :meth:`encode` was given."""
        if not isinstance(encoded, dict):
            return super().decode(encoded)
        return Partial(encoded["choices"], super().decode(encoded["chosen"]))
