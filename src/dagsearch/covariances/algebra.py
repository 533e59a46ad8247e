"""Covariances made of others: scaled, added, multiplied.

Rows of a sum or a product are the :class:`~dagsearch.covariances.rows.Stacked` rows of its two parts, and its
hyperparameters are those of the first part followed by those of the second.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Self

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.base import Covariance, FeatureMap, Gradient, Hyperparameter
from dagsearch.covariances.checks import checked_factor
from dagsearch.covariances.rows import Rows, SparseRows, Stacked
from dagsearch.errors import CovarianceError
from dagsearch.problem import Children, Problem, State
from dagsearch.space import Space

# Prior deviation of the logarithm of a scale: a factor of e either way is one deviation.
_SCALE_DEVIATION = 1.0


class Scaled(Covariance):
    """A covariance times a positive factor; ``median`` is its prior median, by default the factor itself."""

    def __init__(self, base: Covariance, factor: float, median: float | None = None) -> None:
        self._base, self._factor = base, checked_factor(factor)
        self._median = self._factor if median is None else median
        self.private = self._factor * base.private

    def represent(self, states: Sequence[State]) -> Rows:
        return self._base.represent(states)

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        return self._factor * self._base.cross(a, b)

    def variances(self, a: Rows) -> FloatArray:
        return self._factor * self._base.variances(a)

    def bind(self, problem: Problem | Space) -> "Covariance":
        return type(self)(self._base.bind(problem), self._factor, self._median)

    def prepared(self, rows: Rows) -> Rows:
        return self._base.prepared(rows)

    def of_rows(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        cross, variances = self._base.of_rows(rows, others)
        return self._factor * cross, self._factor * variances

    @property
    def reads_codes(self) -> bool:
        return self._base.reads_codes

    def of_leaves(self, codes: IntArray, others: Rows) -> tuple[FloatArray, FloatArray]:
        cross, variances = self._base.of_leaves(codes, others)
        return self._factor * cross, self._factor * variances

    @property
    def rates_swaps(self) -> bool:
        return self._base.rates_swaps

    def sums_of_swaps(self, codes: IntArray, others: Rows, weights: FloatArray) -> FloatArray:
        return self._factor * self._base.sums_of_swaps(codes, others, weights)

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        own = Hyperparameter("scale", self._factor, self._median, _SCALE_DEVIATION)
        return own, *self._base.hyperparameters

    def with_values(self, values: Sequence[float]) -> Self:
        return type(self)(self._base.with_values(values[1:]), values[0], self._median)

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        base, gradient_of_base = self._base.value_and_gradient(rows)
        matrix = self._factor * base

        def gradient(weights: FloatArray) -> FloatArray:
            return np.append(np.vdot(weights, matrix), gradient_of_base(self._factor * weights))

        return matrix, gradient

    def __repr__(self) -> str:
        return f"{self._factor!r} * {self._base!r}"


class ScaledFeatures(Scaled, FeatureMap):
    """A feature map times a positive number: features times its square root."""

    _base: FeatureMap

    @property
    def dimension(self) -> int:
        return self._base.dimension

    def features(self, states: Sequence[State]) -> SparseRows:
        return self._scaled(self._base.features(states))

    def added_features(self, children: Children) -> SparseRows | None:
        added = self._base.added_features(children)
        return added and self._scaled(added)

    def _scaled(self, rows: SparseRows) -> SparseRows:
        return SparseRows(rows.starts, rows.columns, math.sqrt(self._factor) * rows.values)


class _Pair(Covariance):
    """Two covariances, combined entry by entry."""

    _symbol: str
    """The operator, as ``repr`` writes it."""

    def __init__(self, first: Covariance, second: Covariance) -> None:
        self._first, self._second = first, second

    @staticmethod
    @abstractmethod
    def _combined(one: FloatArray, other: FloatArray) -> FloatArray:
        """Entries of the combination, from those of its two parts."""

    def represent(self, states: Sequence[State]) -> Rows:
        return Stacked([self._first.represent(states), self._second.represent(states)])

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        (a1, a2), (b1, b2) = _parts(a), _parts(b)
        return self._combined(self._first.cross(a1, b1), self._second.cross(a2, b2))

    def variances(self, a: Rows) -> FloatArray:
        first, second = _parts(a)
        return self._combined(self._first.variances(first), self._second.variances(second))

    def bind(self, problem: Problem | Space) -> "Covariance":
        return type(self)(self._first.bind(problem), self._second.bind(problem))

    def prepared(self, rows: Rows) -> Rows:
        first, second = _parts(rows)
        return Stacked([self._first.prepared(first), self._second.prepared(second)])

    def of_rows(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        (own1, own2), (others1, others2) = _parts(rows), _parts(others)
        return self._both(self._first.of_rows(own1, others1), self._second.of_rows(own2, others2))

    def _both(
        self, one: tuple[FloatArray, FloatArray], other: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """Covariances and variances of the combination."""
        return self._combined(one[0], other[0]), self._combined(one[1], other[1])

    @property
    def reads_codes(self) -> bool:
        return self._first.reads_codes and self._second.reads_codes

    def of_leaves(self, codes: IntArray, others: Rows) -> tuple[FloatArray, FloatArray]:
        first, second = _parts(others)
        return self._both(self._first.of_leaves(codes, first), self._second.of_leaves(codes, second))

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return *self._first.hyperparameters, *self._second.hyperparameters

    def with_values(self, values: Sequence[float]) -> Self:
        split = len(self._first.hyperparameters)
        return type(self)(self._first.with_values(values[:split]), self._second.with_values(values[split:]))

    def __repr__(self) -> str:
        return f"({self._first!r} {self._symbol} {self._second!r})"


def _parts(rows: Rows) -> tuple[Rows, Rows]:
    assert isinstance(rows, Stacked)
    first, second = rows.parts
    return first, second


class Sum(_Pair):
    """The sum of two covariances: g is a sum of two independent functions."""

    _symbol = "+"

    def __init__(self, first: Covariance, second: Covariance) -> None:
        super().__init__(first, second)
        self.private = first.private + second.private

    @staticmethod
    def _combined(one: FloatArray, other: FloatArray) -> FloatArray:
        return one + other

    @property
    def rates_swaps(self) -> bool:
        return self._first.rates_swaps and self._second.rates_swaps

    def sums_of_swaps(self, codes: IntArray, others: Rows, weights: FloatArray) -> FloatArray:
        first, second = _parts(others)
        of_first = self._first.sums_of_swaps(codes, first, weights)
        return of_first + self._second.sums_of_swaps(codes, second, weights)

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        first, second = _parts(rows)
        one, of_one = self._first.value_and_gradient(first)
        other, of_other = self._second.value_and_gradient(second)
        return one + other, lambda weights: np.append(of_one(weights), of_other(weights))


class Product(_Pair):
    """The product of two covariances: states are alike if they are alike in both respects."""

    _symbol = "*"

    def __init__(self, first: Covariance, second: Covariance) -> None:
        super().__init__(first, second)
        if first.private > 0.0 or second.private > 0.0:
            raise CovarianceError(
                f"a product of covariances needs factors without private variance, got {first!r} and "
                f"{second!r}: make them with private=0 and add one with private variance to the product"
            )

    @staticmethod
    def _combined(one: FloatArray, other: FloatArray) -> FloatArray:
        return one * other

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        first, second = _parts(rows)
        one, of_one = self._first.value_and_gradient(first)
        other, of_other = self._second.value_and_gradient(second)
        return one * other, lambda weights: np.append(of_one(weights * other), of_other(weights * one))
