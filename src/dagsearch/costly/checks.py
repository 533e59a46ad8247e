"""Checks of what a problem with costly steps returns."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dagsearch._internal.checks import is_finite
from dagsearch._internal.texts import shown
from dagsearch._internal.typing import FloatArray
from dagsearch.errors import ProblemError
from dagsearch.posterior.units import LARGEST_REWARD
from dagsearch.problem import Action, State, Step


def checked_root(found: Any) -> Step:
    """What ``root`` returned, as a step."""
    return _checked(found if isinstance(found, Step) else Step(found), "root()")


def checked_step(found: Any, state: State, action: Action) -> Step:
    """What ``expand`` returned; raises :class:`ProblemError` unless it is a valid :class:`Step`."""
    return _checked(found, f"expand({shown(state)}, {shown(action)})")


def _checked(found: Any, where: str) -> Step:
    if not isinstance(found, Step):
        raise ProblemError(f"{where} returned {shown(found)}: return ds.Step(state, gain, value, actions)")
    for name, number in (("gain", found.gain), ("value", 0.0 if found.value is None else found.value)):
        if not is_finite(number) or abs(number) > LARGEST_REWARD:
            raise ProblemError(
                f"{where} returned the {name} {shown(number)}: it must be a finite number of size "
                f"{LARGEST_REWARD:g} or less{', or None if one cannot stop there' * (name == 'value')}"
            )
    try:
        hash(found.state)
    except TypeError as error:
        raise ProblemError(
            f"{where} returned the state {shown(found.state)}, which is not hashable ({error}): use tuples, "
            "frozensets or frozen dataclasses"
        ) from error
    value = None if found.value is None else float(found.value)
    return Step(found.state, float(found.gain), value, found.actions)


def checked_cost(cost: Any, state: State, action: Action) -> float:
    """The cost of a step; raises :class:`ProblemError` unless it is a positive number."""
    if not is_finite(cost) or cost <= 0.0:
        raise ProblemError(
            f"cost({shown(state)}, {shown(action)}) returned {shown(cost)}: it must be a positive number"
        )
    return float(cost)


def checked_features(found: Sequence[Any], state: State, others: Sequence[Any]) -> list[FloatArray]:
    """The features of a state's actions; raises :class:`ProblemError` unless they are finite numbers.

    ``others`` are features of other edges, which must be of the same length.
    """
    features = [np.asarray(one, dtype=np.float64).reshape(-1) for one in found]
    for one in features:
        if not np.all(np.isfinite(one)):
            raise ProblemError(
                f"features({shown(state)}, action) returned {shown(one)}: they must be finite numbers"
            )
    sizes = {len(one) for one in (*features, *others) if one is not None}
    if len(sizes) > 1:
        raise ProblemError(
            f"features({shown(state)}, action) returned arrays of different lengths, {sorted(sizes)}"
        )
    return features
