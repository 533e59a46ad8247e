"""Bayesian optimisation with BoTorch: a Gaussian process over categories, log EI climbed by local search."""

import warnings
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, solve_triangular
from threadpoolctl import threadpool_limits

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.proposers.climb import log_expected_improvement
from experiments.general.spaces import Space
from experiments.harness.evaluations import Evaluations
from experiments.harness.peers import ascend, import_peer

INITIAL = 20
"""Number of random points before the first Gaussian process; at most a quarter of the budget."""
BEST, RANDOM = 3, 2
"""Numbers of best and of random points from which log EI is climbed."""
_ITERATIONS = 60
"""Limit on the iterations of a fit, which starts where the previous one ended."""
_ROUNDED = 1e-9
"""Variances below this share of the prior's are rounded up."""


def gaussian_process(evaluate: Evaluations, space: Space, seed: int) -> None:
    """BoTorch's SingleTaskGP with its CategoricalKernel; hyperparameters are refitted periodically.

    They are refitted after a tenth more evaluations, at least 5 and at most 20 more. There is a length scale
    for each place, or a single one for orders and for subsets of fixed size.
    """
    rng = np.random.default_rng(seed)
    import_peer("botorch")
    # Warnings say that a fit did not converge, categories are not below 1, or a variance was rounded. Threads
    # are limited after the import: only what is loaded can be.
    with warnings.catch_warnings(action="ignore"), threadpool_limits(limits=1):
        for point in space.sample(min(INITIAL, evaluate.budget // 4), rng):
            evaluate(point)
        fitted, due = None, 0
        while True:
            known = len(evaluate.rewards)
            if fitted is None or known >= due:
                fitted = fit(space, np.array(evaluate.points), np.array(evaluate.rewards), fitted)
                due = known + min(20, max(5, known // 10))
            improvement = Improvement(space, evaluate, fitted)
            evaluate.recommended[known] = evaluate.points[improvement.leader]
            evaluate(_most_promising(evaluate, space, improvement, rng))


class Fitted(NamedTuple):
    """Hyperparameters, in units of the standardised scores."""

    state: dict[str, Any]
    """BoTorch's own form, from which the next fit starts."""
    weights: FloatArray
    """Contribution of each differing place to the distance, shape ``(places,)``."""
    variance: float
    """Variance of the process."""
    noise: float
    """Variance of a score."""
    mean: float
    """Prior mean."""
    shift: float
    """Mean that standardising subtracts."""
    divisor: float
    """Standard deviation by which it divides."""


def fit(space: Space, points: IntArray, scores: FloatArray, before: Fitted | None) -> Fitted:
    """The hyperparameters, fitted to known scores."""
    torch, gpytorch = import_peer("torch"), import_peer("gpytorch")
    models, kernels = import_peer("botorch.models"), import_peer("botorch.models.kernels.categorical")
    fit_once = import_peer("botorch.optim.fit").fit_gpytorch_mll_scipy
    compared = torch.from_numpy(space.compared(points).astype(np.float64))
    places = compared.shape[1]
    kernel = gpytorch.kernels.ScaleKernel(
        kernels.CategoricalKernel(
            ard_num_dims=places if space.own_lengths else None,
            lengthscale_constraint=gpytorch.constraints.GreaterThan(1e-6),
        )
    )
    shift, divisor = float(scores.mean()), float(scores.std(ddof=1)) or 1.0
    standardised = torch.from_numpy((scores - shift) / divisor)[:, None]
    model = models.SingleTaskGP(compared, standardised, covar_module=kernel, outcome_transform=None)
    if before is not None:
        model.load_state_dict(before.state)
    likelihood = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    # If the fit fails, the initial hyperparameters stay.
    with suppress(RuntimeError):
        fit_once(likelihood, options={"maxiter": _ITERATIONS})
    lengths = np.broadcast_to(kernel.base_kernel.lengthscale.detach().numpy().ravel(), (places,))
    return Fitted(
        state=model.state_dict(),
        weights=1.0 / (places * lengths),
        variance=float(kernel.outputscale.detach()),
        noise=float(model.likelihood.noise.detach()),
        mean=float(model.mean_module.constant.detach()),
        shift=shift,
        divisor=divisor,
    )


class Improvement:
    """Log expected improvement on the best known score, the same as BoTorch's LogExpectedImprovement.

    The kernel is computed by one matrix product, which is faster than BoTorch's many comparisons.

    Parameters
    ----------
    space : Space
        The points.
    evaluate : Evaluations
        Knows points and their scores.
    fitted : Fitted
        Hyperparameters.

    Attributes
    ----------
    leader : int
        Number of the best known point.
    """

    def __init__(self, space: Space, evaluate: Evaluations, fitted: Fitted) -> None:
        self._space, self._fitted = space, fitted
        points = space.compared(np.array(evaluate.points))
        self._first = np.concatenate([[0], np.cumsum(points.max(axis=0) + 1)])
        self._known = self._indicators(points) * np.repeat(fitted.weights, np.diff(self._first))
        scores = (np.array(evaluate.rewards) - fitted.shift) / fitted.divisor
        covariance = self._covariance(points) + (fitted.noise + 1e-8) * np.eye(len(points))
        self._factor = cholesky(covariance, lower=True)
        self._solved = cho_solve((self._factor, True), scores - fitted.mean)
        # A noisy score may only be lucky: with noise, improvement is relative to the largest mean.
        known = fitted.mean + self._covariance(points) @ self._solved if evaluate.noisy else scores
        self.leader = int(known.argmax())
        self._best = known[self.leader]

    def _indicators(self, points: IntArray) -> FloatArray:
        """A 1 for the option of each place; options of no known point are left out."""
        indicators = np.zeros((len(points), self._first[-1]))
        columns = points + self._first[:-1]
        row, place = np.nonzero(columns < self._first[1:])
        indicators[row, columns[row, place]] = 1.0
        return indicators

    def _covariance(self, points: IntArray) -> FloatArray:
        alike = self._indicators(points) @ self._known.T
        return np.asarray(self._fitted.variance * np.exp(alike - self._fitted.weights.sum()))

    def __call__(self, points: IntArray) -> FloatArray:
        """Log expected improvement of points."""
        covariance = self._covariance(self._space.compared(points))
        mean = self._fitted.mean + covariance @ self._solved
        explained = solve_triangular(self._factor, covariance.T, lower=True, check_finite=False)
        variance = self._fitted.variance - np.einsum("ij,ij->j", explained, explained)
        rounded = np.maximum(variance, _ROUNDED * self._fitted.variance)
        return log_expected_improvement(mean, rounded, self._best)


def _most_promising(
    evaluate: Evaluations, space: Space, improvement: Improvement, rng: np.random.Generator
) -> IntArray:
    """The best unknown point found by steepest ascent."""

    def value(points: IntArray) -> FloatArray:
        return np.where([evaluate.knows(point) for point in points], -np.inf, improvement(points))

    best = np.argsort(evaluate.rewards)[::-1][:BEST]
    starts = [*(evaluate.points[number] for number in best), *space.sample(RANDOM, rng)]
    peaks = [ascend(value, start, lambda point: space.neighbours(point, rng)) for start in starts]
    return max(peaks, key=lambda peak: peak[1])[0]
