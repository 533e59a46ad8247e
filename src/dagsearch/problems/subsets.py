"""Choose k of n."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.typing import FloatArray
from dagsearch.problem import Inclusion
from dagsearch.problems.ground import Choice, Subset, SubsetProblem


class Subsets(SubsetProblem):
    """Find the best subset: ``k`` of ``n`` features, sensors, pixels, …

    A state is the frozenset of the features chosen so far; a leaf has ``k`` choices. The order of choices
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
        Features that belong to no subset.
    groups : iterable of iterables of int
        Features that enter together. Groups must not overlap; a group with a fixed member is fixed, one
        with a forbidden member forbidden.
    positions : array, shape ``(n, dimensions)``, optional
        Where each feature is, if features have positions: a pixel's row and column, a sensor's coordinates.
        :func:`dagsearch.search` then takes near features to be alike.

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
        super().__init__(n, reward, fixed, forbidden, groups, positions)
        self.k = self._checked_size("k", k)
        self.depth = self.k - self._held

    @property
    def sizes(self) -> range:
        """The number of choices that are to be made, as the only one."""
        return range(self.depth, self.depth + 1)

    def root(self) -> Subset:
        """What is fixed."""
        return self._root

    def actions(self, state: Subset) -> Sequence[Choice]:
        """The choices that are left: features as numbers, groups as tuples."""
        return self._missing(state) if self._left(state) > 0 else []

    def step(self, state: Subset, action: Choice) -> Subset:
        """The subset with a choice added."""
        return state | self._free[action]

    def _left(self, state: Subset) -> int:
        """Number of choices that are still to be made."""
        return self.depth - self._made(state)

    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        """Actions that lead to a leaf."""
        self.validate(leaf)
        return self._choices_in(leaf, range(self.k, self.k + 1))

    def parents(self, state: Subset) -> list[tuple[Subset, Choice]]:
        """The subsets with one choice less, and that choice."""
        return self._before(state)

    def leaves(self, state: Subset) -> Iterator[tuple[Subset, list[Choice]]]:
        """All complete subsets that contain ``state``, and the choices that each adds."""
        return self._completions(state, self._left(state))

    def validate(self, state: Subset) -> None:
        """Raise :class:`ProblemError` unless ``state`` is a frozenset that choices can lead to."""
        self._check_set(state)

    def branching(self, level: int) -> int:
        """Number of choices that are left after ``level`` choices."""
        return len(self._free) - level

    def items(self, state: Subset) -> list[int]:
        """The chosen features, ascending, so that rounding does not depend on the order of choices."""
        return sorted(state)

    def added_items(self, state: Subset, actions: Sequence[Choice]) -> list[Subset]:
        """The features that each choice adds."""
        return [self._free[action] for action in actions]

    def inclusion(self, states: Sequence[Subset]) -> FloatArray:
        """Probability that random play from each state includes each feature, shape ``(states, n)``."""
        return np.array([self._included(state, self._left(state)) for state in states]).reshape(-1, self.n)

    def inclusion_of_children(self, states: Sequence[Subset]) -> Inclusion:
        """:meth:`inclusion` of all children of some states, without making the children or a row for each.

        Parameters
        ----------
        states : sequence of frozenset
            States with choices left.

        Returns
        -------
        dagsearch.problem.Inclusion
            Children are in the order of ``states``, those of one state in the order of its :meth:`actions`.
            The row of child ``i`` is ``common[family[i]]``, plus ``added[family[i]]`` at the features that it
            adds, ``item[child == i]``.
        """
        return self._included_with_one_more(states, [self._left(state) - 1 for state in states])

    def encode(self, state: Subset) -> list[int]:
        """The chosen features as a list, for a journal."""
        return self._encoded(state)

    def decode(self, encoded: Sequence[int]) -> Subset:
        """The state that :meth:`encode` was given."""
        return frozenset(encoded)
