"""The maximum of Gaussians, against quadrature, mpmath and the corrected formulas of the appendix."""

import json
import math
from itertools import pairwise
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import multivariate_normal, norm

from dagsearch.values.gaussians import checked_prior, max_of_many, pair_maximum, truncation
from experiments.paper.correlated import fold
from support.exact import exact_max_of_many

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(1500)


def max_of_two(mean1, var1, mean2, var2, correlation=0.0, prior=None):
    return pair_maximum(*map(float, (mean1, var1, mean2, var2, correlation)), *checked_prior(prior))


def max_of_correlated(means, covariance, prior=None):
    return fold(np.array(means), np.array(covariance), *checked_prior(prior))


def quadrature(mean1, var1, mean2, var2, corr, prior):
    """Moments of the tilted density of max(x_1, x_2), straight from its definition."""
    sd1, sd2 = math.sqrt(var1), math.sqrt(var2)
    low, high = min(mean1 - 10 * sd1, mean2 - 10 * sd2), max(mean1 + 10 * sd1, mean2 + 10 * sd2)
    m = 0.5 * (low + high) + 0.5 * (high - low) * _NODES

    def branch(mean_a, sd_a, mean_b, sd_b):
        conditional = mean_b + corr * sd_b / sd_a * (m - mean_a)
        return normal_density(m, mean_a, sd_a) * ndtr((m - conditional) / (sd_b * math.sqrt(1 - corr**2)))

    density = _WEIGHTS * (branch(mean1, sd1, mean2, sd2) + branch(mean2, sd2, mean1, sd1))
    if prior is not None:
        density = density * normal_density(m, prior[0], math.sqrt(prior[1]))
    density /= density.sum()
    mean = density @ m
    return mean, density @ (m - mean) ** 2


def normal_density(m, mean, sd):
    """Without the checks of SciPy's, which take longer than the density."""
    return np.exp(-0.5 * ((m - mean) / sd) ** 2) / (sd * math.sqrt(2 * math.pi))


def appendix(mean1, var1, mean2, var2, corr, prior_mean, prior_var):
    """Appendix A with its errata corrected, coded as printed: the reference for the stable form."""
    s1, s2 = math.sqrt(var1), math.sqrt(var2)
    moments, weights = [], []
    for mu_a, s_a, mu_b, s_b in ((mean1, s1, mean2, s2), (mean2, s2, mean1, s1)):
        vc = s_a**2 * prior_var / (s_a**2 + prior_var)
        mc = (mu_a / s_a**2 + prior_mean / prior_var) * vc
        a = math.sqrt(s_a**2 * s_b**2 * (1 - corr**2) + (s_a - corr * s_b) ** 2 * vc)
        b = math.sqrt(vc) * (s_a - corr * s_b)
        k = ((s_a - corr * s_b) * mc - s_a * mu_b + corr * s_b * mu_a) / a
        ratio = norm.pdf(k) / norm.cdf(k)
        weights.append(norm.pdf(prior_mean, mu_a, math.sqrt(prior_var + s_a**2)) * norm.cdf(k))
        first = mc + math.sqrt(vc) * b / a * ratio
        second = mc**2 + vc + (2 * mc * math.sqrt(vc) * b / a - k * vc * (b / a) ** 2) * ratio
        moments.append((first, second))
    total = sum(weights)
    mean = sum(w * first for w, (first, _) in zip(weights, moments, strict=True)) / total
    second = sum(w * second for w, (_, second) in zip(weights, moments, strict=True)) / total
    return mean, second - mean**2


def random_cases(count, seed):
    rng = np.random.default_rng(seed)
    for i in range(count):
        case = (rng.uniform(-2, 2), rng.uniform(0.1, 3), rng.uniform(-2, 2), rng.uniform(0.1, 3))
        prior = (rng.uniform(-2, 2), rng.uniform(0.1, 3)) if i % 2 else None
        yield (*case, rng.uniform(-0.95, 0.95), prior)


def test_max_of_two_agrees_with_quadrature_on_10000_random_cases():
    worst = 0.0
    for case in random_cases(10_000, seed=1):
        found, true = max_of_two(*case), quadrature(*case)
        worst = max(worst, abs(found[0] - true[0]), abs(found[1] - true[1]))
    assert worst < 1e-10


def test_max_of_two_agrees_with_the_corrected_appendix():
    for case in random_cases(500, seed=2):
        *variables, prior = case
        true = appendix(*variables, *(prior or (0.0, 1e9)))
        # The printed form cancels, and cannot do without a prior: 1e9 stands for infinity.
        assert max_of_two(*case) == pytest.approx(true, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("k", [-1e8, -1e3, -60.0, -38.5, -30.0, -3.01, -3.0, -2.99, -0.5, 0.0, 3.0, 8.0])
def test_truncated_normal_against_mpmath(k):
    with mpmath.workdps(60):
        z = mpmath.mpf(k)
        log_cdf = mpmath.log(mpmath.erfc(-z / mpmath.sqrt(2)) / 2) if k > -1e4 else None
        if log_cdf is None:  # mpmath overflows: leading terms of the asymptotic series
            log_cdf = -z * z / 2 - mpmath.log(-z) - mpmath.log(2 * mpmath.pi) / 2
            hazard, variance = -z + 1 / -z, 1 / z**2
        else:
            hazard = mpmath.exp(-z * z / 2 - log_cdf) / mpmath.sqrt(2 * mpmath.pi)
            variance = 1 - hazard * (hazard + z)
        true = [float(log_cdf), float(hazard), float(variance)]
    assert truncation(k) == pytest.approx(true, rel=1e-12, abs=0.0)


TAILS = Path(__file__).with_name("tails.json")
KNOWN_TAILS = json.loads(TAILS.read_text())
"""Moments of the maximum far out in the tails, as mpmath integrates them: a minute's work."""


@pytest.mark.parametrize("known", KNOWN_TAILS, ids=lambda known: f"{known['case']}, {known['prior']}")
def test_tails_against_mpmath(known):
    mean, variance = max_of_two(*known["case"], prior=known["prior"])
    assert mean == pytest.approx(known["mean"], rel=1e-10, abs=1e-10 * math.sqrt(known["variance"]))
    assert variance == pytest.approx(known["variance"], rel=1e-9, abs=0.0)


@pytest.mark.slow
@pytest.mark.long
def test_the_tails_are_what_mpmath_makes_of_them(long):
    """``python tests/unit/test_gaussians.py`` writes them anew."""
    for known in KNOWN_TAILS if long else KNOWN_TAILS[3:5]:
        mean, variance = integrated(known["case"], known["prior"])
        assert mean == pytest.approx(known["mean"], rel=1e-12, abs=1e-12 * math.sqrt(variance))
        assert variance == pytest.approx(known["variance"], rel=1e-12, abs=0.0)


def integrated(case, prior):
    """Mean and variance of the maximum of two Gaussians, by mpmath's quadrature with 40 digits."""
    with mpmath.workdps(40):
        mean1, var1, mean2, var2, corr = (mpmath.mpf(value) for value in case)

        def branch(m, mean_a, var_a, mean_b, var_b):
            conditional = mean_b + corr * mpmath.sqrt(var_b / var_a) * (m - mean_a)
            return mpmath.npdf(m, mean_a, mpmath.sqrt(var_a)) * mpmath.ncdf(
                (m - conditional) / mpmath.sqrt(var_b * (1 - corr**2))
            )

        def density(m):
            tilt = 1 if prior is None else mpmath.npdf(m, prior[0], mpmath.sqrt(prior[1]))
            return tilt * (branch(m, mean1, var1, mean2, var2) + branch(m, mean2, var2, mean1, var1))

        # Only the end points come from the result under test; the integrals know nothing of it.
        centres = [max_of_two(*case, prior), case[:2], case[2:4]]
        points = sorted({m + t * math.sqrt(v) for m, v in centres for t in range(-12, 13)})
        total = mpmath.quad(density, points)
        mean = mpmath.quad(lambda m: m * density(m), points) / total
        variance = mpmath.quad(lambda m: (m - mean) ** 2 * density(m), points) / total
    return float(mean), float(variance)


@pytest.mark.parametrize("prior", [None, (0.0, 1.0), (1e6, 1e-12), (-1e6, 1e12)])
@pytest.mark.parametrize("corr", [-1.0, -0.5, 0.0, 0.5, 1.0])
def test_extremes_stay_finite_and_sane(corr, prior):
    scale = [0.0, 1e-12, 1.0, 1e12]
    grid = np.array(np.meshgrid([-1e6, 0.0, 1e6], scale, [-1e6, 0.0, 1e6], scale)).reshape(4, -1)
    mean, var = np.transpose([max_of_two(*case, corr, prior) for case in grid.T])
    assert np.all(np.isfinite(mean))
    assert np.all(np.isfinite(var))
    assert np.all(var >= 0.0)
    if prior is None:
        slack = 1e-9 * np.maximum(1.0, np.abs(mean))
        assert np.all(mean >= np.maximum(grid[0], grid[2]) - slack)


def test_certain_variables():
    assert max_of_two(1.0, 0.0, 2.0, 0.0) == (2.0, 0.0)
    assert max_of_two(2.0, 0.0, 2.0, 0.0, prior=(0.0, 1.0)) == (2.0, 0.0)
    mean, var = max_of_two(0.0, 0.0, 0.0, 1.0)  # a half normal
    assert mean == pytest.approx(1 / math.sqrt(2 * math.pi), rel=1e-14)
    assert var == pytest.approx(0.5 - 0.5 / math.pi, rel=1e-14)


def test_perfect_correlation():
    assert max_of_two(1.0, 2.0, 0.0, 2.0, correlation=1.0) == (1.0, 2.0)
    mean, var = max_of_two(0.0, 1.0, 0.0, 1.0, correlation=-1.0)  # |z|
    assert mean == pytest.approx(math.sqrt(2 / math.pi), rel=1e-14)
    assert var == pytest.approx(1 - 2 / math.pi, rel=1e-13)


def test_a_wide_prior_is_no_prior():
    case = (0.3, 1.0, -0.2, 2.0, 0.4)
    assert max_of_two(*case, prior=(0.0, 1e18)) == pytest.approx(max_of_two(*case), rel=1e-9)


def test_one_variable_with_a_prior_is_a_product_of_gaussians():
    assert max_of_many([1.0], [2.0]) == (1.0, 2.0)
    mean, var = max_of_many([1.0], [2.0], prior=(0.0, 1.0))
    assert (mean, var) == pytest.approx((1 / 3, 2 / 3))
    assert exact_max_of_many([1.0], [2.0], prior=(0.0, 1.0)) == pytest.approx((mean, var))


@pytest.mark.parametrize(
    ("copies", "pairwise", "exact"),
    [(784, (3.150, 0.089), (3.1709, 0.12796)), (10, (1.537, 0.303), (1.5388, 0.3443))],
)
def test_many_standard_normals(copies, pairwise, exact):
    variables = np.zeros(copies), np.ones(copies)
    assert max_of_many(*variables) == pytest.approx(pairwise, abs=6e-4)
    assert exact_max_of_many(*variables) == pytest.approx(exact, abs=5e-5)


def test_exact_agrees_with_max_of_two():
    for case in random_cases(200, seed=3):
        mean1, var1, mean2, var2, _, prior = case
        for shift in (0.0, 15.0, -15.0):  # also a prior in conflict with the variables
            moved = None if prior is None else (prior[0] + shift, prior[1])
            true = max_of_two(mean1, var1, mean2, var2, 0.0, moved)
            found = exact_max_of_many([mean1, mean2], [var1, var2], moved)
            assert found == pytest.approx(true, rel=1e-11, abs=1e-12)


def test_exact_agrees_with_integrated_distribution_functions_on_mixed_scales():
    means = np.array([0.0, 1.0, 1.0, -3.0, 1.2, 0.5])
    sds = np.sqrt([1.0, 1e-8, 1e-16, 9.0, 1e-3, 0.25])

    def above(m):  # P(max > m); the maximum is at least 1, but for some 1e-8
        return 1.0 - ndtr((m - means) / sds).prod()

    edges = [1.0 + t * sd for sd in (1e-8, 1e-4, 0.03, 1.0, 3.0) for t in (0.0, 1.0, 3.0, 6.0, 9.0)]
    edges = sorted(set(edges))
    pieces = list(pairwise(edges))
    first = sum(quad(above, *piece, epsabs=1e-13)[0] for piece in pieces)
    second = sum(quad(lambda m: 2 * (m - 1.0) * above(m), *piece, epsabs=1e-13)[0] for piece in pieces)
    found = exact_max_of_many(means, sds**2)
    assert found == pytest.approx((1.0 + first, second - first**2), abs=2e-8)
    floor = exact_max_of_many(means, np.where(sds < 1e-7, 0.0, sds**2))
    assert floor == pytest.approx(found, abs=2e-8)


def test_exact_with_prior_agrees_with_importance_weighted_sampling():
    means, variances = np.array([0.0, 0.5, 0.5, -1.0]), np.array([1.0, 0.01, 0.0, 4.0])
    draws = np.random.default_rng(1).normal(means, np.sqrt(variances), (1_000_000, 4)).max(axis=1)
    weights = norm.pdf(draws, 0.2, 0.7)
    mean = np.average(draws, weights=weights)
    found = exact_max_of_many(means, variances, prior=(0.2, 0.49))
    assert found == pytest.approx((mean, np.average((draws - mean) ** 2, weights=weights)), rel=5e-3)


def test_minimum_by_negation():
    rng = np.random.default_rng(4)
    means, variances = rng.normal(size=5), rng.uniform(0.1, 1.0, 5)
    draws = rng.normal(means, np.sqrt(variances), (400_000, 5)).min(axis=1)
    mean, _ = exact_max_of_many(-means, variances)
    assert -mean == pytest.approx(draws.mean(), abs=5e-3)


@pytest.mark.parametrize(
    ("means", "variances", "prior"),
    [
        ((283996.3, 0.0026), (7.3e-12, 2.9e11), (-0.014, 7062.0)),
        ((417603.0, 133.8), (1.6e-6, 6.3e-7), (-0.087, 9.8e-10)),
        ((0.0, 1.0), (1.0, 2.0), (-300.0, 1e-3)),
        ((0.07, -0.344), (1.6e-8, 1.3e4), (-7560.0, 240.0)),
    ],
)
def test_exact_under_a_prior_in_strong_conflict(means, variances, prior):
    true = max_of_two(means[0], variances[0], means[1], variances[1], 0.0, prior)
    # Log densities are of the order of 1e6 to 1e17 here.
    assert exact_max_of_many(means, variances, prior) == pytest.approx(true, rel=1e-5)


def test_what_is_not_a_number_passes_through_instead_of_hanging():
    assert all(math.isnan(value) for value in truncation(math.nan)[1:])
    assert max_of_two(0.0, 1.0, 0.0, 1.0, prior=(0.5, 1e-310)) == (0.5, 0.0)


def test_a_certain_prior_decides():
    assert max_of_two(3.0, 0.0, 0.0, 1.0, prior=(5.0, 0.0)) == (5.0, 0.0)
    assert exact_max_of_many([3.0, 0.0], [0.0, 1.0], prior=(5.0, 0.0)) == (5.0, 0.0)


@pytest.mark.parametrize("prior", [(0.0, -1.0), 1.0, (0.0, 1.0, 2.0)])
def test_bad_priors_are_named(prior):
    with pytest.raises(ValueError, match="prior must be"):
        max_of_many([0.0, 0.0], [1.0, 1.0], prior)


if __name__ == "__main__":
    for known in KNOWN_TAILS:
        known["mean"], known["variance"] = integrated(known["case"], known["prior"])
    TAILS.write_text(json.dumps(KNOWN_TAILS, indent=1) + "\n")


# Many correlated variables ---------------------------------------------------------------------------


def random_joint(rng, count):
    """Means and a covariance as those of siblings: they share their parent's score, and some items."""
    items = 0.4 * rng.normal(size=(count, 3))
    own = np.diag(rng.uniform(0.05, 1.0, count))
    return rng.normal(0.0, 0.7, count), rng.uniform(0.3, 2.0) + items @ items.T + own


def test_two_correlated_variables_are_merged_exactly():
    rng = np.random.default_rng(0)
    for _ in range(50):
        means, covariance = random_joint(rng, 2)
        var = covariance.diagonal()
        corr = covariance[0, 1] / np.sqrt(var[0] * var[1])
        for prior in (None, (0.3, 0.8)):
            pair = max_of_two(means[0], var[0], means[1], var[1], corr, prior)
            assert max_of_correlated(means, covariance, prior) == pytest.approx(pair, rel=1e-12)


def test_correlated_maxima_agree_with_quadrature():
    """Three variables: the maximum of the last with the exact density of the others' maximum given it."""
    rng = np.random.default_rng(1)
    errors = {"correlated": [], "independent": []}
    for _ in range(25):
        means, covariance = random_joint(rng, 3)
        exact = max_by_quadrature(means, covariance)
        spread = np.sqrt(exact[1])
        for name, found in (
            ("correlated", max_of_correlated(means, covariance)),
            ("independent", max_of_many(means, covariance.diagonal())),
        ):
            errors[name].append([abs(found[0] - exact[0]) / spread, abs(np.log(found[1] / exact[1]))])
    mean, variance = np.mean(errors["correlated"], axis=0)
    assert mean < 0.01
    assert variance < 0.03
    assert np.all(np.array([mean, variance]) < 0.4 * np.mean(errors["independent"], axis=0))


def max_by_quadrature(means, covariance):
    """Moments of the maximum from its distribution function on a grid, P(all below m)."""
    spread = np.sqrt(covariance.diagonal().max())
    grid = np.linspace(means.min() - 6 * spread, means.max() + 6 * spread, 121)
    below = np.array([multivariate_normal(means, covariance).cdf(np.full(means.size, m)) for m in grid])
    mean = grid[-1] - np.trapezoid(below, grid)
    square = grid[-1] ** 2 - np.trapezoid(2.0 * grid * below, grid)
    return mean, square - mean**2


def test_correlated_maxima_of_many_agree_with_joint_samples():
    rng = np.random.default_rng(2)
    errors = {"correlated": [], "independent": []}
    for _ in range(12):
        means, covariance = random_joint(rng, 8)
        drawn = rng.multivariate_normal(means, covariance, 100_000).max(axis=1)
        for name, found in (
            ("correlated", max_of_correlated(means, covariance)),
            ("independent", max_of_many(means, covariance.diagonal())),
        ):
            errors[name].append(
                [abs(found[0] - drawn.mean()) / drawn.std(), abs(np.log(found[1] / drawn.var()))]
            )
    mean, variance = np.mean(errors["correlated"], axis=0)
    assert mean < 0.05
    assert variance < 0.1
    assert np.all(np.array([mean, variance]) < 0.5 * np.mean(errors["independent"], axis=0))


def test_certain_and_equal_variables_are_merged():
    ones = np.ones((4, 4))
    assert max_of_correlated([0.0, 1.0, 2.0, 3.0], ones) == pytest.approx((3.0, 1.0))
    assert max_of_correlated([1.0, 2.0], np.zeros((2, 2))) == (2.0, 0.0)
    assert max_of_correlated([1.0], [[2.0]], prior=(0.0, 2.0)) == pytest.approx((0.5, 1.0))


def test_merging_by_variance_is_the_most_accurate_order():
    """As ``docs/method.md`` says: of the orders by mean or variance, up or down, smallest variance first."""
    rng = np.random.default_rng(3)
    orders = {
        "as they come": lambda means, variances: np.arange(means.size),
        "mean up": lambda means, variances: np.argsort(means),
        "mean down": lambda means, variances: np.argsort(-means),
        "variance up": lambda means, variances: np.argsort(variances),
        "variance down": lambda means, variances: np.argsort(-variances),
    }
    errors = {name: [] for name in orders}
    for _ in range(60):
        means, variances = rng.normal(0.0, 0.7, 9), rng.gamma(2.0, 0.4, 9)
        exact = independent_by_quadrature(means, variances)
        for name, order in orders.items():
            chosen = order(means, variances)
            found = max_of_many(means[chosen], variances[chosen])
            errors[name].append([abs(found[0] - exact[0]), abs(np.log(found[1] / exact[1]))])
    mean = {name: np.mean(found, axis=0) for name, found in errors.items()}
    best = mean.pop("variance up")
    assert all(np.all(best < 0.75 * other) for other in mean.values())
    assert np.all(best < 0.5 * mean["as they come"])


def independent_by_quadrature(means, variances):
    spread = np.sqrt(variances)
    grid = np.linspace((means - 9 * spread).min(), (means + 9 * spread).max(), 4001)
    below = ndtr((grid[:, None] - means) / spread).prod(axis=1)
    mean = grid[-1] - np.trapezoid(below, grid)
    return mean, grid[-1] ** 2 - np.trapezoid(2.0 * grid * below, grid) - mean**2
