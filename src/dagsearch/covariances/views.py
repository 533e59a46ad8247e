r"""A general covariance: several views of a state, each weighted by the evidence.

==========  ===========  ==================  =====================================================
symbol      code         shape               meaning
==========  ===========  ==================  =====================================================
φ_v(x)      features     ``(features,)``     view v of a state: its decisions, centred, and scaled
                                             so that random leaves have unit norm on average
w           relevance    ``(places,)``       weight of each place in the first view of a vector,
                                             and of each numeric place in the numeric views
a_v         linear       ``(views,)``        variance of a trend that is linear in view v
b           nonlinear    —                   variance of a remainder that falls off with distance
θ_v         decay        ``(views,)``        its decay rate in view v
==========  ===========  ==================  =====================================================

The covariance is bias + Σ_v a_v φ_v(x)·φ_v(y) + b exp(−½ Σ_v θ_v |φ_v(x) − φ_v(y)|²). For a view
that explains nothing, small a_v and θ_v are learnt, and the computation omits it.

For names, only equality matters: relabelling the categories of a place changes nothing. Numbers are also
compared by position on scales (:mod:`dagsearch.space.numbers`). :mod:`dagsearch.covariances.counts` computes
the inner products from codes.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.base import Covariance, Gradient
from dagsearch.covariances.counts import OrderViews, PlaceViews
from dagsearch.covariances.parameters import Hyperparameter, changed, checked_positive
from dagsearch.covariances.rows import Rows, Stacked
from dagsearch.errors import CovarianceError
from dagsearch.problem import Layout, Problem, State
from dagsearch.space import Coding, Space

_BIAS = 0.3
# Prior medians and deviations of the logarithms: of the first view, of other views.
_LINEAR = (0.6, 1.2), (0.3, 1.2)
_DECAY = (1.0, 1.0), (0.3, 1.5)
# Relevances are learnt for at most this number of places.
_MOST_RELEVANCES = 64
# Views whose weights are below this share of the largest ones are omitted.
_NEGLIGIBLE = 2e-3


class Views(Covariance):
    """Covariance of states with codes, see :class:`dagsearch.problem.Coding`.

    It has no parameters: everything is learnt. Call :meth:`bind` before use.
    """

    reads_codes = True
    _coding: Coding | None = None

    def bind(self, problem: Problem | Space) -> "Covariance":
        space = Space.of(problem)
        coding = space.coding
        if coding is None:
            raise CovarianceError(
                f"Views needs states with codes, which {type(space.problem).__name__} does not have. Use "
                "problems.Choices, Orders or Sequences, or states that are tuples of decisions"
            )
        return changed(self, _coding=coding)._describe(coding.layout, coding.codes(space.random_leaves))

    def _describe(self, layout: Layout, leaves: IntArray) -> Self:
        """Scale the views by random leaves, and set every hyperparameter to its prior median."""
        views: PlaceViews | OrderViews
        if layout.kind == "order":
            views = OrderViews(int(layout.categories[0]), len(layout.categories))
        else:
            views = PlaceViews(layout.categories, layout.numbers, layout.options)
        self._views, places = views, views.relevances
        self._alike = np.ones(places)
        norms = views.norms(self.from_codes(leaves), self._alike)
        self._squares = 1.0 / np.maximum(norms.mean(axis=0), 1e-12)
        of_views = [
            (f"{part}, {name}", *(first if view == 0 else other))
            for part, first, other in (("linear", *_LINEAR), ("decay", *_DECAY))
            for view, name in enumerate(views.names)
        ]
        learnt = range(places if leaves.shape[1] <= _MOST_RELEVANCES else 0)
        of_places = [(f"relevance of place {place}", 1.0, 1.0) for place in learnt]
        prior = [*of_views, ("nonlinear", 0.5, 1.0), ("private", 0.01, 1.0), *of_places]
        self._names, medians, self._deviations = zip(*prior, strict=True)
        self._bias, self._medians = _BIAS, np.array(medians)
        return self._use(self._medians)

    # Rows are codes ----------------------------------------------------------------------------------

    def _bound(self) -> Coding:
        if self._coding is None:
            raise CovarianceError("Views must know the problem first: call Views().bind(problem)")
        return self._coding

    def represent(self, states: Sequence[State]) -> Rows:
        return self.from_codes(self._bound().codes(states))

    def from_codes(self, codes: IntArray) -> Rows:
        # Other types and layouts would trigger a new compilation.
        return self._views.described(np.ascontiguousarray(codes, dtype=np.int64))

    def variances(self, rows: Rows) -> FloatArray:
        norms = self._views.norms(rows, self.relevance)
        return np.asarray(norms @ self._weights[0] + (self._bias + self.nonlinear))

    def prepared(self, rows: Rows) -> Rows:
        """Rows with ½ Σ_v θ_v |φ_v(x)|² appended."""
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
        cross += self._bias
        return np.asarray(cross), norms @ self._weights[0] + (self._bias + self.nonlinear)

    # Hyperparameters ---------------------------------------------------------------------------------

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        self._bound()
        own = self._values.tolist(), self._medians.tolist()
        return tuple(map(Hyperparameter, self._names, *own, self._deviations))

    def with_values(self, values: Sequence[float]) -> Self:
        return changed(self)._use(np.array(values, dtype=np.float64))

    def _use(self, values: FloatArray) -> Self:
        self._values, count = values, len(self._squares)
        self.linear, self.decay = values[:count], values[count : 2 * count]
        self.nonlinear, self.private = values[2 * count : 2 * count + 2].tolist()
        self.relevance = values[2 * count + 2 :] if values.size > 2 * count + 2 else self._alike
        wanted = self.linear > _NEGLIGIBLE * (self.linear.max() + self.nonlinear)
        if self.nonlinear > _NEGLIGIBLE * self.linear.max():
            wanted |= self.decay > _NEGLIGIBLE * self.decay.max()
        # Weights of inner products and of distances in each view; 0 where a view explains nothing.
        self._weights = wanted * self._squares * [self.linear, self.decay]
        return self

    def __rmul__(self, factor: float) -> "Covariance":
        """Scale the variances themselves, so that the factor needs no hyperparameter."""
        self._bound()
        factor, count = checked_positive("the factor of a covariance", factor), len(self._squares)
        scales = np.ones(len(self._values))
        scales[:count], scales[2 * count : 2 * count + 2] = factor, factor
        scaled = changed(self, _bias=factor * self._bias, _medians=scales * self._medians)
        return scaled._use(scales * self._values)

    def _products(self, rows: Rows) -> tuple[dict[int, tuple[FloatArray, IntArray]], list[FloatArray]]:
        """Features of the views in which relevances are learnt, and inner products in each view.

        They are scaled, and kept with the rows: a refit uses them many times.
        """
        if rows.products is None:
            scaled, count = list[FloatArray](), len(self._squares)
            for view in range(0, count, 2):
                grams = self._views.compared(rows, rows, self._alike, np.eye(2, count, view))
                scaled += [square * gram for square, gram in zip(self._squares[view:], grams, strict=False)]
            weighted = {}
            if isinstance(self._views, PlaceViews) and self.relevance is not self._alike:
                for view, (features, column) in self._views.weighted(rows).items():
                    weighted[view] = np.sqrt(self._squares[view]) * features, column
            rows.products = weighted, scaled
        found: tuple[dict[int, tuple[FloatArray, IntArray]], list[FloatArray]] = rows.products
        return found

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        weighted, grams = self._products(rows)
        grams = grams.copy()
        for view, (features, column) in weighted.items():
            grams[view] = (features * self.relevance[column]) @ features.T
        half = 0.5 * sum(decay * gram.diagonal() for decay, gram in zip(self.decay, grams, strict=True))
        fall = -(half[:, None] + half)
        matrix = np.full_like(fall, self._bias)
        for linear, decay, gram in zip(self.linear, self.decay, grams, strict=True):
            fall += decay * gram
            matrix += linear * gram
        np.exp(fall, out=fall)
        matrix += self.nonlinear * fall
        matrix[np.diag_indices(len(rows))] += self.private

        def gradient(weights: FloatArray) -> FloatArray:
            falling = self.nonlinear * weights
            falling *= fall
            across = falling.sum(axis=1)
            trend = self.linear * [np.vdot(weights, gram) for gram in grams]
            decay = self.decay * [np.vdot(falling, gram) - across @ gram.diagonal() for gram in grams]
            # A place's features contribute to a view's inner products G and its distances
            # (Gᵢᵢ + Gⱼⱼ) / 2 − Gᵢⱼ, and Σ W ∘ ΦΦᵀ = Σ WΦ ∘ Φ.
            of_places = np.zeros(len(self._values) - 2 * len(grams) - 2)
            for view, (features, column) in weighted.items():
                by_pair = self.linear[view] * weights
                by_pair += self.decay[view] * falling
                by_column = ((by_pair @ features) * features).sum(axis=0)
                by_column -= self.decay[view] * (across @ (features * features))
                of_places += np.bincount(column, by_column, minlength=len(of_places))
            if weighted:
                of_places *= self.relevance
            return np.array([*trend, *decay, falling.sum(), self.private * weights.trace(), *of_places])

        return matrix, gradient

    def __repr__(self) -> str:
        if self._coding is None:
            return "Views()"
        layout = self._coding.layout
        return f"Views({layout.kind}, {len(layout.categories)} places)"
