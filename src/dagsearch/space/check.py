"""What is checked of a problem before it is searched: its first path, and the order of its actions."""

from collections.abc import Mapping, Set
from contextlib import suppress
from typing import Any

import numpy as np

from dagsearch.errors import ProblemError
from dagsearch.problem import MOST_ACTIONS, Action, State, check_members
from dagsearch.space.space import Space
from dagsearch.space.walks import shape_rng

# Number of random paths on which actions are asked for twice before a search, and their largest length.
_WALKS, _LONGEST = 2, 100
# Number of decisions on which a problem is checked before it is searched.
_CHECKED_DECISIONS = 100


def check_first_path(space: Space) -> None:
    """Raise :class:`ProblemError` unless the problem has the four methods and its first path is sound.

    No reward is computed. :func:`dagsearch.testing.check_problem` checks much more.
    """
    check_members(space.problem)
    problem, name, key = space.problem, type(space.problem).__name__, space.key
    state = problem.root()
    for _ in range(_CHECKED_DECISIONS):
        actions = problem.actions(state)
        _check_actions(name, state, actions)
        if len(actions) == 0:
            return
        before, following = key(state), problem.step(state, actions[0])
        if following is state or key(state) != before:
            raise ProblemError(
                f"{name}.step changed the state {state!r} itself: return a new state and leave the old one "
                "as it is"
            )
        if key(problem.step(state, actions[0])) != key(following):
            raise ProblemError(
                f"{name}.step({state!r}, {actions[0]!r}) returned two states that are not equal: states must "
                "compare by what they hold, as tuples and frozen dataclasses do; or give the problem a "
                "key(state) method"
            )
        state = following


def not_a_sequence(state: State, actions: Any) -> str | None:
    """What is wrong if actions are not in an order, such as a set."""
    ordered = hasattr(actions, "__len__") and hasattr(actions, "__getitem__")
    if ordered and not isinstance(actions, (Set, Mapping)):
        return None
    return (
        f"actions({state!r}) returned {actions!r}; it must be a list, tuple or range, always in the same "
        "order, and empty at a leaf"
    )


def _check_actions(name: str, state: State, actions: Any) -> None:
    if (fault := not_a_sequence(state, actions)) is not None:
        raise ProblemError(f"{name} cannot be searched: {fault}")
    if len(actions) > MOST_ACTIONS:
        raise ProblemError(
            f"{name}.actions({state!r}) returned {len(actions):,} actions, and more than {MOST_ACTIONS:,} "
            "cannot be rated: divide the decision into several smaller ones, such as first a group of "
            "actions and then one of the group"
        )


def check_actions(space: Space) -> None:
    """Raise :class:`ProblemError` if the actions on some random paths have no order, or change it."""
    rng, problem = shape_rng(), space.problem
    for _ in range(_WALKS):
        state = problem.root()
        for _ in range(_LONGEST):
            first, second = problem.actions(state), problem.actions(state)
            fault = not_a_sequence(state, first)
            if fault is None and not _lead_alike(space, state, first, second):
                fault = in_another_order(state, first, second)
            if fault is not None:
                raise ProblemError(f"{type(problem).__name__} cannot be searched: {fault}")
            if len(first) == 0:
                break
            state = problem.step(state, first[int(rng.integers(len(first)))])


def in_another_order(state: State, first: Any, second: Any) -> str:
    """What is wrong if actions differ from call to call."""
    return (
        f"actions({state!r}) changes from call to call: {list(first)!r}, then {list(second)!r}; it must "
        "always return the same actions in the same order"
    )


def _lead_alike(space: Space, state: State, first: Any, second: Any) -> bool:
    """Whether actions lead to the same states in the same order; they may be objects that are not equal."""
    if len(first) != len(second):
        return False
    with suppress(ValueError):  # of arrays as actions, whose comparison is an array
        if list(first) == list(second) if isinstance(first, np.ndarray) else first == second:
            return True

    def reached(action: Action) -> Any:
        return space.key(space.problem.step(state, action))

    return all(reached(one) == reached(other) for one, other in zip(first, second, strict=True))
