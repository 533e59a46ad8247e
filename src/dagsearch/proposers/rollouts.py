"""Roll-outs complete a path from the boundary of the explored part to a leaf."""

from typing import Protocol

import numpy as np

from dagsearch._internal.checks import checked_constant
from dagsearch._internal.parts import Configured
from dagsearch.posterior.index import Index
from dagsearch.problem import Action, Children, State
from dagsearch.space.walks import Walk
from dagsearch.values.explored import Explored

# Number of random walks to find an open leaf.
_WALKS = 8


class Rollout(Protocol):
    """Completes a path; may require a joint belief, like :class:`dagsearch.proposers.base.Proposer`."""

    def finish(self, explored: Explored, state: State, rng: np.random.Generator) -> Walk | None:
        """A leaf below ``state`` and the actions to it; ``None`` if all leaves found are closed."""


class Uniform(Configured, Rollout):
    """Every action is equally likely at every step."""

    def finish(self, explored: Index, state: State, rng: np.random.Generator) -> Walk | None:
        """A random leaf."""
        for _ in range(_WALKS):
            leaf, actions = explored.space.walk(state, rng)
            if not explored.is_closed(leaf):
                return leaf, actions
        return None


class RandomGame(Configured, Rollout):
    """Plays uniformly at random to the end, once.

    Unlike :class:`Uniform`, it may repeat a leaf: the value of a position is the mean over random games,
    which includes repeated ones.
    """

    def finish(self, explored: Explored, state: State, rng: np.random.Generator) -> Walk:
        """The final position and the moves to it."""
        return explored.space.walk(state, rng)


class Greedy(Configured, Rollout):
    """Takes the child with the best confidence bound of g: ``μ + β σ``, at MIN nodes ``μ − β σ``.

    If g of a partial decision is the reward that random play earns, as under
    :class:`dagsearch.covariances.SetKernel`, this acts like forward selection without evaluations.

    Parameters
    ----------
    beta : float
        Weight β of the standard deviation σ.
    """

    requires_joint = True

    def __init__(self, beta: float = 1.0) -> None:
        self.beta = checked_constant("beta", beta)

    def finish(self, explored: Explored, state: State, rng: np.random.Generator) -> Walk | None:
        """The leaf at the end of the path of the best open children; ``None`` if there is none."""
        problem, taken = explored.problem, list[Action]()
        while len(actions := problem.actions(state)) > 0:
            explored.deadline.check()
            mean, variance = explored.scores.predict_children(Children(problem, state, actions))
            ratings = explored.space.player(state) * mean + self.beta * np.sqrt(variance)
            for place in (-ratings).argsort(kind="stable").tolist():
                child = problem.step(state, actions[place])
                if not explored.is_closed(child):
                    break
            else:
                return None
            state = child
            taken.append(actions[place])
        return None if explored.is_closed(state) else (state, taken)
