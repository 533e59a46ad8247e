"""The descent's rules, one case per consequence."""

import math
from copy import deepcopy
from types import SimpleNamespace

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.baselines import UCB1, Averages, NoScores
from dagsearch.proposers import Descent
from dagsearch.proposers.descent import descend
from dagsearch.proposers.expansions import AllChildren, OneChild
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Uniform


def options(mean, variance, visits):
    return SimpleNamespace(
        mean=np.array(mean, dtype=float), variance=np.array(variance, dtype=float), visits=visits
    )


def test_the_first_visit_is_greedy():
    assert list(UpperConfidence(9.0).rate(options([1.0, 2.0], [100.0, 0.0], visits=1))) == [1.0, 2.0]


def test_the_bonus_is_beta_root_log_visits_variance():
    rated = UpperConfidence(0.5).rate(options([1.0], [4.0], visits=7))
    assert rated[0] == pytest.approx(1.0 + 0.5 * math.sqrt(math.log(7) * 4.0))


def test_options_are_seen_by_the_player_who_decides():
    search = ds.Search.paper(ds.problems.TicTacToe(), seed=0)
    search.run(40)
    explored, signs = search.explored, set()
    for node in np.flatnonzero(explored.graph.count[: len(explored.graph)] > 0).tolist():
        options = AllChildren().options(explored, node)
        sign = search.problem.player(explored.graph.states[node])
        signs.add(sign)
        assert options.mean == pytest.approx(sign * explored.graph.v_mean[options.children])
        assert options.variance == pytest.approx(explored.graph.v_var[options.children])
    assert signs == {ds.MAX, ds.MIN}


@pytest.mark.parametrize("beta", [-1.0, float("nan"), float("inf")])
def test_beta_is_checked(beta):
    with pytest.raises(ValueError, match="beta"):
        UpperConfidence(beta)


def search_on(problem, expansion, seed=0):
    return ds.Search.paper(problem, expansion=expansion, noise=1e-4, seed=seed)


def test_ties_are_broken_at_random_and_by_the_seed():
    problem = ds.problems.Subsets(6, 1, reward=lambda chosen: 0.0)
    firsts = {search_on(problem, OneChild(), seed).ask().actions for seed in range(30)}
    assert len(firsts) == 6
    assert search_on(problem, OneChild(), 5).ask() == search_on(problem, OneChild(), 5).ask()


def test_all_children_enter_at_once():
    problem = ds.problems.Subsets(6, 2, reward=sum)
    search = search_on(problem, AllChildren())
    search.ask()
    assert search.explored.graph.count[search.explored.root] == 6
    assert len(search.explored.graph) == 8  # with the proposed leaf


def test_one_child_enters_at_a_time_and_the_descent_sees_all():
    problem = ds.problems.Subsets(6, 2, reward=sum)
    search = search_on(problem, OneChild())
    proposal = search.ask()
    graph = search.explored.graph
    assert len(graph) == 3  # with the proposed leaf
    assert graph.states[1] == frozenset(proposal.actions[:1])
    seen = search.portfolio.descent.expansion.options(search.explored, search.explored.root)
    assert sorted(seen.children.tolist()) == [-1] * 5 + [1]


def test_an_unseen_child_is_seen_through_its_own_score_and_increment():
    problem = ds.problems.Subsets(6, 2, reward=sum)
    search = search_on(problem, OneChild())
    for _ in search.steps(5):
        pass
    seen = search.portfolio.descent.expansion.options(search.explored, search.explored.root)
    for option, node in enumerate(seen.children.tolist()):
        child = frozenset({int(seen.actions[option])})
        if node < 0:
            (mean,), (variance,) = search.index.scores.predict([child])
            delta = search.explored.increments.at(1)
            assert seen.mean[option] == pytest.approx(mean + delta.mean)
            assert seen.variance[option] == pytest.approx(variance + delta.variance)
        else:
            assert seen.mean[option] == search.explored.graph.v_mean[node]


def test_uniform_rollouts_are_uniform():
    problem = ds.problems.Subsets(4, 2, reward=sum)
    explored = ds.Search.paper(problem).explored
    rng = np.random.default_rng(0)
    counts: dict[frozenset[int], int] = {}
    for _ in range(6_000):
        leaf, actions = Uniform().finish(explored, problem.root(), rng)
        assert leaf == frozenset(actions)
        counts[leaf] = counts.get(leaf, 0) + 1
    assert len(counts) == 6
    assert all(abs(count - 1_000) < 5 * math.sqrt(1_000) for count in counts.values())


def compositions():
    game = ds.problems.TicTacToe(symmetric=False)
    averages = Averages()

    def by_averages(expansion):
        return ds.Search(
            game,
            scores=NoScores(),
            proposers=Descent(UCB1(averages, 0.5), Uniform(), expansion),
            backup=averages,
            seed=3,
        )

    return {
        "uct": lambda: ds.baselines.uct(game, seed=3),
        "ucd, all children": lambda: by_averages(AllChildren()),
        "values": lambda: ds.Search.paper(game, expansion=AllChildren(), seed=3),
        "values, unmade children": lambda: ds.Search.paper(subsets(), expansion=OneChild(), seed=3),
    }


def subsets():
    return ds.problems.Subsets(7, 3, reward=sum)


@pytest.mark.parametrize("name", compositions())
def test_a_descent_takes_the_best_rated_and_all_of_those_that_are_tied(name):
    search = compositions()[name]()
    search.run(1 if name.startswith("values") else 6)  # beliefs soon differ everywhere
    explored, descent = search.explored, search.portfolio.descent
    options = descent.expansion.options(explored, explored.root)
    ratings = np.where(options.closed, -np.inf, descent.policy.rate(options))
    best = {explored.children(explored.root).actions[i] for i in options.actions[ratings == ratings.max()]}
    assert len(best) > 1
    taken = [
        descend(deepcopy(explored), descent.policy, descent.expansion, np.random.default_rng(seed))[1][0]
        for seed in range(40 * len(best))
    ]
    assert set(taken) == best
    assert min(taken.count(action) for action in best) > 40 / 4


class Given(UpperConfidence):
    """Rates options by given numbers."""

    def __init__(self, ratings):
        super().__init__(1.0)
        self.ratings = np.array(ratings)

    def rate(self, options):
        return self.ratings if options.node == options.explored.root else options.mean


def first_actions(ratings, seeds=60):
    search = search_on(subsets(), AllChildren())
    search.run(3)
    return {
        descend(search.explored, Given(ratings), AllChildren(), np.random.default_rng(seed))[1][0]
        for seed in range(seeds)
    }


def test_rounding_errors_do_not_choose():
    assert first_actions([1.0, 1.0 + 1e-13, 1.0 - 1e-13, 0.9, 0.9, 0.9, 0.9]) == {0, 1, 2}
    assert first_actions([1.0, 1.0 + 1e-6, 0.9, 0.9, 0.9, 0.9, 0.9]) == {1}
    assert first_actions([np.inf, 0.0, np.inf, 0.0, 0.0, 0.0, 0.0]) == {0, 2}
    assert first_actions([-np.inf, -3.0, -3.0, -4.0, -4.0, -4.0, -np.inf]) == {1, 2}
