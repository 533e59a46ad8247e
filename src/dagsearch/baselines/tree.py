"""Search the tree instead of the DAG."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.covariances import Covariance, FeatureMap
from dagsearch.covariances.discrete import items_of
from dagsearch.covariances.rows import Rows, SparseRows
from dagsearch.errors import ProblemError
from dagsearch.problem import Action, Children, Problem, State
from dagsearch.space import Space
from dagsearch.space.walks import numbered, walked

_NOT_OF_TREES = {"parents", "inclusion", "positions"}
_NOT_OF_TREES |= {"layout", "codes", "leaf_of", "path_to", "neighbours", "leaves"}
"""Optional members that describe states without their path."""


@dataclass(slots=True, eq=False)  # not frozen: a frozen one takes three times as long to make
class TreeState:
    """A state together with the path to it; equal only if the paths are."""

    path: tuple[Action, ...]
    """The actions from the root."""
    state: State
    """The problem's own state that they lead to."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TreeState) and self.path == other.path

    def __hash__(self) -> int:
        return hash(self.path)


def without_path(state: State) -> State:
    """The problem's own state, whether or not it carries its path."""
    return state.state if isinstance(state, TreeState) else state


def as_tree(problem: Problem) -> Problem:
    """The same problem with states that carry their path, so that no two paths meet.

    States are then :class:`TreeState`. The problem's optional members (players, items, a covariance, its
    depth, …) stay; a covariance that you pass to a search as ``covariance=`` is called with tree states.

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
        """The problem's optional members, where it has them."""
        if name in ("problem", "_space"):  # not set yet while unpickling
            raise AttributeError(name)
        if name == "items" and self._space.items is None:
            return lambda state: items_of(state.state)
        if name in _NOT_OF_TREES:
            raise AttributeError(f"a tree has no {name}: it does not describe states that carry their path")
        member = getattr(self.problem, name)
        if member is None:
            return None
        if name in ("player", "items", "added_items", "validate"):
            return lambda state, *rest: member(state.state, *rest)
        if name == "covariance":
            if isinstance(member, FeatureMap):
                return _FeaturesBelowPath(member, self.problem)
            return _BelowPath(member)
        return member


class _BelowPath(Covariance):
    """A covariance of the problem's states, for states that carry their path."""

    def __init__(self, base: Covariance) -> None:
        self._base = base
        self.private = base.private

    def represent(self, states: Sequence[TreeState]) -> Rows:
        return self._base.represent([state.state for state in states])

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        return self._base.cross(a, b)

    def variances(self, a: Rows) -> FloatArray:
        return self._base.variances(a)


class _FeaturesBelowPath(FeatureMap):
    """A feature map of the problem's states, for states that carry their path."""

    def __init__(self, base: FeatureMap, problem: Problem) -> None:
        self._base = base
        self._problem = problem
        self.private = base.private

    @property
    def dimension(self) -> int:
        return self._base.dimension

    def features(self, states: Sequence[TreeState]) -> SparseRows:
        return self._base.features([state.state for state in states])

    def added_features(self, children: Children) -> SparseRows | None:
        inner = Children(self._problem, children.parent.state, children.actions)
        return self._base.added_features(inner)
