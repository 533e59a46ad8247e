"""A random leaf next to a good one: local search, for rewards that the model does not predict."""

import numpy as np

from dagsearch.proposers.base import Outcomes, Path, Refinement
from dagsearch.proposers.neighbourhoods import parents
from dagsearch.results import Evaluation
from dagsearch.values.explored import Explored

# Number of leaves that are tried around one leaf.
_TRIES = 100


class Nearby(Refinement):
    """Proposes a random open leaf one change away from a good leaf.

    It starts from the best leaf half of the time, from the next one half of the remaining times, and so on: a
    leaf whose neighbours are all worse must not stop it.
    """

    def refine(self, explored: Explored, outcomes: Outcomes, rng: np.random.Generator) -> Path | None:
        """A random neighbour of a good leaf, or of the next one if all are closed."""
        first = min(int(rng.geometric(0.5)), len(outcomes.good)) - 1
        for evaluation in (*outcomes.good[first:], *outcomes.good[:first]):
            found = self._neighbour(explored, evaluation, rng)
            if found is not None:
                return found
        return None

    def _neighbour(self, explored: Explored, evaluation: Evaluation, rng: np.random.Generator) -> Path | None:
        coding = explored.coding
        if coding is not None:
            around = coding.neighbours(coding.codes([evaluation.leaf])[0], _TRIES, rng)
            for codes in rng.permutation(around):
                leaf = coding.leaf_of(codes)
                if not explored.is_closed(leaf):
                    return leaf, list(coding.path_to(leaf))
            return None
        return self._swapped(explored, evaluation, rng)

    def _swapped(self, explored: Explored, evaluation: Evaluation, rng: np.random.Generator) -> Path | None:
        """Where states have no codes: another child of one of the leaf's parents."""
        problem = explored.problem
        above = parents(explored, problem.root(), evaluation.leaf, evaluation.actions or ())
        for _ in range(_TRIES if above else 0):
            parent, actions = above[int(rng.integers(len(above)))]
            options = problem.actions(parent)
            action = options[int(rng.integers(len(options)))]
            leaf = problem.step(parent, action)
            if not explored.is_closed(leaf) and len(problem.actions(leaf)) == 0:
                return leaf, [*actions, action]
        return None

    def __repr__(self) -> str:
        return "Nearby()"
