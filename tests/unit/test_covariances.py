"""Covariances of states: values, gradients, algebra, and what they refuse."""

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.covariances import (
    Nearness,
    Overlap,
    Pairwise,
    SetKernel,
    check_covariance,
    correlation,
)
from dagsearch.covariances.base import Combined
from dagsearch.errors import CovarianceError
from dagsearch.posterior import FunctionScores
from dagsearch.space import Space

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
    "linear": lambda: SetKernel(Nearness(POSITIONS), nonlinear=0.0),
    "radial": lambda: SetKernel(linear=0.0, bias=0.0, private=0.0),
    "matrix": lambda: SetKernel(correlation(np.random.default_rng(0).normal(size=(30, 16)))),
    "scaled": lambda: 2.5 * SetKernel(Nearness(POSITIONS)),
    "pairwise": lambda: 0.5 * Pairwise(lambda x, y: float(len(x & y)), private=0.1),
    "overlap": lambda: 0.3 * Overlap(bias=1.0),
    "sum": lambda: 0.5 * SetKernel() + 2.0 * Overlap(private=0.0),
    "a multiple of a sum": lambda: 3.0 * (SetKernel() + Pairwise(lambda x, y: float(x == y))),
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
    values = np.array([parameter.value for parameter in covariance.hyperparameters])

    def total(logarithms):
        other = covariance.with_values((values * np.exp(logarithms)).tolist())
        return float(np.vdot(weights, other(states)))

    steps = 1e-4 * np.eye(len(values))
    expected = [(total(step) - total(-step)) / 2e-4 for step in steps]
    assert gradient(weights) == pytest.approx(np.array(expected), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", KERNELS)
def test_variances_of_steps_are_those_of_differences(name):
    problem = subsets()
    covariance = KERNELS[name]().bind(problem)
    rng = np.random.default_rng(0)
    path = [problem.root()]
    while len(actions := problem.actions(path[-1])) > 0:
        path.append(problem.step(path[-1], actions[int(rng.integers(len(actions)))]))
    rows = covariance.represent(path)
    matrix = covariance(path) - covariance.private * np.eye(len(path))
    differences = np.diff(np.eye(len(path)), axis=0)
    expected = np.diagonal(differences @ matrix @ differences.T)
    assert covariance.step_variances(rows) == pytest.approx(expected, abs=1e-12)
    assert covariance.step_variances(rows[:1]).size == 0


@pytest.mark.parametrize("name", KERNELS)
def test_hyperparameters_can_be_changed_and_changed_back(name):
    problem = subsets()
    covariance = KERNELS[name]().bind(problem)
    states = some_states(problem)
    rows = covariance.represent(states)
    values = [parameter.value for parameter in covariance.hyperparameters]
    other = covariance.with_values([2.0 * value for value in values])
    assert [parameter.value for parameter in other.hyperparameters] == pytest.approx(
        [2.0 * value for value in values]
    )
    assert [p.median for p in other.hyperparameters] == [p.median for p in covariance.hyperparameters]
    if values:
        assert not np.allclose(other.value_and_gradient(rows)[0], covariance.value_and_gradient(rows)[0])
    assert other.with_values(values)(states) == pytest.approx(covariance(states))


def coded():
    """Subsets of four that have codes, with some of their leaves as states and as codes."""
    problem = ds.problems.Subsets(16, 4, reward=sum, positions=POSITIONS)
    leaves = list(dict.fromkeys(Space(problem).random_leaves))
    return problem, leaves, problem.codes(leaves)


@pytest.mark.parametrize("name", ["identity", "near", "matrix", "scaled"])
def test_leaves_are_compared_by_codes_as_by_rows(name):
    problem, leaves, codes = coded()
    covariance = KERNELS[name]().bind(problem)
    assert covariance.reads_codes
    assert covariance.from_codes(codes[:9]) == pytest.approx(covariance.represent(leaves[:9]), abs=1e-12)


def test_sums_read_codes_if_their_parts_do():
    problem, leaves, codes = coded()
    near, identity = SetKernel(Nearness(POSITIONS), private=0.0), SetKernel(private=0.0)
    for whole in (near + 0.5 * identity, Combined([near + identity], 2.0)):
        covariance = whole.bind(problem)
        rows, others = covariance.from_codes(codes[:9]), covariance.prepared(covariance.represent(leaves[9:]))
        assert covariance.cross(rows, others) == pytest.approx(covariance(leaves[:9], leaves[9:]))
        assert covariance.variances(rows) == pytest.approx(covariance(leaves[:9]).diagonal())
    for whole in (near + Overlap(), Pairwise(lambda x, y: 1.0)):
        covariance = whole.bind(problem)
        assert not covariance.reads_codes
        with pytest.raises(CovarianceError, match="cannot"):
            covariance.from_codes(codes)


def swapped(codes):
    """Codes of all leaves with one choice exchanged for another, one by one."""
    rows = []
    for drop in np.flatnonzero(codes == 1):
        for add in np.flatnonzero(codes == 0):
            rows.append(codes.copy())
            rows[-1][[drop, add]] = [0, 1]
    return np.array(rows)


SWAPS = {
    **{name: KERNELS[name] for name in ("identity", "near", "matrix", "scaled", "linear")},
    "overflow": lambda: SetKernel(Nearness(POSITIONS), length=0.01),
    "short": lambda: SetKernel(Nearness(POSITIONS), length=0.1),
}


@pytest.mark.parametrize("name", SWAPS)
def test_sums_of_swaps_are_those_of_the_swapped_leaves(name):
    problem, leaves, codes = coded()
    covariance = SWAPS[name]().bind(problem)
    others = covariance.prepared(covariance.represent(leaves[:30]))
    weights = np.random.default_rng(0).normal(size=30)
    some = codes[:3]  # these are among the others
    for row, found in zip(some, covariance.sums_of_swaps(some, others, weights), strict=True):
        assert found.shape == ((row == 1).sum(), (row == 0).sum())
        expected = covariance.cross(covariance.from_codes(swapped(row)), others) @ weights
        assert found.ravel() == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", ["identity", "near", "matrix", "scaled", "sum"])
def test_sparse_rows_give_what_dense_ones_give(name, monkeypatch):
    problem = subsets()
    covariance = KERNELS[name]().bind(problem)
    rows = covariance.represent(some_states(problem))
    matrix, gradient = covariance.value_and_gradient(rows)
    monkeypatch.setattr("dagsearch.covariances.sets._MANY", 3)
    monkeypatch.setattr("dagsearch.covariances.sets._FEW", 1.0)
    found, gradient_found = covariance.value_and_gradient(rows)
    assert found == pytest.approx(matrix)
    assert gradient_found(matrix) == pytest.approx(gradient(matrix))


def test_inclusion_is_the_probability_under_random_play():
    problem = ds.problems.Subsets(7, 3, reward=sum)
    rng = np.random.default_rng(0)
    for state in (problem.root(), frozenset({0, 3}), frozenset({6})):
        ends = [Space(problem).walk(state, rng)[0] for _ in range(4_000)]
        share = np.array([[feature in end for feature in range(7)] for end in ends]).mean(axis=0)
        assert problem.coding.inclusion([state])[0] == pytest.approx(share, abs=0.04)
    leaf = frozenset({0, 3, 4})
    assert problem.coding.inclusion([leaf])[0].tolist() == [1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 0.0]


def test_random_leaves_have_unit_spread():
    problem = ds.problems.DigitsPixels()
    kernel = SetKernel(Nearness(problem.positions), linear=1.0, nonlinear=0.0, bias=0.0).bind(problem)
    rng = np.random.default_rng(1)
    leaves = [Space(problem).walk(problem.root(), rng)[0] for _ in range(500)]
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
        (lambda: SetKernel(linear=0.0, nonlinear=0.0), "must not both be zero"),
        (lambda: SetKernel(length=0.0), "length must be positive"),
        (lambda: Overlap(bias=-1.0), "bias"),
        (lambda: Overlap(private=float("nan")), "private"),
        (lambda: -1.0 * SetKernel(), "factor of a covariance must be positive"),
        (lambda: SetKernel()([frozenset()]), "not bound to a problem"),
        (lambda: SetKernel().bind(ds.problems.TicTacToe()), "needs a problem whose leaves are sets"),
        (lambda: SetKernel(np.eye(3)).bind(subsets()), "has 3 rows, but Subsets has 16 items"),
        (lambda: Overlap() * SetKernel(), "factor of a covariance must be positive"),
        (lambda: correlation([1.0, 2.0]), "table of finite numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(CovarianceError, match=message):
        make()


def test_a_sum_needs_covariances():
    with pytest.raises(TypeError):
        Overlap() + 1.0


def test_rows_of_sums_may_grow():
    covariance = 1.0 * Overlap(private=0.1) + Pairwise(lambda x, y: float(len(x & y)))
    scores = FunctionScores(covariance, 0.1)
    scores.track([frozenset({1}), frozenset({2})])
    scores.condition(0, 1.0)
    scores.track([frozenset({1, 9}), frozenset({7})])
    scores.condition(2, -1.0)
    states = [frozenset({1}), frozenset({2}), frozenset({1, 9}), frozenset({7})]
    prior = covariance(states)
    gram = prior[np.ix_([0, 2], [0, 2])] + 0.1 * np.eye(2)
    expected = prior[:, [0, 2]] @ np.linalg.solve(gram, [1.0, -1.0])
    assert scores.mean == pytest.approx(expected)
