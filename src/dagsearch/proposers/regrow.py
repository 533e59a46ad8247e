"""Keep some decisions of a good leaf, and make the others again by the belief."""

from collections.abc import Sequence

import numpy as np

from dagsearch.problem import Action, State
from dagsearch.proposers.base import Outcomes, Path, Refinement
from dagsearch.proposers.neighbourhoods import replayed
from dagsearch.proposers.rollouts import Greedy
from dagsearch.values.explored import Explored


class Regrow(Refinement):
    """Drops random decisions of a good leaf and completes the path again by upper confidence of g.

    Parameters
    ----------
    beta : float
        Weight of the standard deviation: children are compared by ``μ + β σ`` of their g.
    """

    requires_joint = True

    def __init__(self, beta: float = 2.0) -> None:
        self._complete = Greedy(beta)

    def refine(self, explored: Explored, outcomes: Outcomes, rng: np.random.Generator) -> Path | None:
        """The greedy completion of a random ancestor of the best leaf."""
        leaf, actions = outcomes.good[0].leaf, outcomes.good[0].actions or ()
        if len(actions) < 2:
            return None
        dropped = int(rng.integers(min(2, len(actions) - 1), len(actions)))
        keep = sorted(rng.permutation(len(actions))[dropped:].tolist())
        ancestor, kept = _ancestor(explored, leaf, actions, keep)
        finished = self._complete.finish(explored, ancestor, rng)
        return None if finished is None else (finished[0], [*kept, *finished[1]])

    def __repr__(self) -> str:
        return f"Regrow(beta={self._complete.beta})"


def _ancestor(explored: Explored, leaf: State, actions: Sequence[Action], keep: Sequence[int]) -> Path:
    """The ancestor that the kept actions lead to; if order matters, the same number of first actions."""
    root = explored.problem.root()
    kept = [actions[number] for number in keep]
    rest = [action for number, action in enumerate(actions) if number not in set(keep)]
    state = replayed(explored, root, kept, rest, leaf)
    if state is not None:
        return state, kept
    state, first = root, list(actions[: len(keep)])
    for action in first:
        state = explored.problem.step(state, action)
    return state, first
