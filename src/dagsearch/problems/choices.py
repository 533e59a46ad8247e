"""Find the best values of named choices.

Places of the arrays are names, so that a name means the same wherever it is asked.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Coding, Layout
from dagsearch.problems.forbidden import Forbidden
from dagsearch.problems.options import (
    as_tuple,
    checked_options,
    checked_reward_function,
    digest,
    identified,
)
from dagsearch.space.named import NamedCodes
from dagsearch.space.survey import Answer, Asked, Chosen, Decision, Options, Question, Survey, Walk
from dagsearch.space.walks import shape_rng, step_by_step

# With forbidden combinations: number of neighbours that are drawn for each one that is wanted, number of
# random walks that show how many options are left, and number of tries to mend a forbidden neighbour.
_DRAWN: Final = 4
_WALKS: Final = 64
_TRIES: Final = 8

OptionsOf = Callable[[Mapping[str, Any]], Iterable[Hashable] | None]
"""The options of a place, given the choices before it; ``None`` or nothing if there is no such place."""


_ROOT = Chosen()


class NamedChoices(ABC):
    """A problem that asks one question after another; which one is next may depend on the answers so far.

    A state is a :class:`dagsearch.problems.Chosen`, an action a :class:`dagsearch.problems.Decision`.
    """

    layout: Layout | None
    """One place per name; the category is the number of the value, or "absent"."""
    depth: int
    """Number of decisions to the deepest leaf that was found."""

    def __init__(self, fixed: tuple[Question, ...] | None = None) -> None:
        self._fixed = fixed
        """The questions, where the same ones are asked on every way: nothing is to be found out."""
        self._questions: dict[tuple[str, Options], Question] = {}
        self._ways = Asked(self._discover)

    @abstractmethod
    def _discover(self, known: Sequence[Hashable], answer: Answer) -> Walk:
        """One complete way through the choices that begins with the answers that are known."""

    def _use(self, survey: Survey, has_layout: bool = True) -> None:
        """Number names and values as a survey found them."""
        self._survey = survey
        self.depth = len(survey.widths)
        self._arrays = NamedCodes(survey, self._walk)
        self.layout = self._arrays.layout if has_layout else None

    # What is asked -----------------------------------------------------------------------------------

    def _walk(self, answer: Answer) -> Walk:
        """One complete way through the choices; what is known of it is not found out again."""
        if self._fixed is not None:
            return Walk(self._fixed, tuple(map(answer, self._fixed)))
        return self._ways.walk(answer)

    def _question(self, state: Chosen) -> Question | None:
        """What is to be chosen next; ``None`` at a leaf."""
        if self._fixed is not None:
            return self._fixed[len(state)] if len(state) < len(self._fixed) else None
        return self._ways.question(state)

    def _asked(self, name: str, options: Options, made: Mapping[str, Any]) -> Question:
        """The question with this name and these options after some choices, checked when it is new."""
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
        return () if question is None else self._offered(state, question)

    def _offered(self, state: Chosen, question: Question) -> Sequence[Decision]:
        """The decisions to offer at a question."""
        return question.decisions

    def step(self, state: Chosen, action: Decision) -> Chosen:
        """The choices with one more."""
        return state.with_choice(*action)

    @property
    def branching(self) -> list[int]:
        """Mean number of options at each level, rounded."""
        return self._survey.widths

    def items(self, state: Chosen) -> list[tuple[str, Hashable]]:
        """The choices with their names."""
        return list(zip(state.names, state.chosen, strict=True))

    def random_leaf(self, state: Chosen, rng: np.random.Generator) -> tuple[Chosen, list[Decision]]:
        """A leaf by uniformly random options from ``state`` on, and these."""
        known, random = iter(state.chosen), rng.random

        def answer(question: Question) -> Hashable:
            for value in known:
                return value
            return question.options[int(random() * len(question.options))]

        leaf = self._walk(answer).chosen
        return leaf, self.path_to(leaf)[len(state) :]

    def leaf(self, choices: Mapping[str, Hashable]) -> Chosen:
        """The leaf with these choices, in whatever order they are given; for ``tell``, say."""
        if not isinstance(choices, Mapping):
            raise ProblemError(
                f"{choices!r} is not a leaf of this problem: give a dictionary {{name: value, …}}"
            )

        def answer(question: Question) -> Hashable:
            if question.name not in choices:
                raise ProblemError(f"{question!r} is not chosen in {dict(choices)!r}")
            value = choices[question.name]
            if value not in question.options:
                raise ProblemError(f"{value!r} cannot be chosen for {question!r}")
            return value

        leaf = self._walk(answer).chosen
        if extra := sorted(set(choices) - set(leaf)):
            raise ProblemError(f"{extra[0]!r} is not a choice beside {leaf.asdict()!r}")
        return leaf

    # Arrays --------------------------------------------------------------------------------------------

    @property
    def coding(self) -> Coding | None:
        """Choices as arrays of codes."""
        if self.layout is None:
            return None
        return Coding(self.layout, self.codes, self.leaf_of, self.path_to, self.every, self.neighbours)

    def codes(self, states: Sequence[Chosen]) -> IntArray:
        """Number of the value of each name, shape ``(states, names)``.

        −1 where it is not decided yet, and where the value or the whole branch was not found when the problem
        was made.
        """
        rows = [self._arrays.row(state, self._is_leaf(state)) for state in states]
        return np.array(rows, dtype=np.int64).reshape(-1, len(self._arrays.names))

    def _is_leaf(self, state: Chosen) -> bool:
        if not self._survey.steering or not self._survey.rules.open_names(state):
            return True  # the codes are then those of a leaf, whatever the problem would say
        return self._question(state) is None

    def leaf_of(self, codes: IntArray) -> Chosen:
        """The leaf with these codes; the first option is chosen where a code does not fit."""
        return self._arrays.walk_of(codes).chosen

    def path_to(self, leaf: Chosen) -> list[Decision]:
        """The decisions in their order."""
        return [Decision(*item) for item in self.items(leaf)]

    def neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of leaves with one choice changed, each once: all, or ``count`` of them at random."""
        return self._arrays.neighbours(codes, count, rng)

    def every(self, most: int) -> IntArray | None:
        """Codes of all leaves as the survey found them, one row each; ``None`` if they are more."""
        return self._arrays.every(most)

    # For a journal -------------------------------------------------------------------------------------

    def encode(self, state: Chosen) -> list[list[Any]]:
        """Names and values; a value that JSON does not know is encoded as the number of its option."""
        encoded, reached = [], _ROOT
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


class Choices(NamedChoices):
    """Find the best values of named choices; options may depend on earlier choices.

    A state is a :class:`dagsearch.problems.Chosen`: a mapping from names to values, without the places that
    are not decided or do not exist in its branch. Places are decided in the order in which they are listed.
    What is known about a name holds in every branch: places of the arrays are names, categories are values.

    Parameters
    ----------
    places : mapping from names to options
        The options as a sequence of hashable values, or as a function of the choices before: it is given a
        mapping from the names listed before this one to their values and returns the options, or ``None`` if
        the place does not exist in that branch. Pairs of name and options will do, too.
    reward : callable, optional
        ``reward(choices)`` of complete choices, a dictionary of the places that exist. Without it, use
        ``ask`` and ``tell``.
    forbid : callable, optional
        ``forbid(choices)`` is true for combinations that do not exist. It is given a mapping from names to
        values, like ``reward``, and must depend on nothing else. Options are offered only where they can be
        completed.

    Notes
    -----
    To know whether choices can be completed, ``forbid`` is also asked before all of them are made. Where it
    looks at one that is not made yet, each of its options is tried. In the worst case that takes as many
    calls as there are combinations of the places it looks at. After 10,000 calls choices are left out, and a
    log message says so.

    Which values a function may return is found out when the problem is made, by walking random and rarely
    taken branches until nothing new turns up. A value that appears later can be chosen like any other, but
    has the code −1: the covariance takes it for not decided.

    Examples
    --------
    >>> problem = Choices(
    ...     {
    ...         "model": ["tree", "linear"],
    ...         "depth": lambda chosen: range(1, 9) if chosen["model"] == "tree" else None,
    ...     },
    ...     reward=lambda chosen: chosen.get("depth", 0),
    ... )
    >>> problem.actions(problem.root())
    (Decision(name='model', value='tree'), Decision(name='model', value='linear'))
    >>> problem.actions(problem.leaf({"model": "linear"}))
    ()
    >>> few = Choices({"a": [1, 2], "b": [1, 2]}, forbid=lambda chosen: chosen["a"] == chosen["b"])
    >>> few.actions(few.step(few.root(), Decision("a", 1)))
    (Decision(name='b', value=2),)
    """

    def __init__(
        self,
        places: Mapping[str, Iterable[Hashable] | OptionsOf] | Iterable[tuple[str, Any]],
        reward: Callable[[dict[str, Any]], float] | None = None,
        forbid: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> None:
        self._reward = checked_reward_function(reward)
        self._forbid, self._forbidden = forbid, None
        self._places: dict[str, Question | OptionsOf] = {}
        for name, options in _pairs(places):
            if not isinstance(name, str):
                raise ProblemError(f"the name of a place must be text, got {name!r}")
            if name in self._places:
                raise ProblemError(f"the place {name!r} is listed twice")
            what = f"the options of {name!r}"
            fixed = options if callable(options) else Question(name, checked_options(what, options))
            self._places[name] = fixed
        if not self._places:
            raise ProblemError("places must name at least one choice")
        always = tuple(options for options in self._places.values() if isinstance(options, Question))
        super().__init__(always if len(always) == len(self._places) else None)
        if self._fixed is None:
            self._use(Survey.of_walks(partial(self._ways.found, ())))
        else:
            self._use(Survey.of_fixed(self._fixed))
        if forbid is not None:
            self._leave_out(Forbidden(forbid, list(self._places), self._options_after))

    def reward(self, leaf: Chosen) -> float:
        """The user's function."""
        return self._reward(leaf.asdict())  # type: ignore[no-any-return]

    def identity(self) -> str:
        own = super().identity()
        if self._forbid is not None:
            own = identified(f"{own} forbid", self._forbid)
        return identified(own, self._reward)

    # What is forbidden ---------------------------------------------------------------------------------

    _forbidden: Forbidden | None

    def _leave_out(self, forbidden: Forbidden) -> None:
        if forbidden.completion({}) is None:
            raise ProblemError(
                "forbid leaves no combination of choices, or none that could be found: it must be false for "
                "those that are allowed"
            )
        self._forbidden = forbidden
        rng, walks = shape_rng(), list[list[int]]()
        for _ in range(_WALKS):
            state, widths = self.root(), list[int]()
            while actions := self.actions(state):
                widths.append(len(actions))
                state = self.step(state, actions[int(rng.random() * len(actions))])
            walks.append(widths)
        levels = (
            [widths[level] for widths in walks if level < len(widths)]
            for level in range(max(map(len, walks)))
        )
        self._survey = self._survey._replace(widths=[max(1, round(float(np.mean(own)))) for own in levels])
        self.depth = len(self._survey.widths)

    def _options_after(self, name: str, chosen: Mapping[str, Any]) -> Options:
        options = self._places[name]
        return options.options if isinstance(options, Question) else tuple(options(chosen) or ())

    def _offered(self, state: Chosen, question: Question) -> Sequence[Decision]:
        if self._forbidden is None:
            return question.decisions
        known = self._forbidden.completion(state)
        if known is not None and question.name not in known:
            return question.decisions  # with these others, no option is forbidden
        found = self._forbidden.completion
        return tuple([d for d in question.decisions if found({**state, d.name: d.value}) is not None])

    def random_leaf(self, state: Chosen, rng: np.random.Generator) -> tuple[Chosen, list[Decision]]:
        return super().random_leaf(state, rng) if self._forbidden is None else step_by_step(self, state, rng)

    def leaf(self, choices: Mapping[str, Hashable]) -> Chosen:
        leaf = super().leaf(choices)
        self._check_allowed(leaf)
        return leaf

    def _check_allowed(self, state: Chosen) -> None:
        if self._forbidden is not None and self._forbidden.completion(state) is None:
            raise ProblemError(f"{state!r} is not a state of this problem: forbid is true for it")

    def every(self, most: int) -> IntArray | None:
        rows = super().every(most)
        if rows is None or self._forbidden is None:
            return rows
        return rows[[not self._forbidden.read_by(self.leaf_of(row))[0] for row in rows]]

    def neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        if self._forbidden is None:
            return super().neighbours(codes, count, rng)
        rows = super().neighbours(codes, _DRAWN * count, rng)
        # What the predicate has not looked at cannot make a difference.
        read = [self._arrays.place[name] for name in self._forbidden.read_by(self.leaf_of(codes))[1]]
        suspect = (rows[:, read] != codes[read]).any(axis=1)
        suspect[suspect] = [self._forbidden.read_by(self.leaf_of(row))[0] for row in rows[suspect]]
        kept, refused = rows[~suspect], rows[suspect]
        if len(kept) == 0:
            mended = [self._mended(row, codes, rng) for row in rng.permutation(refused)[:count]]
            kept = np.array([row for row in mended if row is not None]).reshape(-1, codes.size)
            kept = np.unique(kept, axis=0).astype(np.int64)
        return np.asarray(kept if len(kept) <= count else kept[rng.permutation(len(kept))[:count]])

    def _mended(self, row: IntArray, codes: IntArray, rng: np.random.Generator) -> IntArray | None:
        """A forbidden neighbour with one more change, to a choice that decides whether it is forbidden."""
        assert self._forbidden is not None
        changed = set(np.flatnonzero(row != codes).tolist())
        read = self._forbidden.read_by(self.leaf_of(row))[1]
        places = sorted({self._arrays.place[name] for name in read} - changed)
        for _ in range(_TRIES if places else 0):
            place, other = places[int(rng.random() * len(places))], row.copy()
            other[place] = int(rng.random() * len(self._arrays.values[place]))
            leaf = self.leaf_of(other)
            if other[place] != row[place] and not self._forbidden.read_by(leaf)[0]:
                return np.asarray(self.codes([leaf])[0])
        return None

    # What is asked -----------------------------------------------------------------------------------

    def _discover(self, known: Sequence[Hashable], answer: Answer) -> Walk:
        state, asked = self.root(), list[Question]()
        for name in self._places:
            question = self._ask(name, state)
            if question is not None:
                value = known[len(asked)] if len(asked) < len(known) else answer(question)
                asked.append(question)
                state = state.with_choice(question.name, value)
        return Walk(tuple(asked), state.chosen)

    def _ask(self, name: str, state: Chosen) -> Question | None:
        options = self._places[name]
        if isinstance(options, Question):
            return options
        try:
            given = options(_Watched(state, list(self._places), name))
            found = () if given is None else as_tuple(f"the options of {name!r}", given)
        except ProblemError:
            raise
        except Exception as error:
            raise ProblemError(
                f"the options of {name!r} for {state.asdict()!r} failed ({type(error).__name__}: {error}); "
                "a place that is not in a branch is missing from the mapping: look at it with .get(name)"
            ) from error
        return self._asked(name, found, state) if found else None


def _pairs(places: Any) -> list[tuple[Any, Any]]:
    """Names and options, or an error that says how to give them."""
    try:
        listed = places.items() if isinstance(places, Mapping) else places
        return [(name, options) for name, options in listed]
    except (TypeError, ValueError):
        raise ProblemError(
            f"places must map names to options, such as {{'depth': [1, 2, 3]}}, got {places!r}"
        ) from None


class _Watched(Mapping[str, Any]):
    """The choices before a place, for the function that gives its options."""

    def __init__(self, state: Chosen, places: list[str], place: str) -> None:
        self._state, self._places, self._place = state, places, place

    def __getitem__(self, name: str) -> Any:
        if name not in self._places:
            raise ProblemError(f"the options of {self._place!r} look at {name!r}, which is not a place")
        if name not in self._before():
            raise ProblemError(
                f"the options of {self._place!r} look at {name!r}, which is decided later: list it before "
                f"{self._place!r}"
            )
        return self._state[name]

    def _before(self) -> list[str]:
        return self._places[: self._places.index(self._place)]

    def __iter__(self) -> Iterator[str]:
        return iter(self._state)

    def __len__(self) -> int:
        return len(list(iter(self)))
