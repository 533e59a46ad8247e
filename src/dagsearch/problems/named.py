"""What problems of named choices share: the four methods, and states as arrays.

Places of the arrays are names, so that a name means the same wherever it is asked.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Layout
from dagsearch.problems.chosen import Answer, Chosen, Decision, Question
from dagsearch.problems.options import digest
from dagsearch.problems.survey import Survey, Walk

_ROOT = Chosen()


class NamedChoices(ABC):
    """A problem that asks one question after another; which one is next may depend on the answers so far.

    A state is a :class:`dagsearch.problems.Chosen`, an action a :class:`dagsearch.problems.Decision`.
    """

    layout: Layout | None
    """One place per name; the category is the number of the value, or "absent"."""
    depth: int
    """Number of decisions to the deepest leaf that was found."""

    @abstractmethod
    def _question(self, state: Chosen) -> Question | None:
        """What is to be chosen next; ``None`` at a leaf."""

    @abstractmethod
    def _walk(self, answer: Answer) -> Walk:
        """One complete way through the choices."""

    @abstractmethod
    def reward(self, leaf: Chosen) -> float:
        """What the choices earn."""

    def _use(self, survey: Survey, has_layout: bool = True) -> None:
        """Number names and values as a survey found them."""
        self._survey = survey
        self.depth = len(survey.widths)
        self._values = list(survey.values.values())
        self._place = {name: place for place, name in enumerate(survey.values)}
        self._code = [{value: code for code, value in enumerate(values)} for values in self._values]
        optional = np.array([name in survey.optional for name in survey.values], dtype=np.bool_)
        sizes = np.array([len(values) for values in self._values], dtype=np.int64)
        self._absent: list[int] = np.where(optional, sizes, -1).tolist()
        self.layout = Layout("places", sizes + optional) if has_layout else None
        self._is_steering = np.array([name in survey.steering for name in survey.values], dtype=np.bool_)
        self._all_options: tuple[IntArray, IntArray] | None = None
        if not survey.conditional:
            codes = np.concatenate([np.arange(size) for size in sizes])
            self._all_options = np.repeat(np.arange(sizes.size), sizes), codes

    # The four methods --------------------------------------------------------------------------------

    def root(self) -> Chosen:
        """Nothing is chosen."""
        return _ROOT

    def actions(self, state: Chosen) -> Sequence[Decision]:
        """The options of the next choice."""
        question = self._question(state)
        return () if question is None else question.decisions

    def step(self, state: Chosen, action: Decision) -> Chosen:
        """The choices with one more."""
        return state.with_choice(*action)

    def branching(self, level: int) -> int:
        """Mean number of options at a level, rounded."""
        return self._survey.widths[level]

    def items(self, state: Chosen) -> list[tuple[str, Hashable]]:
        """The choices with their names."""
        return list(zip(state.names, state.chosen, strict=True))

    def parents(self, state: Chosen) -> list[tuple[Chosen, Decision]]:
        """The choices without the last one, and that one."""
        if not state.names:
            return []
        before = Chosen(state.names[:-1], state.chosen[:-1])
        return [(before, Decision(state.names[-1], state.chosen[-1]))]

    def random_leaf(self, state: Chosen, rng: np.random.Generator) -> tuple[Chosen, list[Decision]]:
        """A leaf by uniformly random options from ``state`` on, and these."""
        known, random = iter(state.chosen), rng.random

        def answer(question: Question) -> Hashable:
            for value in known:
                return value
            return question.options[int(random() * len(question.options))]

        leaf = self._leaf(answer)
        return leaf, self.path_to(leaf)[len(state) :]

    def _leaf(self, answer: Answer) -> Chosen:
        walk = self._walk(answer)
        return Chosen(tuple(question.name for question in walk.questions), walk.values)

    def leaf(self, choices: Mapping[str, Hashable]) -> Chosen:
        """The leaf with these choices, in whatever order they are given; for ``tell``, say."""

        def answer(question: Question) -> Hashable:
            if question.name not in choices:
                raise ProblemError(f"{question!r} is not chosen in {dict(choices)!r}")
            value = choices[question.name]
            if value not in question.options:
                raise ProblemError(f"{value!r} cannot be chosen for {question!r}")
            return value

        leaf = self._leaf(answer)
        if extra := sorted(set(choices) - set(leaf)):
            raise ProblemError(f"{extra[0]!r} is not a choice beside {leaf.asdict()!r}")
        return leaf

    def validate(self, state: Chosen) -> None:
        """Raise :class:`ProblemError` unless decisions can lead to ``state``."""
        if not isinstance(state, Chosen):
            raise ProblemError(
                f"{state!r} is not a state of this problem: make a leaf with problem.leaf({{name: value, …}})"
            )
        reached = self.root()
        for name, value in self.items(state):
            question = self._question(reached)
            if question is None or question.name != name or value not in question.options:
                raise ProblemError(
                    f"{state!r} is not a state of this problem: after {reached.asdict()!r} comes "
                    f"{'nothing' if question is None else question!r}"
                )
            reached = reached.with_choice(name, value)

    # Arrays --------------------------------------------------------------------------------------------

    def codes(self, states: Sequence[Chosen]) -> IntArray:
        """Number of the value of each name, shape ``(states, names)``.

        −1 where it is not decided yet, and where the value or the whole branch was not found when the problem
        was made.
        """
        place_of, code_of = self._place, self._code
        rows = []
        for state in states:
            row = self._undecided(state)
            for name, value in zip(state.names, state.chosen, strict=True):
                if name in place_of:
                    place = place_of[name]
                    row[place] = code_of[place].get(value, -1)
            rows.append(row)
        return np.array(rows, dtype=np.int64).reshape(-1, len(place_of))

    def _undecided(self, state: Chosen) -> list[int]:
        """−1 for every name that may still be asked, its category "absent" for those that cannot."""
        followers: frozenset[str] | None = None
        if self._survey.conditional:
            condition = self._survey.condition(state.names, state.chosen)
            ended = self._question(state) is None
            followers = frozenset() if ended else self._survey.followers.get(condition)
        if followers is None:
            return [-1] * len(self._place)
        row = self._absent.copy()
        for name in followers:
            row[self._place[name]] = -1
        return row

    def leaf_of(self, codes: IntArray) -> Chosen:
        """The leaf with these codes; the first option is chosen where a code does not fit."""
        return self._leaf(self._answers(codes))

    def _answers(self, codes: IntArray) -> Answer:
        """Answers with the value that the codes give to a name, if it is an option, else the first one."""
        wanted: list[int] = codes.tolist()

        def answer(question: Question) -> Hashable:
            place = self._place.get(question.name, -1)
            if place < 0 or not 0 <= wanted[place] < len(self._values[place]):
                return question.options[0]
            value = self._values[place][wanted[place]]
            return value if value in question.options else question.options[0]

        return answer

    def path_to(self, leaf: Chosen) -> list[Decision]:
        """The decisions in their order."""
        return [Decision(*item) for item in self.items(leaf)]

    def neighbours(self, codes: IntArray) -> IntArray:
        """Codes of the leaves with one choice changed, each once.

        Where the change decides which other choices there are, these keep their values if they can. Those
        that appear, and those whose value is not an option any more, take their first option.
        """
        place, code = self._options(codes)
        change = code != codes[place]
        place, code = place[change], code[change]
        rows = np.tile(codes, (place.size, 1))
        rows[np.arange(place.size), place] = code
        steered = self._is_steering[place]
        if not steered.any():
            return rows
        return np.concatenate([rows[~steered], self.codes([self.leaf_of(row) for row in rows[steered]])])

    def _options(self, codes: IntArray) -> tuple[IntArray, IntArray]:
        """Place and category of every option that there is in the branch of a leaf."""
        if self._all_options is not None:
            return self._all_options
        walk = self._walk(self._answers(codes))
        found = [
            (self._place[question.name], self._code[self._place[question.name]].get(value, -1))
            for question in walk.questions
            if question.name in self._place
            for value in question.options
        ]
        place, code = np.array([option for option in found if option[1] >= 0], dtype=np.int64).T
        return place, code

    # For a journal -------------------------------------------------------------------------------------

    def encode(self, state: Chosen) -> list[list[Any]]:
        """Names and values; a value that JSON does not know is encoded as the number of its option."""
        encoded, reached = [], self.root()
        for name, value in self.items(state):
            plain = value.item() if isinstance(value, np.generic) else value
            if not (plain is None or isinstance(plain, (bool, str)) or is_finite(plain)):
                question = self._question(reached)
                plain = {"option": -1 if question is None else question.options.index(value)}
            encoded.append([name, plain])
            reached = reached.with_choice(name, value)
        return encoded

    def decode(self, encoded: Sequence[Sequence[Any]]) -> Chosen:
        """The state that :meth:`encode` was given."""
        state = self.root()
        for name, value in encoded:
            if isinstance(value, dict):
                question = self._question(state)
                value = None if question is None else question.options[value["option"]]
            state = state.with_choice(name, value)
        return state

    def identity(self) -> str:
        """A digest of all names and values that were found."""
        return digest(self._survey.values, sorted(self._survey.optional))
