r"""The Cholesky factor of a growing covariance matrix, and its inverse.

If L Lᵀ is the matrix so far and (Σ_t, σ) are its next rows, then the next rows of the factor are (lᵀ, D) with
l = L⁻¹Σ_t and D Dᵀ = σ − lᵀl, and those of its inverse are D⁻¹(−lᵀL⁻¹, 1). Both cost O(n²) for each row.
"""

import numpy as np

from dagsearch._internal import linalg
from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray

# Number of rows at a time of a product with the inverse.
_BLOCK = 128


class GrowingCholesky:
    """L and L⁻¹, lower triangles of shape ``(size, size)``.

    A product with L⁻¹ takes half the time of a solve with L, at the price of some digits.
    """

    def __init__(self) -> None:
        self.size = 0
        """Number of rows."""
        self._lower, self._inverse = np.zeros((0, 0)), np.zeros((0, 0))  # with room for further rows

    @classmethod
    def of(cls, matrix: FloatArray) -> "GrowingCholesky":
        """The factor of a matrix; raises ``LinAlgError`` if it is not positive definite."""
        factor = cls()
        factor._lower = np.asarray(np.linalg.cholesky(matrix), dtype=np.float64)
        if not np.all(np.isfinite(factor._lower[-1:, -1])):  # NumPy lets NaN pass, down to the last entry
            raise np.linalg.LinAlgError("the matrix is not finite")
        factor._inverse = np.ascontiguousarray(linalg.dtrtri(factor._lower.T, lower=0)[0].T)
        factor.size = len(matrix)
        return factor

    @property
    def inverse(self) -> FloatArray:
        """L⁻¹."""
        return self._inverse[: self.size, : self.size]

    def append(self, columns: FloatArray, corner: FloatArray) -> None:
        """Append the rows (lᵀ, D): ``columns`` are l, shape ``(size, rows)``, and ``corner`` is D."""
        old, new = self.size, self.size + len(corner)
        carried = columns.T @ self.inverse
        if new > len(self._lower) or new > len(self._inverse):
            self._lower, self._inverse = grown(self._lower, new, new), grown(self._inverse, new, new)
        self._lower[old:new, :old], self._lower[old:new, old:new] = columns.T, corner
        both = np.hstack([-carried, np.eye(len(corner))])
        self._inverse[old:new, :new] = linalg.solve_triangular(corner, both, lower=True, check_finite=False)
        self.size = new

    def whiten(self, columns: FloatArray) -> FloatArray:
        """L⁻¹ times columns, by the inverse."""
        # Blocks of rows skip most of the zeros.
        found = np.empty((columns.shape[1], self.size))
        for first in range(0, self.size, _BLOCK):
            last = min(first + _BLOCK, self.size)
            np.matmul(columns[:last].T, self._inverse[first:last, :last].T, out=found[:, first:last])
        return found.T

    def solve(self, columns: FloatArray) -> FloatArray:
        """The same by L itself: new rows of L must not inherit rounding errors of the inverse."""
        if self.size == 0:
            return columns
        lower = self._lower[: self.size, : self.size]
        return np.asarray(linalg.solve_triangular(lower, columns, lower=True, check_finite=False))
