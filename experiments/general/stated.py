"""The problems as a newcomer would define them for :func:`dagsearch.search`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dagsearch.problem import Problem
from dagsearch.problems import Choices, Choose, FunctionProblem, Orders, Subsets
from experiments.general.problems import Instance
from experiments.general.problems.base import Sequential
from experiments.general.spaces import AnySize, Order, Places, Repeated, Subset

Row = Sequence[int]
Reward = Callable[[Row], float]
"""The score of one point."""


def stated(instance: Instance, descends: bool = False) -> Problem:
    """The instance as a problem; a method that descends knows its choices in advance."""
    space = instance.space

    def reward(point: Row) -> float:
        return float(instance.scores(np.array([point], dtype=np.int64))[0])

    if instance.own is not None:
        assert isinstance(space, Places)
        return instance.own(named(space, reward))
    if isinstance(space, Repeated):
        return Orders([item for item in range(space.items) for _ in range(space.times)], reward)
    if isinstance(space, Subset):
        return Subsets(space.n, space.k, lambda chosen: reward(_indicators(chosen, space.n)))
    if isinstance(space, AnySize):
        n = len(space.options)
        return Subsets(n, (1, n), lambda chosen: reward(_indicators(chosen, n)))
    if isinstance(space, Order):
        return Sequential(lambda state: [item for item in range(space.n) if item not in state], reward)
    assert isinstance(space, Places)
    if space.values is not None and not descends:
        return by_choose(space, reward)
    if space.conditions:
        return conditional(space, reward)
    options = [range(count) for count in space.options.tolist()]
    return Sequential(lambda state: options[len(state)] if len(state) < len(options) else (), reward)


def _indicators(chosen: frozenset[int], n: int) -> list[int]:
    return [int(item in chosen) for item in range(n)]


def conditional(space: Places, reward: Reward) -> Choices:
    """Named choices, some only after certain earlier ones."""
    counts = dict(zip(space.names, space.options.tolist(), strict=True))

    def options(place: int, name: str) -> Sequence[int] | Callable[[Mapping[str, int]], Sequence[int] | None]:
        condition = space.conditions.get(place)
        if condition is None:
            return range(counts[name])
        after, allowed = space.names[condition.place], condition.options
        return lambda chosen: range(counts[name]) if chosen.get(after) in allowed else None

    places = {name: options(place, name) for place, name in enumerate(space.names)}
    return Choices(places, lambda chosen: reward([chosen.get(name, counts[name]) for name in space.names]))


def named(space: Places, reward: Reward) -> Callable[[Mapping[str, Any]], float]:
    """The score of named values; a missing name is a place that does not exist."""
    assert space.values is not None
    codes = [{value: code for code, value in enumerate(values)} for values in space.values]

    def score(chosen: Mapping[str, Any]) -> float:
        pairs = zip(space.names, codes, strict=True)
        return reward([code[chosen[name]] if name in chosen else len(code) for name, code in pairs])

    return score


def by_choose(space: Places, reward: Reward) -> FunctionProblem:
    """A function that chooses named values one by one."""
    assert space.values is not None
    score, places = named(space, reward), list(zip(space.names, space.values, strict=True))
    conditions = {
        space.names[place]: (places[after][0], {places[after][1][option] for option in options})
        for place, (after, options) in space.conditions.items()
    }

    def chosen_values(choose: Choose) -> float:
        chosen: dict[str, Any] = {}
        for name, values in places:
            after, allowed = conditions.get(name, (None, ()))
            if after is None or chosen.get(after) in allowed:
                chosen[name] = choose(name, values)
        return score(chosen)

    return FunctionProblem(chosen_values)
