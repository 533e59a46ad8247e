"""States as arrays of category codes, declared by the problem or inferred from its paths.

With codes a state is a point in a space of places and categories, so that leaves one change away from a good
one can be listed and compared by the thousand, whatever order the problem makes its decisions in.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.typing import IntArray
from dagsearch.problem import Action, Capabilities, Layout, Problem, State
from dagsearch.space.walks import random_walk, shape_rng

# Number of random paths that a problem's codes are inferred from.
_WALKS = 64
# Largest number of categories in total that codes are inferred for.
_MOST_CATEGORIES = 2000

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


def coding_of(problem: Problem) -> Coding | None:
    """The problem's own coding, or one inferred from random paths; ``None`` if there is none."""
    own = Capabilities(problem)
    if own.layout is not None:
        members = own.codes, own.leaf_of, own.path_to, own.neighbours
        if all(member is not None for member in members):
            return Coding(own.layout, *members)  # type: ignore[arg-type]
        return None
    if own.has_players or own.items is not None or own.inclusion is not None:
        return None  # the problem says in another way what its states are
    return _inferred(problem)


def _inferred(problem: Problem) -> Coding | None:
    """For problems whose states are the tuples of decisions so far, all paths of one length."""
    rng = shape_rng()
    options: list[dict[Action, int]] = []
    always_same = all_remaining = True
    leaves: list[tuple[Action, ...]] = []
    for _ in range(_WALKS):
        state, (leaf, actions) = problem.root(), random_walk(problem, problem.root(), rng)
        if type(leaf) is not tuple or leaf != tuple(actions) or (leaves and len(leaf) != len(leaves[0])):
            return None
        leaves.append(leaf)
        options = options or [{} for _ in actions]
        for place, action in enumerate(actions):
            offered = tuple(problem.actions(state))
            known = options[place]
            always_same = always_same and (not known or tuple(known) == offered)
            remaining = options[0].keys() - set(leaf[:place])
            all_remaining = all_remaining and (place == 0 or set(offered) == remaining)
            for other in offered:
                known.setdefault(other, len(known))
            state = problem.step(state, action)
    if len(leaves[0]) < 2 or sum(map(len, options)) > _MOST_CATEGORIES:
        return None
    first = options[0]
    if not always_same and all(set(leaf) <= first.keys() and len(set(leaf)) == len(leaf) for leaf in leaves):
        return _Tuples(problem, [first] * len(options), check=not all_remaining).coding("order")
    return _Tuples(problem, options, check=not always_same).coding("places")


class _Tuples:
    """Codes of states that are tuples of decisions.

    Parameters
    ----------
    problem : Problem
        Whose states they are.
    options : sequence of mappings
        Category of each decision, by place.
    check : bool
        Whether options depend on earlier decisions, so that a leaf must be checked by its decisions.
    """

    def __init__(self, problem: Problem, options: Sequence[dict[Action, int]], check: bool) -> None:
        self._problem, self._options, self._check = problem, options, check
        self._decisions = [list(known) for known in options]
        self._categories = np.array([len(known) for known in options])

    def coding(self, kind: str) -> Coding:
        changed = exchanged if kind == "order" else self._changed
        return Coding(Layout(kind, self._categories), self.codes, self.leaf_of, list, self._valid(changed))

    def codes(self, states: Sequence[State]) -> IntArray:
        rows = np.full((len(states), len(self._options)), -1, dtype=np.int64)
        for row, state in zip(rows, states, strict=True):
            row[: len(state)] = [known.get(part, -1) for known, part in zip(self._options, state)]  # noqa: B905
        return rows

    def leaf_of(self, codes: IntArray) -> State:
        return tuple(known[code] for known, code in zip(self._decisions, codes.tolist(), strict=True))

    def _changed(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        return one_place_changed(codes, self._categories, count, rng)

    def _valid(self, neighbours: Neighbours) -> Neighbours:
        if not self._check:
            return neighbours

        def valid(codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
            found = neighbours(codes, count, rng)
            return found[[self._is_leaf(self.leaf_of(row)) for row in found]]

        return valid

    def _is_leaf(self, leaf: Sequence[Action]) -> bool:
        state: Any = self._problem.root()
        for action in leaf:
            if action not in self._problem.actions(state):
                return False
            state = self._problem.step(state, action)
        return len(self._problem.actions(state)) == 0


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
    ends = np.cumsum(widths, dtype=np.int64)
    total = int(ends[-1]) if ends.size else 0
    drawn = np.arange(total) if total <= count else rng.choice(total, count, replace=False)
    groups = np.searchsorted(ends, drawn, side="right")
    return groups, drawn - np.append(0, ends)[groups]


def one_place_changed(
    codes: IntArray, categories: IntArray, count: int, rng: np.random.Generator
) -> IntArray:
    """Rows that differ from ``codes`` at one place, at most ``count``; shape ``(rows, places)``."""
    place, shift = draw_moves(categories - 1, count, rng)
    rows = np.tile(codes, (place.size, 1))
    rows[np.arange(place.size), place] = (codes[place] + 1 + shift) % categories[place]
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
