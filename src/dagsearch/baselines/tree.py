"""Search the tree instead of the DAG, and the covariance of a random walk down a tree."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dagsearch._internal.parts import Configured
from dagsearch._internal.typing import FloatArray
from dagsearch.covariances import Covariance
from dagsearch.covariances.discrete import items_of
from dagsearch.covariances.parameters import checked_positive, checked_variance
from dagsearch.covariances.rows import Rows
from dagsearch.errors import ProblemError
from dagsearch.problem import Action, Problem, State
from dagsearch.space import Space
from dagsearch.space.walks import numbered, walked

_NOT_OF_TREES = {"coding", "covariance", "leaf", "path_to"}
"""Optional members that describe states without their path."""


@dataclass(slots=True, unsafe_hash=True)  # not frozen: creating a frozen one takes three times as long
class TreeState:
    """A state together with the path to it; equal only if the paths are."""

    path: tuple[Action, ...]
    """The actions from the root."""
    state: State = field(compare=False)
    """The problem's own state that they lead to."""


def as_tree(problem: Problem) -> Problem:
    """The same problem with states that carry their path, so that no two paths meet.

    States are then :class:`TreeState`. The problem's optional members that describe single states (players,
    items, …) remain. A covariance must be passed to the search; it is called with tree states.

    Examples
    --------
    >>> from dagsearch.problems import TicTacToe
    >>> tree = as_tree(TicTacToe())
    >>> tree.step(tree.root(), 4)
    TreeState(path=(4,), state='....X....')
    """
    return _Tree(problem)


class _Tree:
    """A problem whose states carry their path."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self._space = problem, Space(problem)

    def root(self) -> TreeState:
        return TreeState((), self.problem.root())

    def actions(self, state: TreeState) -> Sequence[Action]:
        return self.problem.actions(state.state)

    def step(self, state: TreeState, action: Action) -> TreeState:
        return TreeState((*state.path, action), self.problem.step(state.state, action))

    def reward(self, leaf: TreeState) -> float:
        return self.problem.reward(leaf.state)

    def key(self, state: TreeState) -> Hashable:
        if not isinstance(state, TreeState):
            raise ProblemError(
                f"states of a tree carry their path: pass TreeState(path, {state!r}) instead of {state!r}"
            )
        return state.path

    def random_leaf(self, state: TreeState, rng: np.random.Generator) -> tuple[TreeState, list[Action]]:
        leaf, actions = self._space.walk(state.state, rng)
        return TreeState((*state.path, *actions), leaf), actions

    def encode(self, state: TreeState) -> list[int]:
        return numbered(self, state.path)

    def decode(self, encoded: Sequence[int]) -> TreeState:
        state: TreeState = walked(self, encoded)[0]
        return state

    def __getattr__(self, name: str) -> Any:
        """The problem's optional members."""
        if name in ("problem", "_space"):  # not set yet while unpickling
            raise AttributeError(name)
        if name == "items" and self._space.items is None:
            return lambda state: items_of(state.state)
        if name in _NOT_OF_TREES:
            raise AttributeError(f"a tree has no {name}: it does not describe states that carry their path")
        member = getattr(self.problem, name)
        if member is None:
            return None
        if name in ("player", "items", "added_items", "allowed"):
            return lambda state, *rest: member(state.state, *rest)
        return member


class SharedPath(Configured, Covariance):
    """Random walk down a tree: states of :func:`as_tree` are similar if they share a long path.

    A child's score is its parent's plus an independent step (Hennig, Stern and Graepel 2010).

    Parameters
    ----------
    step : float
        Variance of the change from a state to its child.
    root : float
        Variance of the root.

    Examples
    --------
    >>> SharedPath(step=1.0, root=0.5)([TreeState(("a", "b"), None)], [TreeState(("a", "c"), None)])
    array([[1.5]])
    """

    def __init__(self, step: float, root: float = 0.0) -> None:
        self.step, self.root = checked_positive("step", step), checked_variance("root", root)
        self._numbers: dict[Action, int] = {}

    def represent(self, states: Sequence[TreeState]) -> Rows:
        """The actions as numbers from 1 on, in the order of the path; 0 after its end."""
        rows = np.zeros((len(states), max((len(state.path) for state in states), default=0)), dtype=np.int64)
        for row, state in zip(rows, states, strict=True):
            for place, action in enumerate(state.path):
                row[place] = self._numbers.setdefault(action, len(self._numbers) + 1)
        return rows

    def cross(self, rows: Rows, others: Rows) -> FloatArray:
        shared, together = np.zeros((len(rows), len(others))), np.ones((len(rows), len(others)), dtype=bool)
        for own, other in zip(rows.T, others.T, strict=False):
            together &= (own[:, None] == other) & (other != 0)
            shared += together
        return self.root + self.step * shared

    def variances(self, rows: Rows) -> FloatArray:
        return np.asarray(self.root + self.step * np.count_nonzero(rows, axis=1))
