r"""The Cholesky factor of a covariance matrix that grows by some rows at a time, and its inverse.

If L Lᵀ is the matrix so far and (Σ_t, σ) are its next rows, then the next rows of the factor are (lᵀ, D) with
l = L⁻¹Σ_t and D Dᵀ = σ − lᵀl, and those of its inverse are D⁻¹(−lᵀL⁻¹, 1). Both cost O(n²) for each row.

If c is subtracted from the matrix at one place of the diagonal, then row k of anything of the form L⁻¹M, and
column k of L, change by a hyperbolic rotation with a carried row y, one k after the other from that place on:

    L_k ← (L_k − s y)/√(1 − s²),    y ← √(1 − s²) y − s L_k,    s = y_k / L_kk,

beginning with √c at that place in y for L, and with y = 0 for L⁻¹M, whose M does not change.
"""

import math
from typing import NamedTuple

import numpy as np

from dagsearch._internal import linalg
from dagsearch._internal.arrays import grown
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray


class Rotation(NamedTuple):
    """How L⁻¹M changes when something is subtracted from the diagonal of L Lᵀ."""

    first: int
    """The first row that changes."""
    sines: FloatArray
    """s of each row."""

    def turn(self, whitened: FloatArray) -> None:
        """Change L⁻¹M, shape ``(size, columns)``, in place."""
        _turn(self.first, self.sines, whitened)


class GrowingCholesky:
    """L and L⁻¹, lower triangles of shape ``(size, size)``.

    A product with L⁻¹ takes half the time of a solve with L, at the price of some digits.
    """

    def __init__(self) -> None:
        self.size = 0
        """Number of rows; to lower it removes the last ones."""
        self._lower, self._inverse = np.zeros((0, 0)), np.zeros((0, 0))  # with room for further rows

    @classmethod
    def of(cls, matrix: FloatArray) -> "GrowingCholesky":
        """The factor of a matrix; raises ``LinAlgError`` if it is not positive definite."""
        factor = cls()
        factor._lower = np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
        factor._inverse = np.ascontiguousarray(linalg.dtrtri(factor._lower.T, lower=0)[0].T)
        factor.size = len(matrix)
        return factor

    @property
    def lower(self) -> FloatArray:
        """L."""
        return self._lower[: self.size, : self.size]

    @property
    def inverse(self) -> FloatArray:
        """L⁻¹."""
        return self._inverse[: self.size, : self.size]

    def append(self, columns: FloatArray, corner: FloatArray) -> None:
        """Append the rows (lᵀ, D): ``columns`` are l, shape ``(size, rows)``, and ``corner`` is D."""
        old, new = self.size, self.size + len(corner)
        carried = columns.T @ self.inverse
        self._lower, self._inverse = grown(self._lower, new, new), grown(self._inverse, new, new)
        self._lower[old:new, :old], self._lower[old:new, old:new] = columns.T, corner
        both = np.hstack([-carried, np.eye(len(corner))])
        self._inverse[old:new, :new] = linalg.solve_triangular(corner, both, lower=True, check_finite=False)
        self.size = new

    def lessen(self, place: int, by: float) -> Rotation:
        """Subtract ``by`` from the matrix at one place of the diagonal; it must stay positive definite."""
        rotation = Rotation(place, _lessen(self.lower, place, by))
        rotation.turn(self.inverse)
        return rotation

    def whiten(self, columns: FloatArray) -> FloatArray:
        """L⁻¹ times columns, by the inverse; of fewer rows than L has, by as many rows of L."""
        rows = len(columns)
        inverse = self._inverse[:rows, :rows]
        if rows == 0 or columns.shape[1] == 1:
            return np.asarray(inverse @ columns)  # multiplies the zeros, too, but copies nothing
        # BLAS itself, which makes use of the triangle. It wants columns first, so everything is transposed.
        return np.asarray(linalg.dtrmm(1.0, inverse.T, columns.T, side=1, lower=0).T)

    def solve(self, columns: FloatArray) -> FloatArray:
        """The same by L itself: a row of L must not inherit the digits that the inverse has lost."""
        if self.size == 0:
            return columns
        return np.asarray(linalg.solve_triangular(self.lower, columns, lower=True, check_finite=False))


@compiled
def _lessen(lower: FloatArray, place: int, by: float) -> FloatArray:
    """Change L, row by row; returns the sines."""
    sines = np.zeros(len(lower))
    for i in range(place, len(lower)):
        carried = math.sqrt(by) if i == place else 0.0
        for k in range(place, i):
            cosine = math.sqrt((1.0 - sines[k]) * (1.0 + sines[k]))
            lower[i, k] = (lower[i, k] - sines[k] * carried) / cosine
            carried = cosine * carried - sines[k] * lower[i, k]
        sines[i] = carried / lower[i, i]
        lower[i, i] *= math.sqrt((1.0 - sines[i]) * (1.0 + sines[i]))
    return sines


@compiled
def _turn(first: int, sines: FloatArray, whitened: FloatArray) -> None:
    carried = np.zeros(whitened.shape[1])
    for k in range(first, sines.size):
        cosine = math.sqrt((1.0 - sines[k]) * (1.0 + sines[k]))
        for column in range(carried.size):
            whitened[k, column] = (whitened[k, column] - sines[k] * carried[column]) / cosine
            carried[column] = cosine * carried[column] - sines[k] * whitened[k, column]
