"""Base class of problems over subsets: the ground set, the choices that build a subset, and its codes."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import is_whole
from dagsearch._internal.order import in_order
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Layout
from dagsearch.problems.options import checked_options, checked_reward_function, digest, identified
from dagsearch.problems.rules import ChosenSet, Rules
from dagsearch.space.codes import draw_moves
from dagsearch.space.survey import Options

Subset = Any
"""A frozenset of features, which are whole numbers or the names that were given, or a ``ChosenSet``."""
Choice = Any
"""A feature, or a group of them as a tuple."""


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
    """Features ``0`` to ``n - 1`` or names, some of them fixed, forbidden or grouped; the reward of a subset.

    Subclasses decide what the decisions are. A leaf is the :class:`dagsearch.problems.ChosenSet` of the
    chosen features. Methods with a leading underscore work on frozensets of chosen features, fixed ones
    included.
    """

    depth: int
    """Number of decisions to the deepest leaf."""
    layout: Layout
    """One place per choice that is neither fixed nor forbidden: 1 if it is chosen, 0 if not."""
    _most_name = "most"

    def __init__(
        self,
        n: int | Iterable[Hashable],
        least: int,
        most: int,
        reward: Callable[[Any], float] | None,
        fixed: Iterable[Hashable],
        forbidden: Iterable[Hashable],
        groups: Iterable[Iterable[Hashable]],
        positions: ArrayLike | None,
        exclude: Iterable[Iterable[Hashable]] = (),
        require: Iterable[tuple[Hashable, Hashable]] = (),
    ) -> None:
        self.labels = self._names(n)
        """The names of the features; ``None`` if they are numbers."""
        self.n: int = len(self.labels) if self.labels is not None else int(n)  # type: ignore[arg-type]
        self._features: Sequence[Any] = range(self.n) if self.labels is None else self.labels
        self._number = {feature: number for number, feature in enumerate(self._features)}
        self._reward = checked_reward_function(reward)
        fixed, forbidden = self._known("fixed", fixed), self._known("forbidden", forbidden)
        choices = self._choices([self._group("groups", group) for group in groups])
        held = {choice for choice, members in choices.items() if members & fixed}
        banned = {choice for choice, members in choices.items() if members & forbidden}
        if held & banned:
            both = self._sorted(frozenset().union(*(choices[choice] for choice in held & banned)))
            raise ValueError(f"features {both} are both fixed and forbidden, directly or by group")
        excluded, required = self._given_rules(choices, exclude, require)
        self._apply_rules(held, banned, excluded, required)
        self._root: Subset = frozenset().union(*(choices[choice] for choice in held))
        self._held = len(held)
        self._free = {c: members for c, members in choices.items() if c not in held | banned}
        self.positions = None if positions is None else np.asarray(positions, dtype=np.float64)
        if self.positions is not None and (self.positions.ndim != 2 or len(self.positions) != self.n):
            raise ValueError(f"positions must have shape ({self.n}, dimensions), got {self.positions.shape}")
        self._set_sizes(least, most)
        self._number_choices()
        self._rules: Rules | None = None
        if excluded or required:
            self._check_possible(excluded, required)

    @staticmethod
    def _names(n: int | Iterable[Hashable]) -> Options | None:
        if isinstance(n, Iterable):
            return checked_options("names", list(n) if isinstance(n, str) else n)
        if not is_whole(n) or n < 1:
            raise ValueError(f"n must be a whole number of at least 1, or a list of names, got {n!r}")
        return None

    def _known(self, name: str, features: Iterable[Hashable]) -> Subset:
        known = frozenset([features] if isinstance(features, str) else features)
        if unknown := [feature for feature in known if feature not in self._number]:
            if self.labels is None:
                raise ValueError(f"{name} must name features 0 to {self.n - 1}, got {list(known)}")
            raise ValueError(f"{name} must hold names of features, and {unknown[0]!r} is none of them")
        return known

    def _group(self, name: str, group: Iterable[Hashable]) -> Subset:
        if isinstance(group, str) or not isinstance(group, Iterable):
            what = f"the text {group!r}" if isinstance(group, str) else repr(group)
            raise ValueError(f"{name} must hold groups of features, got {what}: pass a list of lists")
        return self._known(name, group)

    def _sorted(self, features: Subset) -> list[Any]:
        """The features in the order in which they are numbered."""
        return sorted(features) if self.labels is None else sorted(features, key=self._number.__getitem__)

    def _numbers(self, features: Subset) -> list[int]:
        """The numbers of features, ascending."""
        if self.labels is None:
            return sorted(features)
        return sorted([self._number[feature] for feature in features])

    # Rules ------------------------------------------------------------------------------------------

    def _given_rules(
        self,
        choices: Mapping[Choice, Subset],
        exclude: Iterable[Iterable[Hashable]],
        require: Iterable[tuple[Hashable, Hashable]],
    ) -> tuple[list[frozenset[Choice]], list[tuple[Choice, Choice]]]:
        """The rules as they were given, about choices instead of features."""
        owner = {feature: choice for choice, members in choices.items() for feature in members}
        excluded, required = list[frozenset[Choice]](), list[tuple[Choice, Choice]]()
        for group in exclude:
            features = self._group("exclude", group)
            excluded.append(frozenset(owner[feature] for feature in features))
            if len(features) < 2 or len(excluded[-1]) < len(features):
                raise ValueError(
                    f"exclude must hold groups of at least two features that can be chosen one by one, got "
                    f"{self._sorted(features)}"
                )
        for pair in require:
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise ValueError(f"require must hold pairs (a, b), b only with a, got {pair!r}")
            self._known("require", pair)
            if owner[pair[0]] != owner[pair[1]]:
                required.append((owner[pair[0]], owner[pair[1]]))
        return excluded, required

    def _apply_rules(
        self,
        held: set[Choice],
        banned: set[Choice],
        excluded: Sequence[frozenset[Choice]],
        required: Sequence[tuple[Choice, Choice]],
    ) -> None:
        """Add to what is fixed and forbidden what follows from the rules."""
        before = -1
        while before < len(held) + len(banned):
            before = len(held) + len(banned)
            held.update(a for a, b in required if b in held)
            for group in excluded:
                if len(group & held) > 1:
                    raise ProblemError(
                        f"exclude allows one of {_shown(group)}, but {_shown(group & held)} are fixed, or "
                        "required by what is fixed"
                    )
                banned.update(group - held if group & held else ())
            banned.update(b for a, b in required if a in banned)
            if both := held & banned:
                raise ProblemError(
                    f"{_shown(both)} cannot be fixed, or required by what is fixed: it is forbidden, or "
                    "exclude and require rule it out"
                )

    def _check_possible(
        self, excluded: Sequence[frozenset[Choice]], required: Sequence[tuple[Choice, Choice]]
    ) -> None:
        """Keep the rules between free choices; raise if no subset is left, and name the rules that do it."""
        number = {choice: place for place, choice in enumerate(self._free)}
        groups = [group & number.keys() for group in excluded]
        pairs = [pair for pair in required if number.keys() >= set(pair)]

        def rules_of(groups: Sequence[frozenset[Choice]], pairs: Sequence[tuple[Choice, Choice]]) -> Rules:
            numbered = [frozenset(number[choice] for choice in group) for group in groups if len(group) > 1]
            return Rules(len(number), numbered, [(number[a], number[b]) for a, b in pairs])

        rules = rules_of(groups, pairs)
        possible = [size for size in self.sizes if rules.can_be_completed(0, size)]
        if not possible:
            # Leave out what is not needed for that.
            for group in list(groups):
                fewer = [other for other in groups if other is not group]
                if not any(rules_of(fewer, pairs).can_be_completed(0, size) for size in self.sizes):
                    groups = fewer
            for pair in list(pairs):
                rest = [other for other in pairs if other is not pair]
                if not any(rules_of(groups, rest).can_be_completed(0, size) for size in self.sizes):
                    pairs = rest
            named = [f"exclude {_shown(group)}" for group in groups] + [f"require {pair}" for pair in pairs]
            wanted = " to ".join(str(size) for size in sorted({self._least, self.k}))
            raise ProblemError(f"no subset of {wanted} choices is left by {', '.join(named)}")
        self._rules, self._possible_sizes = rules, possible
        self.layout = self.layout._replace(free=False)
        self._rule_digest = digest(self.labels, [_shown(group) for group in excluded], required)

    def _bits(self, chosen: Subset) -> int:
        """The free choices in a set as bits, for the rules."""
        found = 0
        for number, members in enumerate(self._members):
            if members <= chosen:
                found |= 1 << number
        return found

    def _choices(self, groups: Sequence[Subset]) -> dict[Choice, Subset]:
        """Every choice with its features; a choice is a feature's number, or a group as a sorted tuple."""
        owner: dict[Any, Subset] = {}
        for group in groups:
            if not group:
                raise ValueError("groups must not be empty: leave out the empty group")
            if taken := [feature for feature in self._sorted(group) if feature in owner]:
                raise ValueError(f"groups must not overlap, but two of them have feature {taken[0]!r}")
            owner.update(dict.fromkeys(group, group))
        choices: dict[Choice, Subset] = {}
        for feature in self._features:
            members = owner.get(feature, frozenset({feature}))
            choices[feature if len(members) == 1 else tuple(self._sorted(members))] = members
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
        choosable = self._sorted(frozenset().union(*self._members))
        self._choosable = np.array([self._number[feature] for feature in choosable], dtype=np.int64)
        self._place = {feature: place for place, feature in enumerate(choosable)}
        # Place of the first feature of every choice; what is not looked at goes to a column behind the last.
        self._column = np.full(self.n, len(self._free), dtype=np.int64)
        firsts = [self._numbers(members)[0] for members in self._members]
        self._column[firsts] = np.arange(len(self._free))
        self.layout = Layout("places", np.full(len(self._free), 2, dtype=np.int64))

    @abstractmethod
    def root(self) -> Any:
        """The state with only the fixed features."""

    @abstractmethod
    def actions(self, state: Any) -> Sequence[Any]:
        """The possible decisions."""

    @abstractmethod
    def step(self, state: Any, action: Any) -> Any:
        """The state after a decision."""

    def reward(self, leaf: Any) -> float:
        """The user's function."""
        return self._reward(leaf)  # type: ignore[no-any-return]

    def leaf(self, given: Iterable[Hashable]) -> ChosenSet:
        """The complete subset that a list or set of features means; for ``tell``."""
        return ChosenSet(given)

    def identity(self) -> str:
        """The names and rules, if there are any, and what the reward says of itself; for a journal."""
        own = "" if self.labels is None else digest(self.labels)
        return identified(own if self._rules is None else self._rule_digest, self._reward)

    @abstractmethod
    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        """Actions that lead to a leaf."""

    def validate(self, state: Partial | Subset) -> None:
        """Raise :class:`ProblemError` unless decisions can lead to ``state``."""
        chosen = self._chosen(state)
        known = chosen if isinstance(chosen, frozenset) else frozenset()
        whole = self._root.union(*(members for members in self._members if members <= known))
        if chosen != whole or self._made(whole) + self._held > self.k:
            what = f"features 0 to {self.n - 1}" if self.labels is None else f"some of {list(self.labels)}"
            raise ProblemError(
                f"{chosen!r} is not a subset of this problem: it must be a set of {what} "
                "with all that is fixed, nothing that is forbidden, groups whole, and at most "
                f"{self.k} choices"
            )
        if not self._is_open(state) and self._made(chosen) + self._held < self._least:
            raise ProblemError(
                f"{self._sorted(chosen)} is not a subset of this problem: it has too few choices"
            )
        if self._rules is not None and not self._is_possible(state):
            raise ProblemError(
                f"{self._sorted(chosen)} is not a subset of this problem: exclude and require do not allow it"
            )

    def _is_possible(self, state: Partial | Subset) -> bool:
        """Whether the rules allow a complete subset, or one with the choices that were made."""
        assert self._rules is not None
        bits = self._bits(self._chosen(state))
        if not self._is_open(state):
            return self._rules.closed(bits) == bits
        sizes = [state.choices - self._held] if isinstance(state, Partial) and state.choices else self.sizes
        return any(self._rules.can_be_completed(bits, size - bits.bit_count()) for size in sizes)

    def items(self, state: Partial | Subset) -> list[Any]:
        """The chosen features, ascending, so that rounding does not depend on the order of choices."""
        return self._sorted(self._chosen(state))

    @property
    def choices(self) -> Mapping[Choice, Subset]:
        """The choices that are neither fixed nor forbidden, each with the numbers of its features."""
        if self.labels is None:
            return self._free
        return {choice: frozenset(self._numbers(members)) for choice, members in self._free.items()}

    @property
    def sizes(self) -> range:
        """The numbers of choices that a leaf can have, without the fixed ones."""
        return range(self._least - self._held, self.k - self._held + 1)

    # Sets of chosen features ------------------------------------------------------------------------

    def _chosen(self, state: Partial | Subset) -> Subset:
        if isinstance(state, Partial):
            return state.chosen
        return state.members if isinstance(state, ChosenSet) else state

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
        if self._single and self.labels is None:
            place = self._place
            return Unchosen(self._choosable, [place[feature] for feature in chosen if feature in place])
        return [choice for choice, members in self._free.items() if not members <= chosen]

    def _before(self, chosen: Subset) -> list[tuple[Subset, Choice]]:
        """The sets with one choice less, and that choice."""
        return [(chosen - members, choice) for choice, members in self._free.items() if members <= chosen]

    def _choices_in(self, leaf: Subset) -> tuple[Choice, ...]:
        """The choices that make up a complete set."""
        self.validate(leaf)
        leaf = self._chosen(leaf)
        found = tuple(choice for choice, members in self._free.items() if members <= leaf)
        if len(found) not in self.sizes:
            wanted = " to ".join(str(size) for size in sorted({self._least, self.k}))
            raise ProblemError(
                f"{self._sorted(leaf)} is not a complete subset: that has {wanted} choices, and groups are "
                "whole"
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
        every = chain.from_iterable(sets)
        numbers = every if self.labels is None else map(self._number.__getitem__, every)
        features = np.fromiter(numbers, np.int64, sum(sizes))
        rows[np.repeat(np.arange(len(sets)), sizes), self._column[features]] = 1
        return rows[:, :-1]

    def leaf_of(self, codes: IntArray) -> ChosenSet:
        """The subset with these choices."""
        if self._single and self.labels is None:
            return ChosenSet(self._root.union(self._choosable[codes == 1].tolist()))
        return ChosenSet(self._root.union(*(self._members[place] for place in np.flatnonzero(codes == 1))))

    def neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of subsets with one choice added, dropped, or exchanged for another, each once.

        All of them, or ``count`` at random.
        """
        if self._rules is not None:
            return self._rules.neighbours(codes, self.sizes, count, rng)
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
        """The numbers of the features as a list, for a journal; at an inner state with that of choices."""
        chosen = [int(number) for number in self._numbers(self._chosen(state))]
        return {"choices": state.choices, "chosen": chosen} if isinstance(state, Partial) else chosen

    def decode(self, encoded: Any) -> Any:
        """The state that :meth:`encode` was given."""
        is_inner = isinstance(encoded, dict)
        chosen = frozenset(self._features[number] for number in (encoded["chosen"] if is_inner else encoded))
        if is_inner:
            return Partial(encoded["choices"], chosen)
        return chosen if self._is_open(chosen) else ChosenSet(chosen)


def _shown(group: Iterable[Choice]) -> str:
    """Choices in an error."""
    return f"({', '.join(map(repr, in_order(frozenset(group))))})"
