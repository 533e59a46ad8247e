"""Proposers without a model: a random leaf near a good one, or anywhere."""

import numpy as np

from dagsearch._internal.parts import Configured
from dagsearch.proposers.base import View
from dagsearch.proposers.rollouts import Uniform
from dagsearch.results import Evaluation, Proposal

# Number of neighbours to try around one leaf.
_TRIES = 100


class Nearby(Configured):
    """Proposes a random open leaf a few changes away from a good leaf: mostly one, sometimes many.

    The number k of changes has probability proportional to k^(−3/2), a heavy tail (Doerr et al., "Fast
    genetic algorithms", 2017), which escapes plateaus and local optima. It starts from the best leaf with
    probability 1/2, from the next one with 1/4, and so on, so as not to be stuck at a local optimum.
    """

    def propose(self, view: View, rng: np.random.Generator) -> Proposal | None:
        """A random neighbour of a good leaf, or of the next one if all are closed."""
        good = view.good()
        if not good or view.space.has_players:
            return None
        first = min(int(rng.geometric(0.5)), len(good)) - 1
        for evaluation in (*good[first:], *good[:first]):
            found = self._neighbour(view, evaluation, rng)
            if found is not None:
                return found
        return None

    def _neighbour(self, view: View, evaluation: Evaluation, rng: np.random.Generator) -> Proposal | None:
        moves = view.space.moves
        point = moves.points([(evaluation.leaf, evaluation.actions or ())])[0]
        chances = np.arange(1, max(len(evaluation.actions or ()) // 2, 1) + 1) ** -1.5
        for _ in range(int(rng.choice(chances.size, p=chances / chances.sum()))):  # before the last change
            changed = moves.around(point, 1, rng)
            point = point if len(changed) == 0 else changed[0]
        around = moves.around(point, _TRIES, rng)
        for place in rng.permutation(len(around)).tolist():
            leaf = moves.leaf(around[place])
            way = None if view.index.is_closed(leaf) else moves.way(around[place])
            if way is not None:
                return Proposal(way[0], tuple(way[1]))
        return None


class Random(Configured):
    """Proposes a leaf at the end of uniformly random decisions."""

    def propose(self, view: View, rng: np.random.Generator) -> Proposal | None:
        """A random leaf; any open one if several in a row are closed; ``None`` if none is left."""
        found = Uniform().finish(view.index, view.space.problem.root(), rng) or view.remaining.anywhere()
        return None if found is None else Proposal(found[0], tuple(found[1]))
