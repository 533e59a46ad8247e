"""Choose any number of n, within a range."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import is_whole
from dagsearch._internal.typing import FloatArray
from dagsearch.errors import ProblemError
from dagsearch.problem import Inclusion
from dagsearch.problems.ground import Subset, SubsetProblem


class Size(NamedTuple):
    """The first decision of :class:`SubsetRange`: the number of choices."""

    choices: int
    """Number of choices, fixed ones included."""


class Partial(NamedTuple):
    """An inner state of :class:`SubsetRange`."""

    choices: int | None
    """Number of choices, fixed ones included; ``None`` until it is decided."""
    chosen: Subset
    """The features chosen so far."""


class SubsetRange(SubsetProblem):
    """Find the best subset of any size in a range: ``least`` to ``most`` of ``n``.

    The first decision is the size, so that random play tries all sizes equally often. A leaf is the frozenset
    of what is chosen, as in :class:`dagsearch.problems.Subsets`; an inner state is a :class:`Partial`.

    Parameters
    ----------
    n : int
        Features are numbered ``0`` to ``n - 1``.
    least, most : int
        Smallest and largest number of choices, fixed ones included. A group is one choice.
    reward : callable
        ``reward(subset)`` of a complete subset.
    fixed, forbidden, groups, positions
        As for :class:`dagsearch.problems.Subsets`.

    Examples
    --------
    >>> problem = SubsetRange(5, 1, 3, reward=sum)
    >>> problem.actions(problem.root())
    [Size(choices=1), Size(choices=2), Size(choices=3)]
    >>> problem.step(problem.step(problem.root(), Size(1)), 4)
    frozenset({4})
    """

    def __init__(
        self,
        n: int,
        least: int,
        most: int,
        reward: Callable[[Subset], float],
        fixed: Iterable[int] = (),
        forbidden: Iterable[int] = (),
        groups: Iterable[Iterable[int]] = (),
        positions: ArrayLike | None = None,
    ) -> None:
        super().__init__(n, reward, fixed, forbidden, groups, positions)
        self.k = self._checked_size("most", most)
        smallest = max(self._held, 1)
        if not is_whole(least) or not smallest <= least <= self.k:
            raise ValueError(
                f"least must be a whole number between {smallest} (1, or the number of fixed choices) "
                f"and most={self.k}, got {least!r}"
            )
        self._sizes = [Size(choices) for choices in range(int(least), self.k + 1)]
        self.depth = self.k - self._held + 1

    def root(self) -> Partial:
        """The state with only the fixed features; the size is not decided."""
        return Partial(None, self._root)

    def actions(self, state: Partial | Subset) -> Sequence[Any]:
        """The sizes at the root, then what can still be chosen."""
        if not isinstance(state, Partial):
            return []
        return list(self._sizes) if state.choices is None else self._missing(state.chosen)

    def step(self, state: Partial, action: Any) -> Partial | Subset:
        """The state with the size decided, or with a choice added."""
        choices, chosen = state
        if isinstance(action, Size):
            choices = action.choices
        else:
            chosen = chosen | self._free[action]
        return chosen if self._made(chosen) + self._held == choices else Partial(choices, chosen)

    def path_to(self, leaf: Subset) -> tuple[Any, ...]:
        """Actions that lead to a leaf."""
        self.validate(leaf)
        path = self._choices_in(leaf, range(self._sizes[0].choices, self.k + 1))
        return Size(len(path) + self._held), *path

    def parents(self, state: Partial | Subset) -> list[tuple[Partial, Any]]:
        """The states one decision before, and that decision."""
        chosen = self._chosen(state)
        choices = state.choices if isinstance(state, Partial) else self._made(chosen) + self._held
        if choices is None:
            return []
        if self._made(chosen) == 0:
            return [(self.root(), Size(choices))]
        return [(Partial(choices, before), choice) for before, choice in self._before(chosen)]

    def validate(self, state: Partial | Subset) -> None:
        """Raise :class:`ProblemError` unless decisions can lead to ``state``."""
        self._check_set(self._chosen(state))
        if not isinstance(state, Partial) and self._made(state) + self._held < self._sizes[0].choices:
            raise ProblemError(f"{sorted(state)} is not a subset of this problem: it has too few choices")

    def branching(self, level: int) -> int:
        """Number of sizes at level 0, then of choices that are left."""
        return len(self._sizes) if level == 0 else len(self._free) - (level - 1)

    def items(self, state: Partial | Subset) -> list[int]:
        """The chosen features, ascending, so that rounding does not depend on the order of choices."""
        return sorted(self._chosen(state))

    def _chosen(self, state: Partial | Subset) -> Subset:
        return state.chosen if isinstance(state, Partial) else state

    def added_items(self, state: Partial, actions: Sequence[Any]) -> list[Subset]:
        """The features that each decision adds."""
        return [frozenset() if isinstance(action, Size) else self._free[action] for action in actions]

    def inclusion(self, states: Sequence[Partial | Subset]) -> FloatArray:
        """Probability that random play from each state includes each feature, shape ``(states, n)``."""
        rows = [self._included(self._chosen(state), self._expected(state)) for state in states]
        return np.array(rows).reshape(-1, self.n)

    def _expected(self, state: Partial | Subset) -> float:
        """Expected number of choices that are still to be made."""
        if not isinstance(state, Partial):
            return 0.0
        choices = np.mean(self._sizes) if state.choices is None else state.choices
        return float(choices) - self._held - self._made(state.chosen)

    def inclusion_of_children(self, states: Sequence[Partial]) -> Inclusion | None:
        """:meth:`inclusion` of all children, as in :meth:`dagsearch.problems.Subsets.inclusion_of_children`.

        ``None`` if the size of some state is not decided: its children do not differ by added features.
        """
        if any(state.choices is None for state in states):
            return None
        left = [int(self._expected(state)) - 1 for state in states]
        return self._included_with_one_more([state.chosen for state in states], left)

    def encode(self, state: Partial | Subset) -> Any:
        """The chosen features as a list, for a journal; with the number of choices at an inner state."""
        if not isinstance(state, Partial):
            return self._encoded(state)
        return {"choices": state.choices, "chosen": self._encoded(state.chosen)}

    def decode(self, encoded: Any) -> Partial | Subset:
        """The state that :meth:`encode` was given."""
        if not isinstance(encoded, dict):
            return frozenset(encoded)
        return Partial(encoded["choices"], frozenset(encoded["chosen"]))
