"""The defaults of ``ds.search``: roll-outs, refinements, stop rules, and noise."""

from itertools import combinations

import numpy as np
import pytest
from dagsearch.engine.foresight import Foresight
from dagsearch.engine.schedule import Schedule
from dagsearch.proposers.neighbourhoods import best_swap, parents
from dagsearch.proposers.optimum import sample_optimum

import dagsearch as ds
from dagsearch.execution.stopping import Stop
from dagsearch.posterior import KernelScores
from dagsearch.proposers import Nearby, Outcomes, Regrow, Swaps
from dagsearch.proposers.rollouts import Greedy, Thompson
from dagsearch.values.gaussians import Gaussian


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


def test_greedy_rollouts_follow_the_upper_confidence_of_g():
    problem = counting()
    followed = 0
    for seed in range(6):
        search = known(problem, 8, seed)
        leaf, actions = Greedy(1.0).finish(search.explored, problem.root(), search.rng)
        assert not search.explored.is_closed(leaf)
        assert frozenset(actions) == leaf
        state, gaps = problem.root(), []
        for action in actions:
            upper = upper_confidences(search, problem, state)
            gaps.append(upper.max() - upper[problem.actions(state).index(action)])
            state = problem.step(state, action)
        followed += max(gaps) < 1e-9  # else the favourite was known, and this is a swap away from it
    assert followed >= 3


def upper(mean, variance):
    return mean + 2.0 * np.sqrt(variance)


def upper_confidences(search, problem, state):
    mean, variance = search.explored.scores.predict(
        [problem.step(state, action) for action in problem.actions(state)]
    )
    private = search.explored.scores.covariance.private
    return mean + np.sqrt(np.maximum(variance - private, 0.0))


@pytest.mark.parametrize("rollout", [Greedy(0.0), Greedy(2.0), Thompson()])
def test_rollouts_never_give_a_closed_leaf(rollout):
    problem = ds.problems.Subsets(5, 2, reward=lambda chosen: float(sum(chosen)))
    search = known(problem, 9)
    for _ in range(20):
        finished = rollout.finish(search.explored, problem.root(), search.rng)
        assert finished is None or not search.explored.is_closed(finished[0])


def test_the_best_swap_is_the_best_of_those_with_the_best_means():
    problem = ds.problems.DigitsPixels()
    search = known(problem, 30)
    best = search.incumbent()
    found = best_swap(
        search.explored,
        problem.root(),
        best.leaf,
        best.actions,
        lambda mean, variance: mean + 2.0 * np.sqrt(variance),
    )
    swaps = [(best.leaf - {out}) | {into} for out in best.leaf for into in range(64) if into not in best.leaf]
    open_ones = [swap for swap in swaps if not search.explored.is_closed(swap)]
    mean, variance = search.explored.scores.predict(open_ones)
    upper = mean + 2.0 * np.sqrt(variance - search.explored.scores.covariance.private)
    assert found.rating == pytest.approx(upper[open_ones.index(found.leaf)])
    assert found.rating >= upper[np.argsort(-mean)[:24]].max() - 1e-9
    assert frozenset(found.actions) == found.leaf


def test_parents_are_told_by_replaying_the_actions():
    bag, word = known(Bag()), known(Word())
    assert sorted(parent for parent, _ in parents(bag.explored, "", "abc", ["b", "a", "c"])) == [
        "ab",
        "ac",
        "bc",
    ]
    assert [parent for parent, _ in parents(word.explored, "", "cab", ["c", "a", "b"])] == ["ca"]
    pixels = ds.problems.Subsets(6, 3, reward=sum)
    assert len(parents(known(pixels).explored, frozenset(), frozenset({1, 2, 3}), [3, 1, 2])) == 3


@pytest.mark.parametrize("refinement", [Swaps(), Swaps(2, 2, 1), Regrow(), Regrow(0.0), Nearby()])
@pytest.mark.parametrize("problem", [Word(), Bag(), ds.problems.Subsets(7, 3, reward=sum)])
def test_refinements_give_an_open_leaf_and_its_path(refinement, problem):
    search = known(problem)
    best = search.incumbent()
    for _ in range(5):
        found = refinement.refine(search.explored, Outcomes([best], [best], 0.1), search.rng)
        if found is None:
            continue
        state = problem.root()
        for action in found[1]:
            assert action in problem.actions(state)
            state = problem.step(state, action)
        assert state == found[0]
        assert len(problem.actions(state)) == 0
        assert not search.explored.is_closed(state)


@pytest.mark.parametrize("problem", [Word("bcb"), Bag(), ds.problems.Subsets(8, 1, reward=sum)])
def test_the_default_search_finds_the_best_of_small_problems(problem):
    result = ds.search(problem, 27, seed=0)
    leaves = [evaluation.leaf for evaluation in result.history]
    assert len(set(leaves)) == len(leaves)
    assert result.best_reward == max(map(problem.reward, leaves_of(problem)))


def leaves_of(problem):
    found, pending = set(), [problem.root()]
    while pending:
        state = pending.pop()
        actions = problem.actions(state)
        pending += [problem.step(state, action) for action in actions]
        if not actions:
            found.add(state)
    return found


def test_good_leaves_and_their_ancestors_belong_to_the_dag():
    problem = ds.problems.DigitsPixels()
    search = known(problem, 40)
    best = search.incumbent()
    node = search.explored.find(best.leaf)
    assert search.explored.graph.level[node] == 10
    state = problem.root()
    for action in best.actions:
        assert search.explored.graph.level[search.explored.find(state)] >= 0
        state = problem.step(state, action)


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


def test_seconds_stop():
    result = ds.search(counting(), 100_000, seconds=0.3, seed=0)
    assert result.stopped == "seconds"
    assert 0 < len(result.history) < 100_000


def test_budget_and_exhaustion_are_reasons_too():
    assert ds.search(counting(), 12, seed=0).stopped == "budget"
    result = ds.search(ds.problems.Subsets(4, 2, reward=sum), 50, seed=0)
    assert (result.stopped, len(result.history)) == ("exhausted", 6)
    assert result.probability_best == 1.0


def test_confidence_stops_once_the_optimum_is_known():
    problem = ds.problems.Synthetic(seed=4)
    result = ds.search(problem, 200, confidence=0.95, seed=0)
    assert result.stopped == "confidence"
    assert result.probability_best >= 0.95
    assert result.best_reward == pytest.approx(problem.best_reward)
    assert len(result.history) < 60


def test_a_stop_without_reasons_never_stops():
    assert Stop().reason(1.0, 1_000, 1e9, lambda: 1.0) is None


# What is known in the end ---------------------------------------------------------------------------


def test_few_leaves_are_all_looked_at():
    problem = ds.problems.Subsets(7, 3, reward=lambda chosen: float(sum(chosen)))
    search = known(problem, 10)
    leaves = search.explored.few_leaves
    assert set(leaves) == {frozenset(chosen) for chosen in combinations(range(7), 3)}
    assert known(ds.problems.DigitsPixels(), 6).explored.few_leaves == []
    told = np.unique([episode.leaf for episode in search.engine.learner.told]).tolist()
    optimum = sample_optimum(search.explored, told, [], 200, np.random.default_rng(0))
    assert optimum.samples.shape == (35, 200)
    assert set(optimum.leaves) == set(leaves)
    assert set(optimum.leaves[:10]) == {evaluation.leaf for evaluation in search.history}
    assert optimum.best == pytest.approx(optimum.samples[optimum.winners, np.arange(200)])


def test_probability_is_unknown_where_there_are_no_samples():
    assert ds.baselines.random_search(counting(), seed=0).run(5).probability_best is None
    assert ds.search(ds.problems.TicTacToe(), 30, seed=0).probability_best is None
    assert ds.Search.default(counting()).result().probability_best is None


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
    assert search.explored.scores.noise > 1e-3


def test_no_leaf_twice_without_noise():
    result = ds.search(ds.problems.DigitsPixels(), 60, seed=0)
    assert len({evaluation.leaf for evaluation in result.history}) == 60


def test_a_failed_evaluation_does_not_stop_refinements():
    problem = counting()
    search = ds.Search.default(problem, initial=5, seed=0)
    search.run(15)
    proposal = search.ask()
    with pytest.raises(ds.RewardError):
        search.tell(proposal, float("nan"))
    search.run(15)
    assert len(search.history) == 30


def test_leaves_told_by_hand_are_learnt_from():
    problem = counting()
    search = ds.Search.default(problem, initial=4, seed=0)
    search.tell(frozenset({26, 27, 28, 29}), 110.0)
    search.run(10)
    assert search.result().best_reward == 110.0


def test_search_takes_kernel_scores_for_subsets():
    assert isinstance(ds.Search.default(counting()).explored.scores, KernelScores)


class HalfInner:
    """Of 200 first decisions the better half leads on."""

    def root(self):
        return ()

    def actions(self, state):
        if state == ():
            return list(range(200))
        return [0, 1] if len(state) == 1 and state[0] >= 100 else []

    def step(self, state, action):
        return (*state, action)

    def reward(self, leaf):
        return float(leaf[0])


class Rising(ds.covariances.Covariance):
    def represent(self, states):
        return np.array([[state[0] / 50.0 if state else 0.0] for state in states])

    def cross(self, a, b):
        return a @ b.T + np.exp(-0.5 * (a - b.T) ** 2)


def test_swaps_look_at_leaves_only():
    problem = HalfInner()
    search = ds.Search.default(problem, covariance=Rising(), initial=3, seed=0)
    for first in (10, 50, 90):
        search.tell((first,), float(first))
    found = best_swap(search.explored, (), (90,), [90], upper)
    assert found.leaf == (99,)


def test_the_aim_rises_and_local_search_takes_turns_where_predicted_improvements_do_not_come():
    foresight = Foresight()
    foresight.record(None, 1.0)
    assert (foresight.kept, foresight.margin) == (1.0, 0.0)
    for _ in range(40):
        foresight.record(Gaussian(2.0, 1.0), 0.5)
    assert foresight.kept < 0.06
    assert foresight.margin > 0.4
    rng, local, climb = np.random.default_rng(0), Nearby(), Swaps()
    schedule = Schedule([climb], local, 0)
    turns = [schedule.next(foresight.kept, rng) for _ in range(400)]
    assert 150 < turns.count(local) < 210
    assert abs(turns.count(climb) - turns.count(None)) <= 1
    assert local not in [schedule.next(0.6, rng) for _ in range(100)]


def test_improvements_that_come_keep_the_aim_low():
    foresight, reward = Foresight(), 0.0
    for _ in range(40):
        foresight.record(Gaussian(reward + 1.0, 1.0), reward + 1.0)
        reward += 1.0
    assert foresight.kept == 1.0


def test_where_a_model_is_useless_the_search_still_climbs():
    """Rewards that differ on a plateau only by chance: neighbours of the best leaf are tried."""
    lottery = np.random.default_rng(3).random(2**14)
    problem = ds.problems.Choices(
        {f"place {i}": (0, 1) for i in range(14)},
        lambda chosen: lottery[sum(bit << i for i, bit in enumerate(chosen.values()))],
    )
    search = ds.Search.default(problem, seed=0)
    search.run(120)
    assert search.engine.foresight.kept < 0.5
    assert len({tuple(evaluation.leaf.values()) for evaluation in search.history}) == 120
