"""Find the best values of named choices."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from dagsearch._internal.plain import from_json, to_json
from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Coding
from dagsearch.problems.options import (
    as_tuple,
    checked_function,
    checked_options,
    checked_reward_function,
    identified,
)
from dagsearch.space.chosen import Chosen, Decision, Options, Question
from dagsearch.space.named import Answer, Seen

OptionsOf = Callable[[Mapping[str, Any]], Iterable[Hashable] | None]
"""The options of a place, given the choices before it; ``None`` or empty if the place does not exist."""

_ROOT = Chosen()


class NamedChoices:
    """Base of problems with named choices.

    A state is a :class:`dagsearch.problems.Chosen`, an action a :class:`dagsearch.problems.Decision`.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._seen = Seen(names)
        self._questions: dict[tuple[str, Iterable[Hashable]], Question] = {}

    def root(self) -> Chosen:
        """The state without choices."""
        return _ROOT

    def step(self, state: Chosen, action: Decision) -> Chosen:
        """The choices and one more."""
        return Chosen({**state, action.name: action.value})

    def items(self, state: Chosen) -> list[tuple[str, Hashable]]:
        """The choices with their names."""
        return list(state.items())

    def path_to(self, leaf: Chosen) -> list[Decision]:
        """The decisions in their order."""
        return [Decision(*item) for item in leaf.items()]

    def encode(self, state: Chosen) -> list[list[Any]]:
        """Names and values, and the options if only the state knows them."""
        if state.options is None:
            return [[name, to_json(value)] for name, value in state.items()]
        parts = zip(state.items(), state.options, strict=True)
        return [[name, to_json(value), list(map(to_json, options))] for (name, value), options in parts]

    def decode(self, encoded: Sequence[Sequence[Any]]) -> Chosen:
        """The inverse of :meth:`encode`."""
        chosen = {part[0]: from_json(part[1]) for part in encoded}
        options = tuple([tuple(map(from_json, part[2])) for part in encoded if len(part) > 2])
        return Chosen.among(options or None, chosen)

    def _question(self, name: str, options: Iterable[Hashable], where: str = "") -> Question:
        """The question with this name and these options, which are checked if they are new."""
        try:
            return self._questions[name, options]
        except (KeyError, TypeError):
            question = Question(name, checked_options(f"the options of {name!r}{where}", options))
            return self._questions.setdefault((name, question.options), question)


class Choices(NamedChoices):
    """Find the best values of named choices; options may depend on earlier choices.

    A state is a :class:`dagsearch.problems.Chosen`: a mapping from names to values, without undecided places
    and places that do not exist in its branch. Places are decided in the order in which they are listed. The
    search learns about a name in all branches at once: places of the arrays are names, categories are values.

    Parameters
    ----------
    places : mapping from names to options
        The options as a sequence of hashable values, or as a function of earlier choices: it receives a
        mapping from the names listed before this one to their values, and returns the options, or ``None`` if
        the place does not exist in that branch.
    reward : callable, optional
        ``reward(choices)`` of complete choices, a dictionary of the places that exist. Without it, use
        ``ask`` and ``tell``.
    allowed : callable, optional
        ``allowed(choices)`` is false for complete choices that must not be evaluated; it receives the same
        argument as ``reward``. Random choices are drawn until they are allowed, so use it for conditions that
        many choices meet; otherwise let options depend on earlier choices.

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
        places: Mapping[str, Iterable[Hashable] | OptionsOf],
        reward: Callable[[dict[str, Any]], float] | None = None,
        allowed: Callable[[dict[str, Any]], object] | None = None,
    ) -> None:
        self._reward = checked_reward_function(reward)
        self._allowed = checked_function("allowed", "complete choices", allowed)
        if not isinstance(places, Mapping) or not places:
            example = "{'depth': [1, 2, 3]}, with at least one"
            raise ProblemError(f"places must map names to options, such as {example}, got {places!r}")
        for name in places:
            if not isinstance(name, str):
                raise ProblemError(f"the name of a place must be text, got {name!r}")
        self._names = list(places)
        super().__init__(self._names)
        self._places: dict[str, Question | OptionsOf] = {
            name: options if callable(options) else self._question(name, options)
            for name, options in places.items()
        }
        self._number = {name: number for number, name in enumerate(self._names)}
        known = [options.decisions for options in self._places.values() if isinstance(options, Question)]
        self._is_fixed, self._decisions = len(known) == len(self._names), [*known, ()]
        if self._is_fixed:
            self._seen.learn(self._walked(lambda name, options: options[0]))
        else:
            self._seen.look_around(self._walked)

    def actions(self, state: Chosen) -> Sequence[Decision]:
        """The options of the next choice."""
        if self._is_fixed:
            return self._decisions[len(state)]
        question = self._next(state)
        return () if question is None else question.decisions

    def reward(self, leaf: Chosen) -> float:
        """The user's function."""
        return self._reward(dict(leaf))  # type: ignore[no-any-return]

    @property
    def allowed(self) -> Callable[[Chosen], bool] | None:
        """Whether complete choices may be evaluated; ``None`` if all may."""
        return None if self._allowed is None else lambda leaf: bool(self._allowed(dict(leaf)))

    def _next(self, state: Chosen) -> Question | None:
        """The next choice; ``None`` at a leaf."""
        first = self._number[next(reversed(state))] + 1 if state else 0
        for name in self._names[first:]:
            options = self._places[name]
            question = options if isinstance(options, Question) else self._ask(name, options, state)
            if question is not None:
                return question
        return None

    def _ask(self, name: str, options: OptionsOf, state: Chosen) -> Question | None:
        """The question about a place whose options depend on earlier choices; ``None`` if it has none."""
        try:
            given = options(state)
            found = () if given is None else as_tuple(f"the options of {name!r}", given)
        except ProblemError:
            raise
        except Exception as error:
            raise ProblemError(
                f"the options of {name!r} for {state!r} failed ({type(error).__name__}: {error}); "
                "places that do not exist in a branch, or are listed later, are missing from the mapping: "
                "read them with .get(name), or list them earlier"
            ) from error
        if not found:
            return None
        return self._question(name, found, f" after the choices {state!r}")

    def _walked(self, answer: Answer) -> Chosen:
        """The leaf with these answers and their options."""
        state, asked = _ROOT, list[Options]()
        while (question := self._next(state)) is not None:
            state = state.with_choice(question.name, answer(question.name, question.options))
            asked.append(question.options)
        return Chosen.among(tuple(asked), state)

    def leaf(self, choices: Mapping[str, Hashable]) -> Chosen:
        """The leaf with these choices, in any order; for ``tell``, say."""
        if not isinstance(choices, Mapping):
            raise ProblemError(f"{choices!r} is not a mapping from the names of choices to values")

        def answer(name: str, options: Options) -> Hashable:
            question = f"{name!r} with the options {list(options)!r}"
            if name not in choices:
                raise ProblemError(f"{question} is not chosen in {dict(choices)!r}")
            if choices[name] not in options:
                raise ProblemError(f"{choices[name]!r} cannot be chosen for {question}")
            return choices[name]

        leaf = self._walked(answer)
        if extra := sorted(set(choices) - set(leaf)):
            raise ProblemError(f"{extra[0]!r} is not a choice of {leaf!r}")
        return Chosen(leaf)

    @property
    def coding(self) -> Coding:
        """One place per name, one category per value, as observed in random leaves."""
        return self._seen.coding(self.leaf_of, self.path_to, lambda state: not self.actions(state))

    def leaf_of(self, codes: IntArray) -> Chosen:
        """The leaf with these codes; an option is chosen at random where a code does not fit."""
        if self._is_fixed and codes.min() >= 0:  # nothing needs to be asked
            return self._seen.codes.wanted(codes)
        return Chosen(self._walked(self._seen.codes.answer(codes)))

    def identity(self) -> str:
        """A digest of all known names and values, and the ``identity`` of the functions."""
        parts = self._seen.values, sorted(self._seen.optional)
        return identified(parts, self._reward, self._allowed)
