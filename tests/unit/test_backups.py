"""One case per consequence, on hand-made nodes."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from dagsearch import MAX, MIN, Increments
from dagsearch.covariances import Pairwise
from dagsearch.problems import Subsets
from dagsearch.proposers.expansions import AllChildren
from dagsearch.search import Search
from dagsearch.values.backups import MomentMatching, Softmax
from dagsearch.values.gaussians import max_of_many
from dagsearch.values.graph import Graph
from experiments.paper.correlated import Correlated


class FixedScores:
    """Scores that are what the test says."""

    def __init__(self, mean, variance):
        self.mean = np.array(mean, dtype=float)
        self.variance = np.array(variance, dtype=float)

    def moments(self):
        return self.mean, self.variance


def family(children, branching=None, sign=MAX):
    """A root with so many boundary children."""
    graph = Graph()
    root = graph.add("root", "root", sign, children if branching is None else branching)
    graph.level[root] = 0
    nodes = [graph.add(i, i, sign, 2) for i in range(children)]
    graph.link(root, nodes, range(children))
    return graph


@pytest.fixture
def increments():
    return Increments([4, 2], 0.5)


def explored(graph, scores, increments):
    return SimpleNamespace(graph=graph, scores=scores, increments=increments)


def value(graph, node):
    return graph.v_mean[node], graph.v_var[node]


def test_a_leaf_is_worth_its_score(increments):
    graph = Graph()
    graph.level[graph.add("leaf", "leaf", MAX, 0)] = 0
    MomentMatching().back_up(explored(graph, FixedScores([1.5], [0.2]), increments))
    assert value(graph, 0) == (1.5, 0.2)


def test_the_boundary_is_worth_score_plus_increment(increments):
    graph = family(1, branching=4)
    MomentMatching().back_up(explored(graph, FixedScores([1.0, 2.0], [0.1, 0.2]), increments))
    delta = increments.at(1)
    assert value(graph, 1) == pytest.approx((2.0 + delta.mean, 0.2 + delta.variance))


def test_a_boundary_node_without_children_uses_its_own_level(increments):
    graph = Graph()
    graph.level[graph.add("root", "root", MAX, 4)] = 0
    MomentMatching().back_up(explored(graph, FixedScores([1.0], [0.1]), increments))
    delta = increments.at(0)
    assert value(graph, 0) == pytest.approx((1.0 + delta.mean, 0.1 + delta.variance))


def test_an_inner_node_is_the_maximum_of_its_children(increments):
    graph = family(3)
    scores = FixedScores([9.0, 0.0, 1.0, 0.5], [9.0, 1.0, 0.3, 0.1])
    MomentMatching().back_up(explored(graph, scores, increments))
    children = graph.v_mean[1:4], graph.v_var[1:4]
    assert value(graph, 0) == pytest.approx(max_of_many(*children))


def test_an_inner_min_node_is_the_minimum(increments):
    scores = FixedScores([9.0, 0.0, 1.0, 0.5], [9.0, 1.0, 0.3, 0.1])
    down = family(3, sign=MIN)
    MomentMatching(prior=(0.4, 1.0)).back_up(explored(down, scores, increments))
    mean, var = max_of_many(-down.v_mean[1:4], down.v_var[1:4], prior=(-0.4, 1.0))
    assert value(down, 0) == pytest.approx((-mean, var))


def test_missing_children_are_one_summary_variable(increments):
    graph = family(2, branching=5)
    scores = FixedScores([0.3, 0.0, 1.0], [0.7, 1.0, 0.3])
    MomentMatching().back_up(explored(graph, scores, increments))
    rest_mean, rest_var = increments.mean_table[0, 3], increments.var_table[0, 3]
    means = [*graph.v_mean[1:3], 0.3 + rest_mean]
    assert value(graph, 0) == pytest.approx(max_of_many(means, [*graph.v_var[1:3], 0.7 + rest_var]))


def test_two_actions_to_one_child_count_once(increments):
    once, twice = family(2), family(2, branching=3)
    twice.link(0, [1], [2])
    scores = FixedScores([0.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    for graph in (once, twice):
        MomentMatching().back_up(explored(graph, scores, increments))
    assert value(twice, 0) == value(once, 0)


def test_the_prior_enters_once_at_the_last_merge(increments):
    """Against integrals on a grid: two children without the prior, their Gaussian and the third with it."""
    graph = family(3)
    scores = FixedScores([9.0, 0.0, 1.0, 0.5], [9.0, 1.0, 0.3, 0.1])
    MomentMatching(prior=(0.2, 0.7)).back_up(explored(graph, scores, increments))
    first, second, third = zip(graph.v_mean[1:4], graph.v_var[1:4], strict=True)
    once = maximum_on_a_grid(maximum_on_a_grid(first, second), third, prior=(0.2, 0.7))
    assert value(graph, 0) == pytest.approx(once, rel=1e-6)
    twice = maximum_on_a_grid(maximum_on_a_grid(first, second, (0.2, 0.7)), third, prior=(0.2, 0.7))
    assert value(graph, 0) != pytest.approx(twice, rel=1e-2)


def maximum_on_a_grid(one, other, prior=None):
    """Mean and variance of the maximum of two independent Gaussians, times a prior, from its definition."""
    m = np.linspace(-15.0, 15.0, 30_001)
    (first, second) = (norm(mean, math.sqrt(variance)) for mean, variance in (one, other))
    density = first.pdf(m) * second.cdf(m) + second.pdf(m) * first.cdf(m)
    if prior is not None:
        density *= norm(prior[0], math.sqrt(prior[1])).pdf(m)
    density /= density.sum()
    mean = density @ m
    return mean, density @ (m - mean) ** 2


def test_a_single_child_passes_its_value_on(increments):
    graph = family(1)
    MomentMatching().back_up(explored(graph, FixedScores([0.0, 2.0], [1.0, 0.4]), increments))
    assert value(graph, 0) == value(graph, 1)


@pytest.mark.parametrize("sign", [MAX, MIN])
def test_softmax_weights(increments, sign):
    graph = family(3, sign=sign)
    scores = FixedScores([0.0, 0.0, 1.0, 0.5], [1.0, 1.0, 0.3, 0.1])
    Softmax().back_up(explored(graph, scores, increments))
    mean, var = sign * graph.v_mean[1:4], graph.v_var[1:4]
    weights = np.exp(-(mean.max() - mean) / np.sqrt(var))
    weights /= weights.sum()
    assert value(graph, 0) == pytest.approx((sign * (weights @ mean), weights**2 @ var))


def test_softmax_of_certain_children_is_the_maximum(increments):
    graph = Graph()
    graph.level[graph.add("root", "root", MAX, 2)] = 0
    graph.link(0, [graph.add(i, i, MAX, 0) for i in range(2)], [0, 1])
    Softmax().back_up(explored(graph, FixedScores([0.0, 1.0, 3.0], [1.0, 0.0, 0.0]), increments))
    assert value(graph, 0) == (3.0, 0.0)


def test_values_travel_up_through_transpositions(increments):
    graph = Graph()
    for name in "abcd":
        graph.add(name, name, MAX if name != "c" else MIN, 0 if name == "d" else 1)
    graph.level[0] = 0
    for parent, child in ((0, 1), (0, 2), (1, 3), (2, 3)):
        graph.link(parent, [child], [0])
    MomentMatching().back_up(explored(graph, FixedScores([0.0] * 3 + [5.0], [1.0] * 3 + [0.0]), increments))
    assert [value(graph, node) for node in range(4)] == [(5.0, 0.0)] * 4
    assert math.isfinite(graph.v_mean[0])


# A back-up that is handed in -----------------------------------------------------------------------------


def test_correlated_children_are_as_joint_samples_say():
    """One decision, so that the children are leaves: their maximum has the joint belief's own moments."""

    def alike(x, y):
        one, other = (0.4 * math.cos(sum(state) + 1.0) for state in (x, y))
        return 1.0 + one * other

    problem = Subsets(10, 1, reward=sum)
    found = {}
    for backup in (MomentMatching(), Correlated()):
        search = Search.paper(
            problem,
            covariance=Pairwise(alike, private=0.1),
            noise=0.5,
            seed=0,
            expansion=AllChildren(),
            backup=backup,
        )
        search.tell(frozenset({3}), 0.5)
        explored = search.explored
        search.portfolio.descent.expansion.expand(explored, explored.root)
        search.values.outdated()
        graph = search.values.current().graph
        found[type(backup)] = value(graph, explored.root)
        children = graph.children(explored.root).tolist()
    scores = search.index.scores
    mean, joint = scores.mean[children], scores.joint(children)
    best = np.random.default_rng(0).multivariate_normal(mean, joint, 200_000).max(axis=1)
    assert found[Correlated] == pytest.approx((best.mean(), best.var()), rel=0.1)
    assert abs(found[MomentMatching][0] - best.mean()) > 3 * abs(found[Correlated][0] - best.mean())
