"""A function that makes choices, as a problem."""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from random import Random
from typing import Any, Final, TypeVar

from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Coding, takes
from dagsearch.problems.choices import NamedChoices
from dagsearch.problems.options import as_tuple, checked_options, identified
from dagsearch.space.chosen import REST, Chosen, Decision, Options, Question

T = TypeVar("T")

# Largest number of choices in one run; more count as endless.
_MOST_CHOICES: Final = 2_000
# Number of random completions of the same choices.
_RANDOM = tuple(Decision(REST, seed) for seed in range(2_048))
# Number of choices of an endless run shown in the error.
_SHOWN: Final = 5
# A value that is not an option of any choice.
_NOTHING: Final = object()


class FunctionProblem(NamedChoices):
    """Find the choices with which a function returns the largest number.

    ``function(choose)`` calls ``choose(name, options)``, which returns one of the options, any number of
    times, and returns a number. It is called only once per evaluation, so its choices are known only from
    earlier runs. The search *suggests* values by name; choices without a suggestion are random, and the leaf
    consists of the choices that were made.

    A state is a :class:`dagsearch.problems.Chosen`: a mapping from names to values. In a suggestion the name
    ``"…"`` seeds the choices that it leaves open. :func:`dagsearch.maximize` and :func:`dagsearch.minimize`
    search such a problem. With ``ask`` and ``tell``, run the function by :meth:`evaluate` and report the leaf
    that it returns.

    Parameters
    ----------
    function : callable
        Makes choices and computes a number. Its choices and their options must depend on earlier choices
        alone. If it is an object with ``__call__`` and ``identity() -> str``, a stored run continues only
        with a function of equal identity, such as a digest of its data. By default the identity is the
        function's name.
    minimize : bool
        Whether small results are good. The reward is then the negative result.

    Examples
    --------
    >>> def pipeline(choose):
    ...     model = choose("model", ["tree", "linear"])
    ...     depth = choose("depth", range(1, 9)) if model == "tree" else 0
    ...     return depth
    >>> problem = FunctionProblem(pipeline)
    >>> problem.evaluate({"model": "tree", "depth": 8})
    ({'model': 'tree', 'depth': 8}, 8)
    >>> import dagsearch as ds
    >>> search = ds.Search.default(problem, seed=0)
    >>> proposal = search.ask()
    >>> leaf, reward = problem.evaluate(proposal.leaf)
    >>> search.tell(proposal, reward, leaf=leaf).leaf == leaf
    True
    """

    def __init__(self, function: Callable[["Choose"], float], minimize: bool = False) -> None:
        if not callable(function):
            raise ProblemError(f"pass a function with the argument choose, got {function!r}")
        if not takes(function, 1):
            raise ProblemError(
                "the function must take one argument, choose, and call choose(name, options): write def "
                "function(choose)"
            )
        super().__init__()
        self._function, self.minimize = function, minimize
        # The question at each place of the runs; ``None`` where a run has ended.
        self._asked: dict[int, Question | None] = {}
        self._after: dict[tuple[int, Hashable], int] = {}  # the place after an answer

    def unlearnt(self) -> "FunctionProblem":
        """A copy that has learnt nothing: every search learns for itself."""
        return FunctionProblem(self._function, self.minimize)

    def evaluate(self, leaf: Mapping[str, Any]) -> tuple[Chosen, float]:
        """Run the function with these choices; returns the choices made, and the result or its negative.

        If the function raises an error, the choices so far are the error's attribute ``asked``.
        """
        choose = Choose(leaf)
        try:
            result = self._function(choose)
            if not choose.made:
                raise ProblemError(
                    "the function makes no choice: it must call choose(name, options), and may pass choose "
                    "to other functions"
                )
        except Exception as error:
            if choose.made:
                with suppress(AttributeError):  # errors without attributes
                    error.asked = choose.leaf  # type: ignore[attr-defined]
            raise
        return choose.leaf, 0 - result if self.minimize and result is not None else result

    def reward(self, leaf: Chosen) -> float:
        """The function's result, or its negative if it is minimised."""
        return self.evaluate(leaf)[1]

    def learn(self, leaf: Chosen, failed: bool = False) -> Chosen:
        """Learn the questions of a run; returns the leaf without the seed of a suggestion.

        ``failed`` means that the run ended with an error: it does not show which choices belong together.
        """
        if leaf.options is not None:
            self._remember(leaf)
        elif not failed:  # it was reported without a run
            place = {name: number for number, name in enumerate(self._seen.values)}
            names = sorted(leaf.keys() - {REST}, key=lambda name: (place.get(name, len(place)), name))
            leaf = Chosen({name: leaf[name] for name in names})
        if not failed:
            self._seen.learn(leaf)
        return leaf

    def _remember(self, leaf: Chosen) -> None:
        """Remember which question followed which answers."""
        number, made = 0, dict[str, Any]()
        asked = [self._question(*one) for one in zip(leaf, leaf.options or (), strict=True)]
        for question in (*asked, None):
            before = self._asked.get(number)
            if before is None:
                self._asked[number] = question
            elif question is not None and question is not before:  # an error may also end a run there
                texts = {re.sub(r" at 0x[0-9a-f]+", "", repr(one)) for one in (question, before)}
                if len(texts) == 1:
                    reason = (
                        "these are new objects, not equal to the earlier ones. Create them once, outside the "
                        "function, or choose their names"
                    )
                else:
                    reason = (
                        "its choices must depend on earlier choices alone, not on random numbers, the time, "
                        "files or variables that change. If you have edited the function of a stored run, "
                        "begin a new run"
                    )
                raise ProblemError(
                    f"after the choices {made!r} the function chose {before!r} first, then {question!r}: "
                    f"{reason}"
                )
            if question is not None:
                value = made[question.name] = leaf[question.name]
                number = self._after.setdefault((number, value), len(self._after) + 1)

    def actions(self, state: Chosen) -> Sequence[Decision]:
        """The options of the next choice if a run has shown it, else seeds for random choices."""
        if REST in state or state.options is not None or state in self._seen.leaves:
            return ()
        number = self._follow(state)[1]
        if number not in self._asked:
            return _RANDOM
        question = self._asked[number]
        return () if question is None else question.decisions

    def _follow(self, wanted: Mapping[str, Any], fill: bool = False) -> tuple[dict[str, Any], int]:
        """The known choices of a run with these values, and the number of the place behind them.

        They end where a value is missing, unless ``fill`` chooses one, preferably an option that was not
        chosen there before. The number is −1 if no run has reached the place.
        """
        made, number = dict[str, Any](), 0
        while (question := self._asked.get(number)) is not None:
            value = wanted.get(question.name, _NOTHING)
            if value not in question.options:
                if not fill:
                    break
                fresh = [option for option in question.options if (number, option) not in self._after]
                value = (*fresh, *question.options)[0]
            made[question.name], number = value, self._after.get((number, value), -1)
        return made, number

    def leaf(self, choices: Mapping[str, Any]) -> Chosen:
        """The leaf with these choices if it is known, else a suggestion."""
        if not isinstance(choices, Mapping) or not all(isinstance(name, str) for name in choices):
            raise ProblemError(f"{choices!r} is not a mapping from the names of choices to values")
        if isinstance(choices, Chosen) and choices.options is not None:
            return choices
        given = Chosen({name: value for name, value in choices.items() if name != REST})
        return given.with_choice(REST, choices.get(REST, 0)) if self.actions(given) else given

    def leaf_of(self, codes: IntArray) -> Chosen:
        """The leaf with these codes if it is known, else a suggestion."""
        wanted = self._seen.codes.wanted(codes)
        if wanted in self._seen.leaves:
            return wanted
        made, number = self._follow(wanted, fill=True)
        if number not in self._asked:  # otherwise the function asks for no more
            made = {**wanted, **made, REST: 0}
        return Chosen(made)

    @property
    def coding(self) -> Coding:
        """One place per name, one category per value, as observed in runs."""
        return self._seen.coding(self.leaf_of, self.path_to, lambda state: not state.get(REST))

    def samples(self) -> list[Chosen]:
        """Leaves like the observed ones, with random values; the root before there are any."""
        return self._seen.codes.samples() if self._seen.leaves else [self.root()]

    def identity(self) -> str:
        """The function's ``identity``, or its name."""
        name = getattr(self._function, "__name__", type(self._function).__name__)
        return identified((), self._function) or name


class Choose:
    """The argument of the function: ``choose(name, options)`` returns one of the options.

    Parameters
    ----------
    suggested : mapping
        Values by name; choices without a valid suggestion are random.
    """

    def __init__(self, suggested: Mapping[str, Any]) -> None:
        self._suggested = suggested
        self.made: dict[str, Any] = {}
        """The choices so far."""
        self._options: dict[str, Options] = {}

    def __call__(self, name: str, options: Iterable[T] = ...) -> T:  # type: ignore[assignment]
        """Choose one of the options.

        Parameters
        ----------
        name : str
            Name of the choice. The same name with the same options in one run is the same choice.
        options : iterable
            Different hashable values, in a fixed order.
        """
        found = _checked(name, options)
        if name not in self.made:
            self._choose(name, found)
        elif self._options[name] != found:
            raise ProblemError(
                f"{name!r} is chosen from {list(self._options[name])!r} and then from {list(found)!r} in the "
                "same run: give choices with other options another name"
            )
        return self.made[name]  # type: ignore[no-any-return]

    def _choose(self, name: str, options: Options) -> None:
        options = checked_options(f"the options of {name!r} after the choices {self.made!r}", options)
        if len(self.made) == _MOST_CHOICES:
            first = dict(list(self.made.items())[:_SHOWN])
            raise ProblemError(
                f"the function does not end: a run that begins with {first!r} makes more than "
                f"{_MOST_CHOICES:,} choices"
            )
        value = self._suggested.get(name, _NOTHING)
        if value in options:
            self.made[name] = options[options.index(value)]  # 1 for 1.0, say
        else:
            random = Random(f"{self._suggested.get(REST, 0)} {name}")
            self.made[name] = random.choice(options)
        self._options[name] = options

    @property
    def leaf(self) -> Chosen:
        """The choices and their options."""
        return Chosen.among(tuple(self._options.values()), self.made)


def _checked(name: Any, options: Any) -> Options:
    """The options of a choice, or an error that explains how to call ``choose``."""
    if options is ...:
        wanted = f"choose({name!r}, [1, 2, 3])" if isinstance(name, str) else f"choose('name', {name!r})"
        raise ProblemError(f"choose({name!r}) must be given a name and options: {wanted}")
    if not isinstance(name, str):
        raise ProblemError(f"the name of a choice must be text, got {name!r}: choose('name', options)")
    return as_tuple(f"the options of {name!r}", options)
