"""Exact moments of the maximum of independent Gaussian variables, by quadrature.

The density of the maximum is f(m) = Σ_i N(m; μ_i, σ_i²) Π_{j≠i} Φ_j(m), with Φ_j the distribution functions;
a prior multiplies it. It is integrated piece by piece with Gauss–Legendre nodes. The pieces end at whole
standard deviations around the centre of every branch i, so that on each of them every factor is either smooth
or constant, even if the variables have very different scales.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.values.gaussians import LOG_SQRT_2PI, SQRT_HALF, checked_prior, truncation

# Ends of pieces, in standard deviations from the centre of a branch.
_REACH = np.arange(-10.0, 11.0)
_NODES, _NODE_WEIGHTS = np.polynomial.legendre.leggauss(20)
_CHUNK = 2_000_000  # entries of the (points × variables) tables held at a time


def exact_max_of_many(
    means: ArrayLike, variances: ArrayLike, prior: Sequence[float] | None = None
) -> tuple[float, float]:
    """The same as :func:`dagsearch.values.gaussians.max_of_many` without approximation.

    Examples
    --------
    >>> mean, var = exact_max_of_many([0.0] * 10, [1.0] * 10)
    >>> round(mean, 4), round(var, 4)
    (1.5388, 0.3443)
    """
    return exact_maximum(np.asarray(means), np.asarray(variances), *checked_prior(prior))


def exact_maximum(
    means: FloatArray, variances: FloatArray, prior_mean: float, prior_var: float
) -> tuple[float, float]:
    """Moments of the maximum of independent variables under a prior, by quadrature."""
    if prior_var == 0.0:
        return prior_mean, 0.0
    certain = variances == 0.0
    floor = float(means[certain].max()) if certain.any() else -math.inf
    moments, counts = np.unique(np.stack([means, variances])[:, ~certain], axis=1, return_counts=True)
    mean, sd = moments[0], np.sqrt(moments[1])
    # A variable wholly below the certain value, or ten deviations below another, is never the maximum.
    lowest = max(floor, float(np.max(mean - 10.0 * sd, initial=-math.inf)))
    if prior_var == math.inf:
        reaching = mean + 10.0 * sd > lowest
        mean, sd, counts = mean[reaching], sd[reaching], counts[reaching]
    if mean.size == 0:
        return floor, 0.0
    points, widths = _quadrature_points(mean, sd, counts, floor, prior_mean, prior_var)
    reference = _approximate_mode(points, mean, sd, counts, prior_mean, prior_var)
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
        # A prior in conflict with the variables moves a branch far from μ_i, so the mode is computed. Its
        # left flank falls off with the curvature at the mode; its right flank has tails on any scale between
        # that and the scale of the Gaussian factor.
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
    if len(kept) == 1:  # the certain value is at the end of the other variables' range
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
    # No branch is much narrower than this, and a small fraction of its width is precise enough.
    narrow = 0.01 * min(sd.min(), math.sqrt(prior_var))
    low = high = mode = centre
    for halving in range(100):
        slope = -precision * (mode - centre)
        curvature = precision
        for j in range(mean.size):
            _, hazard, narrowing = truncation((mode - mean[j]) / sd[j])
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


def _approximate_mode(
    points: FloatArray,
    mean: FloatArray,
    sd: FloatArray,
    counts: IntArray,
    prior_mean: float,
    prior_var: float,
) -> float:
    """Approximate mode of the density of the maximum times the prior."""
    if prior_var == math.inf:
        return float(mean.max())
    z = (points[:, None] - mean) / sd
    log_cdf = _special().log_ndtr(z)
    rough = log_cdf @ counts + np.max(-0.5 * z * z - log_cdf, axis=1)
    return float(points[np.argmax(rough - 0.5 * (points - prior_mean) ** 2 / prior_var)])


class _Tilt:
    """Log densities of the maximum times the prior, relative to a reference point between them.

    Under a prior in conflict, the logarithms are sums of squares that are far larger than their differences.
    So −z²/2 is split off log Φ(z) for z < 0, and differences of squares are computed as products.
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
        # −z²/2 of the variables below the reference, and the largest of those: all are relative to it.
        self._square = np.where(self._z_reference < 0.0, 0.0, -0.5 * self._z_reference**2)
        self._largest = float(self._square.max())

    def log_below(self, points: FloatArray) -> FloatArray:
        """Log of Π_j Φ_j(m) times the prior."""
        z = (points[:, None] - self._mean) / self._sd
        return self._log_below(points, z, _log_scaled_cdf(z)) - self._largest

    def log_density(self, points: FloatArray) -> FloatArray:
        """Log of the density of the maximum times the prior."""
        chunks = np.array_split(points, max(1, points.size * self._mean.size // _CHUNK))
        return np.concatenate([self._log_density(chunk) for chunk in chunks])

    def _log_density(self, points: FloatArray) -> FloatArray:
        z = (points[:, None] - self._mean) / self._sd
        scaled = _log_scaled_cdf(z)
        by_product = self._square - self._largest + self._product(points, z)
        directly = -0.5 * z * z - self._largest
        squares = np.where(z > 0.5 * np.abs(self._z_reference), by_product, directly)
        squares = np.where(self._z_reference < 0.0, directly, squares)
        squares = np.where(z < 0.0, -self._largest, squares)
        log_hazard = squares - scaled - np.log(self._sd)
        total = _special().logsumexp(log_hazard, axis=1, b=self._counts) - LOG_SQRT_2PI
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
        """−z²/2 minus its value at the reference."""
        moved = (points - self._reference)[:, None]
        return np.asarray(-0.5 * moved / self._sd * (z + self._z_reference))


def _log_scaled_cdf(z: FloatArray) -> FloatArray:
    """Log Φ(z), plus z²/2 for negative z."""
    special = _special()
    negative = np.log(0.5 * special.erfcx(-np.minimum(z, 0.0) * SQRT_HALF))
    return np.asarray(np.where(z < 0.0, negative, special.log_ndtr(z)))


def _special() -> Any:
    """SciPy's special functions, which are slow to import and needed for exact maxima only."""
    import scipy.special

    return scipy.special
