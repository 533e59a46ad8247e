"""Searches with journals under attack: any operation in any order, with a fault at any write."""

import json
from collections import Counter
from contextlib import suppress
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import dagsearch as ds
from dagsearch.journal.journal import read_events
from support.journals import history
from support.problems import Sum
from tests.durable.attacks.disk import Crash, Fault
from tests.durable.attacks.machine import kinds_installed, machine_of
from tests.durable.crashes.layer import watched

QUICK = settings(
    max_examples=8,
    stateful_step_count=25,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", kinds_installed())
def test_an_attacked_search_knows_what_one_without_crashes_knows(name):
    figures = Counter()
    machine = machine_of(name, figures)
    shorter = {"max_examples": machine.sequences, "stateful_step_count": machine.steps}
    run_state_machine_as_test(machine, settings=settings(QUICK, **shorter) if machine.steps < 25 else QUICK)
    assert figures["operations"] > (100 if machine.steps > 25 else 8)
    assert figures["rewards lost"] == figures["repeated beyond pending"] == 0


def search_in(path):
    return ds.Search.default(Sum(), initial=4, seed=0, journal=path)


def test_what_is_learnt_at_a_resume_is_known_at_the_next_one(tmp_path):
    """The process ends after a reward and before what was learnt from it is stored; later it ends again."""
    path, killed = tmp_path / "run.db", []

    def watch(operation, carry_out):
        if b'"kind":"learn"' in operation.data:
            killed.append(True)
        if killed:
            raise Crash
        carry_out(operation.data)

    with watched(watch):
        search = search_in(path)
        with pytest.raises(Crash):
            search.run(20)
        with suppress(Crash):
            search.close()
    expected = ds.Search.default(Sum(), initial=4, seed=0)
    expected.run(20)
    for budget in (1, 20):
        again = ds.Search.resume(path, Sum())
        again.run(budget - len(again.history) if budget == 20 else 1)
        again.close()
    assert history(again) == history(expected)


def test_another_way_to_a_pending_leaf_is_replayed(tmp_path):
    search = search_in(tmp_path / "run.db")
    proposal = search.ask()
    search.tell(ds.Proposal(proposal.leaf, proposal.actions[::-1]), 1.0)
    search.close()
    again = ds.Search.resume(tmp_path / "run.db", Sum())
    again.close()
    assert history(again) == history(search)


def test_a_proposal_that_does_not_lead_from_the_root_is_told_as_its_leaf(tmp_path):
    search = search_in(tmp_path / "run.db")
    proposal = search.ask()
    search.tell(ds.Proposal(proposal.leaf, ("nowhere",), (1000,)), 1.0)
    search.close()
    again = ds.Search.resume(tmp_path / "run.db", Sum())
    again.close()
    assert history(again) == history(search) == [(proposal.leaf, tuple(sorted(proposal.leaf)), 1.0, 1.0)]


def test_actions_that_do_not_lead_to_the_proposed_leaf_are_refused():
    search = ds.Search.default(Sum(), initial=4, seed=0)
    with pytest.raises(ds.ProblemError, match="do not lead there"):
        search.propose(frozenset({0, 1, 2, 3}), (4, 5, 6, 7))
    assert search.pending == ()


def test_rewards_of_one_leaf_do_not_count_as_learnt_from_after_a_resume(tmp_path):
    """The first learning starts from several points; rewards of a single leaf teach nothing yet."""
    leaf = frozenset({0, 1, 2, 3})
    found = []
    for interrupted in (False, True):
        path = tmp_path / f"{interrupted}.db"
        search = search_in(path)
        search.settle()
        for reward in (1.0, 3.0, 2.0):
            search.tell(leaf, reward)
        if interrupted:
            search.close()
            search = ds.Search.resume(path, Sum())
        for step, evaluated in enumerate([frozenset({4, 5, 6, 7}), frozenset({0, 5, 6, 7}), leaf]):
            search.tell(evaluated, float(step))
        search.close()
        found.append([event.content for event in read_events(path) if event.kind == "learn"])
    assert found[0] == found[1]


def test_a_tiny_first_reward_makes_no_later_one_impossible(tmp_path):
    """In units of the first reward the variance of the second is beyond the largest number."""
    search = search_in(tmp_path / "run.db")
    search.tell(frozenset({0, 1, 2, 3}), 1e-300)
    search.settle()
    search.tell(frozenset({0, 1, 2, 4}), 1e100, 0.01)
    proposal = search.ask()
    search.close()
    again = ds.Search.resume(tmp_path / "run.db", Sum())
    assert again.ask() == proposal
    again.close()


def test_the_process_may_end_when_the_search_finds_no_leaf(tmp_path):
    """An ask that finds no leaf does not count, so that a resumed search draws the same numbers."""
    problem = ds.problems.TicTacToe()
    expected = ds.Search.default(problem, initial=4, seed=0)
    whole = ds.Search.default(problem, initial=4, seed=0)
    expected.explored.graph.closed[expected.explored.root] = True
    with pytest.raises(ds.SearchExhausted):
        expected.ask()
    assert expected.asked == whole.asked == 0


def test_beliefs_do_not_depend_on_when_fantasies_are_discarded():
    """Nodes that are new since then are computed in the groups in which they came."""
    found = []
    for looks in (False, True):
        search = ds.Search.default(ds.problems.Subsets(12, 3, reward=sum), initial=4, seed=2, noisy=True)
        search.run(6)
        for _ in range(5):
            search.ask()
            if looks:
                search.belief(search.problem.root())
        search.belief(search.problem.root())
        found.append([search.index.scores.mean.tolist(), search.index.scores.variance.tolist()])
    assert found[0] == found[1]


@pytest.mark.parametrize("make", [ds.Search.default, ds.Search.paper])
def test_looking_between_asks_changes_no_digit_of_what_is_pending(make):
    """Nodes that came after some of the fantasies and before others are as if all had come before."""
    found = []
    for looks in (False, True):
        search = make(ds.problems.Subsets(20, 4, reward=lambda s: sum(s) / 10 + 0.1 * min(s)), seed=0)
        search.run(15)
        for _ in range(7):
            search.ask()
            if looks:
                search.belief(search.problem.root())
        search.posterior.fantasise([one.leaf for one in search.pending])
        found.append([search.index.scores.mean.tolist(), search.index.scores.variance.tolist()])
    assert found[0] == found[1]


def test_a_node_made_between_a_reward_and_the_next_look_is_right():
    """An incremental update must not reach a node that knows the reward already."""
    problem = ds.problems.Subsets(6, 2, reward=sum)
    found = []
    for first in (True, False):
        scores = ds.posterior.WeightScores(ds.covariances.Overlap.of(problem), 0.1)
        scores.track([frozenset({0, 1})])
        if first:
            scores.track([frozenset({1, 2})])
        scores.condition(0, 3.0)
        if not first:
            scores.track([frozenset({1, 2})])
        found.append([*scores.mean, *scores.variance])
    assert found[0] == pytest.approx(found[1], rel=1e-12)


class Paints:
    """Counts of three paints: states without codes, so that a descent and climbs take turns."""

    def root(self):
        return (0, 0, 0)

    def actions(self, state):
        return [0, 1, 2] if sum(state) < 3 else []

    def step(self, state, action):
        return tuple(count + (paint == action) for paint, count in enumerate(state))

    def items(self, state):
        return [(paint, number) for paint, count in enumerate(state) for number in range(count)]

    def reward(self, leaf):
        return -float((leaf[0] - 2) ** 2 + leaf[1])


def test_a_turn_in_which_no_leaf_was_left_is_given_back(tmp_path):
    search = ds.Search.default(Paints(), initial=2, seed=0, journal=tmp_path / "run.db")
    asked = search.ask(30)
    for proposal in asked[3:]:
        search.tell(proposal, search.problem.reward(proposal.leaf))
    for _ in range(2):
        with pytest.raises(ds.SearchExhausted):
            search.ask()
    search.forget(asked[0])
    search.forget(asked[1])
    search.close()
    again = ds.Search.resume(tmp_path / "run.db", Paints())
    assert again.portfolio.state == search.portfolio.state
    assert again.asked == search.asked
    again.data.offered.clear()
    assert again.ask(2) == search.ask(2)
    again.close()


def test_beliefs_are_read_anew_after_rewards_were_settled():
    search = ds.Search.default(Sum(), initial=10, seed=0)
    for proposal in search.ask(4):
        search.tell(proposal, search.problem.reward(proposal.leaf))
    leaf, reward = search.history[0].leaf, search.history[0].reward
    search.belief(leaf)
    search.settle()
    assert search.belief(leaf).g.mean == pytest.approx(reward, abs=0.05)
    assert search.belief(leaf).v.mean == pytest.approx(reward, abs=0.05)


REPORTED = json.loads((Path(__file__).parent / "attacks" / "reported.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("failure", REPORTED, ids=lambda failure: f"{failure['kind']} {failure['seed']}")
def test_sequences_that_were_reported_once_keep_the_promises(failure):
    """What a run of a million operations reported, operation by operation: seeds mean others elsewhere."""
    state = machine_of(failure["kind"], Counter())()
    names = {"state": state, "Fault": Fault, "Decimal": Decimal, "np": np}
    for step in failure["steps"]:
        if step.startswith("state."):
            eval(step, names)


def test_reported_sequences_are_there():
    assert len(REPORTED) == 25
