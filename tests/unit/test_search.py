import functools
import math
import pickle
import signal

import cloudpickle
import numpy as np
import pytest

import dagsearch as ds
from dagsearch.covariances import Overlap, Pairwise
from dagsearch.posterior import FunctionScores
from dagsearch.proposers import Descent
from dagsearch.proposers.expansions import AllChildren, OneChild
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Uniform
from dagsearch.values.backups import MomentMatching, Softmax
from support.searches import exhaustive
from support.small import CoinFlips, Nim

EXPANSIONS = [AllChildren(), OneChild()]


def small(seed=0, n=8, k=3):
    """A subset problem with rewards that no overlap explains."""
    rng = np.random.default_rng(seed)
    rewards: dict[frozenset[int], float] = {}
    return ds.problems.Subsets(n, k, lambda leaf: rewards.setdefault(leaf, float(rng.normal())))


# Brute force ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expansion", "backup"),
    [(AllChildren(), MomentMatching((0.0, 1.0))), (AllChildren(), Softmax()), (OneChild(), MomentMatching())],
)
def test_exhaustion_gives_all_765_values_of_tic_tac_toe(expansion, backup, minimax):
    game = ds.problems.TicTacToe()
    search = exhaustive(game, expansion=expansion, backup=backup)
    result = search.run(10_000)
    graph, value = search.values.graph, minimax(game)
    assert len(result.history) == 138  # every leaf once
    assert len(graph) == 765
    worst = max(abs(graph.v_mean[node] - value(graph.states[node])) for node in range(765))
    assert worst < 1e-4
    assert result.value.mean == pytest.approx(0.0, abs=1e-4)


@pytest.mark.parametrize("expansion", EXPANSIONS)
@pytest.mark.parametrize("problem", [small(), Nim(9), ds.as_tree(Nim(6)), ds.as_tree(small(n=5))])
def test_exhaustion_gives_minimax_values_and_the_optimum(problem, expansion, minimax):
    search = exhaustive(problem, expansion=expansion)
    result = search.run(10_000)
    graph, value = search.values.graph, minimax(problem)
    for node in range(len(graph)):
        assert graph.v_mean[node] == pytest.approx(value(graph.states[node]), abs=1e-4)
    assert value(result.best_state) == pytest.approx(value(problem.root()))
    assert result.best_reward == pytest.approx(value(problem.root()))
    leaves = [evaluation.leaf for evaluation in result.history]
    assert len(set(leaves)) == len(leaves)
    with pytest.raises(ds.SearchExhausted):
        search.ask()


def test_a_root_that_is_a_leaf():
    class Nothing(ds.problems.Subsets):
        def actions(self, state):
            return []

    result = ds.search(Nothing(3, 2, reward=len), 5)
    assert (result.best_state, result.best_path, len(result.history)) == (frozenset(), (), 1)


# One loop ---------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_run():
    def run(seed):
        return ds.search(small(), budget=30, seed=seed)

    assert run(3) == run(3)
    assert run(3).history != run(4).history


def test_run_is_ask_and_tell():
    problem = ds.problems.Synthetic(seed=1)
    run, loop, stepped = (ds.Search.paper(problem, beta=0.1, seed=2, standardize=5) for _ in range(3))
    run.run(25)
    for _ in range(25):
        proposal = loop.ask()
        loop.tell(proposal, problem.reward(proposal.leaf))
    assert [step.step for step in stepped.steps(25)] == list(range(1, 26))
    assert run.result() == loop.result() == stepped.result()


@pytest.mark.parametrize(
    "make",
    [
        lambda problem: ds.baselines.random_search(problem, seed=0),
        lambda problem: ds.baselines.ucd(problem, seed=0),
        lambda problem: ds.Search.paper(problem, noise=0.5, seed=0),
        lambda problem: ds.Search.default(problem, initial=5, seed=0),
    ],
)
def test_the_best_leaf_is_the_one_with_the_largest_reward(make):
    result = make(ds.problems.Synthetic(seed=1)).run(30)
    best = max(result.history, key=lambda evaluation: evaluation.reward)
    assert (result.best_state, result.best_reward) == (best.leaf, best.reward)
    assert best.step > 1  # or the first would do


# What is known ------------------------------------------------------------------------------------


@pytest.mark.parametrize("expansion", EXPANSIONS)
def test_belief_of_every_kind_of_state(expansion):
    problem = ds.problems.Synthetic(n=12, m=3, seed=0)
    search = ds.Search.paper(problem, noise=1e-6, seed=0, expansion=expansion)
    search.run(6)
    root = search.belief(problem.root())
    assert root.v == pytest.approx((search.explored.graph.v_mean[0], search.explored.graph.v_var[0]))
    told = search.history[0]
    leaf = search.belief(told.leaf)
    assert leaf.g == leaf.v
    assert leaf.g.mean == pytest.approx(told.reward, abs=1e-3)
    assert leaf.g.variance < 1e-5
    unknown = next(
        frozenset({i, j}) for i in range(12) for j in range(i) if search.index.find(frozenset({i, j})) < 0
    )
    belief = search.belief(unknown)
    delta = search.explored.increments.at(2)
    assert belief.visits == 0
    assert belief.v == pytest.approx((belief.g.mean + delta.mean, belief.g.variance + delta.variance))


def test_recommendation_is_a_path_of_best_means_and_changes_nothing():
    problem = ds.problems.Synthetic(seed=2)
    search = ds.Search.paper(problem, beta=1.0, seed=0)
    search.run(10)
    nodes = len(search.explored.graph)
    line = search.recommend()
    assert len(search.explored.graph) == nodes
    assert len(line.actions) == 5
    assert line.states[-1] == frozenset(line.actions)
    assert 1 <= line.explored < 5
    graph = search.explored.graph
    best = graph.children(search.explored.root)[np.argmax(graph.v_mean[graph.children(search.explored.root)])]
    assert line.states[1] == graph.states[best]


def test_best_action_is_none_off_the_explored_part():
    search = ds.Search.paper(ds.problems.TicTacToe(), c=0.5, noise=0.1, seed=0)
    assert search.best_action("." * 9) is None
    search.run(5)
    assert search.best_action("." * 9) in (0, 1, 4)
    assert search.best_action("never seen") is None


def test_a_game_recommends_a_line_rather_than_its_luckiest_leaf():
    game = ds.problems.TicTacToe()
    result = ds.Search.paper(game, c=0.5, noise=0.1, seed=0).run(300)
    assert max(evaluation.reward for evaluation in result.history) == 1.0
    assert game.reward(result.best_state) == 0.0
    assert len(result.best_path) == 9


def test_a_search_without_evaluations_has_a_result():
    result = ds.Search.paper(small(), seed=0).result()
    assert (result.best_state, result.best_path, result.best_reward, result.history) == (None, None, None, ())
    assert result.value is None


# Units ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("shift", "scale"), [(1e6, 1.0), (-3.0, 1e-4), (0.0, 1e8)])
def test_the_default_search_does_not_mind_units(shift, scale):
    base = small(seed=5)
    moved = ds.problems.Subsets(8, 3, lambda leaf: shift + scale * base.reward(leaf))
    plain, other = ds.search(base, 40, seed=0), ds.search(moved, 40, seed=0)
    assert [e.leaf for e in plain.history] == [e.leaf for e in other.history]
    here, there = (one.history[-1].predicted for one in (plain, other))
    assert there.mean == pytest.approx(shift + scale * here.mean, rel=1e-6)
    assert there.variance == pytest.approx(scale**2 * here.variance, rel=1e-6)


def test_standardising_rollouts_are_learnt_from():
    problem = ds.problems.Synthetic(seed=0)
    search = ds.Search.paper(problem, noise=1e-6, standardize=10, seed=0)
    search.run(9)
    assert search.belief(search.history[0].leaf).g.mean == 0.0  # the prior's, until the scale is known
    search.run(1)
    rewards = [evaluation.reward for evaluation in search.history]
    assert search.belief(search.history[0].leaf).g.mean == pytest.approx(
        rewards[0], abs=1e-3 * np.std(rewards)
    )


def test_noise_of_a_single_reward_is_in_units_of_the_reward():
    problem = small()
    leaf = frozenset({0, 1, 2})
    searches = [ds.Search.paper(problem, c=100.0, noise=1e-6, seed=0) for _ in range(2)]
    searches[0].tell(leaf, 10.0)
    searches[1].tell(leaf, 10.0, noise=1e4)
    sharp, vague = (search.belief(leaf).g for search in searches)
    assert sharp.mean == pytest.approx(10.0, abs=1e-3)
    assert vague.mean < 5.0
    assert vague.variance > 100.0


# Bad input --------------------------------------------------------------------------------------------


def snapshot(search):
    graph = search.explored.graph
    return search.index.scores.mean.copy(), graph.v_mean[: len(graph)].copy(), tuple(search.history)


def unchanged(search, before):
    after = snapshot(search)
    return (
        all(np.array_equal(a, b) for a, b in zip(before[:2], after[:2], strict=True))
        and before[2] == after[2]
    )


@pytest.mark.parametrize("reward", [math.nan, math.inf, -math.inf, "0.5", None, [1.0, 2.0], 1j, object()])
def test_a_bad_reward_is_refused_and_changes_nothing(reward):
    search = ds.Search.paper(small(), seed=0)
    search.run(5)
    proposal = search.ask()
    before = snapshot(search)
    with pytest.raises(ds.RewardError, match=r"{.*model is unchanged"):
        search.tell(proposal, reward)
    assert unchanged(search, before)
    search.tell(proposal, 1.0)  # and can be put right
    assert len(search.history) == 6


def failing_after(count, failure):
    calls = []

    def reward(leaf):
        calls.append(leaf)
        if len(calls) == count:
            return failure()
        return float(sum(leaf))

    return ds.problems.Subsets(8, 3, reward)


def explode():
    raise ZeroDivisionError("the experiment blew up")


@pytest.mark.parametrize("failure", [explode, lambda: math.nan, lambda: "text"])
def test_a_failing_evaluation_loses_nothing(failure):
    search = ds.Search.paper(failing_after(8, failure), seed=0)
    with pytest.raises(ds.EvaluationError, match=r"evaluating frozenset.*after 7 evaluations") as caught:
        search.run(20)
    assert len(search.history) == 7
    assert caught.value.result == search.result()
    assert caught.value.__cause__ is not None
    search.run(5)  # goes on
    assert len(search.history) == 12


class BreaksDown(ds.problems.Subsets):
    """Its ``step`` fails after twelve rewards."""

    rewards = 0

    def reward(self, leaf):
        self.rewards += 1
        return super().reward(leaf)

    def step(self, state, action):
        if self.rewards == 12:
            raise LookupError("no such state")
        return super().step(state, action)


def test_whatever_ends_the_one_line_search_hands_over_what_it_had():
    with pytest.raises(LookupError) as caught:
        ds.search(BreaksDown(8, 3, reward=sum), 50, seed=0)
    assert len(caught.value.result.history) == 12
    assert caught.value.result.best_reward == max(e.reward for e in caught.value.result.history)
    problem, calls = ds.problems.Subsets(8, 3, reward=sum), iter(range(5, -1, -1))
    with pytest.raises(ZeroDivisionError) as caught:
        ds.minimize(problem, 50, seed=0, callback=lambda one: 1 / next(calls))
    assert caught.value.result.best_reward == min(e.reward for e in caught.value.result.history) >= 3


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_search_hands_over_what_it_had(tmp_path):
    stops = failing_after(3, lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(ds.SearchInterrupted, match="after 2 evaluations: the same call continues it"):
        ds.search(stops, 20, seed=0, storage=tmp_path / "run.db")
    with pytest.raises(KeyboardInterrupt) as caught:
        ds.search(failing_after(8, lambda: signal.raise_signal(signal.SIGINT)), 20, seed=0)
    assert isinstance(caught.value, ds.SearchInterrupted)
    assert len(caught.value.result.history) == 7
    assert caught.value.result.stopped == "interrupted"


def test_a_leaf_that_was_never_asked_for_is_knowledge():
    problem = small()
    search = ds.Search.paper(problem, noise=1e-6, seed=0)
    best = frozenset({0, 1, 2})
    evaluation = search.tell(best, 9.0)
    assert set(evaluation.actions) == best  # the problem knows the way
    assert search.belief(best).g.mean == pytest.approx(9.0, abs=1e-3)
    assert search.result().best_state == best
    assert search.result().best_path == evaluation.actions
    search.run(30)
    assert search.result().best_state == best


def test_told_leaves_are_not_asked_for_again():
    problem = small(n=5, k=2)
    search = exhaustive(problem)
    search.tell(frozenset({0, 1}), 1.0)
    result = search.run(100)
    assert len(result.history) == 10
    assert len({evaluation.leaf for evaluation in result.history}) == 10


def test_a_state_that_is_no_leaf_cannot_be_told():
    search = ds.Search.paper(small(), seed=0)
    search.run(3)
    before = snapshot(search)
    for state in (frozenset(), frozenset({1}), frozenset({6, 7})):
        with pytest.raises(ds.ProblemError, match="is not a complete subset"):
            search.tell(state, 1.0)
    with pytest.raises(ValueError, match="noise must be a positive"):
        search.tell(frozenset({1, 2, 3}), 1.0, noise=0.0)
    assert unchanged(search, before)


def test_a_covariance_that_is_not_one_is_refused_before_anything_is_paid_for():
    problem = ds.problems.Subsets(8, 3, lambda leaf: explode())
    covariance = Pairwise(lambda x, y: 1.0 if x == y else -0.9)
    with pytest.raises(ds.CovarianceError, match="positive semi-definite"):
        ds.search(problem, 20, covariance=covariance)
    with pytest.raises(ds.CovarianceError, match="positive semi-definite"):
        ds.search(problem, 20, covariance=Returns(lambda *shape: -np.ones(shape)))
    with pytest.raises(ds.CovarianceError, match=r"Returns.cross must return shape \(\d+, \d+\), got \(3,\)"):
        ds.search(problem, 20, covariance=Returns(lambda *shape: np.ones(3)))


class Returns(ds.covariances.Covariance):
    """A covariance with whatever entries."""

    def __init__(self, returned):
        super().__init__()
        self.returned = returned

    def represent(self, states):
        return np.zeros((len(states), 1))

    def cross(self, rows, others):
        return self.returned(len(rows), len(others))


class Broken(ds.problems.Subsets):
    """Forgets what can follow some of its states."""

    def actions(self, state):
        if 5 in state and len(state) == 2:
            raise LookupError("no table for this state")
        return super().actions(state)


@pytest.mark.parametrize("expansion", EXPANSIONS)
def test_a_problem_that_fails_half_way_leaves_the_model_whole(expansion):
    problem = Broken(8, 3, reward=lambda leaf: float(sum(leaf)))
    good = ds.problems.Subsets(8, 3, reward=sum)
    search = exhaustive(problem, expansion=expansion, increments=ds.Increments.of(good, Overlap()))
    for _ in range(5):
        with pytest.raises(LookupError):
            search.run(200)
        assert len(search.explored.graph) == search.index.scores.mean.size
    before = len(search.history)
    search.tell(frozenset({0, 1, 2}), 3.0)
    assert len(search.history) == before + 1
    assert np.all(np.isfinite(search.index.scores.mean))


# Found by a reader of the code: each of these went wrong once ---------------------------------------


def test_a_problem_with_fewer_leaves_than_standardising_rollouts_is_learnt():
    problem = ds.problems.Subsets(9, 1, lambda leaf: 1000.0 + sum(leaf))
    search = ds.Search.default(problem, seed=0)
    search.run(100)
    assert search.belief(frozenset({8})).g.mean == pytest.approx(1008.0, abs=1.0)


@pytest.mark.parametrize("seed", range(3))
def test_the_default_search_plays_nim(seed):
    result = ds.search(Nim(10), 100, seed=seed)
    assert result.best_path[0] == 2
    assert result.best_reward == 1.0


@pytest.mark.parametrize("reward", [0.1, 0.7, 12.3, 0.0, -1e-7])
def test_equal_rewards_are_no_scale(reward):
    search = ds.Search.paper(ds.problems.Subsets(20, 3, reward=lambda leaf: reward), standardize=6, seed=0)
    search.run(10)
    deviation = math.sqrt(search.belief(frozenset()).g.variance)
    assert deviation > 0.01 * (abs(reward) or 1.0)


@pytest.mark.parametrize("mean", [math.nan, sum])
def test_a_mean_that_is_no_finite_number_is_refused(mean):
    with pytest.raises(ValueError, match="mean must be a finite number"):
        ds.Search.paper(small(), mean=mean)


def test_after_a_cycle_was_found_the_graph_is_as_before():
    class Ring:
        def root(self):
            return "a"

        def actions(self, state):
            return {"a": ["b", "x"], "b": ["c", "y"], "c": ["a", "z"]}.get(state, [])

        def step(self, state, action):
            return action

        def reward(self, leaf):
            return float("xyz".index(leaf))

    search = ds.Search.paper(Ring(), covariance=Overlap(), seed=0)
    for _ in range(3):  # every time an error, never a hang
        with pytest.raises(ds.ProblemError, match="cycle"):
            search.run(200)
        graph = search.explored.graph
        assert graph.level[search.explored.root] == 0


def test_a_reward_that_the_scores_refuse_is_kept_and_holds_up_no_other():
    def covariance(x, y):  # indefinite, but only where random leaves do not look
        if x == y:
            return 1.0
        return -0.9 if {x, y} <= {frozenset({0, 1, 2}), frozenset({0, 1, 3}), frozenset({0, 1, 4})} else 0.0

    problem = ds.problems.Subsets(60, 3, reward=sum)
    search = ds.Search(
        problem,
        scores=FunctionScores(Pairwise(covariance), 1e-6),
        proposers=Descent(UpperConfidence(1.0), Uniform(), OneChild()),
        standardize=4,
        seed=0,
    )
    for last in (2, 3, 4):
        search.tell(frozenset({0, 1, last}), float(last))
    with pytest.raises(ds.CovarianceError, match="not positive semi-definite"):
        search.tell(frozenset({7, 8, 9}), 24.0)
    assert len(search.history) == 4
    assert search.belief(frozenset({7, 8, 9})).g.mean == pytest.approx(24.0, abs=0.01)


def test_a_game_in_which_min_rarely_moves_is_a_game():
    class Rare:  # MAX chooses among two sure things and one at MIN's mercy
        def root(self):
            return ()

        def actions(self, state):
            return [0, 1, 2] if state == () else [0, 1] if state == (0,) else []

        def step(self, state, action):
            return (*state, action)

        def player(self, state):
            return ds.MIN if state == (0,) else ds.MAX

        def reward(self, leaf):
            return {(0, 0): 10.0, (0, 1): -10.0, (1,): 1.0, (2,): 2.0}[leaf]

    result = ds.search(Rare(), 20, seed=0)
    assert (result.best_state, result.best_reward) == ((2,), 2.0)


def test_an_unseen_leaf_above_full_depth_is_worth_its_score():
    class StopOrGoOn:
        def root(self):
            return ()

        def actions(self, state):
            return [] if len(state) == 8 or "stop" in state else ["stop", "go on"]

        def step(self, state, action):
            return (*state, action)

        def reward(self, leaf):
            return float(len(leaf))

    search = ds.Search.paper(StopOrGoOn(), seed=0, expansion=OneChild())
    seen = search.portfolio.descent.expansion.options(search.explored, search.explored.root)
    belief = search.belief(("stop",))
    assert (seen.mean[0], seen.variance[0]) == belief.v == belief.g
    assert seen.mean[1] > 0.0


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: ds.search(ds.problems.TicTacToe, 5), "not its class"),
        (lambda: ds.search(object(), 5), "no method root"),
        (lambda: ds.search(small(), 5, covariance=lambda x, y: 1.0), "wrap a function in Pairwise"),
        (lambda: ds.search(small(), 5, covariance="rbf"), "must be a dagsearch covariance"),
        (lambda: ds.Search.paper(small(), noise="a"), "noise must be a positive"),
        (lambda: ds.Search.paper(small(), beta=None), "beta must be finite"),
        (lambda: ds.Search.paper(small(), standardize=2.5), "standardize must be a whole number"),
    ],
)
def test_bad_arguments_are_named(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_a_tree_sees_what_its_states_consist_of():
    states = [ds.baselines.TreeState((), flips) for flips in ((0, 1), (1, 1))]
    assert Overlap.of(ds.as_tree(CoinFlips()), private=0.0)([states[0]], [states[1]])[0, 0] == 1.0


def test_an_unknown_setting_of_the_paper_search_is_named():
    with pytest.raises(TypeError, match=r"'betta' is not a setting of Search\.paper: did you mean 'beta'"):
        ds.Search.paper(ds.problems.Synthetic(12, 3, seed=0), betta=1.0)


@pytest.mark.parametrize(
    ("scale", "shift", "settings", "told"),
    [
        (1.0, 0.0, {}, False),
        (1000.0, 10.0, {}, True),  # asks for one leaf only
        (1e-3, 0.0, {}, True),
        (0.0, 0.0, {}, False),  # nothing to judge by
        (1000.0, 0.0, {"standardize": 20}, False),
        (1000.0, 0.0, {"c": 1e5, "noise": 100.0}, False),
    ],
)
def test_the_paper_search_says_once_that_rewards_are_of_another_scale(scale, shift, settings, told, caplog):
    exact = ds.problems.Synthetic(12, 3, seed=0)
    problem = ds.problems.Subsets(12, 3, reward=lambda leaf: scale * (exact.reward(leaf) + shift))
    search = ds.Search.paper(problem, seed=0, **settings)
    with caplog.at_level("WARNING"):
        search.run(19)
        assert not caplog.records
        search.run(30)
    assert len(caplog.records) == told
    assert not told or "standardize=20" in caplog.records[0].getMessage()


def test_a_function_that_calls_search_can_be_pickled_by_value():
    made = {}  # as in __main__: what a function refers to is pickled with it
    exec("import dagsearch as ds\ndef best():\n    return ds.search(problem(sum), 6).best_reward", made)
    made["problem"] = functools.partial(ds.problems.Subsets, 4, 2)
    assert pickle.loads(cloudpickle.dumps(made["best"]))() == 5.0


def test_dir_shows_public_names_only():
    shown = dir(ds.Search.default(ds.problems.Subsets(6, 2, reward=sum)))
    assert {"ask", "tell", "history", "problem"} <= set(shown)
    assert not any(name.startswith("_") for name in shown)
