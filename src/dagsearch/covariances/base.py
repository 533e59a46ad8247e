"""Base classes of covariances: in general, and with features.

A covariance turns states into rows of numbers once (:meth:`Covariance.represent`) and then works on rows, so
that a score model can keep the rows of thousands of states and never needs the states again. A
:class:`FeatureMap`, whose covariances are inner products of features, can also be used in weight space, where
the cost per reward does not grow with the number of rewards.

Scales and lengths, which are usually not known beforehand, are :attr:`Covariance.hyperparameters`;
:class:`dagsearch.posterior.evidence.Evidence` learns them from rewards.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.rows import Rows, SparseRows
from dagsearch.problem import Children, Families, Problem, State

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


Gradient = Callable[[FloatArray], FloatArray]
"""From symmetric weights W to the derivatives of Σ W ∘ matrix by the logarithm of each hyperparameter."""


class Covariance(ABC):
    """A covariance function over states.

    ``2.0 * a`` scales it, ``a + b`` and ``a * b`` are the sum and the product. Subclass it with
    :meth:`represent` and :meth:`cross` (and :meth:`variances`, if the diagonal is cheaper to compute alone).
    :class:`dagsearch.covariances.Pairwise` makes a covariance of a plain function of two states.
    """

    private: float = 0.0
    """Variance of an independent offset of every state ("+1 on the diagonal")."""

    reads_codes: bool = False
    """Whether there is :meth:`of_leaves`."""

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

    def bind(self, problem: Problem) -> "Covariance":
        """The covariance for the states of a problem, using what the problem offers to describe them."""
        return self

    def prepared(self, rows: Rows) -> Rows:
        """Rows in the form that :meth:`of_rows` and :meth:`of_children` take as ``others``."""
        return rows

    def of_rows(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        """Covariances of rows with ``prepared`` ones, shape ``(rows, others)``, and variances of the rows.

        Both are without ``private``.
        """
        return self.cross(rows, others), self.variances(rows)

    def of_leaves(self, codes: IntArray, others: Rows) -> tuple[FloatArray, FloatArray]:
        """:meth:`of_rows` of leaves that are given by their codes, with ``prepared`` rows of leaves."""
        raise NotImplementedError(f"{self!r} cannot read codes")

    def of_children(
        self, families: Families, others: Rows, places: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """:meth:`of_rows` of all children of some states, or only of the children at ``places``."""
        states = families.states
        return self.of_rows(
            self.represent(states if places is None else [states[place] for place in places]), others
        )

    def sums_of_children(self, families: Families, others: Rows, weights: FloatArray) -> FloatArray:
        """Weighted sum of each child's covariances with ``prepared`` rows, shape ``(children,)``.

        Override it if the sums are cheaper to compute than the covariances.
        """
        return self.of_children(families, others)[0] @ weights

    # Hyperparameters ------------------------------------------------------------------------------

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """The parameters that are learnt from rewards; empty if all are fixed."""
        return ()

    def with_values(self, values: Sequence[float]) -> "Covariance":
        """The same covariance with other values of its hyperparameters."""
        if len(values) > 0:
            raise ValueError(f"{self!r} has no hyperparameters, got {list(values)}")
        return self

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
        same = [[_equal(x, y) for y in (xs if ys is None else ys)] for x in xs]
        return matrix + self.private * np.array(same, dtype=np.float64).reshape(matrix.shape)

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


def _equal(x: State, y: State) -> bool:
    if isinstance(x, np.ndarray) or isinstance(y, np.ndarray):
        return np.array_equal(x, y)
    return bool(x == y)


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

    @property
    def single_features(self) -> tuple[IntArray, float] | None:
        """If every action adds one feature, always of the same value: the features, and the value.

        Features are in the order of the root's actions; further down, the remaining actions keep that order.
        ``None`` if actions do not work that way.
        """
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
