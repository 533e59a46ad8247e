"""Proposes the costly step to take next."""

import numpy as np

from dagsearch.posterior.steps import StepBelief
from dagsearch.problem import Edge
from dagsearch.results import StepProposal
from dagsearch.values.steps import Steps


class Frontier:
    """Proposes the step with the largest expected improvement per cost, of all that can be taken."""

    def propose(self, steps: Steps, belief: StepBelief, rng: np.random.Generator) -> StepProposal | None:
        """A step that is pending from now on; ``None`` if none is left."""
        while (slot := belief.propose(rng)) >= 0:
            if steps.draw(slot):
                return proposal_of(steps, slot)
        return None

    def __repr__(self) -> str:
        return "Frontier()"


def proposal_of(steps: Steps, slot: int) -> StepProposal:
    """The proposal of a slot that was drawn."""
    node, action = int(steps.slot_node[slot]), steps.action(slot)
    return StepProposal(Edge(steps.graph.states[node], action), (*steps.way_to(node), action), (), slot)
