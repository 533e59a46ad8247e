"""Covariances of the generative scores: which states are alike.

A covariance turns states into rows of numbers once (:meth:`Covariance.represent`) and then works on rows,
so that a score model can keep the rows of thousands of states and never touch the states again. Those
that are inner products of features (:class:`FeatureMap`) can also be used in weight space, at a cost per
reward that does not grow with the number of rewards.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh

from dagsearch._checks import is_finite
from dagsearch._typing import FloatArray, IntArray
from dagsearch.errors import CovarianceError
from dagsearch.problem import Children, Problem, State

Rows = NDArray[Any]


class SparseRows(NamedTuple):
    """Feature vectors as compressed sparse rows."""

    starts: IntArray
    """Row ``i`` holds entries ``starts[i]`` to ``starts[i + 1]``; shape ``(n + 1,)``."""
    columns: IntArray
    """Feature index of each entry."""
    values: FloatArray
    """Value of each entry."""


class Covariance(ABC):
    """A covariance function over states; ``2.0 * covariance`` scales it.

    Subclass it with :meth:`represent` and :meth:`cross` (and :meth:`variances`, if the diagonal is cheaper
    than that). A plain function of two states becomes a covariance through :class:`Pairwise`.
    """

    private: float = 0.0
    """Variance of an offset that every state has for itself ("+1 on the diagonal")."""

    __array_ufunc__ = None  # so that a NumPy number times a covariance comes to __rmul__

    @abstractmethod
    def represent(self, states: Sequence[State]) -> Rows:
        """The states as rows, shape ``(n, width)``.

        The width may grow from call to call; older rows are then filled up with zeros.
        """

    @abstractmethod
    def cross(self, a: Rows, b: Rows) -> FloatArray:
        """Covariances between two sets of rows, shape ``(len(a), len(b))``, without ``private``."""

    def variances(self, a: Rows) -> FloatArray:
        """The diagonal of ``cross(a, a)``, shape ``(len(a),)``."""
        return np.array([self.cross(a[i : i + 1], a[i : i + 1])[0, 0] for i in range(len(a))])

    def __call__(self, xs: Sequence[State], ys: Sequence[State] | None = None) -> FloatArray:
        """Covariance matrix between states, ``private`` included; ``ys`` defaults to ``xs``."""
        rows = self.represent([*xs, *(xs if ys is None else ys)])
        matrix = self.cross(rows[: len(xs)], rows[len(xs) :])
        same = [[_equal(x, y) for y in (xs if ys is None else ys)] for x in xs]
        return matrix + self.private * np.array(same, dtype=np.float64).reshape(matrix.shape)

    def __rmul__(self, factor: float) -> "Covariance":
        return _Scaled(self, factor)

    def __mul__(self, factor: float) -> "Covariance":
        return self.__rmul__(factor)

    def step_variances(self, path: Sequence[State]) -> FloatArray:
        """Variance of g's change at each step of a path, private offsets aside."""
        if len(path) < 2:
            return np.empty(0)
        matrix = self.cross(rows := self.represent(path), rows)
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

    def represent(self, states: Sequence[State]) -> Rows:
        starts, columns, values = self.features(states)
        rows = np.zeros((len(states), self.dimension))
        # += rather than =: a row may name a feature twice.
        np.add.at(rows, (np.repeat(np.arange(len(states)), np.diff(starts)), columns), values)
        return rows

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        return np.asarray(a @ b.T, dtype=np.float64)

    def variances(self, a: Rows) -> FloatArray:
        return np.asarray(np.einsum("ij,ij->i", a, a), dtype=np.float64)

    def __rmul__(self, factor: float) -> "FeatureMap":
        return _ScaledFeatures(self, factor)


def _checked_variance(name: str, value: float) -> float:
    if not is_finite(value) or value < 0.0:
        raise CovarianceError(f"{name} must be finite and not negative, got {value!r}")
    return float(value)


def _checked_factor(factor: float) -> float:
    if not is_finite(factor) or factor <= 0.0:
        raise CovarianceError(f"a covariance can be scaled by a positive number only, got {factor!r}")
    return float(factor)


class _Scaled(Covariance):
    def __init__(self, base: Covariance, factor: float) -> None:
        self._base, self._factor = base, _checked_factor(factor)
        self.private = self._factor * base.private

    def represent(self, states: Sequence[State]) -> Rows:
        return self._base.represent(states)

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        return self._factor * self._base.cross(a, b)

    def variances(self, a: Rows) -> FloatArray:
        return self._factor * self._base.variances(a)

    def __repr__(self) -> str:
        return f"{self._factor!r} * {self._base!r}"


class _ScaledFeatures(FeatureMap):
    def __init__(self, base: FeatureMap, factor: float) -> None:
        self._base, self._factor = base, _checked_factor(factor)
        self._root = math.sqrt(self._factor)
        self.private = self._factor * base.private

    @property
    def dimension(self) -> int:
        return self._base.dimension

    def features(self, states: Sequence[State]) -> SparseRows:
        starts, columns, values = self._base.features(states)
        return SparseRows(starts, columns, self._root * values)

    def added_features(self, children: Children) -> SparseRows | None:
        added = self._base.added_features(children)
        return added and SparseRows(added.starts, added.columns, self._root * added.values)

    def __repr__(self) -> str:
        return f"{self._factor!r} * {self._base!r}"


class _Index(dict[Hashable, int]):
    """Numbers items in the order in which they are first seen."""

    def __missing__(self, item: Hashable) -> int:
        self[item] = len(self)
        return self[item]


class _Common(Enum):
    """The item that all states share; an enumeration, to stay the same one when copied or pickled."""

    BIAS = 0


class Overlap(FeatureMap):
    """How many items two states share: |x ∩ y| + bias, the covariance of the paper's experiments.

    Equivalently, g is the sum of an unknown weight for every item of the state, plus one common unknown
    constant of variance ``bias``, plus an offset of variance ``private`` for every state alone.

    Parameters
    ----------
    items : callable, optional
        ``items(state)`` gives what the state consists of. By default a set consists of its elements, a
        tuple or string of its (position, element) pairs, a dataclass of its (field, value) pairs; a set
        or tuple inside a tuple or dataclass likewise of its elements.
    bias : float
        Added to every covariance.
    private : float
        Added on the diagonal; 1, as in the paper's feature selection, by default. It keeps the matrix
        definite and lets g of a leaf be what was observed there.
    added_items : callable, optional
        ``added_items(state, actions)``, see :class:`dagsearch.Problem`.

    Examples
    --------
    >>> Overlap()([frozenset({1, 2}), frozenset({2, 3})])
    array([[3., 1.],
           [1., 3.]])
    """

    def __init__(
        self,
        items: Callable[[State], Iterable[Hashable]] | None = None,
        bias: float = 0.0,
        private: float = 1.0,
        added_items: Callable[[State, Sequence[Any]], Sequence[Collection[Hashable]]] | None = None,
    ) -> None:
        self._items = items_of if items is None else items
        self._added_items = added_items
        self.bias = _checked_variance("bias", bias)
        self.private = _checked_variance("private", private)
        self._index = _Index({_Common.BIAS: 0})

    @classmethod
    def of(cls, problem: Problem, bias: float = 0.0, private: float = 1.0) -> "Overlap":
        """The overlap of what a problem says its states consist of."""
        items, added = getattr(problem, "items", None), getattr(problem, "added_items", None)
        return cls(items, bias, private, added if items is not None else None)

    @property
    def dimension(self) -> int:
        return len(self._index)

    def features(self, states: Sequence[State]) -> SparseRows:
        common = [_Common.BIAS] if self.bias > 0.0 else []
        return self._rows([[*common, *self._items(state)] for state in states])

    def added_features(self, children: Children) -> SparseRows | None:
        if self._added_items is None:
            return None
        return self._rows(self._added_items(children.parent, children.actions))

    def _rows(self, items_by_row: Sequence[Collection[Hashable]]) -> SparseRows:
        starts = np.zeros(len(items_by_row) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, items_by_row), np.int64, len(items_by_row)), out=starts[1:])
        items = chain.from_iterable(items_by_row)
        columns = np.fromiter(map(self._index.__getitem__, items), np.int64, int(starts[-1]))
        return SparseRows(starts, columns, np.where(columns == 0, math.sqrt(self.bias), 1.0))

    def __repr__(self) -> str:
        return f"Overlap(bias={self.bias!r}, private={self.private!r})"


def items_of(state: State) -> Iterable[Hashable]:
    """What a state consists of, told from its type."""
    if isinstance(state, (frozenset, set)):
        return state
    if isinstance(state, (str, bytes)):
        return enumerate(state)
    if isinstance(state, tuple):
        return [item for i, part in enumerate(state) for item in _items_of_part(i, part)]
    if is_dataclass(state):
        parts = [(field.name, getattr(state, field.name)) for field in fields(state)]
        return [item for name, part in parts for item in _items_of_part(name, part)]
    raise CovarianceError(
        f"cannot tell what the state {state!r} of type {type(state).__name__} consists of: pass "
        "covariance=dagsearch.covariances.Overlap(items=...), give the problem an items(state) method, "
        "or use another covariance"
    )


def _items_of_part(name: Hashable, part: Any) -> Iterable[Hashable]:
    """A set inside a state counts element by element, a tuple place by place, all else as a whole."""
    if isinstance(part, (frozenset, set)):
        return [(name, element) for element in part]
    if isinstance(part, tuple):
        return [(name, i, element) for i, element in enumerate(part)]
    return [(name, part)]


class Pairwise(Covariance):
    """A covariance given as a plain function of two states.

    Parameters
    ----------
    function : callable
        ``function(x, y)``, symmetric and positive semi-definite.
    private : float
        Variance of an offset that every state has for itself.

    Examples
    --------
    >>> Pairwise(lambda x, y: float(min(x, y)))([1, 2])
    array([[1., 1.],
           [1., 2.]])
    """

    def __init__(self, function: Callable[[State, State], float], private: float = 0.0) -> None:
        self._function = function
        self.private = _checked_variance("private", private)

    def represent(self, states: Sequence[State]) -> Rows:
        rows = np.empty((len(states), 1), dtype=object)
        for i, state in enumerate(states):  # a slice assignment would unpack tuples
            rows[i, 0] = state
        return rows

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        values = [[self._function(x, y) for y in b[:, 0]] for x in a[:, 0]]
        return np.array(values, dtype=np.float64).reshape(len(a), len(b))

    def __repr__(self) -> str:
        return f"Pairwise({self._function!r}, private={self.private!r})"


class SharedPath(Covariance):
    """Brownian walk on a tree: the length of the path that two states share, for :func:`dagsearch.as_tree`.

    Parameters
    ----------
    step : float
        Variance of the change from a state to its child.
    root : float
        Variance of the root.

    Examples
    --------
    >>> from dagsearch.problems import TreeState
    >>> SharedPath(step=1.0)([TreeState(("a", "b"), None)], [TreeState(("a", "c"), None)])
    array([[1.]])
    """

    def __init__(self, step: float, root: float = 0.0) -> None:
        if not is_finite(step) or step <= 0.0:
            raise CovarianceError(f"step must be positive and finite, got {step!r}")
        self.step, self.root = float(step), _checked_variance("root", root)

    def represent(self, states: Sequence[State]) -> Rows:
        rows = np.empty((len(states), 1), dtype=object)
        for i, state in enumerate(states):
            rows[i, 0] = state.path
        return rows

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        shared = [[self._shared(x, y) for y in b[:, 0]] for x in a[:, 0]]
        return self.root + self.step * np.array(shared, dtype=np.float64).reshape(len(a), len(b))

    @staticmethod
    def _shared(x: Sequence[Any], y: Sequence[Any]) -> int:
        for steps, (one, other) in enumerate(zip(x, y, strict=False)):
            if one != other:
                return steps
        return min(len(x), len(y))

    def __repr__(self) -> str:
        return f"SharedPath(step={self.step!r}, root={self.root!r})"


def checked_kind(covariance: Any) -> Covariance:
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
    smallest = float(eigvalsh(matrix)[0])
    if smallest < -1e-8 * scale * len(states):
        raise CovarianceError(
            f"the covariance {covariance!r} is not positive semi-definite: over {len(states)} sampled "
            f"states its matrix has the eigenvalue {smallest:.3g}. Use a valid kernel (sums and products "
            "of kernels are), or add private variance of at least that size"
        )
