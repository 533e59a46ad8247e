"""Covariances given as functions: of a state, which returns its features, or of two states."""

from collections.abc import Callable, Sequence

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.covariances.base import Covariance, FeatureMap
from dagsearch.covariances.items import GivenMatrix
from dagsearch.covariances.parameters import changed, checked_variance
from dagsearch.covariances.rows import Rows, SparseRows
from dagsearch.covariances.sets import VectorKernel
from dagsearch.errors import CovarianceError
from dagsearch.problem import Problem, State
from dagsearch.space import Space


class Features(VectorKernel):
    """States as vectors of features, each divided by its standard deviation over random leaves.

    Parameters
    ----------
    features : callable
        ``features(state)`` returns the same number of features for every state.
    linear, nonlinear, length, shape, bias, private
        As for :class:`dagsearch.covariances.SetKernel`.

    Examples
    --------
    >>> kernel = Features(lambda state: [len(state), sum(state)], linear=0.0, bias=0.0)
    >>> kernel([(1, 2)], [(2, 1), (9, 9)]).round(2)
    array([[0.5, 0. ]])
    """

    def __init__(
        self,
        features: Callable[[State], Sequence[float]],
        *,
        linear: float = 0.5,
        nonlinear: float = 0.5,
        length: float = 1.0,
        shape: str = "squared-exponential",
        bias: float = 1.0,
        private: float = 0.02,
    ) -> None:
        self._features = features
        super().__init__(None, linear, nonlinear, length, shape, bias, private)

    def bind(self, problem: Problem | Space) -> "Covariance":
        leaves = np.asarray(self.represent(Space.of(problem).random_leaves), dtype=np.float64)
        deviations = leaves.std(axis=0)
        between = GivenMatrix(np.diag(1.0 / np.where(deviations > 0.0, deviations, 1.0) ** 2))
        return changed(self, _parts=[between])._scaled_by(leaves, leaves.mean(axis=0))

    def represent(self, states: Sequence[State]) -> Rows:
        return _feature_rows(self._features, states)

    def __repr__(self) -> str:
        return f"Features({self._features!r}, {self.shape})"


class LinearFeatures(FeatureMap):
    """g as a linear function of features; the weights have unit prior variance.

    Parameters
    ----------
    features : callable
        ``features(state)`` returns the same number of features for every state.
    private : float
        Variance of an independent offset of every state.

    Examples
    --------
    >>> LinearFeatures(lambda state: [1.0, state])([2], [3])
    array([[7.]])
    """

    def __init__(self, features: Callable[[State], Sequence[float]], private: float = 0.0) -> None:
        self._features = features
        self.private = checked_variance("private", private)
        self._width = 0

    @property
    def dimension(self) -> int:
        return self._width

    def features(self, states: Sequence[State]) -> SparseRows:
        rows = _feature_rows(self._features, states)
        self._width = max(self._width, rows.shape[1])
        count, width = rows.shape
        columns = np.tile(np.arange(width), count)
        return SparseRows(np.arange(count + 1) * width, columns, rows.ravel())

    def __repr__(self) -> str:
        return f"LinearFeatures({self._features!r}, private={self.private!r})"


def _feature_rows(features: Callable[[State], Sequence[float]], states: Sequence[State]) -> FloatArray:
    found = [np.asarray(features(state), dtype=np.float64).ravel() for state in states]
    for state, row in zip(states, found, strict=True):
        if row.size != found[0].size or not np.all(np.isfinite(row)):
            raise CovarianceError(
                f"features({state!r}) must be {found[0].size} finite numbers, as for {states[0]!r}, got {row}"
            )
    return np.array(found).reshape(len(states), found[0].size if found else 0)


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
