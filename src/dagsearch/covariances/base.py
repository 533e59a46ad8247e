"""Base classes of covariances: in general, and with features.

A covariance turns states into rows of numbers once (:meth:`Covariance.represent`) and then works on rows, so
that a score model can keep the rows of thousands of states and never needs the states again. A
:class:`FeatureMap`, whose covariances are inner products of features, can also be used in weight space, where
the cost per reward does not grow with the number of rewards.

Scales and lengths, which are usually not known beforehand, are :attr:`Covariance.hyperparameters`;
:class:`dagsearch.posterior.evidence.Evidence` learns them from rewards.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.rows import Rows, SparseRows
from dagsearch.errors import CovarianceError
from dagsearch.problem import Children, Problem, State
from dagsearch.space import Space

# Step in the logarithm of a hyperparameter for central differences.
_STEP = 1e-4


class Hyperparameter(NamedTuple):
    """A positive number that is learnt from rewards, with its prior."""

    name: str
    """What it is."""
    value: float
    """Its current value."""
    median: float
    """Median of its log-normal prior."""
    deviation: float
    """Prior standard deviation of its logarithm."""


class Learnt:
    """A base class for objects with positive attributes that are learnt from rewards."""

    _learnt: Mapping[str, Hyperparameter] = {}
    """By the name of the attribute; the attribute has the current value."""

    def _learn(self, **attributes: tuple[str, float]) -> None:
        """Have attributes learnt, unless they are 0.

        Each is given with what it is and with the prior deviation of its logarithm. Its present value is the
        median.
        """
        values = {attribute: float(getattr(self, attribute)) for attribute in attributes}
        self._learnt = {
            attribute: Hyperparameter(name, values[attribute], values[attribute], deviation)
            for attribute, (name, deviation) in attributes.items()
            if values[attribute] > 0.0
        }

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """The parameters that are learnt from rewards; empty if all are fixed."""
        return tuple(one._replace(value=getattr(self, name)) for name, one in self._learnt.items())

    def with_values(self, values: Sequence[float]) -> Self:
        """The same with other values of the hyperparameters."""
        if len(values) != len(self._learnt):
            raise ValueError(f"{self!r} has {len(self._learnt)} hyperparameters, got {list(values)}")
        return changed(self, **dict(zip(self._learnt, map(float, values), strict=True)))


_Thing = TypeVar("_Thing")


def changed(thing: _Thing, **attributes: Any) -> _Thing:
    """A copy with other values of some attributes; everything else is shared with the original."""
    other = copy(thing)
    other.__dict__.update(attributes)
    return other


Gradient = Callable[[FloatArray], FloatArray]
"""From symmetric weights W to the derivatives of Σ W ∘ matrix by the logarithm of each hyperparameter."""


class Covariance(Learnt, ABC):
    """A covariance function over states.

    ``2.0 * a`` scales it, ``a + b`` and ``a * b`` are the sum and the product. Subclass it with
    :meth:`represent` and :meth:`cross` (and :meth:`variances`, if the diagonal is cheaper to compute alone).
    :class:`dagsearch.covariances.Pairwise` makes a covariance of a plain function of two states.
    """

    private: float = 0.0
    """Variance of an independent offset of every state ("+1 on the diagonal")."""

    __array_ufunc__ = None  # so that a NumPy number times a covariance calls __rmul__

    @abstractmethod
    def represent(self, states: Sequence[State]) -> Rows:
        """The states as rows, shape ``(n, width)``.

        The width may grow from call to call; older rows are then padded with zeros. Rows must not depend on
        the hyperparameters.
        """

    @abstractmethod
    def cross(self, a: Rows, b: Rows) -> FloatArray:
        """Covariances between two sets of rows, shape ``(len(a), len(b))``, without ``private``."""

    def variances(self, a: Rows) -> FloatArray:
        """The diagonal of ``cross(a, a)``, shape ``(len(a),)``."""
        return np.array([self.cross(a[i : i + 1], a[i : i + 1])[0, 0] for i in range(len(a))])

    def bind(self, problem: Problem | Space) -> "Covariance":
        """The covariance for the states of a problem, using what the problem offers to describe them."""
        return self

    def prepared(self, rows: Rows) -> Rows:
        """Rows in the form that :meth:`of_rows` and :meth:`of_leaves` take as ``others``."""
        return rows

    def of_rows(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        """Covariances of rows with ``prepared`` ones, shape ``(rows, others)``, and variances of the rows.

        Both are without ``private``.
        """
        return self.cross(rows, others), self.variances(rows)

    # Leaves by their codes ------------------------------------------------------------------------

    @property
    def reads_codes(self) -> bool:
        """Whether :meth:`of_leaves` can be used: the problem has codes, and the covariance knows them."""
        return False

    def of_leaves(self, codes: IntArray, others: Rows) -> tuple[FloatArray, FloatArray]:
        """:meth:`of_rows` of leaves that are given by their codes, without making the leaves.

        Parameters
        ----------
        codes : array of int, shape ``(leaves, places)``
            Rows of the problem's ``codes``.
        others : rows
            ``prepared`` rows of other leaves.

        Returns
        -------
        cross : array, shape ``(leaves, others)``
            Covariances, without ``private``.
        variances : array, shape ``(leaves,)``
            Variances of the leaves, without ``private``.
        """
        raise CovarianceError(f"{self!r} cannot compare leaves by their codes")

    @property
    def rates_swaps(self) -> bool:
        """Whether :meth:`sums_of_swaps` can be used: leaves are subsets, and the covariance reads codes."""
        return False

    def sums_of_swaps(self, codes: IntArray, others: Rows, weights: FloatArray) -> FloatArray:
        """Weighted sums of covariances of all leaves that have one choice exchanged for another.

        Parameters
        ----------
        codes : array of int, shape ``(places,)``
            A leaf: 1 at the places that are chosen, 0 at the others.
        others : rows
            ``prepared`` rows of other leaves.
        weights : array, shape ``(others,)``
            Weight of the covariances with each of them.

        Returns
        -------
        array, shape ``(chosen, unchosen)``
            At row i and column j the sum for the leaf without the i-th chosen place and with the j-th
            unchosen place; both are in ascending order.
        """
        raise CovarianceError(f"{self!r} cannot rate swaps")

    # Hyperparameters ------------------------------------------------------------------------------

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        """The matrix of distinct states, ``private`` included, and its gradient in the hyperparameters.

        The gradient is taken by central differences, unless a subclass overrides this.
        """
        values = np.array([parameter.value for parameter in self.hyperparameters])

        def gradient(weights: FloatArray) -> FloatArray:
            steps = _STEP * np.eye(len(values))
            changes = [
                self._matrix(rows, values * np.exp(step)) - self._matrix(rows, values * np.exp(-step))
                for step in steps
            ]
            return np.array([float(np.vdot(weights, change)) / (2.0 * _STEP) for change in changes])

        return self._matrix(rows, values), gradient

    def _matrix(self, rows: Rows, values: FloatArray) -> FloatArray:
        other = self.with_values(values.tolist())
        return other.cross(rows, rows) + other.private * np.eye(len(rows))

    # Use and algebra ------------------------------------------------------------------------------

    def __call__(self, xs: Sequence[State], ys: Sequence[State] | None = None) -> FloatArray:
        """Covariance matrix between states, ``private`` included; ``ys`` defaults to ``xs``."""
        rows = self.represent([*xs, *(xs if ys is None else ys)])
        matrix = self.cross(rows[: len(xs)], rows[len(xs) :])
        return matrix + self.private * _same(xs, xs if ys is None else ys)

    # The classes of the algebra are covariances themselves, so their module imports this one.

    def __rmul__(self, factor: float) -> "Covariance":
        from dagsearch.covariances.algebra import Scaled

        return Scaled(self, factor)

    def __mul__(self, other: "float | Covariance") -> "Covariance":
        from dagsearch.covariances.algebra import Product

        return Product(self, other) if isinstance(other, Covariance) else self.__rmul__(other)

    def __add__(self, other: "Covariance") -> "Covariance":
        from dagsearch.covariances.algebra import Sum

        return Sum(self, other) if isinstance(other, Covariance) else NotImplemented

    def step_variances(self, rows: Rows) -> FloatArray:
        """Variance of the change in g at each step of a path, given as rows; without ``private``."""
        if len(rows) < 2:
            return np.empty(0)
        matrix = self.cross(rows, rows)
        diagonal = matrix.diagonal()
        steps = diagonal[:-1] + diagonal[1:] - 2.0 * matrix.diagonal(1)
        return np.maximum(steps, 0.0)


def _same(xs: Sequence[State], ys: Sequence[State]) -> FloatArray:
    """1 where two states are equal, shape ``(len(xs), len(ys))``."""
    try:
        number = {state: place for place, state in enumerate([*xs, *ys])}
        first, second = (np.array([number[state] for state in states]) for states in (xs, ys))
        return np.asarray(first[:, None] == second, dtype=np.float64).reshape(len(xs), len(ys))
    except TypeError:  # states that cannot be hashed, such as arrays
        same = [[np.array_equal(x, y) for y in ys] for x in xs]
        return np.array(same, dtype=np.float64).reshape(len(xs), len(ys))


class FeatureMap(Covariance):
    """A covariance that is an inner product of feature vectors: g is linear in unknown weights.

    Subclasses implement :attr:`dimension` and :meth:`features`.
    """

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of features so far; may grow as more states are seen."""

    @abstractmethod
    def features(self, states: Sequence[State]) -> SparseRows:
        """Feature vectors of the states, as :class:`dagsearch.covariances.rows.SparseRows`.

        Their weights have unit prior variance.
        """

    def added_features(self, children: Children) -> SparseRows | None:
        """Features that each child adds to its parent's; ``None`` if all its features are as cheap."""
        return None

    def represent(self, states: Sequence[State]) -> Rows:
        starts, columns, values = self.features(states)
        rows = np.zeros((len(states), self.dimension))
        # += rather than =: a row may name a feature twice.
        np.add.at(rows, (np.repeat(np.arange(len(states)), np.diff(starts)), columns), values)
        return rows

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        width = min(a.shape[1], b.shape[1])  # features added since are zero in older rows
        return np.asarray(a[:, :width] @ b[:, :width].T, dtype=np.float64)

    def variances(self, a: Rows) -> FloatArray:
        return np.asarray(np.einsum("ij,ij->i", a, a), dtype=np.float64)

    def __rmul__(self, factor: float) -> "FeatureMap":
        from dagsearch.covariances.algebra import ScaledFeatures

        return ScaledFeatures(self, factor)
