"""Choose k of n."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._checks import is_whole
from dagsearch._typing import FloatArray
from dagsearch.errors import ProblemError

Subset = frozenset[int]
Choice = int | tuple[int, ...]


class Subsets:
    """Find the best subset: ``k`` of ``n`` features, sensors, pixels, …

    A state is the frozenset of what is chosen so far, a leaf one with ``k`` choices. The order of choices
    does not matter, so equal sets are one node.

    Parameters
    ----------
    n : int
        Features are numbered ``0`` to ``n - 1``.
    k : int
        Number of choices, fixed ones included. A group is one choice.
    reward : callable
        ``reward(subset)`` of a complete subset.
    fixed : iterable of int
        Features that belong to every subset.
    forbidden : iterable of int
        Features that belong to none.
    groups : iterable of iterables of int
        Features that enter together. Groups must not overlap; a group with a fixed member is fixed, one
        with a forbidden member forbidden.
    positions : array, shape ``(n, dimensions)``, optional
        Where each feature is, if it has a place: a pixel's row and column, a sensor's coordinates. Near ones
        are then taken to be alike by :func:`dagsearch.search`.

    Examples
    --------
    >>> problem = Subsets(5, 2, reward=sum, forbidden=[4])
    >>> problem.actions(frozenset({3}))
    [0, 1, 2]
    >>> problem.step(frozenset({3}), 2)
    frozenset({2, 3})
    """

    def __init__(
        self,
        n: int,
        k: int,
        reward: Callable[[Subset], float],
        fixed: Iterable[int] = (),
        forbidden: Iterable[int] = (),
        groups: Iterable[Iterable[int]] = (),
        positions: ArrayLike | None = None,
    ) -> None:
        if not is_whole(n) or n < 1:
            raise ValueError(f"n must be a whole number of at least 1, got {n!r}")
        if not is_whole(k):
            raise ValueError(f"k must be a whole number, got {k!r}")
        self.n, self.k, self._reward = int(n), int(k), reward
        fixed, forbidden = self._known("fixed", fixed), self._known("forbidden", forbidden)
        choices = self._choices([self._known("groups", group) for group in groups])
        held = {choice for choice, members in choices.items() if members & fixed}
        banned = {choice for choice, members in choices.items() if members & forbidden}
        if held & banned:
            both = sorted(set().union(*(choices[choice] for choice in held & banned)))
            raise ValueError(f"features {both} are both fixed and forbidden, directly or by group")
        self._root: Subset = frozenset().union(*(choices[choice] for choice in held))
        self._free = {c: members for c, members in choices.items() if c not in held | banned}
        self.depth = self.k - len(held)
        if not 0 <= self.depth <= len(self._free) or self.k < 1:
            raise ValueError(
                f"k must be at least 1 and between {len(held)} (the fixed choices) and "
                f"{len(held) + len(self._free)} (all that are not forbidden), got {k!r}"
            )
        self.positions = None if positions is None else np.asarray(positions, dtype=np.float64)
        if self.positions is not None and (self.positions.ndim != 2 or len(self.positions) != self.n):
            raise ValueError(f"positions must have shape ({n}, dimensions), got {self.positions.shape}")
        self._choosable = sorted(frozenset().union(*self._free.values()))
        # Where every choice is one feature, sets say directly how many choices they hold.
        self._single = all(len(members) == 1 for members in self._free.values())

    def _known(self, name: str, features: Iterable[int]) -> Subset:
        known = frozenset(features)
        if not all(feature in range(self.n) for feature in known):
            raise ValueError(f"{name} must name features 0 to {self.n - 1}, got {sorted(known)}")
        return known

    def _choices(self, groups: Sequence[Subset]) -> dict[Choice, Subset]:
        """What can be chosen: single features as they are, groups as sorted tuples."""
        owner: dict[int, Subset] = {}
        for group in groups:
            if not group:
                raise ValueError("groups must not be empty")
            if taken := [feature for feature in sorted(group) if feature in owner]:
                raise ValueError(f"groups must not overlap, but share feature {taken[0]}")
            owner.update(dict.fromkeys(group, group))
        choices: dict[Choice, Subset] = {}
        for feature in range(self.n):
            members = owner.get(feature, frozenset({feature}))
            choices[feature if len(members) == 1 else tuple(sorted(members))] = members
        return choices

    def root(self) -> Subset:
        """What is fixed."""
        return self._root

    def actions(self, state: Subset) -> list[Choice]:
        """What can still be chosen: features as numbers, groups as tuples."""
        if self._single:
            if len(state) - len(self._root) >= self.depth:
                return []
            return [choice for choice in self._free if choice not in state]
        missing = [choice for choice, members in self._free.items() if not members <= state]
        return missing if len(self._free) - len(missing) < self.depth else []

    def step(self, state: Subset, action: Choice) -> Subset:
        """The subset with a choice added."""
        return state | self._free[action]

    def reward(self, leaf: Subset) -> float:
        """The user's function."""
        return self._reward(leaf)

    def parents(self, state: Subset) -> list[tuple[Subset, Choice]]:
        """The subsets with one choice less, and that choice."""
        return [(state - members, choice) for choice, members in self._free.items() if members <= state]

    def validate(self, state: Subset) -> None:
        """Raise unless ``state`` is a frozenset that choices can lead to."""
        allowed = self._root.union(*self._free.values())
        if not isinstance(state, frozenset) or not self._root <= state <= allowed:
            raise ProblemError(
                f"{state!r} is no subset of this problem: it must be a frozenset of features 0 to "
                f"{self.n - 1} with all that is fixed and nothing that is forbidden"
            )

    def branching(self, level: int) -> int:
        """Number of choices that are left after ``level`` of them."""
        return len(self._free) - level

    def items(self, state: Subset) -> Subset:
        """The chosen features."""
        return state

    def inclusion(self, states: Sequence[Subset]) -> FloatArray:
        """Probability of each feature to be in the subset that random choices end with, one row per state."""
        rows = np.zeros((len(states), self.n))
        for row, state in zip(rows, states, strict=True):
            left = self._left(state)
            options = len(self._free) - (self.depth - left)
            row[self._choosable] = left / options if left > 0 else 0.0
            row[list(state)] = 1.0
        return rows

    def inclusion_of_children(
        self, state: Subset, actions: Sequence[Choice]
    ) -> tuple[FloatArray, float, list[Subset]]:
        """What :meth:`inclusion` is for all children: a common row, and what is added at some features."""
        left = self._left(state) - 1
        share = left / (len(self._free) - (self.depth - left)) if left > 0 else 0.0
        common = np.zeros(self.n)
        common[self._choosable] = share
        common[list(state)] = 1.0
        return common, 1.0 - share, self.added_items(state, actions)

    def _left(self, state: Subset) -> int:
        """Number of choices that are still to be made."""
        if self._single:
            return self.depth - (len(state) - len(self._root))
        return self.depth - sum(members <= state for members in self._free.values())

    def added_items(self, state: Subset, actions: Sequence[Choice]) -> list[Subset]:
        """The features each choice adds."""
        return [self._free[action] for action in actions]
