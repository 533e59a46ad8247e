"""Leaves near a good one: up to an ancestor of it, and down another way.

In the DAG of subsets that is swapping elements. No descent from the root finds such a leaf soon, because
every step on its way looks at one more decision alone.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dagsearch._typing import FloatArray
from dagsearch.explored import Explored
from dagsearch.problem import Action, Children, State
from dagsearch.rollouts import Greedy, best_first

Path = tuple[State, list[Action]]


class Refinement(Protocol):
    """Proposes a leaf near a good one."""

    def refine(
        self, explored: Explored, leaf: State, actions: Sequence[Action], rng: np.random.Generator
    ) -> Path | None:
        """Another leaf and the actions that lead there; ``None`` if there is none to be had.

        ``actions`` lead from the root to ``leaf``.
        """


class Swaps:
    """The best leaf that one decision away from a good one; from there the next one, a few times.

    Goes up to every parent of the leaf that its actions tell, and down to the child with the largest upper
    confidence of g.

    Parameters
    ----------
    beta : float
        How much uncertainty counts.
    depth : int
        At most so many swaps are made, as long as each improves on the one before.
    """

    def __init__(self, beta: float = 2.0, depth: int = 3) -> None:
        self.beta, self.depth = float(beta), int(depth)

    def refine(
        self, explored: Explored, leaf: State, actions: Sequence[Action], rng: np.random.Generator
    ) -> Path | None:
        """The best leaf that swaps lead to."""
        best: tuple[float, Path] | None = None
        for _ in range(self.depth):
            found = self._best_swap(explored, leaf, actions)
            if found is None or (best is not None and found[0] <= best[0]):
                break
            best = found
            leaf, actions = found[1]
        return None if best is None else best[1]

    def _best_swap(
        self, explored: Explored, leaf: State, actions: Sequence[Action]
    ) -> tuple[float, Path] | None:
        best: tuple[float, Path] | None = None
        for parent, kept in parents(explored, leaf, actions):
            children = Children(explored.problem, parent, explored.problem.actions(parent))
            step = next(best_first(explored, children, self._rate(explored, children)), None)
            if step is not None and (best is None or step[2] > best[0]):
                best = step[2], (step[1], [*kept, step[0]])
        return best

    def _rate(self, explored: Explored, children: Children) -> FloatArray:
        mean, variance = explored.scores.preview(children)
        return mean + self.beta * np.sqrt(variance)

    def __repr__(self) -> str:
        return f"Swaps(beta={self.beta}, depth={self.depth})"


class Regrow:
    """Takes back some decisions of a good leaf at random, and completes the rest by upper confidence of g.

    Parameters
    ----------
    beta : float
        How much uncertainty counts.
    """

    def __init__(self, beta: float = 2.0) -> None:
        self.beta = float(beta)
        self._complete = Greedy(beta)

    def refine(
        self, explored: Explored, leaf: State, actions: Sequence[Action], rng: np.random.Generator
    ) -> Path | None:
        """The greedy completion of an ancestor."""
        if len(actions) < 2:
            return None
        dropped = int(rng.integers(min(2, len(actions) - 1), len(actions)))
        keep = sorted(rng.permutation(len(actions))[dropped:].tolist())
        ancestor, kept = _ancestor(explored, leaf, actions, keep)
        finished = self._complete.finish(explored, ancestor, rng)
        return None if finished is None else (finished[0], [*kept, *finished[1]])

    def __repr__(self) -> str:
        return f"Regrow(beta={self.beta})"


def parents(explored: Explored, leaf: State, actions: Sequence[Action]) -> list[Path]:
    """The leaf's parents, as far as its actions tell, and the actions that lead there.

    Where the order of decisions does not matter any of them may be the last.
    """
    found = []
    for last in range(len(actions)):
        kept = [action for number, action in enumerate(actions) if number != last]
        state = _replayed(explored, leaf, kept, [actions[last]])
        if state is not None:
            found.append((state, kept))
    return found


def _ancestor(
    explored: Explored, leaf: State, actions: Sequence[Action], keep: Sequence[int]
) -> Path:
    """The ancestor that some of the actions lead to; where order matters, as many of the first."""
    kept = [actions[number] for number in keep]
    rest = [action for number, action in enumerate(actions) if number not in set(keep)]
    state = _replayed(explored, leaf, kept, rest)
    if state is not None:
        return state, kept
    state, first = explored.problem.root(), list(actions[: len(keep)])
    for action in first:
        state = explored.problem.step(state, action)
    return state, first


def _replayed(
    explored: Explored, leaf: State, first: Sequence[Action], rest: Sequence[Action]
) -> State | None:
    """Where the first actions lead, if they are possible and the rest then leads to the leaf."""
    problem = explored.problem
    state = halfway = problem.root()
    for number, action in enumerate([*first, *rest]):
        if action not in problem.actions(state):
            return None
        state = problem.step(state, action)
        if number == len(first) - 1:
            halfway = state
    return halfway if explored.same(state, leaf) else None
