"""Leaves near a good one: up to an ancestor of it, and down another way.

No descent from the root finds such a leaf soon, because every step on its way decides one thing alone.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from dagsearch.explored import Explored
from dagsearch.neighbours import Swap, best_swap, replayed
from dagsearch.problem import Action, State
from dagsearch.rollouts import Greedy

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
    """The best leaf one decision away from a good one; from there the next one, a few times.

    Parameters
    ----------
    beta : float
        How much uncertainty counts: leaves are compared by ``μ + β σ`` of their g.
    depth : int
        At most so many swaps are made, as long as each improves on the one before.
    """

    def __init__(self, beta: float = 2.0, depth: int = 3) -> None:
        self.beta, self.depth = float(beta), int(depth)

    def refine(
        self, explored: Explored, leaf: State, actions: Sequence[Action], rng: np.random.Generator
    ) -> Path | None:
        """The best leaf that swaps lead to."""
        best: Swap | None = None
        for _ in range(self.depth):
            found = best_swap(explored, explored.problem.root(), leaf, actions, self.beta)
            if found is None or (best is not None and found.rating <= best.rating):
                break
            best = found
            leaf, actions = found.leaf, found.actions
        return None if best is None else (best.leaf, best.actions)

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
        return f"Regrow(beta={self._complete.beta})"


def _ancestor(explored: Explored, leaf: State, actions: Sequence[Action], keep: Sequence[int]) -> Path:
    """The ancestor that some of the actions lead to; where order matters, as many of the first."""
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
