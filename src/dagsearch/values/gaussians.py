r"""The maximum of Gaussian variables, matched by a Gaussian (section 3.2.1 and appendix A).

=====================  ===================  =========================================================
paper                  code                 meaning
=====================  ===================  =========================================================
μ_i, σ_i², ρ           mean, var, corr      the variables and their correlation
μ_0, σ_0²              prior                Gaussian prior on the maximum (``None``: σ_0² → ∞)
s_i                    shrinkage            σ_0² / (σ_i² + σ_0²), so that σ_ci² = s_i σ_i²
a_i / σ_i              spread               sd of x_i − x_j, once the prior has been applied to x_i
b_i / a_i              slope                correlation of that difference with x_i
k_i                    k                    standardised mean of that difference
φ(k)/Φ(k)              hazard               mean of a standard normal truncated to z > −k
1 − h(h + k)           narrowing            variance of that truncated normal
w_i                    weight               probability that x_i is the maximum
=====================  ===================  =========================================================

The appendix's formulas are misprinted in places. The code computes the exact first two moments of
``p(m) ∝ N(m; μ_0, σ_0²) p(max(x_1, x_2) = m)``, written as a mixture of the branch "x_1 is the maximum"
and the branch "x_2 is": within-branch variances plus w_1 w_2 (u_1 − u_2)². Every term is non-negative, so
nothing cancels, unlike a second moment minus a squared mean.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray

SQRT_HALF = math.sqrt(0.5)
LOG_SQRT_2PI = 0.5 * math.log(2.0 * math.pi)
# Below this argument φ(k)/Φ(k) comes from a continued fraction; above it the textbook
# formula loses less than two digits.
_TAIL = -3.0


# A prior variance up to this counts as 0, because ratios to it would overflow.
_CERTAIN = 1e-200


@compiled
def truncation(k: float) -> tuple[float, float, float]:
    """``log Φ(k)``, ``h = φ(k)/Φ(k)`` and ``1 − h(h + k)`` to machine precision for every ``k``.

    The last two are the mean and the variance of a standard normal truncated to ``z > −k``.
    Textbook: both are 0/0 for k < −38 and the variance has lost all digits long before that.
    In the tail, with α = −k and I_n = ∫_α^∞ (t − α)ⁿ/n! φ(t) dt, the ratios r_n = I_n / I_{n−1} obey
    r_{n−1} = 1 / (α + n r_n): run backwards, only positive numbers are added. Then Φ(k) = φ(k) r_0,
    h = α + r_1, and the variance is E[(z−α)²] − E[z−α]² = r_1 (2 r_2 − r_1).
    """
    if not k <= _TAIL:  # so that NaN passes through
        cdf = 0.5 * math.erfc(-k * SQRT_HALF)
        hazard = math.exp(-0.5 * k * k - LOG_SQRT_2PI) / cdf
        log_cdf = math.log(cdf) if k < 0.0 else math.log1p(-0.5 * math.erfc(k * SQRT_HALF))
        return log_cdf, hazard, 1.0 - hazard * (hazard + k)
    alpha = -k
    terms = int(12.0 + 500.0 / (alpha * alpha))
    # The fixed point of the recursion at large n approximates the remainder of the fraction.
    r2 = (math.sqrt(alpha * alpha + 4.0 * terms) - alpha) / (2.0 * terms)
    for n in range(terms, 2, -1):
        r2 = 1.0 / (alpha + n * r2)
    r1 = 1.0 / (alpha + 2.0 * r2)
    r0 = 1.0 / (alpha + r1)
    log_cdf = -0.5 * k * k - LOG_SQRT_2PI + math.log(r0)
    return log_cdf, alpha + r1, r1 * (2.0 * r2 - r1)


@compiled
def with_prior(mean: float, var: float, prior_mean: float, prior_var: float) -> tuple[float, float]:
    """The maximum of a single variable: the normalised product of its density and the prior."""
    if prior_var == 0.0:
        return prior_mean, 0.0
    if prior_var == math.inf or var == 0.0:
        return mean, var
    lost = var / (var + prior_var)
    return mean + lost * (prior_mean - mean), prior_var * lost


@compiled
def _branch(
    mean1: float, var1: float, mean2: float, var2: float, corr: float, prior_mean: float, prior_var: float
) -> tuple[float, float, float]:
    """Log weight, mean and variance of ``p(m)`` restricted to "x_1 is the maximum".

    σ_1 is divided out of the paper's a_1 and k_1, so that σ_1 → 0 is not a special case.
    """
    sd1, sd2 = math.sqrt(var1), math.sqrt(var2)
    ratio = var1 / prior_var
    shrinkage = 1.0 / (1.0 + ratio)
    mean = mean1 + (prior_mean - mean1) * ratio * shrinkage
    across = sd1 - corr * sd2
    free = var2 * (1.0 - corr) * (1.0 + corr)
    spread = math.sqrt(free + across * across * shrinkage)
    pull = corr * sd2 * (prior_mean - mean1) * sd1 / (var1 + prior_var)
    log_cdf, hazard, narrowing = truncation((mean - mean2 - pull) / spread)
    slope = math.sqrt(shrinkage) * across / spread
    distance = prior_mean - mean1
    log_weight = log_cdf - 0.5 * math.log1p(ratio) - 0.5 * distance * distance / (var1 + prior_var)
    shrunk_var = var1 * shrinkage
    mean += math.sqrt(shrunk_var) * slope * hazard
    return log_weight, mean, shrunk_var * (free / (spread * spread) + slope * slope * narrowing)


@compiled
def pair_maximum(
    mean1: float, var1: float, mean2: float, var2: float, corr: float, prior_mean: float, prior_var: float
) -> tuple[float, float]:
    """Mean and variance of the maximum of two variables: unchecked, and ``prior_var = inf`` for no prior."""
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
    return u1 + weight2 * gap, weight1 * spread1 + weight2 * spread2 + weight1 * weight2 * gap * gap


# With means this many deviations apart, the smaller variable does not change the last digit of the moments.
_BEYOND = 9.0
# With means this many deviations apart, Clark's variance loses digits.
_TAILS = 5.0


@compiled
def _independent_maximum(mean1: float, var1: float, mean2: float, var2: float) -> tuple[float, float]:
    """:func:`pair_maximum` of independent variables without a prior, by Clark's moments.

    With a² = σ₁² + σ₂², α = (μ₁ − μ₂)/a ≥ 0 and h = φ(α) − α Φ(−α), about μ₁ so that nothing large cancels:

        mean = μ₁ + a h,    variance = σ₁² Φ(α) + σ₂² Φ(−α) − a² h (α + h).

    The variance still loses a factor of about α² in precision, so in the tails the general form is used.
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
    """Maximum of independent variables, merged one by one; the prior enters at the last merge."""
    last = means.shape[0] - 1
    mean, var = means[0], variances[0]
    if last == 0:
        return with_prior(mean, var, prior_mean, prior_var)
    for i in range(1, last):
        mean, var = _independent_maximum(mean, var, means[i], variances[i])
    if prior_var == math.inf:
        return _independent_maximum(mean, var, means[last], variances[last])
    return pair_maximum(mean, var, means[last], variances[last], 0.0, prior_mean, prior_var)


# For Python callers ------------------------------------------------------------------------------------


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


def max_of_many(
    means: ArrayLike, variances: ArrayLike, prior: Sequence[float] | None = None
) -> tuple[float, float]:
    """Mean and variance of the maximum of independent Gaussian variables, with a prior on the maximum.

    The variables are merged one by one, as in the paper, and every intermediate maximum counts as Gaussian:
    O(n), but the variance is too small (784 standard normals: mean 3.150, variance 0.089; exactly 3.171 and
    0.128).

    Examples
    --------
    >>> mean, var = max_of_many([0.0] * 10, [1.0] * 10)
    >>> round(mean, 3), round(var, 3)
    (1.537, 0.303)
    """
    mean_row, var_row = (np.array(moments, dtype=np.float64) for moments in (means, variances))
    return fold_maximum(mean_row, var_row, *checked_prior(prior))
