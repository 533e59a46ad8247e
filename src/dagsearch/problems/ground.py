"""Base class of problems over subsets: the ground set, and the choices that build a subset of it."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import is_whole
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Inclusion
from dagsearch.problems.options import identified

Subset = frozenset[int]
Choice = int | tuple[int, ...]


class Remaining(Sequence[int]):
    """Features that are not chosen yet, ascending; they become an array only when needed.

    Parameters
    ----------
    features : array of int
        All features that can be chosen, ascending.
    taken : iterable of int
        Indices in ``features`` of those that are chosen.
    """

    def __init__(self, features: IntArray, taken: Iterable[int]) -> None:
        self._features, self._taken = features, sorted(taken)

    @cached_property
    def array(self) -> IntArray:
        """The features as an array."""
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
            raise IndexError(f"index {index} is out of range: {len(self)} features are left")
        for taken in self._taken:
            if taken > place:
                break
            place += 1
        return self._features.item(place)

    def __iter__(self) -> Iterator[int]:
        return iter(self.array.tolist())

    def __contains__(self, feature: object) -> bool:
        return bool(np.any(self.array == feature))

    def index(self, value: Any, start: int = 0, stop: int = sys.maxsize) -> int:
        """The first place of a feature."""
        return int(self.array.tolist().index(value, start, stop))

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Remaining) and other._features is self._features:
            return self._taken == other._taken
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))


class SubsetProblem(ABC):
    """Features ``0`` to ``n - 1``, some of them fixed, forbidden or grouped, and the reward of a subset.

    Subclasses decide what a state is and which sizes are complete. Methods with a leading underscore work on
    frozensets of chosen features, fixed ones included.
    """

    k: int
    """Largest number of choices, fixed ones included."""
    depth: int
    """Number of decisions to the deepest leaf."""

    def __init__(
        self,
        n: int,
        reward: Callable[[Subset], float],
        fixed: Iterable[int],
        forbidden: Iterable[int],
        groups: Iterable[Iterable[int]],
        positions: ArrayLike | None,
    ) -> None:
        if not is_whole(n) or n < 1:
            raise ValueError(f"n must be a whole number of at least 1, got {n!r}")
        self.n, self._reward = int(n), reward
        fixed, forbidden = self._known("fixed", fixed), self._known("forbidden", forbidden)
        choices = self._choices([self._known("groups", group) for group in groups])
        held = {choice for choice, members in choices.items() if members & fixed}
        banned = {choice for choice, members in choices.items() if members & forbidden}
        if held & banned:
            both = sorted(set().union(*(choices[choice] for choice in held & banned)))
            raise ValueError(f"features {both} are both fixed and forbidden, directly or by group")
        self._root: Subset = frozenset().union(*(choices[choice] for choice in held))
        self._held = len(held)
        self._free = {c: members for c, members in choices.items() if c not in held | banned}
        self.positions = None if positions is None else np.asarray(positions, dtype=np.float64)
        if self.positions is not None and (self.positions.ndim != 2 or len(self.positions) != self.n):
            raise ValueError(f"positions must have shape ({n}, dimensions), got {self.positions.shape}")
        choosable = sorted(frozenset().union(*self._free.values()))
        # If every choice is one feature, the size of a set is its number of choices.
        self._single = all(len(members) == 1 for members in self._free.values())
        self._place = {feature: place for place, feature in enumerate(choosable)}
        self._choosable = np.array(choosable, dtype=np.int64)
        self._choosable_mask = np.zeros(self.n, dtype=np.bool_)
        self._choosable_mask[self._choosable] = True

    def _known(self, name: str, features: Iterable[int]) -> Subset:
        known = frozenset(features)
        if not all(feature in range(self.n) for feature in known):
            raise ValueError(f"{name} must name features 0 to {self.n - 1}, got {sorted(known)}")
        return known

    def _choices(self, groups: Sequence[Subset]) -> dict[Choice, Subset]:
        """Every choice with its features; a choice is a feature's number, or a group as a sorted tuple."""
        owner: dict[int, Subset] = {}
        for group in groups:
            if not group:
                raise ValueError("groups must not be empty: leave out the empty group")
            if taken := [feature for feature in sorted(group) if feature in owner]:
                raise ValueError(f"groups must not overlap, but two of them have feature {taken[0]}")
            owner.update(dict.fromkeys(group, group))
        choices: dict[Choice, Subset] = {}
        for feature in range(self.n):
            members = owner.get(feature, frozenset({feature}))
            choices[feature if len(members) == 1 else tuple(sorted(members))] = members
        return choices

    def _checked_size(self, name: str, size: int) -> int:
        """``size``; raises unless a subset can have that number of choices."""
        least, most = max(self._held, 1), self._held + len(self._free)
        if not is_whole(size) or not least <= size <= most:
            raise ValueError(
                f"{name} must be a whole number between {least} (1, or the number of fixed choices) and "
                f"{most} (the number of choices that are not forbidden), got {size!r}"
            )
        return int(size)

    @abstractmethod
    def root(self) -> Any:
        """The state with only the fixed features."""

    @abstractmethod
    def actions(self, state: Any) -> Sequence[Any]:
        """The possible decisions."""

    @abstractmethod
    def step(self, state: Any, action: Any) -> Any:
        """The state after a decision."""

    def reward(self, leaf: Subset) -> float:
        """The user's function."""
        return self._reward(leaf)

    def identity(self) -> str:
        """What the reward says of itself, for a journal."""
        return identified("", self._reward)

    @abstractmethod
    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        """Actions that lead to a leaf."""

    @abstractmethod
    def items(self, state: Any) -> list[int]:
        """The chosen features, ascending, so that rounding does not depend on the order of choices."""

    @property
    def choices(self) -> Mapping[Choice, Subset]:
        """The choices that are neither fixed nor forbidden, each with its features."""
        return self._free

    @property
    @abstractmethod
    def sizes(self) -> range:
        """The numbers of choices that a leaf can have, without the fixed ones."""

    # Sets of chosen features ------------------------------------------------------------------------

    def _made(self, chosen: Subset) -> int:
        """Number of choices in a set, without the fixed ones."""
        if self._single:
            return len(chosen) - len(self._root)
        return sum(members <= chosen for members in self._free.values())

    def _missing(self, chosen: Subset) -> Sequence[Choice]:
        """The choices that are not made yet."""
        if self._single:
            place = self._place
            return Remaining(self._choosable, [place[feature] for feature in chosen if feature in place])
        return [choice for choice, members in self._free.items() if not members <= chosen]

    def _before(self, chosen: Subset) -> list[tuple[Subset, Choice]]:
        """The sets with one choice less, and that choice."""
        return [(chosen - members, choice) for choice, members in self._free.items() if members <= chosen]

    def _choices_in(self, leaf: Subset, sizes: range) -> tuple[Choice, ...]:
        """The choices that make up a complete set, whose number of choices must be in ``sizes``."""
        found = tuple(choice for choice, members in self._free.items() if members <= leaf)
        if len(found) + self._held not in sizes:
            wanted = " to ".join(str(size) for size in sorted({sizes[0], sizes[-1]}))
            raise ProblemError(
                f"{sorted(leaf)} is not a complete subset: that has {wanted} choices, and groups are whole"
            )
        return found

    def _completions(self, chosen: Subset, left: int) -> Iterator[tuple[Subset, list[Any]]]:
        """All sets with ``left`` more choices, and these choices."""
        for added in combinations(self._missing(chosen), left):
            yield chosen.union(*(self._free[choice] for choice in added)), list(added)

    def _check_set(self, chosen: Any) -> None:
        """Raise unless choices can lead to ``chosen``."""
        known = chosen if isinstance(chosen, frozenset) else frozenset()
        whole = self._root.union(*(members for members in self._free.values() if members <= known))
        if chosen != whole or self._made(whole) + self._held > self.k:
            raise ProblemError(
                f"{chosen!r} is not a subset of this problem: it must be a frozenset of features 0 to "
                f"{self.n - 1} with all that is fixed, nothing that is forbidden, groups whole, and at most "
                f"{self.k} choices"
            )

    def _included(self, chosen: Subset, left: float) -> FloatArray:
        """Inclusion probabilities if ``left`` more choices are made, on average; shape ``(n,)``."""
        row = np.zeros(self.n)
        row[self._choosable] = left / max(len(self._free) - self._made(chosen), 1)
        row[list(chosen)] = 1.0
        return row

    def _included_with_one_more(self, sets: Sequence[Subset], left: Sequence[int]) -> Inclusion:
        """Inclusion probabilities of all sets with one more choice, if ``left`` are to be made after it."""
        options = [len(self._free) - self._made(chosen) - 1 for chosen in sets]
        shares = np.array([max(more, 0) / max(of, 1) for more, of in zip(left, options, strict=True)])
        common = shares[:, None] * self._choosable_mask
        places = [row * self.n + feature for row, chosen in enumerate(sets) for feature in chosen]
        taken = np.array(places, dtype=np.int64)
        common.reshape(-1)[taken] = 1.0
        if self._single:
            missing = np.repeat(self._choosable_mask[None], len(sets), axis=0)
            missing.reshape(-1)[taken] = False
            family, item = np.divmod(np.flatnonzero(missing), self.n)
            return Inclusion(common, 1.0 - shares, family, np.arange(item.size), item, True)
        groups = [[members for members in self._free.values() if not members <= chosen] for chosen in sets]
        family = np.repeat(np.arange(len(sets)), [len(own) for own in groups])
        added = [members for own in groups for members in own]
        child = np.repeat(np.arange(len(added)), [len(members) for members in added])
        item = np.fromiter(chain.from_iterable(added), np.int64, child.size)
        return Inclusion(common, 1.0 - shares, family, child, item, False)

    @staticmethod
    def _encoded(chosen: Subset) -> list[int]:
        """Chosen features as a list that JSON can write."""
        return [int(feature) for feature in sorted(chosen)]
