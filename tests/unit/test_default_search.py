"""The defaults of ``ds.search``: roll-outs, proposers, stop rules, and noise."""

import tracemalloc
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.covariances import SetKernel
from dagsearch.data import Part
from dagsearch.methods import default_parts
from dagsearch.posterior import FunctionScores
from dagsearch.proposers import Climb, Descent, Nearby, Portfolio, Random
from dagsearch.proposers.expansions import OneChild, default_expansion
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Greedy
from dagsearch.results import Gaussian
from dagsearch.run.runner import Stop
from dagsearch.space import Space
from dagsearch.space.moves import PathMoves
from support.small import leaves_of


class Word:
    """Three letters, one after the other; the order matters, so a leaf has one parent."""

    def __init__(self, target="cab"):
        self.target = target

    def root(self):
        return ""

    def actions(self, state):
        return list("abc") if len(state) < 3 else []

    def step(self, state, action):
        return state + action

    def reward(self, leaf):
        return float(sum(x == y for x, y in zip(leaf, self.target, strict=True)))


class Bag(Word):
    """Three letters in any order, without repeats; the problem does not say which are the parents."""

    def actions(self, state):
        return [letter for letter in "abcdef" if letter not in state] if len(state) < 3 else []

    def step(self, state, action):
        return "".join(sorted(state + action))

    def items(self, state):
        return state

    def reward(self, leaf):
        return float(sum(ord(letter) for letter in leaf))


def known(problem, evaluations=12, seed=0):
    search = ds.Search.default(problem, initial=6, seed=seed)
    search.run(evaluations)
    return search


def descending(problem, evaluations, seed=0):
    """A search by descents only."""
    search = ds.Search(
        problem,
        scores=FunctionScores(SetKernel().bind(problem), 0.01),
        proposers=Descent(UpperConfidence(0.5), Greedy(1.0), default_expansion(Space(problem))),
        standardize=5,
        repeats=False,
        seed=seed,
    )
    search.run(evaluations)
    return search


def test_greedy_rollouts_take_the_open_child_with_the_best_upper_confidence_of_g():
    problem, others = counting(), 0
    for seed in range(12):
        search = descending(problem, 8, seed)
        leaf, actions = Greedy(1.0).finish(search.explored, problem.root(), np.random.default_rng(0))
        assert not search.index.is_closed(leaf)
        assert frozenset(actions) == leaf
        state = problem.root()
        for action in actions:
            upper = upper_confidences(search, problem, state)
            place = problem.actions(state).index(action)
            children = [problem.step(state, one) for one in problem.actions(state)]
            is_open = np.array([not search.index.is_closed(child) for child in children])
            assert upper[place] == pytest.approx(upper[is_open].max())
            others += upper[place] < upper.max() - 1e-9
            state = problem.step(state, action)
    assert others > 0  # the best one was closed


def upper_confidences(search, problem, state):
    mean, variance = search.posterior.predict(
        [problem.step(state, action) for action in problem.actions(state)]
    )
    return mean + np.sqrt(variance)


def test_the_best_swaps_are_those_with_the_best_means():
    problem = ds.problems.DigitsPixels()
    search = known(problem, 30)
    best, scores, coding = search.incumbent().leaf, search.posterior.scores, search.space.coding
    assert search.space.is_of_one_size
    codes = coding.codes([best])[0]
    swaps = [(best - {out}) | {into} for out in best for into in range(64) if into not in best]
    mean, _ = scores.predict(swaps)
    ranked = [swaps[place] for place in np.argsort(-mean)]
    for known_leaves in ([], ranked[:10], [*ranked[:30], frozenset(range(10))]):
        closed = coding.codes(known_leaves).reshape(-1, codes.size) == 1
        found = {coding.leaf_of(row) for row in scores.best_swaps(codes[None], 24, [closed])[0]}
        assert found == set([leaf for leaf in ranked if leaf not in known_leaves][:24])


def test_climbs_leave_out_the_swaps_that_are_known(monkeypatch):
    """All swaps are closed one by one, more than a step rates: those that are closed must take no place."""
    problem = ds.problems.Subsets(40, 3, reward=lambda chosen: float(sum(chosen)))
    search = known(problem, 8)
    best = search.incumbent().leaf
    swaps = [(best - {out}) | {into} for out in best for into in range(40) if into not in best]
    monkeypatch.setattr("dagsearch.proposers.climb._STARTS", 1)
    monkeypatch.setattr("dagsearch.proposers.climb._DEPTH", 1)
    climb = Climb(explorers=0)
    closed = {leaf for leaf in swaps if search.index.is_closed(leaf)}
    while len(closed) < len(swaps):
        found = climb.propose(search._view, np.random.default_rng(0))
        assert found.leaf in swaps
        assert found.leaf not in closed
        row = search.index.node(found.leaf)
        search.index.table.closed[row] = True
        closed.add(found.leaf)
    assert climb.propose(search._view, np.random.default_rng(0)) is None


@pytest.mark.parametrize("proposer", [Climb(), Climb(2), Nearby(), Random()])
@pytest.mark.parametrize("problem", [Word(), Bag(), ds.problems.Subsets(7, 3, reward=sum)])
def test_proposers_give_an_open_leaf_and_its_path(proposer, problem):
    search, proposed = known(problem), 0
    for number in range(5):
        found = proposer.propose(search._view, np.random.default_rng(number))
        if found is None:
            continue
        proposed += 1
        state = problem.root()
        for action in found.actions:
            assert action in problem.actions(state)
            state = problem.step(state, action)
        assert state == found.leaf
        assert len(problem.actions(state)) == 0
        assert not search.index.is_closed(state)
    assert proposed > 0


def test_without_codes_one_decision_is_another_one_and_later_ones_stay():
    search = known(Bag())
    moves = search.space.moves
    assert isinstance(moves, PathMoves)
    point = moves.points([("abc", ("c", "a", "b"))])[0]
    around = moves.around(point, 200, np.random.default_rng(0))
    leaves = [moves.leaf(other) for other in around]
    assert moves.leaf(point) not in leaves
    assert len(set(leaves)) == len(leaves)
    # Another first letter, and the same letters after it.
    assert {"abd", "abe", "abf", "bcd", "acd"} <= set(leaves)


@pytest.mark.parametrize("problem", [Word("bcb"), Bag(), ds.problems.Subsets(8, 1, reward=sum)])
def test_the_default_search_finds_the_best_of_small_problems(problem):
    result = ds.search(problem, 27, seed=0)
    leaves = [evaluation.leaf for evaluation in result.history]
    assert len(set(leaves)) == len(leaves)
    assert result.best_reward == max(map(problem.reward, leaves_of(problem)))


# Stop rules -----------------------------------------------------------------------------------------


def counting():
    return ds.problems.Subsets(30, 4, reward=lambda chosen: float(sum(chosen)))


def test_target_stops_at_once():
    result = ds.search(counting(), 200, target=90.0, seed=0)
    assert result.stopped == "target"
    assert result.history[-1].reward >= 90.0
    assert all(evaluation.reward < 90.0 for evaluation in result.history[:-1])


def test_patience_stops_after_so_many_without_a_better_one():
    result = ds.search(counting(), 200, patience=7, seed=0)
    assert result.stopped == "patience"
    rewards = [evaluation.reward for evaluation in result.history]
    assert len(rewards) - 1 - int(np.argmax(rewards)) == 7


def test_tolerance_stops_once_the_forecast_promises_less(monkeypatch):
    search = ds.Search.default(counting(), initial=5, seed=0)
    highs = iter([9.0, 5.1, 4.9])

    def forecast(n):
        best = search.history[-1].best_reward
        return SimpleNamespace(high=best + next(highs), left=asked.append(n))

    asked = []
    monkeypatch.setattr(search, "forecast", forecast)
    result = search.run(100, Stop(tolerance=5.0))
    assert (result.stopped, len(result.history)) == ("tolerance", 3)
    assert asked == [99, 98, 97]  # evaluations that are left


def test_without_a_forecast_tolerance_does_not_stop():
    assert ds.search(counting(), 4, tolerance=1e9, seed=0).stopped == "budget"


def test_it_is_certain_only_where_every_leaf_was_evaluated_without_noise():
    problem = ds.problems.Subsets(8, 3, reward=sum)  # 56 leaves
    search = ds.Search.default(problem, seed=0)
    assert search.run(45).probability_best is None
    assert (search.run(100).stopped, search.result().probability_best) == ("exhausted", 1.0)
    noisy = ds.search(ds.problems.Subsets(4, 2, reward=sum), 60, noisy=True, seed=0)
    assert {one.leaf for one in noisy.history} == {*map(frozenset, combinations(range(4), 2))}
    assert noisy.probability_best is None


def test_a_leaf_that_failed_is_not_certain_to_be_worse():
    problem = ds.problems.Subsets(4, 2, reward=lambda chosen: sum(chosen) if chosen != {0, 1} else 1 / 0)
    result = ds.search(problem, 50, on_error="skip", seed=0)
    assert (result.stopped, len(result.history), result.probability_best) == ("exhausted", 5, None)


def test_no_value_is_stated_where_none_is_known():
    """A constant reward once had a best possible reward of 5.0 ± 0.24."""
    result = ds.search(ds.problems.Subsets(20, 4, reward=lambda chosen: 1.0), 100, patience=5, seed=0)
    assert result.value is None
    assert ds.Search.paper(counting(), seed=0).run(5).value is not None


def test_a_search_that_does_not_descend_has_no_dag():
    search = known(counting(), 12)
    assert search.explored is None
    assert [*search.index.states] == [one.leaf for one in search.history]  # leaves, and nothing else
    partial, leaf = search.belief(frozenset({3})), search.belief(search.history[0].leaf)
    assert partial.v is None
    assert leaf.g == leaf.v
    assert leaf.g.mean == pytest.approx(search.history[0].reward, abs=1e-2)
    with pytest.raises(ValueError, match="does not descend"):
        search.values  # noqa: B018
    line = search.recommend()
    assert (line.states[-1], line.explored) == (search.incumbent().leaf, 0)
    with pytest.raises(ValueError, match="none of the proposers descends"):
        ds.Search(counting(), **default_parts(counting()), backup=ds.backups.MomentMatching())


# Noise ------------------------------------------------------------------------------------------------


def test_noisy_rewards_are_repeated_where_it_pays():
    rng = np.random.default_rng(0)
    problem = ds.problems.Subsets(10, 3, reward=lambda chosen: sum(chosen) + 3.0 * rng.normal())
    search = ds.Search.default(problem, noisy=True, seed=1)
    result = search.run(120)
    leaves = [evaluation.leaf for evaluation in result.history]
    assert len(set(leaves)) < len(leaves)
    assert sum(result.best_state) >= 22  # of 24
    told = [e.reward for e in result.history if e.leaf == result.best_state]
    assert result.best_reward == pytest.approx(np.mean(told))
    assert search.posterior.scores.noise > 1e-3


def test_a_leaf_that_fails_is_not_asked_for_again_though_rewards_are_noisy():
    failing = frozenset({27, 28, 29})
    asked = []

    def reward(chosen):
        asked.append(chosen)
        return sum(chosen) if chosen != failing else 1 / 0

    problem = ds.problems.Subsets(30, 3, reward)
    search = ds.Search.default(problem, noisy=True, initial=5, seed=0)
    search.tell(frozenset({26, 28, 29}), 83.0)
    search.run(60, on_error="skip")
    assert asked.count(failing) == 1


def test_a_second_reward_of_a_leaf_is_said_to_need_noise(caplog):
    search, leaf = known(counting(), 6), frozenset({0, 1, 2, 3})
    search.tell(leaf, 6.0)
    search.tell(leaf, 6.0)
    assert "noisy=True" not in caplog.text
    search.tell(leaf, 7.0)
    assert "has the rewards 6 and 7" in caplog.text
    assert "noisy=True" in caplog.text


@pytest.mark.parametrize("evaluations", [4, 25])
def test_a_wrong_reward_can_be_taken_back(evaluations):
    """Whatever was told wrongly: beliefs and proposals are those of a search that was never told it."""
    rng = np.random.default_rng(0)
    leaves = [frozenset(rng.choice(30, 4, replace=False).tolist()) for _ in range(evaluations)]
    wrong = frozenset({26, 27, 28, 29})

    def told(mistaken):
        search = ds.Search.default(counting(), initial=5, seed=0)
        for place, leaf in enumerate(leaves):
            if mistaken and place == evaluations // 2:
                search.tell(wrong, -1e6)
            search.tell(leaf, sum(leaf))
        return search

    mistaken, right = told(True), told(False)
    mistaken.forget([26, 27, 28, 29])
    assert [(one.step, one.leaf, one.best_reward) for one in mistaken.history] == [
        (one.step, one.leaf, one.best_reward) for one in right.history
    ]
    mistaken.tell(wrong, 110.0)
    assert mistaken.result().best_state == wrong
    with pytest.raises(ValueError, match="has no reward to take back"):
        mistaken.forget(frozenset({1, 2, 3, 4}))
    search = ds.Search.paper(counting(), seed=0)
    search.run(3)
    with pytest.raises(ValueError, match="without descents"):
        search.forget(search.history[0].leaf)


def test_the_aim_rises_and_local_search_takes_turns_where_predicted_improvements_do_not_come():
    def told(*rewards):
        part = Part()
        for place, (reward, predicted) in enumerate(rewards, start=1):
            part.add(ds.Evaluation(place, None, None, reward, reward, 0.0, predicted))
        return part

    first = told((1.0, None))
    assert (first.realised_ratio, first.margin) == (1.0, 0.0)
    missed = told((1.0, None), *[(0.5, Gaussian(2.0, 1.0))] * 40)
    assert missed.realised_ratio < 0.06
    assert missed.margin > 0.4
    assert told(*[(reward, Gaussian(reward, 1.0)) for reward in np.arange(40.0)]).realised_ratio == 1.0
    rng, local, climbs = np.random.default_rng(0), Nearby(), [Climb(), Climb()]
    portfolio = Portfolio(climbs, local)

    def turns(count, part):
        view = SimpleNamespace(initial=False, part=part)
        return [next(portfolio.turn(view, rng)) for _ in range(count)]

    first = turns(400, missed)
    assert 70 < first.count(local) < 110
    assert 70 < sum(isinstance(one, Random) for one in first) < 110
    assert abs(first.count(climbs[0]) - first.count(climbs[1])) <= 1
    assert local not in turns(100, SimpleNamespace(realised_ratio=0.6, known=0))


def test_if_one_finds_nothing_the_others_are_asked():
    view = SimpleNamespace(initial=False, part=Part())
    one, other, local, rng = Climb(), Climb(), Nearby(), np.random.default_rng(0)
    portfolio = Portfolio([one, other, one], local, initial=1)
    asked = list(portfolio.turn(view, rng))
    assert isinstance(asked[0], Random)  # the random leaf to begin with
    assert asked[1:4] == [one, other, local]
    assert [type(proposer) for proposer in asked[4:]] == [Random]
    assert list(portfolio.turn(view, rng))[:3] == [other, one, local]
    assert portfolio.state == (2, 0)
    alone = Descent(UpperConfidence(1.0), Greedy(1.0), OneChild())
    assert list(Portfolio([alone]).turn(view, rng)) == [alone]  # it finds every leaf that is left


def test_memory_of_an_evaluation_is_bounded():
    weights = np.random.default_rng(0).normal(size=40)
    search = ds.Search.default(ds.problems.Subsets(40, 6, lambda s: float(weights[sorted(s)].sum())), seed=0)
    search.run(40)
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    search.run(40)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (after - before) / 40 < 60_000


def test_of_very_many_rewards_the_model_keeps_those_of_the_best_leaves_and_of_others():
    rng, weights = np.random.default_rng(0), np.arange(16) / 10.0
    problem = ds.problems.Subsets(16, (0, 16), lambda leaf: float(weights[list(leaf)].sum()))
    search = ds.Search(problem, **{**default_parts(problem), "evidence": None}, seed=0)
    kept = []
    for number in rng.choice(2**16, 1300, replace=False).tolist():
        leaf = frozenset(item for item in range(16) if number >> item & 1)
        search.tell(leaf, problem.reward(leaf), known=True)
        kept.append(search.posterior.scores.size)
    assert max(kept) == 999
    assert [n + 1 for n in range(1, 1300) if kept[n] < kept[n - 1]] == [1000, 1250]
    assert kept[-1] == 800
    known = sorted(search.history, key=lambda one: one.reward, reverse=True)
    for one in known[:300]:  # its own reward is among those of the model
        assert search.belief(one.leaf).g.variance < 1e-3
    assert search.ask().leaf not in {one.leaf for one in known}
    search.forget(known[0].leaf)
    assert search.incumbent() == known[1]
    assert search.posterior.scores.size == 750
