"""What a proposer sees, and what it returns."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dagsearch._internal.deadline import Deadline
from dagsearch.data import Data
from dagsearch.posterior.posterior import Posterior
from dagsearch.proposers.remaining import Remaining
from dagsearch.results import Proposal
from dagsearch.space import Space
from dagsearch.values.explored import Explored
from dagsearch.values.values import Values


@dataclass
class View:
    """What is known when a leaf is to be proposed; pending leaves count as observed."""

    posterior: Posterior
    """The belief over g."""
    values: Values
    """The explored DAG and the belief over v, computed when it is read."""
    data: Data
    """The rewards so far."""
    remaining: Remaining
    """Finds leaves that are left."""
    deadline: Deadline
    """When the current run must end."""
    initial: bool = False
    """Whether the leaf is one of the random ones that a search begins with."""

    @property
    def explored(self) -> Explored:
        """The known states; their values may be stale."""
        return self.values.explored

    @property
    def space(self) -> Space:
        """The problem, from its present root."""
        return self.values.explored.space


class Proposer(Protocol):
    """One way to choose what to evaluate next."""

    @property
    def parts(self) -> Sequence[object]:
        """The parts that may require something of the scores, itself among them."""

    def propose(self, view: View, rng: np.random.Generator) -> Proposal | None:
        """A leaf that may be evaluated; ``None`` if it finds none."""
