"""The base class of covariances, sums and multiples, and covariances from plain functions.

A covariance encodes states as rows of numbers (:meth:`Covariance.represent`). Score models keep these rows
and never need the states again. Codes become rows directly (:meth:`Covariance.from_codes`).

Scales and lengths are :attr:`Covariance.hyperparameters`, which
:class:`dagsearch.posterior.evidence.Evidence` learns from rewards.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.parameters import Learnt, checked_positive, checked_variance, flaws_of
from dagsearch.covariances.rows import Rows, Stacked
from dagsearch.errors import CovarianceError
from dagsearch.problem import Problem, State
from dagsearch.space import Space

Gradient = Callable[[FloatArray], FloatArray]
"""From symmetric weights W to the derivatives of Σ W ∘ matrix by the logarithm of each hyperparameter."""


class Covariance(Learnt, ABC):
    """A covariance function over states.

    ``2.0 * a`` scales it and ``a + b`` is the sum. Subclass it with :meth:`represent` and :meth:`cross` (and
    :meth:`variances`, if the diagonal is cheaper to compute alone). :class:`dagsearch.covariances.Pairwise`
    turns a plain function of two states into a covariance.
    """

    private: float = 0.0
    """Variance of an independent offset of every state ("+1 on the diagonal")."""
    reads_codes: bool = False
    """Whether :meth:`from_codes` is available."""

    __array_ufunc__ = None  # so that a NumPy number times a covariance calls __rmul__

    @abstractmethod
    def represent(self, states: Sequence[State]) -> Rows:
        """The states as rows, shape ``(n, width)``.

        The width may grow from call to call; older rows are then padded with zeros. Rows must not depend on
        the hyperparameters.
        """

    @abstractmethod
    def cross(self, rows: Rows, others: Rows) -> FloatArray:
        """Covariances of rows and :meth:`prepared` rows, shape ``(rows, others)``, without ``private``."""

    def prepared(self, rows: Rows) -> Rows:
        """Rows in the form that :meth:`cross` takes as ``others``; unchanged by default."""
        return rows

    def variances(self, rows: Rows) -> FloatArray:
        """Variances of rows, shape ``(rows,)``, without ``private``."""
        each = (rows[i : i + 1] for i in range(len(rows)))
        return np.array([self.cross(one, self.prepared(one))[0, 0] for one in each])

    def related(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        """:meth:`cross` and :meth:`variances`, which may have work in common."""
        return self.cross(rows, others), self.variances(rows)

    def bind(self, problem: Problem | Space) -> "Covariance":
        """The covariance adapted to a problem's states."""
        return self

    def from_codes(self, codes: IntArray) -> Rows:
        """The rows of leaves from their codes, which have shape ``(leaves, places)``."""
        raise CovarianceError(f"{self!r} cannot compare leaves by their codes")

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        """The matrix of distinct states, ``private`` included, and its gradient in the hyperparameters.

        A covariance that has hyperparameters overrides this.
        """
        if self.hyperparameters:
            raise CovarianceError(f"{self!r} has hyperparameters, so it must define value_and_gradient")
        matrix = self.cross(rows, self.prepared(rows)) + self.private * np.eye(len(rows))
        return matrix, lambda weights: np.zeros(0)

    def __call__(self, xs: Sequence[State], ys: Sequence[State] | None = None) -> FloatArray:
        """Covariance matrix between states, ``private`` included; ``ys`` defaults to ``xs``."""
        others = xs if ys is None else ys
        rows = self.represent([*xs, *others])
        matrix = self.cross(rows[: len(xs)], self.prepared(rows[len(xs) :]))
        if np.shape(matrix) != (len(xs), len(others)):
            name, shape = type(self).__name__, (len(xs), len(others))
            raise CovarianceError(f"{name}.cross must return shape {shape}, got {np.shape(matrix)}")
        return matrix + self.private * _same(xs, others)

    def __rmul__(self, factor: float) -> "Covariance":
        return Combined([self], factor)

    def __mul__(self, factor: float) -> "Covariance":
        return self.__rmul__(factor)

    def __add__(self, other: "Covariance") -> "Covariance":
        return Combined([self, other]) if isinstance(other, Covariance) else NotImplemented

    def step_variances(self, rows: Rows) -> FloatArray:
        """Variance of each step's change in g along a path of rows, without ``private``."""
        matrix = self.cross(rows, self.prepared(rows))
        diagonal = matrix.diagonal()
        steps = diagonal[:-1] + diagonal[1:] - 2.0 * matrix.diagonal(1)
        return np.maximum(steps, 0.0)


def _same(xs: Sequence[State], ys: Sequence[State]) -> FloatArray:
    """1 where two states are equal, shape ``(len(xs), len(ys))``."""
    try:
        number = {state: place for place, state in enumerate([*xs, *ys])}
        first, second = (np.array([number[state] for state in states], dtype=np.int64) for states in (xs, ys))
        return np.asarray(first[:, None] == second, dtype=np.float64)
    except TypeError:  # states that cannot be hashed: the problem has a key of its own
        same = [[np.array_equal(x, y) for y in ys] for x in xs]
        return np.array(same, dtype=np.float64).reshape(len(xs), len(ys))


# Sums and multiples -------------------------------------------------------------------------------


class Combined(Covariance):
    """A sum of covariances, or one covariance times a positive factor, which is learnt.

    Its hyperparameters are the factor, if there is one, followed by those of each part.
    """

    _parts: Sequence[Covariance]

    def __init__(self, parts: Sequence[Covariance], factor: float | None = None) -> None:
        self.factor = 1.0
        if factor is not None:
            self.factor = checked_positive("the factor of a covariance", factor)
            self._learn(factor=("scale", 1.0))
        self._parts = parts

    @property
    def private(self) -> float:  # type: ignore[override]
        return self.factor * sum(part.private for part in self._parts)

    @property
    def reads_codes(self) -> bool:  # type: ignore[override]
        return all(part.reads_codes for part in self._parts)

    def bind(self, problem: Problem | Space) -> "Covariance":
        return self._with_parts([part.bind(problem) for part in self._parts])

    def represent(self, states: Sequence[State]) -> Rows:
        return Stacked([part.represent(states) for part in self._parts])

    def from_codes(self, codes: IntArray) -> Rows:
        return Stacked([part.from_codes(codes) for part in self._parts])

    def prepared(self, rows: Rows) -> Rows:
        return Stacked([part.prepared(own) for part, own in self._paired(rows)])

    def _paired(self, *rows: Rows) -> Iterable[Any]:
        """Each part with its own rows of every argument."""
        return zip(self._parts, *(each.parts for each in rows), strict=True)

    def _sum(self, entries: Iterable[FloatArray]) -> FloatArray:
        return np.asarray(self.factor * sum(entries))

    def cross(self, rows: Rows, others: Rows) -> FloatArray:
        return self._sum(part.cross(one, other) for part, one, other in self._paired(rows, others))

    def variances(self, rows: Rows) -> FloatArray:
        return self._sum(part.variances(one) for part, one in self._paired(rows))

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        found = [part.value_and_gradient(own) for part, own in self._paired(rows)]
        whole = self._sum(matrix for matrix, _ in found)

        def gradient(weights: FloatArray) -> FloatArray:
            own = [np.vdot(weights, whole) for _ in self._learnt]  # the factor, if there is one
            return np.concatenate([own, *(of(self.factor * weights) for _, of in found)])

        return whole, gradient

    def __repr__(self) -> str:
        if self._learnt:
            return f"{self.factor!r} * {self._parts[0]!r}"
        return f"({' + '.join(map(repr, self._parts))})"


class Pairwise(Covariance):
    """A covariance from a plain function of two states.

    Parameters
    ----------
    function : callable
        ``function(x, y)``, symmetric and positive semi-definite.
    private : float
        Variance of an independent offset of every state.

    Examples
    --------
    >>> Pairwise(lambda x, y: float(min(x, y)))([1, 2])
    array([[1., 1.],
           [1., 2.]])
    """

    def __init__(self, function: Callable[[State, State], float], private: float = 0.0) -> None:
        self._function = function
        self.private = checked_variance("private", private)

    def represent(self, states: Sequence[State]) -> Rows:
        rows = np.empty((len(states), 1), dtype=object)
        for i, state in enumerate(states):  # a slice assignment would unpack tuples
            rows[i, 0] = state
        return rows

    def cross(self, rows: Rows, others: Rows) -> FloatArray:
        values = [[self._function(x, y) for y in others[:, 0]] for x in rows[:, 0]]
        return np.array(values, dtype=np.float64).reshape(len(rows), len(others))

    def __repr__(self) -> str:
        return f"Pairwise({self._function!r}, private={self.private!r})"


# Checks ------------------------------------------------------------------------------------------


def as_covariance(covariance: Any) -> Covariance:
    """``covariance`` itself; :class:`CovarianceError` unless it is a :class:`Covariance`."""
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
    pair, eigenvalue = flaws_of(matrix)
    if pair is not None:
        i, j = pair
        raise CovarianceError(
            f"the covariance {covariance!r} is not symmetric: {matrix[i, j]} for ({states[i]!r}, "
            f"{states[j]!r}) but {matrix[j, i]} in the opposite order"
        )
    if eigenvalue is not None:
        raise CovarianceError(
            f"the covariance {covariance!r} is not positive semi-definite: over {len(states)} sampled "
            f"states its matrix has the eigenvalue {eigenvalue:.3g}. Use a valid kernel (a sum "
            "of kernels is), or add private variance of at least that size"
        )
