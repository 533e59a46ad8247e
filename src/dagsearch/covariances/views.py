r"""A covariance for whatever the choices are: several views of a state, each weighted by the evidence.

==========  ===========  ==================  =====================================================
symbol      code         shape               meaning
==========  ===========  ==================  =====================================================
φ_v(x)      features     ``(features,)``     view v of a state: what it has decided, centred, and scaled
                                             so that random leaves have unit norm on average
w           relevance    ``(places,)``       weight of each place in the first view of a vector,
                                             and of each that holds numbers in their views
a_v         linear       ``(views,)``        variance of a trend that is linear in view v
b           nonlinear    —                   variance of a remainder that falls off with distance
θ_v         decay        ``(views,)``        how fast it falls off in view v
==========  ===========  ==================  =====================================================

The covariance is bias + Σ_v a_v φ_v(x)·φ_v(y) + b exp(−½ Σ_v θ_v |φ_v(x) − φ_v(y)|²). A view that explains
nothing has its a_v and θ_v learnt to be small, and is then left out of the computation.

For names, only equality matters: relabelling the categories of a place changes nothing. Numbers are also
compared by where they lie on scales (:mod:`dagsearch.space.numbers`). States are compared by what their codes
share, see :mod:`dagsearch.covariances.counts`.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.base import Covariance, Gradient
from dagsearch.covariances.counts import OrderViews, PlaceViews
from dagsearch.covariances.parameters import Hyperparameter, checked_positive
from dagsearch.covariances.rows import Rows, Stacked
from dagsearch.errors import CovarianceError
from dagsearch.problem import Problem, State
from dagsearch.space import Coding, Space

_BIAS = 0.3
# Prior medians and deviations of the logarithms: of the first view, of other views.
_LINEAR = (0.6, 1.2), (0.3, 1.2)
_DECAY = (1.0, 1.0), (0.3, 1.5)
# Numbers of places up to which their relevance is learnt.
_MOST_RELEVANCES = 64
# A view whose weights are below this share of the largest ones is left out.
_NEGLIGIBLE = 2e-3


class _Products(NamedTuple):
    """Inner products of some rows, which do not depend on the hyperparameters."""

    weighted: "dict[int, tuple[FloatArray, IntArray]]"
    """Views in which the relevance of places is learnt: their features, and the relevance of each column."""
    grams: list[FloatArray]
    """Inner products in each view."""


class _Scaled:
    """The states of a problem as views that are scaled by random leaves, given as codes."""

    def __init__(self, coding: Coding, leaves: IntArray) -> None:
        self.coding, layout = coding, coding.layout
        self.views: PlaceViews | OrderViews
        if layout.kind == "order":
            self.views = OrderViews(int(layout.categories[0]), len(layout.categories))
        else:
            self.views = PlaceViews(layout.categories, layout.numbers, layout.options)
        self.alike = np.ones(self.views.relevances)
        self.places = len(self.alike) if len(layout.categories) <= _MOST_RELEVANCES else 0
        norms = self.views.norms(self.rows(leaves), self.alike)
        self.squares = 1.0 / np.maximum(norms.mean(axis=0), 1e-12)
        of_views = [
            (f"{part}, {name}", *(first if view == 0 else other))
            for part, first, other in (("linear", *_LINEAR), ("decay", *_DECAY))
            for view, name in enumerate(self.views.names)
        ]
        of_places = [(f"relevance of place {place}", 1.0, 1.0) for place in range(self.places)]
        # Names, medians and deviations of the logarithms of the hyperparameters.
        self.prior = [*of_views, ("nonlinear", 0.5, 1.0), ("private", 0.01, 1.0), *of_places]
        self.medians = np.array([median for _, median, _ in self.prior])

    def rows(self, codes: IntArray) -> Stacked:
        """Codes, and whatever else comparing them needs."""
        # Compiled functions are compiled anew for other types and layouts.
        return self.views.described(np.ascontiguousarray(codes, dtype=np.int64))

    def products(self, rows: Rows) -> _Products:
        """Inner products of rows, scaled; kept with the rows, since a refit asks for them many times."""
        if rows.products is None:
            count = len(self.squares)
            two_views = np.eye(count + count % 2, count).reshape(-1, 2, count)
            grams = [gram for two in two_views for gram in self.views.compared(rows, rows, self.alike, two)]
            scaled = [square * gram for square, gram in zip(self.squares, grams, strict=False)]
            weighted = {}
            if isinstance(self.views, PlaceViews) and self.places:
                for view, (features, column) in self.views.weighted(rows).items():
                    weighted[view] = np.sqrt(self.squares[view]) * features, column
            rows.products = _Products(weighted, scaled)
        found: _Products = rows.products
        return found


class Views(Covariance):
    """Covariance of states with codes, see :class:`dagsearch.problem.Coding`.

    It has no parameters: everything is learnt. :meth:`bind` it to a problem before use, which fills in the
    arguments.
    """

    reads_codes = True

    def __init__(
        self, described: _Scaled | None = None, values: FloatArray | None = None, factor: float = 1.0
    ) -> None:
        self._described, self._factor = described, factor
        if described is None or values is None:
            return
        count = len(described.squares)
        self._values, self._views = values, described.views
        self.linear, self.decay = values[:count], values[count : 2 * count]
        self.nonlinear, self.private = values[2 * count : 2 * count + 2].tolist()
        self.relevance = values[2 * count + 2 :] if described.places else described.alike

    def bind(self, problem: Problem | Space) -> "Covariance":
        space = Space.of(problem)
        coding = space.coding
        if coding is None:
            raise CovarianceError(
                f"Views needs states with codes, which {type(space.problem).__name__} does not have. Use "
                "problems.Choices, Orders or Sequences, or states that are tuples of decisions"
            )
        described = _Scaled(coding, coding.codes(space.random_leaves))
        return Views(described, described.medians)

    @property
    def _bound(self) -> _Scaled:
        if self._described is None:
            raise CovarianceError("Views must know the problem first: call Views().bind(problem)")
        return self._described

    # Rows are codes ----------------------------------------------------------------------------------

    def represent(self, states: Sequence[State]) -> Rows:
        return self.from_codes(self._bound.coding.codes(states))

    def from_codes(self, codes: IntArray) -> Rows:
        return self._bound.rows(codes)

    @cached_property
    def _weights(self) -> FloatArray:
        """Weights of inner products and of distances in each view, shape ``(2, views)``.

        They are 0 where a view explains nothing.
        """
        wanted = self.linear > _NEGLIGIBLE * (self.linear.max() + self.nonlinear)
        if self.nonlinear > _NEGLIGIBLE * self.linear.max():
            wanted |= self.decay > _NEGLIGIBLE * self.decay.max()
        return np.asarray(wanted * self._bound.squares * [self.linear, self.decay])

    def variances(self, rows: Rows) -> FloatArray:
        norms = self._views.norms(rows, self.relevance)
        return np.asarray(norms @ self._weights[0] + (self._factor * _BIAS + self.nonlinear))

    def prepared(self, rows: Rows) -> Rows:
        """Rows, next to them ½ Σ_v θ_v |φ_v(x)|²."""
        norms = self._views.norms(rows, self.relevance)
        return Stacked([*rows.parts, 0.5 * norms @ self._weights[1][:, None]])

    def cross(self, rows: Rows, others: Rows) -> FloatArray:
        return self.related(rows, others)[0]

    def related(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        norms = self._views.norms(rows, self.relevance)
        cross, near = self._views.compared(rows, others, self.relevance, self._weights)
        near -= 0.5 * (norms @ self._weights[1])[:, None]
        near -= others.parts[-1][:, 0]
        np.exp(np.minimum(near, 0.0, out=near), out=near)
        near *= self.nonlinear
        cross += near
        cross += self._factor * _BIAS
        return np.asarray(cross), norms @ self._weights[0] + (self._factor * _BIAS + self.nonlinear)

    # Hyperparameters ---------------------------------------------------------------------------------

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        medians = (self._bound.medians * self._scales(self._factor)).tolist()
        each = zip(self._bound.prior, self._values.tolist(), medians, strict=True)
        return tuple(Hyperparameter(name, own, median, spread) for (name, _, spread), own, median in each)

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
        factor = checked_positive("the factor of a covariance", factor)
        return Views(self._bound, self._scales(factor) * self._values, factor * self._factor)

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        kept = self._bound.products(rows)
        grams = list(kept.grams)
        for view, (features, column) in kept.weighted.items():
            grams[view] = (features * self.relevance[column]) @ features.T
        half = 0.5 * sum(decay * gram.diagonal() for decay, gram in zip(self.decay, grams, strict=True))
        fall = -(half[:, None] + half)
        matrix = np.full_like(fall, self._factor * _BIAS)
        for linear, decay, gram in zip(self.linear, self.decay, grams, strict=True):
            fall += decay * gram
            matrix += linear * gram
        np.exp(fall, out=fall)
        matrix += self.nonlinear * fall
        matrix[np.diag_indices(len(rows))] += self.private

        def gradient(weights: FloatArray) -> FloatArray:
            falling = self.nonlinear * weights * fall
            across = falling.sum(axis=1)
            trend = self.linear * [np.vdot(weights, gram) for gram in grams]
            decay = self.decay * [np.vdot(falling, gram) - across @ gram.diagonal() for gram in grams]
            # A place's features are a part of the inner products G and of the distances (Gᵢᵢ + Gⱼⱼ) / 2 − Gᵢⱼ
            # of a view, and Σ W ∘ ΦΦᵀ = Σ WΦ ∘ Φ.
            of_places = np.zeros(self._bound.places)
            for view, (features, column) in kept.weighted.items():
                by_pair = self.linear[view] * weights + self.decay[view] * falling
                by_column = ((by_pair @ features) * features).sum(axis=0)
                by_column -= self.decay[view] * (across @ (features * features))
                of_places += np.bincount(column, by_column, minlength=len(of_places))
            if kept.weighted:
                of_places *= self.relevance
            return np.array([*trend, *decay, falling.sum(), self.private * weights.trace(), *of_places])

        return matrix, gradient

    def __repr__(self) -> str:
        if self._described is None:
            return "Views()"
        layout = self._described.coding.layout
        return f"Views({layout.kind}, {len(layout.categories)} places)"
