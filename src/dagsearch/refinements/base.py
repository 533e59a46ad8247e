"""Refinements propose leaves near a good one: up to one of its ancestors, and down another path.

A descent from the root rarely finds such a leaf, because it decides each step on its own.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dagsearch.explored import Explored
from dagsearch.problem import Action, State
from dagsearch.results import Evaluation
from dagsearch.scores.base import NOTHING, Capability

Path = tuple[State, list[Action]]


class Refinement(Protocol):
    """Proposes a leaf near a good one."""

    requires: frozenset[Capability] = NOTHING
    """What the scores of the search must be able to do; nothing by default."""

    def refine(self, explored: Explored, good: Sequence[Evaluation], rng: np.random.Generator) -> Path | None:
        """Another leaf and the actions that lead there; ``None`` if it finds none.

        ``good`` are the best evaluations so far, at least one, the best first, each of another leaf and with
        the actions that lead to it.
        """
