"""Random walks: what a problem looks like when nobody thinks."""

from collections.abc import Sequence

import numpy as np

from dagsearch.errors import ProblemError
from dagsearch.problem import LONGEST_PATH, Action, Capabilities, Problem, State

# Random leaves on which a covariance is checked and scaled.
_SAMPLED_LEAVES = 64


def random_walk(problem: Problem, state: State, rng: np.random.Generator) -> tuple[State, list[Action]]:
    """A leaf below ``state`` by uniformly random actions, and these."""
    random_leaf = Capabilities(problem).random_leaf
    return step_by_step(problem, state, rng) if random_leaf is None else random_leaf(state, rng)


def step_by_step(problem: Problem, state: State, rng: np.random.Generator) -> tuple[State, list[Action]]:
    """:func:`random_walk` by the problem's ``actions`` and ``step``."""
    taken: list[Action] = []
    actions_at, step, random = problem.actions, problem.step, rng.random
    while (count := len(actions := actions_at(state))) > 0:
        if len(taken) == LONGEST_PATH:
            raise ProblemError(f"no leaf after {LONGEST_PATH} random steps: does the problem have a cycle?")
        action = actions[int(random() * count)]  # a third of the time that rng.integers takes
        state = step(state, action)
        taken.append(action)
    return state, taken


def shape_rng() -> np.random.Generator:
    """A stream of its own for looking at the problem: what is found is the same for every seed."""
    return np.random.default_rng(0)


def random_leaves(problem: Problem) -> list[State]:
    """Some leaves of random walks from the root, the same ones every time."""
    rng = shape_rng()
    return [random_walk(problem, problem.root(), rng)[0] for _ in range(_SAMPLED_LEAVES)]


def numbered(problem: Problem, actions: Sequence[Action]) -> list[int]:
    """Actions from the root on by their place among those there are: a journal cannot hold them as such."""
    found, state = [], problem.root()
    for action in actions:
        found.append(_place(problem.actions(state), action))
        state = problem.step(state, action)
    return found


def _place(actions: Sequence[Action], action: Action) -> int:
    """Where an action stands; an array of actions has no ``index``."""
    return (actions if hasattr(actions, "index") else list(actions)).index(action)


def walked(problem: Problem, numbers: Sequence[int]) -> tuple[State, tuple[Action, ...]]:
    """Where numbered actions lead, and which they are."""
    state, taken = problem.root(), []
    for number in numbers:
        taken.append(problem.actions(state)[number])
        state = problem.step(state, taken[-1])
    return state, tuple(taken)
