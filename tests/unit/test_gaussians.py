"""The maximum of Gaussians, against quadrature, mpmath and the corrected formulas of the appendix."""

import json
import math
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import norm

from dagsearch.values.gaussians import checked_prior, max_of_many, pair_maximum, truncation
from support.exact import exact_max_of_many

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(1500)


def max_of_two(mean1, var1, mean2, var2, correlation=0.0, prior=None):
    return pair_maximum(*map(float, (mean1, var1, mean2, var2, correlation)), *checked_prior(prior))


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


def test_max_of_two_agrees_with_quadrature_on_random_cases():
    worst = 0.0
    for case in random_cases(2_000, seed=1):
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
    if not long:
        pytest.skip("a minute's work: pytest --long")
    for known in KNOWN_TAILS:
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


def test_what_is_not_a_number_passes_through_instead_of_hanging():
    assert all(math.isnan(value) for value in truncation(math.nan)[1:])
    assert max_of_two(0.0, 1.0, 0.0, 1.0, prior=(0.5, 1e-310)) == (0.5, 0.0)


def test_a_certain_prior_decides():
    assert max_of_two(3.0, 0.0, 0.0, 1.0, prior=(5.0, 0.0)) == (5.0, 0.0)


@pytest.mark.parametrize("prior", [(0.0, -1.0), 1.0, (0.0, 1.0, 2.0)])
def test_bad_priors_are_named(prior):
    with pytest.raises(ValueError, match="prior must be"):
        max_of_many([0.0, 0.0], [1.0, 1.0], prior)


if __name__ == "__main__":
    for known in KNOWN_TAILS:
        known["mean"], known["variance"] = integrated(known["case"], known["prior"])
    TAILS.write_text(json.dumps(KNOWN_TAILS, indent=1) + "\n")
