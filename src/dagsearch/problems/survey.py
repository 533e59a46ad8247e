"""What is asked after which answers: single questions, ways through them, and what many ways tell.

Walks are counted, not timed: the same problem must give the same arrays in every process.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from dagsearch.errors import ProblemError
from dagsearch.problems.options import Options

NOT_TWICE: Final = (
    "it does not choose the same way twice: which choices there are must depend on earlier choices alone, "
    "not on random numbers, the time, files or variables that change"
)

# The survey ends after this number of walks without a new question, and twice the largest number of options,
_QUIET: Final = 64
# or after this number in any case, or when there are more names than this.
_MOST: Final = 4000
_NAMES: Final = 500


class Decision(NamedTuple):
    """An action: the value chosen for a name."""

    name: str
    """What was chosen."""
    value: Hashable
    """The option."""


class Question:
    """A choice to be made: a name, its options, and one action per option."""

    __slots__ = ("decisions", "name", "options")

    def __init__(self, name: str, options: Options) -> None:
        self.name, self.options = name, options
        self.decisions = tuple(Decision(name, value) for value in options)

    def __repr__(self) -> str:
        return f"{self.name!r} with the options {list(self.options)!r}"


Answer = Callable[[Question], Hashable]
"""Chooses one of a question's options."""


class Chosen(dict[str, Any]):
    """The choices made so far, by name: a dictionary that does not change and can be hashed.

    It is equal to every other one, and to every mapping, with the same names and values. JSON writes it as
    an object.

    Parameters
    ----------
    names : tuple of str
        What was chosen, in the order of the decisions.
    values : tuple
        The value for each name.

    Examples
    --------
    >>> state = Chosen(("scaler", "k"), ("none", 3))
    >>> state
    {'scaler': 'none', 'k': 3}
    >>> state["k"], state == {"k": 3, "scaler": "none"}
    (3, True)
    """

    __slots__ = ("_hash", "chosen", "names")

    def __init__(self, names: tuple[str, ...] = (), values: tuple[Hashable, ...] = ()) -> None:
        super().__init__(zip(names, values, strict=True))
        self.names, self.chosen = names, values
        self._hash: int | None = None

    def asdict(self) -> dict[str, Any]:
        """The choices as a dictionary of their own."""
        return dict(self)

    def with_choice(self, name: str, value: Hashable) -> "Chosen":
        """These choices and one more."""
        longer = Chosen.__new__(Chosen)
        # Copying a dictionary is much faster than filling one.
        dict.update(longer, self)
        dict.__setitem__(longer, name, value)
        longer.names, longer.chosen, longer._hash = (*self.names, name), (*self.chosen, value), None
        return longer

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Chosen) and self.names == other.names:
            return self.chosen == other.chosen
        return isinstance(other, Mapping) and dict.__eq__(self, dict(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:  # type: ignore[override]
        if self._hash is None:
            self._hash = hash(frozenset(zip(self.names, self.chosen, strict=True)))
        return self._hash

    def __reduce__(self) -> tuple[type["Chosen"], tuple[Any, ...]]:
        return Chosen, (self.names, self.chosen)  # the hash of text differs from process to process

    def _refuse(self, *arguments: Any, **more: Any) -> NoReturn:
        raise TypeError("choices of a search do not change: change a copy, dict(choices)")

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = pop = popitem = clear = setdefault = _refuse


class Walk(NamedTuple):
    """One way through the choices."""

    questions: tuple[Question, ...]
    """What was asked."""
    values: tuple[Hashable, ...]
    """What was answered."""

    @property
    def chosen(self) -> Chosen:
        """The answers by name."""
        return Chosen(tuple([question.name for question in self.questions]), self.values)


class Branch:
    """What is asked after some answers."""

    __slots__ = ("after", "followers", "question")

    def __init__(self, question: Question | None) -> None:
        self.question = question
        """What comes next; ``None`` at the end."""
        self.after: dict[Hashable, int] = {}
        """Number of the branch that comes after each answer."""
        self.followers: frozenset[str] = frozenset()
        """Names that may still be asked; known if :meth:`Branches.find_followers` was called."""


class Branches:
    """What is asked after which answers, as far as walks have shown it.

    Branches are numbered, the first is 0: a tree of objects that hold each other would be too deep to pickle.

    Parameters
    ----------
    steering : frozenset of str, optional
        Names whose answers are told apart; by default all.
    """

    def __init__(self, steering: frozenset[str] | None = None) -> None:
        self._steering = steering
        self._all: list[Branch] = []

    def __len__(self) -> int:
        return len(self._all)

    def _key(self, name: str, value: Hashable) -> Hashable:
        return value if self._steering is None or name in self._steering else None

    def add(self, walk: Walk) -> None:
        """Add what was asked on a walk; raise if something else was asked there before."""
        number = 0
        for level, question in enumerate((*walk.questions, None)):
            if number == len(self._all):
                self._all.append(Branch(question))
            before = self._all[number]
            if before.question is not question:
                made = Walk(walk.questions[:level], walk.values[:level]).chosen
                raise ProblemError(
                    f"after the choices {made.asdict()!r} came "
                    f"{before.question or 'the end'!r} first, then {question or 'the end'!r}: {NOT_TWICE}"
                )
            if question is not None:
                key = self._key(question.name, walk.values[level])
                number = before.after.setdefault(key, len(self._all))

    def follow(self, answer: Answer) -> tuple[Walk, bool]:
        """A way as far as it is known, and whether that is to its end."""
        asked, values, steering = list[Question](), list[Hashable](), self._steering
        number = 0 if self._all else None
        while number is not None and (question := self._all[number].question) is not None:
            asked.append(question)
            value = answer(question)
            values.append(value)
            # As _key says: this loop is where local search of conditional choices spends its time.
            key = value if steering is None or question.name in steering else None
            number = self._all[number].after.get(key)
        return Walk(tuple(asked), tuple(values)), number is not None

    def at(self, state: Chosen) -> Branch | None:
        """What comes after the choices of a state; ``None`` if that is not known."""
        number = 0 if self._all else None
        for name, value in zip(state.names, state.chosen, strict=True):
            if number is None:
                return None
            number = self._all[number].after.get(self._key(name, value))
        return None if number is None else self._all[number]

    def find_followers(self) -> None:
        """Find out which names may still be asked in every branch."""
        for branch in reversed(self._all):  # those after a branch have larger numbers
            if branch.question is not None:
                below = (self._all[number].followers for number in branch.after.values())
                branch.followers = frozenset({branch.question.name}).union(*below)


class Survey(NamedTuple):
    """What is known about the choices."""

    values: dict[str, Options]
    """Every value found, by name; names are in the order in which they are asked."""
    optional: frozenset[str]
    """Names that are not asked on every way."""
    steering: frozenset[str]
    """Names whose value decides what is asked later."""
    branches: Branches
    """What the walks were asked, with followers; empty unless there are steering names."""
    widths: list[int]
    """Mean number of options at each level under random play, rounded."""
    complete: bool
    """Whether the last walks found nothing new."""

    @classmethod
    def of_fixed(cls, questions: Sequence[Question]) -> "Survey":
        """What is known if the same questions are asked on every way."""
        values = {question.name: question.options for question in questions}
        widths = [len(question.options) for question in questions]
        return cls(values, frozenset(), frozenset(), Branches(), widths, complete=True)

    @classmethod
    def of_walks(cls, walk: Callable[[Answer], Walk], read: set[str] | None = None) -> "Survey":
        """Walk through the choices until nothing new is found.

        Parameters
        ----------
        walk : callable
            Goes through the choices once, with an answer to every question.
        read : set of str, optional
            Where the walks note the steering names; by default these are the names that explain the walks.
        """
        found = _Walks(walk)
        complete = False
        while not complete and len(found.walks) < _MOST and len(found.values) <= _NAMES:
            found.walk_once()
            complete = found.quiet >= max(_QUIET, 2 * found.widest)
        walks = found.walks
        if read is not None:
            steering = frozenset(read)
        else:
            steering = steering_names(walks) if complete else frozenset(found.names)
        counts = Counter(question.name for one in walks for question in one.questions)
        branches = Branches(steering)
        for one in walks if steering else ():
            branches.add(one)
        branches.find_followers()
        return cls(
            {name: tuple(found.values[name]) for name in found.names},
            frozenset(name for name in found.names if counts[name] < len(walks)),
            steering,
            branches,
            _widths(walks[::2]),  # the others are not random play
            complete,
        )


class _Walks:
    """Walks, half of them at random, half with the option that was tried least."""

    def __init__(self, walk: Callable[[Answer], Walk]) -> None:
        self._walk, self._rng = walk, np.random.default_rng(0)
        self._tried: Counter[tuple[str, Hashable]] = Counter()
        self._asked: set[Question] = set()
        self.walks: list[Walk] = []
        self.names: list[str] = []
        self.values: dict[str, dict[Hashable, None]] = {}
        self.quiet, self.widest = 0, 0

    def walk_once(self) -> None:
        answer = self._least_tried if len(self.walks) % 2 else self._random
        one = self._walk(answer)
        self.walks.append(one)
        self.quiet += 1
        before = 0  # where a name that is new belongs
        for question, value in zip(*one, strict=True):
            self._tried[question.name, value] += 1
            if question.name not in self.values:
                self.names.insert(before, question.name)
                self.values[question.name] = {}
            before = self.names.index(question.name) + 1
            if question not in self._asked:
                self._asked.add(question)
                self.values[question.name].update(dict.fromkeys(question.options))
                self.widest = max(self.widest, len(question.options))
                self.quiet = 0

    def _random(self, question: Question) -> Hashable:
        return self._one_of(question.options)

    def _least_tried(self, question: Question) -> Hashable:
        tried = [self._tried[question.name, value] for value in question.options]
        fewest = min(tried)
        return self._one_of([v for v, count in zip(question.options, tried, strict=True) if count == fewest])

    def _one_of(self, options: Sequence[Hashable]) -> Hashable:
        return options[int(self._rng.integers(len(options)))]


def _widths(walks: Sequence[Walk]) -> list[int]:
    levels: list[list[int]] = []
    for one in walks:
        levels.extend([] for _ in range(len(one.questions) - len(levels)))
        for level, question in enumerate(one.questions):
            levels[level].append(len(question.options))
    return [max(1, round(float(np.mean(widths)))) for widths in levels]


def steering_names(walks: Sequence[Walk]) -> frozenset[str]:
    """The names whose values explain which question comes next, on all walks.

    Walks that were asked the same questions so far, with the same answers to steering ones, must be asked the
    same question next. Where they are not, the name that explains most of the differences becomes steering.
    """
    steering: set[str] = set()
    while (conflict := _conflict(walks, steering)) is not None:
        names = [question.name for question in conflict[0][0].questions[: conflict[1]]]
        candidates = [name for name in dict.fromkeys(names) if name not in steering]
        if not candidates:
            break  # nothing explains it: to add these walks to the same branches raises an error
        steering.add(min(candidates, key=lambda name: _unexplained(conflict, names.index(name))))
    return frozenset(steering)


Group = tuple[list[Walk], int]
"""Walks, and the level at which they are looked at."""


def _conflict(walks: Sequence[Walk], steering: set[str]) -> Group | None:
    """The first group of walks that nothing known tells apart and that are asked different questions."""
    groups, level = [list(walks)], 0
    while groups:
        following: list[list[Walk]] = []
        for group in groups:
            asked = {_next(one, level) for one in group}
            if len(asked) > 1:
                return group, level
            (question,) = asked
            if question is not None:
                following += _told_apart(group, level, question.name in steering)
        groups, level = following, level + 1
    return None


def _told_apart(group: list[Walk], level: int, steering: bool) -> list[list[Walk]]:
    """The walks by their answer at a level, if that is steering."""
    if not steering:
        return [group]
    by_answer: defaultdict[Hashable, list[Walk]] = defaultdict(list)
    for one in group:
        by_answer[one.values[level]].append(one)
    return list(by_answer.values())


def _next(one: Walk, level: int) -> Question | None:
    return one.questions[level] if level < len(one.questions) else None


def _unexplained(group: Group, place: int) -> int:
    """Number of walks that are not asked what most with the same value at a place are asked."""
    walks, level = group
    asked: defaultdict[Hashable, Counter[Question | None]] = defaultdict(Counter)
    for one in walks:
        asked[one.values[place]][_next(one, level)] += 1
    return sum(counts.total() - max(counts.values()) for counts in asked.values())
