"""Similarity between the items of a set: by distance, a given matrix, or correlations in a table."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.typing import FloatArray
from dagsearch.covariances.parameters import Learnt, checked_positive, checked_variance, flaws_of
from dagsearch.errors import CovarianceError

# Default length, in median distances between nearest neighbours.
_SPACINGS = 1.5
# Share of a relevant item's variance that it shares with no other item, so that no matrix is singular.
_OWN = 0.1


class BetweenItems(Learnt, ABC):
    """Similarity between items: a matrix with hyperparameters."""

    @abstractmethod
    def matrix(self) -> FloatArray:
        """Similarities, shape ``(items, items)``."""

    @abstractmethod
    def gradient(self, weights: FloatArray) -> list[float]:
        """Derivatives of Σ weights ∘ matrix by the logarithm of each hyperparameter."""


class Nearness(BetweenItems):
    """Nearby items are alike, such as pixels of an image or sensors in a field.

    Parameters
    ----------
    positions : array, shape ``(items, dimensions)``
        Coordinates of each item.
    length : float, optional
        Length scale ℓ of the similarity e^(−d²/2ℓ²) at distance d; by default one and a half times the
        median distance between nearest neighbours. Learnt.
    own : float
        Variance of an independent part of each item, relative to a variance of 1 of the part that is shared
        with nearby items. Learnt, unless 0.

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
        squared = ((where[:, None] - where[None]) ** 2).sum(axis=2)
        # Distances repeat: each occurs twice, on a grid more often.
        self._squared, which = np.unique(squared, return_inverse=True)
        self._which = which.reshape(squared.shape)
        self.own = checked_variance("own", own)
        if length is None:  # 1 if all items are in one place
            apart = np.where(squared > 0.0, squared, np.inf).min(axis=1)
            apart = apart[np.isfinite(apart)]
            length = _SPACINGS * float(np.sqrt(np.median(apart))) if apart.size else 1.0
        self.length = checked_positive("length", length)
        self._learn(length=("distance between items", 0.5), own=("own share of items", 1.0))

    def matrix(self) -> FloatArray:
        near = np.exp(-0.5 * self._squared / self.length**2)[self._which]
        near[np.diag_indices(len(near))] += self.own
        return np.asarray(near)

    def gradient(self, weights: FloatArray) -> list[float]:
        scaled = self._squared / self.length**2
        by_distance = np.bincount(self._which.ravel(), weights.ravel())
        by_length = float(by_distance @ (scaled * np.exp(-0.5 * scaled)))
        return [by_length, *([self.own * float(weights.trace())] if "own" in self._learnt else [])]


class Relevance(BetweenItems):
    """Items have a known relevance: how informative each is by itself.

    With r the relevance, R the likeness and dᵢ² = flat + rᵢ, the matrix is dᵢ (Rᵢⱼ + trend) dⱼ. An item with
    a small d hardly changes the reward of any subset. ``trend`` is the variance that relevant items share:
    if one of them improves the reward, others probably do. It is learnt.

    Parameters
    ----------
    relevance : array, shape ``(items,)``
        How informative each item is by itself, from 0 to 1.
    likeness : matrix, shape ``(items, items)``, optional
        Similarities between items, with ones on the diagonal; by default the identity.
    flat : float
        Squared weight of an item without relevance. Learnt.

    Examples
    --------
    >>> Relevance([1.0, 0.0], flat=0.04).matrix().round(2)
    array([[2.08, 0.2 ],
           [0.2 , 0.08]])
    """

    def __init__(self, relevance: ArrayLike, likeness: ArrayLike | None = None, flat: float = 0.03) -> None:
        self._relevance = np.asarray(relevance, dtype=np.float64)
        if self._relevance.ndim != 1 or not np.all((self._relevance >= 0.0) & (self._relevance <= 1.0)):
            raise CovarianceError(f"relevance must be numbers from 0 to 1, one per item, got {relevance!r}")
        count = self._relevance.size
        alike = np.eye(count) if likeness is None else GivenMatrix(likeness, own=0.0).matrix()
        if alike.shape != (count, count):
            raise CovarianceError(f"likeness must have {count} rows, one per item, got shape {alike.shape}")
        self._alike = (1.0 - _OWN) * alike
        self._alike[np.diag_indices(count)] += _OWN
        self.flat, self.trend = checked_positive("flat", flat), 1.0
        self._learn(flat=("weight of irrelevant items", 1.0), trend=("trend of relevance", 1.0))

    def matrix(self) -> FloatArray:
        weight = np.sqrt(self.flat + self._relevance)
        found = self._alike + self.trend
        found *= weight[:, None]
        found *= weight
        return np.asarray(found)

    def gradient(self, weights: FloatArray) -> list[float]:
        squared = self.flat + self._relevance
        weight, change = np.sqrt(squared), 0.5 * self.flat / squared
        by_flat = np.vdot(weights, self.matrix() * (change[:, None] + change))
        return [float(by_flat), self.trend * float(weight @ weights @ weight)]


class GivenMatrix(BetweenItems):
    """A positive semi-definite matrix between items, plus an independent part of each item.

    The independent variance is ``own`` times the matrix's mean variance. It is learnt, unless 0, and
    dominates if the matrix does not explain the rewards.
    """

    def __init__(self, matrix: ArrayLike, own: float = 0.1) -> None:
        given = np.asarray(matrix, dtype=np.float64)
        if given.ndim != 2 or given.shape[0] != given.shape[1] or not np.all(np.isfinite(given)):
            raise CovarianceError(f"between_items must be a finite square matrix, got shape {given.shape}")
        pair, eigenvalue = flaws_of(given)
        if pair is not None:
            raise CovarianceError("between_items must be a symmetric matrix; use (matrix + matrix.T) / 2")
        if eigenvalue is not None:
            raise CovarianceError(
                f"between_items must be positive semi-definite, but has the eigenvalue {eigenvalue:.3g}. A "
                "matrix of squared correlations always is; one of absolute correlations may not be: see "
                "covariances.correlation"
            )
        self._matrix, self._mean = given, float(given.diagonal().mean())
        self.own = checked_variance("own", own)
        self._learn(own=("own share of items", 2.0))  # a wide prior

    def matrix(self) -> FloatArray:
        return np.asarray(self._matrix + self.own * self._mean * np.eye(len(self._matrix)))

    def gradient(self, weights: FloatArray) -> list[float]:
        return [self.own * self._mean * float(weights.trace())] if self._learnt else []


def correlation(data: ArrayLike) -> FloatArray:
    """Squared correlations between the columns of a table.

    For :class:`dagsearch.covariances.SetKernel`. A constant column correlates with itself only.

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
