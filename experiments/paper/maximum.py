"""Figure 3: the maximum of three Gaussians, its true density and its Gaussian approximations."""

import math

import numpy as np
from scipy.stats import norm

from dagsearch._internal.typing import FloatArray
from dagsearch.values.gaussians import max_of_many
from experiments.harness.drawing import figure
from experiments.harness.runner import Outcome, Row

# The paper does not state which three; these show the same effect of the prior as its figure.
MEANS, VARIANCES = (0.5, 1.0, 1.5), (1.0, 0.5, 0.25)
PRIOR = (0.0, 1.0)


def run(quick: bool = False, jobs: int = 1) -> Outcome:
    """Moments of the approximations and of the truth, and the figure."""
    grid = np.linspace(-8.0, 10.0, 20_001)
    density = true_density(grid)
    tilted = density * norm.pdf(grid, *PRIOR)
    tilted /= np.trapezoid(tilted, grid)
    moments = {
        "no prior, matched": max_of_many(MEANS, VARIANCES),
        "no prior, true": _moments(grid, density),
        "with prior, matched": max_of_many(MEANS, VARIANCES, PRIOR),
        "with prior, true": _moments(grid, tilted),
    }
    rows = [
        Row(name, what, 0, 0, float(value))
        for name, pair in moments.items()
        for what, value in zip(("mean", "variance"), pair, strict=True)
    ]
    drawn = figure()
    axes = drawn.subplots()
    for i, (mean, var) in enumerate(zip(MEANS, VARIANCES, strict=True), start=1):
        drawn_density, alpha = norm.pdf(grid, mean, math.sqrt(var)), 0.3 + 0.2 * i
        axes.plot(grid, drawn_density, color="#56B4E9", alpha=alpha, label=f"$x_{i}$")
    axes.plot(grid, norm.pdf(grid, *PRIOR), color="#009E73", label="prior on the maximum")
    for name, colour, truth in (("no prior", "#E69F00", density), ("with prior", "#D55E00", tilted)):
        axes.plot(grid, truth, color=colour, linestyle=":", label=f"maximum, true, {name}")
        mean, var = (float(value) for value in moments[f"{name}, matched"])
        axes.plot(grid, norm.pdf(grid, mean, math.sqrt(var)), color=colour, label=f"maximum, matched, {name}")
    axes.set(xlabel="value", ylabel="density", xlim=(-2.5, 4.5), ylim=(0.0, None))
    axes.legend(fontsize="small")
    settings = {"means": MEANS, "variances": VARIANCES, "prior": PRIOR}
    return Outcome("max", rows, settings, {"max": drawn})


def _moments(grid: FloatArray, density: FloatArray) -> tuple[float, float]:
    """Mean and variance; on a smooth density that vanishes at both ends this rule is exact to rounding."""
    mean = float(np.trapezoid(grid * density, grid))
    return mean, float(np.trapezoid((grid - mean) ** 2 * density, grid))


def true_density(x: FloatArray) -> FloatArray:
    """Density of the maximum: Σ_i N(x; μ_i, σ_i²) Π_{j≠i} Φ_j(x)."""
    normals = [norm(mean, math.sqrt(var)) for mean, var in zip(MEANS, VARIANCES, strict=True)]
    total = np.zeros_like(x)
    for one in normals:
        total += one.pdf(x) * np.prod([other.cdf(x) for other in normals if other is not one], axis=0)
    return total
