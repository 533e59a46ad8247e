"""The belief over the weights of a linear score: N(m, S − UᵀU), N(0, I) a priori.

Symbols and derivation are at the head of :mod:`dagsearch.posterior.weights`.
"""

import math

import numpy as np

from dagsearch._internal import linalg
from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.posterior.linear import gain_vector, subtract_outer


class WeightBelief:
    """m, S and U of a growing number of weights."""

    def __init__(self) -> None:
        self.dimension = 0
        """Number of weights d."""
        self.variance = np.zeros(0)
        """Diagonal of S − UᵀU, with room for more."""
        self._mean = np.zeros(0)
        self._cov = np.zeros((0, 0))
        self._recent, self._aside = np.zeros((0, 0)), 0  # the rows of U, and how many there are

    @property
    def arrays(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """m, S and U."""
        d = self.dimension
        return self._mean[:d], self._cov[:d, :d], self._recent[: self._aside, :d]

    def grow(self, dimension: int) -> None:
        """Let there be at least ``dimension`` weights."""
        old = self.dimension
        if dimension <= old:
            return
        self._mean = grown(self._mean, dimension)
        self._cov = grown(self._cov, dimension, dimension)
        self._recent = grown(self._recent, self._recent.shape[0], dimension)
        self.variance = grown(self.variance, dimension)
        fresh = np.arange(old, dimension)
        self._cov[fresh, fresh] = 1.0
        self.variance[fresh] = 1.0
        self.dimension = dimension

    def learn(
        self, columns: IntArray, values: FloatArray, precision: float, information: float, fantasy: bool
    ) -> tuple[FloatArray, float, float]:
        """Add precision δ and information h on φ·w; a fantasy moves no mean, not even by rounding.

        Returns q, and what the step adds to m and subtracts from S along q. The step stays in U.
        """
        q, expected, s = gain_vector(columns, values, *self.arrays)
        gain = 0.0 if fantasy else (information - precision * expected) / (1.0 + precision * s)
        shrink = precision / (1.0 + precision * s)
        if not fantasy:
            self._mean[: self.dimension] += gain * q
        u = math.sqrt(shrink) * q
        self._recent = grown(self._recent, self._aside + 1, self.dimension)
        self._recent[self._aside, : self.dimension] = u
        self._aside += 1
        self.variance[: self.dimension] -= u * u
        return q, gain, shrink

    def absorb(self, least: int) -> None:
        """Subtract UᵀU from S, if U has at least ``least`` rows."""
        if self._aside < least:
            return
        _, cov, recent = self.arrays
        if self._aside == 1:
            subtract_outer(cov, recent[0])
        elif cov.flags.c_contiguous and recent.flags.c_contiguous:  # in place by BLAS, in its column order
            linalg.dgemm(-1.0, recent.T, recent.T, beta=1.0, c=cov.T, trans_b=1, overwrite_c=1)
        else:
            cov -= recent.T @ recent
        self._aside = 0

    def snapshot(self) -> tuple[int, FloatArray]:
        """What fantasies change."""
        return self._aside, self.variance[: self.dimension].copy()

    def restore(self, snapshot: tuple[int, FloatArray]) -> None:
        """Take back the steps since a snapshot, none of which may have been absorbed; new weights stay."""
        self._aside, variance = snapshot
        self.variance[: variance.size] = variance
        self.variance[variance.size : self.dimension] = 1.0
