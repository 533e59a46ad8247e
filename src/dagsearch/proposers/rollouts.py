"""Roll-outs complete a path from the boundary of the explored part to a leaf."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from dagsearch._internal.checks import checked_constant
from dagsearch._internal.typing import FloatArray
from dagsearch.posterior.index import Index
from dagsearch.problem import Action, Children, State
from dagsearch.space.walks import Walk
from dagsearch.values.explored import Explored

# Number of decisions of a path, the last ones, of which each is tried as the very last.
_MOST_TRIED = 128
# Number of random walks in search of an open leaf.
_WALKS = 8

Rate = Callable[[Children], FloatArray]
"""Rates all children of a state."""


class Rollout(Protocol):
    """Completes a path."""

    requires_joint: bool = False
    """Whether the scores of the search must have a joint belief."""

    def finish(self, explored: Explored, state: State, rng: np.random.Generator) -> Walk | None:
        """A leaf below ``state`` and the actions that lead there; ``None`` if all found leaves are closed."""


class Uniform(Rollout):
    """Every action is equally likely at every step."""

    def finish(self, explored: Index, state: State, rng: np.random.Generator) -> Walk | None:
        """A random leaf."""
        for _ in range(_WALKS):
            leaf, actions = explored.space.walk(state, rng)
            if not explored.is_closed(leaf):
                return leaf, actions
        return None

    def __repr__(self) -> str:
        return "Uniform()"


class RandomGame(Rollout):
    """Plays uniformly at random to the end, once.

    Unlike :class:`Uniform`, it does not look for a leaf that has not been seen: the value of a position is
    the mean over random games, so repeated games count, too.
    """

    def finish(self, explored: Explored, state: State, rng: np.random.Generator) -> Walk:
        """The final position and the moves that lead there."""
        return explored.space.walk(state, rng)

    def __repr__(self) -> str:
        return "RandomGame()"


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
        self.beta = checked_constant("beta", beta)

    def finish(self, explored: Explored, state: State, rng: np.random.Generator) -> Walk | None:
        """The leaf at the end of the best path; if that is closed, the best open leaf one decision away."""

        def rate(children: Children) -> FloatArray:
            mean, variance = explored.scores.predict_children(children)
            return explored.space.player(children.parent) * mean + self.beta * np.sqrt(variance)

        leaf, actions = _follow(explored, state, rate)
        if not explored.is_closed(leaf):
            return leaf, actions
        return _best_beside(explored, state, leaf, actions, rate)

    def __repr__(self) -> str:
        return f"Greedy(beta={self.beta})"


def _follow(explored: Explored, state: State, rate: Rate) -> Walk:
    """The leaf reached by the best-rated child at every step, and the actions that lead there."""
    problem = explored.problem
    taken: list[Action] = []
    while len(actions := problem.actions(state)) > 0:
        explored.deadline.check()
        action = actions[int(np.argmax(rate(Children(problem, state, actions))))]
        state = problem.step(state, action)
        taken.append(action)
    return state, taken


def _best_beside(
    explored: Explored, start: State, leaf: State, actions: Sequence[Action], rate: Rate
) -> Walk | None:
    """The best rated open leaf one decision away: up to a parent of the leaf, and down to another child."""
    problem = explored.problem
    found: list[tuple[float, Children, int, list[Action]]] = []
    for parent, before in _parents(explored, start, leaf, actions):
        children = Children(problem, parent, problem.actions(parent))
        # Rounding errors must not distinguish leaves that the model does not distinguish.
        ratings = np.round(rate(children), 9).tolist()
        found += [(rating, children, place, before) for place, rating in enumerate(ratings)]
    for _, children, place, before in sorted(found, key=lambda one: -one[0]):
        action = children.actions[place]
        state = problem.step(children.parent, action)
        if len(problem.actions(state)) == 0 and not explored.is_closed(state):
            return state, [*before, action]
    return None


def _parents(
    explored: Explored, start: State, leaf: State, actions: Sequence[Action]
) -> list[tuple[State, list[Action]]]:
    """The leaf's parents at or below ``start``, each with the actions that lead there.

    If the order of decisions does not matter, any of them may be the last one. Of a long path, only its last
    decisions are tried.
    """
    problem, found, states = explored.problem, [], [start]
    for action in actions[:-1]:
        states.append(problem.step(states[-1], action))
    for last in range(max(0, len(actions) - _MOST_TRIED), len(actions)):
        later, way = actions[last + 1 :], [states[last]]
        for action in (*later, actions[last]):
            if action not in problem.actions(way[-1]):
                break
            way.append(problem.step(way[-1], action))
        else:
            if explored.space.same(way[-1], leaf):
                found.append((way[-2], [*actions[:last], *later]))
    return found
