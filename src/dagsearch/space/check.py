"""Checks of every problem before it is searched; :mod:`dagsearch.testing` has more."""

from collections.abc import Hashable, Mapping, Set
from typing import Any

import numpy as np

from dagsearch.errors import ProblemError
from dagsearch.problem import MOST_ACTIONS, Action, State, check_members
from dagsearch.space.space import Space
from dagsearch.space.walks import shape_rng

# Number of paths checked before a search, and of decisions on each.
_WALKS, _LONGEST = 3, 100


def check_paths(space: Space) -> None:
    """Raise :class:`ProblemError` unless the problem has the four methods and sound paths.

    No reward is computed.
    """
    check_members(space.problem)
    checked_walks(space, _WALKS, _LONGEST, shape_rng())


def checked_walks(space: Space, walks: int, longest: int, rng: np.random.Generator) -> list[list[State]]:
    """The states on random paths from the root, up to leaves or ``longest`` decisions; raises if unsound."""
    offered, paths = dict[Hashable, tuple[list[Action], int]](), list[list[State]]()
    for _ in range(walks):
        state, path = space.problem.root(), dict[Hashable, State]()
        while (key := space.key(state)) not in path:
            path[key] = state
            actions = _checked_actions(space, state)
            now = list(actions), space.player(state)
            if (before := offered.setdefault(key, now)) != now:
                raise ProblemError(
                    f"inconsistent actions or player: {state!r} first had {before!r}, later {now!r}; equal "
                    "states must offer the same actions to the same player"
                )
            if len(actions) == 0 or len(path) > longest:
                paths.append(list(path.values()))
                break
            state = _checked_step(space, state, actions[int(rng.integers(len(actions)))])
        else:
            raise ProblemError(
                f"cycle: a path leads from the state {state!r} back to it, but every path must end"
            )
    return paths


def _checked_actions(space: Space, state: State) -> Any:
    """The actions at a state; raises :class:`ProblemError` if their order is undefined or changes."""
    name, actions = type(space.problem).__name__, space.problem.actions(state)
    ordered = hasattr(actions, "__len__") and hasattr(actions, "__getitem__")
    if not ordered or isinstance(actions, (Set, Mapping)):
        raise ProblemError(
            f"{name}.actions({state!r}) returned {actions!r}; it must be a list, tuple or range, always in "
            "the same order, and empty at a leaf"
        )
    if len(actions) > MOST_ACTIONS:
        raise ProblemError(
            f"{name}.actions({state!r}) returned {len(actions):,} actions, but at most {MOST_ACTIONS:,} "
            "can be rated: divide the decision into several smaller ones, such as first a group of "
            "actions and then one action of the group"
        )
    if list(actions) != list(again := space.problem.actions(state)):
        raise ProblemError(in_another_order(state, actions, again))
    return actions


def in_another_order(state: State, first: Any, second: Any) -> str:
    """The message about actions that differ from call to call."""
    return (
        f"actions({state!r}) changes from call to call: {list(first)!r}, then {list(second)!r}; it must "
        "always return the same actions in the same order"
    )


def _checked_step(space: Space, state: State, action: Action) -> State:
    """The state after an action; raises :class:`ProblemError` if the old one changed or if steps differ."""
    name, before = f"{type(space.problem).__name__}.step", (repr(state), space.key(state))
    first, second = space.problem.step(state, action), space.problem.step(state, action)
    if first is state or (repr(state), space.key(state)) != before:
        raise ProblemError(
            f"{name} changed the state {before[0]} in place: return a new state and keep the old one"
        )
    if space.key(first) != space.key(second):
        raise ProblemError(
            f"{name}({state!r}, {action!r}) returned two states that are not equal: states must compare by "
            "value, as tuples and frozen dataclasses do; a class that compares by identity needs "
            "__eq__ and __hash__, or the problem a key(state) method"
        )
    return first
