"""Whether a problem's actions are a sequence that is always in the same order."""

from contextlib import suppress
from typing import Any

import numpy as np

from dagsearch._internal.walks import shape_rng
from dagsearch.errors import ProblemError
from dagsearch.problem import Action, Capabilities, KeyFunction, Problem, State, not_a_sequence

# Number of random paths on which actions are asked for twice before a search, and their largest length.
_WALKS, _LONGEST = 2, 100


def check_actions(problem: Problem) -> None:
    """Raise :class:`ProblemError` if the actions on some random paths have no order, or change it."""
    rng, key = shape_rng(), Capabilities(problem).key
    for _ in range(_WALKS):
        state = problem.root()
        for _ in range(_LONGEST):
            first, second = problem.actions(state), problem.actions(state)
            fault = not_a_sequence(state, first)
            if fault is None and not _lead_alike(problem, key, state, first, second):
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


def _lead_alike(problem: Problem, key: KeyFunction, state: State, first: Any, second: Any) -> bool:
    """Whether actions lead to the same states in the same order; they may be objects that are not equal."""
    if len(first) != len(second):
        return False
    with suppress(ValueError):  # of arrays as actions, whose comparison is an array
        if list(first) == list(second) if isinstance(first, np.ndarray) else first == second:
            return True

    def reached(action: Action) -> Any:
        return key(problem.step(state, action))

    return all(reached(one) == reached(other) for one, other in zip(first, second, strict=True))
