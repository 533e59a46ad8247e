"""What is asked after which answers: single questions, ways through them, and what many ways tell.

Walks are counted, not timed: the same problem must give the same arrays in every process.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from random import Random
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from dagsearch.errors import ProblemError

Options = tuple[Hashable, ...]
"""What can be chosen."""

NOT_TWICE: Final = (
    "it does not choose the same way twice: which choices there are must depend on earlier choices alone, "
    "not on random numbers, the time, files or variables that change"
)

# The survey ends after this number of walks without a new question, and twice the largest number of options,
_QUIET: Final = 64
# but no more than this number: of thousands of options most are alike;
_WIDE: Final = 400
# or after this number in any case, or when there are more names than this.
_MOST: Final = 4000
_NAMES: Final = 500


# Number of random walks that are enough for a mean.
_FEW: Final = 16
# Number of branches that are remembered.
_REMEMBERED: Final = 50_000
# Number of names in a row that explain nothing alone, after which the search for an explanation ends.
_IN_VAIN: Final = 3


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

    __slots__ = ("after", "question")

    def __init__(self, question: Question | None) -> None:
        self.question = question
        """What comes next; ``None`` at the end."""
        self.after: dict[Hashable, int] = {}
        """Number of the branch that comes after each answer."""


class Branches:
    """What is asked after which answers, as far as walks have shown it.

    Branches are numbered, the first is 0: a tree of objects that hold each other would be too deep to pickle.
    """

    def __init__(self) -> None:
        self._all: list[Branch] = []
        self._found_last: tuple[tuple[Hashable, ...], int] = (), 0

    def __len__(self) -> int:
        return len(self._all)

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
                number = before.after.setdefault(walk.values[level], len(self._all))

    def follow(self, answer: Answer) -> tuple[Walk, bool]:
        """A way as far as it is known, and whether that is to its end."""
        asked, values = list[Question](), list[Hashable]()
        number = 0 if self._all else None
        while number is not None and (question := self._all[number].question) is not None:
            asked.append(question)
            values.append(answer(question))
            number = self._all[number].after.get(values[-1])
        return Walk(tuple(asked), tuple(values)), number is not None

    def at(self, state: Chosen) -> Branch | None:
        """What comes after the choices of a state; ``None`` if that is not known."""
        if not self._all:
            return None
        # Most often one choice was added: the way to a leaf is asked about step by step.
        before, number = self._found_last
        if state.chosen[:-1] != before:
            before, number = (), 0
        for value in state.chosen[len(before) :]:
            after = self._all[number].after.get(value)
            if after is None:
                return None
            number = after
        self._found_last = state.chosen, number
        return self._all[number]


class Asked:
    """Finds out what is asked after which answers, and remembers it.

    Parameters
    ----------
    discover : callable
        ``discover(known, answer)`` goes one complete way that begins with the answers that are known.
    """

    def __init__(self, discover: Callable[[Sequence[Hashable], Answer], Walk]) -> None:
        self._discover = discover
        self._known = Branches()

    def walk(self, answer: Answer) -> Walk:
        """One complete way through the choices; what is known of it is not found out again."""
        walk, complete = self._known.follow(answer)
        return walk if complete else self.found(walk.values, answer)

    def found(self, known: Sequence[Hashable], answer: Answer) -> Walk:
        """One complete way, found out anew and remembered; raise if what was remembered has changed."""
        if len(self._known) > _REMEMBERED:
            self._known = Branches()
        walk = self._discover(known, answer)
        self._known.add(walk)
        return walk

    def question(self, state: "Chosen") -> Question | None:
        """What is to be chosen next; ``None`` at a leaf."""
        branch = self._known.at(state)
        if branch is None:
            random = Random(0)  # any way will do that begins with the state
            self.found(state.chosen, lambda asked: random.choice(asked.options))
            branch = self._known.at(state)
        if branch is None:
            raise ProblemError(f"the choices {state.asdict()!r} do not lead to a state: {NOT_TWICE}")
        return branch.question

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_known": Branches()}


class Rules:
    """What is asked next, as a function of few answers: what walks have in common.

    After each question, what comes next is explained by the answers to as few names as possible. Other walks
    are taken to follow the same rules, so that ways nobody has walked are known as well. They may not: who
    needs to be sure asks the problem.

    Parameters
    ----------
    walks : sequence of Walk
        What was asked and answered.
    """

    def __init__(self, walks: Sequence[Walk]) -> None:
        seen: defaultdict[str, list[_Seen]] = defaultdict(list)
        for one in walks:
            made = {question.name: level for level, question in enumerate(one.questions)}
            for question, following in zip(one.questions, (*one.questions[1:], None), strict=True):
                seen[question.name].append(_Seen(one, made, made[question.name], following))
        self._first = walks[0].questions[0] if walks and walks[0].questions else None
        self._looks_at: dict[str, tuple[str, ...]] = {}
        self._next: dict[str, dict[tuple[Hashable, ...], Question | None]] = {}
        for name, cases in seen.items():
            looks_at = _explaining(name, cases)
            self._looks_at[name] = looks_at
            self._next[name] = {one.at(looks_at): one.following for one in cases}
        self.steering = frozenset(name for names in self._looks_at.values() for name in names) - {_LEVEL}
        """Names whose answers decide what is asked later."""
        self._reached: dict[tuple[Hashable, ...], frozenset[str]] = {}

    def follow(self, answer: Answer) -> tuple[Walk, bool]:
        """A way by the rules, and whether they lead to its end."""
        asked, values, question = list[Question](), list[Hashable](), self._first
        made: dict[str, Hashable] = {}
        looks_at, after = self._looks_at, self._next
        while question is not None:
            asked.append(question)
            name = question.name
            made[name] = value = answer(question)
            values.append(value)
            made[_LEVEL] = len(values)
            key = tuple([made.get(other, _ABSENT) for other in looks_at[name]])
            question = after[name].get(key, _UNKNOWN)
            if question is _UNKNOWN or (question is not None and question.name in made):  # a wrong rule
                return Walk(tuple(asked), tuple(values)), False
        return Walk(tuple(asked), tuple(values)), True

    def every(self, most: int) -> list[Walk] | None:
        """All ways by the rules; ``None`` if they are more than ``most``, or do not all come to an end."""
        found: list[Walk] = []
        waiting: list[tuple[Question, tuple[Question, ...], dict[str, Hashable]]] = []
        if self._first is not None:
            waiting.append((self._first, (), {}))
        while waiting:
            question, asked, made = waiting.pop()
            if len(found) + len(waiting) + len(question.options) > most:
                return None
            for value in reversed(question.options):
                answers = {**made, question.name: value}
                known = {**answers, _LEVEL: len(answers)}
                key = tuple([known.get(other, _ABSENT) for other in self._looks_at[question.name]])
                following = self._next[question.name].get(key, _UNKNOWN)
                if following is _UNKNOWN or (following is not None and following.name in answers):
                    return None
                if following is None:
                    found.append(Walk((*asked, question), tuple(answers.values())))
                else:
                    waiting.append((following, (*asked, question), answers))
        return found

    def open_names(self, state: Chosen) -> frozenset[str]:
        """Names that may still be asked after the choices of a state, by the rules."""
        made = {name: value for name, value in state.items() if name in self.steering}
        last = state.names[-1] if state.names else None
        key = (last, *made.items())
        if key not in self._reached:
            self._reached[key] = self._open_after(last, dict(state))
        return self._reached[key]

    def _open_after(self, last: str | None, made: Mapping[str, Hashable]) -> frozenset[str]:
        found: set[str] = set()
        waiting = [last] if last is not None else [self._first.name] if self._first else []
        if last is None:
            found.update(waiting)
        while waiting:
            name = waiting.pop()
            for key, following in self._next.get(name, {}).items():
                pairs = zip(self._looks_at[name], key, strict=True)
                fits = all(made.get(other, value) == value for other, value in pairs)
                if fits and following is not None and following.name not in found:
                    found.add(following.name)
                    waiting.append(following.name)
        return frozenset(found)


class _Absent:
    """What is not answered on a way; one object, also after pickling."""

    def __reduce__(self) -> str:
        return "_ABSENT"


_ABSENT: Final = _Absent()
# Stands for the number of answers so far, which explains what comes after a question asked repeatedly.
_LEVEL: Final = "\0"
# What comes next where no walk has shown it.
_UNKNOWN: Final = Question("", ())


class _Seen(NamedTuple):
    """What came after a question on one walk."""

    walk: Walk
    """The walk."""
    asked: Mapping[str, int]
    """When each name was asked on it."""
    level: int
    """When the question was."""
    following: Question | None
    """What was asked next."""

    def at(self, names: Sequence[str]) -> tuple[Hashable, ...]:
        """The answers to these names, as far as they were given then."""
        return tuple([self._answer(name) for name in names])

    def _answer(self, name: str) -> Hashable:
        if name == _LEVEL:
            return self.level + 1
        level = self.asked.get(name, self.level + 1)
        return self.walk.values[level] if level <= self.level else _ABSENT


def _explaining(name: str, cases: Sequence[_Seen]) -> tuple[str, ...]:
    """As few names as possible, the nearest of equally good ones, whose answers explain what comes next."""
    chosen, left, in_vain = tuple[str, ...](), _unexplained(cases, ())[0], 0
    before = dict.fromkeys(q.name for one in cases for q in one.walk.questions[: one.level])
    candidates = [name, *(other for other in reversed(before) if other != name), _LEVEL]
    while left > 0 and candidates and in_vain < _IN_VAIN:
        counts = {other: _unexplained(cases, (*chosen, other)) for other in candidates}
        best = min(counts, key=counts.__getitem__)
        in_vain = 0 if counts[best][0] < left else in_vain + 1
        chosen, left = (*chosen, best), counts[best][0]
        candidates.remove(best)
    return chosen


def _unexplained(cases: Sequence[_Seen], names: tuple[str, ...]) -> tuple[int, int]:
    """Number of walks that are not asked what most with the same answers are asked, and of such answers.

    Among explanations that are as good, the one with fewer cases is more likely to be the reason.
    """
    asked: defaultdict[tuple[Hashable, ...], Counter[Question | None]] = defaultdict(Counter)
    for one in cases:
        asked[one.at(names)][one.following] += 1
    return sum(counts.total() - max(counts.values()) for counts in asked.values()), len(asked)


class Survey(NamedTuple):
    """What is known about the choices."""

    values: dict[str, Options]
    """Every value found, by name; names are in the order in which they are asked."""
    optional: frozenset[str]
    """Names that are not asked on every way."""
    steering: frozenset[str]
    """Names whose value decides what is asked later."""
    rules: Rules
    """What is asked after which answers; empty if the same questions are asked on every way."""
    widths: list[int]
    """Mean number of options at each level under random play, rounded."""
    complete: bool
    """Whether the last walks found nothing new."""

    @classmethod
    def of_fixed(cls, questions: Sequence[Question]) -> "Survey":
        """What is known if the same questions are asked on every way."""
        values = {question.name: question.options for question in questions}
        widths = [len(question.options) for question in questions]
        return cls(values, frozenset(), frozenset(), Rules(()), widths, complete=True)

    @classmethod
    def of_walks(cls, walk: Callable[[Answer], Walk]) -> "Survey":
        """Walk through the choices until nothing new is found.

        Parameters
        ----------
        walk : callable
            Goes through the choices once, with an answer to every question.
        """
        found = _Walks(walk)
        complete = False
        while not complete and len(found.walks) < _MOST and len(found.values) <= _NAMES:
            found.walk_once()
            complete = found.quiet >= max(_QUIET, min(2 * found.widest, _WIDE))
        walks = found.walks
        counts = Counter(question.name for one in walks for question in one.questions)
        rules = Rules(walks)
        return cls(
            {name: tuple(found.values[name]) for name in found.names},
            frozenset(name for name in found.names if counts[name] < len(walks)),
            rules.steering,
            rules,
            _widths(walks),
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
    """Mean number of options at each level, of random walks; of all walks where few of these come."""
    found = []
    for level in range(max(len(one.questions) for one in walks)):
        reached = [(number, one) for number, one in enumerate(walks) if level < len(one.questions)]
        random = [one for number, one in reached if number % 2 == 0]  # the others are not random play
        some = random if len(random) >= _FEW else [one for _, one in reached]
        mean = np.mean([len(one.questions[level].options) for one in some])
        found.append(max(1, round(float(mean))))
    return found
