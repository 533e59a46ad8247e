"""What a proposer sees, and what it returns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dagsearch.data import Data, Part, Rewards
from dagsearch.posterior.index import Index
from dagsearch.posterior.posterior import Posterior
from dagsearch.proposers.remaining import Remaining
from dagsearch.results import Evaluation, Proposal
from dagsearch.space import Space
from dagsearch.values.explored import Explored


@dataclass
class View:
    """What is known when a leaf is to be proposed; pending leaves count as observed."""

    posterior: Posterior
    """The belief over g."""
    index: Index
    """The numbered states."""
    data: Data
    """The rewards so far."""
    remaining: Remaining
    """Finds leaves that are left."""
    incumbent: Callable[[Rewards], Evaluation | None]
    """The best of some evaluations: by reward, or by mean g where noise is learnt."""
    explored: Explored
    """The explored DAG, whose values may be stale; only a search that descends has one."""
    part: Part
    """The rewards of the present part of the search."""
    initial: bool = False
    """Whether the leaf is one of the random ones that a search begins with."""

    def __post_init__(self) -> None:
        self.space: Space = self.index.space
        """The problem."""

    def good(self) -> Sequence[Evaluation]:
        """The part's best evaluations of different leaves to which actions are known, its incumbent first."""
        return self.part.good(self.incumbent(self.part))


class Proposer(Protocol):
    """One way to choose what to evaluate next.

    If it has a true attribute ``requires_joint``, the scores of the search must have a joint belief.
    """

    def propose(self, view: View, rng: np.random.Generator) -> Proposal | None:
        """A leaf that may be evaluated; ``None`` if it finds none."""
