"""Methods of other packages for choosing k of n, to compare with.

Every peer evaluates the same function, ``problem.reward``. Only distinct subsets count: one that is
proposed again is looked up. Peers do not support fixed, forbidden or grouped features: they choose
``problem.depth`` of the problem's choices, which are numbered from 0 here.
"""

import importlib
import math
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SequentialFeatureSelector
from threadpoolctl import threadpool_limits

from dagsearch._internal.checks import is_whole
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.problems import Subsets
from dagsearch.problems.ground import Subset


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


class _Spent(Exception):
    """The budget is spent, or the peer proposes nothing new."""


class _Evaluator:
    """Evaluates, counts and times the subsets that a peer proposes; raises :class:`_Spent` at the end.

    A call takes the numbers of the choices and returns the reward of their subset. The clock of a peer's own
    time starts with the constructor: import packages before.

    Parameters
    ----------
    problem : Subsets
        The problem.
    budget : int
        Maximum number of distinct subsets.
    patience : int
        Number of known subsets in a row after which the peer is ended.
    """

    def __init__(self, problem: Subsets, budget: int, patience: int = 100_000) -> None:
        if not is_whole(budget) or budget < 1:
            raise ValueError(f"budget must be a whole number of at least 1, got {budget!r}")
        self._problem, self._budget, self._patience = problem, budget, patience
        self._choices = problem.actions(problem.root())
        self.n, self.k = len(self._choices), problem.depth
        self.trials: list[Trial] = []
        self.known: dict[frozenset[int], float] = {}
        """Rewards in the order of the trials, by the numbers of the choices."""
        self._missing = math.comb(self.n, self.k)
        self._repeats = 0
        self._resumed = time.perf_counter()

    def __call__(self, numbers: Iterable[int]) -> float:
        chosen = frozenset(map(int, numbers))
        if chosen in self.known:
            self._repeats += 1
            if self._repeats >= self._patience:
                raise _Spent
        else:
            self._repeats = 0
            self._evaluate(chosen)
        return self.known[chosen]

    def _evaluate(self, chosen: frozenset[int]) -> None:
        seconds = time.perf_counter() - self._resumed
        subset, complete = self._problem.root(), len(chosen) == self.k
        for number in sorted(chosen):
            subset = self._problem.step(subset, self._choices[number])
        assert isinstance(subset, frozenset)
        self.known[chosen] = float(self._problem.reward(subset))
        self.trials.append(Trial(subset, self.known[chosen], complete, seconds))
        self._missing -= complete
        if len(self.trials) == self._budget or self._missing == 0:
            raise _Spent
        self._resumed = time.perf_counter()

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


def random_subsets(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """Distinct subsets, all equally likely."""
    evaluate, rng = _Evaluator(problem, budget), np.random.default_rng(seed)
    with suppress(_Spent):
        while True:
            evaluate(evaluate.random(rng))
    return evaluate.trials


def hill_climbing(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """From a random subset, take the first swap that helps; if none does, start from another subset."""
    evaluate, rng = _Evaluator(problem, budget), np.random.default_rng(seed)
    with suppress(_Spent):
        while True:
            _climb(evaluate, rng)
    return evaluate.trials


def _climb(evaluate: _Evaluator, rng: np.random.Generator) -> None:
    chosen = evaluate.random(rng)
    reward, climbing = evaluate(chosen), True
    while climbing:
        climbing = False
        for neighbour in rng.permutation(evaluate.swaps(chosen)):
            if (found := evaluate(neighbour)) > reward:
                chosen, reward, climbing = neighbour, found, True
                break


def forward_selection(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """Add the best choice until there are k (mlxtend's SFS); ``seed`` is not used.

    ``problem.reward`` must accept smaller subsets. Only the last round evaluates complete ones.
    """
    return _sequential_selection(problem, budget, floating=False)


def floating_selection(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """:func:`forward_selection` that also takes choices back as long as that helps (mlxtend's SFFS)."""
    return _sequential_selection(problem, budget, floating=True)


class _NothingToFit(BaseEstimator):  # type: ignore[misc]
    """An estimator for selectors that want one; training is part of the reward."""

    def fit(self, features: IntArray, labels: IntArray) -> "_NothingToFit":
        """Nothing."""
        return self


def sklearn_forward_selection(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """:func:`forward_selection` by scikit-learn's SequentialFeatureSelector."""
    evaluate = _Evaluator(problem, budget)
    selector = SequentialFeatureSelector(
        _NothingToFit(),
        n_features_to_select=evaluate.k,
        scoring=lambda estimator, features, labels: evaluate(features[0]),
        cv=[([0], [0])],
    )
    with suppress(_Spent):
        selector.fit(np.arange(evaluate.n)[None], np.zeros(1, dtype=np.int64))
    return evaluate.trials


def _sequential_selection(problem: Subsets, budget: int, floating: bool) -> list[Trial]:
    mlxtend = import_peer("mlxtend.feature_selection")
    evaluate = _Evaluator(problem, budget)
    selector = mlxtend.SequentialFeatureSelector(
        _NothingToFit(),
        k_features=evaluate.k,
        floating=floating,
        scoring=lambda estimator, features, labels: evaluate(features[0]),
        cv=0,
        clone_estimator=False,
    )
    # mlxtend hands the columns it has chosen to the scorer. The only row of these data numbers them.
    with suppress(_Spent):
        selector.fit(np.arange(evaluate.n)[None], np.zeros(1, dtype=np.int64))
    return evaluate.trials


_POPULATION, _PARENTS, _MUTATION = 30, 3, 0.2


def genetic_algorithm(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """A genetic algorithm: tournaments, children that mix two parents, and swaps as mutations."""
    evaluate, rng = _Evaluator(problem, budget, patience=2_000), np.random.default_rng(seed)
    try:
        people = [evaluate.random(rng) for _ in range(_POPULATION)]
        fitness = [evaluate(person) for person in people]
        while True:
            mother, father = (_winner(fitness, rng) for _ in range(2))
            pool = np.union1d(people[mother], people[father])
            child = rng.choice(pool, evaluate.k, replace=False)
            if rng.random() < _MUTATION:
                absent = np.setdiff1d(np.arange(evaluate.n), child)
                child[int(rng.integers(evaluate.k))] = rng.choice(absent)
            value = evaluate(child)
            worst = int(np.argmin(fitness))
            if value >= fitness[worst]:
                people[worst], fitness[worst] = child, value
    except _Spent:
        return evaluate.trials


def _winner(fitness: Sequence[float], rng: np.random.Generator) -> int:
    entered = rng.choice(len(fitness), _PARENTS, replace=False)
    return int(max(entered, key=lambda number: fitness[number]))


def optuna_tpe(problem: Subsets, budget: int, seed: int) -> list[Trial]:
    """Optuna's tree-structured Parzen estimator over one score per choice; the k largest are chosen."""
    optuna = import_peer("optuna")
    # Once converged it proposes the same subset again and again, more slowly each time. In 200 evaluations
    # of DigitsPixels() it did not repeat itself more than a dozen times in a row.
    evaluate = _Evaluator(problem, budget, patience=200)
    # Tried on the pixels of DigitsPixels(), mean of 5 seeds after 200 evaluations: 0.839 with scores, and
    # 0.841 with a multivariate sampler (after 12 seeds 0.833 and 0.829); 0.804 with k categorical choices
    # where the next free one replaces a duplicate; 0.800 with the Lehmer code of Optuna's FAQ.
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=False)
    with quiet(optuna.logging), suppress(_Spent):
        study = optuna.create_study(direction="maximize", sampler=sampler)
        while True:
            trial = study.ask()
            scores = [trial.suggest_float(f"score {number}", 0.0, 1.0) for number in range(evaluate.n)]
            study.tell(trial, evaluate(np.argsort(scores)[evaluate.n - evaluate.k :]))
    return evaluate.trials


@contextmanager
def quiet(logging: Any) -> Iterator[None]:
    """Optuna without messages below an error."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity(logging.ERROR)
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)


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
    evaluate, rng = _Evaluator(problem, budget, patience=200), np.random.default_rng(seed)
    # One thread, as in all of the runner's workers. Repeated fits use the global seed.
    seeded = botorch.utils.sampling.manual_seed(seed)
    with threadpool_limits(limits=1), seeded, fitting_quietly(botorch), suppress(_Spent):
        while len(evaluate.known) < INITIAL:
            evaluate(evaluate.random(rng))
        while True:
            evaluate(_most_promising(evaluate, improvement(evaluate), rng))
    return evaluate.trials


Acquisition = Callable[[IntArray], FloatArray]
"""How promising subsets are, shape ``(m,)``, given the numbers of their choices, shape ``(m, k)``."""


def _most_promising(evaluate: _Evaluator, acquisition: Acquisition, rng: np.random.Generator) -> IntArray:
    """Best unknown subset that steepest ascent over swaps leads to."""

    def value(subsets: IntArray) -> FloatArray:
        known = [frozenset(subset) in evaluate.known for subset in subsets.tolist()]
        return np.where(known, -np.inf, acquisition(subsets))

    candidates = np.array([evaluate.random(rng) for _ in range(CANDIDATES)])
    best_known = max(evaluate.known, key=evaluate.known.__getitem__)
    starts = [np.array(sorted(best_known)), *candidates[np.argsort(-value(candidates))[:RESTARTS]]]
    peaks = [_ascend(evaluate, value, start) for start in starts]
    return max(peaks, key=lambda peak: peak[1])[0]


def _ascend(evaluate: _Evaluator, value: Acquisition, chosen: IntArray) -> tuple[IntArray, float]:
    height = float(value(chosen[None])[0])
    while True:
        neighbours = evaluate.swaps(chosen)
        values = value(neighbours)
        if values.max() <= height:
            return chosen, height
        chosen, height = neighbours[values.argmax()], float(values.max())


def _gaussian_process(botorch: Any) -> Callable[[_Evaluator], Acquisition]:
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

    def improvement(evaluate: _Evaluator) -> Acquisition:
        rewards = torch.tensor(list(evaluate.known.values()), dtype=torch.float64)
        # The squared distance of 0/1 vectors is their Hamming distance, so this is BoTorch's
        # CategoricalKernel, only faster. One length scale for all choices does better than one for each.
        kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
        # BoTorch standardises the rewards and gives predictions in their units.
        model = Process(indicators(evaluate.known, evaluate.n), rewards[:, None], covar_module=kernel)
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


def import_peer(name: str) -> Any:
    """Import a module that only comparisons need, or raise an error that states how to install it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = (error.name or name).partition(".")[0]
        raise ModuleNotFoundError(
            f"this comparison needs {missing}: pip install 'dagsearch[benchmark]'"
        ) from error


def import_botorch() -> Any:
    """BoTorch, imported without warnings."""
    with warnings.catch_warnings():
        # Its linear algebra uses a part of PyTorch that is going away.
        warnings.filterwarnings("ignore", "`torch.jit", DeprecationWarning)
        return import_peer("botorch")


@contextmanager
def fitting_quietly(botorch: Any) -> Iterator[None]:
    """BoTorch without warnings about fits.

    They say that a fit did not converge, that categories are not between 0 and 1, or that a variance was
    rounded up.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", botorch.exceptions.warnings.OptimizationWarning)
        warnings.simplefilter("ignore", botorch.exceptions.warnings.InputDataWarning)
        warnings.simplefilter("ignore", import_peer("linear_operator.utils.warnings").NumericalWarning)
        yield


PEERS: dict[str, Peer] = {
    "random subsets": random_subsets,
    "hill climbing": hill_climbing,
    "forward selection (mlxtend)": forward_selection,
    "floating selection (mlxtend)": floating_selection,
    "TPE (Optuna)": optuna_tpe,
    "Gaussian process, Hamming kernel (BoTorch)": botorch_hamming,
}
"""Every peer by its name in tables and figures."""
