r"""Hyperparameters of maximal evidence.

The m rewards of one leaf act as their mean r̄ with noise variance λ/m, so that

    log p(r) = log N(r̄; 0, C) + log p(scatter of rewards within leaves | λ),    C = Σ + diag(λ/m),

plus the log-normal prior of every hyperparameter θ, because ten rewards alone determine little. With
α = C⁻¹r̄ the derivative by log θ is ½ tr((ααᵀ − C⁻¹) ∂C/∂log θ); a quasi-Newton method maximises the sum.

This costs n³ for n leaves. At most 1,000 leaves are used, evenly spaced in the order of discovery: they
determine the hyperparameters well enough, and a selection by reward would bias them.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from dagsearch._internal import linalg
from dagsearch._internal.deadline import Deadline, OutOfTime
from dagsearch._internal.parts import Configured
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance, Hyperparameter
from dagsearch.covariances.rows import Rows
from dagsearch.posterior.base import evenly

# Largest number of leaves that hyperparameters are learnt from.
_MOST = 1000
FEWEST = 2
"""Smallest number of distinct leaves to learn from."""
# Factor between the numbers of rewards at which hyperparameters are learnt, and number of random starts.
_GROWTH, _RESTARTS = 1.5, 2
# A hyperparameter stays within this many prior deviations of its median.
_REACH = 5.0


class Observations(NamedTuple):
    """Rewards by leaf, in the model's units."""

    rows: Rows
    """One row per distinct leaf."""
    mean: FloatArray
    """Mean of the leaf's rewards, shape ``(leaves,)``."""
    rewards: IntArray
    """Number of the leaf's rewards, shape ``(leaves,)``."""
    told: FloatArray
    """Noise variance of the mean if it was given with the rewards, else NaN; shape ``(leaves,)``."""
    scatter: float
    """Sum of squared deviations from the leaf's mean, over leaves with unknown noise."""


class Evidence(Configured):
    """Learns a covariance's hyperparameters and the noise, at geometrically spaced numbers of rewards.

    They are learnt again after every increase by half, so the total cost is a small multiple of the last one.
    Optimisation starts from the previous result, the first time also from random draws of the prior.
    """

    requires_joint = True

    def next_after(self, rewards: int) -> int:
        """The number of rewards at which to learn next."""
        return math.ceil(_GROWTH * rewards)

    def maximise(
        self,
        posterior: "LogPosterior",
        rng: np.random.Generator,
        deadline: Deadline | None = None,
        first: bool = True,
    ) -> tuple[Covariance, float]:
        """The covariance and the noise of maximal evidence, or the best found before the ``deadline``.

        The ``first`` time, optimisation also starts from random points.
        """
        from scipy.optimize import minimize  # slow to import, and the paper's method does not need it

        if posterior.settled:
            return posterior.covariance, posterior.noise.value
        starts = [posterior.now]
        if first:
            draws = [rng.standard_normal(len(posterior.now)) for _ in range(_RESTARTS)]
            starts += [posterior.medians + posterior.deviations * draw for draw in draws]
        tried: list[tuple[float, FloatArray]] = []

        def loss(logs: FloatArray) -> tuple[float, FloatArray]:
            if deadline is not None:
                deadline.check()
            found = posterior.loss(logs)
            tried.append((found[0], logs.copy()))
            return found

        medians, reach = posterior.medians, _REACH * posterior.deviations
        bounds = list(zip(medians - reach, medians + reach, strict=True))
        options = {"maxiter": 40, "ftol": 1e-3}
        with suppress(OutOfTime):
            loss(starts[0])
            for start in starts:
                minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        return posterior.model(min(tried, key=itemgetter(0))[1] if tried else starts[0])


class LogPosterior:
    """Log posterior of the log hyperparameters: those of a covariance, then the noise.

    A noise with prior deviation 0 is not learnt.
    """

    def __init__(self, covariance: Covariance, noise: Hyperparameter, observations: Observations) -> None:
        self.covariance, self.noise, self._observations = covariance, noise, observations
        self._learns_noise = noise.deviation > 0.0
        learnt = [*covariance.hyperparameters, *([noise] if self._learns_noise else [])]
        self.settled = not learnt or len(observations.mean) < FEWEST
        """Whether there is nothing to learn, or too few leaves."""
        self.now = np.log([parameter.value for parameter in learnt])
        """Current values."""
        self.medians = np.log([parameter.median for parameter in learnt])
        """Prior means."""
        self.deviations = np.array([parameter.deviation for parameter in learnt])
        """Prior deviations."""

    def model(self, logs: FloatArray) -> tuple[Covariance, float]:
        """The covariance and the noise with these hyperparameters."""
        values = np.exp(logs).tolist()
        variance = values.pop() if self._learns_noise else self.noise.value
        return self.covariance.with_values(values), variance

    def loss(self, logs: FloatArray) -> tuple[float, FloatArray]:
        """The negative log posterior, up to a constant, and its gradient."""
        rows, mean, count, told, scatter = self._observations
        unknown = np.isnan(told)
        tried, variance = self.model(logs)
        matrix, gradient_of = tried.value_and_gradient(rows)
        diagonal = np.diag_indices(len(mean))
        matrix = matrix.copy()  # the gradient needs the original
        matrix[diagonal] += np.where(unknown, variance / count, told)
        off = (logs - self.medians) / self.deviations
        prior, prior_gradient = 0.5 * float(off @ off), off / self.deviations
        # LAPACK directly, without SciPy's checks. It stores columns, hence the transpose.
        factor, failed = linalg.dpotrf(matrix.T, lower=1, overwrite_a=1)
        if failed:  # by rounding: the noise is too small for this smooth covariance
            return 1e12 + prior, prior_gradient
        alpha = linalg.dpotrs(factor, mean, lower=1)[0]
        loss = 0.5 * float(mean @ alpha) + float(np.log(factor.diagonal()).sum())
        # In place: with 1,000 rewards a matrix takes 8 MB.
        lower = linalg.dpotri(factor, lower=1, overwrite_c=1)[0]  # lower triangle of the inverse
        outer = np.outer(alpha, alpha)
        outer -= lower
        outer -= lower.T
        outer[diagonal] += lower.diagonal()
        del matrix, factor, lower
        gradient = -0.5 * gradient_of(outer)
        if self._learns_noise:
            repeats = float((count[unknown] - 1).sum())
            loss += 0.5 * (scatter / variance + repeats * math.log(variance))
            by_noise = -0.5 * float((outer[diagonal] * variance / count)[unknown].sum())
            gradient = np.append(gradient, by_noise + 0.5 * (repeats - scatter / variance))
        return loss + prior, gradient + prior_gradient


def by_leaf(
    rows_of: Callable[[IntArray], Rows],
    nodes: Sequence[int],
    rewards: Sequence[float],
    noises: Sequence[float | None],
) -> Observations:
    """Rewards grouped by leaf, for at most 1,000 leaves; ``rows_of`` returns the rows of distinct nodes."""
    leaves, place, count = np.unique(np.asarray(nodes), return_inverse=True, return_counts=True)
    variances = np.array([np.nan if noise is None else noise for noise in noises], dtype=np.float64)
    told = np.bincount(place, weights=~np.isnan(variances)) > 0
    # If only some of a leaf's rewards have a noise, the others are ignored: their weight is unknown.
    weights = np.where(told[place], np.nan_to_num(1.0 / variances), 1.0)
    total = np.bincount(place, weights=weights)
    mean = np.bincount(place, weights=weights * rewards) / total
    squares = np.where(told[place], 0.0, (rewards - mean[place]) ** 2)
    some = evenly(leaves.size, _MOST)
    scatter = float(np.bincount(place, weights=squares)[some].sum())
    known = np.where(told, 1.0 / total, np.nan)
    return Observations(rows_of(leaves[some]), mean[some], count[some], known[some], scatter)
