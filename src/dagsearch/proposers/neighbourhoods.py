"""Leaves one decision away from a leaf: up to one of its parents, and down to another child.

In the DAG of subsets this swaps one element.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, cast

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.posterior import JointScores
from dagsearch.problem import Action, Families, State
from dagsearch.space.codes import Coding
from dagsearch.values.explored import Explored

# Number of decisions of a path, the last ones, of which each is tried as the very last.
_MOST_TRIED = 128


class Swap(NamedTuple):
    """A leaf one decision away from another."""

    leaf: State
    """The leaf."""
    actions: list[Action]
    """The decisions that lead there."""
    rating: float
    """Rating of its g, rounded so that it can be compared with that of other leaves."""


Rate = Callable[[FloatArray, FloatArray], FloatArray]
"""Rates leaves by mean and variance of their g, seen from the player who decides."""


def best_swap(
    explored: Explored, start: State, leaf: State, actions: Sequence[Action], rate: Rate
) -> Swap | None:
    """The best rated open leaf among those one decision away from ``leaf``.

    ``actions`` lead from ``start`` to the leaf; decisions before ``start`` do not change.
    """
    explored.deadline.check()
    problem = explored.problem
    found = parents(explored, start, leaf, actions)
    if not found:
        return None
    families = Families(problem, [parent for parent, _ in found])
    signs = [explored.capabilities.player(parent) for parent in families.parents]

    scores = cast(JointScores, explored.scores)
    beliefs = []
    for children in families.each():
        explored.deadline.check()
        beliefs.append(scores.predict_children(children))
    mean = np.concatenate([sign * belief[0] for sign, belief in zip(signs, beliefs, strict=True)])
    variance = np.concatenate([belief[1] for belief in beliefs])
    hopeful = np.arange(mean.size)
    # Rounding errors must not distinguish leaves that the model does not distinguish.
    ratings = np.round(rate(mean, variance), 9)
    for rank in np.argsort(-ratings, kind="stable").tolist():
        place = hopeful.item(rank)
        state = families.reached(place)
        if len(problem.actions(state)) == 0 and not explored.is_closed(state):
            own, action = families.find(place)
            return Swap(state, [*found[own][1], action], ratings.item(rank))
    return None


def predicted(
    explored: Explored, coding: Coding, codes: IntArray, most: int
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Places of the most promising of some leaves that are given by their codes, means and variances of g.

    Of more than ``most`` leaves some may be left out, whose means are not among the best.
    """
    return cast(JointScores, explored.scores).predict_codes(codes, most, coding.leaf_of)


def parents(
    explored: Explored, start: State, leaf: State, actions: Sequence[Action]
) -> list[tuple[State, list[Action]]]:
    """The leaf's parents at or below ``start``, each with the actions that lead there.

    If the order of decisions does not matter, any of them may be the last one. Of a long path, only its last
    decisions are tried.
    """
    known = explored.capabilities.parents
    if known is not None:
        return [
            (parent, [a for a in actions if a != last]) for parent, last in known(leaf) if last in actions
        ]
    found = []
    states = _along(explored, start, actions)
    for last in range(max(0, len(actions) - _MOST_TRIED), min(len(states), len(actions))):
        later = actions[last + 1 :]
        state = replayed(explored, states[last], later, [actions[last]], leaf)
        if state is not None:
            found.append((state, [*actions[:last], *later]))
    return found


def _along(explored: Explored, start: State, actions: Sequence[Action]) -> list[State]:
    """The states that actions lead through, as far as they are possible."""
    problem, states = explored.problem, [start]
    for action in actions:
        if action not in problem.actions(states[-1]):
            break
        states.append(problem.step(states[-1], action))
    return states


def replayed(
    explored: Explored, start: State, first: Sequence[Action], rest: Sequence[Action], leaf: State
) -> State | None:
    """The state that the ``first`` actions lead to; ``None`` unless ``rest`` then leads to the leaf."""
    problem = explored.problem
    state = halfway = start
    for number, action in enumerate([*first, *rest]):
        if action not in problem.actions(state):
            return None
        state = problem.step(state, action)
        if number == len(first) - 1:
            halfway = state
    return halfway if explored.same(state, leaf) else None
