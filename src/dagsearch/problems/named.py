"""What problems of named choices share: the four methods, remembered questions, and states as arrays.

Places of the arrays are names, so that a name means the same wherever it is asked.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, Final

import numpy as np

from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Layout
from dagsearch.problems.chosen import Answer, Chosen, Decision, Question
from dagsearch.problems.options import Options, checked_options, digest
from dagsearch.problems.survey import NOT_TWICE, Branches, Survey, Walk
from dagsearch.space.codes import draw_moves, one_place_changed

_ROOT = Chosen()
# Number of states whose next question is remembered.
_REMEMBERED: Final = 50_000
# Number of ways in which a neighbour is completed if its change makes new choices appear.
_COMPLETIONS: Final = 3


class NamedChoices(ABC):
    """A problem that asks one question after another; which one is next may depend on the answers so far.

    A state is a :class:`dagsearch.problems.Chosen`, an action a :class:`dagsearch.problems.Decision`.
    """

    layout: Layout | None
    """One place per name; the category is the number of the value, or "absent"."""
    depth: int
    """Number of decisions to the deepest leaf that was found."""

    def __init__(self) -> None:
        self._forget()

    @abstractmethod
    def _discover(self, known: Sequence[Hashable], answer: Answer) -> Walk:
        """One complete way through the choices that begins with the answers that are known."""

    @abstractmethod
    def reward(self, leaf: Chosen) -> float:
        """What the choices earn."""

    def _use(self, survey: Survey, has_layout: bool = True) -> None:
        """Number names and values as a survey found them."""
        self._survey = survey
        self.depth = len(survey.widths)
        self._names, self._values = tuple(survey.values), list(survey.values.values())
        self._place = {name: place for place, name in enumerate(self._names)}
        self._code = [{value: code for code, value in enumerate(values)} for values in self._values]
        optional = np.array([name in survey.optional for name in self._names], dtype=np.bool_)
        sizes = np.array([len(values) for values in self._values], dtype=np.int64)
        self._absent: list[int] = np.where(optional, sizes, -1).tolist()
        self.layout = Layout("places", sizes + optional) if has_layout else None
        self._is_steering = np.array([name in survey.steering for name in self._names], dtype=np.bool_)

    # What is asked -----------------------------------------------------------------------------------

    def _forget(self) -> None:
        self._questions: dict[tuple[str, Options], Question] = {}
        self._known = Branches()

    def _walk(self, answer: Answer) -> Walk:
        """One complete way through the choices; what is known of it is not found out again."""
        walk, complete = self._known.follow(answer)
        return walk if complete else self._found(walk.values, answer)

    def _found(self, known: Sequence[Hashable], answer: Answer) -> Walk:
        """One complete way, found out anew and remembered; raise if what was remembered has changed."""
        if len(self._known) > _REMEMBERED:
            self._forget()
        walk = self._discover(known, answer)
        self._known.add(walk)
        return walk

    def _question(self, state: Chosen) -> Question | None:
        """What is to be chosen next; ``None`` at a leaf."""
        branch = self._known.at(state)
        if branch is None:
            random = Random(0)  # any way will do that begins with the state
            self._found(state.chosen, lambda asked: random.choice(asked.options))
            branch = self._known.at(state)
        if branch is None:
            raise ProblemError(f"the choices {state.asdict()!r} do not lead to a state: {NOT_TWICE}")
        return branch.question

    def _interned(self, name: str, options: Options, made: Mapping[str, Any]) -> Question:
        """The question with this name and these options, checked when it is new, after some choices."""
        try:
            known = self._questions.get((name, options))
        except TypeError:  # something is not hashable, which the check says better
            known = None
        if known is None:
            what = f"the options of {name!r} after the choices {dict(made)!r}"
            known = self._questions[name, options] = Question(name, checked_options(what, options))
        return known

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
        rows = [self._coded(self._undecided(state), self.items(state)) for state in states]
        return np.array(rows, dtype=np.int64).reshape(-1, len(self._names))

    def _coded(self, row: list[int], items: Iterable[tuple[str, Hashable]]) -> list[int]:
        """A row with the codes of some choices."""
        place_of, code_of = self._place, self._code
        for name, value in items:
            if name in place_of:
                place = place_of[name]
                row[place] = code_of[place].get(value, -1)
        return row

    def _undecided(self, state: Chosen) -> list[int]:
        """−1 for every name that may still be asked, its category "absent" for those that cannot."""
        if not self._survey.conditional:
            return [-1] * len(self._names)
        if self._question(state) is None:
            return self._absent.copy()
        branch = self._survey.branches.at(state)
        if branch is None:
            return [-1] * len(self._names)
        return [
            -1 if n in branch.followers else absent
            for n, absent in zip(self._names, self._absent, strict=True)
        ]

    def leaf_of(self, codes: IntArray) -> Chosen:
        """The leaf with these codes; the first option is chosen where a code does not fit."""
        return self._leaf(self._answers(codes, lambda options: options[0]))

    def _answers(self, codes: IntArray, otherwise: Callable[[Options], Hashable]) -> Answer:
        """Answers with the value that the codes give to a name, or ``otherwise`` if it is not an option."""
        wanted: list[int] = codes.tolist()

        def answer(question: Question) -> Hashable:
            place = self._place.get(question.name, -1)
            if place < 0 or not 0 <= wanted[place] < len(self._values[place]):
                return otherwise(question.options)
            value = self._values[place][wanted[place]]
            return value if value in question.options else otherwise(question.options)

        return answer

    def path_to(self, leaf: Chosen) -> list[Decision]:
        """The decisions in their order."""
        return [Decision(*item) for item in self.items(leaf)]

    def neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of leaves with one choice changed, each once: all, or ``count`` of them at random.

        Where the change decides which other choices there are, these keep their values if they can. Those
        that appear, and those whose value is not an option any more, are drawn, in several ways if there is
        room for them. What is asked is what the survey was asked; :meth:`leaf_of` asks the problem itself.
        """
        if not self._survey.conditional:
            return one_place_changed(codes, np.array([len(v) for v in self._values]), count, rng)
        place, code = self._changes(codes, count, rng)
        rows = np.tile(codes, (place.size, 1))
        rows[np.arange(place.size), place] = code
        steered = rows[self._is_steering[place]]
        if len(steered) == 0:
            return rows
        kept = rows[~self._is_steering[place]]
        ways = min(max((count - len(kept)) // len(steered), 1), _COMPLETIONS)
        completed = [self._completed(row, rng) for row in np.repeat(steered, ways, axis=0)]
        return np.concatenate([kept, np.unique(completed, axis=0)])

    def _changes(self, codes: IntArray, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Place and new category of changes of single choices in the branch of a leaf."""
        walk = self._guessed(self._answers(codes, lambda options: options[0]))
        found = [pair for pair in zip(*walk, strict=True) if pair[0].name in self._place]
        sizes = np.array([len(question.options) for question, _ in found])
        own = np.array([question.options.index(value) for question, value in found])
        choice, number = draw_moves(sizes - 1, count, rng)
        option = (own[choice] + 1 + number) % sizes[choice]
        places = [self._place[question.name] for question, _ in found]
        known = [self._code[p].get(v, -1) for p, (q, _) in zip(places, found, strict=True) for v in q.options]
        code = np.array(known)[(np.cumsum(sizes) - sizes)[choice] + option]
        return np.array(places)[choice][code >= 0], code[code >= 0]

    def _completed(self, codes: IntArray, rng: np.random.Generator) -> list[int]:
        """The codes of a leaf with random options where codes do not fit."""
        random = rng.random
        walk = self._guessed(self._answers(codes, lambda options: options[int(random() * len(options))]))
        names = [question.name for question in walk.questions]
        return self._coded(self._absent.copy(), zip(names, walk.values, strict=True))

    def _guessed(self, answer: Answer) -> Walk:
        """One complete way through the choices as the survey found it, or else as the problem has it."""
        walk, complete = self._survey.branches.follow(answer)
        return walk if complete else self._walk(answer)

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

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_questions": {}, "_known": Branches()}
