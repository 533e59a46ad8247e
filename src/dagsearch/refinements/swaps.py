"""The best leaf a few single decisions away from a good one."""

from collections.abc import Sequence

import numpy as np

from dagsearch.explored import Explored
from dagsearch.neighbourhoods import Swap, best_swap
from dagsearch.problem import Action, State
from dagsearch.refinements.base import Path, Refinement
from dagsearch.results import Evaluation
from dagsearch.scores.base import Capability


class Swaps(Refinement):
    """Goes to the best leaf one decision away from a good one, and repeats this from there.

    Parameters
    ----------
    beta : float
        Weight of the standard deviation: leaves are compared by ``μ + β σ`` of their g.
    depth : int
        Maximum number of swaps. Each swap must improve on the one before.
    """

    requires = frozenset({Capability.UPPER_CONFIDENCE})

    def __init__(self, beta: float = 2.0, depth: int = 3) -> None:
        self.beta, self.depth = float(beta), int(depth)

    def refine(self, explored: Explored, good: Sequence[Evaluation], rng: np.random.Generator) -> Path | None:
        """The leaf after the last swap."""
        leaf: State = good[0].leaf
        actions: Sequence[Action] = good[0].actions or ()
        best: Swap | None = None
        for _ in range(self.depth):
            found = best_swap(explored, explored.problem.root(), leaf, actions, self.beta)
            if found is None or (best is not None and found.rating <= best.rating):
                break
            best = found
            leaf, actions = found.leaf, found.actions
        return None if best is None else (best.leaf, best.actions)

    def __repr__(self) -> str:
        return f"Swaps(beta={self.beta}, depth={self.depth})"
