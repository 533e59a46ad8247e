"""A function that chooses, as a problem."""

import logging
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, TypeVar

from dagsearch._internal.lookahead import call_while_needed
from dagsearch.errors import ProblemError
from dagsearch.problems.chosen import Answer, Chosen, Question
from dagsearch.problems.named import NamedChoices
from dagsearch.problems.options import Options, as_tuple, checked_options, identified
from dagsearch.problems.survey import Walk, surveyed

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Seconds that a function may compute before a choice, and how often it may take longer without being told.
_SLOW: Final = 0.1
_OFTEN: Final = 3
# Number of states whose next question is remembered.
_REMEMBERED = 50_000

_NOT_TWICE: Final = (
    "the function does not choose the same way twice: which choices it makes must depend on its earlier "
    "choices alone, not on random numbers, the time, files or variables that change"
)


class FunctionProblem(NamedChoices):
    """The choices of a function, to make its result as large as possible.

    ``function(choose)`` calls ``choose(name, options)``, which returns one of the options, as often as it
    likes, and returns a number. Which choices there are is found out by running the function up to the first
    one that is not decided yet. Before it computes its result it is left, so a function should make all its
    choices first and compute afterwards.

    A state is a :class:`dagsearch.problems.Chosen`: a mapping from names to values.
    :func:`dagsearch.maximize` and :func:`dagsearch.minimize` search such a problem; :class:`dagsearch.Search`
    asks and is told about it like any other.

    Parameters
    ----------
    function : callable
        Makes choices and computes a number. It must not catch ``BaseException``, nor all exceptions with a
        bare ``except``.
        If it has a method ``identity() -> str``, as an object with ``__call__`` may have, a journal keeps
        that text and continues only with a function whose text is equal: a digest of its data, say.
    minimize : bool
        Whether the result is to be as small as possible. The reward is then its negative.

    Examples
    --------
    >>> def pipeline(choose):
    ...     model = choose("model", ["tree", "linear"])
    ...     depth = choose("depth", range(1, 9)) if model == "tree" else 0
    ...     return depth
    >>> problem = FunctionProblem(pipeline)
    >>> problem.actions(problem.root())
    (Decision(name='model', value='tree'), Decision(name='model', value='linear'))
    >>> problem.reward(problem.leaf({"model": "tree", "depth": 8}))
    8
    """

    def __init__(self, function: Callable[["Choose"], float], minimize: bool = False) -> None:
        if not callable(function):
            raise ProblemError(f"pass a function that takes choose, got {function!r}")
        self._function, self.minimize = function, minimize
        self._questions: dict[tuple[str, Options], Question] = {}
        self._remembered: dict[Chosen, Question | None] = {}
        self._slow = 0
        if self._question(self.root()) is None:
            raise ProblemError(
                "the function makes no choice, or hides choose where it cannot be followed: let it call "
                "choose(name, options), and hand choose to other functions as an argument"
            )
        survey = surveyed(self._walk)
        self._use(survey, has_layout=survey.complete)

    def reward(self, leaf: Chosen) -> float:
        """The function's result, or its negative if that is to be as small as possible."""
        choose = _Replay(leaf)
        result = self._function(choose)
        choose.check_all_asked()
        if self.minimize and result is not None:
            return 0.0 - result
        return result

    def identity(self) -> str:
        """A digest of all names and values that were found, and what the function says of itself."""
        return identified(super().identity(), self._function)

    def _question(self, state: Chosen) -> Question | None:
        if state not in self._remembered:
            known = iter(zip(state.names, state.chosen, strict=True))

            def answer(question: Question) -> Hashable:
                for name, value in known:
                    if question.name == name and value in question.options:
                        return value
                    raise ProblemError(f"after the choices {state!r} came {question!r}: {_NOT_TWICE}")
                raise _Found(question)

            self._probe(answer, len(state))
        return self._remembered[state]

    def _walk(self, answer: Answer) -> Walk:
        choose = self._probe(answer, 0)
        return Walk(tuple(choose.asked.values()), choose.state.chosen)

    def _probe(self, answer: Answer, known: int) -> "_Probe":
        """Run the function as far as its answers go, but not beyond its last choice; some are ``known``."""
        choose, found = _Probe(self, answer, known), None
        try:
            left = call_while_needed(self._function, choose, lambda: len(choose.asked) >= known)
        except _Found as at:
            found = at.question
        except ProblemError:
            raise
        except Exception:
            if not choose.asked:
                raise
            # It will fail in the same way when it is evaluated, where the search can deal with that.
        else:
            if not left or choose.left:
                raise ProblemError(_CAUGHT)
            choose.take_time("it is clear that it makes no further choice")
        self.remember(choose.state, found)
        return choose

    def interned(self, name: str, options: Iterable[Any], chosen: Chosen) -> Question:
        """The question with this name and these options, checked when it is new."""
        found = as_tuple(f"the options of {name!r}", options)
        try:
            known = self._questions.get((name, found))
        except TypeError:
            known = None
        if known is None:
            if not isinstance(name, str):
                raise ProblemError(f"the name of a choice must be text, got {name!r}")
            what = f"the options of {name!r} after the choices {chosen.asdict()!r}"
            known = self._questions[name, found] = Question(name, checked_options(what, found))
        return known

    def remember(self, state: Chosen, question: Question | None) -> None:
        """Keep what comes after a state; raise if it was something else before."""
        if self._remembered.setdefault(state, question) is not question:
            before = self._remembered[state]
            raise ProblemError(
                f"after the choices {state!r} came {'the end' if before is None else before!r} first, then "
                f"{'the end' if question is None else question!r}: {_NOT_TWICE}"
            )
        if len(self._remembered) > _REMEMBERED:
            self._remembered = {state: question}

    def tell_slow(self, what: str, seconds: float) -> None:
        """Say once that the function computes before it chooses; that it took long once may be chance."""
        self._slow += 1
        if self._slow == _OFTEN:
            logger.warning(
                "the function computes for %.2g seconds before %s. Choices are found by running it up to "
                "each of them, many times: make all choices first, compute afterwards, load data outside",
                seconds,
                what,
            )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_remembered": {}}


_CAUGHT = (
    "the function catches all exceptions, also the one by which it is left once its choices are known: write "
    "'except Exception:' instead of 'except:' or 'except BaseException:'"
)


class _Found(BaseException):
    """Leaves the function at a choice that is not decided yet."""

    def __init__(self, question: Question) -> None:
        super().__init__(question)
        self.question = question


class Choose:
    """What the function is given: ``choose(name, options)`` returns one of the options."""

    def __call__(self, name: str, options: Iterable[T]) -> T:
        """Choose one of the options.

        Parameters
        ----------
        name : str
            What is chosen. Asked again in the same run, with the same options, it is the same choice.
        options : iterable
            Different hashable values, in a fixed order.
        """
        raise NotImplementedError


class _Probe(Choose):
    """Finds out which choices the function makes."""

    def __init__(self, problem: FunctionProblem, answer: Answer, known: int) -> None:
        self._problem, self._answer, self._known = problem, answer, known
        self._since = time.perf_counter()
        self.state = Chosen()
        self.asked: dict[str, Question] = {}
        self.left = False
        """Whether an exception was raised to leave the function."""

    def __call__(self, name: str, options: Iterable[T]) -> T:
        if self.left:
            raise ProblemError(_CAUGHT)
        question = self._problem.interned(name, options, self.state)
        self.take_time(f"it chooses {name!r}")
        if name in self.asked:
            _check_same(name, self.asked[name].options, question.options)
            return self.state[name]  # type: ignore[return-value]
        try:
            value = self._answer(question)
        except _Found:
            self.left = True
            raise
        if len(self.asked) >= self._known:
            self._problem.remember(self.state, question)
        self.asked[name] = question
        self.state = self.state.with_choice(name, value)
        self._since = time.perf_counter()
        return value  # type: ignore[return-value]

    def take_time(self, what: str) -> None:
        """Note how long the function took since its last choice."""
        seconds = time.perf_counter() - self._since
        if seconds > _SLOW:
            self._problem.tell_slow(what, seconds)


class _Replay(Choose):
    """Gives the function the choices of a leaf."""

    def __init__(self, leaf: Mapping[str, Any]) -> None:
        self._leaf = leaf
        self._asked: dict[str, Options] = {}

    def __call__(self, name: str, options: Iterable[T]) -> T:
        found = as_tuple(f"the options of {name!r}", options)
        if name in self._asked:
            _check_same(name, self._asked[name], found)
        elif name not in self._leaf or self._leaf[name] not in found:
            raise ProblemError(
                f"with the choices {dict(self._leaf)!r} the function chooses {name!r} from {list(found)!r}, "
                f"which it did not before: {_NOT_TWICE}; nor on a copy of choose that is kept in an object"
            )
        self._asked[name] = found
        return found[found.index(self._leaf[name])]  # type: ignore[return-value]

    def check_all_asked(self) -> None:
        """Raise unless every choice of the leaf was asked for."""
        if missing := [name for name in self._leaf if name not in self._asked]:
            raise ProblemError(
                f"with the choices {dict(self._leaf)!r} the function did not choose {missing[0]!r}, which it "
                f"did before: {_NOT_TWICE}"
            )


def _check_same(name: str, before: Options, now: Options) -> None:
    if before != now:
        raise ProblemError(
            f"{name!r} is chosen twice in one run, from {list(before)!r} and from {list(now)!r}: give "
            "different choices different names"
        )
