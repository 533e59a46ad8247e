r"""States as vectors, compared by inner product and by distance.

==========  =============  =================  =====================================================
symbol      code           shape              meaning
==========  =============  =================  =====================================================
x           row            ``(n,)``           a state's vector; of a subset, its inclusion probabilities
x̄           center         ``(n,)``           mean vector of random leaves
K           metric         ``(n, n)``         how alike two entries are, scaled so that random leaves have
                                              (x − x̄)ᵀK(x − x̄) = 1 on average
G           inner          ``(a, b)``         (x − x̄)ᵀK(y − x̄)
u           —              ``(a, b)``         (x − y)ᵀK(x − y) / 2ℓ²
==========  =============  =================  =====================================================

The covariance is bias + linear · G + nonlinear · s(u): a trend that every entry adds to, and what that
leaves over, alike for states that are close. The shape s is one of :data:`SHAPES`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import is_finite
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch._internal.walks import random_leaves
from dagsearch.covariances._levels import LevelRows
from dagsearch.covariances.base import (
    Covariance,
    FeatureMap,
    Gradient,
    Hyperparameter,
    Rows,
    SparseRows,
    checked_variance,
)
from dagsearch.errors import CovarianceError
from dagsearch.problem import Families, Problem, State

# With fewer items dense products are cheaper than taking rows apart.
_MANY_ITEMS = 128
# Of a number whose exponential is still far from overflowing.
_LARGE = 600.0

SHAPES: Final = ("squared-exponential", "matern-5/2", "matern-3/2")
"""What s may be: e^(−u/2); (1 + r + r²/3) e^(−r) with r² = 5u; (1 + r) e^(−r) with r² = 3u."""


def _shape_and_slope(shape: str, u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """s(u) and its derivative."""
    if shape == "squared-exponential":
        value = np.exp(-0.5 * u)
        return value, -0.5 * value
    if shape == "matern-5/2":
        r = np.sqrt(5.0 * u)
        decay = np.exp(-r)
        return (1.0 + r + r * r / 3.0) * decay, -5.0 / 6.0 * (1.0 + r) * decay
    r = np.sqrt(3.0 * u)
    decay = np.exp(-r)
    return (1.0 + r) * decay, -1.5 * decay


@compiled
def _add_items(
    family: IntArray,
    items: IntArray,
    added: FloatArray,
    base: FloatArray,
    own_common: FloatArray,
    smooth_common: FloatArray,
    others: FloatArray,
    diagonal: FloatArray,
    bias: float,
    linear: float,
    trend: FloatArray,
    apart: FloatArray,
) -> FloatArray:
    """Of children that add one item each to what their family has in common, their own norms.

    What bias and trend make of the covariance with others, which are ``prepared``, and squared distances from
    them are written to ``trend`` and ``apart``, both of shape ``(others, children)``.
    """
    own, more = np.empty(family.size), np.empty(family.size)
    # Unsigned: places from the end need not be thought of.
    at, of = items.astype(np.uint64), family.astype(np.uint64)
    for i in range(family.size):
        f, item = of[i], at[i]
        more[i] = added[f]
        own[i] = own_common[f] + added[f] * (2.0 * smooth_common[f, item] + added[f] * diagonal[item])
    for j in range(others.shape[0]):
        row, in_common, norm = others[j], base[j], others[j, diagonal.size]
        for i in range(family.size):
            product = in_common[of[i]] + more[i] * row[at[i]]
            trend[j, i] = bias + linear * product
            apart[j, i] = own[i] + norm - 2.0 * product
    return own


class Nearness:
    """Items are alike if they are near each other: pixels of an image, sensors in a field.

    Parameters
    ----------
    positions : array, shape ``(items, dimensions)``
        Where each item is.
    length : float, optional
        Distance at which two items are still much alike; by default one and a half times the usual distance
        between neighbours. Learnt from the rewards.
    own : float
        Weight of what an item does not share with even the nearest other, beside 1 for what it does.
        Learnt, unless 0.

    Examples
    --------
    >>> Nearness([[0.0], [1.0], [9.0]], length=1.0, own=0.5).matrix().round(2)
    array([[1.5 , 0.61, 0.  ],
           [0.61, 1.5 , 0.  ],
           [0.  , 0.  , 1.5 ]])
    """

    def __init__(self, positions: ArrayLike, length: float | None = None, own: float = 0.4) -> None:
        where = np.asarray(positions, dtype=np.float64)
        if where.ndim != 2 or where.shape[0] == 0 or not np.all(np.isfinite(where)):
            raise CovarianceError(
                f"positions must be finite numbers of shape (items, dimensions), got shape {where.shape}"
            )
        self._squared = ((where[:, None] - where[None]) ** 2).sum(axis=2)
        self.own = self._own_median = checked_variance("own", own)
        self.length = self._length_median = self._spacing() if length is None else float(length)
        if not is_finite(self.length) or self.length <= 0.0:
            raise CovarianceError(f"length must be positive and finite, got {length!r}")

    def _spacing(self) -> float:
        """One and a half times the usual distance between neighbours."""
        apart = np.where(self._squared > 0.0, self._squared, np.inf).min(axis=1)
        apart = apart[np.isfinite(apart)]
        return 1.5 * float(np.sqrt(np.median(apart))) if apart.size else 1.0

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        """The length, and what items do not share."""
        length = Hyperparameter("distance between items", self.length, self._length_median, 0.5)
        if self._own_median == 0.0:
            return (length,)
        return length, Hyperparameter("own share of items", self.own, self._own_median, 1.0)

    def with_values(self, values: Sequence[float]) -> "Nearness":
        """With other values of the hyperparameters."""
        other = object.__new__(Nearness)
        other.__dict__.update(self.__dict__)
        other.length = float(values[0])
        if self._own_median > 0.0:
            other.own = float(values[1])
        return other

    def matrix(self) -> FloatArray:
        """How alike items are, shape ``(items, items)``."""
        near = np.exp(-0.5 * self._squared / self.length**2)
        near[np.diag_indices(len(near))] += self.own
        return np.asarray(near)

    def gradients(self) -> list[FloatArray]:
        """Derivatives of the matrix by the logarithm of each hyperparameter."""
        scaled = self._squared / self.length**2
        found = [scaled * np.exp(-0.5 * scaled)]
        return found + ([self.own * np.eye(len(scaled))] if self._own_median > 0.0 else [])


class _Given:
    """A matrix between items that has nothing to learn."""

    hyperparameters: tuple[Hyperparameter, ...] = ()

    def __init__(self, matrix: ArrayLike) -> None:
        given = np.asarray(matrix, dtype=np.float64)
        if given.ndim != 2 or given.shape[0] != given.shape[1] or not np.all(np.isfinite(given)):
            raise CovarianceError(f"between_items must be a finite square matrix, got shape {given.shape}")
        scale = max(float(np.abs(given).max()), np.finfo(np.float64).tiny)
        if np.abs(given - given.T).max() > 1e-8 * scale:
            raise CovarianceError("between_items must be symmetric")
        try:  # a factorisation is much cheaper than eigenvalues
            np.linalg.cholesky(given + 1e-8 * scale * len(given) * np.eye(len(given)))
        except np.linalg.LinAlgError as error:
            raise CovarianceError(
                "between_items must be positive semi-definite, but has the eigenvalue "
                f"{float(np.linalg.eigvalsh(given)[0]):.3g}. "
                "Squares of correlations are, their absolute values need not be: see covariances.correlation"
            ) from error
        self._matrix = given

    def with_values(self, values: Sequence[float]) -> "_Given":
        return self

    def matrix(self) -> FloatArray:
        return self._matrix

    def gradients(self) -> list[FloatArray]:
        return []


def correlation(data: ArrayLike) -> FloatArray:
    """How alike the columns of a table are: their squared correlations, for :class:`SetKernel`.

    Columns that do not vary are like no other.

    Examples
    --------
    >>> correlation([[1.0, 2.0, 0.0], [2.0, 4.0, 1.0], [3.0, 6.0, 0.0]]).round(2)
    array([[1., 1., 0.],
           [1., 1., 0.],
           [0., 0., 1.]])
    """
    table = np.asarray(data, dtype=np.float64)
    if table.ndim != 2 or len(table) < 2 or not np.all(np.isfinite(table)):
        raise CovarianceError(
            f"data must be a table of finite numbers with two rows or more, got shape {table.shape}"
        )
    centred = table - table.mean(axis=0)
    sizes = np.sqrt((centred**2).sum(axis=0))
    varies = sizes > 1e-12 * np.abs(table).max(axis=0, initial=1.0)
    unit = np.where(varies, centred / np.where(varies, sizes, 1.0), 0.0)
    alike = np.asarray((unit.T @ unit) ** 2)
    np.fill_diagonal(alike, 1.0)
    return alike


class _VectorKernel(Covariance):
    """bias + linear · G + nonlinear · s(u), over vectors that subclasses make of states."""

    def __init__(
        self,
        between: Nearness | _Given | None,
        *,
        linear: float,
        nonlinear: float,
        length: float,
        shape: str,
        bias: float,
        private: float,
    ) -> None:
        self.linear = checked_variance("linear", linear)
        self.nonlinear = checked_variance("nonlinear", nonlinear)
        if self.linear == self.nonlinear == 0.0:
            raise CovarianceError("linear and nonlinear must not both be zero")
        if not is_finite(length) or length <= 0.0:
            raise CovarianceError(f"length must be positive and finite, got {length!r}")
        if shape not in SHAPES:
            raise CovarianceError(f"shape must be one of {', '.join(SHAPES)}, got {shape!r}")
        self.length, self.shape = float(length), shape
        self.bias, self.private = checked_variance("bias", bias), checked_variance("private", private)
        self._between = between
        self._medians = {name: getattr(self, name) for name in self._learnt()}
        # Of random leaves; without a problem, vectors are taken as they are.
        self._center: FloatArray = np.zeros(1)
        self._sample: FloatArray | None = None  # random leaves, centred
        self._mask: FloatArray | None = None  # where most rows are level, if that is known
        self._measure()

    def _measure(self) -> None:
        """Make K from what is between the items."""
        self._metric = None if self._between is None else self._between.matrix()
        self._metric_mask = None if self._metric is None else self._masked(self._metric)
        self._scale = 1.0
        if self._sample is not None:
            self._scale = 1.0 / max(float(self._norms(self._sample).mean()), 1e-300)
        ones = np.ones(len(self._center))
        self._diagonal = self._scale * (ones if self._metric is None else self._metric.diagonal())  # of K

    def _masked(self, matrix: FloatArray) -> FloatArray | None:
        return None if self._mask is None else matrix @ self._mask

    def _learnt(self) -> list[str]:
        names = ["linear", "nonlinear", "private"] + (["length"] if self.nonlinear > 0.0 else [])
        return [name for name in names if getattr(self, name) > 0.0]

    def bind(self, problem: Problem) -> "Covariance":
        bound = self._copy()
        bound._bind(problem)
        leaves = random_leaves(problem)
        rows = np.asarray(bound.represent(leaves), dtype=np.float64)
        bound._center = bound._mean_row(problem, rows)
        bound._sample = rows - bound._center
        bound._measure()
        return bound

    def _bind(self, problem: Problem) -> None:
        """Note what the problem says of its states."""

    def _mean_row(self, problem: Problem, rows: FloatArray) -> FloatArray:
        """Mean vector of random leaves, of which some rows are at hand."""
        return np.asarray(rows.mean(axis=0))

    def _copy(self) -> Self:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        return other

    # Rows ------------------------------------------------------------------------------------------

    def _smoothed(self, centred: FloatArray) -> FloatArray:
        """K(x − x̄)."""
        if self._metric is None:
            return self._scale * centred
        return self._scale * self._times(centred, self._metric, self._metric_mask)

    def _times(self, centred: FloatArray, matrix: FloatArray, matrix_mask: FloatArray | None) -> FloatArray:
        if self._mask is None or matrix_mask is None:
            return np.asarray(centred @ matrix)
        return LevelRows.of(centred, self._mask).times(matrix, matrix_mask)

    def _inner(self, smooth: FloatArray, centred: FloatArray) -> FloatArray:
        """Inner products of smoothed rows and others, shape ``(smooth, centred)``."""
        if self._mask is None:
            return np.asarray(smooth @ centred.T)
        return LevelRows.of(centred, self._mask).inner(smooth)

    def _with_rest(self, trend: FloatArray, apart: FloatArray) -> FloatArray:
        """The covariance, from what bias and trend make of it and squared distances; overwrites both."""
        if self.shape == "squared-exponential":
            apart *= -0.25 / self.length**2
            rest = np.exp(apart, out=apart)
        else:
            np.maximum(apart, 0.0, out=apart)
            rest = _shape_and_slope(self.shape, apart / (2.0 * self.length**2))[0]
        rest *= self.nonlinear
        trend += rest
        return trend

    def _from_inner(self, inner: FloatArray, a_norms: FloatArray, b_norms: FloatArray) -> FloatArray:
        """The covariance, from inner products and squared norms."""
        apart = a_norms[:, None] + b_norms - 2.0 * inner
        return self._with_rest(self.bias + self.linear * inner, apart)

    def cross(self, a: Rows, b: Rows) -> FloatArray:
        if len(a) > len(b):  # smooth the smaller of the two
            return self.cross(b, a).T
        a_centred, b_centred = np.asarray(a) - self._center, np.asarray(b) - self._center
        smooth = self._smoothed(a_centred)
        a_norms = np.einsum("ij,ij->i", smooth, a_centred)
        return self._from_inner(self._inner(smooth, b_centred), a_norms, self._norms(b_centred))

    def _norms(self, centred: FloatArray) -> FloatArray:
        """(x − x̄)ᵀK(x − x̄) of each row."""
        if self._mask is not None and self._metric is not None and self._metric_mask is not None:
            taken_apart = LevelRows.of(centred, self._mask)
            return self._scale * taken_apart.norms(self._metric, self._metric_mask)
        return np.asarray(np.einsum("ij,ij->i", self._smoothed(centred), centred))

    def variances(self, a: Rows) -> FloatArray:
        norms = self._norms(np.asarray(a) - self._center) if self.linear > 0.0 else np.zeros(len(a))
        return self.bias + self.linear * norms + self.nonlinear

    def step_variances(self, rows: Rows) -> FloatArray:
        """linear · q + 2 nonlinear · (1 − s(q / 2ℓ²)) of squared distances q."""
        squared = self._norms(np.diff(np.asarray(rows), axis=0))
        shape = _shape_and_slope(self.shape, squared / (2.0 * self.length**2))[0]
        return self.linear * squared + 2.0 * self.nonlinear * (1.0 - shape)

    def prepared(self, rows: Rows) -> Rows:
        """K(x − x̄) of each row, and (x − x̄)ᵀK(x − x̄) in the last column."""
        centred = np.asarray(rows) - self._center
        smooth = self._smoothed(centred)
        return np.concatenate([smooth, np.einsum("ij,ij->i", smooth, centred)[:, None]], axis=1)

    def of_rows(self, rows: Rows, others: Rows) -> tuple[FloatArray, FloatArray]:
        width = np.shape(rows)[1]
        smooth, norms = others[:, :width], others[:, width]
        centred = np.asarray(rows) - self._center
        own = self._norms(centred)
        cross = self._from_inner(self._inner(smooth, centred), norms, own)
        return cross.T, self.bias + self.linear * own + self.nonlinear

    # Hyperparameters -------------------------------------------------------------------------------

    @property
    def hyperparameters(self) -> tuple[Hyperparameter, ...]:
        own = [
            Hyperparameter(name, getattr(self, name), median, 0.7 if name == "length" else 1.0)
            for name, median in self._medians.items()
        ]
        return *own, *(self._between.hyperparameters if self._between is not None else ())

    def with_values(self, values: Sequence[float]) -> Self:
        other = self._copy()
        own = len(self._medians)
        for name, value in zip(self._medians, values, strict=False):
            setattr(other, name, float(value))
        if self._between is not None and len(values) > own:
            other._between = self._between.with_values(values[own:])
            other._measure()
        return other

    def value_and_gradient(self, rows: Rows) -> tuple[FloatArray, Gradient]:
        centred = np.asarray(rows) - self._center
        smooth = self._smoothed(centred)
        inner = self._inner(smooth, centred)
        norms = inner.diagonal()
        u = np.maximum(norms[:, None] + norms - 2.0 * inner, 0.0) / (2.0 * self.length**2)
        shape, slope = _shape_and_slope(self.shape, u)
        matrix = self.bias + self.linear * inner + self.nonlinear * shape
        matrix[np.diag_indices(len(matrix))] += self.private

        def slopes(weights: FloatArray) -> FloatArray:
            steep = self.nonlinear * weights * slope
            own = {
                "linear": self.linear * float(np.vdot(weights, inner)),
                "nonlinear": self.nonlinear * float(np.vdot(weights, shape)),
                "length": -2.0 * float(np.vdot(steep, u)),
                "private": self.private * float(weights.trace()),
            }
            of_items = self._metric_slopes(centred, smooth, weights, steep)
            return np.array([own[name] for name in self._medians] + of_items)

        return matrix, slopes

    def _metric_slopes(
        self, centred: FloatArray, smooth: FloatArray, weights: FloatArray, steep: FloatArray
    ) -> list[float]:
        """What else is learnt, of the items; ``steep`` are the derivatives by u, with their weights.

        With X the centred rows, G = XKXᵀ and u = (Gᵢᵢ + Gⱼⱼ − 2Gᵢⱼ) / 2ℓ², so that Σ W ∘ matrix changes by
        Σ A ∘ dG = Σ AX ∘ XdK. The scale of K changes too, which takes off what random leaves gain.
        """
        if self._between is None or self._metric is None:
            return []
        steep = steep / self.length**2
        by_inner = self.linear * weights - steep
        by_inner[np.diag_indices(len(steep))] += steep.sum(axis=0)
        by_row = by_inner @ centred
        along = float(np.vdot(by_row, smooth))
        found = []
        for change in self._between.gradients():
            masked = self._masked(change)
            gain = 0.0
            if self._sample is not None:
                moved = self._times(self._sample, change, masked)
                gain = float(np.einsum("ij,ij->i", moved, self._sample).mean())
            moved = self._times(centred, change, masked)
            found.append(self._scale * (float(np.vdot(by_row, moved)) - gain * along))
        return found

    def __rmul__(self, factor: float) -> "Covariance":
        if not is_finite(factor) or factor <= 0.0:
            raise CovarianceError(f"a covariance can be scaled by a positive number only, got {factor!r}")
        scaled = self._copy()
        for name in ("linear", "nonlinear", "private", "bias"):
            setattr(scaled, name, float(factor) * getattr(self, name))
        scaled._medians = {name: getattr(scaled, name) for name in self._medians}
        return scaled


class SetKernel(_VectorKernel):
    """Subsets as vectors of inclusion probabilities, with a kernel between items.

    A partial subset is a distribution over its completions: an item that is chosen counts 1, any other the
    probability that random play includes it. So g of a partial subset is what random play from it earns.
    Two subsets are alike if their items are.

    Parameters
    ----------
    between_items : Nearness or matrix, optional
        How alike items are: :class:`Nearness` for items that have a place, a positive semi-definite
        matrix such as :func:`correlation` of a table's columns. By default every item is like itself only.
    linear, nonlinear : float
        Variance of the trend that every item adds to, and of the rest, in random leaves; learnt, unless 0.
    length : float
        How far the rest reaches: random leaves are sqrt(2) apart. Learnt.
    shape : str
        One of ``"squared-exponential"``, ``"matern-5/2"``, ``"matern-3/2"``.
    bias : float
        Variance of what all subsets share.
    private : float
        Variance of what every subset has for itself; learnt, unless 0.

    Examples
    --------
    >>> from dagsearch.problems import Subsets
    >>> problem = Subsets(6, 2, reward=sum)
    >>> kernel = SetKernel(Nearness([[0], [1], [2], [3], [4], [5]])).bind(problem)
    >>> near, far = kernel([frozenset({0, 4})], [frozenset({1, 4}), frozenset({2, 5})])[0]
    >>> bool(near > far)
    True
    """

    def __init__(
        self,
        between_items: Nearness | ArrayLike | None = None,
        *,
        linear: float = 0.5,
        nonlinear: float = 0.5,
        length: float = 1.0,
        shape: str = "squared-exponential",
        bias: float = 1.0,
        private: float = 0.02,
    ) -> None:
        between: Nearness | _Given | None
        if between_items is None or isinstance(between_items, Nearness):
            between = between_items
        else:
            between = _Given(between_items)
        self._problem: Any = None
        super().__init__(
            between,
            linear=linear,
            nonlinear=nonlinear,
            length=length,
            shape=shape,
            bias=bias,
            private=private,
        )

    def _bind(self, problem: Problem) -> None:
        if not hasattr(problem, "inclusion"):
            raise CovarianceError(
                f"SetKernel needs inclusion(states), the probability of each item to be in the end, which "
                f"{type(problem).__name__} does not have. Use problems.Subsets, or another covariance"
            )
        self._problem = problem
        if self._between is not None:
            items = len(self._between.matrix())
            width = np.asarray(problem.inclusion([problem.root()])).shape[1]
            if items != width:
                raise CovarianceError(
                    f"between_items is about {items} items, but {type(problem).__name__} has {width}"
                )

    def _mean_row(self, problem: Problem, rows: FloatArray) -> FloatArray:
        center = np.asarray(self._problem.inclusion([problem.root()])[0], dtype=np.float64)
        free = ((center > 0.0) & (center < 1.0)).astype(np.float64)
        self._mask = free if center.size > _MANY_ITEMS else None
        return center

    def represent(self, states: Sequence[State]) -> Rows:
        if self._problem is None:
            raise CovarianceError("SetKernel must know the problem first: use SetKernel(...).bind(problem)")
        return np.asarray(self._problem.inclusion(states), dtype=np.float64)

    def prepared(self, rows: Rows) -> Rows:
        """As above, and then e^(K(x − x̄) / 2ℓ²), for :meth:`sums_of_children`."""
        found = super().prepared(rows)
        raised = np.exp(np.minimum(found[:, :-1] / (2.0 * self.length**2), _LARGE))
        return np.concatenate([found, raised], axis=1)

    def of_children(
        self, families: Families, others: Rows, places: IntArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        known = families.inclusion
        if known is None:
            return super().of_children(families, others, places)
        if not known.single:
            rows = known.common[known.family]
            rows[known.child, known.item] += known.added[known.family[known.child]]
            return self.of_rows(rows if places is None else rows[places], others)
        family, items = known.family, known.item
        if places is not None:
            family, items = family[places], items[places]
        base, smooth_common, own_common = self._compared(known.common, others)
        trend, apart = np.empty((2, len(others), family.size))
        own = _add_items(
            family,
            items,
            known.added,
            base,
            own_common,
            smooth_common,
            others,
            self._diagonal,
            self.bias,
            self.linear,
            trend,
            apart,
        )
        return self._with_rest(trend, apart).T, self.bias + self.linear * own + self.nonlinear

    def sums_of_children(self, families: Families, others: Rows, weights: FloatArray) -> FloatArray:
        """Without an exponential for every pair, where all children are leaves that add one item.

        With c common to a family and eᵢ the item, ‖c + eᵢ − y‖² = ‖c + eᵢ‖² + ‖y‖² − 2cᵀKy − 2(Ky)ᵢ: of its
        exponential, what hangs on both y and i hangs on nothing else, and :meth:`prepared` has it already.
        """
        known = families.inclusion
        if (
            self.shape != "squared-exponential"
            or known is None
            or not known.single
            or known.added.min() < 1.0
        ):
            return super().sums_of_children(families, others, weights)
        base, smooth_common, own_common = self._compared(known.common, others)
        items = len(self._center)
        smooth, norms, raised = others[:, :items], others[:, items], others[:, items + 1 :]
        own = own_common[:, None] + 2.0 * smooth_common + self._diagonal
        sharpness = 1.0 / (4.0 * self.length**2)
        # Factors of a product below 1 must not overflow.
        if sharpness * (own.max() + norms.max() + self._diagonal.max()) > _LARGE / 2.0:
            return super().sums_of_children(families, others, weights)
        by_other = np.exp(sharpness * (2.0 * base - norms[:, None])) * weights[:, None]
        sums = self.nonlinear * np.exp(-sharpness * own) * (by_other.T @ raised)
        sums += self.linear * (weights @ smooth)
        sums += (self.bias * weights.sum() + self.linear * (weights @ base))[:, None]
        return np.asarray(sums[known.family, known.item])

    def _compared(self, common: FloatArray, others: Rows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Inner products of others and what families have in common; the latter smoothed, and its norms."""
        centred = common - self._center
        smooth_common = self._smoothed(centred)
        own_common = np.einsum("ij,ij->i", smooth_common, centred)
        return self._inner(others[:, : len(self._center)], centred), smooth_common, own_common

    def __repr__(self) -> str:
        values = ", ".join(f"{parameter.name}={parameter.value:.3g}" for parameter in self.hyperparameters)
        return f"SetKernel({self.shape}, {values})"


class Features(_VectorKernel):
    """States as vectors of features that the user knows, on scales of their own.

    Parameters
    ----------
    features : callable
        ``features(state)`` gives as many numbers for every state.
    linear, nonlinear, length, shape, bias, private
        As for :class:`SetKernel`.

    Examples
    --------
    >>> kernel = Features(lambda state: [len(state), sum(state)], linear=0.0, bias=0.0)
    >>> kernel([(1, 2)], [(2, 1), (9, 9)]).round(2)
    array([[0.5, 0. ]])
    """

    def __init__(
        self,
        features: Callable[[State], Sequence[float]],
        *,
        linear: float = 0.5,
        nonlinear: float = 0.5,
        length: float = 1.0,
        shape: str = "squared-exponential",
        bias: float = 1.0,
        private: float = 0.02,
    ) -> None:
        self._features = features
        super().__init__(
            None,
            linear=linear,
            nonlinear=nonlinear,
            length=length,
            shape=shape,
            bias=bias,
            private=private,
        )

    def _bind(self, problem: Problem) -> None:
        rows = np.asarray(self.represent(random_leaves(problem)), dtype=np.float64)
        deviations = rows.std(axis=0)
        self._between = _Given(np.diag(1.0 / np.where(deviations > 0.0, deviations, 1.0) ** 2))

    def represent(self, states: Sequence[State]) -> Rows:
        return _feature_rows(self._features, states)

    def __repr__(self) -> str:
        return f"Features({self._features!r}, {self.shape})"


class LinearFeatures(FeatureMap):
    """g as a linear function of features that the user knows; weights have unit prior variance.

    Parameters
    ----------
    features : callable
        ``features(state)`` gives as many numbers for every state.
    private : float
        Variance of what every state has for itself.

    Examples
    --------
    >>> LinearFeatures(lambda state: [1.0, state])([2], [3])
    array([[7.]])
    """

    def __init__(self, features: Callable[[State], Sequence[float]], private: float = 0.0) -> None:
        self._features = features
        self.private = checked_variance("private", private)
        self._width = 0

    @property
    def dimension(self) -> int:
        return self._width

    def features(self, states: Sequence[State]) -> SparseRows:
        rows = _feature_rows(self._features, states)
        self._width = max(self._width, rows.shape[1])
        count, width = rows.shape
        columns = np.tile(np.arange(width), count)
        return SparseRows(np.arange(count + 1) * width, columns, rows.ravel())

    def __repr__(self) -> str:
        return f"LinearFeatures({self._features!r}, private={self.private!r})"


def _feature_rows(features: Callable[[State], Sequence[float]], states: Sequence[State]) -> FloatArray:
    found = [np.asarray(features(state), dtype=np.float64).ravel() for state in states]
    for state, row in zip(states, found, strict=True):
        if row.size != found[0].size or not np.all(np.isfinite(row)):
            raise CovarianceError(
                f"features({state!r}) must be {found[0].size} finite numbers, as elsewhere, got {row}"
            )
    return np.array(found).reshape(len(states), -1)
