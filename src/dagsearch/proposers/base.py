"""The interface of proposers."""

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
    """The state of the search for a proposer; pending leaves count as observed."""

    posterior: Posterior
    """The belief over g."""
    index: Index
    """The numbered states."""
    data: Data
    """The rewards so far."""
    remaining: Remaining
    """Finds the remaining leaves."""
    incumbent: Callable[[Rewards], Evaluation | None]
    """The best of some evaluations: by reward, or by mean g if noise is learnt."""
    explored: Explored
    """The explored DAG, whose values may be stale; only for searches that descend."""
    part: Part
    """The rewards of the current part of the search."""
    initial: bool = False
    """Whether the leaf is one of the initial random ones."""

    def __post_init__(self) -> None:
        self.space: Space = self.index.space
        """The problem."""

    def good(self) -> Sequence[Evaluation]:
        """The part's best evaluations of distinct leaves with known actions, its incumbent first."""
        return self.part.good(self.incumbent(self.part))


class Proposer(Protocol):
    """One way to choose what to evaluate next.

    If its attribute ``requires_joint`` is true, the scores of the search must have a joint belief.
    """

    def propose(self, view: View, rng: np.random.Generator) -> Proposal | None:
        """An open leaf; ``None`` if it finds none."""
