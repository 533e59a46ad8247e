"""Similarities between states, computed from their codes.

Codes have shape ``(states, places)`` and are −1 at undecided places. A view describes a state by centred
features, whose mean over random leaves is zero. Undecided places contribute nothing. Inner products are
counted rather than computed from features, because an order of 100 items has 30,201 features.

Rows are :class:`dagsearch.covariances.rows.Stacked`: codes and precomputed quantities.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.rows import Rows, Stacked
from dagsearch.space.numbers import SCALES, scale_features

# Views with more features than this are omitted.
_MOST_FEATURES = 1200
# Numeric places with more categories than this are not compared for equality.
_MOST_EQUAL = 32
# A row that differs from a point at more places than this is not a change of it.
_FEW_CHANGED = 2
# For counting the bits of a number.
_SHIFTS = tuple(map(np.uint64, (1, 2, 4, 56)))
_MASKS = tuple(np.uint64(0x0101010101010101 * byte) for byte in (0x55, 0x33, 0x0F, 0x01))

Bits = NDArray[np.uint64]
"""Flags, packed 64 to a number."""


class PlaceViews:
    """Views of a categorical vector: values, neighbouring values, numbers.

    Values and pairs of neighbouring values are compared place by place. Pairs are also compared anywhere if
    all places offer the same options. Equal ones count 1, others 0, minus the chance of equality; undecided
    ones count 0. Numbers are compared by position on several scales. The arguments are those of
    :class:`dagsearch.problem.Layout`.
    """

    def __init__(
        self,
        categories: IntArray,
        numbers: Sequence[FloatArray | None] = (),
        options: Sequence[Sequence[Hashable]] = (),
    ) -> None:
        self.categories = np.asarray(categories, dtype=np.int64)
        self._chance = 1.0 / self.categories
        self._pair_chance = self._chance[1:] * self._chance[:-1]
        self.names = ["value at its place"]
        # Categories numbered alike at all places, if neighbours are compared anywhere.
        self._shared: IntArray | None = None
        pairs = self.categories[:-1] * self.categories[1:]
        if len(self.categories) > 2 and pairs.sum() <= _MOST_FEATURES:
            self.names.append("neighbours at their place")
            self._shared = _shared(self.categories, options)
            self.names += ["neighbours anywhere"] if self._shared is not None else []
        self.numbers = _Numbers(self.categories, numbers)
        self._first_number = len(self.names)
        self.names += self.numbers.names
        # Many-valued numbers are hardly ever equal, so their equality does not count.
        is_number = np.zeros(len(self.categories), dtype=np.bool_)
        is_number[self.numbers.places] = True
        self._equality = 1.0 - (is_number & (self.categories > _MOST_EQUAL))
        self._widths = np.where(self._equality > 0.0, self.categories, 0)
        self.columns: IntArray = np.arange(len(self.categories)).repeat(self._widths)
        """Place of each feature of the first view."""

    @property
    def relevances(self) -> int:
        """Number of relevances: one per place, and another one per numeric place."""
        return len(self.categories) + len(self.numbers.places)

    def values(self, codes: IntArray) -> FloatArray:
        """Features of the first view, shape ``(states, categories of all places)``."""
        columns = zip(codes.T[:, :, None], self._widths.tolist(), strict=True)
        centred = [(own == np.arange(count)) - (own >= 0) / count for own, count in columns if count]
        return np.concatenate([np.empty((len(codes), 0)), *centred], axis=1)

    def weighted(self, states: Rows) -> dict[int, tuple[FloatArray, IntArray]]:
        """Features of the views that use relevances, with the relevance index of each column."""
        codes, more = states.parts[:2]
        found = {0: (self.values(codes), self.columns)}
        for number in range(len(self.numbers.names)):
            part = slice(number * self.numbers.columns.size, (number + 1) * self.numbers.columns.size)
            found[self._first_number + number] = more[:, part], len(self.categories) + self.numbers.columns
        return found

    def described(self, codes: IntArray) -> Stacked:
        """Rows: codes, and numeric features with centred counts of neighbouring pairs."""
        numbers = self.numbers.features(codes)
        if self._shared is None:
            return Stacked([codes, numbers])
        categories, places = self._shared.shape[1], np.arange(len(self.categories))
        shared = np.where(codes >= 0, self._shared[places, codes], -categories * categories)
        pairs = shared[:, :-1] * categories + shared[:, 1:]
        state, place = np.nonzero(pairs >= 0)
        size = categories * categories
        found = np.bincount(state * size + pairs[state, place], minlength=len(codes) * size)
        found = found.reshape(len(codes), size).astype(np.float64)
        return Stacked([codes, np.hstack([numbers, found - found.sum(axis=1, keepdims=True) / size])])

    def compared(self, ours: Rows, theirs: Rows, relevance: FloatArray, weights: FloatArray) -> FloatArray:
        """Two weighted sums of the inner products in all views, shape ``(2, ours, theirs)``.

        ``weights`` have shape ``(2, views)``. The first view and the numeric ones weight places by relevance.
        """
        (codes, more), (others, others_more) = ours.parts[:2], theirs.parts[:2]
        by_place, of_pairs = weights[:, :1] * relevance[: codes.shape[1]] * self._equality, np.zeros(2)
        if self._first_number > 1:
            of_pairs[:] = weights[:, 1]
        sums = np.empty((2, len(codes), len(others)))
        if min(codes.min(initial=0), others.min(initial=0)) == 0:
            common_places(codes, others, by_place, of_pairs, sums)
            sums -= (by_place @ self._chance + of_pairs * self._pair_chance.sum())[:, None, None]
        else:  # -2 equals no code
            common_places(np.where(codes < 0, -2, codes), others, by_place, of_pairs, sums)
            (known, pairs), (theirs, their_pairs) = _decided(codes), _decided(others)
            sums -= (by_place * self._chance)[:, None] * known @ theirs.T
            sums -= of_pairs[:, None, None] * (pairs * self._pair_chance @ their_pairs.T)
        width = self.numbers.width
        if self._shared is not None and weights[:, 2].any():
            sums += weights[:, 2, None, None] * (more[:, width:] @ others_more[:, width:].T)
        of_numbers = weights[:, self._first_number :]
        if of_numbers.any():
            of_places = relevance[codes.shape[1] :][self.numbers.columns]
            column = (of_numbers[:, :, None] * of_places).reshape(2, -1)
            sums += (more[:, :width] * column[:, None]) @ others_more[:, :width].T
        return sums

    def norms(self, states: Rows, relevance: FloatArray) -> FloatArray:
        """Squared norms in each view, shape ``(states, views)``."""
        (codes, more), width = states.parts[:2], self.numbers.width
        found = np.empty((len(codes), len(self.names)))
        known, pairs = _decided(codes[:1] if codes.min(initial=0) == 0 else codes)  # complete ones are alike
        found[:, 0] = known @ ((1.0 - self._chance) * relevance[: codes.shape[1]] * self._equality)
        if self._first_number > 1:
            found[:, 1] = pairs @ (1.0 - self._pair_chance)
        if self._shared is not None:
            found[:, 2] = np.add.reduce(more[:, width:] ** 2, axis=1)
        if width:
            columns = self.numbers.columns
            of_numbers = (more[:, :width] ** 2).reshape(len(more), len(self.numbers.names), columns.size)
            found[:, self._first_number :] = of_numbers @ relevance[codes.shape[1] :][columns]
        return found


def _shared(categories: IntArray, options: Sequence[Sequence[Hashable]]) -> IntArray | None:
    """Numbers of categories, the same for equal options, shape ``(places, categories)``.

    ``None`` unless all places offer the same options.
    """
    listed = options or [range(categories[0])] * len(categories)
    if np.any(categories != categories[0]) or any(set(known) != set(listed[0]) for known in listed):
        return None
    number = {option: place for place, option in enumerate(listed[0])}
    absent = range(len(number), categories[0])
    return np.array([[*map(number.__getitem__, known), *absent] for known in listed])


def _decided(codes: IntArray) -> tuple[FloatArray, FloatArray]:
    """1 for each decided place, and for each pair of decided neighbours."""
    known = np.where(codes >= 0, 1.0, 0.0)
    return known, known[:, 1:] * known[:, :-1]


class _Numbers:
    """Features of numeric places, ordered by scale, then by place; 0, their mean, where undecided."""

    def __init__(self, categories: IntArray, numbers: Sequence[FloatArray | None]) -> None:
        found = {place: scale_features(one) for place, one in enumerate(numbers) if one is not None}
        self.places: IntArray = np.array(list(found), dtype=np.int64)
        """The numeric places."""
        used = [
            scale for scale in range(len(SCALES)) if any(one[scale] is not None for one in found.values())
        ]
        self.names = [f"number at its place, by {SCALES[scale]}" for scale in used]
        # For each place, one row of features per category, then a row of zeros for undecided.
        sizes = categories[self.places] + 1
        self._last = np.cumsum(sizes) - 1
        self._first = self._last - sizes + 1
        degrees = 3
        self._table = np.zeros((len(used), int(sizes.sum()), degrees))
        for row, scales in zip(self._first, found.values(), strict=True):
            for number, scale in enumerate(used):
                if (features := scales[scale]) is not None:
                    self._table[number, row : row + len(features)] = features
        self.width = len(used) * len(self.places) * degrees
        """Number of features in all views."""
        self.columns: IntArray = np.arange(len(self.places)).repeat(degrees)
        """Index of each feature's numeric place, in one view."""

    def features(self, codes: IntArray) -> FloatArray:
        """Shape ``(states, views × places × polynomials)``."""
        if not self.width:
            return np.empty((len(codes), 0))
        own = codes[:, self.places]
        rows = np.where(own >= 0, self._first + own, self._last)
        return self._table[:, rows].transpose(1, 0, 2, 3).reshape(len(codes), -1)


class OrderViews:
    """Views of an order: positions, precedence, succession and adjacency of its items.

    Orders are decided from the front. A complete order has ``length`` of the ``items``.
    """

    names = ("item at its position", "before", "follows", "adjacent")
    relevances = 0

    def __init__(self, items: int, length: int) -> None:
        self._items, self._length = items, length
        pairs = items * (items - 1) // 2
        self._total = self._numbers(np.array([length]))
        # Reduction of complete orders' inner products by centring.
        mean, share = (items + 1) / items, 2.0 / max(items - 1, 1)
        beside = share * (2.0 * self._total[0, 3] - share * pairs)
        self._chance = np.array([length / items, 0.0, 2.0 * (length + 1) / items - mean, beside])

    def _numbers(self, decided: IntArray) -> FloatArray:
        """Number of features by number of decided positions, shape ``(states, views)``.

        A pair counts once one of its items is placed. Complete orders are cyclic.
        """
        complete = decided == self._length
        before = decided * (decided - 1) / 2 + decided * (self._items - decided)
        beside = np.maximum(decided - 1, 0) + (complete & (decided > 1))
        return np.column_stack([decided, before, decided + complete, beside])

    def described(self, codes: IntArray) -> Stacked:
        """Rows: codes, share of decided features and squared norm by view, pairs of items."""
        numbers = self._numbers((codes >= 0).sum(axis=1))
        shares = numbers / np.maximum(self._total, 1)
        if self._length == 2:  # both items are adjacent on both sides
            numbers[:, 3] *= 2.0
        more = np.hstack([shares, numbers - shares**2 * self._chance])
        return Stacked([codes, more, np.packbits(pairs_of_items(codes, self._items), axis=1).view(np.uint64)])

    def compared(self, ours: Rows, theirs: Rows, relevance: FloatArray, weights: FloatArray) -> FloatArray:
        """Two weighted sums of the inner products in all views; positions have no relevance."""
        (codes, more, pairs), (others, others_more, their_pairs) = ours.parts[:3], theirs.parts[:3]
        shares = slice(len(self.names))
        expected = (weights * self._chance)[:, None] * more[:, shares]
        sums = np.asarray(-expected @ others_more[:, shares].T)
        common_orders(codes, others, self._items, weights, sums)
        if weights[:, 1].any():
            common_pairs(pairs, their_pairs, weights[:, 1], sums)
        return sums

    def norms(self, states: Rows, relevance: FloatArray) -> FloatArray:
        """Squared norms in each view, shape ``(states, views)``."""
        return np.asarray(states.parts[1][:, len(self.names) :])


@compiled
def pairs_of_items(codes: IntArray, items: int) -> NDArray[np.uint8]:
    """For each pair, whether an item is placed and whether the second precedes, padded to 64s."""
    width = 64 * ((items * (items - 1) // 2 + 63) // 64)
    found = np.zeros((len(codes), 2, width), dtype=np.uint8)
    for row in range(len(codes)):
        own, pair = np.full(items, items, dtype=np.int32), 0
        for place in range(codes.shape[1]):
            if codes[row, place] >= 0:
                own[codes[row, place]] = place
        for i in range(items):
            placed, first, others, here = found[row, 0, pair:], found[row, 1, pair:], own[i + 1 :], own[i]
            for j in range(len(others)):
                placed[j], first[j] = others[j] != here, others[j] < here
            pair += len(others)
    return found.reshape(len(codes), -1)


@compiled
def common_pairs(ours: Bits, theirs: Bits, weights: FloatArray, sums: FloatArray) -> None:
    """Add the number of pairs that two states order alike, minus that of pairs ordered differently."""
    words, others = ours.shape[1] // 2, np.ascontiguousarray(theirs.T)
    for i in range(len(ours)):
        found = np.zeros(len(theirs), dtype=np.int64)
        for word in range(words):
            placed, first = ours[i, word], ours[i, words + word]
            theirs_placed, theirs_first = others[word], others[words + word]
            for j in range(len(theirs)):
                both = placed & theirs_placed[j]
                differ = both & (first ^ theirs_first[j])
                found[j] += np.int64(_ones(both)) - 2 * np.int64(_ones(differ))
        one, two = sums[0, i], sums[1, i]
        for j in range(len(theirs)):
            one[j] += weights[0] * found[j]
            two[j] += weights[1] * found[j]


@compiled
def _ones(word: Any) -> Any:
    """Number of set bits: of every two, four and eight bits, then of all."""
    word -= (word >> _SHIFTS[0]) & _MASKS[0]
    word = (word & _MASKS[1]) + ((word >> _SHIFTS[1]) & _MASKS[1])
    word = (word + (word >> _SHIFTS[2])) & _MASKS[2]
    return (word * _MASKS[3]) >> _SHIFTS[3]


@compiled
def common_places(
    a: IntArray, b: IntArray, by_place: FloatArray, of_pairs: FloatArray, sums: FloatArray
) -> None:
    """Sum weights of equal places, and of neighbouring places that are both equal.

    Two sums at a time: ``by_place`` has shape ``(2, places)``, ``of_pairs`` ``(2,)``, and ``sums``
    ``(2, a, b)``. Successive rows are mostly changes of one point, so only the changes are compared.
    """
    others, nothing = np.ascontiguousarray(b.T), np.full(a.shape[1], -9)  # no code
    point, of_point = nothing, np.zeros((2, len(b)))
    for i in range(len(a)):
        if (a[i] != point).sum() > _FEW_CHANGED or i == 0:
            point = np.where(a[i] == a[i + 1], a[i], a[i + 2]) if i + 2 < len(a) else a[i].copy()
            if (a[i] != point).sum() > _FEW_CHANGED:  # rows have nothing in common
                point = a[i].copy()
            of_point[:] = 0.0
            add_changes(point, nothing, others, by_place, of_pairs, of_point[0], of_point[1])
        sums[:, i] = of_point
        add_changes(a[i], point, others, by_place, of_pairs, sums[0, i], sums[1, i])


@compiled
def add_changes(
    new: IntArray,
    old: IntArray,
    others: IntArray,
    by_place: FloatArray,
    of_pairs: FloatArray,
    one: FloatArray,
    two: FloatArray,
) -> None:
    """Add the effect of changing a row on two sums; ``others`` are the other rows, transposed.

    The innermost loops run over the other rows, so that they are vectorised.
    """
    pairs = of_pairs[0] != 0.0 or of_pairs[1] != 0.0
    for place in range(len(new)):
        code, before, theirs = new[place], old[place], others[place]
        if code != before:
            first, second = by_place[0, place], by_place[1, place]
            for j in range(len(theirs)):
                gain = np.float64(theirs[j] == code) - np.float64(theirs[j] == before)
                one[j] += first * gain
                two[j] += second * gain
        if not pairs or place == 0:
            continue
        left, left_before, lefts = new[place - 1], old[place - 1], others[place - 1]
        if code != before or left != left_before:
            for j in range(len(theirs)):
                gain = np.float64((theirs[j] == code) & (lefts[j] == left))
                gain -= np.float64((theirs[j] == before) & (lefts[j] == left_before))
                one[j] += of_pairs[0] * gain
                two[j] += of_pairs[1] * gain


@compiled
def common_orders(a: IntArray, b: IntArray, items: int, weights: FloatArray, sums: FloatArray) -> None:
    """Add the weighted numbers of equal positions, successors and neighbours.

    Successors include the start and the end; first and last are neighbours. Undecided positions are last.
    """
    n, count = a.shape[1], len(b)
    # Positions in the second orders; absent items are far from all others. Small integers are fast.
    rank = np.full((items, count), -2 * n, dtype=np.int16)
    for j in range(count):
        for place in range(n):
            if b[j, place] >= 0:
                rank[b[j, place], j] = place
    around, unit = np.int16(n - 1), np.int16(1)
    for i in range(len(a)):
        decided = n
        while decided > 0 and a[i, decided - 1] < 0:
            decided -= 1
        same, after, near = np.zeros((3, count), dtype=np.int16)
        if decided > 0:
            first, last = rank[a[i, 0]], rank[a[i, decided - 1]]
            for j in range(count):
                same[j], after[j] = last[j] == decided - 1, first[j] == 0
                if decided == n:  # the end, and the neighbours last and first
                    far = abs(first[j] - last[j])
                    after[j] += last[j] == around
                    near[j] = np.int64(far == unit) + np.int64(far == around)
        for place in range(decided - 1):
            here, own, other = np.int16(place), rank[a[i, place]], rank[a[i, place + 1]]
            for j in range(count):
                step = np.int16(other[j] - own[j])
                far = np.int16(abs(step))
                same[j] += np.int16(own[j] == here)
                after[j] += np.int16(step == unit)
                near[j] += np.int16(far == unit) + np.int16(far == around)
        one, two = sums[0, i], sums[1, i]
        for j in range(count):
            beside = near[j] if n > 1 else 0  # a single item has no neighbour
            one[j] += weights[0, 0] * same[j] + weights[0, 2] * after[j] + weights[0, 3] * beside
            two[j] += weights[1, 0] * same[j] + weights[1, 2] * after[j] + weights[1, 3] * beside
