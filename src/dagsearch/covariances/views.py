r"""A covariance for whatever the choices are: several views of a state, each weighted by the evidence.

==========  ===========  ==================  =====================================================
symbol      code         shape               meaning
==========  ===========  ==================  =====================================================
φ_v(x)      features     ``(features,)``     view v of a state: expected features of its random
                                             completions, centred, and scaled so that random leaves
                                             have unit norm on average
w           relevance    ``(places,)``       weight of each place in the first view of a vector
a_v         linear       ``(views,)``        variance of a trend that is linear in view v
b           nonlinear    —                   variance of a remainder that falls off with distance
θ_v         decay        ``(views,)``        how fast it falls off in view v
==========  ===========  ==================  =====================================================

The covariance is bias + Σ_v a_v φ_v(x)·φ_v(y) + b exp(−½ Σ_v θ_v |φ_v(x) − φ_v(y)|²). A view that explains
nothing has its a_v and θ_v learnt to be small, and is then left out of the computation.

Only equality of categories counts, so that relabelling the categories of a place changes nothing in the views
of places. g of a partial state is what its random completions earn as far as the trend goes.

Rows are codes. Complete states are compared by what they share; features are made of partial states and of
what these are compared with, a block at a time.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.covariances.base import Covariance, Gradient, Hyperparameter
from dagsearch.covariances.checks import checked_factor
from dagsearch.covariances.counts import views_of
from dagsearch.covariances.rows import Rows
from dagsearch.errors import CovarianceError
from dagsearch.problem import Capabilities, Problem, State
from dagsearch.space.codes import Coding, coding_of
from dagsearch.space.walks import random_leaves

_BIAS = 0.3
# Prior medians and deviations of the logarithms: first view, other views.
_LINEAR, _LINEAR_DEVIATION = (0.6, 0.3), 1.2
_DECAY, _DECAY_DEVIATION = (1.0, 0.3), (1.0, 1.5)
_NONLINEAR, _PRIVATE = 0.5, 0.01
# Numbers of places up to which their relevance is learnt.
_MOST_RELEVANCES = 64
# A view whose weights are below this share of the largest ones is left out.
_NEGLIGIBLE = 2e-3
# Numbers in a block of features: 16 MB.
_BLOCK = 2_000_000


class _Products(NamedTuple):
    """Inner products of some rows, which do not depend on the hyperparameters."""

    rows: Rows
    """Whose they are."""
    values: FloatArray
    """Features of the first view, if the relevance of places is learnt; otherwise empty."""
    grams: list[FloatArray]
    """Inner products in each view."""
    apart: list[FloatArray]
    """Half the squared distances in each view."""


class _Described:
    """The states of a problem as views that are scaled by random leaves.

    Parameters
    ----------
    coding : Coding
        How states are written as codes.
    leaves : array of int, shape ``(leaves, places)``
        Codes of random leaves.
    """

    def __init__(self, coding: Coding, leaves: IntArray) -> None:
        self.coding, self.views = coding, views_of(coding.layout)
        count = len(coding.layout.categories)
        self.places = count if coding.layout.kind == "places" and count <= _MOST_RELEVANCES else 0
        self.alike = np.ones(count)
        self.squares = 1.0 / np.maximum(self.norms(leaves, self.alike).mean(axis=0), 1e-12)
        others = len(self.squares) - 1
        linear, decay = [_LINEAR[0], *[_LINEAR[1]] * others], [_DECAY[0], *[_DECAY[1]] * others]
        self.medians = np.array([*linear, *decay, _NONLINEAR, _PRIVATE, *[1.0] * self.places])
        spread = [*[_LINEAR_DEVIATION] * (others + 1), _DECAY_DEVIATION[0], *[_DECAY_DEVIATION[1]] * others]
        self.deviations = np.array([*spread, 1.0, 1.0, *[1.0] * self.places])
        self._last: _Products | None = None
        self._order_steps: FloatArray | None = None

    @property
    def names(self) -> list[str]:
        """Names of the hyperparameters."""
        names = [f"{part}, {name}" for part in ("linear", "decay") for name in self.views.names]
        return [*names, "nonlinear", "private", *(f"relevance of place {i}" for i in range(self.places))]

    def norms(self, rows: Rows, relevance: FloatArray) -> FloatArray:
        """Squared norms in each view, not scaled, shape ``(rows, views)``."""
        whole = (rows >= 0).all(axis=1)
        found = np.empty((len(rows), len(self.views.names)))
        found[whole] = self.views.norms(rows[whole], relevance)
        for some in self._blocks(np.flatnonzero(~whole)):
            for view, features in enumerate(self._features(rows[some], np.sqrt(relevance))):
                found[some, view] = (features * features).sum(axis=1)
        return found

    def grams(self, a: Rows, b: Rows, relevance: FloatArray, wanted: BoolArray) -> FloatArray:
        """Inner products in each view, not scaled, shape ``(views, a, b)``; if not ``wanted``, maybe zero."""
        # Compiled functions are compiled anew for other types and layouts.
        a, b = (np.ascontiguousarray(rows, dtype=np.int64) for rows in (a, b))
        whole, others_whole = (a >= 0).all(axis=1), (b >= 0).all(axis=1)
        if whole.all() and others_whole.all():
            return self.views.grams(a, b, relevance, wanted)
        found = np.empty((len(self.views.names), len(a), len(b)))
        of_whole = self.views.grams(a[whole], b[others_whole], relevance, wanted)
        found[:, whole[:, None] & others_whole] = of_whole.reshape(len(found), -1)
        for some, others in ((~whole, others_whole), (np.full(len(a), True), ~others_whole)):
            self._fill(found, a, b, np.flatnonzero(some), np.flatnonzero(others), relevance)
        return found

    def _fill(
        self, grams: FloatArray, a: Rows, b: Rows, some: IntArray, others: IntArray, relevance: FloatArray
    ) -> None:
        """Write inner products of some rows with others, by their features."""
        for ours in self._blocks(some):
            features = self._features(a[ours], relevance)
            for theirs in self._blocks(others):
                for gram, one, other in zip(grams, features, self.views.features(b[theirs]), strict=True):
                    gram[np.ix_(ours, theirs)] = one @ other.T

    def steps(self, rows: Rows, relevance: FloatArray) -> FloatArray:
        """Squared distances of rows from the next ones in each view, not scaled; shape ``(steps, views)``."""
        if self.coding.layout.kind == "places" or not _is_order(rows):
            return self._steps(rows, relevance)
        if self._order_steps is None:  # items are alike, so that the steps to all orders are
            self._order_steps = self._steps(rows, relevance)
        return self._order_steps

    def _steps(self, rows: Rows, relevance: FloatArray) -> FloatArray:
        found = np.empty((max(len(rows) - 1, 0), len(self.views.names)))
        for some in self._blocks(np.arange(len(found))):
            path = rows[some[0] : some[-1] + 2]
            for view, features in enumerate(self._features(path, np.sqrt(relevance))):
                found[some, view] = (np.diff(features, axis=0) ** 2).sum(axis=1)
        return found

    def _features(self, rows: Rows, relevance: FloatArray) -> list[FloatArray]:
        """Features, those of the first view times the relevance of their place."""
        first, *others = self.views.features(rows)
        if self.places:
            first = first * relevance.repeat(self.coding.layout.categories)
        return [first, *others]

    def _blocks(self, places: IntArray) -> Iterator[IntArray]:
        """Places of rows, as many at a time as may have features at once."""
        step = max(1, _BLOCK // self.views.width)
        return (places[first : first + step] for first in range(0, len(places), step))

    def products(self, rows: Rows) -> _Products:
        """Inner products of rows, scaled; the last ones are kept, since a refit asks for them many times."""
        if self._last is None or self._last.rows is not rows:
            grams = self.grams(rows, rows, self.alike, np.full(len(self.squares), True))
            scaled = [square * gram for square, gram in zip(self.squares, grams, strict=True)]
            values = np.empty((len(rows), 0))
            if self.places:
                values = math.sqrt(self.squares[0]) * self.views.features(rows)[0]
            self._last = _Products(rows, values, scaled, [_apart(gram) for gram in scaled])
        return self._last


def _is_order(path: Rows) -> bool:
    """Whether a path leads from the root to a complete order, item by item."""
    count = path.shape[1]
    placed = np.tri(count + 1, count, -1, dtype=np.bool_)
    return len(path) == count + 1 and np.array_equal(path, np.where(placed, path[-1], -1))


def _apart(gram: FloatArray) -> FloatArray:
    """Half the squared distances, from inner products."""
    return np.asarray(0.5 * (gram.diagonal()[:, None] + gram.diagonal()) - gram)


class Views(Covariance):
    """Covariance of states with codes, see :class:`dagsearch.space.codes.Coding`.

    It has no parameters: everything is learnt. :meth:`bind` it to a problem before use, which fills in the
    arguments.
    """

    reads_codes = True

    def __init__(
        self, described: _Described | None = None, values: FloatArray | None = None, factor: float = 1.0
    ) -> None:
        self._described, self._factor = described, factor
        if described is None or values is None:
            return
        count = len(described.squares)
        self._values = values
        self.linear, self.decay = values[:count], values[count : 2 * count]
        self.nonlinear, self.private = values[2 * count : 2 * count + 2].tolist()
        self.relevance = values[2 * count + 2 :] if described.places else described.alike

    def bind(self, problem: Problem) -> "Covariance":
        coding = coding_of(problem)
        if coding is None:
            raise CovarianceError(
                f"Views needs states with codes, which {type(problem).__name__} does not have. Use "
                "problems.Choices, Orders or Sequences, or states that are tuples of decisions"
            )
        return self.with_coding(coding, random_leaves(problem))

    def with_coding(self, coding: Coding, leaves: Sequence[State]) -> "Covariance":
        """The covariance for states with these codes; ``leaves`` are random leaves of their problem."""
        described = _Described(coding, coding.codes(leaves))
        return Views(described, described.medians)

    @property
    def _bound(self) -> _Described:
        if self._described is None:
            raise CovarianceError("Views must know the problem first: call Views().bind(problem)")
        return self._described

    @property
    def coding(self) -> Coding:
        """How the problem's states are written as codes."""
        return self._bound.coding

    # Rows are codes ----------------------------------------------------------------------------------

    def represent(self, states: Sequence[State]) -> Rows:
        return self.coding.codes(states)

    @cached_property
    def _wanted(self) -> BoolArray:
        """Which views explain something."""
        wanted = self.linear > _NEGLIGIBLE * (self.linear.max() + self.nonlinear)
        if self.nonlinear > _NEGLIGIBLE * self.linear.max():
            wanted |= self.decay > _NEGLIGIBLE * self.decay.max()
        return np.asarray(wanted)

    @cached_property
    def _weights(self) -> FloatArray:
        """Weights of inner products and of distances in each view, shape ``(2, views)``."""
        return np.asarray(self._wanted * self._bound.squares * [self.linear, self.decay])

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        grams = self._bound.grams(a, b, self.relevance, self._wanted)
        sums = self._weights @ grams.reshape(len(grams), -1)
        inner, near = sums.reshape(2, len(a), len(b))
        own, theirs = (self._bound.norms(rows, self.relevance) @ self._weights[1] for rows in (a, b))
        near -= 0.5 * own[:, None]
        near -= 0.5 * theirs
        np.exp(np.minimum(near, 0.0, out=near), out=near)
        near *= self.nonlinear
        inner += near
        inner += self._factor * _BIAS
        return np.asarray(inner)

    def variances(self, a: Rows) -> FloatArray:
        shared = self._factor * _BIAS + self.nonlinear
        return np.asarray(self._bound.norms(a, self.relevance) @ self._weights[0] + shared)

    def of_leaves(self, codes: IntArray, others: Rows) -> tuple[FloatArray, FloatArray]:
        return self.of_rows(codes, others)

    def step_variances(self, rows: Rows) -> FloatArray:
        """Σ_v a_v q_v + 2 b (1 − exp(−½ Σ_v θ_v q_v)) of squared distances q_v in each view."""
        trend, falloff = self._weights
        squared = self._bound.steps(rows, self.relevance)
        fallen = -np.expm1(-0.5 * squared @ falloff)
        return np.asarray(squared @ trend + 2.0 * self.nonlinear * fallen)

    # Hyperparameters ---------------------------------------------------------------------------------

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        described = self._bound
        medians = described.medians * self._scales(self._factor)
        numbers = zip(described.names, self._values, medians, described.deviations, strict=True)
        return tuple(Hyperparameter(name, *map(float, three)) for name, *three in numbers)

    def with_values(self, values: Sequence[float]) -> Self:
        return type(self)(self._bound, np.asarray(values, dtype=np.float64), self._factor)

    def _scales(self, factor: float) -> FloatArray:
        """``factor`` for the hyperparameters that are variances, 1 for the others."""
        count = len(self.linear)
        scales = np.ones(len(self._values))
        scales[:count], scales[2 * count : 2 * count + 2] = factor, factor
        return scales

    def __rmul__(self, factor: float) -> "Covariance":
        """Scale the variances themselves, so that the factor needs no hyperparameter."""
        factor = checked_factor(factor)
        return Views(self._bound, self._scales(factor) * self._values, factor * self._factor)

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        kept = self._bound.products(rows)
        grams, apart, values = kept.grams, kept.apart, kept.values
        if self._bound.places:
            first = (values * self.relevance.repeat(self.coding.layout.categories)) @ values.T
            grams, apart = [first, *grams[1:]], [_apart(first), *apart[1:]]
        fall = np.exp(-sum(decay * each for decay, each in zip(self.decay, apart, strict=True)))
        matrix = self._factor * _BIAS + self.nonlinear * fall
        for linear, gram in zip(self.linear, grams, strict=True):
            matrix += linear * gram
        matrix[np.diag_indices(len(rows))] += self.private

        def gradient(weights: FloatArray) -> FloatArray:
            falling = self.nonlinear * weights * fall
            trend = self.linear * [np.vdot(weights, gram) for gram in grams]
            decay = -self.decay * [np.vdot(falling, each) for each in apart]
            of_places = self._gradient_of_places(values, weights, falling)
            return np.array([*trend, *decay, falling.sum(), self.private * weights.trace(), *of_places])

        return matrix, gradient

    def _gradient_of_places(self, values: FloatArray, weights: FloatArray, falling: FloatArray) -> FloatArray:
        """Derivatives by the relevance of places; ``falling`` are the weights times the remainder.

        A place's features are a part of the inner products G and of the distances (Gᵢᵢ + Gⱼⱼ) / 2 − Gᵢⱼ of
        the first view, and Σ W ∘ ΦΦᵀ = Σ WΦ ∘ Φ.
        """
        if not self._bound.places:
            return np.empty(0)
        linear, decay = self.linear[0], self.decay[0]
        by_column = (((linear * weights + decay * falling) @ values) * values).sum(axis=0)
        by_column -= decay * (falling.sum(axis=1) @ (values * values))
        starts = np.cumsum(self.coding.layout.categories) - self.coding.layout.categories
        return np.asarray(self.relevance * np.add.reduceat(by_column, starts))

    def __repr__(self) -> str:
        if self._described is None:
            return "Views()"
        return f"Views({self.coding.layout.kind}, {len(self.coding.layout.categories)} places)"


def coding_for(problem: Problem, covariance: Covariance | None) -> Coding | None:
    """The codes by which leaves near others are found; ``None`` where they are found by decisions.

    That is where states have no codes, and where the siblings of a leaf are leaves and can be compared
    without making them, which is faster. ``Views`` compares by codes.
    """
    if isinstance(covariance, Views):
        return covariance.coding
    return coding_of(problem) if Capabilities(problem).added_items is None else None
