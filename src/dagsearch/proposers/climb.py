"""Local search for the leaf of largest expected improvement, a few changes away from good leaves."""

import math
from collections.abc import Iterable, Sequence
from heapq import nlargest
from itertools import chain, repeat
from operator import itemgetter
from typing import Any, cast

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.parts import Configured
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.covariances import SetKernel
from dagsearch.posterior.base import JointScores, largest
from dagsearch.posterior.function import FunctionScores
from dagsearch.posterior.index import Index
from dagsearch.proposers.base import View
from dagsearch.results import Proposal
from dagsearch.space import Coding
from dagsearch.space.moves import Moves, Points

# Number of good leaves that a climb starts from, and the most changes from a start.
_STARTS, _DEPTH = 2, 4
# Variances are computed for this number of leaves at a time: those with the best means.
_CLOSER = 64
# Most neighbours that are compared in one step; beyond it, a random sample.
_MOST_NEIGHBOURS = 100
# Number of the best leaves that are checked at the end before the climb gives up.
_MOST_CHECKED = 32


class Climb(Configured):
    """Climbs the expected improvement from two good leaves and some others, a few changes from each.

    A change may affect any place, early or late in the path (:mod:`dagsearch.space.moves`).

    Parameters
    ----------
    explorers : int
        Number of random evaluated leaves to start from.
    """

    requires_joint = True

    def __init__(self, explorers: int = 1) -> None:
        self.explorers = int(explorers)
        self._known = _KnownCodes()

    def propose(self, view: View, rng: np.random.Generator) -> Proposal | None:
        """The open leaf with the largest expected improvement on all climbs."""
        good, reached = view.good(), view.part.reached
        if not good or view.space.has_players:
            return None
        nodes = [one.row for one in good]
        landscape = _Landscape(view, view.space.moves, nodes, self._known)
        every, coding = view.space.few_codes, view.space.coding
        if every is not None and coding is not None and coding.layout.kind == "places":
            return landscape.best_leaf(zip(landscape.rate_open([every])[0].tolist(), every, strict=True))
        others = rng.choice(len(reached), min(self.explorers, len(reached)), replace=False)
        chosen = [*good[:_STARTS], *map(reached.__getitem__, others)]
        starts = landscape.moves.points([(one.leaf, one.actions or ()) for one in chosen])
        return landscape.best_leaf(self._climb(landscape, starts, rng))

    def _climb(
        self, landscape: "_Landscape", starts: Points, rng: np.random.Generator
    ) -> list[tuple[float, Any]]:
        """All open points on the climbs, with their ratings; the climbs advance in parallel."""
        reached = list(zip(landscape.rate(starts).tolist(), starts, strict=True))
        met = [one for one, closed in zip(reached, landscape.closed(starts), strict=True) if not closed]
        for _ in range(_DEPTH):
            landscape.index.deadline.check()
            around = landscape.around([point for _, point in reached], rng)
            higher = []
            for (before, _), points, rating in zip(reached, around, landscape.rate_open(around), strict=True):
                best = landscape.first_leaf(points, rating)
                if best is not None:
                    met.append((float(rating[best]), points[best]))
                    if rating[best] > before:
                        higher.append(met[-1])
            if not higher:
                break
            reached = higher
        return met


class _Landscape:
    """Expected improvement of points."""

    def __init__(self, view: View, moves: Moves, good: Sequence[int], known: "_KnownCodes") -> None:
        self.index, self.moves = view.index, moves
        self._scores = scores = cast(JointScores, view.posterior.scores)
        self._posterior = view.posterior
        self._known = None if view.space.coding is None else known.read(view.index)
        reads = isinstance(scores, FunctionScores) and scores.covariance.reads_codes
        self._reader = cast(FunctionScores, scores) if reads else None
        all_swaps = view.space.is_of_one_size and view.space.allowed is None
        rates_swaps = reads and isinstance(scores.covariance, SetKernel) and view.posterior.informed
        self._by_swaps = all_swaps and rates_swaps
        # How far above the best score to aim, in the model's units.
        self._target = float(scores.means(good).max()) + view.part.margin

    def around(self, points: Sequence[Any], rng: np.random.Generator) -> Sequence[Points]:
        """Points one change away from each: the swaps with the best means, else a random sample."""
        if self._by_swaps and self._reader is not None and self._known is not None:
            return self._reader.best_swaps(np.array(points), _CLOSER, map(self._known.closed_beside, points))
        return [self.moves.around(point, _MOST_NEIGHBOURS, rng) for point in points]

    def rate(self, points: Points) -> FloatArray:
        """Logarithm of the expected improvement, shape ``(points,)``; −∞ for points with low means."""
        rating = np.full(len(points), -np.inf)
        if len(points) == 0:
            return rating
        if self._reader is not None:
            most = len(points) if self._by_swaps else _CLOSER  # swaps were selected by mean already
            # Leaves' own rewards matter only if leaves are evaluated again.
            nodes = self._known.nodes(points) if self._known and self._posterior.learns_noise else None
            closer, mean, variance = self._reader.predict_codes(points, most, nodes)
            if self._by_swaps or self._posterior.learns_noise:
                # Private variance teaches nothing about other leaves. Elsewhere, the first 25 evaluations are
                # better with it.
                variance = np.maximum(variance - self._scores.covariance.private, 0.0)
        else:
            predictor = self._posterior if self._posterior.learns_noise else self._scores
            mean, variance = predictor.predict([self.moves.leaf(point) for point in points])
            closer = largest(mean, len(points) if self._known is None else _CLOSER)
            mean, variance = mean[closer], variance[closer]
        # Leaves that the model does not distinguish must tie despite rounding errors.
        rating[closer] = log_expected_improvement(mean, variance, self._target).round(9)
        return rating

    def rate_open(self, groups: Sequence[Points]) -> list[FloatArray]:
        """:meth:`rate` of several groups of points at once; −∞ also for closed points."""
        together = np.concatenate(groups) if self._known else list(chain.from_iterable(groups))
        rating = self.rate(together)
        if not self._by_swaps:  # swaps are open leaves
            rating[self.closed(together)] = -np.inf
        return np.split(rating, np.cumsum([len(group) for group in groups[:-1]]))

    def closed(self, points: Points) -> BoolArray:
        """Which points are closed; found by codes if possible, without making leaves."""
        if self._known is None:
            return np.array(
                [self.index.is_closed(self.moves.leaf(point)) for point in points], dtype=np.bool_
            )
        nodes = self._known.nodes(points)
        return np.asarray((nodes >= 0) & self.index.table.closed[nodes])

    def first_leaf(self, points: Points, rating: FloatArray) -> int | None:
        """The best rated point that is a leaf."""
        for place in (-rating).argsort(kind="stable").tolist():
            if rating[place] == -math.inf:
                break
            if self.moves.certain or self.moves.way(points[place]):
                return int(place)
        return None

    def best_leaf(self, met: Iterable[tuple[float, Any]]) -> Proposal | None:
        """The best open leaf among points with their ratings, if there is one."""
        for rating, point in nlargest(_MOST_CHECKED, met, key=itemgetter(0)):
            if rating == -math.inf:
                break
            way = self.moves.way(point)
            if way is not None and not self.index.is_closed(way[0]):
                return Proposal(way[0], tuple(way[1]))
        return None


class _KnownCodes:
    """The codes of all numbered leaves, cached between climbs."""

    def __init__(self) -> None:
        self._index: Index | None = None
        self._coding: Coding | None = None

    def read(self, index: Index) -> "_KnownCodes":
        """Add the codes of new leaves."""
        coding, states = index.space.coding, index.states
        assert coding is not None
        if index is not self._index or coding is not self._coding:  # of another search, or grown
            self._index, self._coding, self._seen = index, coding, 0
            self._chosen = np.zeros((0, len(coding.layout.categories)), dtype=np.bool_)
            self._narrow = np.min_scalar_type(-int(coding.layout.categories.max(initial=1)))
            self._row_of: dict[bytes, int] = {}
        fresh = [row for row in range(self._seen, len(states)) if index.is_leaf(row)]
        if fresh:
            codes = coding.codes([states[row] for row in fresh])
            self._chosen = grown(self._chosen, len(states), codes.shape[1])
            self._chosen[fresh] = codes == 1
            self._row_of.update(zip(self._keys(codes), fresh, strict=True))
        self._seen, self._is_closed = len(states), index.table.closed
        return self

    def closed_beside(self, codes: IntArray) -> BoolArray:
        """Closed leaves one swap away, if all leaves have one size: true at every chosen place."""
        chosen = np.flatnonzero(codes == 1)
        beside = np.flatnonzero(self._chosen[: self._seen, chosen].sum(axis=1) == chosen.size - 1)
        return np.asarray(self._chosen[beside[self._is_closed[beside]]])

    def nodes(self, points: IntArray) -> IntArray:
        """Numbers of the leaves with these codes, −1 for unknown leaves."""
        return np.array(list(map(self._row_of.get, self._keys(points), repeat(-1))), dtype=np.int64)

    def _keys(self, codes: IntArray) -> list[bytes]:
        # Most places have few options, so that small integers take an eighth of the memory.
        rows = np.ascontiguousarray(codes, dtype=self._narrow)
        found: list[bytes] = rows.view(f"V{rows.itemsize * codes.shape[1]}").ravel().tolist()
        return found


def log_expected_improvement(mean: FloatArray, variance: FloatArray, best: float) -> FloatArray:
    """log E[max(g − best, 0)] for g ~ N(mean, variance).

    With z = (mean − best)/σ it is log σ + log(φ(z) + zΦ(z)). For z < −1 both terms nearly cancel; there
    φ(z) + zΦ(z) = φ(z) (1 + z sqrt(π/2) erfcx(−z/√2)) is stable.
    """
    from scipy import special  # slow to import

    deviation = np.sqrt(np.maximum(variance, 1e-18))
    z = (mean - best) / deviation
    low = np.minimum(z, -1.0)
    scaled = 1.0 + low * math.sqrt(math.pi / 2.0) * special.erfcx(-low / math.sqrt(2.0))
    tail = -0.5 * low * low - 0.5 * math.log(2.0 * math.pi) + np.log(np.maximum(scaled, 1e-300))
    high = np.maximum(z, -1.0)
    density = np.exp(-0.5 * high * high) / math.sqrt(2.0 * math.pi)
    head = np.log(density + high * np.exp(special.log_ndtr(high)))
    return np.asarray(np.log(deviation) + np.where(z < -1.0, tail, head))
