r"""The Cholesky factor of a covariance matrix that grows by one row at a time, and its inverse.

If L Lᵀ is the matrix so far, (Σ_t, σ) its next row and l = L⁻¹Σ_t, then the next row of the factor is (l, d)
with d² = σ − l·l, and that of its inverse is (−lᵀL⁻¹, 1)/d. Both cost O(n²).
"""

import numpy as np

from dagsearch._internal import linalg
from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray


class GrowingCholesky:
    """L and L⁻¹, lower triangles of shape ``(size, size)``.

    A product with L⁻¹ takes half the time of a solve with L, at the price of some digits.
    """

    def __init__(self) -> None:
        self._lower = np.zeros((0, 0))  # with room for further rows
        self.inverse = np.zeros((0, 0))
        """L⁻¹."""

    @classmethod
    def of(cls, matrix: FloatArray) -> "GrowingCholesky":
        """The factor of a matrix; raises ``LinAlgError`` if it is not positive definite."""
        factor = cls()
        factor._lower = np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
        factor.inverse = np.ascontiguousarray(linalg.dtrtri(factor._lower.T, lower=0)[0].T)
        return factor

    @property
    def size(self) -> int:
        """Number of rows."""
        return len(self.inverse)

    @property
    def lower(self) -> FloatArray:
        """L."""
        return self._lower[: self.size, : self.size]

    def append(self, row: FloatArray, pivot: float) -> None:
        """Append the row (l, d): ``row`` left of the diagonal and ``pivot`` on it."""
        n = self.size
        self._lower = grown(self._lower, n + 1, n + 1)
        self._lower[n, :n], self._lower[n, n] = row, pivot
        inverse = np.empty((n + 1, n + 1))
        inverse[:n, :n], inverse[:n, n] = self.inverse, 0.0
        inverse[n, :n] = row @ self.inverse / -pivot
        inverse[n, n] = 1.0 / pivot
        self.inverse = inverse

    def whiten(self, columns: FloatArray) -> FloatArray:
        """L⁻¹ times columns, shape ``(size, columns)``, by the inverse."""
        return columns if self.size == 0 else times_triangle(self.inverse, columns)

    def solve(self, columns: FloatArray) -> FloatArray:
        """The same by L itself: a row of L must not inherit the digits that the inverse has lost."""
        if self.size == 0:
            return columns
        return np.asarray(linalg.solve_triangular(self.lower, columns, lower=True, check_finite=False))


def times_triangle(triangle: FloatArray, columns: FloatArray) -> FloatArray:
    """A lower triangle times columns."""
    if columns.shape[1] == 1:
        return triangle @ columns  # multiplies the zeros, too, but copies nothing
    # BLAS itself, which makes use of the triangle. It wants columns first, so everything is transposed.
    return np.asarray(linalg.dtrmm(1.0, triangle.T, columns.T, side=1, lower=0).T)
