"""Leaves one change away: another option at a place, a swap, a stretch of an order, a changed path.

The first three change rows of codes, the last one the decisions of a problem without codes. The result may
not be a leaf: it is replayed through the problem (:meth:`Moves.way`), and dropped if the problem rejects it.
"""

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.problem import Action, Coding, Layout, State
from dagsearch.space.walks import Walk, passed

if TYPE_CHECKING:
    from dagsearch.space.space import Space

# With more numbers than this, only near ones and some far ones are neighbours; number of far ones.
_MANY, _FAR = 24, 8

Points = Any
"""Rows of codes, shape ``(points, places)``, or a list of leaves with the decisions that lead there."""


class CodeMoves:
    """Changes of rows of codes."""

    def __init__(self, space: "Space", coding: Coding) -> None:
        self._space, self._coding = space, coding
        self.certain = coding.certain
        """Whether every point is known to be a leaf; then only proposed leaves are checked."""
        kinds: dict[str, type[Any]] = {"order": Stretches, "set": Swaps, "places": OtherOptions}
        self._neighbours = coding.neighbours or kinds[coding.layout.kind](coding.layout).around

    def points(self, ways: Sequence[tuple[State, Sequence[Action]]]) -> Points:
        """Codes of the leaves."""
        return self._coding.codes([leaf for leaf, _ in ways])

    def around(self, point: Any, count: int, rng: np.random.Generator) -> Points:
        """At most ``count`` different codes one change away: all of them, or a random sample."""
        rows = self._neighbours(point, count, rng)
        if self._space.allowed is None:
            return rows
        return rows[[self._space.allows(self._coding.leaf_of(row)) for row in rows]]

    def leaf(self, point: Any) -> State:
        """The leaf with these codes."""
        return self._coding.leaf_of(point)

    def way(self, point: Any) -> Walk | None:
        """The leaf and its decisions, if the problem offers every one of them."""
        actions = list(self._coding.path_to(self._coding.leaf_of(point)))
        reached = self._space.replayed(actions)
        return None if reached is None else (reached, actions)


def draw_moves(
    widths: IntArray | Sequence[int], count: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Draw moves: all of them if there are at most ``count``, otherwise a random sample.

    ``widths`` is the number of moves in each group. Returns the group of each move and its number there.
    """
    sizes: IntArray = np.asarray(widths, dtype=np.int64)
    ends: IntArray = np.add.accumulate(sizes)
    total = int(ends[-1]) if ends.size else 0
    drawn = np.arange(total) if total <= count else rng.choice(total, count, replace=False)
    groups: IntArray = ends.searchsorted(drawn, side="right").astype(np.int64, copy=False)
    return groups, drawn - (ends - sizes)[groups]


class OtherOptions:
    """Another option at one place; among many numbers, near ones and some far ones.

    ``absent`` is the category of each place that is neither changed nor chosen, −1 if there is none.
    """

    def __init__(self, layout: Layout, absent: IntArray | int = -1) -> None:
        self._absent, self._sizes = absent, np.asarray(layout.categories) - (np.asarray(absent) >= 0)
        numbers = enumerate(layout.numbers)
        self._ladders = {
            at: Ladder(known) for at, known in numbers if known is not None and len(known) > _MANY
        }

    def around(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Rows that differ from ``codes`` at one place, at most ``count``; shape ``(rows, places)``."""
        options, widths = dict[int, IntArray](), self._sizes - 1
        for at, ladder in self._ladders.items():
            options[at] = ladder.around(int(codes[at]), rng)
            widths[at] = len(options[at])
        is_absent = (codes == self._absent) & (codes >= 0)
        place, number = draw_moves(np.where(is_absent, 0, widths), count, rng)
        rows = np.tile(codes, (place.size, 1))
        changed = (codes[place] + 1 + number) % self._sizes[place]
        for at, some in options.items():
            changed[place == at] = some[number[place == at]]
        rows[np.arange(place.size), place] = changed
        return rows


class Ladder:
    """The neighbours of a number among many: near ones, at doubling distances, and some anywhere.

    An option that is not a number, ``nan``, is a neighbour of all.
    """

    def __init__(self, numbers: FloatArray) -> None:
        self._others: IntArray = np.flatnonzero(np.isnan(numbers))
        self._ordered: IntArray = np.argsort(numbers)[: len(numbers) - len(self._others)]
        steps = 2 ** np.arange(len(numbers).bit_length())
        self._steps = np.concatenate([-steps, steps])

    def around(self, own: int, rng: np.random.Generator) -> IntArray:
        """Numbers of neighbouring options, each once."""
        far = self._ordered[(rng.random(_FAR) * len(self._ordered)).astype(np.int64)]
        near = np.add.outer(np.flatnonzero(self._ordered == own), self._steps).ravel()
        near = self._ordered[near[(near >= 0) & (near < len(self._ordered))]]
        found = np.unique(np.concatenate([near, far, self._others]))
        return np.asarray(found[found != own])


def others(rows: IntArray, codes: IntArray) -> IntArray:
    """Different rows, without those that are ``codes``."""
    rows = rows[np.lexsort(rows.T[::-1])]  # takes a third of the time of np.unique
    is_new = (rows[1:] != rows[:-1]).any(axis=1)
    return np.asarray(rows[np.append(True, is_new)[: len(rows)] & (rows != codes).any(axis=1)])


class Swaps:
    """A chosen item exchanged for another one or, if the size may vary, one item dropped or added."""

    def __init__(self, layout: Layout) -> None:
        self._sizes = layout.sizes

    def around(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Rows with at most one item dropped and one added; shape ``(rows, items)``."""
        inside, outside = np.flatnonzero(codes == 1), np.flatnonzero(codes != 1)
        # For each dropped item, and finally for none: the items to add, then none.
        widths = np.full(inside.size + 1, outside.size)
        widths[-1] *= inside.size + 1 in self._sizes
        widths[:-1] += inside.size - 1 in self._sizes
        dropped, added = draw_moves(widths, count, rng)
        rows = np.tile(np.append(codes, 0), (added.size, 1))  # "none" is a column behind the last one
        rows[np.arange(added.size), np.append(inside, -1)[dropped]] = 0
        rows[np.arange(added.size), np.append(outside, -1)[added]] = 1
        return rows[:, :-1]


class Stretches:
    """A changed stretch of an order: its ends exchanged, one end moved to the other, the stretch reversed.

    If not all items are placed, one may also be replaced by an unplaced one.
    """

    # Smallest distance between the ends of a stretch for each kind of change: exchange the ends, move the
    # first item behind the last, move the last before the first, reverse. Shorter ones would be counted
    # twice: moving an item by one exchanges it with the next one, reversing two or three items exchanges the
    # outer ones.
    _DISTANCES = np.array([1, 2, 2, 3])

    def __init__(self, layout: Layout) -> None:
        self._length, self._items = len(layout.categories), int(layout.categories[0])
        self._widths = np.maximum(
            self._length - self._DISTANCES[:, None] - np.arange(self._length), 0
        ).ravel()  # by kind of change, then by first position

    def around(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Orders with one change; shape ``(rows, places)``."""
        is_unused = np.ones(self._items, dtype=np.bool_)
        is_unused[codes] = False
        unused, moves = np.flatnonzero(is_unused), self._widths.size
        group, number = draw_moves(np.append(self._widths, np.full(self._length, unused.size)), count, rng)
        moved, place = group < moves, group[group >= moves] - moves
        replaced = np.tile(codes, (place.size, 1))
        replaced[np.arange(place.size), place] = unused[number[~moved]]
        kind, first = np.divmod(group[moved], self._length)
        rearranged = _rearranged(codes, kind, first, first + self._DISTANCES[kind] + number[moved])
        return np.concatenate([rearranged, replaced])


@compiled
def _rearranged(codes: IntArray, kind: IntArray, first: IntArray, last: IntArray) -> IntArray:
    """An order with its stretches from ``first`` to ``last`` changed, one in each row."""
    rows = np.empty((kind.size, codes.size), codes.dtype)
    for i in range(kind.size):
        row, a, b = rows[i], first[i], last[i]
        row[:] = codes
        if kind[i] == 0:
            row[a], row[b] = codes[b], codes[a]
        elif kind[i] == 1:
            row[a:b], row[b] = codes[a + 1 : b + 1], codes[a]
        elif kind[i] == 2:
            row[a + 1 : b + 1], row[a] = codes[a:b], codes[b]
        else:
            row[a : b + 1] = codes[a : b + 1][::-1]
    return rows


class PathMoves:
    """Another action at one state of the path.

    Later decisions stay the same where they are still offered; the others are made at random.
    """

    certain = True

    def __init__(self, space: "Space") -> None:
        self._space = space

    def points(self, ways: Sequence[tuple[State, Sequence[Action]]]) -> Points:
        """The leaves with their decisions."""
        return [(leaf, list(actions)) for leaf, actions in ways]

    def around(self, point: Walk, count: int, rng: np.random.Generator) -> Points:
        """Paths with one different decision, at states chosen at random."""
        space, (leaf, taken) = self._space, point
        states = passed(space.problem, taken)
        places = [place for place, state in enumerate(states) if len(space.problem.actions(state)) > 1]
        found: dict[Hashable, Walk] = {space.key(leaf): point}
        for place in rng.choice(places, size=count).tolist() if places else ():
            changed = self._redecided(taken, states[place], place, rng)
            if space.allows(changed[0]):
                found.setdefault(space.key(changed[0]), changed)
        return list(found.values())[1:]

    def _redecided(self, path: Sequence[Action], state: State, place: int, rng: np.random.Generator) -> Walk:
        """The path with another decision at one place, where it reaches ``state``."""
        problem, taken = self._space.problem, list(path[:place])
        actions = problem.actions(state)
        other = actions[int(rng.random() * (len(actions) - 1))]  # of all but the last
        taken.append(actions[-1] if other == path[place] else other)
        state, later = problem.step(state, taken[-1]), list(path[place + 1 :])
        while len(offered := problem.actions(state)) > 0:
            kept = next((action for action in later if action in offered), None)
            if kept is None:
                kept = offered[int(rng.random() * len(offered))]
            else:
                later.remove(kept)
            taken.append(kept)
            state = problem.step(state, kept)
        return state, taken

    def leaf(self, point: Walk) -> State:
        """The leaf."""
        return point[0]

    def way(self, point: Walk) -> Walk:
        """The leaf and its decisions, which have already been taken."""
        return point


Moves = CodeMoves | PathMoves
"""The neighbourhood of leaves."""
