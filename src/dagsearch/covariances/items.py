"""How alike the items of a set are: by distance, by a given matrix, or by correlations in a table."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.typing import FloatArray
from dagsearch.covariances.base import Hyperparameter
from dagsearch.covariances.checks import checked_positive, checked_variance
from dagsearch.errors import CovarianceError

# Default length, in median distances between nearest neighbours.
_SPACINGS = 1.5
# Relative to the largest entry: asymmetry, and negative eigenvalue per item, that count as rounding errors.
_ROUNDING = 1e-8


class Nearness:
    """Items are alike if they are near each other: pixels of an image, sensors in a field.

    Parameters
    ----------
    positions : array, shape ``(items, dimensions)``
        Where each item is.
    length : float, optional
        Distance over which likeness falls off: e^(−d²/2ℓ²) at distance d. By default one and a half times the
        median distance between nearest neighbours. Learnt from the rewards.
    own : float
        Variance of the part that an item shares with no other item, relative to a variance of 1 of the part
        that it shares with near items. Learnt, unless 0.

    Examples
    --------
    >>> Nearness([[0.0], [1.0], [9.0]], length=1.0, own=0.5).matrix().round(2)
    array([[1.5 , 0.61, 0.  ],
           [0.61, 1.5 , 0.  ],
           [0.  , 0.  , 1.5 ]])
    """

    def __init__(self, positions: ArrayLike, length: float | None = None, own: float = 0.4) -> None:
        where = np.asarray(positions, dtype=np.float64)
        if where.ndim != 2 or where.shape[0] == 0 or not np.all(np.isfinite(where)):
            raise CovarianceError(
                f"positions must be finite numbers of shape (items, dimensions), got shape {where.shape}"
            )
        self._squared = ((where[:, None] - where[None]) ** 2).sum(axis=2)
        self.own = self._own_median = checked_variance("own", own)
        self.length = self._spacing() if length is None else checked_positive("length", length)
        self._length_median = self.length

    def _spacing(self) -> float:
        """The default length; 1 if all items are in one place."""
        apart = np.where(self._squared > 0.0, self._squared, np.inf).min(axis=1)
        apart = apart[np.isfinite(apart)]
        return _SPACINGS * float(np.sqrt(np.median(apart))) if apart.size else 1.0

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """The length, and ``own`` unless it is 0."""
        length = Hyperparameter("distance between items", self.length, self._length_median, 0.5)
        if self._own_median == 0.0:
            return (length,)
        return length, Hyperparameter("own share of items", self.own, self._own_median, 1.0)

    def with_values(self, values: Sequence[float]) -> "Nearness":
        """The same with other values of the hyperparameters."""
        other = object.__new__(Nearness)
        other.__dict__.update(self.__dict__)
        other.length = float(values[0])
        if self._own_median > 0.0:
            other.own = float(values[1])
        return other

    def matrix(self) -> FloatArray:
        """How alike items are, shape ``(items, items)``."""
        near = np.exp(-0.5 * self._squared / self.length**2)
        near[np.diag_indices(len(near))] += self.own
        return np.asarray(near)

    def gradients(self) -> list[FloatArray]:
        """Derivatives of the matrix by the logarithm of each hyperparameter."""
        scaled = self._squared / self.length**2
        found = [scaled * np.exp(-0.5 * scaled)]
        return found + ([self.own * np.eye(len(scaled))] if self._own_median > 0.0 else [])


class GivenMatrix:
    """A matrix between items, plus a part that each item shares with no other.

    The second part is learnt: where the matrix does not explain the rewards, it outgrows the matrix.

    Parameters
    ----------
    matrix : array, shape ``(items, items)``
        Positive semi-definite; :class:`CovarianceError` if it is not.
    own : float
        Variance of the part that an item shares with no other item, relative to the mean variance of the
        matrix.
    """

    def __init__(self, matrix: ArrayLike, own: float = 0.1) -> None:
        given = np.asarray(matrix, dtype=np.float64)
        if given.ndim != 2 or given.shape[0] != given.shape[1] or not np.all(np.isfinite(given)):
            raise CovarianceError(f"between_items must be a finite square matrix, got shape {given.shape}")
        scale = max(float(np.abs(given).max()), np.finfo(np.float64).tiny)
        if np.abs(given - given.T).max() > _ROUNDING * scale:
            raise CovarianceError("between_items must be a symmetric matrix; use (matrix + matrix.T) / 2")
        try:  # a factorisation is much cheaper than eigenvalues
            np.linalg.cholesky(given + _ROUNDING * scale * len(given) * np.eye(len(given)))
        except np.linalg.LinAlgError as error:
            raise CovarianceError(
                "between_items must be positive semi-definite, but has the eigenvalue "
                f"{float(np.linalg.eigvalsh(given)[0]):.3g}. A matrix of squared correlations always is; one "
                "of absolute correlations may not be: see covariances.correlation"
            ) from error
        self._matrix, self._mean = given, float(given.diagonal().mean())
        self.own = self._own_median = checked_variance("own", own)

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """``own``; its prior is wide."""
        return (Hyperparameter("own share of items", self.own, self._own_median, 2.0),)

    def with_values(self, values: Sequence[float]) -> "GivenMatrix":
        """The same with another value of ``own``."""
        other = object.__new__(GivenMatrix)
        other.__dict__.update(self.__dict__)
        other.own = float(values[0])
        return other

    def matrix(self) -> FloatArray:
        """How alike items are, shape ``(items, items)``."""
        return np.asarray(self._matrix + self.own * self._mean * np.eye(len(self._matrix)))

    def gradients(self) -> list[FloatArray]:
        """The derivative of the matrix by the logarithm of ``own``."""
        return [self.own * self._mean * np.eye(len(self._matrix))]


def correlation(data: ArrayLike) -> FloatArray:
    """How alike the columns of a table are: their squared correlations.

    For :class:`dagsearch.covariances.SetKernel`. A constant column is like itself only.

    Examples
    --------
    >>> correlation([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0]]).round(2)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    table = np.asarray(data, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2 or not np.all(np.isfinite(table)):
        raise CovarianceError(
            f"data must be a table of finite numbers with two rows or more, got shape {table.shape}"
        )
    centred = table - table.mean(axis=0)
    sizes = np.sqrt((centred**2).sum(axis=0))
    varies = sizes > 1e-12 * np.abs(table).max(axis=0, initial=1.0)
    unit = np.where(varies, centred / np.where(varies, sizes, 1.0), 0.0)
    alike = np.asarray((unit.T @ unit) ** 2)
    np.fill_diagonal(alike, 1.0)
    return alike
