"""Views of states that are given as codes: features of a state, or expected ones of its random completions.

Every function takes codes, shape ``(states, places)``, −1 where a place is undecided, and returns one row of
centred features per state: zero on average over random leaves.
"""

from typing import NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances._leaves import common_orders, common_places

# A view with more features than this is left out.
_MOST_FEATURES = 1200


class LeafWeights(NamedTuple):
    """What views are weighted with."""

    scales: FloatArray
    """Scale of the features of each view."""
    linear: FloatArray
    """Variance of the trend in each view."""
    decay: FloatArray
    """How fast the covariance falls off in each view."""
    relevance: FloatArray
    """Weight of each place in the first view of places; empty if all are alike."""


Compared = tuple[FloatArray, FloatArray, FloatArray]
"""Of leaves and others: weighted inner products, minus half the weighted squared distances, squared norms."""


class PlaceViews:
    """Views of a categorical vector: values and neighbouring values at their place, and the latter anywhere.

    Parameters
    ----------
    categories : array of int, shape ``(places,)``
        Number of categories of each place.
    """

    def __init__(self, categories: IntArray) -> None:
        self.categories = np.asarray(categories, dtype=np.int64)
        self._starts = np.concatenate([[0], np.cumsum(self.categories)])
        sizes = self.categories[:-1] * self.categories[1:]
        self._pair_starts = np.concatenate([[0], np.cumsum(sizes)])
        self.names = ["value at its place"]
        if len(self.categories) > 2 and self._pair_starts[-1] <= _MOST_FEATURES:
            self.names.append("neighbours at their place")
            if np.all(self.categories == self.categories[0]):
                self.names.append("neighbours anywhere")

    def features(self, codes: IntArray) -> list[FloatArray]:
        """One array per view, shape ``(states, features)``."""
        found = [self._values(codes)]
        if len(self.names) > 1:
            pairs = self._pairs(codes)
            found.append(pairs)
            if len(self.names) > 2:
                found.append(pairs.reshape(len(codes), len(self.categories) - 1, -1).sum(axis=1))
        return found

    def _values(self, codes: IntArray) -> FloatArray:
        categories = self.categories
        decided = codes >= 0
        rows = -(decided / categories).repeat(categories, axis=1)
        state, place = np.nonzero(decided)
        rows[state, self._starts[place] + codes[state, place]] += 1.0
        return rows

    def _pairs(self, codes: IntArray) -> FloatArray:
        """Of two neighbours the second may be undecided: the first then has it at random."""
        categories = self.categories
        sizes = categories[:-1] * categories[1:]
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

    def has_all_items(self, codes: IntArray) -> bool:
        """Whether leaves can be compared by their codes alone, which they always can here."""
        return True

    def of_leaves(self, codes: IntArray, others: IntArray, weights: LeafWeights) -> Compared:
        """Leaves compared by their codes."""
        squares, categories = weights.scales**2, self.categories
        relevance = weights.relevance if weights.relevance.size else np.ones(len(categories))
        trend, falloff = weights.linear * squares, weights.decay * squares
        place_trend, place_falloff = trend[0] * relevance, falloff[0] * relevance
        pairs = (float(trend[1]), float(falloff[1])) if len(self.names) > 1 else (0.0, 0.0)
        inner, near = common_places(codes, others, place_trend, place_falloff, *pairs)
        chance = float((place_trend / categories).sum())
        largest = float(place_trend.sum())
        if len(self.names) > 1:
            chance += pairs[0] * float((1.0 / (categories[:-1] * categories[1:])).sum())
            largest += pairs[0] * (len(categories) - 1)
        inner -= chance
        near -= float(place_falloff.sum()) + pairs[1] * (len(categories) - 1)
        norms = np.full(len(codes), largest - chance)
        if len(self.names) > 2:
            one, other = self._anywhere(codes), self._anywhere(others)
            product = one @ other.T
            own, theirs = (one * one).sum(axis=1), (other * other).sum(axis=1)
            inner += trend[2] * product
            near += falloff[2] * (product - 0.5 * (own[:, None] + theirs))
            norms = norms + trend[2] * own
        return inner, np.minimum(near, 0.0), norms

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
    """

    names = ("item at its position", "before", "follows", "adjacent")

    def __init__(self, items: int) -> None:
        self._items = items
        self._upper = np.triu_indices(items, 1)

    def features(self, codes: IntArray) -> list[FloatArray]:
        """One array per view, shape ``(states, features)``."""
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
        rank = np.full((states, n), float(n))
        rank[row, item] = place
        before = np.sign(rank[:, self._upper[1]] - rank[:, self._upper[0]])
        follows = self._follows(codes, free, left, share)
        adjacent = self._adjacent(codes, follows, share)
        off = np.full((n + 1, n + 1), 1.0 / n)
        np.fill_diagonal(off, 0.0)
        return [
            (position - 1.0 / n).reshape(states, -1),
            before,
            (follows - off).reshape(states, -1),
            adjacent - 2.0 / max(n - 1, 1),
        ]

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

    def has_all_items(self, codes: IntArray) -> bool:
        """Whether leaves can be compared by their codes alone: if they are orders of all items."""
        return int(codes.shape[1]) == self._items

    def of_leaves(self, codes: IntArray, others: IntArray, weights: LeafWeights) -> Compared:
        """Leaves compared by their codes, which hold every item."""
        n, squares = self._items, weights.scales**2
        trend, falloff = weights.linear * squares, weights.decay * squares
        same, follows, adjacent = common_orders(codes, others)
        counts = (same, self._before(codes) @ self._before(others).T, follows, adjacent)
        most = np.array([n, n * (n - 1) / 2, n + 1, n], dtype=np.float64)
        chance = float(trend @ [1.0, 0.0, (n + 1) / n, 2.0 * n / max(n - 1, 1)])
        inner, near = np.full(same.shape, -chance), np.full(same.shape, -float(falloff @ most))
        for count, weight, fall in zip(counts, trend.tolist(), falloff.tolist(), strict=True):
            inner += weight * count
            near += fall * count
        norms = np.full(len(codes), float(trend @ most) - chance)
        return inner, np.minimum(near, 0.0), norms

    def _before(self, codes: IntArray) -> FloatArray:
        """1 or −1 for each two items, by which of them comes first."""
        rank = np.argsort(codes, axis=1)
        return np.where(rank[:, self._upper[0]] < rank[:, self._upper[1]], 1.0, -1.0)
