"""Find the best order of items."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from dagsearch._internal.checks import is_whole
from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Layout
from dagsearch.problems.options import checked_options, digest, identified, numbered
from dagsearch.space.codes import draw_moves, rearranged, stretches

Order = tuple[Any, ...]
"""Items, which are hashable; a reward may ask for their own type."""


class Orders:
    """Find the best order of items, or the best ordered selection of ``length`` of them.

    A state is the tuple of the items placed so far, from first to last; an action is the item to place next.

    Parameters
    ----------
    items : sequence
        Different hashable values.
    reward : callable
        ``reward(order)`` of a complete order, a tuple of items.
    length : int, optional
        Number of items to place; by default all.

    Examples
    --------
    >>> problem = Orders("abc", reward=lambda order: order.index("b"))
    >>> problem.actions(("c",))
    ('a', 'b')
    >>> problem.step(("c",), "b")
    ('c', 'b')
    """

    def __init__(
        self, items: Iterable[Hashable], reward: Callable[[Order], float], length: int | None = None
    ) -> None:
        self._items = checked_options("items", list(items) if isinstance(items, str) else items)
        count = len(self._items)
        self.depth = count if length is None else length
        """Number of items in a complete order."""
        if not is_whole(self.depth) or not 1 <= self.depth <= count:
            raise ValueError(
                f"length must be a whole number between 1 and {count} (the number of items), got {length!r}"
            )
        self._reward = reward
        self._number = {item: number for number, item in enumerate(self._items)}
        self.layout = Layout("order", np.full(self.depth, count, dtype=np.int64))
        """One place per position; the category is the item's number."""

    def root(self) -> Order:
        """Nothing is placed."""
        return ()

    def actions(self, state: Order) -> tuple[Hashable, ...]:
        """The items that are not placed yet."""
        if len(state) >= self.depth:
            return ()
        placed = set(state)
        return tuple(item for item in self._items if item not in placed)

    def step(self, state: Order, action: Hashable) -> Order:
        """The order with an item added at its end."""
        return (*state, action)

    def reward(self, leaf: Order) -> float:
        """The user's function."""
        return self._reward(leaf)

    def branching(self, level: int) -> int:
        """Number of items that are left after ``level`` items."""
        return len(self._items) - level

    def items(self, state: Order) -> list[tuple[int, Hashable]]:
        """The items with their positions."""
        return list(enumerate(state))

    def parents(self, state: Order) -> list[tuple[Order, Hashable]]:
        """The order without its last item, and that item."""
        return [(state[:-1], state[-1])] if state else []

    def random_leaf(self, state: Order, rng: np.random.Generator) -> tuple[Order, list[Hashable]]:
        """A random completion of an order, and the items it adds."""
        left, more = self.actions(state), self.depth - len(state)
        added = [left[place] for place in rng.permutation(len(left))[:more].tolist()]
        return (*state, *added), added

    def validate(self, state: Order) -> None:
        """Raise :class:`ProblemError` unless ``state`` is a tuple of different items."""
        known = isinstance(state, tuple) and len(state) <= self.depth
        if not known or len({self._number.get(item, -1) for item in state} - {-1}) < len(state):
            raise ProblemError(
                f"{state!r} is not an order of this problem: it must be a tuple of at most {self.depth} "
                f"different items of {list(self._items)!r}"
            )

    # Arrays ------------------------------------------------------------------------------------------

    def codes(self, states: Sequence[Order]) -> IntArray:
        """Number of the item at each position, −1 where none is placed yet; shape ``(states, length)``."""
        return numbered(states, self._number, self.depth)

    def leaf_of(self, codes: IntArray) -> Order:
        """The order with the items of these numbers."""
        return tuple(self._items[number] for number in codes.tolist())

    def path_to(self, leaf: Order) -> list[Hashable]:
        """The items from first to last."""
        return list(leaf)

    def neighbours(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of orders one change away, each once: all, or ``count`` of them at random.

        Two items exchanged, one item moved to another position, one stretch reversed or, where not all items
        are placed, one item replaced by one that is not.
        """
        moves, unused = stretches(self.depth), np.setdiff1d(np.arange(len(self._items)), codes)
        group, number = draw_moves(np.append(moves, np.full(self.depth, unused.size)), count, rng)
        moved, place = group < moves.size, group[group >= moves.size] - moves.size
        replaced = np.tile(codes, (place.size, 1))
        replaced[np.arange(place.size), place] = unused[number[~moved]]
        return np.concatenate([rearranged(codes, group[moved], number[moved]), replaced])

    # For a journal -------------------------------------------------------------------------------------

    @property
    def labels(self) -> tuple[Hashable, ...]:
        """The items, in the order of their numbers."""
        return tuple(self._items)

    def encode(self, state: Order) -> list[int]:
        """The numbers of the items."""
        return [self._number[item] for item in state]

    def decode(self, encoded: Sequence[int]) -> Order:
        """The state that :meth:`encode` was given."""
        return tuple(self._items[number] for number in encoded)

    def identity(self) -> str:
        """A digest of the items and the length, and what the reward says of itself."""
        return identified(digest(self._items, self.depth), self._reward)
