"""Find the best values of named choices."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from dagsearch.errors import ProblemError
from dagsearch.problems.chosen import Answer, Chosen, Question
from dagsearch.problems.named import NamedChoices
from dagsearch.problems.options import as_tuple, checked_options, identified
from dagsearch.problems.survey import Walk, surveyed

OptionsOf = Callable[[Mapping[str, Any]], Iterable[Hashable] | None]
"""The options of a place, given the choices before it; ``None`` or nothing if there is no such place."""


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
    reward : callable
        ``reward(choices)`` of complete choices, a dictionary of the places that exist.

    Notes
    -----
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
    """

    def __init__(
        self,
        places: Mapping[str, Iterable[Hashable] | OptionsOf] | Iterable[tuple[str, Any]],
        reward: Callable[[dict[str, Any]], float],
    ) -> None:
        super().__init__()
        self._reward = reward
        self._places: list[tuple[str, Question | OptionsOf]] = []
        self._order: dict[str, int] = {}
        for name, options in places.items() if isinstance(places, Mapping) else places:
            if not isinstance(name, str):
                raise ProblemError(f"the name of a place must be text, got {name!r}")
            if name in self._order:
                raise ProblemError(f"the place {name!r} is listed twice")
            self._order[name] = len(self._order)
            what = f"the options of {name!r}"
            fixed = options if callable(options) else Question(name, checked_options(what, options))
            self._places.append((name, fixed))
        if not self._places:
            raise ProblemError("places must name at least one choice")
        always = tuple(options for _, options in self._places if isinstance(options, Question))
        self._fixed = always if len(always) == len(self._places) else None
        self._read: set[str] = set()
        walk = partial(self._found, ()) if self._fixed is None else self._walk
        self._use(surveyed(walk, lambda _: frozenset(self._read)))

    def reward(self, leaf: Chosen) -> float:
        """The user's function."""
        return self._reward(leaf.asdict())

    def identity(self) -> str:
        """A digest of all names and values that were found, and what the reward says of itself."""
        return identified(super().identity(), self._reward)

    def _question(self, state: Chosen) -> Question | None:
        if self._fixed is None:
            return super()._question(state)
        return self._fixed[len(state)] if len(state) < len(self._fixed) else None

    def _walk(self, answer: Answer) -> Walk:
        if self._fixed is None:
            return super()._walk(answer)
        return Walk(self._fixed, tuple(map(answer, self._fixed)))

    def _discover(self, known: Sequence[Hashable], answer: Answer) -> Walk:
        state, asked = self.root(), list[Question]()
        for place in self._places:
            question = self._ask(place, state)
            if question is not None:
                value = known[len(asked)] if len(asked) < len(known) else answer(question)
                asked.append(question)
                state = state.with_choice(question.name, value)
        return Walk(tuple(asked), state.chosen)

    def _ask(self, place: tuple[str, Question | OptionsOf], state: Chosen) -> Question | None:
        name, options = place
        if isinstance(options, Question):
            return options
        try:
            given = options(_Watched(state, self._order, name, self._read))
            found = () if given is None else as_tuple(f"the options of {name!r}", given)
        except ProblemError:
            raise
        except Exception as error:
            raise ProblemError(
                f"the options of {name!r} for {state.asdict()!r} failed ({type(error).__name__}: {error}); "
                "a place that is not in a branch is missing from the mapping: look at it with .get(name)"
            ) from error
        return self._interned(name, found, state) if found else None


class _Watched(Mapping[str, Any]):
    """The choices before a place, for the function that gives its options; notes what it looks at."""

    def __init__(self, state: Chosen, order: Mapping[str, int], place: str, read: set[str]) -> None:
        self._state, self._order, self._place, self._read = state, order, place, read

    def __getitem__(self, name: str) -> Any:
        if name not in self._order:
            raise ProblemError(f"the options of {self._place!r} look at {name!r}, which is not a place")
        if self._order[name] >= self._order[self._place]:
            raise ProblemError(
                f"the options of {self._place!r} look at {name!r}, which is decided later: list it before "
                f"{self._place!r}"
            )
        self._read.add(name)
        return self._state[name]

    def __iter__(self) -> Iterator[str]:
        self._read.update(list(self._order)[: self._order[self._place]])
        return iter(self._state)

    def __len__(self) -> int:
        return len(list(iter(self)))
