"""Searches with journals under attack: any operation in any order, with a fault at any write."""

from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

import dagsearch as ds
from dagsearch.durable.journal import JournalError
from dagsearch_experiments.attacks.kinds import KINDS
from dagsearch_experiments.attacks.machine import Attack
from dagsearch_experiments.crashes.layer import watched
from support.journals import history
from support.problems import Sum

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
@pytest.mark.parametrize("name", KINDS)
def test_an_attacked_search_knows_what_one_without_crashes_knows(name):
    figures = Counter()
    machine = type("Machine", (Attack,), {"name": name, "figures": figures})
    run_state_machine_as_test(machine, settings=QUICK)
    assert figures["operations"] > 100
    assert figures["rewards lost"] == figures["repeated beyond pending"] == 0


def search_in(path):
    return ds.Search.default(Sum(), initial=4, seed=0, journal=path)


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
    assert history(again) == history(search) == [(proposal.leaf, None, 1.0, 1.0)]


def test_actions_that_do_not_lead_to_the_proposed_leaf_are_refused():
    search = ds.Search.default(Sum(), initial=4, seed=0)
    with pytest.raises(ds.ProblemError, match="do not lead there"):
        search.propose(frozenset({0, 1, 2, 3}), (4, 5, 6, 7))
    assert search.pending == ()


def test_a_head_that_is_written_in_spite_of_an_error_does_not_count_a_removed_event(tmp_path):
    path, failing = tmp_path / "run.db", []

    def watch(operation, carry_out):
        carry_out(operation.data)
        if failing and operation.kind == "write" and operation.position < 1024:
            failing.clear()
            raise OSError("no room")

    with watched(watch):
        search = search_in(path)
        proposal = search.ask()
        failing.append(True)
        with pytest.raises(JournalError, match="tell it after resuming"):
            search.tell(proposal, 0.25)
        search.close()
    again = ds.Search.resume(path, Sum())
    assert again.history == []
    assert again.ask() == proposal
    again.close()
