"""The best leaf a few single decisions away from good ones."""

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.proposers.base import Outcomes, Path, Refinement
from dagsearch.proposers.improvement import log_expected_improvement
from dagsearch.proposers.neighbourhoods import Swap, best_swap
from dagsearch.results import Evaluation
from dagsearch.values.explored import Explored


class Swaps(Refinement):
    """Climbs the expected improvement from several leaves, one decision at a time.

    For problems in which the order of decisions does not matter; elsewhere only the last one is changed.

    Parameters
    ----------
    starts : int
        Number of good leaves to start from.
    explorers : int
        Number of evaluated leaves to start from that are chosen at random.
    depth : int
        Maximum number of swaps from a start. Each swap must improve on the one before.
    """

    requires_joint = True

    def __init__(self, starts: int = 1, explorers: int = 1, depth: int = 4) -> None:
        self.starts, self.explorers, self.depth = int(starts), int(explorers), int(depth)

    def refine(self, explored: Explored, outcomes: Outcomes, rng: np.random.Generator) -> Path | None:
        """The open leaf with the largest expected improvement on all paths up."""
        target, evaluated = outcomes.target(explored), outcomes.evaluated
        others = rng.choice(len(evaluated), min(self.explorers, len(evaluated)), replace=False)
        starts = [*outcomes.good[: self.starts], *(evaluated[other] for other in others)]
        ends = [self._climb(explored, start, target) for start in starts]
        best = max((end for end in ends if end is not None), key=lambda end: end.rating, default=None)
        return None if best is None else (best.leaf, best.actions)

    def _climb(self, explored: Explored, start: Evaluation, target: float) -> Swap | None:
        def rate(mean: FloatArray, variance: FloatArray) -> FloatArray:
            return log_expected_improvement(mean, variance, target)

        leaf, actions, best = start.leaf, list(start.actions or ()), None
        for _ in range(self.depth):
            found = best_swap(explored, explored.problem.root(), leaf, actions, rate)
            if found is None or (best is not None and found.rating <= best.rating):
                break
            best, leaf, actions = found, found.leaf, found.actions
        return best

    def __repr__(self) -> str:
        return f"Swaps(starts={self.starts}, explorers={self.explorers}, depth={self.depth})"
