"""The two score models against each other, a batch solve and scikit-learn's Gaussian process."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import DotProduct, WhiteKernel

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
from dagsearch.posterior.landmarks import InducedScores
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


def batch_posterior(covariance, states, observed, rewards, noises, means):
    """The textbook formula, solved at once."""
    prior = covariance(states)
    cross = prior[:, observed]
    gram = prior[np.ix_(observed, observed)] + np.diag(noises)
    mean = means + cross @ np.linalg.solve(gram, rewards - means[observed])
    return mean, prior.diagonal() - np.einsum("ij,ji->i", cross, np.linalg.solve(gram, cross.T))


def assert_same(scores, mean, variance, tolerance=1e-8):
    assert np.abs(scores.mean - mean).max() < tolerance
    assert np.abs(scores.variance - variance).max() < tolerance


@pytest.mark.slow
def test_both_models_agree_after_2000_rewards_with_repeats_and_own_noises():
    n, k, count = 30, 6, 400
    rng = np.random.default_rng(0)
    leaves = random_subsets(n, k, count, seed=1)
    inner = random_subsets(n, 3, 50, seed=2)
    late = random_subsets(n, 4, 50, seed=3)

    def mean(state):
        return 0.1 * len(state)

    def covariance():
        return 0.5 * Overlap(bias=2.0, private=1.0)

    models = [kind(covariance(), 0.05, mean) for kind in (WeightScores, FunctionScores)]
    observed = rng.integers(count, size=2_000)  # each leaf about five times
    rewards = rng.normal(size=2_000)
    noises = np.where(rng.random(2_000) < 0.5, 0.05, rng.uniform(0.01, 1.0, 2_000))
    for model in models:
        model.track(leaves + inner)
        for step, (leaf, reward, noise) in enumerate(zip(observed, rewards, noises, strict=True)):
            model.condition(leaf, reward, None if noise == 0.05 else noise)
            if step == 1_000:
                model.track(late)
    states = leaves + inner + late
    means = np.array([mean(state) for state in states])
    true = batch_posterior(covariance(), states, observed, rewards, noises, means)
    for model in models:
        assert_same(model, *true)
    assert models[1]._factor.size == np.unique(observed).size


@pytest.mark.parametrize("model", [WeightScores, FunctionScores])
@pytest.mark.parametrize("private", [0.0, 0.3])
def test_agrees_with_scikit_learn(model, private):
    leaves = random_subsets(12, 4, 120, seed=4)
    indicator = np.array([[float(item in leaf) for item in range(12)] for leaf in leaves])
    rng = np.random.default_rng(5)
    rewards = indicator @ rng.normal(size=12) + 0.1 * rng.normal(size=120)
    # Each leaf is observed once, so that a private offset is just more noise to the others.
    regressor = GaussianProcessRegressor(
        DotProduct(sigma_0=0.0, sigma_0_bounds="fixed") + WhiteKernel(private, "fixed"),
        alpha=0.01,
        optimizer=None,
    )
    regressor.fit(indicator[:80], rewards[:80])
    mean, deviation = regressor.predict(indicator[80:], return_std=True)
    scores = model(Overlap(private=private), noise=0.01)
    scores.track(leaves)
    for node in range(80):
        scores.condition(node, rewards[node])
    # predict() takes the white kernel for noise of the reward; our g has the private offset in it too.
    assert np.abs(scores.mean[80:] - mean).max() < 1e-8
    assert np.abs(scores.variance[80:] - deviation**2).max() < 1e-8


@pytest.mark.parametrize("model", [WeightScores, FunctionScores])
def test_only_the_same_leaf_shares_its_private_offset(model):
    a, b = frozenset({1}), frozenset({2})
    scores = model(Overlap(private=1.0), noise=1e-6)
    scores.track([a, b])
    for _ in range(3):
        scores.condition(0, 4.0)
    assert scores.mean[0] == pytest.approx(4.0, abs=1e-5)
    assert scores.variance[0] == pytest.approx(1e-6 / 3, rel=1e-3)
    assert (scores.mean[1], scores.variance[1]) == (0.0, 2.0)


@pytest.mark.parametrize("model", [WeightScores, FunctionScores])
def test_projection_equals_tracking(model):
    leaves, others = random_subsets(10, 4, 30, seed=7), random_subsets(10, 2, 9, seed=8)
    scores = model(Overlap(bias=0.5), 0.1, mean=lambda state: float(sum(state)))
    scores.track(leaves)
    for node in range(20):
        scores.condition(node, float(node % 7))
    mean, variance = scores.predict(others)
    scores.track(others)
    assert np.allclose(scores.mean[30:], mean, atol=1e-12)
    assert np.allclose(scores.variance[30:], variance, atol=1e-12)


@pytest.mark.parametrize("model", [WeightScores, FunctionScores])
@pytest.mark.parametrize("mean", [0.7, lambda state: float(len(state))])
def test_preview_equals_projection(model, mean):
    problem = ds.problems.Subsets(10, 4, reward=sum)
    covariance = 0.3 * Overlap.of(problem, bias=1.0)
    scores = model(covariance, 0.1, mean)
    leaves = random_subsets(10, 4, 30, seed=9)
    scores.track([frozenset({5, 6}), *leaves])
    for node in range(1, 31):
        scores.condition(node, float(sum(leaves[node - 1])))
    parent = frozenset({5, 6})
    children = Children(problem, parent, problem.actions(parent))
    previewed, projected = scores.predict_children(children, 0), scores.predict(children.states)
    assert np.allclose(previewed[0], projected[0], atol=1e-10)
    assert np.allclose(previewed[1], projected[1], atol=1e-10)


def test_preview_does_not_make_the_children_where_it_need_not():
    class Lazy(ds.problems.Subsets):
        def step(self, state, action):
            raise AssertionError("a child was made")

    problem = Lazy(10, 4, reward=sum)
    scores = WeightScores(Overlap.of(problem), 0.1)
    scores.track([problem.root()])
    mean, _ = scores.predict_children(Children(problem, problem.root(), problem.actions(problem.root())), 0)
    assert mean.shape == (10,)


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


def test_landmarks_refuse_what_is_not_a_number_and_nothing_changes():
    def undefined(x, y):
        return float("nan") if x != y and 7 in (x, y) else float(np.exp(-abs(x - y)))

    covariance = Pairwise(undefined)
    scores = InducedScores(covariance, 1e-3, 0.0, covariance.represent([1, 2, 3]))
    scores.track([1, 2, 7])
    scores.condition(0, 1.0)
    before = scores.predict([1, 2, 3])
    for refused in (lambda: scores.condition(2, 1.0), lambda: scores.fantasised([2])):
        with pytest.raises(ds.CovarianceError, match="not finite"):
            refused()
    assert np.array_equal(scores.predict([1, 2, 3]), before)


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


@pytest.mark.parametrize("arguments", [{"bias": -1.0}, {"private": -0.1}, {"private": float("nan")}])
def test_overlap_refuses_negative_variances(arguments):
    with pytest.raises(ds.CovarianceError, match=next(iter(arguments))):
        Overlap(**arguments)


# Many rewards ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("features", [30, 150])
def test_20000_steps_are_as_good_as_one_batch(features):
    """With many features the last rows are kept aside, with few they are not."""
    rng = np.random.default_rng(0)
    problem = ds.problems.Subsets(features, 5, reward=sum)
    leaves = [frozenset(rng.choice(features, 5, replace=False).tolist()) for _ in range(400)]
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


def of_landmarks(covariance, leaves, noise=1e-2):
    return InducedScores(covariance, noise, 0.0, covariance.represent(leaves))


def test_landmarks_everywhere_are_exact():
    problem, leaves, rewards = rewarded(200)
    covariance = SetKernel(private=0.1).bind(problem)
    exact, induced = FunctionScores(covariance, 1e-2), of_landmarks(covariance, leaves)
    others = rewarded(50, seed=1)[1]
    for scores in (exact, induced):
        scores.track([*leaves, *others])
        for node, reward in enumerate(rewards):
            scores.condition(node, reward, 0.05 if node % 3 == 0 else None)
        scores.condition(7, rewards[7] + 0.2)
    assert induced.mean[:200] == pytest.approx(exact.mean[:200], abs=1e-4)
    assert induced.variance[:200] == pytest.approx(exact.variance[:200], abs=1e-4)
    at_once = of_landmarks(covariance, leaves)
    at_once.track([*leaves, *others])
    noises = [0.05 if node % 3 == 0 else None for node in range(200)]
    at_once.condition_all([*range(200), 7], [*rewards, rewards[7] + 0.2], [*noises, None])
    assert at_once.mean == pytest.approx(induced.mean, abs=1e-6)
    assert at_once.variance == pytest.approx(induced.variance, abs=1e-6)
    mean, joint = induced.joint([0, 7, 210], others[:3])
    exact_mean, exact_joint = exact.joint([0, 7], [])
    assert mean[:2] == pytest.approx(exact_mean, abs=1e-4)
    assert joint[:2, :2] == pytest.approx(exact_joint, abs=1e-4)
    assert np.all(np.linalg.eigvalsh(joint) > -1e-9)


def test_a_model_of_landmarks_takes_over_what_an_exact_one_knows():
    problem, leaves, rewards = rewarded(150)
    exact = FunctionScores(SetKernel(private=0.1).bind(problem), 1e-2, 0.2)
    exact.track(leaves)
    for node in [*range(100), 3, 3]:
        exact.condition(node, rewards[node], 0.05 if node % 3 == 0 else None)
    assert not exact.outgrown
    induced = InducedScores.of(exact, exact.covariance, exact.noise)
    induced.track(leaves)
    told = [*range(100), 3, 3]
    noises = [0.05 if node % 3 == 0 else None for node in told]
    induced.condition_all(told, [rewards[node] for node in told], noises)
    assert induced.mean[:100] == pytest.approx(exact.mean[:100], abs=1e-4)
    assert induced.variance[:100] == pytest.approx(exact.variance[:100], abs=1e-4)
    fresh = InducedScores.of(induced, exact.covariance, 1e-2)
    fresh.track(leaves)
    assert fresh.mean == pytest.approx(np.full(150, 0.2))


def test_the_error_of_landmarks_against_exact(record_property):
    """Means within a fraction of what is unknown anyway, and never surer than exact by much."""
    problem, leaves, rewards = rewarded(1000)
    covariance = SetKernel(private=0.05).bind(problem)
    others = rewarded(200, seed=1)[1]
    exact, induced = FunctionScores(covariance, 1e-2), of_landmarks(covariance, leaves)
    for scores in (exact, induced):
        scores.track([*leaves, *others])
        scores.condition_all(list(range(1000)), rewards, [None] * 1000)
    mean, variance = exact.predict(others)
    approximate, spread = induced.predict(others)
    error = np.abs(approximate - mean) / np.sqrt(variance)
    record_property("largest error of a mean, in deviations", float(error.max()))
    assert error.mean() < 0.1
    assert error.max() < 0.5
    assert np.all(spread > 0.9 * variance)
    assert np.median(spread / variance) < 1.3


@pytest.mark.parametrize("together", [1, 50])
def test_fantasies_of_landmarks_are_rewards_that_teach_nothing_new(together):
    problem, leaves, rewards = rewarded(120)
    scores, told = (of_landmarks(SetKernel(private=0.1).bind(problem), leaves) for _ in range(2))
    pending = [*range(30, 110), 3, 40]  # one has a reward already, one is asked for twice
    for each in (scores, told):
        each.track(leaves)
        each.condition_all(list(range(40)), rewards[:40], [None] * 40)
    before = scores.mean.copy(), scores.variance.copy()
    pretended = scores
    for first in range(0, len(pending), together):
        pretended = pretended.fantasised(pending[first : first + together])
    for node in pending:
        told.refresh([node])
        told.condition(node, told.moments()[0][node])
    assert pretended.mean == pytest.approx(before[0], abs=1e-9)
    assert pretended.variance == pytest.approx(told.variance, abs=1e-9)
    assert np.array_equal(scores.mean, before[0])
    assert np.array_equal(scores.variance, before[1])


def test_what_landmarks_pretended_is_taken_back():
    problem, leaves, rewards = rewarded(60)
    scores = of_landmarks(SetKernel(private=0.1).bind(problem), leaves)
    scores.track(leaves)
    scores.condition_all(list(range(40)), rewards[:40], [None] * 40)
    before = scores.mean.copy(), scores.variance.copy()
    pretended = scores.fantasised([50]).fantasised([55])
    assert pretended.mean == pytest.approx(before[0], abs=1e-12)
    assert pretended.variance[50] < before[1][50]
    assert np.array_equal(scores.mean, before[0])
    assert np.array_equal(scores.variance, before[1])


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


def test_repeats_do_not_make_a_model_larger():
    """All rewards of a leaf are one row, whichever came first and whatever their noise."""
    problem, leaves, rewards = rewarded(30)
    covariance = SetKernel(private=0.1).bind(problem)
    rng = np.random.default_rng(0)
    nodes, noises = rng.integers(30, size=200), rng.uniform(1e-3, 1.0, size=200)
    told = np.array(rewards)[nodes] + rng.normal(size=200)
    merged, at_once = (FunctionScores(covariance, 1e-2, 0.3) for _ in range(2))
    for scores in (merged, at_once):
        scores.track(leaves)
    for node, reward, noise in zip(nodes.tolist(), told, noises, strict=True):
        merged.condition(node, reward, noise)
    at_once.condition_all(nodes.tolist(), told.tolist(), noises.tolist())
    for scores in (merged, at_once):
        scores.track(rewarded(5, seed=3)[1])
    states = [*leaves, *rewarded(5, seed=3)[1]]
    true = batch_posterior(covariance, states, nodes, told, noises, np.full(35, 0.3))
    for scores in (merged, at_once):
        assert_same(scores, *true)
        assert scores._factor.size == 30
        assert scores._factor.inverse @ scores._factor.lower == pytest.approx(np.eye(30), abs=1e-9)


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
