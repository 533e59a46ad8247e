"""What states have in common, computed from their codes.

Codes have the shape ``(states, places)``. They are −1 where a place is undecided. A view is a way to describe
a state by features that are centred: zero on average over random leaves. Complete states are compared by
counting what they share; no features are made, since an order of 100 items has 30,201 of them. The features
of a partial state are the expected ones of its random completions.
"""

from typing import NamedTuple

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.problem import Layout

# A view with more features than this is left out.
_MOST_FEATURES = 1200
# Number of rows after which sums are made afresh, so that rounding errors do not add up.
_AFRESH = 64
# Numbers in a block of signs by which orders are compared: 16 MB.
_BLOCK = 4_000_000


class ViewWeights(NamedTuple):
    """What views are weighted with."""

    trend: FloatArray
    """Weight of the inner products in each view."""
    falloff: FloatArray
    """Weight of the squared distances in each view."""
    relevance: FloatArray
    """Weight of each place in the first view of places; empty if all are alike."""


Compared = tuple[FloatArray, FloatArray]
"""Of rows and others: weighted inner products, and minus half the weighted squared distances."""


def views_of(layout: Layout) -> "PlaceViews | OrderViews":
    """The views of states with this layout."""
    if layout.kind == "order":
        return OrderViews(int(layout.categories[0]), len(layout.categories))
    return PlaceViews(layout.categories)


class PlaceViews:
    """Views of a categorical vector: values and neighbouring values at their place, and the latter anywhere.

    Parameters
    ----------
    categories : array of int, shape ``(places,)``
        Number of categories of each place.
    """

    def __init__(self, categories: IntArray) -> None:
        self.categories = np.asarray(categories, dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.categories)])
        self._sizes = self.categories[:-1] * self.categories[1:]
        self._pair_starts = np.concatenate([[0], np.cumsum(self._sizes)])
        self.names = ["value at its place"]
        self.width = int(self.starts[-1])
        if len(self.categories) > 2 and self._pair_starts[-1] <= _MOST_FEATURES:
            self.names.append("neighbours at their place")
            self.width += int(self._pair_starts[-1])
            if np.all(self.categories == self.categories[0]):
                self.names.append("neighbours anywhere")

    def features(self, codes: IntArray) -> list[FloatArray]:
        """One array per view, shape ``(states, features)``; states may be partial."""
        found = [self.values(codes)]
        if len(self.names) > 1:
            pairs = self._pairs(codes)
            found.append(pairs)
            if len(self.names) > 2:
                found.append(pairs.reshape(len(codes), len(self.categories) - 1, -1).sum(axis=1))
        return found

    def values(self, codes: IntArray) -> FloatArray:
        """The first view; the features of place i begin at ``starts[i]``."""
        categories = self.categories
        decided = codes >= 0
        rows = -(decided / categories).repeat(categories, axis=1)
        state, place = np.nonzero(decided)
        rows[state, self.starts[place] + codes[state, place]] += 1.0
        return rows

    def _pairs(self, codes: IntArray) -> FloatArray:
        """Of two neighbours the second may be undecided: the first then has it at random."""
        categories, sizes = self.categories, self._sizes
        first, second = codes[:, :-1], codes[:, 1:]
        known = (first >= 0) | (second >= 0)
        rows = -(known / sizes).repeat(sizes, axis=1)
        state, place = np.nonzero((first >= 0) & (second >= 0))
        own = self._pair_starts[place] + first[state, place] * categories[place + 1] + second[state, place]
        rows[state, own] += 1.0
        for state, place in zip(*np.nonzero(known & ((first < 0) | (second < 0))), strict=True):
            block = rows[state, self._pair_starts[place] : self._pair_starts[place + 1]]
            grid = block.reshape(categories[place], categories[place + 1])
            if first[state, place] >= 0:
                grid[first[state, place]] += 1.0 / categories[place + 1]
            else:
                grid[:, second[state, place]] += 1.0 / categories[place]
        return rows

    def grams(self, codes: IntArray) -> list[FloatArray]:
        """Inner products of complete states in each view, shape ``(states, states)``."""
        ones, zeros = np.ones(len(self.categories)), np.zeros(len(self.categories))
        found = list(common_places(codes, codes, ones, zeros, 0.0, float(len(self.names) > 1)))
        found = [count - chance for count, chance in zip(found, self._chances(ones), strict=True)]
        if len(self.names) > 2:
            counts = self._anywhere(codes)
            found.append(counts @ counts.T)
        return found[: len(self.names)]

    def norms(self, codes: IntArray, relevance: FloatArray) -> FloatArray:
        """Squared norms of complete states in each view, shape ``(states, views)``."""
        relevance = relevance if relevance.size else np.ones(len(self.categories))
        largest = np.array([relevance.sum(), len(self.categories) - 1]) - self._chances(relevance)
        found = np.tile(largest[: len(self.names)], (len(codes), 1))
        if len(self.names) > 2:
            found = np.column_stack([found, (self._anywhere(codes) ** 2).sum(axis=1)])
        return found

    def _chances(self, relevance: FloatArray) -> tuple[float, float]:
        """By how much centring lowers the inner products of the views at their place."""
        return float((relevance / self.categories).sum()), float((1.0 / self._sizes).sum())

    def compared(self, codes: IntArray, others: IntArray, weights: ViewWeights) -> Compared:
        """Complete states compared with others. Views without weight are not computed."""
        relevance = weights.relevance if weights.relevance.size else np.ones(len(self.categories))
        trend, falloff = weights.trend.tolist(), weights.falloff.tolist()
        pairs = (trend[1], falloff[1]) if len(self.names) > 1 else (0.0, 0.0)
        inner, near = common_places(codes, others, trend[0] * relevance, falloff[0] * relevance, *pairs)
        by_chance, pairs_by_chance = self._chances(relevance)
        inner -= trend[0] * by_chance + pairs[0] * pairs_by_chance
        near -= falloff[0] * float(relevance.sum()) + pairs[1] * (len(self.categories) - 1)
        if len(self.names) > 2 and (trend[2] > 0.0 or falloff[2] > 0.0):
            one, other = self._anywhere(codes), self._anywhere(others)
            product = one @ other.T
            inner += trend[2] * product
            halves = 0.5 * (one * one).sum(axis=1), 0.5 * (other * other).sum(axis=1)
            near += falloff[2] * (product - halves[0][:, None] - halves[1])
        return inner, near

    def _anywhere(self, codes: IntArray) -> FloatArray:
        """Counts of neighbouring categories, centred."""
        count = int(self.categories[0])
        pair = count**2 * np.arange(len(codes))[:, None] + codes[:, :-1] * count + codes[:, 1:]
        found = np.bincount(pair.ravel(), minlength=len(codes) * count**2).reshape(len(codes), -1)
        return np.asarray(found - (len(self.categories) - 1) / count**2)


class OrderViews:
    """Views of an order: item at its position, who comes before whom, who follows whom, who is beside whom.

    Orders are decided from the front; the rest of a partial order is a random order of the remaining items.

    Parameters
    ----------
    items : int
        Number of items.
    length : int
        Number of items in a complete order.
    """

    names = ("item at its position", "before", "follows", "adjacent")

    def __init__(self, items: int, length: int) -> None:
        self._items = n = items
        self.width = length * n + (n + 1) ** 2 + n * (n - 1)  # number of features in all views
        self._upper = np.triu_indices(n, 1)
        # Of a complete order: the positions, pairs of which one is placed, successors and neighbours that it
        # has, the last and the first included. Both neighbours of one of two items are the other one.
        edges = length if length > 1 else 0
        pairs = length * (length - 1) / 2 + length * (n - length)
        self._most = np.array([length, pairs, length + 1, 2 * edges if length == 2 else edges])
        # By how much centring lowers inner products.
        share = 2.0 / max(n - 1, 1)
        self._chance = np.array(
            [
                length / n,
                0.0,
                (2 * (length + 1) - (n + 1)) / n,
                share * (2.0 * edges - share * n * (n - 1) / 2.0),
            ]
        )

    def features(self, codes: IntArray) -> list[FloatArray]:
        """One array per view, shape ``(states, features)``; states may be partial."""
        n, states = self._items, len(codes)
        decided = codes >= 0
        row, place = np.nonzero(decided)
        item = codes[row, place]
        free = np.ones((states, n))
        free[row, item] = 0.0
        left = np.maximum(free.sum(axis=1), 1.0)
        share = free / left[:, None]
        position = (~decided)[:, :, None] * share[:, None, :]
        position[row, place, item] = 1.0
        follows = self._follows(codes, free, left, share)
        adjacent = self._adjacent(codes, follows, share)
        off = np.full((n + 1, n + 1), 1.0 / n)
        np.fill_diagonal(off, 0.0)
        return [
            (position - 1.0 / n).reshape(states, -1),
            self._before(codes).astype(np.float64),
            (follows - off).reshape(states, -1),
            adjacent - 2.0 / max(n - 1, 1),
        ]

    def _before(self, codes: IntArray) -> FloatArray:
        """1 or −1 for each two items, by which of them comes first; 0 if neither is placed."""
        rank = np.full((len(codes), self._items), self._items, dtype=np.float32)
        row, place = np.nonzero(codes >= 0)
        rank[row, codes[row, place]] = place
        return np.asarray(np.sign(rank[:, self._upper[1]] - rank[:, self._upper[0]]))

    def _follows(self, codes: IntArray, free: FloatArray, left: FloatArray, share: FloatArray) -> FloatArray:
        """Probability that the second follows the first; index ``items`` is the start, and the end."""
        n, states = self._items, len(codes)
        rows = np.zeros((states, n + 1, n + 1))
        chain = np.concatenate([np.full((states, 1), n), codes], axis=1)
        state, place = np.nonzero((chain[:, :-1] >= 0) & (chain[:, 1:] >= 0))
        rows[state, chain[state, place], chain[state, place + 1]] = 1.0
        last = chain[np.arange(states), (codes >= 0).sum(axis=1)]
        whole = (codes >= 0).all(axis=1)
        rows[whole, last[whole], n] = 1.0
        partial = np.flatnonzero(~whole)
        if partial.size > 0:
            rows[partial, last[partial], :n] += share[partial]
            rows[partial, :n, n] += share[partial]
            several = (free[partial].sum(axis=1) > 1)[:, None, None]
            both = free[partial][:, :, None] * free[partial][:, None, :] / left[partial][:, None, None]
            both[:, np.arange(n), np.arange(n)] = 0.0
            rows[partial, :n, :n] += both * several
        return rows

    def _adjacent(self, codes: IntArray, follows: FloatArray, share: FloatArray) -> FloatArray:
        """Probability that two items are neighbours, the last and the first included."""
        n, states = self._items, len(codes)
        beside = follows[:, :n, :n] + follows[:, :n, :n].transpose(0, 2, 1)
        begun = np.flatnonzero(codes[:, 0] >= 0)
        first = codes[begun, 0]
        closing = share[begun]
        whole = (codes[begun] >= 0).all(axis=1)
        closing[whole] = 0.0
        closing[np.flatnonzero(whole), codes[begun[whole], -1]] = 1.0
        beside[begun, first] += closing
        beside[begun, :, first] += closing
        empty = np.setdiff1d(np.arange(states), begun)
        beside[empty] += 2.0 / max(n * (n - 1), 1)
        return beside[:, self._upper[0], self._upper[1]]

    def grams(self, codes: IntArray) -> list[FloatArray]:
        """Inner products of complete states in each view, shape ``(states, states)``."""
        same, follows, adjacent = common_orders(codes, codes, self._items)
        counts = (same, self._common_before(codes, codes), follows, adjacent)
        return [count - chance for count, chance in zip(counts, self._chance, strict=True)]

    def norms(self, codes: IntArray, relevance: FloatArray) -> FloatArray:
        """Squared norms of complete states in each view, shape ``(states, views)``; positions are alike."""
        return np.tile(self._most - self._chance, (len(codes), 1))

    def compared(self, codes: IntArray, others: IntArray, weights: ViewWeights) -> Compared:
        """Complete states compared with others. Views without weight are not computed."""
        trend, falloff, _ = weights
        same, follows, adjacent = common_orders(codes, others, self._items)
        inner = np.full(same.shape, -float(trend @ self._chance))
        near = np.full(same.shape, -float(falloff @ self._most))
        for view, count in ((0, same), (2, follows), (3, adjacent)):
            inner += trend[view] * count
            near += falloff[view] * count
        if trend[1] > 0.0 or falloff[1] > 0.0:
            before = self._common_before(codes, others)
            inner += trend[1] * before
            near += falloff[1] * before
        return inner, near

    def _common_before(self, codes: IntArray, others: IntArray) -> FloatArray:
        """Pairs of items in the same order, less those in opposite order."""
        found = np.empty((len(codes), len(others)))
        step = max(1, _BLOCK // max(1, self._upper[0].size))
        for first in range(0, len(others), step):
            other = self._before(others[first : first + step]).T
            for second in range(0, len(codes), step):
                block = self._before(codes[second : second + step])
                found[second : second + step, first : first + step] = block @ other
        return found


@compiled
def common_places(
    a: IntArray, b: IntArray, trend: FloatArray, falloff: FloatArray, pair_trend: float, pair_falloff: float
) -> tuple[FloatArray, FloatArray]:
    """Sums over places with equal categories, and over neighbouring places that are both equal.

    ``trend`` and ``falloff`` are the weights of the two sums by place, ``pair_trend`` and ``pair_falloff``
    those of a pair of neighbours. Rows that follow each other mostly differ at few places, and only these are
    compared. The innermost loops run over the second rows, whose codes are transposed, so that they are
    vectorised.
    """
    places, count = a.shape[1], len(b)
    first, second = np.zeros((len(a), count)), np.zeros((len(a), count))
    others = np.ascontiguousarray(b.T)
    pairs = pair_trend != 0.0 or pair_falloff != 0.0
    for i in range(len(a)):
        one, other = first[i], second[i]
        changed = places
        if i % _AFRESH > 0:
            changed = 0
            for place in range(places):
                changed += a[i, place] != a[i - 1, place]
        afresh = 3 * changed >= places
        if not afresh:
            one[:], other[:] = first[i - 1], second[i - 1]
        for place in range(places):
            code = a[i, place]
            before = -1 if afresh else a[i - 1, place]
            if code != before:
                theirs, more, near = others[place], trend[place], falloff[place]
                for j in range(count):
                    change = np.float64(theirs[j] == code) - np.float64(theirs[j] == before)
                    one[j] += more * change
                    other[j] += near * change
            if pairs and place > 0:
                left = a[i, place - 1]
                left_before = -1 if afresh else a[i - 1, place - 1]
                if code != before or left != left_before:
                    theirs, theirs_left = others[place], others[place - 1]
                    for j in range(count):
                        change = np.float64((theirs[j] == code) & (theirs_left[j] == left))
                        change -= np.float64((theirs[j] == before) & (theirs_left[j] == left_before))
                        one[j] += pair_trend * change
                        other[j] += pair_falloff * change
    return first, second


@compiled
def common_orders(a: IntArray, b: IntArray, items: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Numbers of equal positions, of equal successors, and of equal neighbours.

    Successors include the start and the end, neighbours the last and the first.
    """
    n, count = a.shape[1], len(b)
    same, follow, beside = np.zeros((len(a), count)), np.zeros((len(a), count)), np.zeros((len(a), count))
    # Where the items of the second orders are; those that do not occur are far from all others.
    rank = np.full((items, count), -2 * n)
    for j in range(count):
        for place in range(n):
            rank[b[j, place], j] = place
    for i in range(len(a)):
        for place in range(n):
            own = rank[a[i, place]]
            last = place + 1 == n
            after = rank[a[i, 0 if last else place + 1]]
            for j in range(count):
                step = after[j] - own[j]
                next_to = step == 1
                same[i, j] += own[j] == place
                if n > 1:  # two items are neighbours on both sides
                    beside[i, j] += next_to or step == -1
                    beside[i, j] += step == n - 1 or step == 1 - n
                if not last:
                    follow[i, j] += next_to
        first, final = rank[a[i, 0]], rank[a[i, n - 1]]
        for j in range(count):
            follow[i, j] += first[j] == 0
            follow[i, j] += final[j] == n - 1
    return same, follow, beside
