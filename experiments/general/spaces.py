"""The form of a problem's points: rows of whole numbers, the same for every method.

Every space has ``size`` and ``own_lengths``, whether a Gaussian process has a length for each place;
``sample(count, rng)``: random points, one row each; ``neighbours(point, rng)``: all points one change away;
``cross(mother, father, rng)``: a child of two points; ``suggested(trial)``: the point that a trial of Optuna
suggests; ``compared(points)``: the places whose agreement a Gaussian process counts; ``everything()``: all
points, in arrays of moderate length. Hill climbing, the genetic algorithm and the local search of the
Gaussian process use these same moves.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, combinations, islice
from math import comb, factorial, prod
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from dagsearch._internal.typing import BoolArray, IntArray

CHUNK = 1 << 16
"""Number of points that :meth:`Space.everything` yields at once."""
MOST_MOVES = 500
"""Largest number of neighbours of an order; more are sampled at random."""


class Condition(NamedTuple):
    """A condition for a place to exist: an earlier place has one of some options."""

    place: int
    """Number of the earlier place."""
    options: tuple[int, ...]
    """Its options with which this place exists."""


class Places:
    """One option for every place; some places exist only under a condition.

    If a place does not exist, the row holds the number after its last option.

    Parameters
    ----------
    options : sequence of int
        Number of options of each place.
    conditions : dict, optional
        Conditions by the number of the place; other places always exist.
    names : sequence of str, optional
        Names of the places.
    values : sequence of sequences, optional
        The options of every place, names or numbers on a scale, if they are more than numbered.
    """

    own_lengths = True

    def __init__(
        self,
        options: Sequence[int],
        conditions: dict[int, Condition] | None = None,
        names: Sequence[str] | None = None,
        values: Sequence[Sequence[Hashable]] | None = None,
    ) -> None:
        self.options: IntArray = np.array(options, dtype=np.int64)
        self.conditions = conditions or {}
        self.names = tuple(names or (f"x{place}" for place in range(len(options))))
        self.values = None if values is None else tuple(map(tuple, values))

    @property
    def size(self) -> int:
        free = (place for place in range(len(self.options)) if place not in self.conditions)
        return prod(map(self._count, free))

    def _count(self, place: int) -> int:
        """Number of ways to fill an existing place and the places whose existence depends on it."""
        dependent = [
            (self._count(other), condition.options)
            for other, condition in self.conditions.items()
            if condition.place == place
        ]
        ways = (prod(n for n, when in dependent if option in when) for option in range(self.options[place]))
        return sum(ways)

    def exists(self, points: IntArray, place: int) -> BoolArray:
        """Whether a place exists in each row, given the places before it."""
        condition = self.conditions.get(place)
        if condition is None:
            return np.ones(len(points), dtype=bool)
        return np.isin(points[:, condition.place], condition.options)

    def sample(self, count: int, rng: np.random.Generator) -> IntArray:
        points = rng.integers(self.options, size=(count, len(self.options)))
        return self._completed(points, rng)

    def _completed(self, points: IntArray, rng: np.random.Generator) -> IntArray:
        """The rows without places that do not exist, and with random options at places that appear."""
        for place in sorted(self.conditions):
            exists, absent = self.exists(points, place), self.options[place]
            points[~exists, place] = absent
            appears = exists & (points[:, place] == absent)
            points[appears, place] = rng.integers(absent, size=int(appears.sum()))
        return points

    def neighbours(self, point: IntArray, rng: np.random.Generator) -> IntArray:
        present = np.flatnonzero(point < self.options)
        places = np.repeat(present, self.options[present] - 1)
        steps = np.concatenate([np.arange(1, self.options[place]) for place in present])
        points = np.tile(point, (len(places), 1))
        points[np.arange(len(places)), places] = (point[places] + steps) % self.options[places]
        return self._completed(points, rng)

    def cross(self, mother: IntArray, father: IntArray, rng: np.random.Generator) -> IntArray:
        child = np.where(rng.random(len(mother)) < 0.5, mother, father)
        return np.asarray(self._completed(child[None], rng)[0])

    def suggested(self, trial: Any) -> IntArray:
        """Options are categories, suggested only where they exist; numbers are numbers."""
        point = self.options.copy()
        for place, name in enumerate(self.names):
            if self.exists(point[None], place)[0]:
                values: Sequence[Any] = () if self.values is None else self.values[place]
                if values and all(type(value) in (int, float) for value in values):
                    point[place] = suggested_number(trial, name, values)
                else:
                    point[place] = trial.suggest_categorical(name, range(self.options[place]))
        return point

    def compared(self, points: IntArray) -> IntArray:
        return points

    def everything(self) -> Iterator[IntArray]:
        if self.conditions:
            points = np.zeros((1, 0), dtype=np.int64)
            for place, options in enumerate(self.options):
                counts = np.where(self.exists(points, place), options, 1)
                points = np.repeat(points, counts, axis=0)
                within = np.arange(len(points)) - np.repeat(np.cumsum(counts) - counts, counts)
                added = np.where(self.exists(points, place), within, options)
                points = np.column_stack([points, added])
            yield points
            return
        for start in range(0, self.size, CHUNK):
            numbers = np.arange(start, min(start + CHUNK, self.size))
            yield np.stack(np.unravel_index(numbers, self.options), axis=1)


class AnySize(Places):
    """A subset of any size, including 0: a 1 for every chosen item."""

    def __init__(self, n: int) -> None:
        super().__init__([2] * n)


class Subset:
    """A subset of fixed size: a 1 for every chosen item.

    Parameters
    ----------
    n : int
        Number of items.
    k : int
        Number of chosen items.
    """

    own_lengths = False

    def __init__(self, n: int, k: int) -> None:
        self.n, self.k = n, k

    @property
    def size(self) -> int:
        return comb(self.n, self.k)

    def sample(self, count: int, rng: np.random.Generator) -> IntArray:
        chosen = np.argsort(rng.random((count, self.n)), axis=1)[:, : self.k]
        return self._indicators(chosen)

    def _indicators(self, chosen: IntArray) -> IntArray:
        points = np.zeros((len(chosen), self.n), dtype=np.int64)
        np.put_along_axis(points, chosen, 1, axis=1)
        return points

    def neighbours(self, point: IntArray, rng: np.random.Generator) -> IntArray:
        inside, outside = np.flatnonzero(point == 1), np.flatnonzero(point == 0)
        points = np.tile(point, (len(inside) * len(outside), 1))
        number = np.arange(len(points))
        points[number, np.repeat(inside, len(outside))] = 0
        points[number, np.tile(outside, len(inside))] = 1
        return points

    def cross(self, mother: IntArray, father: IntArray, rng: np.random.Generator) -> IntArray:
        both, either = np.flatnonzero(mother & father), np.flatnonzero(mother ^ father)
        added = rng.choice(either, self.k - len(both), replace=False)
        return np.asarray(self._indicators(np.concatenate([both, added])[None])[0])

    def suggested(self, trial: Any) -> IntArray:
        """The items with the largest of one float each."""
        chosen = np.argsort(_floats(trial, self.n))[self.n - self.k :]
        return np.asarray(self._indicators(chosen[None])[0])

    def compared(self, points: IntArray) -> IntArray:
        return points

    def everything(self) -> Iterator[IntArray]:
        chosen = combinations(range(self.n), self.k)
        while part := list(islice(chosen, CHUNK)):
            yield self._indicators(np.array(part))


class Order:
    """All orders of n items: the item at every position.

    Parameters
    ----------
    n : int
        Number of items.
    compared : callable, optional
        Features of orders that a Gaussian process compares; by default the item at every position.
    """

    own_lengths = False

    def __init__(self, n: int, compared: Callable[[IntArray], IntArray] | None = None) -> None:
        self.n = n
        self._compared = compared
        self._moves = _moves(n)
        self._few = len(self._moves) <= MOST_MOVES

    @property
    def size(self) -> int:
        return factorial(self.n)

    def sample(self, count: int, rng: np.random.Generator) -> IntArray:
        return rng.permuted(np.tile(np.arange(self.n), (count, 1)), axis=1)

    def neighbours(self, point: IntArray, rng: np.random.Generator) -> IntArray:
        """Two items exchanged, one item moved, or one stretch reversed; a sample if there are many."""
        moves = (
            self._moves if self._few else rng.choice(self._moves, MOST_MOVES, replace=False, shuffle=False)
        )
        return np.asarray(point[moves])

    def cross(self, mother: IntArray, father: IntArray, rng: np.random.Generator) -> IntArray:
        """A stretch of one order in place, and the other items in the order of the other one."""
        start, stop = np.sort(rng.choice(self.n + 1, 2, replace=False))
        kept = mother[start:stop]
        others = father[~np.isin(father, kept)]
        return np.concatenate([others[:start], kept, others[start:]])

    def suggested(self, trial: Any) -> IntArray:
        """The order of one float for each item."""
        return np.argsort(_floats(trial, self.n))

    def compared(self, points: IntArray) -> IntArray:
        return points if self._compared is None else self._compared(points)

    def everything(self) -> Iterator[IntArray]:
        raise NotImplementedError("there are too many orders")


class Repeated(Order):
    """All orders of items that occur several times, all equally often: the item at every position.

    Parameters
    ----------
    items : int
        Number of different items.
    times : int
        Number of occurrences of each item.
    """

    def __init__(self, items: int, times: int) -> None:
        super().__init__(items * times)
        self.items, self.times = items, times

    @property
    def size(self) -> int:
        return factorial(self.n) // int(factorial(self.times) ** self.items)

    def sample(self, count: int, rng: np.random.Generator) -> IntArray:
        return super().sample(count, rng) // self.times

    def neighbours(self, point: IntArray, rng: np.random.Generator) -> IntArray:
        """Two items exchanged, one item moved, or one stretch reversed; each different order once."""
        points = np.unique(point[self._moves], axis=0)
        return points[np.any(points != point, axis=1)]

    def cross(self, mother: IntArray, father: IntArray, rng: np.random.Generator) -> IntArray:
        child = super().cross(_numbered(mother), _numbered(father), rng)
        return np.asarray(child // len(mother))

    def suggested(self, trial: Any) -> IntArray:
        return np.asarray(super().suggested(trial) // self.times)


def _numbered(point: IntArray) -> IntArray:
    """The items numbered by occurrence, so that all differ."""
    before = np.tril(point[:, None] == point, -1).sum(axis=1)
    return np.asarray(point * len(point) + before)


Space: TypeAlias = Places | Subset | Order
"""Points of one form."""


def who_comes_first(points: IntArray) -> IntArray:
    """For every pair of items, whether the one with the smaller number comes first; for orders."""
    position = np.argsort(points, axis=1)
    first, second = np.triu_indices(points.shape[1], 1)
    return (position[:, first] < position[:, second]).astype(np.int64)


def _moves(n: int) -> IntArray:
    """The neighbours of the order 0, 1, …, n - 1, each once."""
    start = list(range(n))
    pairs = list(combinations(range(n), 2))
    exchanged = ([*start[:i], j, *start[i + 1 : j], i, *start[j + 1 :]] for i, j in pairs)
    later = ([*start[:i], *start[i + 1 : j + 1], i, *start[j + 1 :]] for i, j in pairs)
    sooner = ([*start[:i], j, *start[i:j], *start[j + 1 :]] for i, j in pairs)
    reversed_ = ([*start[:i], *start[i : j + 1][::-1], *start[j + 1 :]] for i, j in pairs)
    return np.array(list(dict.fromkeys(map(tuple, chain(exchanged, later, sooner, reversed_)))))


def _floats(trial: Any, count: int) -> list[float]:
    return [trial.suggest_float(f"x{number}", 0.0, 1.0) for number in range(count)]


def suggested_number(trial: Any, name: str, values: Sequence[float]) -> int:
    """Index of the value nearest to the number that a trial suggests."""
    whole, log = all(isinstance(value, int) for value in values), is_logarithmic(values)
    suggest = trial.suggest_int if whole else trial.suggest_float
    number = suggest(name, min(values), max(values), log=log)
    line = np.log if log else np.asarray
    return int(np.abs(line(np.array(values, dtype=np.float64)) - line(float(number))).argmin())


def is_logarithmic(values: Sequence[float]) -> bool:
    """Whether numbers are spaced more evenly on a logarithmic scale."""
    ordered = np.sort(np.array(values, dtype=np.float64))
    if ordered[0] <= 0.0 or len(ordered) < 3:
        return False
    steps, ratios = np.diff(ordered), np.diff(np.log(ordered))
    return bool(ratios.std() / ratios.mean() < steps.std() / steps.mean())
