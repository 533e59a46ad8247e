"""Codes of states that do not show the decisions behind them, from the paths that lead there.

A question is identified by what is offered: the same options asked again are the same question, with a number
where they are asked repeatedly on one path. So a network has a first, a second and a third type of layer, and
a pipeline the settings of the model that it has, wherever on the path they are asked.
"""

from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Action, Coding, Problem, State
from dagsearch.space.chosen import Chosen, Options
from dagsearch.space.named import Answer, Seen
from dagsearch.space.numbers import MOST_NAMES
from dagsearch.space.walks import Path

# Number of paths on which it is tried whether decisions can be exchanged.
_TRIED = 16
# Number of states whose decisions are remembered.
_REMEMBERED = 100_000


class PathCodes:
    """The states of a problem as the decisions on the paths to them.

    Parameters
    ----------
    problem : Problem
        Its actions must be hashable.
    key : callable
        What identifies a state.
    """

    def __init__(self, problem: Problem, key: Any) -> None:
        self._problem, self._key = problem, key
        self._names: dict[tuple[Options, int], str] = {}
        self._ways: dict[Hashable, Chosen] = {}
        self._seen = Seen()
        self._complete = self._seen.look_around(lambda answer: self._walked((), answer)[0])

    def coding(self) -> Coding | None:
        """How states are written as codes; ``None`` if too much is offered to know it all."""
        codes = self._seen.codes
        numbers = codes.layout.numbers or [None] * len(codes.names)
        sizes = [size for size, known in zip(codes.layout.categories, numbers, strict=True) if known is None]
        if not self._complete or sum(sizes) > MOST_NAMES:
            return None
        neighbours, every = codes.neighbours, codes.every
        return Coding(codes.layout, self._codes, self._leaf_of, self._path_to, every, neighbours)

    def learn(self, actions: Sequence[Action]) -> None:
        """Remember which states these actions lead to; nothing if they do not lead to a leaf."""
        with suppress(ProblemError, ValueError, TypeError, LookupError):  # the root may have moved since
            self._walked(actions, lambda name, options: options[0])

    def _walked(self, known: Sequence[Hashable], answer: Answer) -> tuple[Chosen, State]:
        """A walk through the problem and its leaf; which decisions lead to the states is remembered."""
        problem, state, asked = self._problem, self._problem.root(), list[Options]()
        chosen = Chosen()
        if len(self._ways) > _REMEMBERED:
            self._ways.clear()
        while len(offered := problem.actions(state)) > 0:
            options = tuple(offered)
            asked.append(options)
            name = self._name(options, asked.count(options))
            value = known[len(chosen)] if len(chosen) < len(known) else answer(name, options)
            if value not in options:
                raise ProblemError(f"{value!r} is not offered at {state!r}")
            chosen, state = chosen.with_choice(name, value), problem.step(state, value)
            self._ways.setdefault(self._key(state), chosen)
        return Chosen(chosen.names, chosen.chosen, tuple(asked)), state

    def _name(self, options: Options, times: int) -> str:
        return self._names.setdefault((options, times), f"question {len(self._names)}")

    def _codes(self, states: Sequence[State]) -> IntArray:
        """Codes of states, −1 where a decision is not made or not known."""
        rows = []
        for state in states:
            chosen, codes = self._way(state), self._seen.codes
            complete = chosen is not None and len(self._problem.actions(state)) == 0
            rows.append([-1] * len(codes.names) if chosen is None else codes.row(chosen, complete))
        return np.array(rows, dtype=np.int64).reshape(-1, len(self._seen.codes.names))

    def _way(self, state: State) -> Chosen | None:
        """The decisions that lead to a state; of a tuple these may be its elements."""
        key = self._key(state)
        if key not in self._ways and type(state) is tuple:
            self.learn(state)
        return self._ways.get(key)

    def _leaf_of(self, codes: IntArray) -> State:
        return self._walked((), self._seen.codes.answer(codes))[1]

    def _path_to(self, leaf: State) -> list[Action]:
        chosen = self._way(leaf)
        if chosen is None:
            raise ProblemError(f"the way to {leaf!r} is not known")
        return list(chosen.chosen)


def paths_are_states(problem: Problem, key: Any, paths: Sequence[Path]) -> bool:
    """Whether different decisions lead to different states, as far as paths show.

    They do not where two decisions can be exchanged: then what was decided, not when, makes the state. Nor do
    they where two paths meet.
    """
    ways = {key(path.states[-1]): tuple(path.actions) for path in paths}
    if any(ways[key(path.states[-1])] != tuple(path.actions) for path in paths):
        return False
    for path in paths[:_TRIED]:
        for place in range(len(path.actions) - 1):
            first, second = path.actions[place : place + 2]
            if first == second or second not in path.offered[place]:
                continue
            between = problem.step(path.states[place], second)
            if first in tuple(problem.actions(between)) and key(problem.step(between, first)) == key(
                path.states[place + 2]
            ):
                return False
    return True
