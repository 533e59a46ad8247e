"""What states have in common, computed from their codes.

Codes have the shape ``(states, places)``. They are −1 where a place is undecided. A view is a way to describe
a state by features that are centred: zero on average over random leaves. The features of a partial state are
the expected ones of its random completions. States are compared by counting what they share; features are
made only where partial orders are compared, a block at a time: an order of 100 items has 30,201 of them.

Rows are :class:`dagsearch.covariances.rows.Stacked`: codes, and beside them what :meth:`described` tells of
each state.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.covariances.rows import Rows
from dagsearch.problem import Layout
from dagsearch.space.numbers import SCALES, scale_features

# A view with more features than this is left out.
_MOST_FEATURES = 1200
# Largest number of categories of a place with numbers whose equality is a view, too.
_MOST_EQUAL = 32
# Number of rows after which sums are made afresh, so that rounding errors do not add up.
_AFRESH = 64
# Numbers in a block of features: 16 MB.
_BLOCK = 2_000_000


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

    def compared(self, ours: Rows, theirs: Rows, relevance: FloatArray, weights: FloatArray) -> FloatArray:
        """Two weighted sums of the inner products in all views, shape ``(2, ours, theirs)``.

        ``weights`` have the shape ``(2, views)``. In the first view each place counts by its relevance, in
        those of numbers each place that holds some.
        """
        (codes, more), (others, others_more) = ours.parts[:2], theirs.parts[:2]
        by_place, of_pairs = weights[:, :1] * relevance[: codes.shape[1]] * self._equality, np.zeros(2)
        if self._first_number > 1:
            of_pairs[:] = weights[:, 1]
        sums = np.zeros((2, len(codes), len(others)))
        if min(codes.min(initial=0), others.min(initial=0)) == 0:
            common_places(codes, others, by_place, of_pairs, sums)
        else:
            self._add_expected(codes, others, by_place, of_pairs, sums)
        sums -= (by_place @ self._chance + of_pairs * self._pair_chance)[:, None, None]
        width = self.numbers.width
        if self._anywhere_wanted and weights[:, 2].any():
            sums += weights[:, 2, None, None] * (more[:, width:] @ others_more[:, width:].T)
        of_numbers = weights[:, self._first_number :]
        if of_numbers.any():
            of_places = relevance[codes.shape[1] :][self.numbers.columns]
            column = (of_numbers[:, :, None] * of_places).reshape(2, -1)
            sums += (more[:, :width] * column[:, None]) @ others_more[:, :width].T
        return sums

    def _add_expected(
        self, codes: IntArray, others: IntArray, by_place: FloatArray, of_pairs: FloatArray, sums: FloatArray
    ) -> None:
        """:func:`common_places` of states that may be partial."""
        before: float | FloatArray = 0.0
        for place, chance in enumerate(self._chance.tolist()):
            one, other = codes[:, place, None], others[:, place]
            here = np.where((one >= 0) & (other >= 0), one == other, chance)
            sums += by_place[:, place, None, None] * here + of_pairs[:, None, None] * (here * before)
            before = here

    def norms(self, states: Rows, relevance: FloatArray) -> FloatArray:
        """Squared norms in each view, shape ``(states, views)``."""
        (codes, more), width = states.parts[:2], self.numbers.width
        at_places = relevance[: codes.shape[1]] * self._equality
        found = np.empty((len(codes), len(self.names)))
        count = min(self._first_number, 2)
        if codes.min(initial=0) == 0:
            norms = [float((1.0 - self._chance) @ at_places), len(self._chance) - 1 - self._pair_chance]
            found[:, :count] = norms[:count]
        else:
            known = np.where(codes >= 0, 1.0, self._chance)
            both = known[:, 1:] * known[:, :-1] - self._chance[1:] * self._chance[:-1]
            each = np.column_stack([(known - self._chance) @ at_places, both.sum(axis=1)])
            found[:, :count] = each[:, :count]
        if self._anywhere_wanted:
            found[:, 2] = np.add.reduce(more[:, width:] ** 2, axis=1)
        if width:
            columns = self.numbers.columns
            of_numbers = (more[:, :width] ** 2).reshape(len(more), -1, columns.size)
            found[:, self._first_number :] = of_numbers @ relevance[codes.shape[1] :][columns]
        return found

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
            signs_of_pairs(codes, n).astype(np.float64),
            (follows - (1.0 - np.eye(n + 1)) / n).reshape(states, -1),
            beside[:, self._upper[0], self._upper[1]] - 2.0 / max(n - 1, 1),
        ]

    def described(self, codes: IntArray) -> FloatArray:
        """What comparing states needs beside their codes: nothing."""
        return np.empty((len(codes), 0))

    def compared(self, ours: Rows, theirs: Rows, relevance: FloatArray, weights: FloatArray) -> FloatArray:
        """Two weighted sums of the inner products in all views; positions have no relevance."""
        codes, others = ours.parts[0], theirs.parts[0]
        grams = np.zeros((len(self.names), len(codes), len(others)))
        if min(codes.min(initial=0), others.min(initial=0)) == 0:
            self._count(codes, others, np.add.reduce(weights)[1] > 0.0, grams)
        else:
            for some in self._blocks(codes):
                features = self.features(codes[some])
                for rest in self._blocks(others):
                    for gram, one, other in zip(grams, features, self.features(others[rest]), strict=True):
                        gram[some, rest] = one @ other.T
        return np.asarray((weights @ grams.reshape(len(grams), -1)).reshape(2, *grams.shape[1:]))

    def _blocks(self, codes: IntArray) -> list[slice]:
        """As many states at a time as may have features at once."""
        return [slice(first, first + self._at_once) for first in range(0, len(codes), self._at_once)]

    def _count(self, codes: IntArray, others: IntArray, before: bool, found: FloatArray) -> None:
        """Write inner products of complete orders; who comes before whom only where it is wanted."""
        common_orders(codes, others, self._items, found[0], found[2], found[3])
        for rest in range(0, len(others) if before else 0, self._at_once):
            theirs = signs_of_pairs(others[rest : rest + self._at_once], self._items).T
            for some in range(0, len(codes), self._at_once):
                ours = signs_of_pairs(codes[some : some + self._at_once], self._items)
                found[1, some : some + self._at_once, rest : rest + self._at_once] = ours @ theirs
        for view, chance in enumerate(self._chance):
            found[view] -= chance

    def norms(self, states: Rows, relevance: FloatArray) -> FloatArray:
        """Squared norms in each view, shape ``(states, views)``."""
        codes = states.parts[0]
        found = np.tile(self._norms, (len(codes), 1))
        if codes.min(initial=0) < 0:
            for some in self._blocks(codes):
                for view, features in enumerate(self.features(codes[some])):
                    found[some, view] = (features * features).sum(axis=1)
        return found


def _joint(first: FloatArray, second: FloatArray, undecided: BoolArray, pair: FloatArray) -> FloatArray:
    """Sum over pairs of positions of the probability of what they hold, shape ``(states, items, items)``.

    ``first`` and ``second`` have the shape ``(states, pairs, items)``; ``pair`` is the probability where both
    positions are undecided.
    """
    known = np.where(undecided[:, :, None], 0.0, first)
    return np.asarray(known.transpose(0, 2, 1) @ second + undecided.sum(axis=1)[:, None, None] * pair)


@compiled
def signs_of_pairs(codes: IntArray, items: int) -> Any:
    """1 or −1 for each two items, by which of them comes first; 0 if neither is placed."""
    found = np.empty((len(codes), items * (items - 1) // 2), dtype=np.float32)
    for row in range(len(codes)):
        own, pair = np.full(items, items), 0
        for place in range(codes.shape[1]):
            if codes[row, place] >= 0:
                own[codes[row, place]] = place
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
    a: IntArray, b: IntArray, by_place: FloatArray, of_pairs: FloatArray, sums: FloatArray
) -> None:
    """Add weights of places with equal categories, and of neighbouring places that are both equal.

    Two sums at a time: ``by_place`` has the shape ``(2, places)``, ``of_pairs`` ``(2,)``, and ``sums``, which
    is zero before, ``(2, a, b)``. Rows that follow each other mostly differ at few places, and only these are
    compared. The innermost loops run over the second rows, whose codes are transposed, so that they are
    vectorised.
    """
    places, count = a.shape[1], len(b)
    others = np.ascontiguousarray(b.T)
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
                first, second = by_place[0, place], by_place[1, place]
                for j in range(count):
                    gain = np.float64(theirs[j] == code) - kept * np.float64(theirs[j] == old)
                    one[j] += first * gain
                    two[j] += second * gain
            if not pairs or place == 0:
                continue
            left, old_left, lefts = a[i, place - 1], before[place - 1], others[place - 1]
            if afresh or code != old or left != old_left:
                for j in range(count):
                    gain = np.float64((theirs[j] == code) & (lefts[j] == left))
                    gain -= kept * np.float64((theirs[j] == old) & (lefts[j] == old_left))
                    one[j] += of_pairs[0] * gain
                    two[j] += of_pairs[1] * gain


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
