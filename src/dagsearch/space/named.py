"""Named choices as arrays: one place per observed name, one category per observed value."""

from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Any, Final

import numpy as np

from dagsearch._internal.typing import IntArray
from dagsearch.problem import Action, Coding, Layout, State
from dagsearch.space.chosen import Chosen, Options
from dagsearch.space.moves import OtherOptions
from dagsearch.space.numbers import numbers_of_places
from dagsearch.space.walks import shape_rng

# Random leaves reveal the values: stop after this many in a row without a new one, or this many in all.
_QUIET: Final = 64
_MOST_WALKS: Final = 2_000
# Number of ways to complete a neighbour whose change makes other choices appear: one as in an observed leaf,
# the others at random.
COMPLETIONS: Final = 3
# Number of leaves that scale covariances.
_SAMPLES: Final = 64

Answer = Callable[[str, Options], Hashable]
"""Chooses one of the options of a name."""


class Seen:
    """The names and options observed in leaves.

    Names are stored in the order in which they are asked, so that a choice depends on earlier places only;
    the order of ``names`` is known beforehand.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.leaves: dict[Chosen, None] = {}
        """The observed leaves, in order."""
        self._names = list(names)
        self._place = {name: number for number, name in enumerate(names)}
        self._values: dict[str, dict[Hashable, None]] = {}
        self._counts: Counter[str] = Counter()  # number of leaves with each name
        self._coding: Coding | None = None

    def learn(self, leaf: Chosen) -> bool:
        """Learn the choices of a leaf and their options; returns whether any of them is new."""
        if leaf in self.leaves:
            return False
        shape = self._shape()
        self.leaves[leaf] = None
        self._counts.update(leaf.keys())
        before = 0  # where a new name belongs
        asked = leaf.options or [(value,) for value in leaf.values()]
        for name, options in zip(leaf, asked, strict=True):
            if name not in self._place:
                self._names.insert(before, name)
                for number, later in enumerate(self._names[before:], before):
                    self._place[later] = number
            before = self._place[name] + 1
            self._values.setdefault(name, {}).update(dict.fromkeys(options))
        if self._shape() != shape:
            self.__dict__.pop("codes", None)
            self._coding = None
            return True
        if "codes" in self.__dict__:
            self.codes.rows.append(self.codes.row(leaf, complete=True))
        return False

    def look_around(self, walk: Callable[[Answer], Chosen]) -> bool:
        """Learn random leaves until nothing new turns up; returns whether they converged.

        ``walk`` makes a leaf and asks for every choice; half of the leaves have the least tried values.
        """
        rng, tried, quiet = shape_rng(), Counter[tuple[str, Hashable]](), 0

        def random(name: str, options: Options) -> Hashable:
            return options[int(rng.random() * len(options))]

        def rare(name: str, options: Options) -> Hashable:
            fewest = min(tried[name, value] for value in options)
            return random(name, tuple([value for value in options if tried[name, value] == fewest]))

        for number in range(_MOST_WALKS):
            leaf = walk(rare if number % 2 else random)
            tried.update(leaf.items())
            quiet = 0 if self.learn(leaf) else quiet + 1
            if quiet == _QUIET:
                return True
        return False

    @property
    def values(self) -> dict[str, tuple[Hashable, ...]]:
        """The values by name."""
        return {name: tuple(self._values[name]) for name in self._names if name in self._values}

    @property
    def optional(self) -> frozenset[str]:
        """Names that are absent in some leaves."""
        return frozenset(name for name, count in self._counts.items() if count < len(self.leaves))

    @cached_property
    def codes(self) -> "NamedCodes":
        """The arrays, rebuilt whenever places or categories have been added."""
        return NamedCodes(self.values, self.optional, self.leaves)

    def coding(
        self,
        leaf_of: Callable[[IntArray], State],
        path_to: Callable[[State], Sequence[Action]],
        is_leaf: Callable[[State], bool],
        chosen_at: Callable[[State], Mapping[str, Hashable]] = dict,
    ) -> Coding:
        """The codes of a problem's states; ``chosen_at`` maps a state to its choices, by default itself.

        It is a new object whenever places or categories have been added.
        """
        named, always = self.codes, not self.optional

        def codes(states: Sequence[State]) -> IntArray:
            rows = [named.row(chosen_at(state), always or is_leaf(state)) for state in states]
            return np.array(rows, dtype=np.int64).reshape(len(rows), len(named.layout.categories))

        if self._coding is None:
            around = named.changes.around if always else named.neighbours
            self._coding = Coding(named.layout, codes, leaf_of, path_to, around, complete=always)
        return self._coding

    def _shape(self) -> Any:
        return [(name, len(self._values.get(name, ()))) for name in self._names], self.optional


class NamedCodes:
    """Codes of choices: one place per name of ``values``, one category per value.

    If a name is ``optional``, that is, missing in some leaves, its last category is "absent".
    """

    def __init__(
        self, values: dict[str, tuple[Hashable, ...]], optional: frozenset[str], leaves: Iterable[Chosen]
    ) -> None:
        self._values = values
        self._code = {
            name: (place, {value: code for code, value in enumerate(known)})
            for place, (name, known) in enumerate(values.items())
        }
        may_lack = np.array([name in optional for name in values], dtype=np.bool_)
        self._sizes = np.array([len(known) for known in values.values()], dtype=np.int64)
        self._absent = np.where(may_lack, self._sizes, -1)
        options = list(values.values())
        numbers = numbers_of_places(options)
        self.layout = Layout("places", self._sizes + may_lack, numbers, options=options)
        self.changes = OtherOptions(self.layout, self._absent)
        """Another value of one name."""
        self.rows = [self.row(leaf, complete=True) for leaf in leaves]
        """Codes of the leaves; they show which names occur together."""

    def row(self, chosen: Mapping[str, Hashable], complete: bool) -> list[int]:
        """Codes of some choices: −1 if undecided or if the value is unknown.

        A missing name before the last chosen one is absent, because names are asked in their order.
        """
        row: list[int] = self._absent.tolist()
        last = -1
        for name, value in chosen.items():
            if name in self._code:
                place, code_of = self._code[name]
                row[place] = code_of.get(value, -1)
                last = max(last, place)
        return row if complete else row[: last + 1] + [-1] * (len(row) - last - 1)

    def extended(self, row: "array[int]", name: str, value: Hashable) -> "array[int]":
        """Another row with one more choice."""
        row = array("q", row)
        if name in self._code:
            place, code_of = self._code[name]
            row[place] = code_of.get(value, -1)
        return row

    def wanted(self, codes: IntArray) -> Chosen:
        """The values of a row of codes, in the order of the places."""
        places = zip(self._values.items(), codes.tolist(), strict=True)
        return Chosen({name: known[code] for (name, known), code in places if 0 <= code < len(known)})

    def changed(self, codes: IntArray, rows: IntArray) -> list[tuple[str, Hashable]]:
        """The name at which each row differs from ``codes``, and its value there."""
        names, place = list(self._values.items()), (rows != codes).argmax(axis=1)
        code = rows[np.arange(len(rows)), place].tolist()
        return [(names[at][0], names[at][1][one]) for at, one in zip(place.tolist(), code, strict=True)]

    def answer(self, codes: IntArray) -> Answer:
        """Answers with the values of a row of codes; random but reproducible if none of them fits."""
        wanted = self.wanted(codes)

        def answer(name: str, options: Options) -> Hashable:
            value = wanted.get(name, options)  # the default is not an option
            return value if value in options else Random(f"{codes.tolist()} {name}").choice(options)

        return answer

    def samples(self) -> list[Chosen]:
        """Leaves like the observed ones, with random values; at least one must have been observed."""
        rng = shape_rng()
        rows = np.array(self.rows)[(rng.random(_SAMPLES) * len(self.rows)).astype(np.int64)]
        random = (rng.random(rows.shape) * self._sizes).astype(np.int64)
        return list(map(self.wanted, np.where(rows == self._absent, rows, random)))

    def neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of leaves with one choice changed, each once: all, or ``count`` of them at random.

        The other choices of such a leaf are unknown until it is evaluated: it is assumed to have those that
        all leaves with the changed value have, and to lack those that none of them has.
        """
        rows = self.changes.around(codes, count, rng)
        place = (rows != codes).argmax(axis=1)
        seen = rng.permutation(self.rows)
        has_value = (seen[:, place] == rows[np.arange(len(rows)), place]).T
        known, having = has_value.sum(axis=1)[:, None], has_value.astype(np.float64) @ (seen != self._absent)
        later = (np.arange(rows.shape[1]) > place[:, None]) & (known > 0)
        is_there = rows != self._absent
        ends, begins = later & is_there & (having == 0), later & ~is_there & (having == known)
        rows, begins = (
            np.repeat(one, COMPLETIONS, axis=0) for one in (np.where(ends, self._absent, rows), begins)
        )
        values = (rng.random(rows.shape) * self._sizes).astype(np.int64)
        values[::COMPLETIONS] = seen[has_value.argmax(axis=1)]
        return np.unique(np.where(begins, values, rows), axis=0)
