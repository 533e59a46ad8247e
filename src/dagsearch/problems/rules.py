"""Subsets as leaves, and the rules by which choices exclude or require each other.

Whether some choices can be completed to a subset of a given size is in general as hard as to find an
independent set of that size in a graph. It is decided exactly: by counting where there are enough choices
without rules or where groups do not overlap, else by a search with bounds.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property
from typing import Any

import numpy as np

from dagsearch._internal.order import in_order
from dagsearch._internal.typing import BoolArray, IntArray
from dagsearch.space.codes import draw_moves

# Number of tries to find a neighbour by several changes where no single one is possible.
_TRIES = 32


class ChosenSet(tuple[Any, ...]):
    """A complete subset: equal to every set with the same members, and like one in all else.

    Members are in ascending order, by which JSON writes them as a list.

    Examples
    --------
    >>> leaf = ChosenSet({"height", "age"})
    >>> leaf, list(leaf), leaf == {"age", "height"}, "age" in leaf, len(leaf & {"age"})
    ({'age', 'height'}, ['age', 'height'], True, True, 1)
    """

    members: frozenset[Any]
    """The same as a frozenset."""

    def __new__(cls, members: Iterable[Any] = ()) -> "ChosenSet":
        found = frozenset(members)
        made = super().__new__(cls, in_order(found))
        made.members = found
        return made

    def __eq__(self, other: object) -> bool:
        return bool(self.members == _as_set(other))

    def __ne__(self, other: object) -> bool:
        return bool(self.members != _as_set(other))

    def __hash__(self) -> int:
        return hash(self.members)

    def __reduce__(self) -> tuple[type["ChosenSet"], tuple[Any, ...]]:
        return ChosenSet, (tuple(self),)

    def __repr__(self) -> str:
        return f"{{{', '.join(map(repr, self))}}}" if self else "set()"

    def __contains__(self, member: object) -> bool:
        return member in self.members

    def __and__(self, other: Any) -> frozenset[Any]:
        return self.members & frozenset(_as_set(other))

    def __or__(self, other: Any) -> frozenset[Any]:
        return self.members | frozenset(_as_set(other))

    def __xor__(self, other: Any) -> frozenset[Any]:
        return self.members ^ frozenset(_as_set(other))

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __sub__(self, other: Any) -> frozenset[Any]:
        return self.members - frozenset(_as_set(other))

    def __rsub__(self, other: Any) -> frozenset[Any]:
        return frozenset(other) - self.members

    def __le__(self, other: Any) -> bool:
        return bool(self.members <= _as_set(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.members < _as_set(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.members >= _as_set(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.members > _as_set(other))

    def __getattr__(self, name: str) -> Any:
        # The other methods of sets: union, issubset, isdisjoint, …
        if name.startswith("_") or name == "members":
            raise AttributeError(name)
        return getattr(self.members, name)


Set.register(ChosenSet)


def _as_set(other: Any) -> Any:
    return other.members if isinstance(other, ChosenSet) else other


class Rules:
    """Which choices exclude each other, and which require others; sets of choices are bits of an integer.

    Parameters
    ----------
    count : int
        Number of choices.
    exclude : sequence of sets of int
        Choices of which at most one may be made.
    require : sequence of pairs of int
        Choices ``(a, b)`` such that ``b`` is made only with ``a``.
    """

    def __init__(
        self, count: int, exclude: Sequence[frozenset[int]], require: Sequence[tuple[int, int]]
    ) -> None:
        self.count, self._all = count, (1 << count) - 1
        self._groups = [_bits(group) for group in exclude]
        self._closure = [1 << choice for choice in range(count)]
        changed = True
        while changed:
            before = list(self._closure)
            for first, second in require:
                self._closure[second] |= self._closure[first]
            changed = before != self._closure
        self._rivals = [0] * count
        for group in self._groups:
            for choice in _numbers(group):
                self._rivals[choice] |= group & ~(1 << choice)
        self._has_rivals = _bits(c for c in range(count) if self._rivals[c])
        self._simple = _bits(c for c in range(count) if self._closure[c] == 1 << c)
        self._loose = self._simple & ~self._has_rivals
        self._needs_nothing = self._simple == self._all

    def closed(self, made: int) -> int | None:
        """The choices with all that they require; ``None`` if some of these exclude each other."""
        found = made
        for choice in _numbers(made):
            found |= self._closure[choice]
        return None if any((found & group).bit_count() > 1 for group in self._groups) else found

    def can_be_completed(self, made: int, more: int, banned: int = 0) -> bool:
        """Whether ``more`` choices can be added to some, none of them banned, so that all rules hold."""
        closed = self.closed(made)
        if closed is None or closed & ~made & banned:
            return False
        more -= (closed & ~made).bit_count()
        return more >= 0 and self._extends(closed, more, banned | self._excluded_by(closed))

    def _excluded_by(self, made: int) -> int:
        """The choices that some exclude."""
        excluded = 0
        for choice in _numbers(made & self._has_rivals):
            excluded |= self._rivals[choice]
        return excluded

    def _extends(self, made: int, more: int, excluded: int) -> bool:
        """Whether ``more`` choices can be added to some that have all they require; ``excluded`` cannot."""
        left = self._all & ~made & ~excluded
        if more == 0 or self._first_fit(left & self._simple, more):
            return True
        while True:
            if not self._needs_nothing:
                left = _bits(c for c in _numbers(left) if self._fits(c, made, left, more))
            if self._most(left) < more:
                return False
            choice = (left & -left).bit_length() - 1
            added = self._closure[choice] & ~made
            beside = self._all & ~made & ~left | self._excluded_by(added)
            if self._extends(made | added, more - added.bit_count(), beside):
                return True
            left &= ~(1 << choice)

    def _first_fit(self, left: int, more: int) -> bool:
        """Whether so many choices are found that do not exclude each other by taking the first one each time.

        They require nothing, so that the rest of the rules holds, too.
        """
        if (left & self._loose).bit_count() >= more:
            return True
        while left and more > 0:
            first = left & -left
            left &= ~(first | self._rivals[first.bit_length() - 1])
            more -= 1
        return more == 0

    def _fits(self, choice: int, made: int, left: int, more: int) -> bool:
        """Whether what a choice requires is still possible together."""
        added = self._closure[choice] & ~made
        fits = not added & ~left and added.bit_count() <= more
        return fits and all((added & group).bit_count() <= 1 for group in self._groups)

    def _most(self, left: int) -> int:
        """An upper bound of the number of choices that do not exclude each other."""
        most = 0
        for group in self._groups:
            if left & group:
                most, left = most + 1, left & ~group
        return most + left.bit_count()

    def offered(self, made: int, left: int) -> list[int]:
        """The choices that can be the next one if ``left`` are still to be made, which is possible."""
        closed, found = self.closed(made), list[int]()
        assert closed is not None
        excluded, more = self._excluded_by(closed), left - (closed & ~made).bit_count()
        for choice in _numbers(self._all & ~made):
            added = self._closure[choice] & ~closed
            # What is required by choices that were made has to be chosen anyway.
            if added and not self._can_be_added(closed, added, more, excluded):
                continue
            found.append(choice)
        return found

    def _can_be_added(self, closed: int, added: int, more: int, excluded: int) -> bool:
        rivals = self._excluded_by(added)
        if added & (excluded | rivals) or added.bit_count() > more:
            return False
        return self._extends(closed | added, more - added.bit_count(), excluded | rivals)

    def subsets(self, made: int, more: int, banned: int = 0) -> Iterator[list[int]]:
        """All ways to add ``more`` choices that are not banned, each as a list in ascending order."""
        if more == 0:
            if self.closed(made) == made:
                yield []
            return
        for choice in _numbers(self._all & ~made & ~banned):
            after = made | 1 << choice
            if self.can_be_completed(after, more - 1, banned):
                for others in self.subsets(after, more - 1, banned):
                    yield [choice, *others]
            banned |= 1 << choice

    # Arrays -------------------------------------------------------------------------------------------

    def neighbours(self, codes: IntArray, sizes: range, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of subsets with one choice added, dropped or exchanged, each once; at most ``count``."""
        inside, outside = np.flatnonzero(codes == 1), np.flatnonzero(codes != 1)
        rivals, required = self._matrices
        # Rows: what is dropped, last nothing. Columns: what is added, last nothing.
        excluding, dependent = rivals[np.ix_(inside, outside)], required[np.ix_(inside, outside)]
        missing = required[np.ix_(outside, outside)].sum(axis=0) > 0
        exchange = (excluding.sum(axis=0) - excluding == 0) & ~missing & ~dependent
        held = required[np.ix_(inside, inside)].any(axis=1, keepdims=True)
        alone = np.full((inside.size, 1), inside.size - 1 in sizes)
        add = ~excluding.any(axis=0, keepdims=True) & ~missing & (inside.size + 1 in sizes)
        possible = np.block([[exchange & ~held, alone & ~held], [add, np.zeros((1, 1), dtype=np.bool_)]])
        moves = np.flatnonzero(possible)
        if moves.size == 0:
            return self._jumps(codes, sizes, count, rng)
        dropped, added = np.divmod(moves[draw_moves([moves.size], count, rng)[1]], outside.size + 1)
        rows = np.tile(np.append(codes, 0), (added.size, 1))
        rows[np.arange(added.size), np.append(inside, -1)[dropped]] = 0
        rows[np.arange(added.size), np.append(outside, -1)[added]] = 1
        return rows[:, :-1]

    @cached_property
    def _matrices(self) -> tuple[BoolArray, BoolArray]:
        """Whether one choice excludes another, and whether one is required by another."""
        rivals, required = np.zeros((2, self.count, self.count), dtype=np.bool_)
        for choice in range(self.count):
            rivals[choice, _numbers(self._rivals[choice])] = True
            required[_numbers(self._closure[choice] & ~(1 << choice)), choice] = True
        return rivals, required

    def _jumps(self, codes: IntArray, sizes: range, count: int, rng: np.random.Generator) -> IntArray:
        """Subsets with a choice added together with all it requires, and others dropped at random."""
        own, found = _bits(np.flatnonzero(codes == 1).tolist()), set[int]()
        for _ in range(min(_TRIES, count)):
            kept = self._closure[int(rng.integers(self.count))]
            size = int(rng.integers(sizes.start, sizes.stop))
            for choice in rng.permutation(_numbers(own)).tolist():
                larger = self.closed(kept | self._closure[choice])
                if larger is not None and self.can_be_completed(larger, size - larger.bit_count()):
                    kept = larger
            ways = self.subsets(kept, size - kept.bit_count()) if self.closed(kept) is not None else iter(())
            found.update(kept | _bits(added) for added in [next(ways, None)] if added is not None)
        rows = np.zeros((len(found - {own}), self.count), dtype=np.int64)
        for row, chosen in zip(rows, sorted(found - {own}), strict=True):
            row[_numbers(chosen)] = 1
        return rows


def _bits(choices: Iterable[int]) -> int:
    found = 0
    for choice in choices:
        found |= 1 << choice
    return found


def _numbers(bits: int) -> list[int]:
    """The numbers of the bits that are set, ascending."""
    found = []
    while bits:
        lowest = bits & -bits
        found.append(lowest.bit_length() - 1)
        bits ^= lowest
    return found
