r"""Hyperparameters from the evidence: those under which the rewards so far were most to be expected.

The rewards of one leaf act as their mean r̄ with noise λ/m, m of them, so that

    log p(r) = log N(r̄; 0, C) + log p(scatter of rewards within leaves | λ),    C = Σ + diag(λ/m),

to which every hyperparameter θ adds its log-normal prior: ten rewards alone must not settle anything. With
α = C⁻¹r̄ the derivative by log θ is ½ tr((ααᵀ − C⁻¹) ∂C/∂log θ), and a quasi-Newton method does the rest.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal import linalg
from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance, Hyperparameter, Rows
from dagsearch.scores.base import Capability

# Rewards beyond this many are not looked at: hyperparameters are known by then, and a look costs n³.
_MOST = 1200
# So many prior deviations from its median a hyperparameter may move.
_REACH = 5.0


class Observations(NamedTuple):
    """Rewards by leaf, in the model's units."""

    rows: Rows
    """One row per distinct leaf."""
    mean: FloatArray
    """Mean of the leaf's rewards, shape ``(leaves,)``."""
    rewards: IntArray
    """How many there were, shape ``(leaves,)``."""
    told: FloatArray
    """Noise variance of the mean where it was told with the rewards, else NaN; shape ``(leaves,)``."""
    scatter: float
    """Sum of squared distances of rewards from their leaf's mean, where the noise was not told."""


class Evidence:
    """Learns a covariance's hyperparameters, and the noise, at geometrically spaced times.

    Parameters
    ----------
    growth : float
        The next time is when there are so many times as many rewards; the cost of all times together
        is then a small multiple of the last one's.
    restarts : int
        Draws from the prior to start from at the first time, beside its median. Later times start from
        where the last one ended.
    """

    requires = frozenset({Capability.REFIT})

    def __init__(self, growth: float = 2.0, restarts: int = 2) -> None:
        if not is_finite(growth) or growth <= 1.0:
            raise ValueError(f"growth must be larger than 1, got {growth!r}")
        self.growth, self.restarts = float(growth), int(restarts)
        self._next = 0
        self._begun = False

    def due(self, rewards: int) -> bool:
        """Whether it is time again."""
        if rewards < max(self._next, 3) or rewards > _MOST:
            return False
        self._next = math.ceil(self.growth * rewards)
        return True

    def recall(self, covariance: Covariance, learnt: Mapping[str, Any]) -> Covariance:
        """The covariance with the hyperparameters that :meth:`maximise` found at another time."""
        self._begun = True
        return covariance.with_values(learnt["values"])

    def maximise(
        self,
        covariance: Covariance,
        noise: Hyperparameter,
        observations: Observations,
        rng: np.random.Generator,
    ) -> tuple[Covariance, float]:
        """The covariance and the noise of largest evidence; a noise without deviation stays as it is."""
        from scipy.optimize import minimize  # slow to import, and the paper's method does without

        learnt = [*covariance.hyperparameters, *([noise] if noise.deviation > 0.0 else [])]
        if not learnt or len(observations.mean) < 2:
            return covariance, noise.value
        medians = np.log([parameter.median for parameter in learnt])
        deviations = np.array([parameter.deviation for parameter in learnt])
        starts = [np.log([parameter.value for parameter in learnt])]
        if not self._begun:
            self._begun = True
            starts += [medians + deviations * rng.standard_normal(len(learnt)) for _ in range(self.restarts)]

        def loss(logs: FloatArray) -> tuple[float, FloatArray]:
            return _loss(logs, covariance, noise, observations, medians, deviations)

        bounds = list(zip(medians - _REACH * deviations, medians + _REACH * deviations, strict=True))
        best_logs, best = starts[0], loss(starts[0])[0]
        for start in starts:
            found = minimize(
                loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 40, "ftol": 1e-3}
            )
            if found.fun < best:
                best_logs, best = found.x, float(found.fun)
        values = np.exp(best_logs).tolist()
        if noise.deviation > 0.0:
            return covariance.with_values(values[:-1]), values[-1]
        return covariance.with_values(values), noise.value

    def __repr__(self) -> str:
        return f"Evidence(growth={self.growth}, restarts={self.restarts})"


def _loss(
    logs: FloatArray,
    covariance: Covariance,
    noise: Hyperparameter,
    observations: Observations,
    medians: FloatArray,
    deviations: FloatArray,
) -> tuple[float, FloatArray]:
    """Negative log posterior of the hyperparameters, and its gradient."""
    rows, mean, count, told, scatter = observations
    unknown = np.isnan(told)
    values = np.exp(logs).tolist()
    free = noise.deviation > 0.0
    variance = values.pop() if free else noise.value
    tried = covariance.with_values(values)
    matrix, slopes_of = tried.value_and_gradient(rows)
    diagonal = np.diag_indices(len(mean))
    matrix = matrix.copy()  # which the slopes are made of
    matrix[diagonal] += np.where(unknown, variance / count, told)
    off = (logs - medians) / deviations
    prior, prior_slope = 0.5 * float(off @ off), off / deviations
    # LAPACK itself: SciPy's own functions look at every number first. It wants columns, hence the transpose.
    factor, failed = linalg.dpotrf(matrix.T, lower=1, overwrite_a=1)
    if failed:
        return 1e12 + prior, prior_slope  # rounding: too little noise for so smooth a covariance
    alpha = linalg.dpotrs(factor, mean, lower=1)[0]
    lower = linalg.dpotri(factor, lower=1)[0]  # of the inverse
    outer = np.outer(alpha, alpha) - lower - lower.T
    outer[diagonal] += lower.diagonal()
    slopes = -0.5 * slopes_of(outer)
    loss = 0.5 * float(mean @ alpha) + float(np.log(factor.diagonal()).sum())
    if free:
        repeats = float((count[unknown] - 1).sum())
        loss += 0.5 * (scatter / variance + repeats * math.log(variance))
        slope = -0.5 * float((outer[diagonal] * variance / count)[unknown].sum())
        slope += 0.5 * (repeats - scatter / variance)
        slopes = np.append(slopes, slope)
    return loss + prior, slopes + prior_slope


def by_leaf(
    rows: Rows, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
) -> Observations:
    """Rewards gathered by leaf; ``rows`` are those of the distinct nodes, in ascending order."""
    _, place, count = np.unique(np.asarray(nodes), return_inverse=True, return_counts=True)
    variances = np.array([np.nan if noise is None else noise for noise in noises], dtype=np.float64)
    told = np.bincount(place, weights=~np.isnan(variances)) > 0
    # At a leaf where some noise was told, rewards without are left aside: how they compare is not known yet.
    weights = np.where(told[place], np.nan_to_num(1.0 / variances), 1.0)
    total = np.bincount(place, weights=weights)
    mean = np.bincount(place, weights=weights * rewards) / total
    scatter = np.where(told[place], 0.0, (rewards - mean[place]) ** 2).sum()
    return Observations(rows, mean, count, np.where(told, 1.0 / total, np.nan), float(scatter))
