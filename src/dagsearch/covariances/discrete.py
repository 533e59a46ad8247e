"""Covariances of states that consist of items."""

import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from itertools import chain
from typing import Any

import numpy as np

from dagsearch._internal.order import in_order
from dagsearch._internal.typing import FloatArray
from dagsearch.covariances.base import Covariance, Gradient
from dagsearch.covariances.parameters import changed, checked_positive, checked_variance
from dagsearch.covariances.rows import Rows, SparseRows
from dagsearch.errors import CovarianceError
from dagsearch.problem import Children, Problem, State
from dagsearch.space import Space


def items_of(state: State) -> Iterable[Hashable]:
    """The items of a state by its type: elements of a set, otherwise pairs of place and value.

    A set or tuple inside a state counts element by element.
    """
    if isinstance(state, Set):
        return state
    if isinstance(state, Mapping):
        return list(state.items())
    if isinstance(state, (str, bytes, tuple)):
        parts: Iterable[tuple[Hashable, Any]] = enumerate(state)
    elif is_dataclass(state):
        parts = [(field.name, getattr(state, field.name)) for field in fields(state)]
    else:
        raise CovarianceError(
            f"cannot tell what the state {state!r} of type {type(state).__name__} consists of: pass "
            "covariance=dagsearch.covariances.Overlap(items=...), give the problem an items(state) method, "
            "or use another covariance"
        )
    found: list[Hashable] = []
    for name, part in parts:
        if isinstance(part, Set):
            found += [((name, element), True) for element in in_order(part)]
        elif isinstance(part, tuple):
            found += [((name, i), element) for i, element in enumerate(part)]
        else:
            found.append((name, part))
    return found


class Index(dict[Hashable, int]):
    """Numbers items from 1 on in order of appearance; 0 is the feature that all states share."""

    def __missing__(self, item: Hashable) -> int:
        self[item] = len(self) + 1
        return self[item]


class Overlap(Covariance):
    """Number of shared items: |x ∩ y| + bias, the covariance of the paper's experiments.

    Equivalently, g is the sum of one unknown weight per item of the state, an unknown constant of variance
    ``bias``, and an independent offset of variance ``private`` per state. So it is an inner product of
    features, and the cost of a reward need not grow with their number.

    Parameters
    ----------
    items : callable, optional
        ``items(state)`` returns the state's items; by default the elements of a set, the (position,
        element) pairs of a tuple or string, or the (field, value) pairs of a dataclass. A set or tuple
        inside a tuple or dataclass counts element by element.
    bias : float
        Added to every covariance.
    private : float
        Added on the diagonal; by default 1, as in the paper's feature selection. It keeps the matrix
        positive definite and lets g of a leaf differ from the sum of its items' weights.
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
        self.bias, self.own = checked_variance("bias", bias), checked_variance("private", private)
        self.factor = 1.0
        self._learn(own=("private", 1.0))
        self._index = Index()

    @property
    def private(self) -> float:  # type: ignore[override]
        return self.factor * self.own

    def __rmul__(self, factor: float) -> "Overlap":
        """Scale all variances by a factor, which is learnt."""
        factor = checked_positive("the factor of a covariance", factor)
        scaled = changed(self, factor=factor * self.factor)
        scaled._learn(factor=("scale", 1.0), own=("private", 1.0))
        return scaled

    def represent(self, states: Sequence[State]) -> Rows:
        starts, columns, values = self._features(states, 1.0)
        rows = np.zeros((len(states), self.dimension))
        # += rather than =: a row may name a feature twice.
        np.add.at(rows, (np.repeat(np.arange(len(states)), np.diff(starts)), columns), values)
        return rows

    def cross(self, rows: Rows, others: Rows) -> FloatArray:
        width = min(rows.shape[1], others.shape[1])  # features added since are zero in older rows
        return np.asarray(self.factor * (rows[:, :width] @ others[:, :width].T))

    def variances(self, rows: Rows) -> FloatArray:
        return np.asarray(self.factor * np.einsum("ij,ij->i", rows, rows))

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        matrix = self.cross(rows, rows) + self.private * np.eye(len(rows))

        def gradient(weights: FloatArray) -> FloatArray:
            own = {"factor": np.vdot(weights, matrix), "own": self.private * weights.trace()}
            return np.array([own[name] for name in self._learnt])

        return matrix, gradient

    @classmethod
    def of(cls, problem: Problem, bias: float = 0.0, private: float = 1.0) -> "Overlap":
        """The overlap of the problem's own ``items``, if it has any."""
        space = Space.of(problem)
        problem = space.problem
        items, added = space.items, space.added_items
        covariance = cls(items, bias, private, added if items is not None else None)
        if items is not None and added is not None:
            # Number all items in advance: rounding must not depend on which states are seen first.
            state, before = problem.root(), covariance.dimension
            while covariance.dimension == before and len(actions := problem.actions(state)) > 0:
                covariance.added_features(Children(problem, state, actions))
                if covariance.dimension == before:  # the first decision adds no items
                    state = problem.step(state, actions[0])
        return covariance

    @property
    def dimension(self) -> int:
        """Number of features so far."""
        return len(self._index) + 1

    def features(self, states: Sequence[State]) -> SparseRows:
        """Feature vectors of the states. Their weights have unit prior variance."""
        return self._features(states, math.sqrt(self.factor))

    def _features(self, states: Sequence[State], scale: float) -> SparseRows:
        rows = self._rows([list(in_order(self._items(state))) for state in states], scale)
        if self.bias == 0.0:
            return rows
        starts, columns, values = rows
        values = np.insert(values, starts[:-1], scale * math.sqrt(self.bias))
        return SparseRows(starts + np.arange(starts.size), np.insert(columns, starts[:-1], 0), values)

    def added_features(self, children: Children) -> SparseRows | None:
        """Features that each child adds to its parent's; ``None`` if the problem does not list them."""
        if self._added_items is None:
            return None
        if children.added is None or children.added[0] is not self:
            added = self._added_items(children.parent, children.actions)
            if max(map(len, added), default=0) > 1:
                added = [list(in_order(items)) for items in added]
            children.added = self, self._rows(added, math.sqrt(self.factor))
        return children.added[1]

    def _rows(self, items_by_row: Sequence[Collection[Hashable]], scale: float) -> SparseRows:
        starts = np.zeros(len(items_by_row) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, items_by_row), np.int64, len(items_by_row)), out=starts[1:])
        items = chain.from_iterable(items_by_row)
        columns = np.fromiter(map(self._index.__getitem__, items), np.int64, int(starts[-1]))
        return SparseRows(starts, columns, np.full(columns.size, scale))

    def __repr__(self) -> str:
        scale = f"{self.factor!r} * " if "factor" in self._learnt else ""
        return f"{scale}Overlap(bias={self.bias!r}, private={self.own!r})"
