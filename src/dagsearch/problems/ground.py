"""Base class of problems over subsets: the ground set, the choices that build a subset, and its codes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import is_whole
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Layout
from dagsearch.problems.options import identified
from dagsearch.space.codes import draw_moves

Subset = frozenset[int]
Choice = int | tuple[int, ...]


class Partial(NamedTuple):
    """An inner state of a problem whose subsets have several sizes."""

    choices: int | None
    """Number of choices, fixed ones included; ``None`` where it is not decided."""
    chosen: Subset
    """The features chosen so far."""


class Unchosen(Sequence[int]):
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
        left = np.ones(self._features.size, dtype=np.bool_)
        left[self._taken] = False
        return self._features[left]

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

    def index(self, value: Any, *between: int) -> int:
        """The first place of a feature."""
        return int(self.array.tolist().index(value, *between))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self))


class SubsetProblem(ABC):
    """Features ``0`` to ``n - 1``, some of them fixed, forbidden or grouped, and the reward of a subset.

    Subclasses decide what the decisions are. A leaf is the frozenset of the chosen features. Methods with a
    leading underscore work on frozensets of chosen features, fixed ones included.
    """

    depth: int
    """Number of decisions to the deepest leaf."""
    _most_name = "most"

    def __init__(
        self,
        n: int,
        least: int,
        most: int,
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
        self._set_sizes(least, most)
        self._number_choices()

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

    def _set_sizes(self, least: int, most: int) -> None:
        lowest, highest = max(self._held, 1), self._held + len(self._free)
        if not is_whole(most) or not lowest <= most <= highest:
            raise ValueError(
                f"{self._most_name} must be a whole number between {lowest} (1, or the number of fixed "
                f"choices) and {highest} (the number of choices that are not forbidden), got {most!r}"
            )
        if not is_whole(least) or not self._held <= least <= most:
            raise ValueError(
                f"least must be a whole number between {self._held} (the number of fixed choices) "
                f"and most={most}, got {least!r}"
            )
        self._least, self.k = int(least), int(most)
        """Smallest and largest number of choices, fixed ones included."""

    def _number_choices(self) -> None:
        """Give every free choice a place in the codes."""
        self._members = list(self._free.values())
        # If every choice is one feature, the size of a set is its number of choices.
        self._single = all(len(members) == 1 for members in self._members)
        choosable = sorted(frozenset().union(*self._members))
        self._choosable = np.array(choosable, dtype=np.int64)
        self._place = {feature: place for place, feature in enumerate(choosable)}
        # Place of the first feature of every choice; what is not looked at goes to a column behind the last.
        self._column = np.full(self.n, len(self._free), dtype=np.int64)
        self._column[[min(members) for members in self._members]] = np.arange(len(self._free))
        self.layout = Layout("places", np.full(len(self._free), 2, dtype=np.int64))
        """One place per choice that is neither fixed nor forbidden: 1 if it is chosen, 0 if not."""

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

    def validate(self, state: Partial | Subset) -> None:
        """Raise :class:`ProblemError` unless decisions can lead to ``state``."""
        chosen = self._chosen(state)
        known = chosen if isinstance(chosen, frozenset) else frozenset()
        whole = self._root.union(*(members for members in self._members if members <= known))
        if chosen != whole or self._made(whole) + self._held > self.k:
            raise ProblemError(
                f"{chosen!r} is not a subset of this problem: it must be a frozenset of features 0 to "
                f"{self.n - 1} with all that is fixed, nothing that is forbidden, groups whole, and at most "
                f"{self.k} choices"
            )
        if not self._is_open(state) and self._made(chosen) + self._held < self._least:
            raise ProblemError(f"{sorted(chosen)} is not a subset of this problem: it has too few choices")

    def items(self, state: Partial | Subset) -> list[int]:
        """The chosen features, ascending, so that rounding does not depend on the order of choices."""
        return sorted(self._chosen(state))

    @property
    def choices(self) -> Mapping[Choice, Subset]:
        """The choices that are neither fixed nor forbidden, each with its features."""
        return self._free

    @property
    def sizes(self) -> range:
        """The numbers of choices that a leaf can have, without the fixed ones."""
        return range(self._least - self._held, self.k - self._held + 1)

    # Sets of chosen features ------------------------------------------------------------------------

    def _chosen(self, state: Partial | Subset) -> Subset:
        return state.chosen if isinstance(state, Partial) else state

    def _is_open(self, state: Partial | Subset) -> bool:
        """Whether there are decisions left."""
        return isinstance(state, Partial)

    def _made(self, chosen: Subset) -> int:
        """Number of choices in a set, without the fixed ones."""
        if self._single:
            return len(chosen) - len(self._root)
        return sum(members <= chosen for members in self._members)

    def _missing(self, chosen: Subset) -> Sequence[Choice]:
        """The choices that are not made yet."""
        if self._single:
            place = self._place
            return Unchosen(self._choosable, [place[feature] for feature in chosen if feature in place])
        return [choice for choice, members in self._free.items() if not members <= chosen]

    def _before(self, chosen: Subset) -> list[tuple[Subset, Choice]]:
        """The sets with one choice less, and that choice."""
        return [(chosen - members, choice) for choice, members in self._free.items() if members <= chosen]

    def _choices_in(self, leaf: Subset) -> tuple[Choice, ...]:
        """The choices that make up a complete set."""
        self.validate(leaf)
        found = tuple(choice for choice, members in self._free.items() if members <= leaf)
        if len(found) not in self.sizes:
            wanted = " to ".join(str(size) for size in sorted({self._least, self.k}))
            raise ProblemError(
                f"{sorted(leaf)} is not a complete subset: that has {wanted} choices, and groups are whole"
            )
        return found

    # Arrays -----------------------------------------------------------------------------------------

    @abstractmethod
    def inclusion(self, states: Sequence[Any]) -> FloatArray:
        """Probability that random play from each state includes each feature, shape ``(states, n)``."""

    def codes(self, states: Sequence[Partial | Subset]) -> IntArray:
        """1 for choices that are made, 0 for those that are not, −1 where it is open; by state and choice."""
        sets = [self._chosen(state) for state in states]
        rows = np.zeros((len(states), len(self._free) + 1), dtype=np.int64)
        rows[[self._is_open(state) for state in states]] = -1
        sizes = [len(chosen) for chosen in sets]
        features = np.fromiter(chain.from_iterable(sets), np.int64, sum(sizes))
        rows[np.repeat(np.arange(len(sets)), sizes), self._column[features]] = 1
        return rows[:, :-1]

    def leaf_of(self, codes: IntArray) -> Subset:
        """The subset with these choices."""
        if self._single:
            return self._root.union(self._choosable[codes == 1].tolist())
        return self._root.union(*(self._members[place] for place in np.flatnonzero(codes == 1)))

    def neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of subsets with one choice added, dropped, or exchanged for another, each once.

        All of them, or ``count`` at random.
        """
        inside = np.flatnonzero(codes == 1)
        drop = np.append(inside, -1)  # −1 for nothing
        outside, fitting = self._addable(codes, drop)
        size = inside.size + self._held
        if size >= self.k:
            fitting[-1] = 0
        # A choice may also be dropped alone: the move behind those that exchange it.
        alone = np.append(np.full(inside.size, size > self._least), False)
        dropped, added = draw_moves(fitting + alone, count, rng)
        add = np.append(outside, -1)[np.where(added < fitting[dropped], added, -1)]
        rows = np.tile(np.append(codes, 0), (added.size, 1))
        rows[np.arange(added.size), drop[dropped]] = 0
        rows[np.arange(added.size), add] = 1
        return rows[:, :-1]

    def _addable(self, codes: IntArray, drop: IntArray) -> tuple[IntArray, IntArray]:
        """The choices that are not made, and how many of the first fit if each of some is dropped."""
        outside = np.flatnonzero(codes != 1)
        return outside, np.full(drop.size, outside.size)

    # For a journal -------------------------------------------------------------------------------------

    def encode(self, state: Partial | Subset) -> Any:
        """The chosen features as a list, for a journal; with the number of choices at an inner state."""
        chosen = [int(feature) for feature in sorted(self._chosen(state))]
        return {"choices": state.choices, "chosen": chosen} if isinstance(state, Partial) else chosen

    def decode(self, encoded: Any) -> Partial | Subset:
        """The state that :meth:`encode` was given."""
        if isinstance(encoded, dict):
            return Partial(encoded["choices"], frozenset(encoded["chosen"]))
        return frozenset(encoded)
