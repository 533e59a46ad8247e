"""How a path is finished from the boundary to a leaf."""

from typing import Protocol

import numpy as np

from dagsearch.errors import ProblemError
from dagsearch.problem import LONGEST_PATH, Action, Problem, State


class Rollout(Protocol):
    """Chooses the rest of a path."""

    def finish(self, problem: Problem, state: State, rng: np.random.Generator) -> tuple[State, list[Action]]:
        """A leaf below ``state``, and the actions that lead there."""


class Uniform:
    """Every action is equally likely at every step."""

    def finish(self, problem: Problem, state: State, rng: np.random.Generator) -> tuple[State, list[Action]]:
        """A leaf below ``state``, and the actions that lead there."""
        taken: list[Action] = []
        while len(actions := problem.actions(state)) > 0:
            if len(taken) == LONGEST_PATH:
                raise ProblemError(
                    f"no leaf after {LONGEST_PATH} random steps: does the problem have a cycle?"
                )
            action = actions[int(rng.integers(len(actions)))]
            state = problem.step(state, action)
            taken.append(action)
        return state, taken

    def __repr__(self) -> str:
        return "Uniform()"
