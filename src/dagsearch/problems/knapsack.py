"""Choose any number of n that fit into a capacity."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.problems.ground import Partial, Subset, SubsetProblem
from dagsearch.problems.options import END


class Knapsack(SubsetProblem):
    """Find the best subset whose weight is within a limit.

    What fits is added until nothing else does, or until the decision ``END``. A leaf is the frozenset of what
    is chosen, as in :class:`dagsearch.problems.Subsets`; an inner state is a
    :class:`dagsearch.problems.ground.Partial`.

    Parameters
    ----------
    n : int
        Features are numbered ``0`` to ``n - 1``.
    least, most : int
        Smallest and largest number of choices, fixed ones included. A group is one choice. With ``least=0``
        the empty set is a leaf, too.
    reward : callable
        ``reward(subset)`` of a complete subset.
    capacity : (weights, limit)
        Weight of each feature, not negative, and the largest total weight. Heavier subsets do not exist:
        choices are offered only where they fit and leave room for ``least``.
    fixed, forbidden, groups, positions
        As for :class:`dagsearch.problems.Subsets`.

    Examples
    --------
    >>> problem = Knapsack(3, 0, 3, reward=sum, capacity=([4, 5, 7], 9))
    >>> problem.actions(problem.step(problem.root(), 0))
    [1, END]
    >>> problem.step(problem.root(), 2)
    frozenset({2})
    """

    def __init__(
        self,
        n: int,
        least: int,
        most: int,
        reward: Callable[[Subset], float],
        capacity: tuple[ArrayLike, float],
        fixed: Iterable[int] = (),
        forbidden: Iterable[int] = (),
        groups: Iterable[Iterable[int]] = (),
        positions: ArrayLike | None = None,
    ) -> None:
        super().__init__(n, least, most, reward, fixed, forbidden, groups, positions)
        weights, limit = np.asarray(capacity[0], dtype=np.float64), capacity[1]
        if weights.shape != (n,) or not np.all(np.isfinite(weights)) or np.any(weights < 0.0):
            raise ValueError(f"capacity needs the weights of all {n} features, finite and not negative")
        if not is_finite(limit):
            raise ValueError(f"the limit of the capacity must be a finite number, got {limit!r}")
        # What fits exactly must not fail by rounding.
        self._limit = float(limit) + 1e-9 * max(abs(float(limit)), float(weights.sum()))
        self._feature_weights = weights
        self._weights: FloatArray = np.array([weights[list(members)].sum() for members in self._members])
        if self._room(self._root) < 0.0:
            raise ProblemError(
                f"what is fixed weighs {weights[list(self._root)].sum():g}, more than the limit {limit!r}"
            )
        fitting = int(np.count_nonzero(np.cumsum(np.sort(self._weights)) <= self._room(self._root)))
        self.k = min(self.k, self._held + fitting)
        needed = max(self._least, self._held + 1)
        if self.k < needed:
            raise ProblemError(
                f"at most {self.k} choices fit into the capacity, but at least {needed} are to be made: "
                "raise the limit or lower least"
            )
        self.depth = self.k - self._held
        self._choice = list(self._free)

    def root(self) -> Any:
        """The state with only the fixed features."""
        return Partial(None, self._root)

    def actions(self, state: Partial | Subset) -> Sequence[Any]:
        """What fits, and ``END`` where the subset is large enough."""
        if not isinstance(state, Partial):
            return []
        fitting = [self._choice[number] for number in self._fitting(state.chosen).tolist()]
        return [*fitting, END] if self._made(state.chosen) + self._held >= self._least else fitting

    def step(self, state: Partial, action: Any) -> Partial | Subset:
        """The state with a choice added, or ended; it ends by itself where nothing else fits."""
        if action is END:
            return state.chosen
        chosen = state.chosen | self._free[action]
        return Partial(None, chosen) if self._fitting(chosen).size else chosen

    def _room(self, chosen: Subset) -> float:
        """Weight that can be added to a set."""
        return self._limit - float(self._feature_weights[sorted(chosen)].sum())

    def _fitting(self, chosen: Subset) -> IntArray:
        """Numbers of the choices that can be added, so that enough of them fit together."""
        size = self._made(chosen) + self._held
        missing = np.flatnonzero(self.codes([chosen])[0] == 0)
        if size >= self.k:
            return missing[:0]
        weights, room, needed = self._weights[missing], self._room(chosen), self._least - size
        if needed <= 1:
            return missing[weights <= room]
        lightest = np.sort(weights)[:needed]
        if lightest.size < needed:
            return missing[:0]
        # With one of the lightest, the others are needed besides; with a heavier one, all but the last.
        others = lightest.sum() - np.minimum(weights, lightest[-1])
        return np.asarray(missing[weights + others <= room])

    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        """Actions that lead to a leaf."""
        path = self._choices_in(leaf)
        return (*path, END) if self._fitting(leaf).size else path

    def parents(self, state: Partial | Subset) -> list[tuple[Partial, Any]]:
        """The states one decision before, and that decision."""
        chosen = self._chosen(state)
        if not isinstance(state, Partial) and self._fitting(chosen).size:
            return [(Partial(None, chosen), END)]
        return [(Partial(None, before), choice) for before, choice in self._before(chosen)]

    def validate(self, state: Partial | Subset) -> None:
        """Raise :class:`ProblemError` unless decisions can lead to ``state``."""
        super().validate(state)
        if self._room(self._chosen(state)) < 0.0:
            raise ProblemError(
                f"{self.items(state)} is not a subset of this problem: it exceeds the capacity"
            )

    def inclusion(self, states: Sequence[Partial | Subset]) -> FloatArray:
        """Estimated probability that random play includes each feature, shape ``(states, n)``."""
        rows = np.zeros((len(states), self.n))
        for row, state in zip(rows, states, strict=True):
            chosen = self._chosen(state)
            if isinstance(state, Partial):
                fitting = self._fitting(chosen)
                share = self._share(chosen, fitting)
                row[[feature for number in fitting.tolist() for feature in self._members[number]]] = share
            row[list(chosen)] = 1.0
        return rows

    def _share(self, chosen: Subset, fitting: IntArray) -> float:
        """Estimated probability that random play adds a choice that fits."""
        by_weight = self._room(chosen) / max(float(self._weights[fitting].sum()), 1e-300)
        by_number = (self.depth - self._made(chosen)) / max(fitting.size, 1)
        return min(1.0, by_weight, by_number)

    def codes(self, states: Sequence[Partial | Subset]) -> IntArray:
        """1 for choices that are made, 0 for those that cannot be or are not, −1 where it is open."""
        rows = super().codes(states)
        for row, state in zip(rows, states, strict=True):
            if isinstance(state, Partial):
                row[row < 0] = 0
                row[self._fitting(state.chosen)] = -1
        return rows

    def _addable(self, codes: IntArray, drop: IntArray) -> tuple[IntArray, IntArray]:
        outside = np.flatnonzero(codes != 1)
        outside = outside[np.argsort(self._weights[outside], kind="stable")]
        room = self._room(self.leaf_of(codes)) + np.append(self._weights, 0.0)[drop]
        return outside, np.searchsorted(self._weights[outside], room, side="right")
