"""Other people's methods, on problems small enough to know everything about."""

import sys
import warnings

import numpy as np
import pytest

from dagsearch.problems import Subsets
from experiments.benchmarks import subset_peers as peers
from experiments.benchmarks.subset_peers import PEERS, Trial, best_rewards
from experiments.harness.evaluations import BudgetSpent

WEIGHTS = np.array([0.3, -1.0, 2.0, 0.7, 1.5, -0.2, 0.1, 1.1])
BEST = frozenset({2, 4, 7})
GREEDY = ("forward selection (mlxtend)", "floating selection (mlxtend)")
LEARNING = ("TPE (Optuna)", "Gaussian process, Hamming kernel (BoTorch)")
SAMPLING = tuple(name for name in PEERS if name not in GREEDY)


class Counted:
    """A reward that remembers what it was asked for."""

    def __init__(self, reward):
        self.reward, self.asked = reward, []

    def __call__(self, subset):
        self.asked.append(subset)
        return self.reward(subset)


def weight(subset):
    return float(WEIGHTS[sorted(subset)].sum())


def rugged(subset):
    """Of any size, without structure, the same in every process."""
    return float(np.random.default_rng(sorted(subset)).normal())


@pytest.mark.parametrize("name", PEERS)
def test_only_distinct_subsets_are_evaluated_and_the_budget_holds_exactly(name):
    reward = Counted(weight)
    trials = PEERS[name](Subsets(8, 3, reward), 20, 0)
    assert len(trials) == len(reward.asked) == len(set(reward.asked)) == 20
    assert [(trial.subset, trial.reward) for trial in trials] == [(s, weight(s)) for s in reward.asked]
    assert all(trial.complete == (len(trial.subset) == 3) for trial in trials)


@pytest.mark.parametrize("name", PEERS)
def test_the_same_seed_gives_the_same_trials(name):
    first, again, other = (
        [trial.subset for trial in PEERS[name](Subsets(9, 3, rugged), 24, seed)] for seed in (1, 1, 2)
    )
    assert first == again
    assert (first == other) == (name in GREEDY)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in LEARNING else name for name in PEERS]
)
def test_the_best_of_an_additive_reward_is_found(name):
    trials = PEERS[name](Subsets(8, 3, weight), 30 if name in LEARNING else 45, 0)
    assert max((trial for trial in trials if trial.complete), key=lambda trial: trial.reward).subset == BEST


@pytest.mark.slow
@pytest.mark.parametrize(
    ("peer", "budget"), [(peers.hill_climbing, 150), (peers.optuna_tpe, 70), (peers.botorch_hamming, 35)]
)
def test_those_that_learn_find_what_random_subsets_do_not(peer, budget):
    problem = Subsets(16, 4, lambda subset: -float(sum(subset)))  # the best of 1,820 is {0, 1, 2, 3}
    assert best_rewards(peer(problem, budget, 0))[-1] == -6.0
    assert best_rewards(peers.random_subsets(problem, budget, 0))[-1] < -6.0


def weight_of_nine(subset):
    return float(np.arange(9)[sorted(subset)].sum())


@pytest.mark.parametrize("name", SAMPLING)
def test_a_peer_ends_when_every_subset_is_known(name):
    reward = Counted(rugged)
    trials = PEERS[name](Subsets(5, 2, reward), 1_000, 0)
    assert len(trials) == len(set(reward.asked)) == 10


def test_a_peer_that_only_repeats_itself_ends():
    evaluate = peers.Choosing(Subsets(8, 3, weight), budget=5, patience=10)
    for _ in range(10):
        assert evaluate([0, 1, 2]) == weight({0, 1, 2})
    with pytest.raises(BudgetSpent):
        evaluate([0, 1, 2])
    assert len(evaluate.trials) == 1


def test_new_subsets_restore_patience():
    evaluate = peers.Choosing(Subsets(8, 3, weight), budget=50, patience=2)
    for first in range(6):
        assert evaluate([first, 6, 7]) == evaluate([7, 6, first])


@pytest.mark.parametrize("budget", [0, 2.5, True])
def test_a_budget_that_is_none(budget):
    with pytest.raises(ValueError, match="budget must be a whole number"):
        peers.random_subsets(Subsets(8, 3, weight), budget, 0)


# Greedy selection ---------------------------------------------------------------------------------


def greedy_path(n, k, reward):
    """Forward selection written down: all subsets in the order of their evaluation."""
    chosen, path = frozenset(), []
    while len(chosen) < k:
        larger = [chosen | {feature} for feature in range(n) if feature not in chosen]
        path += larger
        chosen = max(larger, key=reward)
    return path


def test_forward_selection_is_forward_selection():
    trials = peers.forward_selection(Subsets(9, 4, rugged), 1_000, 0)
    assert [trial.subset for trial in trials] == greedy_path(9, 4, rugged)
    assert [trial.complete for trial in trials] == [False] * 24 + [True] * 6


def test_floating_takes_back_what_forward_cannot():
    # 0 is the best start, but the best three do without it.
    values = {(0,): 5.0, (0, 1): 6.0, (0, 1, 2): 7.0, (1, 2): 9.0, (1, 2, 3): 10.0}
    problem = Subsets(5, 3, lambda subset: values.get(tuple(sorted(subset)), 0.0))
    assert max(trial.reward for trial in peers.forward_selection(problem, 1_000, 0)) == 7.0
    assert max(trial.reward for trial in peers.floating_selection(problem, 1_000, 0)) == 10.0


def test_parts_of_an_answer_have_no_best_reward():
    sizes = [(1, False), (4, False), (2, True), (1, True), (3, True), (9, False)]
    trials = [Trial(frozenset(), float(reward), complete, 0.0) for reward, complete in sizes]
    np.testing.assert_array_equal(best_rewards(trials), [np.nan, np.nan, 2.0, 2.0, 3.0, 3.0])
    assert best_rewards([]).shape == (0,)


# The Gaussian process -----------------------------------------------------------------------------


def test_swaps_are_all_subsets_at_distance_one():
    evaluate = peers.Choosing(Subsets(6, 2, weight), budget=1)
    swaps = [frozenset(neighbour) for neighbour in evaluate.swaps(np.array([4, 1])).tolist()]
    assert len(swaps) == 8
    assert set(swaps) == {frozenset({kept, new}) for kept in (1, 4) for new in (0, 2, 3, 5)}


def test_the_kernel_over_indicators_is_that_of_the_hamming_distance():
    torch, kernels = pytest.importorskip("torch"), pytest.importorskip("botorch.models.kernels")
    gpytorch = pytest.importorskip("gpytorch")
    rows = torch.from_numpy(np.random.default_rng(0).integers(0, 2, size=(6, 10)).astype(float))
    euclidean, categorical = gpytorch.kernels.RBFKernel(), kernels.CategoricalKernel()
    euclidean.lengthscale, categorical.lengthscale = 1.3, 2 * 1.3**2 / 10
    for kernel in (euclidean, categorical):
        kernel.double()
    np.testing.assert_allclose(
        euclidean(rows).to_dense().detach(), categorical(rows).to_dense().detach(), rtol=1e-6
    )


def test_expected_improvement_is_botorchs_own():
    botorch, torch = pytest.importorskip("botorch"), pytest.importorskip("torch")
    problem, rng = Subsets(8, 3, weight), np.random.default_rng(0)
    evaluate = peers.Choosing(problem, budget=50)
    while len(evaluate.points) < 12:
        evaluate(evaluate.random(rng))
    improvement = peers._gaussian_process(botorch)(evaluate)
    candidates = np.array([evaluate.random(rng) for _ in range(7)])

    gpytorch = pytest.importorskip("gpytorch")
    rows = torch.zeros(12, 8, dtype=torch.float64)
    for row, subset in zip(rows, evaluate.points, strict=True):
        row[list(subset)] = 1.0
    rewards = torch.tensor(evaluate.rewards, dtype=torch.float64)[:, None]
    kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
    model = botorch.models.SingleTaskGP(rows, rewards, covar_module=kernel)
    botorch.fit.fit_gpytorch_mll(gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model))
    expected = botorch.acquisition.LogExpectedImprovement(model, best_f=rewards.max())
    tests = torch.zeros(7, 1, 8, dtype=torch.float64)
    for test, subset in zip(tests, candidates, strict=True):
        test[0, subset] = 1.0
    np.testing.assert_allclose(improvement(candidates), expected(tests).detach().numpy(), rtol=1e-6)


def test_constant_rewards_do_not_stop_the_gaussian_process():
    assert len(peers.botorch_hamming(Subsets(8, 3, lambda subset: 1.0), 23, 0)) == 23


# Around the peers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PEERS)
def test_time_spent_in_rewards_does_not_count(name, clock):
    def slow(subset):
        clock.advance(3_600.0)
        return weight(subset)

    clock.tick = 1e-3
    trials = PEERS[name](Subsets(8, 3, slow), 21, 0)
    assert all(0.0 < trial.seconds < 60.0 for trial in trials)


@pytest.mark.parametrize(
    ("peer", "package"),
    [
        (peers.forward_selection, "mlxtend"),
        (peers.floating_selection, "mlxtend"),
        (peers.optuna_tpe, "optuna"),
        (peers.botorch_hamming, "botorch"),
    ],
)
def test_a_missing_package_is_named_with_what_to_install(peer, package, monkeypatch):
    for module in [name for name in sys.modules if name.split(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=rf"needs {package}: pip install '\.\[benchmark\]'"):
        peer(Subsets(8, 3, weight), 5, 0)


def test_optuna_says_nothing_and_speaks_again_afterwards(capfd):
    optuna = pytest.importorskip("optuna")
    before = optuna.logging.get_verbosity()
    peers.optuna_tpe(Subsets(8, 3, weight), 12, 0)
    assert capfd.readouterr() == ("", "")
    assert optuna.logging.get_verbosity() == before


def test_filters_of_warnings_are_left_as_they_were():
    before = list(warnings.filters)
    peers.botorch_hamming(Subsets(8, 3, weight), 22, 0)
    assert warnings.filters == before
