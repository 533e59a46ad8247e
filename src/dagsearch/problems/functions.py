"""A function that chooses, as a problem."""

import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from dagsearch.errors import ProblemError
from dagsearch.problem import takes
from dagsearch.problems.choices import NamedChoices
from dagsearch.problems.lookahead import MOST_STEPS, Watch
from dagsearch.problems.options import as_tuple, identified
from dagsearch.space.survey import NOT_TWICE, Answer, Chosen, Options, Question, Survey, Walk

logger = logging.getLogger(__name__)

T = TypeVar("T")

# Largest number of choices on one way, and how often a function may ask for them: more look endless.
_MOST_CHOICES: Final = 2_000
_MOST_CALLS: Final = 100_000
# Number of choices on a way without end that an error shows.
_SHOWN: Final = 5
# A function that computes before it chooses is told so the third time: at first it may import something.
_OFTEN: Final = 3


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
        Makes choices and computes a number. If it has a method ``identity() -> str``, as an object with
        ``__call__`` may have, a journal keeps that text and continues only with a function whose text is
        equal: a digest of its data, say.
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
        if not takes(function, 1):
            raise ProblemError(
                "the function must take one argument, choose, and call choose(name, options): write def "
                "function(choose)"
            )
        super().__init__()
        self._function, self.minimize = function, minimize
        self._busy = 0
        # A way without an end is often that of the first or the last options.
        self._ways.found((), lambda asked: asked.options[0])
        self._ways.found((), lambda asked: asked.options[-1])
        if self._question(self.root()) is None:
            raise ProblemError(
                "the function makes no choice, or hides choose where it cannot be followed: let it call "
                "choose(name, options), and hand choose to other functions as an argument"
            )
        survey = Survey.of_walks(partial(self._ways.found, ()))
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
        return identified(super().identity(), self._function)

    def _discover(self, known: Sequence[Hashable], answer: Answer) -> Walk:
        """Run the function with these answers, but not beyond its last choice."""
        choose = _Probe(self, known, answer)
        try:
            choose.watch.run(self._function)
        except ProblemError:
            raise
        except Exception:
            if not choose.asked:
                raise
            # It will fail in the same way when it is evaluated, where the search can deal with that.
        return Walk(tuple(choose.asked.values()), tuple(choose.made.values()))

    def _tell_busy(self, name: str) -> None:
        """Say once that the function computes before it chooses."""
        self._busy += 1
        if self._busy == _OFTEN:
            logger.warning(
                "the function computes for more than %s steps before it chooses %r. Choices are found by "
                "running it many times: make all choices first, compute afterwards, load data outside",
                f"{MOST_STEPS:,}",
                name,
            )


class Choose:
    """What the function is given: ``choose(name, options)`` returns one of the options."""

    def __call__(self, name: str, options: Iterable[T] = ...) -> T:
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

    def __init__(self, problem: FunctionProblem, known: Sequence[Hashable], answer: Answer) -> None:
        self._problem, self._known, self._answer = problem, known, answer
        self._calls = 0
        self.watch = Watch(self)
        self.asked: dict[str, Question] = {}
        self.made: dict[str, Any] = {}

    def __call__(self, name: str, options: Iterable[T] = ...) -> T:  # type: ignore[assignment]
        steps = self.watch.called()
        found = _checked(name, options)
        question = self._problem._asked(name, found, self.made)
        if steps > MOST_STEPS:
            self._problem._tell_busy(name)
        self._count()
        if name in self.asked:
            _check_same(name, self.asked[name].options, question.options)
        else:
            self.made[name] = self._value(question)
            self.asked[name] = question
        return self.made[name]  # type: ignore[no-any-return]

    def _value(self, question: Question) -> Hashable:
        if len(self.asked) >= len(self._known):
            return self._answer(question)
        value = self._known[len(self.asked)]
        if value not in question.options:
            raise ProblemError(f"after the choices {self.made!r} came {question!r}: {NOT_TWICE}")
        return value

    def _count(self) -> None:
        self._calls += 1
        if self._calls > _MOST_CALLS or len(self.asked) > _MOST_CHOICES:
            first = dict(list(self.made.items())[:_SHOWN])
            raise ProblemError(
                f"the function does not come to an end: on a way that begins with {first!r} it makes more "
                f"than {_MOST_CHOICES:,} choices, or asks for them more than {_MOST_CALLS:,} times"
            )


class _Replay(Choose):
    """Gives the function the choices of a leaf."""

    def __init__(self, leaf: Mapping[str, Any]) -> None:
        self._leaf = leaf
        self._asked: dict[str, Options] = {}

    def __call__(self, name: str, options: Iterable[T] = ...) -> T:  # type: ignore[assignment]
        found = _checked(name, options)
        if name in self._asked:
            _check_same(name, self._asked[name], found)
        elif name not in self._leaf or self._leaf[name] not in found:
            raise ProblemError(
                f"with the choices {dict(self._leaf)!r} the function chooses {name!r} from {list(found)!r}, "
                f"which it did not before: {NOT_TWICE}; nor on a copy of choose that is kept in an object"
            )
        self._asked[name] = found
        return found[found.index(self._leaf[name])]  # type: ignore[return-value]

    def check_all_asked(self) -> None:
        """Raise unless every choice of the leaf was asked for."""
        if missing := [name for name in self._leaf if name not in self._asked]:
            raise ProblemError(
                f"with the choices {dict(self._leaf)!r} the function did not choose {missing[0]!r}, which it "
                f"did before: {NOT_TWICE}"
            )


def _checked(name: Any, options: Any) -> Options:
    """The options of a choice, or an error that says how to call ``choose``."""
    if options is ...:
        wanted = f"choose({name!r}, [1, 2, 3])" if isinstance(name, str) else f"choose('name', {name!r})"
        raise ProblemError(f"choose({name!r}) must be given a name and options: {wanted}")
    if not isinstance(name, str):
        raise ProblemError(f"the name of a choice must be text, got {name!r}: choose('name', options)")
    return as_tuple(f"the options of {name!r}", options)


def _check_same(name: str, before: Options, now: Options) -> None:
    if before != now:
        raise ProblemError(
            f"{name!r} is chosen twice in one run, from {list(before)!r} and from {list(now)!r}: give "
            "different choices different names"
        )
