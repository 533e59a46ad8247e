r"""States as vectors, compared by inner product and by distance.

==========  =============  =================  =====================================================
symbol      code           shape              meaning
==========  =============  =================  =====================================================
x           row            ``(n,)``           a state's vector; of a subset, its inclusion probabilities
x̄           center         ``(n,)``           mean vector of random leaves
K           metric         ``(n, n)``         how alike two entries are, scaled so that random leaves have
                                              (x − x̄)ᵀK(x − x̄) = 1 on average
G           inner          ``(a, b)``         (x − x̄)ᵀK(y − x̄)
u           u              ``(a, b)``         (x − y)ᵀK(x − y) / 2ℓ²
s           falloff        —                  one of :data:`dagsearch.covariances.shapes.SHAPES`
==========  =============  =================  =====================================================

The covariance is bias + linear · G + nonlinear · s(u): a linear trend in the entries, and a remainder that is
alike for states that are close.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.covariances._levels import LevelRows
from dagsearch.covariances.base import Covariance, Gradient, Hyperparameter
from dagsearch.covariances.checks import checked_factor, checked_positive, checked_variance
from dagsearch.covariances.items import GivenMatrix, Nearness, Relevance
from dagsearch.covariances.rows import Rows
from dagsearch.covariances.shapes import shape_named
from dagsearch.errors import CovarianceError
from dagsearch.problem import Problem
from dagsearch.space.walks import random_leaves


class VectorKernel(Covariance):
    """bias + linear · G + nonlinear · s(u), over vectors that subclasses make of states."""

    def __init__(
        self,
        between: Nearness | Relevance | GivenMatrix | None,
        *,
        linear: float,
        nonlinear: float,
        length: float,
        shape: str,
        bias: float,
        private: float,
    ) -> None:
        self.linear = checked_variance("linear", linear)
        self.nonlinear = checked_variance("nonlinear", nonlinear)
        if self.linear == self.nonlinear == 0.0:
            raise CovarianceError("linear and nonlinear must not both be zero")
        self.length = checked_positive("length", length)
        self.shape, self._falloff = shape, shape_named(shape)
        self.bias, self.private = checked_variance("bias", bias), checked_variance("private", private)
        self._between = between
        self._medians = {name: getattr(self, name) for name in self._learnt()}
        # Mean of random leaves; without a problem, vectors are neither centred nor scaled.
        self._center: FloatArray = np.zeros(1)
        self._sample: FloatArray | None = None  # random leaves, centred
        self._mask: FloatArray | None = None  # 1 where most rows have one constant value, if known
        self._measure()

    def _measure(self) -> None:
        """Compute K from how alike the items are."""
        self._metric = None if self._between is None else self._between.matrix()
        self._metric_mask = None if self._metric is None else self._masked(self._metric)
        self._scale = 1.0
        if self._sample is not None:
            self._scale = 1.0 / max(float(self._norms(self._sample).mean()), 1e-300)
        ones = np.ones(len(self._center))
        self._diagonal = self._scale * (ones if self._metric is None else self._metric.diagonal())  # of K

    def _masked(self, matrix: FloatArray) -> FloatArray | None:
        return None if self._mask is None else matrix @ self._mask

    def _learnt(self) -> list[str]:
        names = ["linear", "nonlinear", "private"] + (["length"] if self.nonlinear > 0.0 else [])
        return [name for name in names if getattr(self, name) > 0.0]

    def bind(self, problem: Problem) -> "Covariance":
        bound = self._copy()
        bound._bind(problem)
        leaves = random_leaves(problem)
        rows = np.asarray(bound.represent(leaves), dtype=np.float64)
        bound._center = bound._mean_row(problem, rows)
        bound._sample = rows - bound._center
        bound._measure()
        return bound

    def _bind(self, problem: Problem) -> None:
        """Take from the problem what describes its states."""

    def _mean_row(self, problem: Problem, rows: FloatArray) -> FloatArray:
        """Mean vector of random leaves, given the rows of a sample."""
        return np.asarray(rows.mean(axis=0))

    def _copy(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    # Rows ------------------------------------------------------------------------------------------

    def _smoothed(self, centred: FloatArray) -> FloatArray:
        """K(x − x̄)."""
        if self._metric is None:
            return self._scale * centred
        return self._scale * self._times(centred, self._metric, self._metric_mask)

    def _times(self, centred: FloatArray, matrix: FloatArray, matrix_mask: FloatArray | None) -> FloatArray:
        if self._mask is None or matrix_mask is None:
            return np.asarray(centred @ matrix)
        return LevelRows.of(centred, self._mask).times(matrix, matrix_mask)

    def _inner(self, smooth: FloatArray, centred: FloatArray) -> FloatArray:
        """Inner products of smoothed rows and others, shape ``(smooth, centred)``."""
        if self._mask is None:
            return np.asarray(smooth @ centred.T)
        return LevelRows.of(centred, self._mask).inner(smooth)

    def _norms(self, centred: FloatArray) -> FloatArray:
        """(x − x̄)ᵀK(x − x̄) of each row."""
        if self._mask is not None and self._metric is not None and self._metric_mask is not None:
            levels = LevelRows.of(centred, self._mask)
            return self._scale * levels.norms(self._metric, self._metric_mask)
        return np.asarray(np.einsum("ij,ij->i", self._smoothed(centred), centred))

    def _with_remainder(self, trend: FloatArray, apart: FloatArray) -> FloatArray:
        """The covariance, from bias + linear · G and from squared distances; overwrites both."""
        remainder = self._falloff.of_squares(apart, self.length)
        remainder *= self.nonlinear
        trend += remainder
        return trend

    def _from_inner(self, inner: FloatArray, a_norms: FloatArray, b_norms: FloatArray) -> FloatArray:
        """The covariance, from inner products and squared norms."""
        apart = a_norms[:, None] + b_norms - 2.0 * inner
        return self._with_remainder(self.bias + self.linear * inner, apart)

    # Covariances -----------------------------------------------------------------------------------

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        if len(a) > len(b):  # smooth the smaller of the two
            return self.cross(b, a).T
        a_centred, b_centred = np.asarray(a) - self._center, np.asarray(b) - self._center
        smooth = self._smoothed(a_centred)
        a_norms = np.einsum("ij,ij->i", smooth, a_centred)
        return self._from_inner(self._inner(smooth, b_centred), a_norms, self._norms(b_centred))

    def variances(self, a: Rows) -> FloatArray:
        norms = self._norms(np.asarray(a) - self._center) if self.linear > 0.0 else np.zeros(len(a))
        return self.bias + self.linear * norms + self.nonlinear

    def step_variances(self, rows: Rows) -> FloatArray:
        """linear · q + 2 nonlinear · (1 − s(q / 2ℓ²)) of squared distances q."""
        squared = self._norms(np.diff(np.asarray(rows), axis=0))
        fallen = self._falloff.value_and_slope(squared / (2.0 * self.length**2))[0]
        return self.linear * squared + 2.0 * self.nonlinear * (1.0 - fallen)

    def prepared(self, rows: Rows) -> Rows:
        """K(x − x̄) of each row, and (x − x̄)ᵀK(x − x̄) in the last column."""
        centred = np.asarray(rows) - self._center
        smooth = self._smoothed(centred)
        return np.concatenate([smooth, np.einsum("ij,ij->i", smooth, centred)[:, None]], axis=1)

    def of_rows(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        width = np.shape(rows)[1]
        smooth, norms = others[:, :width], others[:, width]
        centred = np.asarray(rows) - self._center
        own = self._norms(centred)
        cross = self._from_inner(self._inner(smooth, centred), norms, own)
        return cross.T, self.bias + self.linear * own + self.nonlinear

    # Hyperparameters -------------------------------------------------------------------------------

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        own = [
            Hyperparameter(name, getattr(self, name), median, 0.7 if name == "length" else 1.0)
            for name, median in self._medians.items()
        ]
        return *own, *(self._between.hyperparameters if self._between is not None else ())

    def with_values(self, values: Sequence[float]) -> Self:
        other = self._copy()
        own = len(self._medians)
        for name, value in zip(self._medians, values, strict=False):
            setattr(other, name, float(value))
        if self._between is not None and len(values) > own:
            other._between = self._between.with_values(values[own:])
            other._measure()
        return other

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        centred = np.asarray(rows) - self._center
        smooth = self._smoothed(centred)
        inner = self._inner(smooth, centred)
        norms = inner.diagonal()
        u = np.maximum(norms[:, None] + norms - 2.0 * inner, 0.0) / (2.0 * self.length**2)
        fallen, slope = self._falloff.value_and_slope(u)
        matrix = self.bias + self.linear * inner + self.nonlinear * fallen
        matrix[np.diag_indices(len(matrix))] += self.private

        def gradient(weights: FloatArray) -> FloatArray:
            by_u = self.nonlinear * weights * slope
            own = {
                "linear": self.linear * float(np.vdot(weights, inner)),
                "nonlinear": self.nonlinear * float(np.vdot(weights, fallen)),
                "length": -2.0 * float(np.vdot(by_u, u)),
                "private": self.private * float(weights.trace()),
            }
            of_items = self._gradient_of_items(centred, smooth, weights, by_u)
            return np.array([own[name] for name in self._medians] + of_items)

        return matrix, gradient

    def _gradient_of_items(
        self, centred: FloatArray, smooth: FloatArray, weights: FloatArray, by_u: FloatArray
    ) -> list[float]:
        """Derivatives by the hyperparameters of K; ``by_u`` are the weighted derivatives by u.

        With X the centred rows, G = XKXᵀ and u = (Gᵢᵢ + Gⱼⱼ − 2Gᵢⱼ) / 2ℓ², so that Σ W ∘ matrix changes by
        Σ A ∘ dG = Σ AX ∘ XdK. The scale of K changes too: the mean change over random leaves is subtracted.
        """
        if self._between is None or self._metric is None:
            return []
        by_u = by_u / self.length**2
        by_inner = self.linear * weights - by_u
        by_inner[np.diag_indices(len(by_u))] += by_u.sum(axis=0)
        by_row = by_inner @ centred
        along = float(np.vdot(by_row, smooth))
        found = []
        for change in self._between.gradients():
            masked = self._masked(change)
            gain = 0.0
            if self._sample is not None:
                moved = self._times(self._sample, change, masked)
                gain = float(np.einsum("ij,ij->i", moved, self._sample).mean())
            moved = self._times(centred, change, masked)
            found.append(self._scale * (float(np.vdot(by_row, moved)) - gain * along))
        return found

    def __rmul__(self, factor: float) -> "Covariance":
        """Scale the variances themselves, so that the factor needs no hyperparameter."""
        factor = checked_factor(factor)
        scaled = self._copy()
        for name in ("linear", "nonlinear", "private", "bias"):
            setattr(scaled, name, factor * getattr(self, name))
        scaled._medians = {name: getattr(scaled, name) for name in self._medians}
        return scaled
