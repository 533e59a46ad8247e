"""Refinements propose leaves near a good one: up to one of its ancestors, and down another path.

A descent from the root rarely finds such a leaf, because it decides each step on its own.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from dagsearch.problem import Action, State
from dagsearch.results import Evaluation
from dagsearch.values.explored import Explored

Path = tuple[State, list[Action]]


class Outcomes(NamedTuple):
    """What a refinement knows of the rewards so far."""

    good: Sequence[Evaluation]
    """The best evaluations, at least one, the best first, each of another leaf."""
    evaluated: Sequence[Evaluation]
    """All evaluations of leaves whose actions are known."""
    margin: float
    """How far above the best score to aim, in the model's units."""

    def target(self, explored: Explored) -> float:
        """The score that an improvement must exceed."""
        return max(explored.score(explored.node(one.leaf)).mean for one in self.good) + self.margin


class Refinement(Protocol):
    """Proposes a leaf near a good one."""

    requires_joint: bool = False
    """What the scores of the search must be able to do; nothing by default."""

    def refine(self, explored: Explored, outcomes: Outcomes, rng: np.random.Generator) -> Path | None:
        """Another leaf and the actions that lead there; ``None`` if it finds none."""
