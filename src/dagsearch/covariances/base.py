"""Covariances of the generative scores: which states are alike.

A covariance turns states into rows of numbers once (:meth:`Covariance.represent`) and then works on rows,
so that a score model can keep the rows of thousands of states and never touch the states again. Those
that are inner products of features (:class:`FeatureMap`) can also be used in weight space, at a cost per
reward that does not grow with the number of rewards.

What a covariance cannot know beforehand, its scales and lengths, are its :attr:`Covariance.hyperparameters`;
:class:`dagsearch.learning.evidence.Evidence` finds them from rewards.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dagsearch._internal import linalg
from dagsearch._internal.arrays import grown
from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.errors import CovarianceError
from dagsearch.problem import Children, Families, Problem, State


class Stacked:
    """Rows of several covariances side by side: what a sum or a product works on."""

    def __init__(self, parts: Sequence["Rows"]) -> None:
        self.parts = tuple(parts)

    def __len__(self) -> int:
        return len(self.parts[0])

    def __getitem__(self, index: Any) -> "Stacked":
        return Stacked([part[index] for part in self.parts])


Rows = Any
"""An array with one row per state, or :class:`Stacked` ones."""


class RowStore:
    """Rows that are added one after the other."""

    def __init__(self) -> None:
        self._count = 0
        self._stored: list[NDArray[Any]] = []

    def append(self, rows: Rows) -> None:
        """Add rows at the end; wider ones than before leave zeros in the others."""
        parts = _flat(rows)
        if not self._stored:
            self._stored = [np.zeros((0, 0), dtype=part.dtype) for part in parts]
            self._nested = _nested(rows)
        new = self._count + len(rows)
        for number, part in enumerate(parts):
            stored = grown(self._stored[number], new, part.shape[1])
            stored[self._count : new, : part.shape[1]] = part
            self._stored[number] = stored
        self._count = new

    def truncate(self, count: int) -> None:
        """Keep the first rows only."""
        self._count = count

    @property
    def rows(self) -> Rows:
        """All rows so far."""
        return _rebuilt(self._nested, iter([part[: self._count] for part in self._stored]))


def _flat(rows: Rows) -> list[NDArray[Any]]:
    if isinstance(rows, Stacked):
        return [array for part in rows.parts for array in _flat(part)]
    return [rows]


def _nested(rows: Rows) -> list[Any] | None:
    """How rows are stacked: a list of the same for every part, ``None`` for an array."""
    return [_nested(part) for part in rows.parts] if isinstance(rows, Stacked) else None


def _rebuilt(nested: list[Any] | None, arrays: Iterator[NDArray[Any]]) -> Rows:
    """Flat arrays stacked again."""
    return next(arrays) if nested is None else Stacked([_rebuilt(part, arrays) for part in nested])


class SparseRows(NamedTuple):
    """Feature vectors as compressed sparse rows."""

    starts: IntArray
    """Row ``i`` holds entries ``starts[i]`` to ``starts[i + 1]``; shape ``(n + 1,)``."""
    columns: IntArray
    """Feature index of each entry."""
    values: FloatArray
    """Value of each entry."""


class Hyperparameter(NamedTuple):
    """A positive number that rewards must tell, with what is believed of it before they do."""

    name: str
    """What it is."""
    value: float
    """What it is taken for now."""
    median: float
    """Of its log-normal prior."""
    deviation: float
    """Of its logarithm, a priori."""


Gradient = Callable[[FloatArray], FloatArray]
"""Of symmetric weights W, the derivatives of Σ W ∘ matrix by the logarithm of each hyperparameter."""


class Covariance(ABC):
    """A covariance function over states.

    ``2.0 * a`` scales it, ``a + b`` and ``a * b`` are the sum and the product. Subclass it with
    :meth:`represent` and :meth:`cross` (and :meth:`variances`, if the diagonal is cheaper than that). A plain
    function of two states becomes a covariance through :class:`Pairwise`.
    """

    private: float = 0.0
    """Variance of an offset that every state has for itself ("+1 on the diagonal")."""

    __array_ufunc__ = None  # so that a NumPy number times a covariance comes to __rmul__

    @abstractmethod
    def represent(self, states: Sequence[State]) -> Rows:
        """The states as rows, shape ``(n, width)``.

        The width may grow from call to call; older rows are then filled up with zeros. Rows must not depend
        on the hyperparameters.
        """

    @abstractmethod
    def cross(self, a: Rows, b: Rows) -> FloatArray:
        """Covariances between two sets of rows, shape ``(len(a), len(b))``, without ``private``."""

    def variances(self, a: Rows) -> FloatArray:
        """The diagonal of ``cross(a, a)``, shape ``(len(a),)``."""
        return np.array([self.cross(a[i : i + 1], a[i : i + 1])[0, 0] for i in range(len(a))])

    def bind(self, problem: Problem) -> "Covariance":
        """The covariance for the states of a problem, told what the problem says of them."""
        return self

    def prepared(self, rows: Rows) -> Rows:
        """Rows made ready to be compared with many others, for :meth:`of_rows` and :meth:`of_children`."""
        return rows

    def of_rows(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        """Covariances of rows with ``prepared`` ones, shape ``(rows, others)``, and variances of the rows.

        ``private`` is not in them.
        """
        return self.cross(rows, others), self.variances(rows)

    def of_children(
        self, families: Families, others: Rows, places: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """:meth:`of_rows` of all children of some states, or of those at some ``places``."""
        states = families.states
        return self.of_rows(
            self.represent(states if places is None else [states[place] for place in places]), others
        )

    def sums_of_children(self, families: Families, others: Rows, weights: FloatArray) -> FloatArray:
        """For every child of some states the weighted sum of its covariances with ``prepared`` rows.

        Override it if sums are cheaper than the covariances themselves.
        """
        return self.of_children(families, others)[0] @ weights

    # What rewards must tell ---------------------------------------------------------------------

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """What rewards must tell; nothing, if everything is given."""
        return ()

    def with_values(self, values: Sequence[float]) -> "Covariance":
        """The same with other values of the hyperparameters."""
        if len(values) > 0:
            raise ValueError(f"{self!r} has no hyperparameters, got {list(values)}")
        return self

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        """The matrix of distinct states, ``private`` included, and how it hangs on the hyperparameters.

        By central differences, unless overridden.
        """
        values = np.array([parameter.value for parameter in self.hyperparameters])

        def slopes(weights: FloatArray) -> FloatArray:
            steps = 1e-4 * np.eye(len(values))
            changes = [
                self._matrix(rows, values * np.exp(step)) - self._matrix(rows, values * np.exp(-step))
                for step in steps
            ]
            return np.array([float(np.vdot(weights, change)) / 2e-4 for change in changes])

        return self._matrix(rows, values), slopes

    def _matrix(self, rows: Rows, values: FloatArray) -> FloatArray:
        other = self.with_values(values.tolist())
        return other.cross(rows, rows) + other.private * np.eye(len(rows))

    # Use and algebra ------------------------------------------------------------------------------

    def __call__(self, xs: Sequence[State], ys: Sequence[State] | None = None) -> FloatArray:
        """Covariance matrix between states, ``private`` included; ``ys`` defaults to ``xs``."""
        rows = self.represent([*xs, *(xs if ys is None else ys)])
        matrix = self.cross(rows[: len(xs)], rows[len(xs) :])
        same = [[_equal(x, y) for y in (xs if ys is None else ys)] for x in xs]
        return matrix + self.private * np.array(same, dtype=np.float64).reshape(matrix.shape)

    def __rmul__(self, factor: float) -> "Covariance":
        return _Scaled(self, factor)

    def __mul__(self, other: "float | Covariance") -> "Covariance":
        return _Product(self, other) if isinstance(other, Covariance) else self.__rmul__(other)

    def __add__(self, other: "Covariance") -> "Covariance":
        return _Sum(self, other) if isinstance(other, Covariance) else NotImplemented

    def step_variances(self, rows: Rows) -> FloatArray:
        """Variance of g's change at each step of a path, given as rows; private offsets aside."""
        if len(rows) < 2:
            return np.empty(0)
        matrix = self.cross(rows, rows)
        diagonal = matrix.diagonal()
        steps = diagonal[:-1] + diagonal[1:] - 2.0 * matrix.diagonal(1)
        return np.maximum(steps, 0.0)


def _equal(x: State, y: State) -> bool:
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return np.array_equal(x, y)
    return bool(x == y)


class FeatureMap(Covariance):
    """A covariance that is an inner product of feature vectors: g is linear in unknown weights.

    Subclasses give :meth:`features`.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of features so far; may grow while states are seen."""

    @abstractmethod
    def features(self, states: Sequence[State]) -> SparseRows:
        """Feature vectors of the states; weights have unit prior variance."""

    def added_features(self, children: Children) -> SparseRows | None:
        """For each child, what it adds to its parent's features; ``None`` if not cheaper to know."""
        return None

    @property
    def single_features(self) -> tuple[IntArray, float] | None:
        """Where every action adds one feature, of one value: which, in the order of the actions at the root.

        Actions further down are those that are left, in the same order. ``None`` if it is not so.
        """
        return None

    def represent(self, states: Sequence[State]) -> Rows:
        starts, columns, values = self.features(states)
        rows = np.zeros((len(states), self.dimension))
        # += rather than =: a row may name a feature twice.
        np.add.at(rows, (np.repeat(np.arange(len(states)), np.diff(starts)), columns), values)
        return rows

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        width = min(a.shape[1], b.shape[1])  # features that are new since are zero in older rows
        return np.asarray(a[:, :width] @ b[:, :width].T, dtype=np.float64)

    def variances(self, a: Rows) -> FloatArray:
        return np.asarray(np.einsum("ij,ij->i", a, a), dtype=np.float64)

    def __rmul__(self, factor: float) -> "FeatureMap":
        return _ScaledFeatures(self, factor)


def checked_variance(name: str, value: float) -> float:
    """``value`` if it can be a variance."""
    if not is_finite(value) or value < 0.0:
        raise CovarianceError(f"{name} must be finite and not negative, got {value!r}")
    return float(value)


def _checked_factor(factor: float) -> float:
    if not is_finite(factor) or factor <= 0.0:
        raise CovarianceError(f"a covariance can be scaled by a positive number only, got {factor!r}")
    return float(factor)


# How far off the scale of a covariance may well be: a factor of e either way is one deviation.
_SCALE_DEVIATION = 1.0


class _Scaled(Covariance):
    def __init__(self, base: Covariance, factor: float, median: float | None = None) -> None:
        self._base, self._factor = base, _checked_factor(factor)
        self._median = self._factor if median is None else median
        self.private = self._factor * base.private

    def represent(self, states: Sequence[State]) -> Rows:
        return self._base.represent(states)

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        return self._factor * self._base.cross(a, b)

    def variances(self, a: Rows) -> FloatArray:
        return self._factor * self._base.variances(a)

    def bind(self, problem: Problem) -> "Covariance":
        return type(self)(self._base.bind(problem), self._factor, self._median)

    def prepared(self, rows: Rows) -> Rows:
        return self._base.prepared(rows)

    def of_rows(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        cross, variances = self._base.of_rows(rows, others)
        return self._factor * cross, self._factor * variances

    def of_children(
        self, families: Families, others: Rows, places: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        cross, variances = self._base.of_children(families, others, places)
        return self._factor * cross, self._factor * variances

    def sums_of_children(self, families: Families, others: Rows, weights: FloatArray) -> FloatArray:
        return self._factor * self._base.sums_of_children(families, others, weights)

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        own = Hyperparameter("scale", self._factor, self._median, _SCALE_DEVIATION)
        return own, *self._base.hyperparameters

    def with_values(self, values: Sequence[float]) -> "Covariance":
        return type(self)(self._base.with_values(values[1:]), values[0], self._median)

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        base, slopes = self._base.value_and_gradient(rows)
        matrix = self._factor * base

        def scaled(weights: FloatArray) -> FloatArray:
            return np.append(np.vdot(weights, matrix), slopes(self._factor * weights))

        return matrix, scaled

    def __repr__(self) -> str:
        return f"{self._factor!r} * {self._base!r}"


class _ScaledFeatures(_Scaled, FeatureMap):
    _base: FeatureMap

    @property
    def dimension(self) -> int:
        return self._base.dimension

    def features(self, states: Sequence[State]) -> SparseRows:
        return self._scaled(self._base.features(states))

    def added_features(self, children: Children) -> SparseRows | None:
        added = self._base.added_features(children)
        return added and self._scaled(added)

    @property
    def single_features(self) -> tuple[IntArray, float] | None:
        single = self._base.single_features
        return None if single is None else (single[0], math.sqrt(self._factor) * single[1])

    def _scaled(self, rows: SparseRows) -> SparseRows:
        return rows._replace(values=math.sqrt(self._factor) * rows.values)


class _Pair(Covariance):
    """What a sum and a product share."""

    def __init__(self, first: Covariance, second: Covariance) -> None:
        self._first, self._second = first, second

    def represent(self, states: Sequence[State]) -> Rows:
        return Stacked([self._first.represent(states), self._second.represent(states)])

    def bind(self, problem: Problem) -> "Covariance":
        return type(self)(self._first.bind(problem), self._second.bind(problem))

    def prepared(self, rows: Rows) -> Rows:
        first, second = _parts(rows)
        return Stacked([self._first.prepared(first), self._second.prepared(second)])

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        return *self._first.hyperparameters, *self._second.hyperparameters

    def with_values(self, values: Sequence[float]) -> "Covariance":
        split = len(self._first.hyperparameters)
        return type(self)(self._first.with_values(values[:split]), self._second.with_values(values[split:]))


def _parts(rows: Rows) -> tuple[Rows, Rows]:
    assert isinstance(rows, Stacked)
    first, second = rows.parts
    return first, second


class _Sum(_Pair):
    def __init__(self, first: Covariance, second: Covariance) -> None:
        super().__init__(first, second)
        self.private = first.private + second.private

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        (a1, a2), (b1, b2) = _parts(a), _parts(b)
        return self._first.cross(a1, b1) + self._second.cross(a2, b2)

    def variances(self, a: Rows) -> FloatArray:
        first, second = _parts(a)
        return self._first.variances(first) + self._second.variances(second)

    def of_rows(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        (own1, own2), (others1, others2) = _parts(rows), _parts(others)
        one, other = self._first.of_rows(own1, others1), self._second.of_rows(own2, others2)
        return one[0] + other[0], one[1] + other[1]

    def of_children(
        self, families: Families, others: Rows, places: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        first, second = _parts(others)
        one = self._first.of_children(families, first, places)
        other = self._second.of_children(families, second, places)
        return one[0] + other[0], one[1] + other[1]

    def sums_of_children(self, families: Families, others: Rows, weights: FloatArray) -> FloatArray:
        first, second = _parts(others)
        of_first = self._first.sums_of_children(families, first, weights)
        return of_first + self._second.sums_of_children(families, second, weights)

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        first, second = _parts(rows)
        one, of_one = self._first.value_and_gradient(first)
        other, of_other = self._second.value_and_gradient(second)
        return one + other, lambda weights: np.append(of_one(weights), of_other(weights))

    def __repr__(self) -> str:
        return f"({self._first!r} + {self._second!r})"


class _Product(_Pair):
    def __init__(self, first: Covariance, second: Covariance) -> None:
        super().__init__(first, second)
        if first.private > 0.0 or second.private > 0.0:
            raise CovarianceError(
                f"a product of covariances needs factors without private variance, got {first!r} and "
                f"{second!r}: make them with private=0 and add one with private variance to the product"
            )

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        (a1, a2), (b1, b2) = _parts(a), _parts(b)
        return self._first.cross(a1, b1) * self._second.cross(a2, b2)

    def variances(self, a: Rows) -> FloatArray:
        first, second = _parts(a)
        return self._first.variances(first) * self._second.variances(second)

    def of_rows(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        (own1, own2), (others1, others2) = _parts(rows), _parts(others)
        one, other = self._first.of_rows(own1, others1), self._second.of_rows(own2, others2)
        return one[0] * other[0], one[1] * other[1]

    def of_children(
        self, families: Families, others: Rows, places: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        first, second = _parts(others)
        one = self._first.of_children(families, first, places)
        other = self._second.of_children(families, second, places)
        return one[0] * other[0], one[1] * other[1]

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        first, second = _parts(rows)
        one, of_one = self._first.value_and_gradient(first)
        other, of_other = self._second.value_and_gradient(second)
        return one * other, lambda weights: np.append(of_one(weights * other), of_other(weights * one))

    def __repr__(self) -> str:
        return f"({self._first!r} * {self._second!r})"


def as_covariance(covariance: Any) -> Covariance:
    """``covariance``, or :class:`CovarianceError` if it is no :class:`Covariance`."""
    if not isinstance(covariance, Covariance):
        advice = "wrap a function in Pairwise, give items to Overlap, or subclass Covariance"
        raise CovarianceError(f"covariance must be a dagsearch covariance, got {covariance!r}: {advice}")
    return covariance


def check_covariance(covariance: Covariance, states: Sequence[State]) -> None:
    """Raise :class:`CovarianceError` unless the matrix over ``states`` is a covariance matrix."""
    matrix = covariance(states)
    if not np.all(np.isfinite(matrix)):
        i, j = (int(index) for index in np.argwhere(~np.isfinite(matrix))[0])
        raise CovarianceError(
            f"the covariance {covariance!r} of {states[i]!r} and {states[j]!r} is {matrix[i, j]}, "
            "not a finite number"
        )
    scale = max(float(np.abs(matrix).max()), np.finfo(np.float64).tiny)
    lopsided = np.abs(matrix - matrix.T)
    if lopsided.max() > 1e-8 * scale:
        i, j = divmod(int(lopsided.argmax()), len(states))
        raise CovarianceError(
            f"the covariance {covariance!r} is not symmetric: {matrix[i, j]} for ({states[i]!r}, "
            f"{states[j]!r}) but {matrix[j, i]} the other way round"
        )
    smallest = float(linalg.eigvalsh(matrix)[0])
    if smallest < -1e-8 * scale * len(states):
        raise CovarianceError(
            f"the covariance {covariance!r} is not positive semi-definite: over {len(states)} sampled "
            f"states its matrix has the eigenvalue {smallest:.3g}. Use a valid kernel (sums and products "
            "of kernels are), or add private variance of at least that size"
        )
