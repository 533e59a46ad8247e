"""Joint samples: of g against the exact posterior, of v against enumeration."""

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.baselines import NoScores
from dagsearch.covariances import Hamming, Overlap, SetKernel
from dagsearch.methods import default_parts
from dagsearch.posterior import KernelScores, WeightScores
from dagsearch.problem import Children
from dagsearch.proposers import Descent
from dagsearch.proposers.expansions import AllChildren, OneChild
from dagsearch.proposers.policies import Thompson, UpperConfidence
from dagsearch.proposers.rollouts import Uniform
from dagsearch.values.backups import JointSamples
from experiments.benchmarks import calibration

STATES = [frozenset(chosen) for chosen in ({0, 1}, {1, 2}, {0, 1, 2}, {3}, {2, 3}, {0, 3}, set())]
COUNT = 40_000


def posterior(covariance, states, observed, rewards, noises):
    prior = covariance(states)
    gram = prior[np.ix_(observed, observed)] + np.diag(noises)
    gain = np.linalg.solve(gram, prior[observed]).T
    return gain @ rewards, prior - gain @ prior[observed]


@pytest.mark.parametrize("early", [True, False])
@pytest.mark.parametrize(
    ("model", "covariance"),
    [
        (WeightScores, 0.5 * Overlap(bias=0.5, private=0.3)),
        (WeightScores, Overlap(private=0.0, bias=1.0)),
        (KernelScores, 0.5 * Overlap(bias=0.5, private=0.3)),
        (KernelScores, Hamming(private=0.1)),
    ],
)
def test_samples_of_g_have_the_posterior_moments(model, covariance, early):
    scores = model(covariance, 0.1)
    scores.track(STATES[:4])
    samples = scores.sampled(COUNT, np.random.default_rng(0)) if early else None
    observed, rewards, noises = [0, 3, 0, 5], [1.0, -0.5, 1.4, 0.3], [0.1, 0.2, 0.1, 0.1]
    for node, reward, noise in list(zip(observed, rewards, noises, strict=True))[:3]:
        scores.condition(node, reward, noise)
    if samples is None:
        samples = scores.sampled(COUNT, np.random.default_rng(0))
    scores.track(STATES[4:])
    scores.condition(observed[3], rewards[3], noises[3])
    values = samples.values()
    mean, cov = posterior(covariance, STATES, observed, np.array(rewards), noises)
    scale = np.sqrt(covariance(STATES).diagonal().max())
    assert values.mean(axis=1) == pytest.approx(mean, abs=0.03 * scale)
    assert np.cov(values) == pytest.approx(cov, abs=0.03 * scale**2)
    assert scores.mean == pytest.approx(mean, abs=1e-8)


@pytest.mark.parametrize("model", [WeightScores, KernelScores])
def test_joint_is_the_posterior_of_tracked_and_other_states(model):
    covariance = 0.5 * Overlap(bias=0.5, private=0.3)
    scores = model(covariance, 0.1)
    scores.track(STATES[:4])
    observed, rewards = [0, 3, 0], [1.0, -0.5, 1.4]
    for node, reward in zip(observed, rewards, strict=True):
        scores.condition(node, reward)
    mean, cov = posterior(covariance, STATES, observed, np.array(rewards), [0.1] * 3)
    order = [3, 0, 4, 5, 6]
    found = scores.joint([3, 0], STATES[4:])
    assert found[0] == pytest.approx(mean[order])
    assert found[1] == pytest.approx(cov[np.ix_(order, order)])


@pytest.mark.parametrize("model", [WeightScores, KernelScores])
def test_draws_of_children_have_their_moments(model):
    problem = ds.problems.Subsets(4, 2, reward=sum)
    scores = model(Overlap.of(problem), 0.1)
    scores.track([frozenset({0, 1})])
    scores.condition(0, 2.0)
    children = Children(problem, frozenset({0}), problem.actions(frozenset({0})))
    rng = np.random.default_rng(0)
    draws = np.array([scores.draw(children, rng) for _ in range(4_000)])
    mean, cov = scores.joint([], children.states)
    assert draws.mean(axis=0) == pytest.approx(mean, abs=0.1)
    assert np.cov(draws.T) == pytest.approx(cov, abs=0.2)


def explored_search(backup, seed=0):
    problem = ds.problems.Synthetic(6, 3, seed=seed)
    search = ds.Search(
        problem,
        scores=WeightScores(problem.covariance, 1e-4),
        proposers=Descent(UpperConfidence(1.0), Uniform(), AllChildren()),
        backup=backup,
        seed=seed,
    )
    calibration.explore(search, problem)
    return problem, search


def test_samples_of_v_are_the_maxima_over_leaves():
    samples = JointSamples(500, seed=1)
    _, search = explored_search(samples)
    search.tell(frozenset({0, 1, 2}), 0.3)
    graph = search.values.explored.graph
    g = samples.update(search.explored)
    leaves = np.flatnonzero(graph.terminal[: len(graph)])
    assert samples.values[search.explored.root] == pytest.approx(g[leaves].max(axis=0))
    inner = search.explored.find(frozenset({0}))
    below = [leaf for leaf in leaves if 0 in graph.states[leaf]]
    assert samples.values[inner] == pytest.approx(g[below].max(axis=0))
    assert graph.v_mean[inner] == pytest.approx(g[below].max(axis=0).mean())


def test_min_takes_the_minimum():
    class Game:
        """MAX picks a side, then MIN does; all leaves are alike in nothing."""

        def root(self):
            return ""

        def actions(self, state):
            return [] if len(state) == 2 else ["l", "r"]

        def step(self, state, action):
            return state + action

        def player(self, state):
            return ds.MAX if state == "" else ds.MIN

        def reward(self, leaf):
            return {"ll": 3.0, "lr": -2.0, "rl": 1.0, "rr": 0.5}[leaf]

    samples = JointSamples(50, seed=0)
    game = Game()
    search = ds.Search(
        game,
        scores=KernelScores(Hamming(), 1e-8),
        proposers=Descent(UpperConfidence(1.0), Uniform(), AllChildren()),
        backup=samples,
        seed=0,
    )
    calibration.explore(search, game)
    for leaf in ("ll", "lr", "rl", "rr"):
        search.tell(leaf, game.reward(leaf))
    assert search.belief("").v.mean == pytest.approx(0.5, abs=1e-2)
    assert search.recommend().actions == ("r", "r")


@pytest.mark.slow
def test_ninety_percent_are_ninety_percent():
    rows = [row for number in range(60) for row in calibration.one_draw("joint samples", number)]
    covered = [row.value for row in rows if row.setting == "covered"]
    assert 0.8 <= np.mean(covered) <= 0.98
    independent = [row for number in range(30) for row in calibration.one_draw("moment matching", number)]
    assert np.mean([row.value for row in independent if row.setting == "covered"]) < 0.5


@pytest.mark.parametrize("expansion", [AllChildren(), OneChild()])
def test_thompson_on_v_finds_the_optimum(expansion):
    problem = ds.problems.Synthetic(10, 4, seed=2)
    samples = JointSamples(64, seed=0)
    search = ds.Search(
        problem,
        scores=WeightScores(problem.covariance, 1e-4),
        proposers=Descent(Thompson(samples), ds.rollouts.Sampled(), expansion),
        backup=samples,
        repeats=False,
        seed=0,
    )
    assert search.run(60).best_reward == pytest.approx(problem.best_reward)


def test_joint_samples_need_scores_that_have_them():
    problem = ds.problems.Synthetic()
    with pytest.raises(ValueError, match="NoScores has none"):
        ds.Search(
            problem,
            scores=NoScores(),
            proposers=Descent(UpperConfidence(1.0), Uniform()),
            backup=JointSamples(8),
        )
    with pytest.raises(ValueError, match="count must be"):
        JointSamples(1)


def test_samples_follow_when_hyperparameters_are_learnt():
    problem = ds.problems.Subsets(9, 3, reward=lambda chosen: float(sum(chosen)))
    samples = JointSamples(2_000, seed=0)
    parts = default_parts(problem, SetKernel(), initial=5)
    parts |= {"scores": KernelScores(SetKernel().bind(problem), 1e-6), "backup": samples}
    parts["proposers"] = Descent(UpperConfidence(0.5), ds.rollouts.Greedy(1.0), OneChild())
    search = ds.Search(problem, **parts, seed=0)
    search.run(20)
    g = samples.update(search.explored)
    assert g.mean(axis=1) == pytest.approx(search.explored.scores.mean, abs=0.1)
