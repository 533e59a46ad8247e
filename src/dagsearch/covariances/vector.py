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
s           falloff        —                  one of :data:`SHAPES`
==========  =============  =================  =====================================================

The covariance is bias + linear · G + nonlinear · s(u): a linear trend in the entries, and a remainder that is
alike for states that are close.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, Self

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.base import Covariance, Gradient
from dagsearch.covariances.items import BetweenItems
from dagsearch.covariances.parameters import (
    Hyperparameter,
    changed,
    checked_factor,
    checked_positive,
    checked_variance,
)
from dagsearch.covariances.rows import Rows
from dagsearch.errors import CovarianceError


def squared_exponential(u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """e^(−u/2), and the derivative −e^(−u/2) / 2."""
    value = np.exp(-0.5 * u)
    return value, -0.5 * value


def matern52(u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(1 + r + r²/3) e^(−r) with r² = 5u, and the derivative −5/6 (1 + r) e^(−r)."""
    r = np.sqrt(5.0 * u)
    decay = np.exp(-r)
    return (1.0 + r + r * r / 3.0) * decay, -5.0 / 6.0 * (1.0 + r) * decay


def matern32(u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(1 + r) e^(−r) with r² = 3u, and the derivative −3/2 e^(−r)."""
    r = np.sqrt(3.0 * u)
    decay = np.exp(-r)
    return (1.0 + r) * decay, -1.5 * decay


Shape = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""A fall-off function with s(0) = 1: from u ≥ 0 to s(u) and its derivative."""

SHAPES: Final[dict[str, Shape]] = {
    "squared-exponential": squared_exponential,
    "matern-5/2": matern52,
    "matern-3/2": matern32,
}
"""Shapes by the names that covariances take."""


class Metric(NamedTuple):
    """K, as a matrix times a number."""

    matrix: FloatArray | None
    """How alike entries are; ``None`` for the identity."""
    scale: float = 1.0
    """The number."""

    def times(self, centred: FloatArray) -> FloatArray:
        """K(x − x̄) of each row."""
        return np.asarray(self.scale * (centred if self.matrix is None else centred @ self.matrix))

    def norms(self, centred: FloatArray) -> FloatArray:
        """(x − x̄)ᵀK(x − x̄) of each row."""
        return np.asarray(np.einsum("ij,ij->i", self.times(centred), centred))

    def diagonal(self, count: int) -> FloatArray:
        """The diagonal of K, which has this number of rows."""
        return self.scale * (np.ones(count) if self.matrix is None else self.matrix.diagonal())

    def between(self, some: IntArray, others: IntArray) -> FloatArray:
        """Entries of K at some rows and other columns."""
        if self.matrix is None:
            return np.asarray(self.scale * (some[:, None] == others))
        return np.asarray(self.scale * self.matrix[np.ix_(some, others)])


class VectorKernel(Covariance):
    """bias + linear · G + nonlinear · s(u), over vectors that subclasses make of states."""

    def __init__(
        self,
        between: BetweenItems | None,
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
        if not isinstance(shape, str) or shape not in SHAPES:
            raise CovarianceError(f"shape must be one of {', '.join(SHAPES)}, got {shape!r}")
        self.shape, self._falloff = shape, SHAPES[shape]
        self.bias, self.private = checked_variance("bias", bias), checked_variance("private", private)
        self._between = between
        length_too = {"length": ("length", 0.7)} if self.nonlinear > 0.0 else {}
        variances = {name: (name, 1.0) for name in ("linear", "nonlinear", "private")}
        self._learn(**variances, **length_too)
        # Mean of random leaves; without a problem, vectors are neither centred nor scaled.
        self._center: FloatArray = np.zeros(1)
        self._spread: FloatArray | None = None  # covariance matrix of random leaves, if there are items
        self._metric = Metric(None if between is None else between.matrix())

    def _scaled_by(self, leaves: FloatArray, center: FloatArray) -> Self:
        """The kernel whose K is scaled by rows of random leaves."""
        centred = leaves - center
        if self._between is None:
            mean = float(np.einsum("ij,ij->i", centred, centred).mean())
            return changed(self, _center=center, _metric=Metric(None, 1.0 / max(mean, 1e-300)))
        spread = centred.T @ centred / len(centred)
        return changed(self, _center=center, _spread=spread)._with_items(self._between)

    def _with_items(self, between: BetweenItems) -> Self:
        """The kernel with another K. The mean of xᵀKx over random leaves is Σ K ∘ their covariance."""
        matrix, scale = between.matrix(), 1.0
        if self._spread is not None:
            scale = 1.0 / max(float(np.vdot(self._spread, matrix)), 1e-300)
        return changed(self, _between=between, _metric=Metric(matrix, scale))

    # Covariances -----------------------------------------------------------------------------------

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        if len(a) > len(b):  # smooth the smaller of the two
            return self.cross(b, a).T
        return self.of_rows(b, self.prepared(a))[0].T

    def variances(self, a: Rows) -> FloatArray:
        norms = self._metric.norms(np.asarray(a) - self._center)
        return self.bias + self.linear * norms + self.nonlinear

    def step_variances(self, rows: Rows) -> FloatArray:
        """linear · q + 2 nonlinear · (1 − s(q / 2ℓ²)) of squared distances q."""
        squared = self._metric.norms(np.diff(np.asarray(rows), axis=0))
        fallen = self._falloff(squared / (2.0 * self.length**2))[0]
        return self.linear * squared + 2.0 * self.nonlinear * (1.0 - fallen)

    def prepared(self, rows: Rows) -> Rows:
        """K(x − x̄) of each row, and (x − x̄)ᵀK(x − x̄) in the last column."""
        centred = np.asarray(rows) - self._center
        smooth = self._metric.times(centred)
        return np.concatenate([smooth, np.einsum("ij,ij->i", smooth, centred)[:, None]], axis=1)

    def of_rows(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        centred = np.asarray(rows) - self._center
        own, inner = self._metric.norms(centred), centred @ others[:, :-1].T
        u = own[:, None] + others[:, -1] - 2.0 * inner
        u /= 2.0 * self.length**2
        cross = self._falloff(np.maximum(u, 0.0, out=u))[0]
        cross *= self.nonlinear
        cross += self.bias + self.linear * inner
        return cross, self.bias + self.linear * own + self.nonlinear

    # Hyperparameters -------------------------------------------------------------------------------

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        own = super().hyperparameters
        return own if self._between is None else (*own, *self._between.hyperparameters)

    def with_values(self, values: Sequence[float]) -> Self:
        own = len(self._learnt)
        other = super().with_values(values[:own])
        if self._between is None or len(values) == own:
            return other
        return other._with_items(self._between.with_values(values[own:]))

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        entries, center = self._entries(rows)
        smooth = self._metric.times(entries)
        towards = smooth @ center
        inner = entries @ smooth.T - towards[:, None] - towards + self._metric.norms(center[None])
        norms = inner.diagonal()
        u = np.maximum(norms[:, None] + norms - 2.0 * inner, 0.0) / (2.0 * self.length**2)
        fallen, slope = self._falloff(u)
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
            return np.array(
                [own[name] for name in self._learnt] + self._by_items(entries, center, weights, by_u)
            )

        return matrix, gradient

    def _entries(self, rows: Rows) -> tuple[Any, FloatArray]:
        """Rows less some vector, as an array or a sparse array, and the center less that vector."""
        return np.asarray(rows) - self._center, np.zeros(np.shape(rows)[1])

    def _by_items(
        self, entries: Any, center: FloatArray, weights: FloatArray, by_u: FloatArray
    ) -> list[float]:
        """Derivatives by the hyperparameters of K; ``by_u`` are the weighted derivatives by u.

        With X the centred rows, G = XKXᵀ and u = (Gᵢᵢ + Gⱼⱼ − 2Gᵢⱼ) / 2ℓ², so that Σ W ∘ matrix changes by
        Σ A ∘ dG = Σ XᵀAX ∘ dK. The scale of K changes too: the mean change over random leaves is subtracted.
        """
        matrix, scale = self._metric
        if self._between is None or matrix is None:
            return []
        by_u = by_u / self.length**2
        by_inner = self.linear * weights - by_u
        by_inner[np.diag_indices(len(by_u))] += by_u.sum(axis=0)
        by_entries = entries.T @ (by_inner @ entries)
        by_center = float(by_inner.sum()) * center - 2.0 * (entries.T @ by_inner.sum(axis=0))

        def along(change: FloatArray) -> float:
            return scale * float(np.vdot(by_entries, change) + by_center @ (change @ center))

        spread = np.zeros((1, 1)) if self._spread is None else scale * along(matrix) * self._spread
        return [along(change) - float((spread * change).sum()) for change in self._between.gradients()]

    def __rmul__(self, factor: float) -> "Covariance":
        """Scale the variances themselves, so that the factor needs no hyperparameter."""
        factor = checked_factor(factor)
        variances = ("linear", "nonlinear", "private", "bias")
        scaled = changed(self, **{name: factor * getattr(self, name) for name in variances})
        learnt = {name: one._replace(median=getattr(scaled, name)) for name, one in self._learnt.items()}
        return changed(scaled, _learnt=learnt)
