"""What states have in common, computed from their codes.

Codes have the shape ``(states, places)``. They are −1 where a place is undecided. A view is a way to describe
a state by features that are centred: zero on average over random leaves. The features of a partial state are
the expected ones of its random completions. States are compared by counting what they share. Features are
made only of partial orders and of what these are compared with, a block at a time: an order of 100 items has
30,201 of them.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.compiled import compiled, inlined
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.problem import Layout
from dagsearch.space.numbers import SCALES, scale_features

# A view with more features than this is left out.
_MOST_FEATURES = 1200
# Largest number of categories of a place with numbers whose equality is a view, too.
_MOST_EQUAL = 32
# Number of rows after which sums are made afresh, so that rounding errors do not add up.
_AFRESH = 64
# Largest number of pairs of items whose order is kept for every state: 20 kB each.
_MOST_PAIRS = 5000
# Numbers in a block of features: 16 MB.
_BLOCK = 2_000_000


class Described(NamedTuple):
    """States to be compared."""

    codes: IntArray
    """Their codes, shape ``(states, places)``."""
    more: FloatArray
    """What the views want to know beside these, one row each."""

    def some(self, wanted: BoolArray) -> "Described":
        """Some of them."""
        return Described(self.codes[wanted], self.more[wanted])


def views_of(layout: Layout) -> "PlaceViews | OrderViews":
    """The views of states with this layout."""
    if layout.kind == "order":
        return OrderViews(int(layout.categories[0]), len(layout.categories))
    return PlaceViews(layout.categories, layout.numbers)


class PlaceViews:
    """Views of a categorical vector: values, neighbouring values, numbers.

    Values and neighbouring values are compared at their place, the latter also anywhere. At a place, two
    states have the inner product 1 if they are equal, 0 if not, and the chance of equality if one of them is
    undecided. Places are independent, so that of two places it is the product. Numbers are compared by where
    they lie on several scales.

    Parameters
    ----------
    categories : array of int
        Number of categories of each place.
    numbers : sequence
        For each place the numbers that its categories are, ``None`` if they are none.
    """

    def __init__(self, categories: IntArray, numbers: Sequence[FloatArray | None] = ()) -> None:
        self.categories = np.asarray(categories, dtype=np.int64)
        self._chance = 1.0 / self.categories
        self._pair_chance = float(self._chance[1:] @ self._chance[:-1])
        self.names = ["value at its place"]
        pairs = self.categories[:-1] * self.categories[1:]
        if len(self.categories) > 2 and pairs.sum() <= _MOST_FEATURES:
            self.names.append("neighbours at their place")
            if np.all(self.categories == self.categories[0]):
                self.names.append("neighbours anywhere")
        self._anywhere_wanted = len(self.names) == 3
        self.numbers = _Numbers(self.categories, numbers)
        self._first_number = len(self.names)
        self.names += self.numbers.names
        # Whether equality counts: of many numbers two are hardly ever equal.
        is_number = np.zeros(len(self.categories), dtype=np.bool_)
        is_number[self.numbers.places] = True
        self._equality = 1.0 - (is_number & (self.categories > _MOST_EQUAL))
        self.columns: IntArray = np.arange(len(self.categories)).repeat(self._widths)
        """Place of each feature of the first view."""

    @property
    def _widths(self) -> IntArray:
        return np.where(self._equality > 0.0, self.categories, 0)

    @property
    def relevances(self) -> int:
        """Number of relevances: one of each place in the first view, one of each place that holds numbers."""
        return len(self.categories) + len(self.numbers.places)

    def values(self, codes: IntArray) -> FloatArray:
        """Features of the first view, shape ``(states, categories of all places)``."""
        columns = zip(codes.T[:, :, None], self._widths.tolist(), strict=True)
        chances = [
            np.where(column >= 0, column == np.arange(count), 1.0 / count)
            for column, count in columns
            if count
        ]
        centred = [chance - 1.0 / chance.shape[1] for chance in chances]
        return np.concatenate([np.empty((len(codes), 0)), *centred], axis=1)

    def described(self, codes: IntArray) -> FloatArray:
        """What comparing states needs beside their codes, one row each.

        These are the features of numbers, and counts of neighbouring categories.
        """
        numbers = self.numbers.features(codes)
        return np.hstack([numbers, self._anywhere(codes)]) if self._anywhere_wanted else numbers

    def compared(
        self, ours: "Described", theirs: "Described", relevance: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Two weighted sums of the inner products in all views, shape ``(2, ours, theirs)``.

        ``weights`` have the shape ``(2, views)``. In the first view each place counts by its relevance, in
        those of numbers each place that holds some.
        """
        codes, others = ours.codes, theirs.codes
        by_place, of_pairs = weights[:, :1] * relevance[: codes.shape[1]] * self._equality, np.zeros(2)
        if self._first_number > 1:
            of_pairs[:] = weights[:, 1]
        sums = np.zeros((2, len(codes), len(others)))
        common_places(codes, others, by_place, of_pairs, self._chance, sums)
        sums -= (by_place @ self._chance + of_pairs * self._pair_chance)[:, None, None]
        width = self.numbers.width
        if self._anywhere_wanted and weights[:, 2].any():
            sums += weights[:, 2, None, None] * (ours.more[:, width:] @ theirs.more[:, width:].T)
        of_numbers = weights[:, self._first_number :]
        if of_numbers.any():
            column = self.numbers.weights(relevance[codes.shape[1] :], of_numbers)
            sums += (ours.more[:, :width] * column[:, None]) @ theirs.more[:, :width].T
        return sums

    def norms(self, states: "Described", relevance: FloatArray) -> FloatArray:
        """Squared norms in each view, shape ``(states, views)``."""
        codes, width = states.codes, self.numbers.width
        at_places = relevance[: codes.shape[1]] * self._equality
        found = np.empty((len(codes), len(self.names)))
        count = min(self._first_number, 2)
        if codes.min(initial=0) < 0:
            found[:, :count] = self._sums(np.where(codes >= 0, 1.0, self._chance), at_places)
        else:
            norms = [float((1.0 - self._chance) @ at_places), len(self._chance) - 1 - self._pair_chance]
            found[:, :count] = norms[:count]
        if self._anywhere_wanted:
            found[:, 2] = np.add.reduce(states.more[:, width:] ** 2, axis=1)
        if width:
            of_numbers = states.more[:, :width] ** 2
            found[:, self._first_number :] = self.numbers.sums(of_numbers, relevance[codes.shape[1] :])
        return found

    def steps(self, codes: IntArray, relevance: FloatArray) -> FloatArray:
        """Squared distances of states from the next ones in each view, shape ``(steps, views)``."""
        one, other = codes[:-1], codes[1:]
        at_places = relevance[: codes.shape[1]] * self._equality
        agreement = np.where((one >= 0) & (other >= 0), one == other, self._chance)
        norms = self._sums(np.where(codes >= 0, 1.0, self._chance), at_places)
        found = [norms[:-1] + norms[1:] - 2.0 * self._sums(agreement, at_places)]
        if self._anywhere_wanted:
            found.append((np.diff(self._anywhere(codes), axis=0) ** 2).sum(axis=1)[:, None])
        if self.numbers.width:
            apart = np.diff(self.numbers.features(codes), axis=0) ** 2
            found.append(self.numbers.sums(apart, relevance[codes.shape[1] :]))
        return np.hstack(found)

    def _sums(self, agreement: FloatArray, relevance: FloatArray) -> FloatArray:
        """Inner products in the views at their place, from those at each place, shape ``(pairs, places)``."""
        values = (agreement - self._chance) @ relevance
        if self._first_number == 1:
            return np.asarray(values[:, None])
        both = agreement[:, 1:] * agreement[:, :-1] - self._chance[1:] * self._chance[:-1]
        return np.column_stack([values, both.sum(axis=1)])

    def _anywhere(self, codes: IntArray) -> FloatArray:
        """Counts of neighbouring categories, centred; of partial states, expected ones."""
        count = int(self.categories[0])
        if codes.min(initial=0) < 0:
            chances = np.where(codes[:, :, None] >= 0, codes[:, :, None] == np.arange(count), 1.0 / count)
            found = chances[:, :-1].transpose(0, 2, 1) @ chances[:, 1:]
        else:
            found = neighbours_of(codes, count)
        return np.asarray(found.reshape(-1, count**2) - (len(self.categories) - 1) / count**2)


class _Numbers:
    """Features of the numbers at places, scale by scale, of each scale place by place.

    They are 0 where a place is undecided or holds no number, which is also their mean.
    """

    def __init__(self, categories: IntArray, numbers: Sequence[FloatArray | None]) -> None:
        found = {place: scale_features(one) for place, one in enumerate(numbers) if one is not None}
        self.places: IntArray = np.array(list(found), dtype=np.int64)
        """The places that hold numbers."""
        used = [
            scale for scale in range(len(SCALES)) if any(one[scale] is not None for one in found.values())
        ]
        self.names = [f"number at its place, by {SCALES[scale]}" for scale in used]
        # One row of features per category, then a row of zeros for what is not decided; place after place.
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
        """Number of the place of each feature of one view."""

    def features(self, codes: IntArray) -> FloatArray:
        """Shape ``(states, views × places × polynomials)``."""
        if not self.width:
            return np.empty((len(codes), 0))
        own = codes[:, self.places]
        rows = np.where(own >= 0, self._first + own, self._last)
        return self._table[:, rows].transpose(1, 0, 2, 3).reshape(len(codes), -1)

    def weights(self, relevance: FloatArray, weights: FloatArray) -> FloatArray:
        """Weight of every feature in two sums, shape ``(2, width)``, from those of views and places."""
        return np.asarray((weights[:, :, None] * relevance[self.columns]).reshape(2, -1))

    def sums(self, features: FloatArray, relevance: FloatArray) -> FloatArray:
        """Sums over the features of each view, weighted by relevance, shape ``(states, views)``."""
        return np.asarray(features.reshape(len(features), -1, self.columns.size) @ relevance[self.columns])


class OrderViews:
    """Views of an order: item at its position, who comes before whom, who follows whom, who is beside whom.

    Orders are decided from the front; the rest of a partial order is a random order of the remaining items.
    A complete order has ``length`` of the ``items``.
    """

    names = ("item at its position", "before", "follows", "adjacent")

    def __init__(self, items: int, length: int) -> None:
        self._items, self._length = items, length
        self._upper = np.triu_indices(items, 1)
        width = length * items + (items + 1) ** 2 + 2 * self._upper[0].size  # number of features
        self._at_once = max(1, _BLOCK // width)
        # Number of neighbours in a complete order, the last and the first included.
        edges = length if length > 1 else 0
        # Squared norms before centring: of pairs of items, at least one is placed; in an order of two items
        # each is beside the other on both sides.
        pairs = length * (length - 1) / 2 + length * (items - length)
        most = np.array([length, pairs, length + 1, 2 * edges if length == 2 else edges])
        # By how much centring lowers inner products.
        mean, share = (items + 1) / items, 2.0 / max(items - 1, 1)
        beside = share * (2.0 * edges - share * self._upper[0].size)
        self._chance = np.array([length / items, 0.0, 2.0 * (length + 1) / items - mean, beside])
        self._norms = most - self._chance

    def features(self, codes: IntArray) -> list[FloatArray]:
        """One array per view, shape ``(states, features)``; states may be partial."""
        n, states = self._items, len(codes)
        open_ = codes < 0
        free = np.ones((states, n))
        row, place = np.nonzero(~open_)
        free[row, codes[row, place]] = 0.0
        left = np.maximum(free.sum(axis=1), 1.0)[:, None]
        position = np.where(open_[:, :, None], (free / left)[:, None], np.eye(n)[codes])
        # What two different undecided positions hold.
        pair = free[:, :, None] * free[:, None, :] / np.maximum(left * (left - 1.0), 1.0)[:, :, None]
        pair[:, np.arange(n), np.arange(n)] = 0.0
        within = _joint(position[:, :-1], position[:, 1:], open_[:, :-1] & open_[:, 1:], pair)
        # Index n is the start, and the end.
        follows = np.zeros((states, n + 1, n + 1))
        follows[:, :n, :n], follows[:, n, :n], follows[:, :n, n] = within, position[:, 0], position[:, -1]
        beside = within
        if self._length > 1:  # the last one is beside the first
            beside = within + _joint(position[:, -1:], position[:, :1], open_[:, -1:] & open_[:, :1], pair)
        beside = beside + beside.transpose(0, 2, 1)
        return [
            (position - 1.0 / n).reshape(states, -1),
            self._before(codes).astype(np.float64),
            (follows - (1.0 - np.eye(n + 1)) / n).reshape(states, -1),
            beside[:, self._upper[0], self._upper[1]] - 2.0 / max(n - 1, 1),
        ]

    def _before(self, codes: IntArray) -> FloatArray:
        """1 or −1 for each two items, by which of them comes first; 0 if neither is placed."""
        rank = np.full((len(codes), self._items), self._items, dtype=np.float32)
        row, place = np.nonzero(codes >= 0)
        rank[row, codes[row, place]] = place
        return signs_of_pairs(rank)

    def described(self, codes: IntArray) -> FloatArray:
        """What comparing states needs beside their codes, one row each: who comes before whom.

        Where there are many items it would take too much memory, and is computed when it is needed.
        """
        return self._before(codes) if self._upper[0].size <= _MOST_PAIRS else np.empty((len(codes), 0))

    def compared(
        self, ours: "Described", theirs: "Described", relevance: FloatArray, weights: FloatArray
    ) -> FloatArray:
        """Two weighted sums of the inner products in all views; positions have no relevance."""
        grams = self._grams(ours, theirs, np.add.reduce(weights) > 0.0)
        return np.asarray((weights @ grams.reshape(len(grams), -1)).reshape(2, *grams.shape[1:]))

    def _grams(self, states: "Described", rest_of: "Described", wanted: BoolArray) -> FloatArray:
        """Inner products in each view, shape ``(views, codes, others)``; zero where not wanted."""
        codes, others = states.codes, rest_of.codes
        whole, others_whole = _complete(codes), _complete(others)
        if whole.all() and others_whole.all():
            return self._counted(states, rest_of, wanted)
        found = np.empty((len(self.names), len(codes), len(others)))
        counted = self._counted(states.some(whole), rest_of.some(others_whole), wanted)
        found[:, whole[:, None] & others_whole] = counted.reshape(len(found), -1)
        for some, rest in ((~whole, others_whole), (np.full(len(codes), True), ~others_whole)):
            for ours in self._blocks(some):
                features = self.features(codes[ours])
                for theirs in self._blocks(rest):
                    for gram, one, other in zip(found, features, self.features(others[theirs]), strict=True):
                        gram[np.ix_(ours, theirs)] = one @ other.T
        return found

    def _blocks(self, some: BoolArray) -> Iterator[IntArray]:
        """Indices of some states, as many at a time as may have features at once."""
        places = np.flatnonzero(some)
        return (places[first : first + self._at_once] for first in range(0, len(places), self._at_once))

    def _counted(self, ours: "Described", theirs: "Described", wanted: BoolArray) -> FloatArray:
        """Inner products of complete states."""
        found = np.zeros((len(self.names), len(ours.codes), len(theirs.codes)))
        common_orders(ours.codes, theirs.codes, self._items, found[0], found[2], found[3])
        if wanted[1]:
            self._common_before(ours, theirs, found[1])
        for view, chance in enumerate(self._chance):
            found[view] -= chance
        return found

    def _common_before(self, ours: "Described", theirs: "Described", found: FloatArray) -> None:
        """Write the number of pairs of items in the same order, less those in opposite order."""
        if ours.more.shape[1] > 0:
            found[:] = ours.more @ theirs.more.T
            return
        step = max(1, 2 * _BLOCK // max(1, self._upper[0].size))
        for first in range(0, len(theirs.codes), step):
            other = self._before(theirs.codes[first : first + step]).T
            for second in range(0, len(ours.codes), step):
                block = self._before(ours.codes[second : second + step])
                found[second : second + step, first : first + step] = block @ other

    def norms(self, states: "Described", relevance: FloatArray) -> FloatArray:
        """Squared norms in each view, shape ``(states, views)``."""
        codes = states.codes
        found = np.tile(self._norms, (len(codes), 1))
        for some in self._blocks(~_complete(codes)):
            for view, features in enumerate(self.features(codes[some])):
                found[some, view] = (features * features).sum(axis=1)
        return found

    def steps(self, codes: IntArray, relevance: FloatArray) -> FloatArray:
        """Squared distances of states from the next ones in each view, shape ``(steps, views)``."""
        placed = np.tri(self._length + 1, self._length, -1, dtype=np.bool_)
        if np.array_equal(codes, np.where(placed, codes[-1:], -1)):
            return self._steps_to_leaf  # items are alike, so that the steps to all orders are
        return self._steps(codes)

    @cached_property
    def _steps_to_leaf(self) -> FloatArray:
        """:meth:`steps` from the root to a complete order, item by item."""
        items = np.tile(np.arange(self._length), (self._length + 1, 1))
        return self._steps(np.where(np.tri(self._length + 1, self._length, -1, dtype=np.bool_), items, -1))

    def _steps(self, codes: IntArray) -> FloatArray:
        found = np.empty((max(len(codes) - 1, 0), len(self.names)))
        for some in self._blocks(np.full(len(found), True)):
            for view, features in enumerate(self.features(codes[some[0] : some[-1] + 2])):
                found[some, view] = (np.diff(features, axis=0) ** 2).sum(axis=1)
        return found


def _complete(codes: IntArray) -> BoolArray:
    """Whether all places of each state are decided, shape ``(states,)``."""
    return np.asarray((codes >= 0).all(axis=1))


def _joint(first: FloatArray, second: FloatArray, undecided: BoolArray, pair: FloatArray) -> FloatArray:
    """Sum over pairs of positions of the probability of what they hold, shape ``(states, items, items)``.

    ``first`` and ``second`` have the shape ``(states, pairs, items)``; ``pair`` is the probability where both
    positions are undecided.
    """
    known = np.where(undecided[:, :, None], 0.0, first)
    return np.asarray(known.transpose(0, 2, 1) @ second + undecided.sum(axis=1)[:, None, None] * pair)


@inlined
def _agreement(one: int, other: int, chance: float) -> float:
    """Inner product of two states at a place: the chance of equality, where one of them is undecided."""
    return chance if one < 0 else np.float64(other == one) + chance * np.float64(other < 0)


@compiled
def signs_of_pairs(rank: Any) -> FloatArray:
    """Sign of rank j − rank i for all pairs i < j of each row, shape ``(rows, pairs)``."""
    rows, items = rank.shape
    found = np.empty((rows, items * (items - 1) // 2), dtype=np.float32)
    for row in range(rows):
        own, pair = rank[row], 0
        for i in range(items):
            for j in range(i + 1, items):
                found[row, pair] = np.float32(own[j] > own[i]) - np.float32(own[j] < own[i])
                pair += 1
    return found


@compiled
def neighbours_of(codes: IntArray, categories: int) -> FloatArray:
    """How often each two categories are neighbours in each state, shape ``(states, categories²)``."""
    found = np.zeros((len(codes), categories * categories))
    for i in range(len(codes)):
        for place in range(1, codes.shape[1]):
            found[i, codes[i, place - 1] * categories + codes[i, place]] += 1.0
    return found


@compiled
def common_places(
    a: IntArray,
    b: IntArray,
    by_place: FloatArray,
    of_pairs: FloatArray,
    chance: FloatArray,
    sums: FloatArray,
) -> None:
    """Add weights of places with equal categories, and of neighbouring places that are both equal.

    Two sums at a time: ``by_place`` has the shape ``(2, places)``, ``of_pairs`` ``(2,)``, and ``sums``, which
    is zero before, ``(2, a, b)``. Rows that follow each other mostly differ at few places, and only these are
    compared. The innermost loops run over the second rows, whose codes are transposed, so that they are
    vectorised.
    """
    places, count = a.shape[1], len(b)
    others = np.ascontiguousarray(b.T)
    complete = (a >= 0).all() and (b >= 0).all()  # most often, and then the loops are simpler
    pairs = of_pairs[0] != 0.0 or of_pairs[1] != 0.0
    for i in range(len(a)):
        changed = places
        if i % _AFRESH > 0:
            changed = 0
            for place in range(places):
                changed += a[i, place] != a[i - 1, place]
        afresh = 3 * changed >= places
        kept = 0.0 if afresh else 1.0
        before = a[i] if afresh else a[i - 1]
        one, two = sums[0, i], sums[1, i]
        if not afresh:
            one[:], two[:] = sums[0, i - 1], sums[1, i - 1]
        for place in range(places):
            code, old, theirs = a[i, place], before[place], others[place]
            if afresh or code != old:
                first, second, even = by_place[0, place], by_place[1, place], chance[place]
                for j in range(count if complete else 0):
                    gain = np.float64(theirs[j] == code) - kept * np.float64(theirs[j] == old)
                    one[j] += first * gain
                    two[j] += second * gain
                for j in range(0 if complete else count):
                    more = _agreement(code, theirs[j], even) - kept * _agreement(old, theirs[j], even)
                    one[j] += first * more
                    two[j] += second * more
            if not pairs or place == 0:
                continue
            left, old_left, lefts = a[i, place - 1], before[place - 1], others[place - 1]
            if afresh or code != old or left != old_left:
                even_left, even = chance[place - 1], chance[place]
                for j in range(count if complete else 0):
                    gain = np.float64((theirs[j] == code) & (lefts[j] == left))
                    gain -= kept * np.float64((theirs[j] == old) & (lefts[j] == old_left))
                    one[j] += of_pairs[0] * gain
                    two[j] += of_pairs[1] * gain
                for j in range(0 if complete else count):
                    more = _agreement(left, lefts[j], even_left) * _agreement(code, theirs[j], even)
                    was = _agreement(old_left, lefts[j], even_left) * _agreement(old, theirs[j], even)
                    one[j] += of_pairs[0] * (more - kept * was)
                    two[j] += of_pairs[1] * (more - kept * was)


@compiled
def common_orders(
    a: IntArray, b: IntArray, items: int, equal: FloatArray, follows: FloatArray, beside: FloatArray
) -> None:
    """Write the numbers of equal positions, of equal successors, and of equal neighbours, shape ``(a, b)``.

    Successors include the start and the end, neighbours the last and the first.
    """
    n, count = a.shape[1], len(b)
    # Where the items of the second orders are; those that do not occur are far from all others. Small
    # integers make the inner loop fast.
    rank = np.full((items, count), -2 * n, dtype=np.int32)
    for j in range(count):
        for place in range(n):
            rank[b[j, place], j] = place
    around, one = np.int32(n - 1), np.int32(1)
    for i in range(len(a)):
        same, after, near = np.zeros((3, count), dtype=np.int32)
        for place in range(n):
            here = np.int32(place)
            last = place + 1 == n
            own, other = rank[a[i, place]], rank[a[i, 0 if last else place + 1]]
            for j in range(count):
                step = other[j] - own[j]
                same[j] += np.int32(own[j] == here)
                near[j] += np.int32(abs(step) == one) + np.int32(abs(step) == around)
            if not last:
                for j in range(count):
                    after[j] += np.int32(other[j] - own[j] == one)
        first, final = rank[a[i, 0]], rank[a[i, n - 1]]
        for j in range(count):
            equal[i, j] = same[j]
            follows[i, j] = after[j] + (first[j] == 0) + (final[j] == around)
            beside[i, j] = near[j] if n > 1 else 0  # each of two items is beside the other on both sides
