"""Searches that see every leaf: they say so at once, and hold their time limits on the way there."""

from collections import Counter

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.covariances import Overlap, SetKernel
from dagsearch.posterior import FunctionScores
from dagsearch.posterior.evidence import LogPosterior
from dagsearch.problems import Choices, FunctionProblem, Orders, Sequences, Subsets
from dagsearch.proposers import Climb, Descent, Portfolio
from dagsearch.proposers.expansions import AllChildren
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import Greedy
from dagsearch.space import Space
from support.executors import threads
from support.runs import cut_off, events, history, knowledge
from support.small import CoinFlips, leaves_of


class Plain:
    """``k`` of ``n``, as a newcomer writes it: many more states than leaves, and nothing says how many."""

    def __init__(self, n, k, ticking=None):
        self.n, self.k, self.ticking = n, k, ticking

    def root(self):
        return frozenset()

    def actions(self, state):
        if self.ticking is not None:
            self.ticking.advance(1.0)
        return [i for i in range(self.n) if i not in state] if len(state) < self.k else []

    def step(self, state, action):
        return state | {action}

    def reward(self, leaf):
        return float(sum(leaf))


class Chain:
    """One way down, to one leaf."""

    def root(self):
        return 0

    def actions(self, state):
        return [1] if state < 40 else []

    def step(self, state, action):
        return state + action

    def items(self, state):
        return range(state)

    def reward(self, leaf):
        return float(leaf)


class OnlyRoot(Chain):
    """The root is the only leaf."""

    def actions(self, state):
        return []


class Solitaire(Plain):
    """A game that only MAX plays."""

    def player(self, state):
        return ds.MAX


def total(leaf):
    return float(sum(leaf))


def called(choose):
    first = choose("first", range(3))
    return first + (choose("second", range(4)) if first else 0)


SMALL = {
    "subsets": lambda: Subsets(6, 3, total),
    "all but one": lambda: Subsets(9, 8, total),
    "all but two": lambda: Subsets(8, 6, total),
    "all": lambda: Subsets(12, 12, total),
    "any size": lambda: Subsets(5, (0, 5), total),
    "sizes": lambda: Subsets(7, (2, 4), total),
    "capacity": lambda: Subsets(6, (1, 5), total, allowed=lambda chosen: total(chosen) <= 8),
    "orders": lambda: Orders("abcd", lambda order: order.index("c")),
    "orders of some": lambda: Orders(range(5), total, length=2),
    "sequences": lambda: Sequences("abc", 3, lambda letters: letters.count("a")),
    "free sequences": lambda: Sequences("abc", 3, len, min_length=1),
    "choices": lambda: Choices({"a": range(4), "b": ["x", "y", "z"]}, lambda chosen: chosen["a"]),
    "conditions": lambda: Choices(
        {"a": range(4), "b": lambda chosen: range(chosen["a"]) or None}, lambda chosen: chosen.get("b", 0)
    ),
    "function": lambda: FunctionProblem(called),
    "synthetic": lambda: ds.problems.Synthetic(7, 3, seed=0),
    "tree": lambda: ds.as_tree(Subsets(4, 3, total)),
    "game": lambda: ds.problems.TicTacToe(),
    "plain": lambda: Plain(7, 3),
    "plain, all but one": lambda: Plain(9, 8),
    "plain, all": lambda: Plain(9, 9),
    "one player": lambda: Solitaire(7, 6),
    "chain": lambda: Chain(),
    "only the root": lambda: OnlyRoot(),
}


def once_each(problem, evaluated):
    """Whether all leaves were evaluated, each once."""
    key = Space(problem).key
    return Counter(key(evaluation.leaf) for evaluation in evaluated) == Counter(map(key, leaves_of(problem)))


# Every leaf once -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_a_small_space_is_searched_completely(name):
    problem = SMALL[name]()
    result = ds.search(problem, 10_000, seed=0)
    assert result.stopped == "exhausted"
    if name == "function":  # which shows its leaves only by running
        leaves = [{"first": 0}, *({"first": one, "second": two} for one in (1, 2) for two in range(4))]
        assert sorted(map(repr, leaves)) == sorted(repr(evaluation.leaf) for evaluation in result.history)
    else:
        assert once_each(problem, result.history)


# Few leaves below many states --------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "k"), [(12, 11), (14, 14), (16, 15), (30, 29), (30, 30)])
def test_all_features_but_one_do_not_walk_through_all_subsets(n, k):
    search = ds.Search.default(Subsets(n, k, total), seed=0)
    result = search.run(100)
    assert result.stopped == "exhausted"
    assert once_each(Plain(n, k), result.history) if n < 16 else len(result.history) == (1 if n == k else n)
    assert len(search.index.states) < 40 * n  # of 2**n states


def test_states_of_a_plain_problem_are_looked_at_once_when_few_leaves_are_left():
    problem = Plain(12, 11)
    looked_at = Counter()
    actions = problem.actions
    problem.actions = lambda state: looked_at.update([state]) or actions(state)
    search = ds.Search.default(problem, initial=5, seed=0)
    result = search.run(100)
    assert (result.stopped, len(result.history)) == ("exhausted", 12)
    assert len(search.index.states) < 500  # of 4,096 states
    assert sum(looked_at.values()) < 30 * 4_096  # climbs decide their paths anew


@pytest.mark.parametrize("make", [lambda: Subsets(9, 8, total), lambda: Plain(9, 8)])
def test_pending_leaves_are_not_asked_for_until_they_are_taken_back(make):
    search = ds.Search.default(make(), initial=3, seed=0)
    pending = search.ask(100)
    assert len({proposal.leaf for proposal in pending}) == 9
    with pytest.raises(ds.SearchExhausted):
        search.ask()
    search.forget(pending[4])
    again = search.ask()
    assert again.leaf == pending[4].leaf
    with pytest.raises(ds.SearchExhausted):
        search.ask()
    for proposal in search.pending:
        search.tell(proposal, total(proposal.leaf))
    assert search.result().best_state == frozenset(range(1, 9))


@pytest.mark.parametrize("make", [lambda: Subsets(8, 7, total), lambda: Plain(8, 7), lambda: Plain(8, 8)])
def test_workers_evaluate_every_leaf_once(make):
    with threads(3) as executor:
        result = ds.search(make(), 100, seed=0, executor=executor)
    assert result.stopped == "exhausted"
    assert once_each(make(), result.history)


@pytest.mark.parametrize("make", [lambda: Subsets(12, 12, total), lambda: Plain(9, 8)])
def test_noisy_searches_are_never_exhausted(make):
    search = ds.Search.default(make(), noisy=True, initial=3, seed=0)
    for _ in range(5):
        for proposal in search.ask(4):
            search.tell(proposal, total(proposal.leaf))
    result = search.run(10)
    assert (result.stopped, len(result.history)) == ("budget", 30)


@pytest.mark.parametrize("name", ["all but one", "plain, all but one", "capacity"])
def test_a_resumed_search_goes_on_as_if_it_had_not_ended(name, tmp_path):
    whole = ds.Search.default(SMALL[name](), initial=4, seed=0, storage=tmp_path / "whole")
    whole.run(1_000)
    whole.close()
    count_of_events = len(events(tmp_path / "whole"))
    for count in np.linspace(2, count_of_events - 1, 3, dtype=int).tolist():
        copy = cut_off(tmp_path / "whole", count, tmp_path / f"cut {count}")
        resumed = ds.Search.resume(copy, SMALL[name]())
        assert resumed.run(1_000).stopped == "exhausted"
        assert history(resumed) == history(whole)
        assert knowledge(resumed) == knowledge(whole)
        resumed.close()


# Time limits ---------------------------------------------------------------------------------------------


def slowed(function, clock, begun):
    """The same function, but every call takes ten seconds; notes when calls begin."""

    def slow(*arguments, **named):
        begun.append(clock())
        clock.advance(10.0)
        return function(*arguments, **named)

    return slow


def run_with_limit(search, clock, seconds):
    """Run until a limit; returns when it was over, and the reason for the end."""
    end = clock() + seconds
    list(search.steps(1_000, ds.Stop(seconds=seconds)))
    return end, search.data.stopped


def test_seconds_hold_while_leaves_are_looked_for(clock):
    problem = Plain(20, 19)
    search = ds.Search.default(problem, initial=5, seed=0)
    problem.ticking = clock
    end, reason = run_with_limit(search, clock, 20_000.0)
    assert reason == "seconds"
    assert 0 < len(search.history) <= 20
    assert (
        clock() < end + 3_000.0
    )  # as the neighbours of one leaf may take; all states would take more than a million seconds


@pytest.mark.parametrize(
    ("make", "slow"),
    [
        (
            lambda: ds.Search(
                Subsets(12, 4, total),
                scores=FunctionScores(SetKernel().bind(Subsets(12, 4, total)), 0.01),
                proposers=Descent(UpperConfidence(1.0), Greedy(1.0), AllChildren()),
                repeats=False,
                seed=0,
            ),
            "predict_children",
        ),
        (
            lambda: ds.Search(
                Plain(30, 6),
                scores=FunctionScores(Overlap(), 0.01),
                proposers=Portfolio([Climb()], initial=3),
                seed=0,
            ),
            "predict",
        ),
        (lambda: ds.Search.default(Subsets(9, (0, 9), total), initial=3, seed=0), "predict_codes"),
    ],
)
def test_seconds_hold_in_rollouts_and_climbs(make, slow, clock, monkeypatch):
    begun = []
    monkeypatch.setattr(FunctionScores, slow, slowed(getattr(FunctionScores, slow), clock, begun))
    search = make()
    end, reason = run_with_limit(search, clock, 1_000.0)
    assert reason == "seconds"
    assert len(begun) > 50
    assert max(begun) < end + 10.0  # a descent may begin one more


def test_seconds_hold_while_hyperparameters_are_learnt(clock, monkeypatch, tmp_path):
    begun = []
    monkeypatch.setattr(LogPosterior, "loss", slowed(LogPosterior.loss, clock, begun))
    search = ds.Search.default(Subsets(30, 6, total), initial=3, seed=0, storage=tmp_path / "run.db")
    end, reason = run_with_limit(search, clock, 65.0)
    assert (reason, len(begun), len(search.history)) == ("seconds", 7, 3)
    assert max(begun) < end
    search.close()
    resumed = ds.Search.resume(tmp_path / "run.db", Subsets(30, 6, total))
    assert knowledge(resumed) == knowledge(search)
    resumed.close()


def test_the_first_leaf_is_evaluated_however_little_time_there_is(clock):
    problem = Plain(6, 3, ticking=clock)
    result = ds.search(problem, 100, seconds=0.5, seed=0)
    assert (result.stopped, len(result.history)) == ("seconds", 1)


# Actions that have no order ------------------------------------------------------------------------------


class Flips(CoinFlips):
    """Its actions come from a function."""

    def __init__(self, offered):
        self.offered = offered

    def actions(self, state):
        return self.offered() if len(state) < 3 else []


def test_actions_in_another_order_are_refused():
    turns = iter(range(1_000))
    with pytest.raises(ds.ProblemError, match=r"actions\(\(\)\) changes from call to call"):
        ds.search(Flips(lambda: [0, 1][:: 1 - 2 * (next(turns) % 2)]), 3)


@pytest.mark.parametrize("offered", [lambda: np.array([0, 1]), lambda: range(2), lambda: (0, 1)])
def test_sequences_of_any_kind_are_accepted(offered):
    assert ds.search(Flips(offered), 10, seed=0).stopped == "exhausted"
