"""States as arrays of category codes, and the changes that lead from one leaf to others.

With codes a state is a point in a space of places and categories, so that leaves one change away from a good
one can be listed and compared by the thousand, whatever order the problem makes its decisions in.
"""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dagsearch._internal.typing import IntArray
from dagsearch.problem import Action, Layout, State
from dagsearch.space.numbers import MANY, Ladder

Neighbours = Callable[[IntArray, int, np.random.Generator], IntArray]


class Coding(NamedTuple):
    """How the states of a problem are written as codes; see :class:`dagsearch.problem.Problem`."""

    layout: Layout
    """Which places there are, and how many categories each has."""
    codes: Callable[[Sequence[State]], IntArray]
    """Category of each place of some states, −1 where it is undecided; shape ``(states, places)``."""
    leaf_of: Callable[[IntArray], State]
    """The leaf with a row of codes."""
    path_to: Callable[[State], Sequence[Action]]
    """Actions that lead from the root to a leaf."""
    neighbours: Neighbours
    """Codes of different leaves one change away from a leaf, given by its codes; shape ``(leaves, places)``.

    ``neighbours(codes, count, rng)`` gives all if they are at most ``count``, otherwise a random sample."""
    certain: bool = True
    """Whether every row of codes is a leaf as far as is known."""
    every: Callable[[int], IntArray | None] | None = None
    """Codes of all leaves, as far as is known; ``None`` if they are more than a number."""
    likely_leaf_of: Callable[[IntArray], State] | None = None
    """The leaf with a row of codes, as far as is known: the problem is not asked. ``None`` if that is
    ``leaf_of``."""


def draw_moves(
    widths: IntArray | Sequence[int], count: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Which of many moves to make: all if they are at most ``count``, otherwise a random sample of them.

    Parameters
    ----------
    widths : array of int, shape ``(groups,)``
        Number of moves in each group; the moves themselves are not listed.
    count : int
        Largest number of moves to draw; every move is as likely as any other.
    rng : numpy Generator
        Source of the sample.

    Returns
    -------
    groups, numbers : array of int, shape ``(moves,)``
        Group of each move, and its number in the group.
    """
    sizes: IntArray = np.asarray(widths, dtype=np.int64)
    ends: IntArray = np.add.accumulate(sizes)
    total = int(ends[-1]) if ends.size else 0
    drawn = np.arange(total) if total <= count else rng.choice(total, count, replace=False)
    groups: IntArray = ends.searchsorted(drawn, side="right").astype(np.int64, copy=False)
    return groups, drawn - (ends - sizes)[groups]


def product_of(categories: IntArray, most: int) -> IntArray | None:
    """All rows of codes with these numbers of categories; ``None`` if they are more than ``most``."""
    sizes = np.asarray(categories).tolist()
    if math.prod(sizes) > most:
        return None
    return np.indices(tuple(sizes)).reshape(len(sizes), -1).T


class Changes:
    """Changes of a row of codes at one place.

    Parameters
    ----------
    layout : Layout
        The places. Of a place with many numbers, only near and some far ones are tried.
    """

    def __init__(self, layout: Layout) -> None:
        self._others = np.asarray(layout.categories) - 1
        numbers = [
            (place, Ladder(known))
            for place, known in enumerate(layout.numbers)
            if known is not None and len(known) > MANY
        ]
        self.ladders: dict[int, Ladder] = dict(numbers)
        """Neighbours at the places with many numbers."""

    def around(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Rows that differ from ``codes`` at one place, at most ``count``; shape ``(rows, places)``."""
        options = {place: ladder.around(int(codes[place]), rng) for place, ladder in self.ladders.items()}
        widths = self._others
        if options:
            widths = widths.copy()
            widths[list(options)] = [len(some) for some in options.values()]
        place, number = draw_moves(widths, count, rng)
        rows = np.empty((place.size, len(codes)), dtype=np.int64)
        rows[:] = codes
        changed = (codes[place] + 1 + number) % (self._others[place] + 1)
        for at, some in options.items():
            changed[place == at] = some[number[place == at]]
        rows[np.arange(place.size), place] = changed
        return rows


def exchanged(codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
    """At most ``count`` orders with two items exchanged, one item moved, or a stretch reversed; each once."""
    stretch, number = draw_moves(stretches(len(codes)), count, rng)
    return rearranged(codes, stretch, number)


# Smallest distance between the ends of a stretch for each kind of change: its ends are exchanged, its first
# item is moved behind its last, its last before its first, it is reversed. Others would be counted twice:
# moving an item by one exchanges it with the next one, reversing two or three items exchanges the outer ones.
_DISTANCES = np.array([1, 2, 2, 3])


def stretches(length: int) -> IntArray:
    """Number of stretches that can be rearranged, by kind of change and then by first position."""
    return np.maximum(length - _DISTANCES[:, None] - np.arange(length), 0).ravel()


def rearranged(codes: IntArray, stretch: IntArray, number: IntArray) -> IntArray:
    """An order with one change each, numbered as in :func:`stretches`; shape ``(changes, length)``."""
    kind, first = (part[:, None] for part in np.divmod(stretch, len(codes)))
    last = first + _DISTANCES[kind] + number[:, None]
    place = np.arange(len(codes))
    swapped = np.where(place == first, last, np.where(place == last, first, place))
    later = np.where(place == last, first, place + 1)
    sooner = np.where(place == first, last, place - 1)
    source = np.choose(kind, [swapped, later, sooner, first + last - place])
    return codes[np.where((first <= place) & (place <= last), source, place)]
