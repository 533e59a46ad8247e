"""Leaves one change away from a leaf, by its codes or by its decisions.

Points are what the changes are made on: rows of codes, or tuples of decisions. Whether a point is a leaf is
for the problem to say (:meth:`Moves.way`).
"""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from dagsearch.problem import Action, State
from dagsearch.space.codes import Coding
from dagsearch.space.space import Space
from dagsearch.space.walks import Walk

Points = Any
"""Rows of codes, shape ``(points, places)``, or a list of tuples of decisions."""


class Moves(Protocol):
    """The neighbourhood of leaves."""

    certain: bool
    """Whether points are leaves as far as is known, so that only a leaf to be proposed must be checked."""

    def points(self, ways: Sequence[tuple[State, Sequence[Action]]]) -> Points:
        """The points of leaves, given with the actions that lead there."""

    def around(self, point: Any, count: int, rng: np.random.Generator) -> Points:
        """At most ``count`` different points one change away, all or a random part of them."""

    def leaf(self, point: Any) -> State:
        """The leaf of a point, if it is one."""

    def likely_leaf(self, point: Any) -> State:
        """The same as far as is known, without asking the problem where that would take long."""

    def way(self, point: Any) -> Walk | None:
        """The leaf and the actions to it, replayed through the problem; ``None`` if it is not a leaf."""


class CodeMoves:
    """Changes of codes: other options at a place, items exchanged, chosen or dropped."""

    def __init__(self, space: Space, coding: Coding) -> None:
        self._space, self._coding = space, coding
        self.certain = coding.certain

    def points(self, ways: Sequence[tuple[State, Sequence[Action]]]) -> Points:
        """Codes of the leaves."""
        return self._coding.codes([leaf for leaf, _ in ways])

    def around(self, point: Any, count: int, rng: np.random.Generator) -> Points:
        """Codes one change away."""
        return self._coding.neighbours(point, count, rng)

    def leaf(self, point: Any) -> State:
        """The leaf with these codes."""
        return self._coding.leaf_of(point)

    def likely_leaf(self, point: Any) -> State:
        """The same by what is known of the problem."""
        return (self._coding.likely_leaf_of or self._coding.leaf_of)(point)

    def way(self, point: Any) -> Walk | None:
        """The leaf and its decisions, if the problem offers every one of them."""
        actions = list(self._coding.path_to(self._coding.leaf_of(point)))
        leaf = self._space.replayed(actions)
        return None if leaf is None else (leaf, actions)


class PathMoves:
    """Changes of decisions: another action at one state of the path.

    Every later decision stays as it is where it is still offered; the others are made at random.
    """

    certain = True

    def __init__(self, space: Space) -> None:
        self._space = space

    def points(self, ways: Sequence[tuple[State, Sequence[Action]]]) -> Points:
        """The decisions that lead to the leaves."""
        return [tuple(actions) for _, actions in ways]

    def around(self, point: Any, count: int, rng: np.random.Generator) -> Points:
        """Paths on which one decision is another one, at states chosen at random."""
        problem, states = self._space.problem, [self._space.problem.root()]
        for action in point:
            states.append(problem.step(states[-1], action))
        places = [place for place, state in enumerate(states[:-1]) if len(problem.actions(state)) > 1]
        if not places:
            return []
        found: dict[Any, tuple[Action, ...]] = {self._space.key(states[-1]): tuple(point)}
        for place in rng.choice(places, size=count).tolist():
            leaf, actions = self._redecided(point, states[place], place, rng)
            found.setdefault(self._space.key(leaf), actions)
        return list(found.values())[1:]

    def _redecided(
        self, point: Sequence[Action], state: State, place: int, rng: np.random.Generator
    ) -> tuple[State, tuple[Action, ...]]:
        """The path with another decision at one place."""
        problem, taken = self._space.problem, list(point[:place])
        actions = problem.actions(state)
        other = actions[int(rng.random() * (len(actions) - 1))]  # of all but the last
        taken.append(actions[-1] if other == point[place] else other)
        state, later = problem.step(state, taken[-1]), list(point[place + 1 :])
        while len(offered := problem.actions(state)) > 0:
            kept = next((action for action in later if action in offered), None)
            if kept is None:
                kept = offered[int(rng.random() * len(offered))]
            else:
                later.remove(kept)
            taken.append(kept)
            state = problem.step(state, kept)
        return state, tuple(taken)

    def leaf(self, point: Any) -> State:
        """The leaf that the decisions lead to."""
        state = self._space.problem.root()
        for action in point:
            state = self._space.problem.step(state, action)
        return state

    likely_leaf = leaf

    def way(self, point: Any) -> Walk | None:
        """The leaf and its decisions."""
        return self.leaf(point), list(point)


def moves_in(space: Space) -> Moves:
    """The changes of codes where states have codes, else the changes of decisions."""
    return PathMoves(space) if space.coding is None else CodeMoves(space, space.coding)
