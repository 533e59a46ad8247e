"""A covariance of your own, given as a plain function of two states."""

from collections.abc import Callable, Sequence

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.covariances.base import Covariance
from dagsearch.covariances.parameters import checked_variance
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

    def cross(self, rows: Rows, others: Rows) -> FloatArray:
        values = [[self._function(x, y) for y in others[:, 0]] for x in rows[:, 0]]
        return np.array(values, dtype=np.float64).reshape(len(rows), len(others))

    def __repr__(self) -> str:
        return f"Pairwise({self._function!r}, private={self.private!r})"
