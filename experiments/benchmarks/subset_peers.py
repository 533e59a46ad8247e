"""Methods of other packages for choosing k of n, to compare with.

Every peer evaluates the same function, ``problem.reward``, and only distinct subsets count. Peers do not
know what is allowed: they choose ``problem.depth`` of the problem's items, which are numbered from 0 here.
"""

from collections.abc import Callable, Iterable, Set
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SequentialFeatureSelector
from threadpoolctl import threadpool_limits

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.problems import Subsets
from dagsearch.problems.subsets import Subset
from experiments.harness import peers
from experiments.harness.evaluations import BudgetSpent, Evaluations
from experiments.harness.peers import fitting_quietly, import_botorch, import_peer


class Trial(NamedTuple):
    """One evaluation of a subset that was not evaluated before."""

    subset: Subset
    """The subset that was evaluated."""
    reward: float
    """Its reward."""
    complete: bool
    """Whether the subset has all k choices; greedy selection evaluates smaller ones, too."""
    seconds: float
    """The method's own time since the previous evaluation, without the time of rewards."""


Peer = Callable[[Subsets, int, int], list[Trial]]
"""``peer(problem, budget, seed)`` returns at most ``budget`` trials, fewer if it proposes nothing new."""


def best_rewards(trials: Iterable[Trial]) -> FloatArray:
    """Largest reward of a complete subset after every trial; NaN before the first one."""
    rewards = np.array([trial.reward if trial.complete else np.nan for trial in trials])
    return np.fmax.accumulate(rewards)


class Choosing(Evaluations):
    """Evaluates subsets, which are given by the numbers of their choices."""

    def __init__(self, problem: Subsets, budget: int, patience: int = 10_000) -> None:
        self._problem = problem
        self._choices = problem.actions(problem.root())
        self.n, self.k = len(self._choices), problem.depth
        super().__init__(
            lambda numbers: float(problem.reward(self._subset(numbers))),
            budget,
            patience,
            key=lambda numbers: frozenset(map(int, numbers)),
        )

    def _subset(self, numbers: Iterable[int]) -> Subset:
        subset = self._problem.root()
        for number in sorted(numbers):
            subset = self._problem.step(subset, self._choices[number])
        assert isinstance(subset, Set)
        return subset

    @property
    def trials(self) -> list[Trial]:
        """All evaluations."""
        done = zip(self.points, self.rewards, self.own_seconds, strict=True)
        return [Trial(self._subset(one), reward, len(one) == self.k, own) for one, reward, own in done]

    def random(self, rng: np.random.Generator) -> IntArray:
        """Numbers of a complete subset, all equally likely."""
        return rng.choice(self.n, self.k, replace=False)

    def swaps(self, chosen: IntArray) -> IntArray:
        """All complete subsets that differ in one choice, shape ``(k * (n - k), k)``."""
        others = np.setdiff1d(np.arange(self.n), chosen)
        neighbours = np.tile(chosen, (self.k * len(others), 1))
        removed = np.repeat(np.arange(self.k), len(others))
        neighbours[np.arange(len(neighbours)), removed] = np.tile(others, self.k)
        return neighbours


def _trials(problem: Subsets, budget: int, method: Callable[[Choosing], Any]) -> list[Trial]:
    """What a method evaluates until it is done or its budget is spent."""
    evaluate = Choosing(problem, budget)
    with suppress(BudgetSpent):
        method(evaluate)
    return evaluate.trials


def random_subsets(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """Distinct subsets, all equally likely."""
    rng = np.random.default_rng(seed)
    return _trials(
        problem, budget, lambda evaluate: peers.random_search(evaluate, lambda: evaluate.random(rng))
    )


def hill_climbing(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """From a random subset, take the first swap that helps; if none does, start from another subset."""
    rng = np.random.default_rng(seed)

    def method(evaluate: Choosing) -> None:
        peers.hill_climbing(
            evaluate, lambda: evaluate.random(rng), lambda chosen: rng.permutation(evaluate.swaps(chosen))
        )

    return _trials(problem, budget, method)


def optuna_tpe(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """Optuna's tree-structured Parzen estimator over one score per choice; the k largest are chosen.

    Tried on the pixels of ``DigitsPixels()``, mean of 5 seeds after 200 evaluations: 0.839 with scores, and
    0.841 with a multivariate sampler (after 12 seeds 0.833 and 0.829); 0.804 with k categorical choices where
    the next free one replaces a duplicate; 0.800 with the Lehmer code of Optuna's FAQ.
    """
    import_peer("optuna")

    def method(evaluate: Choosing) -> None:
        def suggest(trial: Any) -> IntArray:
            scores = [trial.suggest_float(f"score {number}", 0.0, 1.0) for number in range(evaluate.n)]
            return np.argsort(scores)[evaluate.n - evaluate.k :]

        # On these pixels it does not repeat itself more than a dozen times in a row.
        peers.tpe(evaluate, suggest, seed, patience=200, multivariate=False)

    return _trials(problem, budget, method)


# Greedy selection --------------------------------------------------------------------------------------


class _NothingToFit(BaseEstimator):  # type: ignore[misc]
    """An estimator for selectors that want one; training is part of the reward."""

    def fit(self, features: IntArray, labels: IntArray) -> "_NothingToFit":
        """Nothing."""
        return self


def _selected(problem: Subsets, budget: int, selector: Callable[..., Any], **settings: Any) -> list[Trial]:
    """What a sequential selector evaluates.

    Selectors hand the columns they have chosen to the scorer. The only row of these data numbers them.
    ``problem.reward`` must accept smaller subsets: only the last round evaluates complete ones.
    """

    def method(evaluate: Choosing) -> None:
        made = selector(
            _NothingToFit(), scoring=lambda estimator, features, labels: evaluate(features[0]), **settings
        )
        made.fit(np.arange(evaluate.n)[None], np.zeros(1, dtype=np.int64))

    return _trials(problem, budget, method)


def forward_selection(problem: Subsets, budget: int, seed: int, floating: bool = False) -> list[Trial]:
    """Add the best choice until there are k (mlxtend's SFS); ``seed`` is not used."""
    selector = import_peer("mlxtend.feature_selection").SequentialFeatureSelector
    settings = {"k_features": problem.depth, "floating": floating, "cv": 0, "clone_estimator": False}
    return _selected(problem, budget, selector, **settings)


def floating_selection(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """:func:`forward_selection` that also takes choices back as long as that helps (mlxtend's SFFS)."""
    return forward_selection(problem, budget, seed, floating=True)


def sklearn_forward_selection(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """:func:`forward_selection` by scikit-learn's SequentialFeatureSelector."""
    settings = {"n_features_to_select": problem.depth, "cv": [([0], [0])]}
    return _selected(problem, budget, SequentialFeatureSelector, **settings)


# A Gaussian process ------------------------------------------------------------------------------------

INITIAL = 20
"""Number of random subsets before the first Gaussian process."""
RESTARTS = 4
"""Number of local searches in addition to the one from the best subset."""
CANDIDATES = 100
"""Number of random subsets, the best of which are the starts of these searches."""
BATCH = 500
"""Number of subsets whose joint posterior is computed at once; its covariance has ``BATCH²`` entries."""


def botorch_hamming(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """Bayesian optimisation with BoTorch: a Gaussian process over the Hamming distance between subsets.

    Its hyperparameters are fitted again for every evaluation. The next subset is the one with the largest
    logarithm of the expected improvement that climbing by swaps finds.
    """
    botorch = import_botorch()
    improvement = _gaussian_process(botorch)
    rng = np.random.default_rng(seed)

    def method(evaluate: Choosing) -> None:
        evaluate.patience = 200
        while len(evaluate.points) < INITIAL:
            evaluate(evaluate.random(rng))
        while True:
            evaluate(_most_promising(evaluate, improvement(evaluate), rng))

    # One thread, as in all of the runner's workers. Repeated fits use the global seed.
    seeded = botorch.utils.sampling.manual_seed(seed)
    with threadpool_limits(limits=1), seeded, fitting_quietly(botorch):
        return _trials(problem, budget, method)


Acquisition = Callable[[IntArray], FloatArray]
"""How promising subsets are, shape ``(m,)``, given the numbers of their choices, shape ``(m, k)``."""


def _most_promising(evaluate: Choosing, acquisition: Acquisition, rng: np.random.Generator) -> IntArray:
    """Best unknown subset that steepest ascent over swaps leads to."""

    def value(subsets: IntArray) -> FloatArray:
        return np.where([evaluate.knows(subset) for subset in subsets], -np.inf, acquisition(subsets))

    candidates = np.array([evaluate.random(rng) for _ in range(CANDIDATES)])
    best_known = np.sort(evaluate.points[int(np.argmax(evaluate.rewards))])
    starts = [best_known, *candidates[np.argsort(-value(candidates))[:RESTARTS]]]
    peaks = [peers.ascend(value, start, evaluate.swaps) for start in starts]
    return max(peaks, key=lambda peak: peak[1])[0]


def _gaussian_process(botorch: Any) -> Callable[[Choosing], Acquisition]:
    """A function that fits a Gaussian process to known rewards and returns its log expected improvement."""
    torch, gpytorch = import_peer("torch"), import_peer("gpytorch")

    class Process(botorch.models.SingleTaskGP):  # type: ignore[misc]
        def posterior(self, X: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N803 (as in BoTorch)
            # For candidates of shape (m, 1, n), GPyTorch copies the training data m times. One joint
            # posterior has the same means and variances in a tenth of the time.
            joint = super().posterior(X.squeeze(-2), *args, **kwargs)
            normal = gpytorch.distributions.MultivariateNormal(joint.mean, joint.variance.unsqueeze(-1))
            return botorch.posteriors.GPyTorchPosterior(normal)

    def indicators(subsets: Iterable[Iterable[int]], n: int) -> Any:
        chosen = torch.tensor([list(subset) for subset in subsets])
        return torch.zeros(len(chosen), n, dtype=torch.float64).scatter_(1, chosen, 1.0)

    def improvement(evaluate: Choosing) -> Acquisition:
        rewards = torch.tensor(evaluate.rewards, dtype=torch.float64)
        # The squared distance of 0/1 vectors is their Hamming distance, so this is BoTorch's
        # CategoricalKernel, only faster. One length scale for all choices does better than one for each.
        kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
        # BoTorch standardises the rewards and gives predictions in their units.
        model = Process(indicators(evaluate.points, evaluate.n), rewards[:, None], covar_module=kernel)
        # If all attempts fail, the hyperparameters keep their initial values, which suffice for one step.
        with suppress(botorch.exceptions.ModelFittingError):
            botorch.fit.fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
        expected = botorch.acquisition.LogExpectedImprovement(model, best_f=rewards.max())

        def acquisition(subsets: IntArray) -> FloatArray:
            batches = indicators(subsets.tolist(), evaluate.n).unsqueeze(1).split(BATCH)
            with torch.no_grad():
                return np.asarray(torch.cat([expected(batch) for batch in batches]).numpy())

        return acquisition

    return improvement


PEERS: dict[str, Peer] = {
    "random subsets": random_subsets,
    "hill climbing": hill_climbing,
    "forward selection (mlxtend)": forward_selection,
    "floating selection (mlxtend)": floating_selection,
    "TPE (Optuna)": optuna_tpe,
    "Gaussian process, Hamming kernel (BoTorch)": botorch_hamming,
}
"""Every peer by its name in tables and figures."""
