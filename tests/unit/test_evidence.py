"""Hyperparameters from the evidence, against scikit-learn's and against differences."""

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import dagsearch as ds
from dagsearch.covariances import Covariance, Hyperparameter, Nearness, Overlap, SetKernel
from dagsearch.posterior import FunctionScores, WeightScores
from dagsearch.posterior.evidence import Evidence, LogPosterior, by_leaf
from dagsearch.proposers import Descent
from dagsearch.space import Space

FIXED = Hyperparameter("noise", 1e-6, 1e-6, 0.0)
FREE = Hyperparameter("noise", 0.1, 0.1, 1.5)


def data(seed=0, count=30):
    problem = ds.problems.DigitsPixels()
    leaves = list(dict.fromkeys(Space(problem).random_leaves))[:count]
    rewards = np.random.default_rng(seed).normal(size=count)
    return problem, leaves, rewards


class Near(Covariance):
    """A covariance of one's own, with hyperparameters: numbered points are alike if they are near."""

    def __init__(self, points, scale=1.0, length=1.0, private=0.0):
        self.points, self.scale, self.length, self.private = points, scale, length, private
        self._learn(scale=("scale", 1.0), length=("length", 1.0), private=("private", 1.0))

    def represent(self, states):
        return self.points[list(states)]

    def cross(self, rows, others):
        return self.scale * np.exp(-0.5 * ((rows[:, None] - others) ** 2).sum(axis=2) / self.length**2)

    def value_and_gradient(self, rows):
        shared, apart = self.cross(rows, rows), ((rows[:, None] - rows) ** 2).sum(axis=2) / self.length**2
        changes = {"scale": shared, "length": shared * apart, "private": self.private * np.eye(len(rows))}
        matrix = shared + changes["private"]
        return matrix, lambda weights: np.array([np.vdot(weights, changes[name]) for name in self._learnt])


@pytest.mark.parametrize("noise", [FIXED, FREE])
@pytest.mark.parametrize(
    "make",
    [
        lambda p: SetKernel(Nearness(p.positions)),
        lambda p: SetKernel(),
        lambda p: 0.3 * Overlap.of(p),
        lambda p: SetKernel() + 0.1 * Overlap.of(p),
    ],
)
def test_the_gradient_is_that_of_differences(make, noise):
    problem, leaves, rewards = data()
    covariance = make(problem).bind(problem)
    nodes = [*range(30), 0, 0, 5]  # some leaves again
    told = np.append(rewards, rewards[[0, 0, 5]] + 0.3)
    noises = [None] * 20 + [0.3] * 10 + [None, None, 0.2]
    observed = by_leaf(covariance.represent(leaves).__getitem__, nodes, told, noises)
    posterior = LogPosterior(covariance, noise, observed)
    logs = posterior.medians + 0.3 * np.random.default_rng(1).normal(size=len(posterior.now))
    loss = posterior.loss
    _, gradient = loss(logs)
    for number, step in enumerate(1e-5 * np.eye(len(logs))):
        difference = (loss(logs + step)[0] - loss(logs - step)[0]) / 2e-5
        assert gradient[number] == pytest.approx(difference, rel=1e-4, abs=1e-5)


def test_the_evidence_is_scikit_learns():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(25, 2))
    rewards = np.sin(points[:, 0]) + 0.1 * rng.normal(size=25)
    covariance = Near(points, scale=1.5, length=0.8)
    rows = covariance.represent(range(25))
    noise = Hyperparameter("noise", 0.05, 0.05, 1e6)
    observed = by_leaf(rows.__getitem__, list(range(25)), rewards, [None] * 25)
    posterior = LogPosterior(covariance, noise, observed)
    posterior.medians = np.log([1.5, 0.8, 0.05])
    loss, _ = posterior.loss(posterior.medians)
    kernel = ConstantKernel(1.5) * RBF(0.8) + WhiteKernel(0.05)
    reference = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None).fit(points, rewards)
    expected = -reference.log_marginal_likelihood_value_ - 0.5 * 25 * np.log(2.0 * np.pi)
    assert loss == pytest.approx(expected)


def test_repeated_rewards_count_as_a_full_gaussian():
    """Merging rewards by leaf is the likelihood of all of them, up to what does not depend on λ or Σ."""
    rng = np.random.default_rng(0)
    nodes, rewards = [0, 0, 0, 1, 2, 2], rng.normal(size=6)
    covariance = Near(np.arange(90.0)[:, None], private=0.3)
    rows = covariance.represent(range(3))
    noise = Hyperparameter("noise", 0.1, 0.1, 1e6)
    posterior = LogPosterior(covariance, noise, by_leaf(rows.__getitem__, nodes, rewards, [None] * 6))
    posterior.deviations = np.full(len(posterior.now), 1e9)

    def full(variance):
        matrix = covariance(range(3))
        joint = matrix[np.ix_(nodes, nodes)] + variance * np.eye(6)
        return 0.5 * rewards @ np.linalg.solve(joint, rewards) + 0.5 * np.linalg.slogdet(joint)[1]

    def merged(variance):
        return posterior.loss(np.append(posterior.now[:-1], np.log(variance)))[0]

    assert merged(0.1) - merged(0.7) == pytest.approx(full(0.1) - full(0.7))


def test_told_noise_is_part_of_the_evidence():
    rng = np.random.default_rng(0)
    nodes, rewards, noises = [0, 1, 1, 2], rng.normal(size=4), [None, 0.2, 0.6, 0.4]
    covariance = Near(np.arange(90.0)[:, None], private=0.3)
    rows = covariance.represent(range(3))
    observed = by_leaf(rows.__getitem__, nodes, rewards, noises)
    assert observed.mean[1] == pytest.approx((3.0 * rewards[1] + rewards[2]) / 4.0)
    assert observed.told[1:] == pytest.approx([0.15, 0.4])
    assert np.isnan(observed.told[0])


def test_few_rewards_settle_nothing():
    problem, leaves, rewards = data(count=4)
    covariance = SetKernel().bind(problem)
    observed = by_leaf(covariance.represent(leaves).__getitem__, list(range(4)), rewards, [None] * 4)
    found, _ = Evidence().maximise(LogPosterior(covariance, FIXED, observed), np.random.default_rng(0))
    for parameter in found.hyperparameters:
        assert abs(np.log(parameter.value / parameter.median)) < 1.5 * parameter.deviation


def test_of_very_many_leaves_some_are_learnt_from(monkeypatch):
    """With their own repeats: what is known of the noise must belong to the same leaves."""
    rng = np.random.default_rng(0)
    covariance = Near(np.arange(90.0)[:, None], private=0.3)
    nodes = rng.integers(90, size=400)
    places, rewards = np.unique(nodes), rng.normal(size=400)
    monkeypatch.setattr("dagsearch.posterior.evidence._MOST", 40)
    observed = by_leaf(covariance.represent, nodes, rewards, [None] * 400)
    some = places[np.linspace(0, len(places) - 1, 40).astype(int)]
    chosen = np.isin(nodes, some)
    expected = by_leaf(covariance.represent, nodes[chosen], rewards[chosen], [None] * chosen.sum())
    found, alone = (LogPosterior(covariance, FREE, each) for each in (observed, expected))
    assert found.loss(found.now)[0] == pytest.approx(alone.loss(found.now)[0])
    assert found.loss(found.now)[1] == pytest.approx(alone.loss(found.now)[1])


def test_times_are_geometric():
    times = [3]
    while times[-1] < 41:
        times.append(Evidence().next_after(times[-1]))
    assert times == [3, 5, 8, 12, 18, 27, 41]


@pytest.mark.parametrize("model", [WeightScores, FunctionScores])
def test_evidence_works_with_both_score_models(model):
    problem = ds.problems.Synthetic(12, 4, seed=3)
    covariance = 5.0 * Overlap.of(problem, private=0.1)  # far too wide
    search = ds.Search(
        problem,
        scores=model(covariance, 1e-4),
        proposers=Descent(
            ds.policies.UpperConfidence(0.5), ds.rollouts.Greedy(1.0), ds.expansions.OneChild()
        ),
        evidence=Evidence(),
        standardize=8,
        repeats=False,
        seed=0,
    )
    search.run(40)
    learnt = search.index.scores.covariance
    assert isinstance(search.index.scores, model)
    assert learnt.hyperparameters[0].value < 2.0
    # Made anew or step by step, the belief is the same.
    scores = model(learnt, search.index.scores.noise)
    scores.track(search.explored.graph.states)
    for episode in search.posterior.told:
        standard = search.posterior.units.standardized(episode)
        scores.condition(standard.leaf, standard.reward, standard.noise)
    assert search.index.scores.mean == pytest.approx(scores.mean, abs=1e-7)
    assert search.index.scores.variance == pytest.approx(scores.variance, abs=1e-7)


def test_told_noise_is_kept_when_scores_are_made_anew():
    problem = ds.problems.Subsets(8, 3, reward=lambda chosen: float(sum(chosen)))
    search = ds.Search.default(problem, initial=3, noisy=True, seed=0)
    sure, unsure = frozenset({0, 1, 2}), frozenset({5, 6, 7})
    search.tell(sure, 1.0, noise=1e-6)
    search.tell(unsure, 1.0, noise=100.0)
    for leaf in (frozenset({0, 1, 3}), frozenset({0, 1, 4}), frozenset({0, 1, 5})):
        search.tell(leaf, float(sum(leaf)))
    assert search.belief(sure).g.variance < 1e-4
    assert search.belief(unsure).g.variance > 0.1
