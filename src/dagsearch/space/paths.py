"""Codes of states that do not show the decisions behind them, from the paths that lead there.

A question is identified by what is offered: the same options asked again are the same question, with a number
where they are asked repeatedly on one path. So a network has a first, a second and a third type of layer, and
a pipeline the settings of the model that it has, wherever on the path they are asked.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Action, Coding, Problem, State
from dagsearch.space.named import NamedCodes
from dagsearch.space.numbers import MOST_NAMES
from dagsearch.space.survey import Answer, Asked, Chosen, Options, Question, Survey, Walk
from dagsearch.space.walks import Path

# Number of paths on which it is tried whether decisions can be exchanged.
_TRIED = 16
# Number of states whose decisions are remembered.
_REMEMBERED = 100_000


class DecidedPaths:
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
        self._numbers: dict[Options, int] = {}
        self._questions: dict[tuple[Options, int], Question] = {}
        self._ways: dict[Hashable, Chosen] = {}
        self._asked = Asked(self._discover)
        survey = Survey.of_walks(lambda answer: self._asked.found((), answer))
        self._complete = survey.complete
        self._codes = NamedCodes(survey, self._asked.walk)

    def coding(self) -> Coding | None:
        """How states are written as codes; ``None`` if too much is offered to know it all."""
        layout = self._codes.layout
        numbers = layout.numbers or [None] * len(layout.categories)
        sizes = [size for size, known in zip(layout.categories, numbers, strict=True) if known is None]
        if not self._complete or sum(sizes) > MOST_NAMES:
            return None
        codes = self._codes
        return Coding(layout, self.codes, self._leaf_of, self._path_to, codes.every, codes.neighbours)

    def learn(self, actions: Sequence[Action]) -> None:
        """Remember which states these actions lead to; nothing if they do not lead to a leaf."""
        with suppress(ProblemError, ValueError, TypeError, LookupError):  # the root may have moved since
            self._reached(actions)

    def _reached(self, actions: Sequence[Action]) -> State:
        return self._walked(actions, lambda question: question.options[0])[1]

    def _discover(self, known: Sequence[Hashable], answer: Answer) -> Walk:
        return self._walked(known, answer)[0]

    def _walked(self, known: Sequence[Hashable], answer: Answer) -> tuple[Walk, State]:
        """A walk through the problem and its leaf; which decisions lead to the states is remembered."""
        problem, state, asked = self._problem, self._problem.root(), Counter[Options]()
        questions, chosen = list[Question](), Chosen()
        if len(self._ways) > _REMEMBERED:
            self._ways.clear()
        while len(offered := problem.actions(state)) > 0:
            options = tuple(offered)
            asked[options] += 1
            question = self._question(options, asked[options])
            value = known[len(questions)] if len(questions) < len(known) else answer(question)
            questions.append(question)
            chosen = chosen.with_choice(question.name, value)
            state = problem.step(state, value)
            self._ways.setdefault(self._key(state), chosen)
        return Walk(tuple(questions), chosen.chosen), state

    def _question(self, options: Options, times: int) -> Question:
        found = self._questions.get((options, times))
        if found is None:
            number = self._numbers.setdefault(options, len(self._numbers))
            found = self._questions[options, times] = Question(f"question {number}, time {times}", options)
        return found

    def codes(self, states: Sequence[State]) -> IntArray:
        """Codes of states, −1 where a decision is not made or not known."""
        rows = [self._row(state) for state in states]
        return np.array(rows, dtype=np.int64).reshape(-1, len(self._codes.names))

    def _row(self, state: State) -> list[int]:
        chosen = self._way(state)
        if chosen is None:
            return [-1] * len(self._codes.names)
        return self._codes.row(chosen, len(self._problem.actions(state)) == 0)

    def _way(self, state: State) -> Chosen | None:
        """The decisions that lead to a state; of a tuple these may be its elements."""
        key = self._key(state)
        if key not in self._ways and type(state) is tuple:
            try:
                self._asked.question(Chosen(tuple(map(str, range(len(state)))), state))
            except (ProblemError, ValueError, TypeError, LookupError):
                return None  # they are not
        return self._ways.get(key)

    def _leaf_of(self, codes: IntArray) -> State:
        return self._reached(self._codes.walk_of(codes).values)

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
