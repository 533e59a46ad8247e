"""Find the best subset: k of n items, or any number of them within a range."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import check, is_budget, is_whole
from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Coding, Layout
from dagsearch.problems.options import ListedProblem, checked_options, identified
from dagsearch.space.chosen import Options

Subset = frozenset[Any]
"""The chosen items: numbers or names."""


class Size(NamedTuple):
    """The first decision if subsets have several sizes: how many items to choose."""

    size: int
    """Number of items."""


class Partial(NamedTuple):
    """An inner state if subsets have several sizes: only a complete subset is a plain set."""

    size: int | None
    """Number of items to choose; ``None`` if undecided."""
    chosen: Subset
    """The items chosen so far."""


class Subsets(ListedProblem):
    """Find the best subset of ``n`` features, sensors, pixels, …: ``k`` of them, or any number in a range.

    A leaf is the frozenset of the chosen items. With one size, an inner state is the frozenset of the items
    chosen so far. With several sizes, the first decision is the size, so that random play tries all sizes
    equally often, and an inner state is a :class:`dagsearch.problems.Partial`. The order of choices does not
    matter: equal sets are merged.

    Parameters
    ----------
    n : int or sequence
        Number of items, numbered ``0`` to ``n - 1``, or their names.
    k : int or (int, int)
        Number of items to choose, or the smallest and the largest number. With a smallest number of 0 the
        empty set is a leaf, too.
    reward : callable, optional
        ``reward(subset)`` of a complete subset, a frozenset. Without it, use ``ask`` and ``tell``.
    positions : array, shape ``(n, dimensions)``, optional
        Positions of the items, such as a pixel's row and column or a sensor's coordinates.
        :func:`dagsearch.search` then treats nearby items as similar.
    allowed : callable, optional
        ``allowed(subset)`` is false for complete subsets that must not be evaluated: subsets that weigh too
        much, or contain two items that exclude each other. Random subsets are drawn until one is allowed, so
        use it for conditions that many subsets meet; if hardly any does, write a class whose ``actions``
        offer only decisions that can be completed.

    Examples
    --------
    >>> problem = Subsets(5, 2, reward=sum)
    >>> problem.actions(frozenset({3}))
    [0, 1, 2, 4]
    >>> problem.step(frozenset({3}), 2)
    frozenset({2, 3})
    >>> weight = {"tent": 4, "stove": 2, "lamp": 1}
    >>> light = Subsets(weight, (0, 3), allowed=lambda chosen: sum(weight[item] for item in chosen) <= 5)
    >>> light.actions(light.root())
    [Size(size=0), Size(size=1), Size(size=2), Size(size=3)]
    """

    def __init__(
        self,
        n: int | Iterable[Hashable],
        k: int | tuple[int, int],
        reward: Callable[[Any], float] | None = None,
        positions: ArrayLike | None = None,
        allowed: Callable[[Any], object] | None = None,
    ) -> None:
        self.labels: Options | None = None
        """The names of the items; ``None`` if they are numbers."""
        if isinstance(n, Iterable):
            self.labels = checked_options("names", list(n) if isinstance(n, str) else n)
            n = len(self.labels)
        check(is_budget(n), "n", "a whole number of at least 1, or a list of names", n)
        self.n = int(n)
        """Number of items."""
        items = tuple(range(self.n)) if self.labels is None else self.labels
        super().__init__(items, "a complete subset", reward, allowed)
        least, most = k if isinstance(k, (tuple, list)) and len(k) == 2 else (k, k)
        sound = is_whole(most) and is_whole(least) and 0 <= least <= most and 1 <= most <= self.n
        several = "a pair of the smallest and the largest number"
        check(sound, "k", f"a whole number between 1 and {self.n} (the number of items), or {several}", k)
        self.sizes = range(int(least), int(most) + 1)
        """The numbers of items that a leaf can have."""
        self.k = self.sizes[-1]
        """The largest of them."""
        self._sized = len(self.sizes) > 1
        self.depth = self.k + self._sized
        """Number of decisions to the deepest leaf."""
        self.positions = None if positions is None else np.asarray(positions, dtype=np.float64)
        if self.positions is not None and (self.positions.ndim != 2 or len(self.positions) != self.n):
            raise ValueError(f"positions must have shape ({self.n}, dimensions), got {self.positions.shape}")
        two = np.full(self.n, 2, dtype=np.int64)
        self.layout = Layout("set", two, sizes=self.sizes, positions=self.positions)
        """One place per item: 1 if it is chosen, 0 if not."""

    def root(self) -> Partial | Subset:
        """The state without chosen items."""
        return Partial(None, frozenset()) if self._sized else frozenset()

    def actions(self, state: Partial | Subset) -> Sequence[Any]:
        """The sizes if there are several, then the remaining items."""
        if isinstance(state, Partial):
            if state.size is None:
                return [Size(size) for size in self.sizes]
            state = state.chosen
        elif self._sized or len(state) >= self.k:
            return []
        left = list(self._items)
        for number in sorted(map(self._number.__getitem__, state), reverse=True):
            del left[number]
        return left

    def step(self, state: Partial | Subset, action: Any) -> Partial | Subset:
        """The state with the size decided, or with one more item."""
        if not isinstance(state, Partial):
            return state | {action}
        is_size = isinstance(action, Size)
        size, chosen = (action.size, state.chosen) if is_size else (state.size, state.chosen | {action})
        return chosen if len(chosen) == size else Partial(size, chosen)

    def leaf(self, given: Any) -> Subset:
        """The complete subset that a list or set of items stands for; raises if there is none."""
        try:
            chosen = frozenset(given)
        except TypeError:
            chosen = None
        if chosen is None or isinstance(given, Partial) or not chosen <= self._number.keys():
            what = f"items 0 to {self.n - 1}" if self.labels is None else f"some of {list(self.labels)}"
            raise ProblemError(f"{given!r} is not a subset of this problem: it must be a set of {what}")
        if len(chosen) not in self.sizes:
            wanted = " to ".join(str(size) for size in sorted({self.sizes[0], self.k}))
            raise ProblemError(f"{given!r} is not a complete subset of this problem: it needs {wanted} items")
        # Numbers equal to an item, such as 1.0 to 1, stand for it.
        return frozenset(self.items(chosen))

    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        """The items in order, after the size if there are several."""
        path = self.items(self.leaf(leaf))
        return (Size(len(path)), *path) if self._sized else tuple(path)

    def items(self, state: Partial | Subset) -> list[Any]:
        """The chosen items by number: rounding must not depend on the order of choices."""
        return list(map(self._items.__getitem__, self._numbers(state)))

    def _numbers(self, state: Partial | Subset) -> list[int]:
        return sorted(map(self._number.__getitem__, _chosen(state)))

    @property
    def added_items(self) -> Callable[[Partial | Subset, Sequence[Any]], list[tuple[Any, ...]]] | None:
        """The items that each decision adds; ``None`` if one of the sizes is a leaf at once."""
        return None if self._sized and self.sizes[0] == 0 else _added_by

    @property
    def coding(self) -> Coding:
        """Subsets as arrays of ones and zeros."""
        return Coding(self.layout, self.codes, self.leaf_of, self.path_to, complete=True)

    def codes(self, states: Sequence[Partial | Subset]) -> IntArray:
        """1 for a chosen item, 0 for an excluded one, −1 for an open one; shape ``(states, n)``."""
        sets = list(map(_chosen, states)) if self._sized else states
        sizes = np.fromiter(map(len, sets), np.int64, len(sets))
        rows = np.zeros((len(sets), self.n), dtype=np.int64)
        rows[[isinstance(state, Partial) for state in states] if self._sized else sizes < self.k] = -1
        numbers = map(self._number.__getitem__, chain.from_iterable(sets))
        rows[np.repeat(np.arange(len(sets)), sizes), np.fromiter(numbers, np.int64, sizes.sum())] = 1
        return rows

    def leaf_of(self, codes: IntArray) -> Subset:
        """The subset with these codes."""
        return frozenset(map(self._items.__getitem__, np.flatnonzero(codes == 1).tolist()))

    def encode(self, state: Partial | Subset) -> Any:
        """The numbers of the items as a list; at an inner state with the size if there are several."""
        numbers = self._numbers(state)
        return {"choices": state.size, "chosen": numbers} if isinstance(state, Partial) else numbers

    def decode(self, encoded: Any) -> Partial | Subset:
        """The inverse of :meth:`encode`."""
        is_inner = isinstance(encoded, dict)
        chosen = frozenset(self._items[number] for number in (encoded["chosen"] if is_inner else encoded))
        return Partial(encoded["choices"], chosen) if is_inner else chosen

    def identity(self) -> str:
        """The names, if there are any, and the ``identity`` of ``allowed`` and the reward."""
        return identified(() if self.labels is None else (self.labels,), self._reward, self.allowed)


def _chosen(state: Partial | Subset) -> Subset:
    return state.chosen if isinstance(state, Partial) else state


def _added_by(state: Partial | Subset, actions: Sequence[Any]) -> list[tuple[Any, ...]]:
    return [()] * len(actions) if isinstance(state, Partial) and state.size is None else list(zip(actions))
