"""Random walks from a state to a leaf, and paths as indices of actions."""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from dagsearch.errors import ProblemError
from dagsearch.problem import LONGEST_PATH, Action, Problem, State

Walk = tuple[State, list[Action]]
"""A leaf, and the actions that lead there."""

# Number of actions that an error about an endless path shows.
_SHOWN = 6


class Path(NamedTuple):
    """A path from a state to a leaf, with all options offered on it."""

    states: list[State]
    """The states, including both ends."""
    actions: list[Action]
    """The decisions between them."""
    offered: list[Sequence[Action]]
    """The actions at each state, the leaf excepted."""


def random_path(problem: Problem, state: State, rng: np.random.Generator) -> Path:
    """A path of uniformly random actions from a state to a leaf."""
    path = Path([state], [], [])
    while len(actions := problem.actions(state)) > 0:
        if len(path.actions) == LONGEST_PATH:
            raise _without_end(problem, path.actions)
        action = actions[int(rng.integers(len(actions)))]
        state = problem.step(state, action)
        path.states.append(state)
        path.actions.append(action)
        path.offered.append(actions)
    return path


def step_by_step(problem: Problem, state: State, rng: np.random.Generator) -> Walk:
    """The leaf and the actions of a :func:`random_path`."""
    taken: list[Action] = []
    actions_at, step, random = problem.actions, problem.step, rng.random
    while (count := len(actions := actions_at(state))) > 0:
        if len(taken) == LONGEST_PATH:
            raise _without_end(problem, taken)
        action = actions[int(random() * count)]  # takes a third of the time of rng.integers
        state = step(state, action)
        taken.append(action)
    return state, taken


def _without_end(problem: Problem, taken: Sequence[Action]) -> ProblemError:
    first = ", ".join(map(repr, taken[:_SHOWN]))
    return ProblemError(
        f"{type(problem).__name__} has no leaf within {LONGEST_PATH:,} random decisions, which begin "
        f"with {first}: every path must end at a state without actions"
    )


def shape_rng() -> np.random.Generator:
    """A generator for examining the problem, independent of the search's seed."""
    return np.random.default_rng(0)


def numbered(problem: Problem, actions: Sequence[Action]) -> list[int]:
    """Each action of a path from the root as its index in ``problem.actions(state)``, for storage.

    Empty if leaves are known only after their evaluation: the leaf itself is then sufficient.
    """
    on_path = [] if hasattr(problem, "unlearnt") else zip(passed(problem, actions), actions, strict=False)
    return [list(problem.actions(state)).index(action) for state, action in on_path]


def passed(problem: Problem, actions: Sequence[Action]) -> list[State]:
    """The states on a path from the root, including both ends."""
    return list(accumulate(actions, problem.step, initial=problem.root()))


def walked(problem: Problem, numbers: Sequence[int]) -> tuple[State, tuple[Action, ...]]:
    """The state that actions given by their indices lead to from the root, and these actions."""
    state, taken = problem.root(), []
    for number in numbers:
        taken.append(problem.actions(state)[number])
        state = problem.step(state, taken[-1])
    return state, tuple(taken)
