"""Find the best order of items, which may repeat and may have precedence constraints."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from graphlib import CycleError, TopologicalSorter
from itertools import filterfalse
from typing import Any

import numpy as np

from dagsearch._internal.checks import is_whole
from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Coding, Layout
from dagsearch.problems.options import as_tuple, checked_options, identified
from dagsearch.problems.sequences import Letters, TupleProblem
from dagsearch.space.moves import Stretches, others
from dagsearch.space.walks import step_by_step


class Orders(TupleProblem):
    """Find the best order of items, or the best ordered selection of ``length`` of them.

    A state is the tuple of the items placed so far, from first to last; an action is the item to place next.

    Parameters
    ----------
    items : sequence
        Hashable values. A repeated value is placed repeatedly: in a job shop, the k-th ``"a"`` of an order
        is the k-th operation of job a. Copies are interchangeable.
    reward : callable, optional
        ``reward(order)`` of a complete order, a tuple of items. Without it, use ``ask`` and ``tell``.
    length : int, optional
        Number of items to place; by default all.
    before : iterable of pairs
        Pairs ``(a, b)``: ``b`` is placed only after ``a``, or after every copy of ``a``.

    Examples
    --------
    >>> problem = Orders("abc", reward=lambda order: order.index("b"))
    >>> problem.actions(("c",))
    ('a', 'b')
    >>> problem.step(("c",), "b")
    ('c', 'b')
    >>> Orders(["paint", "dry", "dry"], before=[("paint", "dry")]).actions(())
    ('paint',)
    """

    def __init__(
        self,
        items: Iterable[Hashable],
        reward: Callable[[Letters], float] | None = None,
        length: int | None = None,
        before: Iterable[tuple[Hashable, Hashable]] = (),
    ) -> None:
        given = as_tuple("items", list(items) if isinstance(items, str) else items)
        try:
            copies = Counter(given)
        except TypeError:  # the check of different items names the one that is not hashable
            copies = Counter(checked_options("items", given))
        super().__init__("items", "a complete order", copies, reward)
        count = len(given)
        self.depth = count if length is None else length
        """Number of items in a complete order."""
        if not is_whole(self.depth) or not 1 <= self.depth <= count:
            raise ValueError(
                f"length must be a whole number between 1 and {count} (the number of items), got {length!r}"
            )
        self._copies = list(copies.values())
        self._repeats = count > len(self.labels)
        self._first_copy = np.cumsum(self._copies) - self._copies
        self._label_of = np.repeat(np.arange(len(self.labels)), self._copies)
        self._earlier = self._precedence(before)
        self._constrained = self._repeats or any(self._earlier)
        self.layout = Layout("order", np.full(self.depth, count, dtype=np.int64))
        """One place per position; the category is the item's number, different for each copy."""
        self._stretches = Stretches(self.layout)

    def _precedence(self, before: Iterable[tuple[Hashable, Hashable]]) -> list[set[int]]:
        """Numbers of the items that must precede each one, directly or indirectly."""
        direct: list[set[int]] = [set() for _ in self.labels]
        for pair in before:
            if not isinstance(pair, Sequence) or len(pair) != 2 or not set(pair) <= self._number.keys():
                example = tuple(self.labels[:2])
                raise ProblemError(f"before must hold pairs of items, such as {example}, got {pair!r}")
            direct[self._number[pair[1]]].add(self._number[pair[0]])
        try:
            order = list(TopologicalSorter(dict(enumerate(direct))).static_order())
        except CycleError as error:
            cycle = " before ".join(repr(self.labels[number]) for number in error.args[1])
            raise ProblemError(f"before has a cycle, so no order is possible: {cycle}") from None
        for number in order:
            direct[number] = direct[number].union(*(direct[other] for other in direct[number]))
        return direct

    def root(self) -> Letters:
        """The empty order."""
        return ()

    def actions(self, state: Letters) -> tuple[Hashable, ...]:
        """The unplaced items that need not wait for others."""
        if len(state) >= self.depth:
            return ()
        if not self._constrained:
            return tuple(filterfalse(set(state).__contains__, self.labels))
        missing = self._missing_after(state)
        ready = [number for number in missing if missing.isdisjoint(self._earlier[number])]
        return tuple([self.labels[number] for number in sorted(ready)])

    def _missing_after(self, state: Letters) -> set[int]:
        """Numbers of the items with unplaced copies."""
        left = self._copies.copy()
        for item in state:
            left[self._number[item]] -= 1
        return {number for number, more in enumerate(left) if more > 0}

    def step(self, state: Letters, action: Hashable) -> Letters:
        """The order with an item appended."""
        return (*state, action)

    def items(self, state: Letters) -> list[tuple[int, Hashable]]:
        """The items with their positions."""
        return list(enumerate(state))

    def random_leaf(self, state: Letters, rng: np.random.Generator) -> tuple[Letters, list[Hashable]]:
        """A random completion of an order, and the items it adds."""
        if self._constrained:
            return step_by_step(self, state, rng)
        left = self.actions(state)
        added = [left[place] for place in rng.permutation(len(left))[: self.depth - len(state)].tolist()]
        return (*state, *added), added

    def leaf(self, given: Any) -> Letters:
        """The complete order that a list or tuple of items stands for; raises if there is none."""
        wrong = f"{given!r} is not an order of this problem"
        order, copies = self._of_labels(given), dict(zip(self.labels, self._copies, strict=True))
        if order is None or len(order) != self.depth or Counter(order) - Counter(copies):
            what = "items" if self._repeats else "different items"
            several = [f", {item!r} {count} times" for item, count in copies.items() if count > 1]
            wanted = f"{self.depth} {what} of {list(self.labels)!r}{''.join(several)}"
            raise ProblemError(f"{wrong}: it must be a tuple of {wanted}")
        for place, item in enumerate(order if self._constrained else ()):
            late = self._missing_after(order[:place]) & self._earlier[self._number[item]]
            if late:
                raise ProblemError(f"{wrong}: {self.labels[min(late)]!r} must come before {item!r}")
        return order

    def codes(self, states: Sequence[Letters]) -> IntArray:
        """Number of the item at each position, −1 if none is placed yet; shape ``(states, length)``.

        Copies of an item are numbered from the front.
        """
        labels = self._codes(states, self.depth)
        return self._of_copies(labels) if self._repeats else labels

    def _of_copies(self, labels: IntArray) -> IntArray:
        """The numbers of copies for numbers of items, −1 if there is none."""
        is_earlier = np.tri(labels.shape[1], k=-1, dtype=np.bool_)
        placed = ((labels[:, :, None] == labels[:, None, :]) & is_earlier).sum(axis=2)
        return np.where(labels < 0, -1, self._first_copy[labels] + placed)

    def leaf_of(self, codes: IntArray) -> Letters:
        return super().leaf_of(self._label_of[codes])

    def path_to(self, leaf: Letters) -> list[Hashable]:
        """The items from first to last."""
        return list(leaf)

    @property
    def coding(self) -> Coding:
        """Orders as arrays of numbers of items."""
        own = self._with_copies if self._repeats else None
        certain = not any(self._earlier)
        return Coding(self.layout, self.codes, self.leaf_of, self.path_to, neighbours=own, certain=certain)

    def _with_copies(self, codes: IntArray, count: int, rng: np.random.Generator) -> IntArray:
        """Codes of different orders with one stretch changed; copies are numbered from the front again."""
        rows = self._stretches.around(codes, count, rng)
        return others(self._of_copies(self._label_of[rows]), codes)

    def identity(self) -> str:
        """A digest of the items, the length and the precedence, and the reward's ``identity``."""
        more = (self._copies, list(map(sorted, self._earlier))) if self._constrained else ()
        return identified((self.labels, self.depth, *more), self._reward)
