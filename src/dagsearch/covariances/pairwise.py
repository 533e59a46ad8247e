"""Covariances given as functions of two states."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.covariances.base import Covariance
from dagsearch.covariances.parameters import checked_positive, checked_variance
from dagsearch.covariances.rows import Rows
from dagsearch.problem import State


class Pairwise(Covariance):
    """A covariance given as a plain function of two states.

    Parameters
    ----------
    function : callable
        ``function(x, y)``, symmetric and positive semi-definite.
    private : float
        Variance of an independent offset of every state.

    Examples
    --------
    >>> Pairwise(lambda x, y: float(min(x, y)))([1, 2])
    array([[1., 1.],
           [1., 2.]])
    """

    def __init__(self, function: Callable[[State, State], float], private: float = 0.0) -> None:
        self._function = function
        self.private = checked_variance("private", private)

    def represent(self, states: Sequence[State]) -> Rows:
        rows = np.empty((len(states), 1), dtype=object)
        for i, state in enumerate(states):  # a slice assignment would unpack tuples
            rows[i, 0] = state
        return rows

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        values = [[self._function(x, y) for y in b[:, 0]] for x in a[:, 0]]
        return np.array(values, dtype=np.float64).reshape(len(a), len(b))

    def __repr__(self) -> str:
        return f"Pairwise({self._function!r}, private={self.private!r})"


class SharedPath(Covariance):
    """Random walk down a tree, for :func:`dagsearch.as_tree`: states are alike by the path that they share.

    Parameters
    ----------
    step : float
        Variance of the change from a state to its child.
    root : float
        Variance of the root.

    Examples
    --------
    >>> from dagsearch.baselines import TreeState
    >>> SharedPath(step=1.0)([TreeState(("a", "b"), None)], [TreeState(("a", "c"), None)])
    array([[1.]])
    """

    def __init__(self, step: float, root: float = 0.0) -> None:
        self.step, self.root = checked_positive("step", step), checked_variance("root", root)

    def represent(self, states: Sequence[State]) -> Rows:
        rows = np.empty((len(states), 1), dtype=object)
        for i, state in enumerate(states):
            rows[i, 0] = state.path
        return rows

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        shared = [[self._shared(x, y) for y in b[:, 0]] for x in a[:, 0]]
        return self.root + self.step * np.array(shared, dtype=np.float64).reshape(len(a), len(b))

    @staticmethod
    def _shared(x: Sequence[Any], y: Sequence[Any]) -> int:
        """Number of actions before the paths part."""
        for steps, (one, other) in enumerate(zip(x, y, strict=False)):
            if one != other:
                return steps
        return min(len(x), len(y))

    def __repr__(self) -> str:
        return f"SharedPath(step={self.step!r}, root={self.root!r})"
