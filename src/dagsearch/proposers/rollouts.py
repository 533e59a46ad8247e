"""Roll-outs complete a path from the boundary of the explored part to a leaf."""

from typing import Protocol, cast

import numpy as np

from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import FloatArray
from dagsearch.posterior import JointScores
from dagsearch.problem import Action, Children, State
from dagsearch.proposers.neighbourhoods import best_swap
from dagsearch.space.walks import walk_from
from dagsearch.values.explored import Explored


class Rollout(Protocol):
    """Completes a path."""

    requires_joint: bool = False
    """Whether the scores of the search must have a joint belief."""

    def finish(
        self, explored: Explored, state: State, rng: np.random.Generator
    ) -> tuple[State, list[Action]] | None:
        """A leaf below ``state`` and the actions that lead there; ``None`` if all found leaves are closed."""


class Uniform(Rollout):
    """Every action is equally likely at every step."""

    # Maximum number of walks in search of a leaf that is not closed.
    _TRIES = 8

    def finish(
        self, explored: Explored, state: State, rng: np.random.Generator
    ) -> tuple[State, list[Action]] | None:
        """A random leaf."""
        for _ in range(self._TRIES):
            leaf, actions = walk_from(explored.capabilities, state, rng)
            if not explored.is_closed(leaf):
                return leaf, actions
        return None

    def __repr__(self) -> str:
        return "Uniform()"


class Greedy(Rollout):
    """Picks child by child the best confidence bound of g: ``μ + β σ``, at MIN nodes ``μ − β σ``.

    If g of a partial decision is the reward that random play earns, as under
    :class:`dagsearch.covariances.SetKernel`, this completes a path as forward selection would, but without
    evaluating anything.

    Parameters
    ----------
    beta : float
        Weight β of the standard deviation σ.
    """

    requires_joint = True

    def __init__(self, beta: float = 1.0) -> None:
        if not is_finite(beta) or beta < 0.0:
            raise ValueError(f"beta must be finite and not negative, got {beta!r}")
        self.beta = float(beta)

    def finish(
        self, explored: Explored, state: State, rng: np.random.Generator
    ) -> tuple[State, list[Action]] | None:
        """The leaf at the end of the best path; if that is closed, the best open leaf one decision away."""

        def rate(children: Children) -> FloatArray:
            sign = explored.capabilities.player(children.parent)
            mean, variance = explored.scores.predict_children(children)
            return self._upper(sign * mean, variance)

        leaf, actions = _follow(explored, state, rate)
        if not explored.is_closed(leaf):
            return leaf, actions
        swapped = best_swap(explored, state, leaf, actions, self._upper)
        return None if swapped is None else (swapped.leaf, swapped.actions)

    def _upper(self, mean: FloatArray, variance: FloatArray) -> FloatArray:
        return mean + self.beta * np.sqrt(variance)

    def __repr__(self) -> str:
        return f"Greedy(beta={self.beta})"


class Thompson(Rollout):
    """Picks child by child the best posterior sample of g; siblings are drawn jointly."""

    requires_joint = True

    def finish(
        self, explored: Explored, state: State, rng: np.random.Generator
    ) -> tuple[State, list[Action]] | None:
        """The leaf at the end of the path with the best samples."""

        def rate(children: Children) -> FloatArray:
            sign = explored.capabilities.player(children.parent)
            return sign * cast(JointScores, explored.scores).draw(children, rng)

        leaf, actions = _follow(explored, state, rate)
        return (leaf, actions) if not explored.is_closed(leaf) else None

    def __repr__(self) -> str:
        return "Thompson()"


class _Rate(Protocol):
    def __call__(self, children: Children) -> FloatArray: ...


def _follow(explored: Explored, state: State, rate: _Rate) -> tuple[State, list[Action]]:
    """The leaf reached by the best-rated child at every step, and the actions that lead there."""
    problem = explored.problem
    taken: list[Action] = []
    while len(actions := problem.actions(state)) > 0:
        explored.deadline.check()
        action = actions[int(np.argmax(rate(Children(problem, state, actions))))]
        state = problem.step(state, action)
        taken.append(action)
    return state, taken
