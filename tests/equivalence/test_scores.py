"""The two score models against each other, a batch solve and scikit-learn's Gaussian process."""

from dataclasses import dataclass

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.covariances import (
    Covariance,
    Overlap,
    Pairwise,
    SetKernel,
    Views,
    check_covariance,
)
from dagsearch.posterior import FunctionScores, WeightScores
from dagsearch.problem import Children
from dagsearch.space import Space


@dataclass(frozen=True)
class Job:
    done: object
    time: int


def random_subsets(n, k, count, seed):
    rng = np.random.default_rng(seed)
    subsets = {}
    while len(subsets) < count:
        subsets[frozenset(rng.choice(n, size=k, replace=False).tolist())] = None
    return list(subsets)


def batch_posterior(covariance, states, observed, rewards, noises, mean):
    """The textbook formula, solved at once."""
    prior = covariance(states)
    cross = prior[:, observed]
    gram = prior[np.ix_(observed, observed)] + np.diag(noises)
    found = mean + cross @ np.linalg.solve(gram, rewards - mean)
    return found, prior.diagonal() - np.einsum("ij,ji->i", cross, np.linalg.solve(gram, cross.T))


def assert_same(scores, mean, variance, tolerance=1e-8):
    assert np.abs(scores.mean - mean).max() < tolerance
    assert np.abs(scores.variance - variance).max() < tolerance


def test_rewards_with_repeats_and_own_noises_are_learnt_one_by_one_and_at_once():
    rng = np.random.default_rng(0)
    leaves, inner = random_subsets(30, 6, 80, seed=1), random_subsets(30, 3, 20, seed=2)
    late = random_subsets(34, 4, 20, seed=3)  # of items that were not seen before

    covariance, mean = 0.5 * Overlap(bias=2.0, private=1.0), 0.4
    observed, rewards = rng.integers(80, size=400), rng.normal(size=400)  # each leaf about five times
    noises = np.where(rng.random(400) < 0.5, 0.05, rng.uniform(0.01, 1.0, 400))
    told = [None if noise == 0.05 else noise for noise in noises.tolist()]
    weights, function, at_once = (
        kind(covariance, 0.05, mean) for kind in (WeightScores, FunctionScores, FunctionScores)
    )
    for model in (weights, function):
        model.track(leaves + inner)
        for step, each in enumerate(zip(observed, rewards, told, strict=True)):
            model.condition(*each)
            if step == 200:
                model.track(late)
    at_once.track(leaves + inner + late)
    at_once.condition_all(observed.tolist(), rewards.tolist(), told)
    states = leaves + inner + late
    true = batch_posterior(covariance, states, observed, rewards, noises, mean)
    for model in (weights, function, at_once):
        assert_same(model, *true)
    for model in (function, at_once):  # all rewards of a leaf are one row
        assert model._factor.size == np.unique(observed).size


@pytest.mark.parametrize("model", [WeightScores, FunctionScores])
def test_projection_equals_tracking(model):
    leaves, others = random_subsets(10, 4, 30, seed=7), random_subsets(10, 2, 9, seed=8)
    scores = model(Overlap(bias=0.5), 0.1, mean=0.7)
    scores.track(leaves)
    for node in range(20):
        scores.condition(node, float(node % 7))
    mean, variance = scores.predict(others)
    scores.track(others)
    assert np.allclose(scores.mean[30:], mean, atol=1e-12)
    assert np.allclose(scores.variance[30:], variance, atol=1e-12)


@pytest.mark.parametrize("model", [WeightScores, FunctionScores])
def test_preview_equals_projection(model):
    problem = ds.problems.Subsets(10, 4, reward=sum)
    covariance = 0.3 * Overlap.of(problem, bias=1.0)
    scores = model(covariance, 0.1, mean=0.7)
    leaves = random_subsets(10, 4, 30, seed=9)
    scores.track([frozenset({5, 6}), *leaves])
    for node in range(1, 31):
        scores.condition(node, float(sum(leaves[node - 1])))
    parent = frozenset({5, 6})
    children = Children(problem, parent, problem.actions(parent))
    previewed, projected = scores.predict_children(children, 0), scores.predict(children.states)
    assert np.allclose(previewed[0], projected[0], atol=1e-10)
    assert np.allclose(previewed[1], projected[1], atol=1e-10)


def test_previews_do_not_depend_on_when_somebody_looked():
    """What is kept of a node's children must not show: a search that is resumed has not looked before."""
    problem, leaves, rewards = rewarded(100)
    covariance = SetKernel(private=0.1).bind(problem)
    often, once = (FunctionScores(covariance, 1e-2) for _ in range(2))
    parents = [problem.root(), frozenset({1, 2, 3}), frozenset(range(9))]
    families = [Children(problem, parent, problem.actions(parent)) for parent in parents]
    for scores in (often, once):
        scores.track([*parents, *leaves])
    for number, reward in enumerate(rewards):
        for scores in (often, once):
            scores.condition(3 + number, reward)
        if number % 3 == 0 and number + 8 < len(rewards):  # what is pretended must not be kept
            pretended = often
            for ahead in range(1, 8):
                pretended = pretended.fantasised([3 + number + ahead])
            pretended.predict_children(families[0], 0)
        for node in range(number % 3):
            often.predict_children(families[node], node)
    for node, children in enumerate(families):
        found, expected = often.predict_children(children, node), once.predict_children(children)
        assert np.array_equal(found, expected)
        mean, variance = once.predict(children.states)
        assert expected[0] == pytest.approx(mean, abs=1e-9)
        assert expected[1] == pytest.approx(variance, abs=1e-9)


def test_features_may_grow_while_rewards_come_in():
    scores, reference = (model(Overlap(private=0.5), 0.1) for model in (WeightScores, FunctionScores))
    for i in range(20):
        for model in (scores, reference):
            model.track([frozenset({i, i + 1, 2 * i + 5}), frozenset({i, "only here", -i - 1})])
            model.condition(2 * i, float(i))
    assert_same(scores, reference.mean, reference.variance)


@pytest.mark.parametrize("noise", [0.0, -1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("model", [WeightScores, FunctionScores])
def test_noise_must_be_a_variance(model, noise):
    with pytest.raises(ValueError, match="noise must be a positive"):
        model(Overlap(), noise)
    scores = model(Overlap(), 0.1)
    scores.track([frozenset({1})])
    with pytest.raises(ValueError, match="noise must be a positive"):
        scores.condition(0, 1.0, noise)
    assert scores.mean[0] == 0.0


def indefinite(x, y):
    return 1.0 if x == y else -0.9


def test_a_covariance_that_is_not_one_is_refused_and_nothing_changes():
    scores = FunctionScores(Pairwise(indefinite), 1e-3)
    scores.track([1, 2, 3])
    for node in range(2):
        scores.condition(node, 1.0)
    before = scores.mean.copy(), scores.variance.copy()
    with pytest.raises(ds.CovarianceError, match="not positive semi-definite"):
        scores.condition(2, 1.0)
    with pytest.raises(ds.CovarianceError, match="not positive semi-definite"):
        scores.fantasised([2])
    assert np.array_equal(scores.mean, before[0])
    assert np.array_equal(scores.variance, before[1])
    scores.condition(0, 1.0)  # it goes on
    assert np.all(np.isfinite(scores.mean))


@pytest.mark.parametrize(
    ("function", "named"),
    [
        (indefinite, "not positive semi-definite"),
        (lambda x, y: float(x - y), "not symmetric"),
        (lambda x, y: float("nan"), "not a finite number"),
    ],
)
def test_check_covariance(function, named):
    with pytest.raises(ds.CovarianceError, match=named):
        check_covariance(Pairwise(function), [1, 2, 3])


def test_negative_prior_variance_is_refused_when_tracking():
    scores = FunctionScores(Pairwise(lambda x, y: -1.0), 0.1)
    with pytest.raises(ds.CovarianceError, match="negative"):
        scores.track(["a"])
    assert scores.mean.size == 0


# Covariances ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "y", "shared"),
    [
        (frozenset({1, 2, 3}), frozenset({3, 4}), 1.0),
        ((1, 0, 2), (1, 2, 2), 2.0),
        ("abc", "xbc", 2.0),
        ((1, frozenset({2, 3})), (1, frozenset({3, 4})), 2.0),
        (Job(frozenset({1, 2, 3}), 5), Job(frozenset({1, 2, 4}), 6), 2.0),
        (Job((1, 2), 5), Job((1, 3), 5), 2.0),
    ],
)
def test_overlap_counts_shared_items(x, y, shared):
    assert Overlap(private=0.0)([x], [y])[0, 0] == shared
    assert Overlap(private=0.0, bias=1.5)([x], [y])[0, 0] == pytest.approx(shared + 1.5)


def test_overlap_of_states_without_items_says_what_to_do():
    with pytest.raises(ds.CovarianceError, match=r"Overlap\(items="):
        Overlap()([7])
    assert Overlap(items=lambda number: f"{number:b}")([5])[0, 0] > 0.0


def test_scaling():
    states = random_subsets(8, 3, 6, seed=10)
    base = Overlap(bias=0.5)
    for scaled in (2.5 * base, np.float64(2.5) * base):
        assert isinstance(scaled, Overlap)
        assert np.allclose(scaled(states), 2.5 * base(states))
    pairwise = 2.0 * Pairwise(indefinite, private=1.0)
    assert isinstance(pairwise, Covariance)
    assert np.allclose(pairwise([1, 2]), [[4.0, -1.8], [-1.8, 4.0]])
    with pytest.raises(ds.CovarianceError, match="factor of a covariance must be positive"):
        -1.0 * base


# Many rewards ---------------------------------------------------------------------------------------


def test_20000_steps_are_as_good_as_one_batch():
    rng = np.random.default_rng(0)
    problem = ds.problems.Subsets(30, 5, reward=sum)
    leaves = [frozenset(rng.choice(30, 5, replace=False).tolist()) for _ in range(400)]
    leaves = list(dict.fromkeys(leaves))
    scores = WeightScores(0.2 * Overlap.of(problem), 1e-2)
    scores.track(leaves)
    nodes = rng.integers(len(leaves), size=20_000)
    rewards = rng.normal(size=20_000)
    for node, reward in zip(nodes.tolist(), rewards.tolist(), strict=True):
        scores.condition(node, reward)
    # All rewards of a leaf act as their mean, with so much less noise.
    seen, place = np.unique(nodes, return_inverse=True)
    counts = np.bincount(place)
    batch = FunctionScores(0.2 * Overlap.of(problem), 1e-2)
    batch.track(leaves)
    means = np.bincount(place, weights=rewards) / counts
    batch.condition_all(seen.tolist(), means.tolist(), (1e-2 / counts).tolist())
    assert scores.mean == pytest.approx(batch.mean, abs=1e-6)
    assert scores.variance == pytest.approx(batch.variance, abs=1e-6)


def rewarded(count, seed=0):
    """Leaves of 64 choose 10, some of them twice, with rewards that a set kernel explains."""
    rng = np.random.default_rng(seed)
    problem = ds.problems.Subsets(64, 10, reward=sum)
    leaves = [frozenset(rng.choice(64, 10, replace=False).tolist()) for _ in range(count)]
    weights = rng.normal(size=64)
    rewards = [float(weights[sorted(leaf)].sum()) / 3.0 + 0.1 * rng.normal() for leaf in leaves]
    return problem, leaves, rewards


class Smooth(ds.covariances.Covariance):
    """Numbers; near ones are all but the same."""

    def represent(self, states):
        return np.array(states, dtype=float).reshape(-1, 1)

    def cross(self, a, b):
        return np.exp(-0.5 * ((a - b.T) / 0.3) ** 2)


@pytest.mark.parametrize("noise", [1e-12, 1e-10, 1e-6])
def test_nearly_singular_covariances_do_not_blow_up_on_demand(noise):
    x = np.random.default_rng(0).random(300)
    scores = FunctionScores(Smooth(), noise)
    scores.track(x.tolist())
    for node, place in enumerate(x):
        scores.condition(node, float(np.sin(6.0 * place)))
    grid = np.linspace(0.0, 1.0, 40)
    assert scores.predict(grid.tolist())[0] == pytest.approx(np.sin(6.0 * grid), abs=1e-2 * noise**0.25)


def test_what_was_pretended_is_taken_back_to_the_last_digit():
    problem, leaves, rewards = rewarded(40)
    once, often = (FunctionScores(SetKernel(private=0.1).bind(problem), 1e-2) for _ in range(2))
    for scores in (once, often):
        scores.track(leaves[:30])
        for node, reward in enumerate(rewards[:20]):
            scores.condition(node, reward)
    pretended = often.fantasised([21])
    pretended.track(leaves[30:])  # while something is pretended
    assert pretended.fantasised([35]).variance[35] < pretended.variance[35]
    for scores in (once, often):
        scores.track(leaves[30:])
    assert np.array_equal(once.mean, often.mean)
    assert np.array_equal(once.variance, often.variance)
    for scores in (once, often):
        scores.condition(35, 0.5)
    assert np.array_equal(once.variance, often.variance)


@pytest.mark.parametrize("model", [WeightScores, FunctionScores])
def test_fantasies_narrow_the_belief_and_do_not_move_it(model):
    states = random_subsets(10, 4, 30, seed=7)
    scores, told = model(Overlap(private=0.3), 0.1), model(Overlap(private=0.3), 0.1)
    for each in (scores, told):
        each.track(states)
        for node in range(10):
            each.condition(node, float(node % 7))
    before = scores.mean.copy()
    pending = [3, 11, 12, 12, 20]  # one has a reward already, one is asked for twice
    pretended = scores.fantasised(pending[:2]).fantasised(pending[2:])
    for node in pending:
        told.condition(node, 0.0)
    assert pretended.mean == pytest.approx(before, abs=1e-12)
    assert pretended.variance == pytest.approx(told.variance, abs=1e-9)
    assert pretended.predict(states)[1] == pytest.approx(told.predict(states)[1], abs=1e-9)
    assert np.array_equal(scores.mean, before)
    pretended.track([frozenset({98, 99})])  # items that are new while something is pretended
    scores.track([frozenset({98, 99})])
    assert scores.variance[-1] == pytest.approx(2.3)


def test_leaves_are_predicted_by_their_codes():
    problem = ds.problems.Subsets(9, (0, 9), sum)
    covariance = Views().bind(problem)
    coding = Space(problem).coding
    scores = FunctionScores(covariance, 0.1, 0.7)
    leaves = Space(problem).random_leaves
    codes = coding.codes(leaves)
    scores.track(leaves[:20])
    for node in range(-1, 20):  # before the first reward, too
        if node >= 0:
            scores.condition(node, float(sum(leaves[node])))
        places, found, variance = scores.predict_codes(codes, 15)
        expected, expected_variance = scores.predict([leaves[place] for place in places])
        assert found == pytest.approx(expected)
        assert variance == pytest.approx(expected_variance)
        assert np.sort(found) == pytest.approx(np.sort(scores.predict(leaves)[0])[-15:])


def test_a_leaf_with_rewards_is_predicted_by_its_codes_as_it_is_by_its_node():
    problem = ds.problems.Subsets(9, (0, 9), sum)
    covariance = 0.5 * Views().bind(problem)
    leaves = list(dict.fromkeys(Space(problem).random_leaves))
    scores = FunctionScores(covariance, 0.1, 0.7)
    scores.track(leaves[:20])
    for node in [*range(15), 3, 3, 4]:
        scores.condition(node, float(node % 5))
    nodes = np.array([*range(20), -1, -1, -1])
    places, mean, variance = scores.predict_codes(Space(problem).coding.codes(leaves[:23]), 23, nodes)
    unseen = scores.predict(leaves[20:23])
    assert mean == pytest.approx(np.append(scores.mean, unseen[0])[places])
    assert variance == pytest.approx(np.append(scores.variance, unseen[1])[places])
    assert scores.variance[3] < scores.predict([leaves[3]])[1][0]
