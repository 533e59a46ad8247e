r"""A covariance for whatever the choices are: several views of a state, each weighted by the evidence.

==========  ===========  ==================  =====================================================
symbol      code         shape               meaning
==========  ===========  ==================  =====================================================
φ_v(x)      row          ``(features,)``     view v of a state: expected features of its random
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
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.covariances._codes import LeafWeights, OrderViews, PlaceViews
from dagsearch.covariances.base import Covariance, Gradient, Hyperparameter
from dagsearch.covariances.checks import checked_factor
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


class Views(Covariance):
    """Covariance of states with codes, see :class:`dagsearch.space.codes.Coding`.

    It has no parameters: everything is learnt. :meth:`bind` it to a problem before use.
    """

    reads_codes = True

    def __init__(self) -> None:
        self._coding: Coding | None = None

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
        bound = self._copy()
        bound._describe(coding, leaves)
        return bound

    def _describe(self, coding: Coding, leaves: Sequence[State]) -> None:
        layout, self._coding = coding.layout, coding
        self._first = len(layout.categories)  # features come after the codes
        views: OrderViews | PlaceViews
        places = 0
        if layout.kind == "order":
            views = OrderViews(int(layout.categories[0]))
        else:
            views = PlaceViews(layout.categories)
            places = len(layout.categories) if len(layout.categories) <= _MOST_RELEVANCES else 0
        self._views, self._places = views, places
        features = views.features(coding.codes(leaves))
        squares = [float((each * each).sum(axis=1).mean()) for each in features]
        self._scales = 1.0 / np.sqrt(np.maximum(squares, 1e-12))
        self._widths = np.array([f.shape[1] for f in features])
        others = len(features) - 1
        medians = [_LINEAR[0], *[_LINEAR[1]] * others, _DECAY[0], *[_DECAY[1]] * others, _NONLINEAR, _PRIVATE]
        deviations = [*[_LINEAR_DEVIATION] * (others + 1), _DECAY_DEVIATION[0]]
        deviations += [*[_DECAY_DEVIATION[1]] * others, 1.0, 1.0]
        self._medians = np.array(medians + [1.0] * places)
        self._deviations = np.array(deviations + [1.0] * places)
        self._grams: tuple[Rows, list[FloatArray], FloatArray] | None = None
        self._factor = 1.0
        self._set(self._medians)

    def _copy(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    def _set(self, values: FloatArray) -> None:
        """Use these values of the hyperparameters."""
        count = len(self._widths)
        self._values = values
        self.linear, self.decay = values[:count], values[count : 2 * count]
        self.nonlinear, self.private = float(values[2 * count]), float(values[2 * count + 1])
        self.relevance = values[2 * count + 2 :]
        weight = np.ones(int(self._widths.sum()))
        if self._places:
            weight[: self._widths[0]] = self.relevance.repeat(self._views.categories)  # type: ignore[union-attr]
        self._trend = self.linear.repeat(self._widths) * weight
        self._falloff = self.decay.repeat(self._widths) * weight
        counts = (self.linear > _NEGLIGIBLE * (self.linear.max() + self.nonlinear)) | (
            (self.decay > _NEGLIGIBLE * self.decay.max()) & (self.nonlinear > _NEGLIGIBLE * self.linear.max())
        )
        self._used: BoolArray | slice = slice(None) if counts.all() else counts.repeat(self._widths)

    # Rows: codes, then features --------------------------------------------------------------------

    @property
    def coding(self) -> Coding:
        """How the problem's states are written as codes."""
        if self._coding is None:
            raise CovarianceError("Views must know the problem first: call Views().bind(problem)")
        return self._coding

    def represent(self, states: Sequence[State]) -> Rows:
        return self._rows(self.coding.codes(states))

    def _rows(self, codes: IntArray) -> Rows:
        features = self._views.features(codes)
        scaled = [scale * each for scale, each in zip(self._scales, features, strict=True)]
        return np.concatenate([codes.astype(np.float64), *scaled], axis=1)

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        return self.of_rows(a, self.prepared(b))[0]

    def variances(self, a: Rows) -> FloatArray:
        features = a[:, self._first :]
        return np.asarray(self._factor * _BIAS + (features * features) @ self._trend + self.nonlinear)

    def prepared(self, rows: Rows) -> Rows:
        """Codes, then a φ, then θ φ, then ½ Σ θ φ²."""
        used = rows[:, self._first :][:, self._used]
        fall = used * self._falloff[self._used]
        half = 0.5 * (fall * used).sum(axis=1, keepdims=True)
        codes = rows[:, : self._first]
        return np.concatenate([codes, used * self._trend[self._used], fall, half], axis=1)

    def of_rows(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        used = rows[:, self._first :][:, self._used]
        middle = self._first + used.shape[1]
        squared = used * used
        cross = used @ others[:, self._first : middle].T
        fall = used @ others[:, middle:-1].T
        fall -= 0.5 * (squared @ self._falloff[self._used])[:, None]
        fall -= others[:, -1]
        np.exp(np.minimum(fall, 0.0, out=fall), out=fall)
        cross += self.nonlinear * fall
        cross += self._factor * _BIAS
        return cross, self._factor * _BIAS + squared @ self._trend[self._used] + self.nonlinear

    def codes_of(self, prepared: Rows) -> IntArray:
        """The codes of ``prepared`` rows."""
        return np.asarray(prepared[:, : self._first], dtype=np.int64)

    def of_leaves(self, codes: IntArray, others: Rows) -> tuple[FloatArray, FloatArray]:
        """:meth:`of_rows` of leaves that are given by their codes, with ``prepared`` rows of leaves."""
        if not self._views.has_all_items(codes):
            return self.of_rows(self._rows(codes), others)
        leaves = self.codes_of(others)
        weights = LeafWeights(self._scales, self.linear, self.decay, self.relevance)
        inner, exponent, norms = self._views.of_leaves(codes, leaves, weights)
        cross = inner + self.nonlinear * np.exp(exponent) + self._factor * _BIAS
        return cross, norms + self.nonlinear + self._factor * _BIAS

    # Hyperparameters ---------------------------------------------------------------------------------

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        names = [f"linear, {name}" for name in self._views.names]
        names += [f"decay, {name}" for name in self._views.names]
        names += ["nonlinear", "private", *(f"relevance of place {place}" for place in range(self._places))]
        numbers = zip(
            names, self._values.tolist(), self._medians.tolist(), self._deviations.tolist(), strict=True
        )
        return tuple(Hyperparameter(*one) for one in numbers)

    def with_values(self, values: Sequence[float]) -> "Covariance":
        other = self._copy()
        other._set(np.asarray(values, dtype=np.float64))
        return other

    def _products(self, rows: Rows) -> tuple[list[FloatArray], FloatArray]:
        """Inner products of rows by view, and in the first view by place; the last ones are kept."""
        if self._grams is None or self._grams[0] is not rows:
            ends = np.cumsum(self._widths)
            parts = np.split(rows[:, self._first :], ends[:-1], axis=1)
            by_place = np.zeros((0, len(rows) ** 2))
            if self._places:
                categories = self._views.categories  # type: ignore[union-attr]
                places = np.split(parts[0], np.cumsum(categories)[:-1], axis=1)
                by_place = np.stack([(place @ place.T).ravel() for place in places])
            self._grams = rows, [part @ part.T for part in parts], by_place
        return self._grams[1], self._grams[2]

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        inner, by_place = self._products(rows)
        count = len(rows)
        if self._places:
            inner = [(self.relevance @ by_place).reshape(count, count), *inner[1:]]
        apart = [0.5 * (gram.diagonal()[:, None] + gram.diagonal()) - gram for gram in inner]
        fall = np.exp(-sum(decay * each for decay, each in zip(self.decay, apart, strict=True)))
        matrix = self._factor * _BIAS + self.nonlinear * fall
        for linear, gram in zip(self.linear, inner, strict=True):
            matrix += linear * gram
        matrix[np.diag_indices(count)] += self.private

        def gradient(weights: FloatArray) -> FloatArray:
            falling = self.nonlinear * weights * fall
            found = [linear * np.vdot(weights, gram) for linear, gram in zip(self.linear, inner, strict=True)]
            found += [-decay * np.vdot(falling, each) for decay, each in zip(self.decay, apart, strict=True)]
            found += [falling.sum(), self.private * weights.trace()]
            if self._places:
                # ∂/∂w_i of the trend and of the distance, of which the place's own products are a part
                decay = self.decay[0]
                lead = by_place @ (self.linear[0] * weights + decay * falling).ravel()
                diagonal = by_place.reshape(-1, count, count).diagonal(axis1=1, axis2=2)
                found += (self.relevance * (lead - decay * (diagonal @ falling.sum(axis=1)))).tolist()
            return np.array(found)

        return matrix, gradient

    def __rmul__(self, factor: float) -> "Covariance":
        scaled, by = self._copy(), checked_factor(factor)
        count = len(self._widths)
        scales = np.ones(len(self._values))
        scales[:count], scales[2 * count : 2 * count + 2] = by, by
        scaled._medians = scales * self._medians
        scaled._factor = by * self._factor
        scaled._set(scales * self._values)
        return scaled

    def __repr__(self) -> str:
        if self._coding is None:
            return "Views()"
        return f"Views({self._coding.layout.kind}, {len(self._coding.layout.categories)} places)"


def coding_for(problem: Problem, covariance: Covariance | None) -> Coding | None:
    """The codes by which leaves near others are found; ``None`` where they are found by decisions.

    That is where states have no codes, and where the siblings of a leaf are leaves and can be compared
    without making them, which is faster. ``Views`` compares by codes.
    """
    if isinstance(covariance, Views):
        return covariance.coding
    return coding_of(problem) if Capabilities(problem).added_items is None else None
