"""Find the best order of items: each placed once or several times, some of them only after others."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from typing import NamedTuple

import numpy as np

from dagsearch._internal.checks import is_whole
from dagsearch._internal.typing import BoolArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Layout
from dagsearch.problems.options import as_tuple, checked_options, digest, identified
from dagsearch.problems.sequences import Letters, TupleProblem
from dagsearch.space.codes import draw_moves, rearranged, stretches

# Up to this number of changes of an order, all are looked at; of more, a random part.
_MOST_LISTED = 1_000
# Number of changes that are drawn for each one that is wanted, because some are not possible.
_DRAWN = 8


class Orders(TupleProblem):
    """Find the best order of items, or the best ordered selection of ``length`` of them.

    A state is the tuple of the items placed so far, from first to last; an action is the item to place next.

    Parameters
    ----------
    items : sequence
        Hashable values. One that is given several times is placed as often: in a job shop, the k-th ``"a"``
        of an order is the k-th operation of job a. Orders that differ only in which copy is where are one.
    reward : callable, optional
        ``reward(order)`` of a complete order, a tuple of items. Without it, use ``ask`` and ``tell``.
    length : int, optional
        Number of items to place; by default all.
    before : iterable of pairs
        Items ``(a, b)`` such that ``b`` is placed only after ``a``; after every copy of it, if there are
        several.

    Examples
    --------
    >>> problem = Orders("abc", reward=lambda order: order.index("b"))
    >>> problem.actions(("c",))
    ('a', 'b')
    >>> problem.step(("c",), "b")
    ('c', 'b')
    >>> Orders(["paint", "dry", "dry"], before=[("paint", "dry")]).actions(())
    ('paint',)
    """

    def __init__(
        self,
        items: Iterable[Hashable],
        reward: Callable[[Letters], float] | None = None,
        length: int | None = None,
        before: Iterable[tuple[Hashable, Hashable]] = (),
    ) -> None:
        given = as_tuple("items", list(items) if isinstance(items, str) else items)
        try:
            copies = Counter(given)
        except TypeError:  # the check of different items names the one that is not hashable
            copies = Counter(checked_options("items", given))
        super().__init__("items", copies, reward)
        count = len(given)
        self.depth = count if length is None else length
        """Number of items in a complete order."""
        if not is_whole(self.depth) or not 1 <= self.depth <= count:
            raise ValueError(
                f"length must be a whole number between 1 and {count} (the number of items), got {length!r}"
            )
        self._copies = list(copies.values())
        self._repeats = count > len(self.labels)
        self._first_copy = np.cumsum(self._copies) - self._copies
        self._label_of = np.repeat(np.arange(len(self.labels)), self._copies)
        self._earlier = self._precedence(before)
        self._constrained = self._repeats or any(self._earlier)
        self._stretches = stretches(self.depth)
        self.layout = Layout("order", np.full(self.depth, count, dtype=np.int64))
        """One place per position; the category is the item's number, of each copy its own."""

    def _precedence(self, before: Iterable[tuple[Hashable, Hashable]]) -> list[set[int]]:
        """The items that must come before each one, directly or not, by their numbers."""
        direct: list[set[int]] = [set() for _ in self.labels]
        for pair in before:
            if not isinstance(pair, Sequence) or len(pair) != 2 or not set(pair) <= self._number.keys():
                raise ProblemError(f"before must hold pairs of items, such as ('a', 'b'), got {pair!r}")
            direct[self._number[pair[1]]].add(self._number[pair[0]])
        try:
            order = list(TopologicalSorter(dict(enumerate(direct))).static_order())
        except CycleError as error:
            cycle = " before ".join(repr(self.labels[number]) for number in error.args[1])
            raise ProblemError(f"before has a cycle, so that no order is possible: {cycle}") from None
        for number in order:
            direct[number] = direct[number].union(*(direct[other] for other in direct[number]))
        return direct

    def root(self) -> Letters:
        """Nothing is placed."""
        return ()

    def actions(self, state: Letters) -> tuple[Hashable, ...]:
        """The items that are not placed yet and need not wait for others."""
        if len(state) >= self.depth:
            return ()
        if self._constrained:
            return tuple([self.labels[number] for number in self._available(self._left_after(state))])
        placed = set(state)
        return tuple(item for item in self.labels if item not in placed)

    def _left_after(self, state: Letters) -> list[int]:
        """How many copies of each item are not placed yet."""
        left = self._copies.copy()
        for item in state:
            left[self._number[item]] -= 1
        return left

    def _available(self, left: Sequence[int]) -> list[int]:
        """Numbers of the items that can be placed next, given how many copies of each are left."""
        missing = {number for number, more in enumerate(left) if more > 0}
        return [number for number in sorted(missing) if missing.isdisjoint(self._earlier[number])]

    def step(self, state: Letters, action: Hashable) -> Letters:
        """The order with an item added at its end."""
        return (*state, action)

    @property
    def branching(self) -> Callable[[int], int] | None:
        """Number of items that are left after ``level`` items; ``None`` where it depends on which."""
        return None if self._constrained else lambda level: len(self.labels) - level

    def items(self, state: Letters) -> list[tuple[int, Hashable]]:
        """The items with their positions."""
        return list(enumerate(state))

    def parents(self, state: Letters) -> list[tuple[Letters, Hashable]]:
        """The order without its last item, and that item."""
        return [(state[:-1], state[-1])] if state else []

    def random_leaf(self, state: Letters, rng: np.random.Generator) -> tuple[Letters, list[Hashable]]:
        """A random completion of an order, and the items it adds."""
        more = self.depth - len(state)
        if self._constrained:
            added = self._random_items(state, more, rng)
        else:
            left = self.actions(state)
            added = [left[place] for place in rng.permutation(len(left))[:more].tolist()]
        return (*state, *added), added

    def _random_items(self, state: Letters, more: int, rng: np.random.Generator) -> list[Hashable]:
        """Items that are placed one after the other at random."""
        left, added, random = self._left_after(state), list[Hashable](), rng.random
        waits_for = [sum(left[other] > 0 for other in earlier) for earlier in self._earlier]
        open_ = [number for number, count in enumerate(left) if count > 0 and waits_for[number] == 0]
        while len(added) < more:
            place = int(random() * len(open_))
            number = open_[place]
            added.append(self.labels[number])
            left[number] -= 1
            if left[number] == 0:
                del open_[place]
                for later in self._later[number]:
                    waits_for[later] -= 1
                    if waits_for[later] == 0:
                        open_.append(later)
        return added

    @cached_property
    def _later(self) -> list[list[int]]:
        """The items that must come after each one, by their numbers."""
        return [np.flatnonzero(row).tolist() for row in self._must_precede]

    def leaf(self, given: Iterable[Hashable]) -> Letters:
        """The complete order that a list of items means; for ``tell``."""
        return tuple(given)

    def validate(self, state: Letters) -> None:
        """Raise :class:`ProblemError` unless ``state`` is a tuple of items that can be placed like this."""
        known = isinstance(state, tuple) and len(state) <= self.depth
        counts = Counter(self._number.get(item, -1) for item in state) if known else Counter([-1])
        if counts[-1] or any(count > self._copies[number] for number, count in counts.items() if number >= 0):
            what = "items" if self._repeats else "different items"
            raise ProblemError(
                f"{state!r} is not an order of this problem: it must be a tuple of at most {self.depth} "
                f"{what} of {list(self.labels)!r}" + self._in_words()
            )
        left = self._copies.copy()
        for item in state if any(self._earlier) else ():
            number = self._number[item]
            missing = [other for other in sorted(self._earlier[number]) if left[other] > 0]
            if missing:
                raise ProblemError(
                    f"{state!r} is not an order of this problem: {self.labels[missing[0]]!r} must come "
                    f"before {item!r}"
                )
            left[number] -= 1

    def _in_words(self) -> str:
        pairs = zip(self.labels, self._copies, strict=True)
        several = [f"{item!r} {count} times" for item, count in pairs if count > 1]
        return f", {', '.join(several)}" if several else ""

    # Arrays ------------------------------------------------------------------------------------------

    def codes(self, states: Sequence[Letters]) -> IntArray:
        """Number of the item at each position, −1 where none is placed yet; shape ``(states, length)``.

        Of an item with copies, the k-th one from the front has the number of the k-th copy.
        """
        labels = self._codes(states, self.depth)
        return self._of_copies(labels) if self._repeats else labels

    def _of_copies(self, labels: IntArray) -> IntArray:
        """The numbers of copies for numbers of items, −1 where there is none."""
        order = np.argsort(labels, axis=1, kind="stable")
        ordered = np.take_along_axis(labels, order, axis=1)
        place = np.arange(labels.shape[1])
        begins = np.diff(ordered, axis=1, prepend=-2) != 0
        rank = place - np.maximum.accumulate(np.where(begins, place, 0), axis=1)
        found = np.empty_like(labels)
        numbers = np.where(ordered < 0, -1, self._first_copy[ordered] + rank)
        np.put_along_axis(found, order, numbers, axis=1)
        return found

    def leaf_of(self, codes: IntArray) -> Letters:
        return super().leaf_of(self._label_of[codes])

    def path_to(self, leaf: Letters) -> list[Hashable]:
        """The items from first to last."""
        return list(leaf)

    def neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of orders one change away, each once: all, or ``count`` of them at random.

        Two items exchanged, one item moved to another position, one stretch reversed or, where not all items
        are placed, one item replaced by one that is not. Where items have copies or must wait for others, a
        stretch of two or three items may also be moved.
        """
        if self._constrained:
            return self._constrained_neighbours(codes, count, rng)
        moves, is_unused = self._stretches, np.ones(len(self.labels), dtype=np.bool_)
        is_unused[codes] = False
        unused = np.flatnonzero(is_unused)
        group, number = draw_moves(np.append(moves, np.full(self.depth, unused.size)), count, rng)
        moved, place = group < moves.size, group[group >= moves.size] - moves.size
        replaced = np.tile(codes, (place.size, 1))
        replaced[np.arange(place.size), place] = unused[number[~moved]]
        return np.concatenate([rearranged(codes, group[moved], number[moved]), replaced])

    def _constrained_neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        labels = self._label_of[codes]
        changes = Rearrangements(labels, self._must_precede, self._unused(labels))
        if not self._repeats:
            return changes.rows(changes.drawn(count, rng))  # the numbers of items are those of copies
        # With copies, different changes may lead to the same order.
        several = len(changes) if len(changes) <= _MOST_LISTED else 2 * count
        rows = changes.rows(changes.drawn(several, rng))
        places = {row.tobytes(): place for place, row in enumerate(rows)}
        places.pop(labels.tobytes(), None)
        kept = np.array(list(places.values()), dtype=np.int64)
        rows = rows[kept if kept.size <= count else rng.permutation(kept)[:count]]
        return self._of_copies(rows)

    @cached_property
    def _must_precede(self) -> BoolArray:
        """Whether one item must come before another one, shape ``(items, items)``."""
        found = np.zeros((len(self.labels),) * 2, dtype=np.bool_)
        for number, earlier in enumerate(self._earlier):
            found[list(earlier), number] = True
        return found

    def _unused(self, labels: IntArray) -> IntArray:
        """The numbers of items of which not all copies are placed."""
        placed = np.bincount(labels, minlength=len(self.labels))
        return np.flatnonzero(placed < self._copies)

    def identity(self) -> str:
        """A digest of the items, the length and the precedence, and what the reward says of itself."""
        more = (self._copies, list(map(sorted, self._earlier))) if self._constrained else ()
        return identified(digest(self.labels, self.depth, *more), self._reward)


class _Changes(NamedTuple):
    """Changes of a stretch of an order, one entry each."""

    kind: IntArray
    """0: its ends are exchanged, 1: its two parts are exchanged, 2: it is reversed."""
    first: IntArray
    """Where the stretch begins."""
    split: IntArray
    """Where its first part ends; the stretch's beginning if the parts do not matter."""
    last: IntArray
    """Where it ends."""

    def some(self, wanted: IntArray) -> "_Changes":
        """Some of them."""
        return _Changes(*(part[wanted] for part in self))

    def sources(self, length: int) -> IntArray:
        """Which position each position gets its item from, shape ``(changes, length)``."""
        kind, first, split, last = (part[:, None] for part in self)
        place = np.arange(length)
        swapped = np.where(place == first, last, np.where(place == last, first, place))
        behind = place - (last - split)  # what the first part becomes
        exchanged = np.where(behind >= first, behind, place + (split + 1 - first))
        source = np.choose(kind, [swapped, exchanged, first + last - place])
        return np.where((first <= place) & (place <= last), source, place)


@cache
def _changes_of(length: int) -> _Changes:
    """All changes of an order; each leads to another order if all items are different.

    To exchange the two parts of a stretch moves an item if one part is an item, else a block of two or three.
    """
    first, last = np.triu_indices(length, 1)
    apart = last - first
    found = [(0, first, first, last)]
    far = apart >= 3  # to reverse two or three items exchanges the outer ones
    found.append((2, first[far], first[far], last[far]))
    # The first part has some size, or the second one where the first is too long for that. The shortest
    # stretch of two items exchanges its ends.
    for size, shortest, longer in ((1, 2, 2), (2, 3, 5), (3, 4, 6)):
        for fits, split in ((apart >= shortest, first + size - 1), (apart >= longer, last - size)):
            found.append((1, first[fits], split[fits], last[fits]))
    kinds = np.concatenate([np.full(part[1].size, part[0]) for part in found])
    return _Changes(kinds, *(np.concatenate([part[i] for part in found]) for i in (1, 2, 3)))


class Rearrangements:
    """The changes of an order that are possible: stretches rearranged, and items replaced by unplaced ones.

    Parameters
    ----------
    labels : array of int, shape ``(length,)``
        The order, as numbers of items.
    precede : array of bool, shape ``(items, items)``
        Whether one item must come before another one.
    unused : array of int
        Numbers of the items of which not all copies are placed.
    """

    def __init__(self, labels: IntArray, precede: BoolArray, unused: IntArray) -> None:
        self._labels, self._all = labels, _changes_of(len(labels))
        self._place, self._new = (part.ravel() for part in np.meshgrid(np.arange(len(labels)), unused))
        # Columns of the grid are positions, rows are items.
        self._is_replaced = self._replaceable(precede, unused).T.ravel()
        # Number of pairs of positions up to some row and column whose items must be in this order.
        self._related = np.zeros((len(labels) + 1,) * 2, dtype=np.int64)
        self._is_free = not bool(precede.any())
        if not self._is_free:
            related = precede[labels[:, None], labels]
            self._related[1:, 1:] = related.cumsum(axis=0).cumsum(axis=1)

    def _replaceable(self, precede: BoolArray, unused: IntArray) -> BoolArray:
        """Whether each position may get each unplaced item, shape ``(length, unused)``."""
        if unused.size == 0:
            return np.zeros((len(self._labels), 0), dtype=np.bool_)
        place = np.arange(len(self._labels))[:, None]
        waits = precede[self._labels][:, unused]  # for the item at a position
        after = np.where(waits, place, -1).max(axis=0)
        blocked = precede[np.ix_(unused, unused)].any(axis=0)
        leads = precede[self._labels[:, None], self._labels].any(axis=1, keepdims=True)
        different = self._labels[:, None] != unused
        possible: BoolArray = (place > after) & ~blocked & ~leads & different & ~waits
        return possible

    def __len__(self) -> int:
        """Number of changes, possible or not."""
        return self._all.kind.size + self._place.size

    def drawn(self, count: int, rng: np.random.Generator) -> IntArray:
        """Numbers of possible changes: all if they are at most ``count``, otherwise a random sample."""
        total = len(self)
        several = _DRAWN * count
        if total > max(several, _MOST_LISTED):
            found = self._possible(rng.choice(total, several, replace=False))
            if found.size >= count:
                return found[:count]
        found = self._possible(np.arange(total))
        return found if found.size <= count else rng.choice(found, count, replace=False)

    def _possible(self, numbers: IntArray) -> IntArray:
        """Those of some changes that keep the precedence."""
        replaced = numbers >= self._all.kind.size
        possible = np.ones(numbers.size, dtype=np.bool_)
        possible[replaced] = self._is_replaced[numbers[replaced] - self._all.kind.size]
        if not self._is_free:
            kind, first, split, last = self._all.some(numbers[~replaced])
            # A pair is broken if its two positions change their order.
            parts = self._pairs(first, split, split + 1, last)
            ends = self._pairs(first, first, first, last) + self._pairs(first, last, last, last)
            broken = np.choose(kind, [ends, parts, self._pairs(first, last, first, last)])
            possible[~replaced] = broken == 0
        return numbers[possible]

    def _pairs(self, top: IntArray, bottom: IntArray, left: IntArray, right: IntArray) -> IntArray:
        """Number of pairs that must stay in their order, from some positions to others."""
        sums = self._related
        above = sums[top, right + 1] - sums[top, left]
        return np.asarray(sums[bottom + 1, right + 1] - sums[bottom + 1, left] - above)

    def rows(self, numbers: IntArray) -> IntArray:
        """The orders after some changes, as numbers of items; shape ``(changes, length)``."""
        replaced = numbers >= self._all.kind.size
        rows = np.tile(self._labels, (numbers.size, 1))
        moved = self._all.some(numbers[~replaced])
        rows[~replaced] = self._labels[moved.sources(len(self._labels))]
        others = numbers[replaced] - self._all.kind.size
        rows[np.flatnonzero(replaced), self._place[others]] = self._new[others]
        return rows
