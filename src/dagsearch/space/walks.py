"""Random walks from a state to a leaf, and paths as indices of actions."""

from collections.abc import Sequence

import numpy as np

from dagsearch.errors import ProblemError
from dagsearch.problem import LONGEST_PATH, Action, Capabilities, Problem, State

# Number of random leaves on which a covariance is checked and scaled.
_SAMPLED_LEAVES = 64


def random_walk(problem: Problem, state: State, rng: np.random.Generator) -> tuple[State, list[Action]]:
    """A leaf below ``state`` reached by uniformly random actions, and these actions."""
    return walk_from(Capabilities(problem), state, rng)


def walk_from(
    capabilities: Capabilities, state: State, rng: np.random.Generator
) -> tuple[State, list[Action]]:
    """:func:`random_walk` in a problem whose capabilities are known."""
    if capabilities.random_leaf is None:
        return step_by_step(capabilities.problem, state, rng)
    return capabilities.random_leaf(state, rng)


def step_by_step(problem: Problem, state: State, rng: np.random.Generator) -> tuple[State, list[Action]]:
    """The same as :func:`random_walk`, always by the problem's ``actions`` and ``step``."""
    taken: list[Action] = []
    actions_at, step, random = problem.actions, problem.step, rng.random
    while (count := len(actions := actions_at(state))) > 0:
        if len(taken) == LONGEST_PATH:
            raise ProblemError(f"no leaf after {LONGEST_PATH} random steps: does the problem have a cycle?")
        action = actions[int(random() * count)]  # takes a third of the time of rng.integers
        state = step(state, action)
        taken.append(action)
    return state, taken


def shape_rng() -> np.random.Generator:
    """A generator for examining the problem; what is found does not depend on the search's seed."""
    return np.random.default_rng(0)


def random_leaves(problem: Problem) -> list[State]:
    """Leaves of random walks from the root, the same ones in every call."""
    rng = shape_rng()
    return [random_walk(problem, problem.root(), rng)[0] for _ in range(_SAMPLED_LEAVES)]


def numbered(problem: Problem, actions: Sequence[Action]) -> list[int]:
    """Each action of a path from the root as its index in ``problem.actions(state)``, for a journal."""
    found, state = [], problem.root()
    for action in actions:
        found.append(_place(problem.actions(state), action))
        state = problem.step(state, action)
    return found


def passed(problem: Problem, actions: Sequence[Action]) -> list[State]:
    """The states on a path from the root, with both ends; ``ValueError`` if an action is not possible."""
    states = [problem.root()]
    for action in actions:
        _place(problem.actions(states[-1]), action)
        states.append(problem.step(states[-1], action))
    return states


def _place(actions: Sequence[Action], action: Action) -> int:
    """Index of an action; an array of actions has no method ``index``."""
    return (actions if hasattr(actions, "index") else list(actions)).index(action)


def actions_to(problem: Problem, leaf: State) -> list[Action]:
    """Actions from the root to a leaf that is known without them.

    By the problem's ``path_to``, else by its ``parents``, else along children whose items the leaf has.
    """
    capabilities = Capabilities(problem)
    if capabilities.path_to is not None:
        return list(capabilities.path_to(leaf))
    same, found = capabilities.key, list[Action]()
    root, state = same(problem.root()), leaf
    if capabilities.parents is not None:
        while same(state) != root:
            before = capabilities.parents(state)
            if not before or len(found) == LONGEST_PATH:
                raise ProblemError(f"parents({state!r}) does not lead back to the root: is it a state?")
            state, action = before[0]
            found.append(action)
        return found[::-1]
    if capabilities.items is None:
        name = type(problem).__name__
        raise ProblemError(f"the way to {leaf!r} is not known: give {name} path_to(leaf) or parents(state)")
    wanted, state = set(capabilities.items(leaf)), problem.root()
    while same(state) != same(leaf):
        steps = ((action, problem.step(state, action)) for action in problem.actions(state))
        fitting = ((action, after) for action, after in steps if wanted >= set(capabilities.items(after)))
        action, state = next(fitting, (None, None))
        if state is None or len(found) == LONGEST_PATH:
            raise ProblemError(f"no way to {leaf!r} was found: give the problem path_to(leaf)")
        found.append(action)
    return found


def walked(problem: Problem, numbers: Sequence[int]) -> tuple[State, tuple[Action, ...]]:
    """The state that actions given by their indices lead to from the root, and these actions."""
    state, taken = problem.root(), []
    for number in numbers:
        taken.append(problem.actions(state)[number])
        state = problem.step(state, taken[-1])
    return state, tuple(taken)
