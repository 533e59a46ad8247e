r"""The maximum of Gaussian variables, matched by a Gaussian (section 3.2.1 and appendix A).

=====================  ===================  =========================================================
paper                  code                 meaning
=====================  ===================  =========================================================
μ_i, σ_i², ρ           mean, var, corr      the variables and their correlation
μ_0, σ_0²              prior                Gaussian prior on the maximum (``None``: σ_0² → ∞)
s_i                    kept                 σ_0² / (σ_i² + σ_0²), so that σ_ci² = s_i σ_i²
a_i / σ_i              spread               sd of x_i − x_j, once x_i has been told of the prior
b_i / a_i              slope                correlation of that difference with x_i
k_i                    k                    standardised mean of that difference
φ(k)/Φ(k)              hazard               mean of a standard normal truncated to z > −k
1 − h(h + k)           narrowing            variance of that truncated normal
w_i                    weight               probability that x_i is the maximum
=====================  ===================  =========================================================

The appendix's formulas are misprinted in places. What is coded here is the exact first two moments of
``p(m) ∝ N(m; μ_0, σ_0²) p(max(x_1, x_2) = m)``, written as a mixture of the branch "x_1 is the maximum"
and the branch "x_2 is": within-branch variances plus w_1 w_2 (u_1 − u_2)². Every term is non-negative, so
nothing cancels, unlike a second moment minus a squared mean.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray

_SQRT_HALF = math.sqrt(0.5)
_LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Below this argument φ(k)/Φ(k) comes from a continued fraction; above it the textbook
# formula loses less than two digits.
_TAIL = -3.0
# A prior variance this small is none: ratios to it would overflow.
_CERTAIN = 1e-200


class Gaussian(NamedTuple):
    """A univariate Gaussian; unpacks as ``(mean, variance)``."""

    mean: float
    """Its mean."""
    variance: float
    """Its variance, not the standard deviation."""


@compiled
def _truncation(k: float) -> tuple[float, float, float]:
    """``log Φ(k)``, ``h = φ(k)/Φ(k)`` and ``1 − h(h + k)`` to machine precision for every ``k``.

    The last two are the mean and the variance of a standard normal truncated to ``z > −k``.
    Textbook: both are 0/0 for k < −38 and the variance has lost all digits long before that.
    In the tail, with α = −k and I_n = ∫_α^∞ (t − α)ⁿ/n! φ(t) dt, the ratios r_n = I_n / I_{n−1} obey
    r_{n−1} = 1 / (α + n r_n): run backwards, only positive numbers are added. Then Φ(k) = φ(k) r_0,
    h = α + r_1, and the variance is E[(z−α)²] − E[z−α]² = r_1 (2 r_2 − r_1).
    """
    if not k <= _TAIL:  # so that NaN passes through
        cdf = 0.5 * math.erfc(-k * _SQRT_HALF)
        hazard = math.exp(-0.5 * k * k - _LOG_SQRT_2PI) / cdf
        log_cdf = math.log(cdf) if k < 0.0 else math.log1p(-0.5 * math.erfc(k * _SQRT_HALF))
        return log_cdf, hazard, 1.0 - hazard * (hazard + k)
    alpha = -k
    terms = int(12.0 + 500.0 / (alpha * alpha))
    # The fixed point of the recursion at large n: the remainder of the fraction, nearly.
    r2 = (math.sqrt(alpha * alpha + 4.0 * terms) - alpha) / (2.0 * terms)
    for n in range(terms, 2, -1):
        r2 = 1.0 / (alpha + n * r2)
    r1 = 1.0 / (alpha + 2.0 * r2)
    r0 = 1.0 / (alpha + r1)
    log_cdf = -0.5 * k * k - _LOG_SQRT_2PI + math.log(r0)
    return log_cdf, alpha + r1, r1 * (2.0 * r2 - r1)


@compiled
def with_prior(mean: float, var: float, prior_mean: float, prior_var: float) -> tuple[float, float]:
    """The maximum of one variable: the product of its density and the prior."""
    if prior_var == 0.0:
        return prior_mean, 0.0
    if prior_var == math.inf or var == 0.0:
        return mean, var
    lost = var / (var + prior_var)
    return mean + lost * (prior_mean - mean), prior_var * lost


@compiled
def _branch(
    mean1: float,
    var1: float,
    mean2: float,
    var2: float,
    corr: float,
    prior_mean: float,
    prior_var: float,
) -> tuple[float, float, float]:
    """Log weight, mean and variance of ``p(m)`` restricted to "x_1 is the maximum".

    σ_1 is divided out of the paper's a_1 and k_1, so that σ_1 → 0 needs no case of its own.
    """
    sd1, sd2 = math.sqrt(var1), math.sqrt(var2)
    ratio = var1 / prior_var
    kept = 1.0 / (1.0 + ratio)
    mean = mean1 + (prior_mean - mean1) * ratio * kept
    across = sd1 - corr * sd2
    free = var2 * (1.0 - corr) * (1.0 + corr)
    spread = math.sqrt(free + across * across * kept)
    pull = corr * sd2 * (prior_mean - mean1) * sd1 / (var1 + prior_var)
    log_cdf, hazard, narrowing = _truncation((mean - mean2 - pull) / spread)
    slope = math.sqrt(kept) * across / spread
    distance = prior_mean - mean1
    log_weight = log_cdf - 0.5 * math.log1p(ratio) - 0.5 * distance * distance / (var1 + prior_var)
    kept_var = var1 * kept
    mean += math.sqrt(kept_var) * slope * hazard
    return log_weight, mean, kept_var * (free / (spread * spread) + slope * slope * narrowing)


@compiled
def pair_maximum(
    mean1: float,
    var1: float,
    mean2: float,
    var2: float,
    corr: float,
    prior_mean: float,
    prior_var: float,
) -> tuple[float, float]:
    """:func:`max_of_two` for compiled callers: scalars, unchecked, ``prior_var = inf`` for none."""
    difference = math.sqrt(var1) - math.sqrt(var2)
    apart = difference * difference + 2.0 * (1.0 - corr) * math.sqrt(var1 * var2)
    if prior_var == 0.0 or apart == 0.0:  # x_1 − x_2 is certain: only the larger one matters
        if mean1 >= mean2:
            return with_prior(mean1, var1, prior_mean, prior_var)
        return with_prior(mean2, var2, prior_mean, prior_var)
    log1, u1, spread1 = _branch(mean1, var1, mean2, var2, corr, prior_mean, prior_var)
    log2, u2, spread2 = _branch(mean2, var2, mean1, var1, corr, prior_mean, prior_var)
    if log2 > log1:
        log1, u1, spread1, log2, u2, spread2 = log2, u2, spread2, log1, u1, spread1
    odds = math.exp(log2 - log1)
    weight1, weight2 = 1.0 / (1.0 + odds), odds / (1.0 + odds)
    if weight2 == 0.0:
        return u1, spread1
    gap = u2 - u1
    return (
        u1 + weight2 * gap,
        weight1 * spread1 + weight2 * spread2 + weight1 * weight2 * gap * gap,
    )


# Beyond so many deviations the smaller one does not count to the last digit; a few less, only in the tails.
_BEYOND, _TAILS = 9.0, 5.0


@compiled
def _independent_maximum(mean1: float, var1: float, mean2: float, var2: float) -> tuple[float, float]:
    """:func:`pair_maximum` of independent variables without a prior, by Clark's moments.

    With a² = σ₁² + σ₂², α = (μ₁ − μ₂)/a ≥ 0 and h = φ(α) − α Φ(−α), about μ₁ so that nothing large cancels:

        mean = μ₁ + a h,    variance = σ₁² Φ(α) + σ₂² Φ(−α) − a² h (α + h).

    What is left cancels by 1/α²: in the tails the general form takes over.
    """
    if mean2 > mean1:
        mean1, var1, mean2, var2 = mean2, var2, mean1, var1
    square = var1 + var2
    gap = mean1 - mean2
    if gap * gap >= _BEYOND * _BEYOND * square:
        return mean1, var1
    spread = math.sqrt(square)
    alpha = gap / spread
    if alpha > _TAILS:
        return pair_maximum(mean1, var1, mean2, var2, 0.0, 0.0, math.inf)
    tail = 0.5 * math.erfc(alpha * math.sqrt(0.5))
    h = math.exp(-0.5 * alpha * alpha) / math.sqrt(2.0 * math.pi) - alpha * tail
    return mean1 + spread * h, var1 * (1.0 - tail) + var2 * tail - square * h * (alpha + h)


@compiled
def fold_maximum(
    means: FloatArray, variances: FloatArray, prior_mean: float, prior_var: float
) -> tuple[float, float]:
    """Maximum of independent variables, one merge after the other; the prior enters at the last one."""
    last = means.shape[0] - 1
    mean, var = means[0], variances[0]
    if last == 0:
        return with_prior(mean, var, prior_mean, prior_var)
    for i in range(1, last):
        mean, var = _independent_maximum(mean, var, means[i], variances[i])
    if prior_var == math.inf:
        return _independent_maximum(mean, var, means[last], variances[last])
    return pair_maximum(mean, var, means[last], variances[last], 0.0, prior_mean, prior_var)


@compiled
def _pairs(columns: FloatArray, prior_mean: float, prior_var: float) -> FloatArray:
    moments = np.empty((2, columns.shape[1]))
    for i in range(columns.shape[1]):
        mean1, var1, mean2, var2, corr = columns[:, i]
        moments[0, i], moments[1, i] = pair_maximum(mean1, var1, mean2, var2, corr, prior_mean, prior_var)
    return moments


@compiled
def _folds(means: FloatArray, variances: FloatArray, prior_mean: float, prior_var: float) -> FloatArray:
    moments = np.empty((2, means.shape[0]))
    for i in range(means.shape[0]):
        moments[0, i], moments[1, i] = fold_maximum(means[i], variances[i], prior_mean, prior_var)
    return moments


def _checked(name: str, values: ArrayLike, *, variance: bool = False) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {values!r}")
    if variance and np.any(array < 0.0):
        raise ValueError(f"{name} must not be negative, got {values!r}")
    return array


def checked_prior(prior: Sequence[float] | None) -> tuple[float, float]:
    """``prior`` as ``(mean, variance)``; ``None``, no prior, becomes ``(0, inf)``."""
    if prior is None:
        return 0.0, math.inf
    try:
        mean, var = (float(value) for value in prior)
    except (TypeError, ValueError):
        mean = var = math.nan
    if not math.isfinite(mean) or math.isnan(var) or var < 0.0:
        raise ValueError(f"prior must be None or (finite mean, variance of at least 0), got {prior!r}")
    return mean, var if var > _CERTAIN else 0.0


def max_of_two(
    mean1: ArrayLike,
    var1: ArrayLike,
    mean2: ArrayLike,
    var2: ArrayLike,
    correlation: ArrayLike = 0.0,
    prior: Sequence[float] | None = None,
) -> tuple[FloatArray | float, FloatArray | float]:
    """Mean and variance of the maximum of two jointly Gaussian variables.

    The moments are exact; the distribution they belong to is not Gaussian. The minimum is the negated
    maximum of the negated variables.

    Parameters
    ----------
    mean1, var1, mean2, var2 : array_like
        Moments of the two variables; broadcast against each other.
    correlation : array_like
        Their correlation, in ``[-1, 1]``.
    prior : (mean, variance), optional
        Gaussian prior on the maximum itself.

    Returns
    -------
    mean, var : float or array of the broadcast shape

    Examples
    --------
    >>> mean, var = max_of_two(0.0, 1.0, 0.0, 1.0)
    >>> round(mean, 4), round(var, 4)
    (0.5642, 0.6817)
    """
    corr = _checked("correlation", correlation)
    if np.any(np.abs(corr) > 1.0):
        raise ValueError(f"correlation must lie in [-1, 1], got {correlation!r}")
    columns = np.broadcast_arrays(
        _checked("mean1", mean1),
        _checked("var1", var1, variance=True),
        _checked("mean2", mean2),
        _checked("var2", var2, variance=True),
        corr,
    )
    shape = columns[0].shape
    moments = _pairs(np.stack([column.ravel() for column in columns]), *checked_prior(prior))
    if shape == ():
        return float(moments[0, 0]), float(moments[1, 0])
    return moments[0].reshape(shape), moments[1].reshape(shape)


def max_of_many(
    means: ArrayLike,
    variances: ArrayLike,
    prior: Sequence[float] | None = None,
    method: Literal["pairwise", "exact"] = "pairwise",
) -> tuple[FloatArray | float, FloatArray | float]:
    """Mean and variance of the maximum of independent Gaussian variables.

    Parameters
    ----------
    means, variances : array_like, shape ``(..., n)``
        The variables along the last axis.
    prior : (mean, variance), optional
        Gaussian prior on the maximum.
    method : {"pairwise", "exact"}
        ``"pairwise"`` merges one variable after the other, as the paper does, and treats every
        intermediate maximum as Gaussian: O(n), but the variance comes out too small (784 standard
        normals: mean 3.150, variance 0.089). ``"exact"`` integrates the density of the maximum by
        one-dimensional quadrature (3.171, 0.128).

    Returns
    -------
    mean, var : float or array of shape ``(...)``

    Examples
    --------
    >>> mean, var = max_of_many([0.0] * 10, [1.0] * 10, method="exact")
    >>> round(mean, 4), round(var, 4)
    (1.5388, 0.3443)
    """
    mean_rows, var_rows = np.broadcast_arrays(
        _checked("means", means), _checked("variances", variances, variance=True)
    )
    if mean_rows.ndim == 0 or mean_rows.shape[-1] == 0:
        raise ValueError("means must hold at least one variable along its last axis")
    shape = mean_rows.shape[:-1]
    mean_rows = np.ascontiguousarray(mean_rows.reshape(-1, mean_rows.shape[-1]))
    var_rows = np.ascontiguousarray(var_rows.reshape(mean_rows.shape))
    prior_moments = checked_prior(prior)
    if method == "pairwise":
        moments = _folds(mean_rows, var_rows, *prior_moments)
    elif method == "exact":
        pairs = zip(mean_rows, var_rows, strict=True)
        moments = np.array([_exact(mean, var, *prior_moments) for mean, var in pairs]).reshape(-1, 2).T
    else:
        raise ValueError(f'method must be "pairwise" or "exact", got {method!r}')
    if shape == ():
        return float(moments[0, 0]), float(moments[1, 0])
    return moments[0].reshape(shape), moments[1].reshape(shape)


# Exact moments -------------------------------------------------------------------------------
#
# The density of the maximum is f(m) = Σ_i N(m; μ_i, σ_i²) Π_{j≠i} Φ_j(m), with Φ_j the distribution
# functions; a prior multiplies it. It is integrated piece by piece with Gauss–Legendre nodes. The
# pieces end at whole standard deviations around the centre of every branch i, so that on each of
# them every factor is either smooth or constant, whatever the mixture of scales.

_REACH = np.arange(-10.0, 11.0)
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(20)
_CHUNK = 2_000_000  # entries of the (points × variables) tables held at a time


def _exact(
    means: FloatArray, variances: FloatArray, prior_mean: float, prior_var: float
) -> tuple[float, float]:
    """Moments of the maximum of independent variables under a prior, by quadrature."""
    if prior_var == 0.0:
        return prior_mean, 0.0
    certain = variances == 0.0
    floor = float(means[certain].max()) if certain.any() else -math.inf
    moments, counts = np.unique(np.stack([means, variances])[:, ~certain], axis=1, return_counts=True)
    mean, sd = moments[0], np.sqrt(moments[1])
    # What lies wholly below the certain value, or ten deviations below another, is never the maximum.
    lowest = max(floor, float(np.max(mean - 10.0 * sd, initial=-math.inf)))
    if prior_var == math.inf:
        reaching = mean + 10.0 * sd > lowest
        mean, sd, counts = mean[reaching], sd[reaching], counts[reaching]
    if mean.size == 0:
        return floor, 0.0
    points, widths = _quadrature_points(mean, sd, counts, floor, prior_mean, prior_var)
    reference = _likeliest(points, mean, sd, counts, prior_mean, prior_var)
    tilt = _Tilt(mean, sd, counts, prior_mean, prior_var, reference)
    log_mass = tilt.log_density(points) + np.log(widths)
    if certain.any():
        points = np.append(points, floor)
        log_mass = np.append(log_mass, tilt.log_below(points[-1:]))
    mass = np.exp(log_mass - log_mass.max())
    mass /= mass.sum()
    expected = float(mass @ points)
    return expected, float(mass @ (points - expected) ** 2)


def _quadrature_points(
    mean: FloatArray,
    sd: FloatArray,
    counts: IntArray,
    floor: float,
    prior_mean: float,
    prior_var: float,
) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of the composite rule on ``[floor, ∞)``."""
    if prior_var == math.inf:
        edges = (mean[:, None] + sd[:, None] * _REACH).ravel()
        scales = np.repeat(sd, _REACH.size)
    else:
        # A prior in conflict with the variables moves a branch far from μ_i: look where it went. Its left
        # flank falls off with the mode's curvature; its right one has tails on any scale between that
        # and the Gaussian part's.
        mode, width = _branch_modes(mean, sd, counts, prior_mean, prior_var)
        reach = 10.0 * sd / np.sqrt(1.0 + sd**2 / prior_var)
        doublings = 10.0 * 1.5 ** np.arange(math.ceil(math.log(np.max(reach / width), 1.5)) + 1)
        edges = (mode[:, None] + width[:, None] * np.concatenate([_REACH, doublings])).ravel()
        scales = np.repeat(width, _REACH.size + doublings.size)
    order = np.argsort(edges)
    edges, scales = edges[order], scales[order]
    kept = [max(float(edges[0]), floor)]
    for edge, scale in zip(edges.tolist(), scales.tolist(), strict=True):
        if edge - kept[-1] > 0.5 * scale:
            kept.append(edge)
    if len(kept) == 1:  # the certain value lies at the very end of the others' reach
        kept.append(max(float(edges[-1]), floor + float(scales.min())))
    starts, ends = np.array(kept[:-1]), np.array(kept[1:])
    half = 0.5 * (ends - starts)[:, None]
    points = 0.5 * (ends + starts)[:, None] + half * _NODES
    return points.ravel(), (half * _NODE_WEIGHTS).ravel()


@compiled
def _branch_mode(
    i: int,
    mean: FloatArray,
    sd: FloatArray,
    counts: IntArray,
    prior_mean: float,
    prior_var: float,
) -> tuple[float, float]:
    """Mode and width of the (log-concave) branch in which variable ``i`` is the maximum.

    The other variables' Φ_j push it above the product of N(μ_i, σ_i²) and the prior; the slope of the
    log density falls at least as fast as that product's, which bounds how far.
    """
    precision = 1.0 / sd[i] ** 2 + 1.0 / prior_var
    centre = (mean[i] / sd[i] ** 2 + prior_mean / prior_var) / precision
    # No branch is narrower than this by much, and a fraction of its width is near enough.
    narrow = 0.01 * min(sd.min(), math.sqrt(prior_var))
    low = high = mode = centre
    for halving in range(100):
        slope = -precision * (mode - centre)
        curvature = precision
        for j in range(mean.size):
            _, hazard, narrowing = _truncation((mode - mean[j]) / sd[j])
            others = counts[j] - (i == j)
            slope += others * hazard / sd[j]
            curvature += others * (1.0 - narrowing) / sd[j] ** 2
        if halving == 0:
            high = centre + slope / precision
        elif slope > 0.0:
            low = mode
        else:
            high = mode
        if high - low < narrow:
            break
        mode = 0.5 * (low + high)
    return mode, 1.0 / math.sqrt(curvature)


def _branch_modes(
    mean: FloatArray, sd: FloatArray, counts: IntArray, prior_mean: float, prior_var: float
) -> tuple[FloatArray, FloatArray]:
    """Mode and width of every branch, shapes ``(n,)``."""
    modes = [_branch_mode(i, mean, sd, counts, prior_mean, prior_var) for i in range(mean.size)]
    return np.array(modes)[:, 0], np.array(modes)[:, 1]


def _likeliest(
    points: FloatArray,
    mean: FloatArray,
    sd: FloatArray,
    counts: IntArray,
    prior_mean: float,
    prior_var: float,
) -> float:
    """Roughly where the density of the maximum times the prior is largest."""
    if prior_var == math.inf:
        return float(mean.max())
    z = (points[:, None] - mean) / sd
    log_cdf = _special().log_ndtr(z)
    rough = log_cdf @ counts + np.max(-0.5 * z * z - log_cdf, axis=1)
    return float(points[np.argmax(rough - 0.5 * (points - prior_mean) ** 2 / prior_var)])


class _Tilt:
    """Log densities of the maximum times the prior, relative to a point in their midst.

    Under a prior in conflict the logarithms are sums of squares far larger than their differences: −z²/2 is
    split off log Φ(z) for z < 0, and differences of squares are taken as products.
    """

    def __init__(
        self,
        mean: FloatArray,
        sd: FloatArray,
        counts: IntArray,
        prior_mean: float,
        prior_var: float,
        reference: float,
    ) -> None:
        self._mean, self._sd, self._counts = mean, sd, counts
        self._prior_mean, self._prior_var = prior_mean, prior_var
        self._reference = reference
        self._z_reference = (reference - mean) / sd
        # −z²/2 of the variables below the reference, and the least of those: all are relative to it.
        self._square = np.where(self._z_reference < 0.0, 0.0, -0.5 * self._z_reference**2)
        self._least = float(self._square.max())

    def log_below(self, points: FloatArray) -> FloatArray:
        """Log of Π_j Φ_j(m) times the prior."""
        z = (points[:, None] - self._mean) / self._sd
        return self._log_below(points, z, _log_scaled_cdf(z)) - self._least

    def log_density(self, points: FloatArray) -> FloatArray:
        """Log of the density of the maximum times the prior."""
        chunks = np.array_split(points, max(1, points.size * self._mean.size // _CHUNK))
        return np.concatenate([self._log_density(chunk) for chunk in chunks])

    def _log_density(self, points: FloatArray) -> FloatArray:
        z = (points[:, None] - self._mean) / self._sd
        scaled = _log_scaled_cdf(z)
        by_product = self._square - self._least + self._product(points, z)
        directly = -0.5 * z * z - self._least
        squares = np.where(z > 0.5 * np.abs(self._z_reference), by_product, directly)
        squares = np.where(self._z_reference < 0.0, directly, squares)
        squares = np.where(z < 0.0, -self._least, squares)
        log_hazard = squares - scaled - np.log(self._sd)
        total = _special().logsumexp(log_hazard, axis=1, b=self._counts) - _LOG_SQRT_2PI
        return np.asarray(self._log_below(points, z, scaled) + total)

    def _log_below(self, points: FloatArray, z: FloatArray, scaled: FloatArray) -> FloatArray:
        squares = np.where(z < 0.0, -0.5 * z * z, 0.0) - np.where(
            self._z_reference < 0.0, -0.5 * self._z_reference**2, 0.0
        )
        both = (z < 0.0) & (self._z_reference < 0.0)
        quadratic = np.where(both, self._product(points, z), squares)
        moved = points - self._reference
        from_prior = moved * (points + self._reference - 2.0 * self._prior_mean) / self._prior_var
        return np.asarray((scaled + quadratic) @ self._counts - 0.5 * from_prior)

    def _product(self, points: FloatArray, z: FloatArray) -> FloatArray:
        """−z²/2 less its value at the reference."""
        moved = (points - self._reference)[:, None]
        return np.asarray(-0.5 * moved / self._sd * (z + self._z_reference))


def _log_scaled_cdf(z: FloatArray) -> FloatArray:
    """Log Φ(z), plus z²/2 for negative z."""
    special = _special()
    negative = np.log(0.5 * special.erfcx(-np.minimum(z, 0.0) * _SQRT_HALF))
    return np.asarray(np.where(z < 0.0, negative, special.log_ndtr(z)))


def _special() -> Any:
    """SciPy's special functions: slow to import, and only exact maxima need them."""
    import scipy.special

    return scipy.special
