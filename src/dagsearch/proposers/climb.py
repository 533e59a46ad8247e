"""Local search of the belief: the leaf of largest expected improvement a few changes away from good ones."""

import math

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.posterior.base import Capability
from dagsearch.proposers.base import Outcomes, Path, Refinement
from dagsearch.proposers.improvement import log_expected_improvement
from dagsearch.proposers.neighbourhoods import predicted
from dagsearch.space.codes import Coding
from dagsearch.values.explored import Explored

# Number of leaves at a time whose variance is computed: those with the best means.
_CLOSER = 64
# Most neighbours that are compared in one step; of more, a random part.
_MOST_NEIGHBOURS = 100


class Climb(Refinement):
    """Climbs the expected improvement from several leaves, one change at a time.

    For states with codes (:class:`dagsearch.space.codes.Coding`); elsewhere it proposes nothing. A change may be
    at any place, whenever that was decided.

    Parameters
    ----------
    starts : int
        Number of good leaves to start from.
    explorers : int
        Number of evaluated leaves to start from that are chosen at random.
    depth : int
        Maximum number of changes from a start.
    """

    requires = frozenset({Capability.UPPER_CONFIDENCE})

    def __init__(self, starts: int = 2, explorers: int = 1, depth: int = 4) -> None:
        self.starts, self.explorers, self.depth = int(starts), int(explorers), int(depth)

    def refine(self, explored: Explored, outcomes: Outcomes, rng: np.random.Generator) -> Path | None:
        """The open leaf with the largest expected improvement on all paths up."""
        coding, evaluated = explored.coding, outcomes.evaluated
        if coding is None:
            return None
        landscape = _Landscape(explored, coding, outcomes.target(explored))
        others = rng.choice(len(evaluated), min(self.explorers, len(evaluated)), replace=False)
        chosen = [*outcomes.good[: self.starts], *(evaluated[other] for other in others)]
        starts = coding.codes([evaluation.leaf for evaluation in chosen])
        found = self._climb(landscape, starts, rng)
        if found is None:
            return None
        leaf = coding.leaf_of(found)
        return leaf, list(coding.path_to(leaf))

    def _climb(self, landscape: "_Landscape", starts: IntArray, rng: np.random.Generator) -> IntArray | None:
        """The best open leaf on all paths up, which are followed side by side."""
        rating = landscape.rate(starts)
        reached = [
            (float(value) if landscape.is_open(codes) else -math.inf, codes)
            for value, codes in zip(rating, starts, strict=True)
        ]
        best = max(reached, key=lambda one: one[0])
        for _ in range(self.depth):
            landscape.deadline.check()
            around = [landscape.coding.neighbours(codes, _MOST_NEIGHBOURS, rng) for _, codes in reached]
            ends = np.cumsum([len(codes) for codes in around])
            if ends[-1] == 0:  # there is only one leaf
                break
            rated = np.split(landscape.rate(np.concatenate(around)), ends[:-1])
            higher = []
            for (before, _), codes, rating in zip(reached, around, rated, strict=True):
                step = landscape.first_open(codes, rating)
                if step is not None and rating[step] > before:
                    higher.append((float(rating[step]), codes[step]))
            if not higher:
                break
            reached = higher
            best = max([best, *reached], key=lambda one: one[0])
        return best[1] if best[0] > -math.inf else None

    def __repr__(self) -> str:
        return f"Climb(starts={self.starts}, explorers={self.explorers}, depth={self.depth})"


class _Landscape:
    """Expected improvement of leaves given by their codes."""

    def __init__(self, explored: Explored, coding: Coding, target: float) -> None:
        self._explored, self.coding, self._target = explored, coding, target
        self.deadline = explored.deadline

    def rate(self, codes: IntArray) -> FloatArray:
        """Logarithm of the expected improvement, shape ``(leaves,)``; −∞ if many others have better means."""
        closer, mean, variance = predicted(self._explored, self.coding, codes, _CLOSER)
        rating = np.full(len(codes), -np.inf)
        rating[closer] = log_expected_improvement(mean, variance, self._target)
        return rating

    def is_open(self, codes: IntArray) -> bool:
        """Whether the leaf may be evaluated."""
        return not self._explored.is_closed(self.coding.leaf_of(codes))

    def first_open(self, codes: IntArray, rating: FloatArray) -> int | None:
        """The best rated leaf that may be evaluated."""
        for place in np.argsort(-rating, kind="stable").tolist():
            if rating[place] > -math.inf and self.is_open(codes[place]):
                return int(place)
        return None
