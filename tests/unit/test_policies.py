"""The descent's rules, one case per consequence."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import dagsearch as ds
from dagsearch._internal.ties import ENOUGH, TieBreaker
from dagsearch.baselines import UCB1, Averages, NoScores, Traversed
from dagsearch.methods import paper_parts
from dagsearch.proposers import Descent
from dagsearch.proposers.descent import UNKNOWN
from dagsearch.proposers.expansions import AllChildren, OneChild
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Uniform


def options(mean, variance, visits, sign=ds.MAX):
    return SimpleNamespace(
        mean=np.array(mean, dtype=float), variance=np.array(variance, dtype=float), visits=visits, sign=sign
    )


def test_the_first_visit_is_greedy():
    assert list(UpperConfidence(9.0).rate(options([1.0, 2.0], [100.0, 0.0], visits=1))) == [1.0, 2.0]


def test_the_bonus_is_beta_root_log_visits_variance():
    rated = UpperConfidence(0.5).rate(options([1.0], [4.0], visits=7))
    assert rated[0] == pytest.approx(1.0 + 0.5 * math.sqrt(math.log(7) * 4.0))


def test_min_is_mirrored():
    up = UpperConfidence(0.5).rate(options([1.0, -2.0], [4.0, 1.0], visits=7))
    down = UpperConfidence(0.5).rate(options([-1.0, 2.0], [4.0, 1.0], visits=7, sign=ds.MIN))
    assert list(up) == list(down)


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
            (mean,), (variance,) = search.explored.scores.predict([child])
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


def test_one_number_breaks_many_ties_evenly():
    draw, counts = TieBreaker(np.random.default_rng(0)), np.zeros((4, 7))
    for _ in range(3_000):
        for tie, options in enumerate((2, 7, 3, 5)):
            picked = draw.pick(options)
            assert 0 <= picked < options
            counts[tie, picked] += 1
    for row, options in zip(counts, (2, 7, 3, 5), strict=True):
        assert np.abs(row[:options] / 3_000 * options - 1.0).max() < 0.15
    assert draw.resolution >= 1.0


def test_no_tie_uses_nothing_up():
    draw = TieBreaker(np.random.default_rng(0))
    before = draw.value, draw.resolution
    assert draw.pick(1) == 0
    assert (draw.value, draw.resolution) == before


def compositions():
    game = ds.problems.TicTacToe(symmetric=False)
    averages = Averages(Traversed())

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
def test_compiled_descents_take_the_best_rated_and_all_of_those_that_are_tied(name):
    search = compositions()[name]()
    search.run(1 if name.startswith("values") else 60)  # beliefs soon differ everywhere
    explored, one_by_one = search.explored, type(search.portfolio.descent.expansion) is OneChild
    tied_somewhere = False
    for node in np.flatnonzero(explored.graph.level[: len(explored.graph)] >= 0).tolist():
        options = search.portfolio.descent.expansion.options(explored, node)
        if options is None or not options.open.any():
            continue
        ratings = np.where(options.open, search.portfolio.descent.policy.rate(options), -np.inf)
        best = set(options.actions[ratings == ratings.max()].tolist())
        taken = set()
        for seed in range(40 * len(best)):
            _, actions, missing = search.portfolio.descent.policy.follow(
                explored, node, TieBreaker(np.random.default_rng(seed)), one_by_one
            )
            taken |= {int(actions[0])} if actions.size else {missing}
        if taken == {UNKNOWN}:  # left to Python
            continue
        assert taken == best
        tied_somewhere |= len(best) > 1
    assert tied_somewhere


def test_compiled_steps_among_unmade_children_are_those_of_python():
    class InPython(UpperConfidence):
        """Inherits ``follow`` and is therefore not followed."""

    def descents(policy):
        parts = paper_parts(subsets(), expansion=OneChild())
        parts |= {"proposers": Descent(policy, Uniform(), OneChild()), "repeats": False}
        search = ds.Search(subsets(), **parts, seed=2)
        search.run(35)  # all leaves
        return [(evaluation.leaf, evaluation.actions) for evaluation in search.history]

    assert descents(UpperConfidence(1.0)) == descents(InPython(1.0))


def test_a_number_that_is_used_up_breaks_no_tie_until_it_is_renewed():
    search = ds.baselines.ucd(ds.problems.Subsets(8, 2, reward=lambda chosen: 0.0), seed=0)
    draw = TieBreaker(np.random.default_rng(0))
    draw.resolution = 4.0 * ENOUGH
    _, actions, missing = search.portfolio.descent.policy.follow(
        search.explored, search.explored.root, draw, True
    )
    assert (actions.size, missing) == (0, UNKNOWN)
    assert 0 <= draw.pick(8) < 8
    assert draw.resolution == 2.0**50
    _, actions, missing = search.portfolio.descent.policy.follow(
        search.explored, search.explored.root, draw, True
    )
    assert actions.size == 0
    assert 0 <= missing < 8
