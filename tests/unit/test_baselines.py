"""Baselines: their rules on hand-made cases, and what they refuse."""

import math

import numpy as np
import pytest

import dagsearch as ds
from dagsearch import baselines
from dagsearch.baselines import UCB1, Averages, Rave, RaveAverages, TreeState
from dagsearch.posterior.units import Episode
from experiments.paper.methods import LeafBonus


def explored_diamond():
    """a over b and c over d over e."""
    search = baselines.ucd(ds.problems.Subsets(4, 3, reward=sum), seed=0)
    explored = search.explored
    states = [frozenset(s) for s in ((), (0,), (1,), (0, 1), (0, 1, 2))]
    nodes = explored.nodes(states)
    for parent, child, action in ((0, 1, 0), (0, 2, 1), (1, 3, 0), (2, 3, 0), (3, 4, 0)):
        explored.link(nodes[parent], [nodes[child]], [action])
    return explored, nodes


def test_averages_are_means_and_variances():
    explored, nodes = explored_diamond()
    averages = Averages()
    rewards = [1.0, 4.0, 2.0]
    averages.learn(explored, [Episode((nodes[0], nodes[1]), nodes[4], reward, None) for reward in rewards])
    assert averages.count[nodes[1]] == 3
    assert averages.mean[nodes[1]] == pytest.approx(np.mean(rewards))
    assert averages.variance[nodes[1]] == pytest.approx(np.var(rewards))
    assert explored.graph.v_mean[nodes[0]] == pytest.approx(np.mean(rewards))
    assert averages.count[nodes[2]] == 0


def rated(policy, averages, explored, node):
    averages.learn(explored, [])
    return policy.rate(ds.expansions.OneChild().options(explored, node))


def test_ucb1_rates_unvisited_first_and_leaves_without_bonus():
    explored, nodes = explored_diamond()
    averages = Averages()
    policy = UCB1(averages, c=0.7)
    told = [Episode((nodes[0], nodes[1]), nodes[4], reward, None) for reward in (1.0, 2.0)]
    averages.learn(explored, [*told, Episode((nodes[0], nodes[2]), nodes[4], 5.0, None)])
    first, second, *rest = rated(policy, averages, explored, nodes[0])
    assert first == pytest.approx(1.5 + 0.7 * math.sqrt(math.log(3) / 2))
    assert second == pytest.approx(5.0 + 0.7 * math.sqrt(math.log(3) / 1))
    assert rest == [math.inf, math.inf]
    averages.learn(explored, [Episode((nodes[3], nodes[4]), nodes[4], 3.0, None)] * 5)
    assert rated(policy, averages, explored, nodes[3])[0] == pytest.approx(3.0)
    with_bonus = rated(LeafBonus(averages, c=0.7), averages, explored, nodes[3])[0]
    assert with_bonus == pytest.approx(3.0 + 0.7 * math.sqrt(math.log(5) / 5))


def test_rave_is_the_rule_of_the_appendix():
    explored, nodes = explored_diamond()
    problem = explored.problem
    averages = RaveAverages(problem.items)
    c1, c2, c3 = 1e-2, 3.0, 2.0
    policy = Rave(averages, problem.added_items, c1, c2, c3)
    leaves = explored.nodes([frozenset(s) for s in ((0, 1, 2), (0, 1, 3), (1, 2, 3))])
    episodes = [
        Episode((nodes[0], nodes[1]), leaves[0], 0.5, None),
        Episode((nodes[0], nodes[1]), leaves[1], 0.7, None),
        Episode((nodes[0], nodes[2]), leaves[2], 0.2, None),
    ]
    averages.learn(explored, episodes)

    def expected(mean, var, count, local, seen, overall):
        alpha, beta = c2 / (c2 + count), c3 / (c3 + seen)
        spent = math.log(3) / max(count, 1)
        bonus = math.sqrt(c1 * spent * min(0.25, var + math.sqrt(2 * spent)))
        return (1 - alpha) * mean + alpha * ((1 - beta) * local + beta * overall) + bonus

    # At the root every descent counts, so that local and overall scores coincide.
    in_leaves = {0: [0.5, 0.7], 1: [0.5, 0.7, 0.2], 2: [0.5, 0.2], 3: [0.7, 0.2]}
    own = {0: [0.5, 0.7], 1: [0.2], 2: [], 3: []}
    true = [
        expected(
            np.mean(own[p]) if own[p] else 0.0,
            np.var(own[p]) if own[p] else 0.0,
            len(own[p]),
            np.mean(in_leaves[p]),
            len(in_leaves[p]),
            np.mean(in_leaves[p]),
        )
        for p in range(4)
    ]
    assert rated(policy, averages, explored, nodes[0]) == pytest.approx(true)
    # Below {0} only the first two descents are local.
    alpha_free = rated(policy, averages, explored, nodes[1])
    spent = math.log(2)
    for option, item in enumerate((1, 2, 3)):
        local = {1: [0.5, 0.7], 2: [0.5], 3: [0.7]}[item]
        beta = c3 / (c3 + len(local))
        value = (1 - beta) * np.mean(local) + beta * np.mean(in_leaves[item])
        bonus = math.sqrt(c1 * spent * min(0.25, math.sqrt(2 * spent)))
        assert alpha_free[option] == pytest.approx(value + bonus)


def test_rave_knows_what_a_child_earned_by_way_of_other_parents():
    search = baselines.uct_rave(ds.problems.Subsets(4, 3, reward=sum), c1=1e-2, c2=3.0, seed=0)
    explored, policy = search.explored, search.portfolio.descent.policy
    averages = search.explored.backup
    nodes = explored.nodes([frozenset(s) for s in ((), (0,), (1,), (0, 1), (0, 1, 2))])
    for parent, child, action in ((0, 1, 0), (0, 2, 1), (1, 3, 0)):  # and not from {1} to {0, 1}
        explored.link(nodes[parent], [nodes[child]], [action])
    path = (nodes[0], nodes[1], nodes[3])
    averages.learn(explored, [Episode(path, nodes[4], 0.6, None), Episode(path, nodes[4], 0.8, None)])
    averages.learn(explored, [Episode((nodes[0], nodes[2]), nodes[4], 0.6, None)])
    options = ds.expansions.OneChild().options(explored, nodes[2])
    assert options.children.tolist() == [-1, -1, -1]
    rated = policy.rate(options)
    # Two rewards of mean 0.7 count for {0, 1}; what contains item 0 earned 0.6 when it was first seen.
    alpha = 3.0 / 5.0
    assert rated[0] == pytest.approx((1.0 - alpha) * 0.7 + alpha * 0.6)
    assert rated[1] == pytest.approx(0.6)  # item 2: never tried anywhere
    assert policy.value(options).tolist() == pytest.approx([0.7, -math.inf, -math.inf])


def test_uct_rave_needs_items():
    with pytest.raises(ds.ProblemError, match="UCT-RAVE needs a problem"):
        baselines.uct_rave(ds.problems.TicTacToe())


@pytest.mark.parametrize("make", [baselines.ucd, baselines.uct, baselines.uct_rave])
def test_many_leaves_can_be_asked_for_before_any_is_told(make):
    search = make(ds.problems.Subsets(200, 5, reward=len), seed=0)
    proposals = [search.ask() for _ in range(150)]
    for proposal in reversed(proposals):
        search.tell(proposal, 1.0)
    assert len(search.history) == 150


def test_rave_counts_a_leaf_once():
    explored, nodes = explored_diamond()
    averages = RaveAverages(explored.problem.items)
    path = (nodes[0],)
    averages.learn(explored, [Episode(path, nodes[4], reward, None) for reward in (1.0, 1.0, 1.0)])
    assert averages.overall.counts_and_sums([0, 3])[0].tolist() == [1.0, 0.0]
    assert averages.count[nodes[0]] == 3.0


def test_a_tree_is_told_tree_states():
    search = baselines.uct(ds.problems.Subsets(6, 2, reward=len), seed=0)
    with pytest.raises(ds.ProblemError, match="carry their path"):
        search.tell(frozenset({0, 1}), 1.0)
    search.tell(TreeState((0, 1), frozenset({0, 1})), 1.0)


def test_ratings_that_are_no_numbers_are_told_plainly():
    class Broken(UCB1):
        def rate(self, options):
            return np.full(options.children.size, math.nan)

    search = baselines.ucd(ds.problems.Subsets(6, 2, reward=len), seed=0)
    search.portfolio.descent.policy = Broken(search.values.backup, 1.0)
    with pytest.raises(ds.DagSearchError, match="as not a number"):
        search.ask()


@pytest.mark.parametrize("c", [-1.0, math.nan, "x", None])
def test_bad_constants_are_named(c):
    with pytest.raises(ValueError, match="c must be finite"):
        baselines.uct(ds.problems.TicTacToe(), c=c)
    with pytest.raises(ValueError, match="c2 must be finite"):
        baselines.uct_rave(ds.problems.Synthetic(seed=0), c2=c)


def test_rewards_are_averaged_when_they_are_told_and_not_kept_until_values_are_read():
    search = baselines.uct(ds.problems.TicTacToe(), seed=0)
    for count, proposal in enumerate(search.ask(5), 1):
        search.tell(proposal, 1.0)
        assert search.explored.backup.count[search.explored.root] == count
