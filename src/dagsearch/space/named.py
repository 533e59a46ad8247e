"""Named choices as arrays: one place per name, one category per value, as far as they were seen."""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy as np

from dagsearch._internal.typing import BoolArray, IntArray
from dagsearch.problem import Action, Coding, Layout, State
from dagsearch.space.chosen import Chosen, Options
from dagsearch.space.moves import OtherOptions, draw_moves, product_of
from dagsearch.space.numbers import numbers_of_places
from dagsearch.space.walks import shape_rng

# Random leaves show which values there are: until so many in a row show nothing new, or so many in all.
_QUIET: Final = 64
_MOST_WALKS: Final = 2_000
# Number of ways in which a neighbour is completed if its change makes other choices appear.
_COMPLETIONS: Final = 3
# Number of leaves by which covariances are scaled.
_SAMPLES: Final = 64

Answer = Callable[[str, Options], Hashable]
"""Chooses one of the options of a name."""


class Seen:
    """The names and options that leaves have shown.

    Names are kept in the order in which they are asked, so that a choice depends on earlier places only.

    Parameters
    ----------
    names : sequence of str
        Names in their order, where it is known beforehand.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self.leaves: dict[Chosen, None] = {}
        """The leaves that were seen, in that order."""
        self._names = list(names)
        self._place = {name: number for number, name in enumerate(names)}
        self._values: dict[str, dict[Hashable, None]] = {}
        self._counts: Counter[str] = Counter()  # of the leaves that have a name
        self._codes: NamedCodes | None = None

    def learn(self, leaf: Chosen) -> None:
        """Learn what was chosen, and from which options."""
        if leaf in self.leaves:
            return
        self.leaves[leaf] = None
        self._counts.update(leaf.names)
        before = 0  # where a name that is new belongs
        asked = leaf.options or [(value,) for value in leaf.chosen]
        for name, options in zip(leaf.names, asked, strict=True):
            if name not in self._place:
                self._names.insert(before, name)
                for number, later in enumerate(self._names[before:], before):
                    self._place[later] = number
            before = self._place[name] + 1
            self._values.setdefault(name, {}).update(dict.fromkeys(options))
        if self._codes is not None and self._codes.shape == self._shape():
            self._codes.add(leaf)
        else:
            self._codes = None

    def look_around(self, walk: Callable[[Answer], Chosen]) -> bool:
        """Learn random leaves until nothing new turns up; returns whether that came about.

        ``walk`` makes a leaf, asking for every choice; half of the leaves have the values that were tried
        least.
        """
        rng, tried, quiet = shape_rng(), Counter[tuple[str, Hashable]](), 0

        def random(name: str, options: Options) -> Hashable:
            return options[int(rng.random() * len(options))]

        def rare(name: str, options: Options) -> Hashable:
            fewest = min(tried[name, value] for value in options)
            return random(name, tuple([value for value in options if tried[name, value] == fewest]))

        for number in range(_MOST_WALKS):
            leaf, before = walk(rare if number % 2 else random), self._shape()
            tried.update(zip(leaf.names, leaf.chosen, strict=True))
            self.learn(leaf)
            quiet = quiet + 1 if self._shape() == before else 0
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

    @property
    def codes(self) -> "NamedCodes":
        """The arrays; another object whenever places or categories have been added."""
        if self._codes is None:
            self._codes = NamedCodes(self.values, self.optional)
            self._codes.shape = self._shape()
            for leaf in self.leaves:
                self._codes.add(leaf)
        return self._codes

    def _shape(self) -> Any:
        return [(name, len(self._values.get(name, ()))) for name in self._names], self.optional


class NamedCodes:
    """Codes of choices with some names and values.

    Parameters
    ----------
    values : dict
        The values by name, in the order of the places.
    optional : collection of str
        Names that are absent in some leaves: "absent" is one more category of theirs, the last.
    """

    shape: Any = None

    def __init__(self, values: dict[str, tuple[Hashable, ...]], optional: frozenset[str]) -> None:
        self.names, self.values = tuple(values), list(values.values())
        """The name of each place, and the value of each of its categories."""
        self._place = {name: place for place, name in enumerate(self.names)}
        self._code = [{value: code for code, value in enumerate(known)} for known in self.values]
        may_lack = np.array([name in optional for name in self.names], dtype=np.bool_)
        self._sizes = np.array([len(known) for known in self.values], dtype=np.int64)
        self._absent = np.where(may_lack, self._sizes, -1)
        self.layout = Layout("places", self._sizes + may_lack, numbers_of_places(self.values))
        """One place per name; the category is the number of the value, or "absent"."""
        self._changes = OtherOptions(self.layout)
        self._rows: list[list[int]] = []
        self._known: IntArray = np.empty((0, len(self.names)), dtype=np.int64)
        self._following: dict[tuple[int, int], tuple[BoolArray, BoolArray, IntArray]] = {}

    def add(self, leaf: Chosen) -> None:
        """Take a leaf as an example of which names go together."""
        self._rows.append(self.row(leaf, complete=True))
        self._following.clear()

    def coding(
        self,
        leaf_of: Callable[[IntArray], State],
        path_to: Callable[[State], Sequence[Action]],
        decided: Callable[[State], tuple[Chosen, bool]],
    ) -> Coding:
        """The codes of a problem's states; ``decided`` gives the choices of one, and whether it is a leaf."""

        def codes(states: Sequence[State]) -> IntArray:
            rows = [self.row(*decided(state)) for state in states]
            return np.array(rows, dtype=np.int64).reshape(len(rows), len(self.names))

        return Coding(self.layout, codes, leaf_of, path_to, self.every, self.neighbours)

    def row(self, chosen: Chosen, complete: bool) -> list[int]:
        """Codes of some choices: −1 where nothing is decided, and where the value was not seen.

        A name before the last one that is chosen is absent, because names are asked in their order.
        """
        place_of, code_of = self._place, self._code
        row: list[int] = self._absent.tolist()
        last = -1
        for name, value in zip(chosen.names, chosen.chosen, strict=True):
            if name in place_of:
                place = place_of[name]
                row[place] = code_of[place].get(value, -1)
                last = max(last, place)
        return row if complete else row[: last + 1] + [-1] * (len(row) - last - 1)

    def wanted(self, codes: IntArray) -> dict[str, Any]:
        """The values of a row of codes by name, in the order of the places."""
        places = zip(self.names, self.values, codes.tolist(), strict=True)
        return {name: known[code] for name, known, code in places if 0 <= code < len(known)}

    def answer(self, codes: IntArray) -> Answer:
        """Answers with the values of a row of codes; the first option where none of them fits."""
        wanted = self.wanted(codes)

        def answer(name: str, options: Options) -> Hashable:
            return value if (value := wanted.get(name, options[0])) in options else options[0]

        return answer

    def every(self, most: int) -> IntArray | None:
        """Codes of all leaves, if every name is always asked; ``None`` otherwise, or if they are more."""
        return None if (self._absent >= 0).any() else product_of(self._sizes, most)

    def samples(self) -> list[Chosen]:
        """Leaves like those that were seen, with random values; at least one must have been seen."""
        rng, found = shape_rng(), list[Chosen]()
        for number in (rng.random(_SAMPLES) * len(self._rows)).astype(np.int64).tolist():
            row = self.known[number]
            random = (rng.random(len(row)) * self._sizes).astype(np.int64)
            wanted = self.wanted(np.where(row == self._absent, row, random))
            found.append(Chosen(tuple(wanted), tuple(wanted.values())))
        return found

    # Neighbours ----------------------------------------------------------------------------------------

    @property
    def known(self) -> IntArray:
        """Codes of the leaves that were seen, shape ``(leaves, names)``."""
        if len(self._known) < len(self._rows):
            self._known = np.array(self._rows, dtype=np.int64)
        return self._known

    def neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of leaves with one choice changed, each once: all, or ``count`` of them at random.

        Which other choices such a leaf has is not known before it is evaluated: it is taken to have those
        that all leaves with the changed value have, and to lack those that none of them has.
        """
        if not (self._absent >= 0).any():
            return self._changes.around(codes, count, rng)
        place, code = self._changed(codes, count, rng)
        rows = np.tile(codes, (place.size, 1))
        rows[np.arange(place.size), place] = code
        return self._completed(rows, place, rng)

    def _changed(self, codes: IntArray, count: int, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Place and new category of changes of single choices that the leaf has."""
        places = np.flatnonzero((codes >= 0) & (codes != self._absent))
        found = []
        for place in places.tolist():
            own, ladder = int(codes[place]), self._changes.ladders.get(place)
            others = np.arange(self._sizes[place]) if ladder is None else ladder.around(own, rng)
            found.append(others[(others != own) & (others != self._absent[place])])
        group, number = draw_moves([len(some) for some in found], count, rng)
        starts = np.cumsum([0, *map(len, found)])[:-1]
        return places[group], np.concatenate([np.empty(0, np.int64), *found])[starts[group] + number]

    def _completed(self, rows: IntArray, place: IntArray, rng: np.random.Generator) -> IntArray:
        """Rows of which one place was changed, with the later places that then are there."""
        if len(rows) == 0:
            return rows
        changed = zip(place.tolist(), rows[np.arange(len(rows)), place].tolist(), strict=True)
        following = [self._follows(*one) for one in changed]
        later = np.arange(rows.shape[1]) > place[:, None]
        is_there = rows != self._absent
        dropped = later & is_there & ~np.array([some for some, _, _ in following])
        added = later & ~is_there & np.array([always for _, always, _ in following])
        rows = np.where(dropped, self._absent, rows)
        ways = [rows[~added.any(axis=1)]]
        for row in np.flatnonzero(added.any(axis=1)).tolist():
            examples = following[row][2]
            some = np.repeat(rows[row : row + 1], _COMPLETIONS, axis=0)
            like = self.known[examples[(rng.random(_COMPLETIONS) * len(examples)).astype(np.int64)]]
            random = (rng.random(some.shape) * self._sizes).astype(np.int64)
            random[0] = like[0]
            ways.append(np.where(added[row], random, some))
        return np.unique(np.concatenate(ways), axis=0)

    def _follows(self, place: int, code: int) -> tuple[BoolArray, BoolArray, IntArray]:
        """Which names some, and all, of the seen leaves with a category at a place have; these leaves."""
        found = self._following.get((place, code))
        if found is None:
            examples = np.flatnonzero(self.known[:, place] == code)
            is_there = self.known[examples] != self._absent
            some, always = is_there.any(axis=0), is_there.all(axis=0)
            if len(examples) == 0:  # nothing is known about this value
                some, always = ~some, ~always
            found = self._following[place, code] = some, always, examples
        return found
