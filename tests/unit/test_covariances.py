"""Covariances of states: values, gradients, algebra, and what they refuse."""

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.covariances import (
    Covariance,
    Diffusion,
    Features,
    Hamming,
    LinearFeatures,
    Nearness,
    Overlap,
    Pairwise,
    SetKernel,
    check_covariance,
    correlation,
)
from dagsearch.errors import CovarianceError
from dagsearch.posterior import KernelScores, WeightScores
from dagsearch.problem import Children, Families
from dagsearch.space.walks import random_leaves, random_walk

POSITIONS = np.indices((4, 4)).reshape(2, -1).T


def subsets(**settings):
    return ds.problems.Subsets(16, 4, reward=sum, positions=POSITIONS, **settings)


def some_states(problem, seed=0, count=12):
    """Leaves and partial decisions, all different."""
    rng = np.random.default_rng(seed)
    states = [problem.root()]
    while len(states) < count:
        state = problem.root()
        for _ in range(int(rng.integers(1, problem.depth + 1))):
            actions = problem.actions(state)
            state = problem.step(state, actions[int(rng.integers(len(actions)))])
        if state not in states:
            states.append(state)
    return states


KERNELS = {
    "identity": lambda: SetKernel(),
    "near": lambda: SetKernel(Nearness(POSITIONS)),
    "near, nothing of their own": lambda: SetKernel(Nearness(POSITIONS, own=0.0)),
    "matern-5/2": lambda: SetKernel(Nearness(POSITIONS), shape="matern-5/2"),
    "matern-3/2": lambda: SetKernel(Nearness(POSITIONS), shape="matern-3/2"),
    "linear": lambda: SetKernel(Nearness(POSITIONS), nonlinear=0.0),
    "radial": lambda: SetKernel(linear=0.0, bias=0.0, private=0.0),
    "matrix": lambda: SetKernel(correlation(np.random.default_rng(0).normal(size=(30, 16)))),
    "scaled": lambda: 2.5 * SetKernel(Nearness(POSITIONS)),
    "features": lambda: Features(lambda state: [len(state), sum(state), 1.0]),
    "linear features": lambda: 0.5 * LinearFeatures(lambda state: [len(state), sum(state)], private=0.1),
    "hamming": lambda: Hamming(),
    "diffusion": lambda: 0.7 * Diffusion(values=2),
    "overlap": lambda: 0.3 * Overlap(bias=1.0),
    "sum": lambda: 0.5 * SetKernel() + 2.0 * Overlap(private=0.0),
    "product": lambda: SetKernel(private=0.0) * Hamming(private=0.0),
    "sum of products": lambda: Hamming(private=0.0) * SetKernel(private=0.0) + 0.1 * Overlap(),
}


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_covariances(name):
    problem = subsets()
    states = some_states(problem)
    covariance = KERNELS[name]().bind(problem)
    check_covariance(covariance, states)
    matrix = covariance(states)
    rows = covariance.represent(states)
    assert matrix.diagonal() == pytest.approx(covariance.variances(rows) + covariance.private)
    first, second = covariance(states[:5], states[5:]), matrix[:5, 5:]
    assert first == pytest.approx(second)


@pytest.mark.parametrize("name", KERNELS)
def test_gradients_are_those_of_differences(name):
    problem = subsets()
    covariance = KERNELS[name]().bind(problem)
    states = some_states(problem)
    rows = covariance.represent(states)
    matrix, gradient = covariance.value_and_gradient(rows)
    assert matrix == pytest.approx(covariance(states))
    weights = np.random.default_rng(0).normal(size=matrix.shape)
    weights += weights.T
    expected = Covariance.value_and_gradient(covariance, rows)[1](weights)
    assert expected.shape == (len(covariance.hyperparameters),)
    assert gradient(weights) == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", KERNELS)
def test_variances_of_steps_are_those_of_differences(name):
    problem = subsets()
    covariance = KERNELS[name]().bind(problem)
    rng = np.random.default_rng(0)
    path = [problem.root()]
    while len(actions := problem.actions(path[-1])) > 0:
        path.append(problem.step(path[-1], actions[int(rng.integers(len(actions)))]))
    rows = covariance.represent(path)
    matrix, differences = covariance.cross(rows, rows), np.diff(np.eye(len(path)), axis=0)
    expected = np.diagonal(differences @ matrix @ differences.T)
    assert covariance.step_variances(rows) == pytest.approx(expected, abs=1e-12)
    assert covariance.step_variances(rows[:1]).size == 0


@pytest.mark.parametrize("name", KERNELS)
def test_hyperparameters_can_be_changed_and_changed_back(name):
    problem = subsets()
    covariance = KERNELS[name]().bind(problem)
    rows = covariance.represent(some_states(problem))
    values = [parameter.value for parameter in covariance.hyperparameters]
    other = covariance.with_values([2.0 * value for value in values])
    assert [parameter.value for parameter in other.hyperparameters] == pytest.approx(
        [2.0 * value for value in values]
    )
    assert [p.median for p in other.hyperparameters] == [p.median for p in covariance.hyperparameters]
    if values:
        assert not np.allclose(other.value_and_gradient(rows)[0], covariance.value_and_gradient(rows)[0])
    assert other.with_values(values).cross(rows, rows) == pytest.approx(covariance.cross(rows, rows))


@pytest.mark.parametrize("settings", [{}, {"fixed": [0], "forbidden": [3]}, {"groups": [(1, 2), (5, 6, 7)]}])
@pytest.mark.parametrize("name", ["identity", "near", "matrix", "sum", "product"])
def test_children_at_once_equal_children_one_by_one(name, settings):
    problem = subsets(**settings)
    covariance = KERNELS[name]().bind(problem)
    others = covariance.represent(random_leaves(problem)[:9])
    state, rng = problem.root(), np.random.default_rng(0)
    while len(actions := problem.actions(state)) > 0:
        children = Children(problem, state, actions)
        cross, variances = covariance.of_children(children, covariance.prepared(others))
        rows = covariance.represent(children.states)
        assert cross == pytest.approx(covariance.cross(rows, others))
        assert variances == pytest.approx(covariance.variances(rows))
        weights = rng.normal(size=9)
        twice = Families(problem, [state, state])
        sums = covariance.sums_of_children(twice, covariance.prepared(others), weights)
        assert sums == pytest.approx(np.tile(cross @ weights, 2))
        places = rng.permutation(len(twice.states))[:5]
        some, some_variances = covariance.of_children(twice, covariance.prepared(others), places)
        assert some == pytest.approx(np.tile(cross, (2, 1))[places])
        assert some_variances == pytest.approx(np.tile(variances, 2)[places])
        state = problem.step(state, actions[int(rng.integers(len(actions)))])


@pytest.mark.parametrize("length", [1.0, 0.01], ids=["", "overflow"])
def test_sums_of_children_do_not_overflow(length):
    problem = subsets()
    covariance = SetKernel(Nearness(POSITIONS), length=length).bind(problem)
    leaf = random_leaves(problem)[0]
    others = covariance.prepared(covariance.represent([leaf]))
    above = problem.parents(leaf)
    families = Families(problem, [parent for parent, _ in above])
    sums = covariance.sums_of_children(families, others, np.ones(1))
    assert sums == pytest.approx(covariance.of_children(families, others)[0][:, 0])
    places = [families.find(place) for place in range(len(sums))]
    itself = [places.index((number, last)) for number, (_, last) in enumerate(above)]
    assert sums[itself] == pytest.approx(covariance.variances(covariance.represent([leaf]))[0])


@pytest.mark.parametrize("settings", [{}, {"fixed": [0], "forbidden": [3]}])
@pytest.mark.parametrize("name", ["identity", "near", "matrix", "scaled", "sum"])
def test_vectors_taken_apart_give_what_whole_ones_give(name, settings, monkeypatch):
    problem = subsets(**settings)
    states = some_states(problem)
    dense = KERNELS[name]().bind(problem)
    monkeypatch.setattr("dagsearch.covariances.sets._MANY_ITEMS", 3)
    sparse = KERNELS[name]().bind(problem)
    rows = dense.represent(states)
    values = [2.0 * parameter.value for parameter in dense.hyperparameters]
    for one, other in [(dense, sparse), (dense.with_values(values), sparse.with_values(values))]:
        assert other.cross(rows[:3], rows) == pytest.approx(one.cross(rows[:3], rows))
        assert other.variances(rows) == pytest.approx(one.variances(rows))
        weights = one.cross(rows, rows)
        assert other.value_and_gradient(rows)[1](weights) == pytest.approx(
            one.value_and_gradient(rows)[1](weights)
        )
        children = Children(problem, states[1], problem.actions(states[1]))
        if children.actions:
            apart = other.of_children(children, other.prepared(rows))
            assert apart[0] == pytest.approx(one.of_children(children, one.prepared(rows))[0])


def test_inclusion_is_the_probability_under_random_play():
    problem = ds.problems.Subsets(7, 3, reward=sum, fixed=[0], forbidden=[6], groups=[(1, 2)])
    rng = np.random.default_rng(0)
    for state in (problem.root(), frozenset({0, 3}), frozenset({0, 1, 2})):
        ends = [random_walk(problem, state, rng)[0] for _ in range(4_000)]
        share = np.array([[feature in end for feature in range(7)] for end in ends]).mean(axis=0)
        assert problem.inclusion([state])[0] == pytest.approx(share, abs=0.04)
    leaf = frozenset({0, 3, 4})
    assert problem.inclusion([leaf])[0].tolist() == [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]


def test_random_leaves_have_unit_spread():
    problem = ds.problems.DigitsPixels()
    kernel = SetKernel(Nearness(problem.positions), linear=1.0, nonlinear=0.0, bias=0.0).bind(problem)
    rng = np.random.default_rng(1)
    leaves = [random_walk(problem, problem.root(), rng)[0] for _ in range(500)]
    assert kernel.variances(kernel.represent(leaves)).mean() == pytest.approx(1.0, abs=0.1)


def test_near_items_are_alike_and_far_ones_are_not():
    problem = subsets()
    kernel = SetKernel(Nearness(POSITIONS)).bind(problem)
    base, near, far = frozenset({0, 3, 12, 5}), frozenset({0, 3, 12, 6}), frozenset({0, 3, 12, 15})
    to_near, to_far = kernel([base], [near, far])[0]
    assert to_near > to_far


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Nearness([1.0, 2.0]), "positions must be finite numbers"),
        (lambda: Nearness([[0.0], [1.0]], length=-1.0), "length must be positive"),
        (lambda: Nearness([[0.0], [1.0]], own=-1.0), "own must be finite and not negative"),
        (lambda: SetKernel([[1.0, 2.0]]), "square matrix"),
        (lambda: SetKernel([[1.0, 0.5], [0.0, 1.0]]), "symmetric"),
        (lambda: SetKernel([[1.0, 2.0], [2.0, 1.0]]), "positive semi-definite"),
        (lambda: SetKernel(shape="cubic"), "shape must be one of"),
        (lambda: SetKernel(linear=0.0, nonlinear=0.0), "must not both be zero"),
        (lambda: SetKernel(length=0.0), "length must be positive"),
        (lambda: -1.0 * SetKernel(), "positive number only"),
        (lambda: SetKernel()([frozenset()]), "not bound to a problem"),
        (lambda: SetKernel().bind(ds.problems.TicTacToe()), "needs inclusion"),
        (lambda: SetKernel(np.eye(3)).bind(subsets()), "has 3 rows, but Subsets has 16 items"),
        (lambda: Features(lambda state: [float("nan")]).bind(subsets()), "finite numbers"),
        (lambda: Features(lambda state: [1.0] * len(state))([(1,), (1, 2)]), "finite numbers"),
        (lambda: Overlap() * Hamming(), "without private variance"),
        (lambda: Hamming(length=0.0), "length must be positive"),
        (lambda: Diffusion(values=1), "at least 2"),
        (lambda: Diffusion(values={0: 3})(["ab"]), "number of values of the place 1"),
        (lambda: correlation([1.0, 2.0]), "table of finite numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(CovarianceError, match=message):
        make()


def test_a_sum_needs_covariances():
    with pytest.raises(TypeError):
        Overlap() + 1.0


def test_hamming_counts_places_that_differ_whatever_the_state_is():
    kernel = Hamming(length=1.0, private=0.0)
    assert kernel([(1, 2)], [(1, 3)])[0, 0] == pytest.approx(np.exp(-1.0))
    assert kernel([frozenset({1, 2})], [frozenset({2, 3})])[0, 0] == pytest.approx(np.exp(-2.0))
    assert kernel(["ab"], ["a"])[0, 0] == pytest.approx(np.exp(-1.0))


def test_diffusion_is_the_exponential_of_the_graph_laplacian():
    from scipy.linalg import expm

    time, count = 0.4, 3
    laplacian = count * np.eye(count) - np.ones((count, count))
    heat = expm(-time * laplacian)
    kernel = Diffusion(values=count, length=1.0 / time, private=0.0)
    assert kernel(["a"], ["b"])[0, 0] == pytest.approx(heat[0, 1] / heat[0, 0])


def test_rows_of_sums_may_grow():
    covariance = 1.0 * Overlap(private=0.1) + Hamming()
    scores = KernelScores(covariance, 0.1)
    scores.track([frozenset({1}), frozenset({2})])
    scores.condition(0, 1.0)
    scores.track([frozenset({1, 9}), frozenset({7})])
    scores.condition(2, -1.0)
    states = [frozenset({1}), frozenset({2}), frozenset({1, 9}), frozenset({7})]
    prior = covariance(states)
    gram = prior[np.ix_([0, 2], [0, 2])] + 0.1 * np.eye(2)
    expected = prior[:, [0, 2]] @ np.linalg.solve(gram, [1.0, -1.0])
    assert scores.mean == pytest.approx(expected)


def test_linear_features_work_in_weight_space():
    covariance = 0.5 * LinearFeatures(lambda state: [1.0, len(state), sum(state)], private=0.2)
    models = [WeightScores(covariance, 0.1), KernelScores(covariance, 0.1)]
    states = some_states(subsets())
    for model in models:
        model.track(states)
        for node, reward in ((3, 1.0), (5, -1.0), (3, 2.0)):
            model.condition(node, reward)
    assert models[0].mean == pytest.approx(models[1].mean)
    assert models[0].variance == pytest.approx(models[1].variance)


@pytest.mark.parametrize("covariance", [Pairwise(lambda x, y: float(len(x & y)) + 1.0), Hamming(), Overlap()])
def test_search_takes_any_covariance(covariance):
    problem = ds.problems.Subsets(8, 3, reward=lambda chosen: float(sum(chosen)))
    result = ds.search(problem, 30, covariance=covariance, seed=0)
    assert result.best_reward == 18.0


def test_the_old_name_of_bind_still_binds():
    problem = subsets()
    with pytest.warns(DeprecationWarning, match="bind"):
        bound = SetKernel().on(problem)
    states = some_states(problem)
    assert np.array_equal(bound(states), SetKernel().bind(problem)(states))


@pytest.mark.parametrize("name", ["RowStore", "Rows", "SparseRows", "checked_kind", "items_of"])
def test_names_that_moved_are_still_found(name):
    assert name not in ds.covariances.__all__
    with pytest.warns(DeprecationWarning, match=rf"{name} has moved to dagsearch\.covariances\."):
        getattr(ds.covariances, name)


def test_a_matrix_that_does_not_explain_the_rewards_counts_less():
    """D-optimal design: experiments that are alike in their factors are not alike in what they add."""
    factors = np.random.default_rng(0).normal(size=(30, 4))

    def information(chosen):
        rows = factors[sorted(chosen)]
        return float(np.linalg.slogdet(rows.T @ rows + 1e-3 * np.eye(4))[1])

    problem = ds.problems.Subsets(30, 6, reward=information)
    search = ds.Search.default(problem, covariance=SetKernel(correlation(factors.T)), seed=0)
    search.run(60)
    own = next(p for p in search.explored.scores.covariance.hyperparameters if p.name == "own share of items")
    assert own.value > 5 * own.median
