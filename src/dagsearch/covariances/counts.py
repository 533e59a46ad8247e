"""What states have in common, computed from their codes.

Codes have the shape ``(states, places)``. They are −1 where a place is undecided. A view is a way to describe
a state by features that are centred: zero on average over random leaves. Complete states are compared by
counting what they share; no features are made, since an order of 100 items has 30,201 of them. The features
of a partial state are the expected ones of its random completions.
"""

from itertools import pairwise

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.problem import Layout

# A view with more features than this is left out.
_MOST_FEATURES = 1200
# Number of rows after which sums are made afresh, so that rounding errors do not add up.
_AFRESH = 64
# Numbers in a block of signs by which orders are compared: 16 MB.
_BLOCK = 4_000_000


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
        self._sizes = self.categories[:-1] * self.categories[1:]
        self.names = ["value at its place"]
        self.width = int(self.categories.sum())  # number of features, of the last view aside
        if len(self.categories) > 2 and self._sizes.sum() <= _MOST_FEATURES:
            self.names.append("neighbours at their place")
            self.width += int(self._sizes.sum())
            if np.all(self.categories == self.categories[0]):
                self.names.append("neighbours anywhere")

    def features(self, codes: IntArray) -> list[FloatArray]:
        """One array per view, shape ``(states, features)``; states may be partial."""
        chances = [_chances(column, count) for column, count in zip(codes.T, self.categories, strict=True)]
        found = [np.concatenate([chance - 1.0 / chance.shape[1] for chance in chances], axis=1)]
        if len(self.names) > 1:
            both = [first[:, :, None] * second[:, None, :] for first, second in pairwise(chances)]
            pairs = [(grid - 1.0 / grid[0].size).reshape(len(codes), -1) for grid in both]
            found.append(np.concatenate(pairs, axis=1))
            if len(self.names) > 2:
                found.append(np.sum(pairs, axis=0))
        return found

    def grams(
        self, codes: IntArray, others: IntArray, relevance: FloatArray, wanted: BoolArray
    ) -> FloatArray:
        """Inner products of complete states in each view, shape ``(views, codes, others)``.

        The first view is weighted by the relevance of each place. Views that are not wanted may be zero.
        """
        found = np.zeros((len(self.names), len(codes), len(others)))
        # An array of no rows says that neighbours do not count.
        pairs = found[1] if wanted[1:2].any() else np.empty((0, 0))
        common_places(codes, others, relevance, found[0], pairs)
        found[0] -= float((relevance / self.categories).sum())
        pairs -= float((1.0 / self._sizes).sum())
        if wanted[2:].any():
            np.matmul(self._anywhere(codes), self._anywhere(others).T, out=found[2])
        return found

    def norms(self, codes: IntArray, relevance: FloatArray) -> FloatArray:
        """Squared norms of complete states in each view, shape ``(states, views)``."""
        norms = [
            float((relevance * (1.0 - 1.0 / self.categories)).sum()),
            float((1.0 - 1.0 / self._sizes).sum()),
        ]
        found = np.tile(norms[: len(self.names)], (len(codes), 1))
        if len(self.names) > 2:
            found = np.column_stack([found, (self._anywhere(codes) ** 2).sum(axis=1)])
        return found

    def _anywhere(self, codes: IntArray) -> FloatArray:
        """Counts of neighbouring categories, centred."""
        count = int(self.categories[0])
        pair = count**2 * np.arange(len(codes))[:, None] + codes[:, :-1] * count + codes[:, 1:]
        found = np.bincount(pair.ravel(), minlength=len(codes) * count**2).reshape(-1, count**2)
        return np.asarray(found - (len(self.categories) - 1) / count**2)


def _chances(codes: IntArray, count: int) -> FloatArray:
    """Probability of each category at one place, shape ``(states, count)``."""
    return np.where(codes[:, None] >= 0, codes[:, None] == np.arange(count), 1.0 / count)


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
        self._items, self._length = items, length
        self._upper = np.triu_indices(items, 1)
        self.width = length * items + (items + 1) ** 2 + 2 * self._upper[0].size  # number of features
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
        return np.asarray(np.sign(rank[:, self._upper[1]] - rank[:, self._upper[0]]))

    def grams(
        self, codes: IntArray, others: IntArray, relevance: FloatArray, wanted: BoolArray
    ) -> FloatArray:
        """Inner products of complete states in each view, shape ``(views, codes, others)``.

        Positions have no relevance. Views that are not wanted may be zero.
        """
        found = np.zeros((len(self.names), len(codes), len(others)))
        common_orders(codes, others, self._items, found[0], found[2], found[3])
        if wanted[1]:
            self._common_before(codes, others, found[1])
        for view, chance in enumerate(self._chance):
            found[view] -= chance
        return found

    def _common_before(self, codes: IntArray, others: IntArray, found: FloatArray) -> None:
        """Write the number of pairs of items in the same order, less those in opposite order."""
        step = max(1, _BLOCK // max(1, self._upper[0].size))
        for first in range(0, len(others), step):
            other = self._before(others[first : first + step]).T
            for second in range(0, len(codes), step):
                block = self._before(codes[second : second + step])
                found[second : second + step, first : first + step] = block @ other

    def norms(self, codes: IntArray, relevance: FloatArray) -> FloatArray:
        """Squared norms of complete states in each view, shape ``(states, views)``."""
        return np.tile(self._norms, (len(codes), 1))


def _joint(first: FloatArray, second: FloatArray, undecided: BoolArray, pair: FloatArray) -> FloatArray:
    """Sum over pairs of positions of the probability of what they hold, shape ``(states, items, items)``.

    ``first`` and ``second`` have the shape ``(states, pairs, items)``; ``pair`` is the probability where both
    positions are undecided.
    """
    known = np.where(undecided[:, :, None], 0.0, first)
    return np.asarray(known.transpose(0, 2, 1) @ second + undecided.sum(axis=1)[:, None, None] * pair)


@compiled
def common_places(
    a: IntArray, b: IntArray, weights: FloatArray, equal: FloatArray, pairs: FloatArray
) -> None:
    """Add weights of places with equal categories, and numbers of neighbouring places that are both equal.

    Both have the shape ``(a, b)``; ``pairs`` may have no rows. Rows that follow each other mostly differ at
    few places, and only these are compared. The innermost loops run over the second rows, whose codes are
    transposed, so that they are vectorised.
    """
    places, count = a.shape[1], len(b)
    others = np.ascontiguousarray(b.T)
    for i in range(len(a)):
        changed = places
        if i % _AFRESH > 0:
            changed = 0
            for place in range(places):
                changed += a[i, place] != a[i - 1, place]
        afresh = 3 * changed >= places
        if not afresh:
            equal[i] = equal[i - 1]
        for place in range(places):
            code, before = a[i, place], -1 if afresh else a[i - 1, place]
            if code != before:
                theirs, one, weight = others[place], equal[i], weights[place]
                for j in range(count):
                    one[j] += weight * (np.float64(theirs[j] == code) - np.float64(theirs[j] == before))
        if len(pairs) == 0:
            continue
        if not afresh:
            pairs[i] = pairs[i - 1]
        for place in range(1, places):
            left, code = a[i, place - 1], a[i, place]
            left_before, before = (-1, -1) if afresh else (a[i - 1, place - 1], a[i - 1, place])
            if code != before or left != left_before:
                theirs_left, theirs, one = others[place - 1], others[place], pairs[i]
                for j in range(count):
                    change = np.float64((theirs[j] == code) & (theirs_left[j] == left))
                    one[j] += change - np.float64((theirs[j] == before) & (theirs_left[j] == left_before))


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
