"""Durable runs: what a journal promises (docs/durability.md)."""

import json
import os
import random
import re
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import dagsearch as ds
from dagsearch._internal.plain import from_json, to_json
from dagsearch.cli.entry import main
from dagsearch.errors import EvaluationError, ProblemError
from dagsearch.journal.fingerprint import parts_of
from dagsearch.journal.journal import JournalError, backup_journal, read_events
from support.durable_run import go_on
from support.journals import cut_off, history, kept, replayed, rewritten
from support.journals import state as state_as_read
from support.problems import Failing, Sum
from support.processes import environment, running
from support.searches import SEARCHES, linear_subsets, methods_of_the_experiments
from tests.durable.crashes.layer import watched

# Exactly as it was ------------------------------------------------------------------------------


def state(search):
    """All that decides what happens next, as the next proposer reads it."""
    if search.explored is not None:
        search.explored.current()
    return state_as_read(search)


@pytest.mark.parametrize(
    ("name", "make"),
    list(methods_of_the_experiments()),
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_every_composition_is_replayed_to_the_last_bit(name, make, tmp_path):
    search = kept(make(), tmp_path / "run.db")
    search.run(30)
    again = replayed(make, tmp_path / "run.db")
    assert history(again) == history(search)
    assert state(again) == state(search)
    assert search.ask() == again.ask()


@pytest.mark.parametrize("name", SEARCHES)
def test_whatever_was_asked_told_and_taken_back_is_replayed(name, tmp_path):
    chosen = linear_subsets()

    def make():
        return SEARCHES[name](chosen)

    search = kept(make(), tmp_path / "run.db")
    rng = np.random.default_rng(1)
    for _ in range(25):
        search.ask(int(rng.integers(1, 4)))
        for _ in range(int(rng.integers(0, 4))):
            if not search.pending:
                break
            proposal = search.pending[int(rng.integers(len(search.pending)))]
            what = rng.integers(5)
            if what == 0:
                search.forget(proposal, again=bool(rng.integers(2)))
            elif what == 1:
                search.tell(proposal.leaf, chosen.reward(proposal.leaf))
            else:
                search.tell(proposal, chosen.reward(proposal.leaf), 0.01 if what == 2 else None)
    mine = frozenset({0, 5, 11, 19})
    search.tell(mine, chosen.reward(mine))
    other = frozenset({1, 5, 11, 19})
    search.propose(other, chosen.path_to(other))
    again = replayed(make, tmp_path / "run.db")
    assert history(again) == history(search)
    assert state(again) == state(search)
    assert search.ask(3) == again.ask(3)
    assert state(again) == state(search)


def test_a_run_cut_off_after_any_event_ends_as_if_it_had_not_been(tmp_path):
    journal = tmp_path / "run.db"
    whole = ds.Search.default(Sum(), initial=8, seed=1, journal=journal)
    whole.run(30)
    whole.close()
    count = len(read_events(journal))
    for events in range(1, count, 3):
        search = ds.Search.resume(cut_off(journal, events, tmp_path / f"{events}.db"), Sum())
        if len(search.history) < 30:
            search.run(30 - len(search.history))
        search.close()
        assert history(search) == history(whole)
        assert search.result() == whole.result()


def test_pending_leaves_are_offered_again_and_results_learnt_in_order_stay_the_same(tmp_path):
    journal = tmp_path / "run.db"
    search = ds.Search.default(Sum(), initial=4, seed=1, journal=journal)
    batch = search.ask(4)
    search.tell(batch[2], 1.0)
    search.close()
    again = ds.Search.resume(journal, Sum())
    assert [p.leaf for p in again.pending] == [batch[i].leaf for i in (0, 1, 3)]
    offered = again.ask(2)
    assert offered == [batch[0], batch[1]]
    again.forget(again.pending[-1])
    fresh = again.ask()
    assert fresh.leaf not in {p.leaf for p in offered}
    assert len(again.pending) == 3
    again.close()


@pytest.mark.parametrize("budget", [12, 40])
def test_one_line_searches_go_on_with_their_journal(budget, tmp_path):
    journal = tmp_path / "run.db"
    first = ds.search(Sum(), budget, seed=2, journal=journal)
    assert ds.search(Sum(), budget, seed=5, journal=journal) == first  # nothing is left to do
    more = ds.search(Sum(), budget + 10, seed=5, journal=journal)
    assert more.history[:budget] == first.history
    assert len(more.history) == budget + 10


def test_failures_are_kept_and_not_evaluated_again(tmp_path):
    journal = tmp_path / "run.db"
    search = ds.Search.default(Failing(), initial=4, seed=0, journal=journal)
    with pytest.raises(EvaluationError):
        search.run(100)
    search.run(10, on_error="skip")
    search.close()
    failed = [e for e in read_events(journal) if (e.content.get("note") or {}).get("failure")]
    assert "no fifteen" in failed[0].content["note"]["failure"]
    again = ds.Search.resume(journal, Failing())
    assert history(again) == history(search)
    assert all(
        15 in leaf for leaf in [Failing().decode(e.content["leaf"]) for e in asked_of(journal, failed)]
    )
    again.close()


def asked_of(journal, failed):
    """The ask of each failure, by going through what was pending."""
    pending, found = [], []
    for event in read_events(journal):
        if event.kind == "ask":
            pending.append(event)
        elif event.content.get("pending") is not None:
            ended = pending.pop(event.content["pending"])
            if event in failed:
                found.append(ended)
    return found


def test_a_crash_before_hyperparameters_were_kept_learns_them_again(tmp_path):
    journal = tmp_path / "run.db"
    whole = ds.Search.default(Sum(), initial=8, seed=1, journal=journal)
    whole.run(30)
    whole.close()
    learn = next(e.number for e in read_events(journal) if e.kind == "learn")
    search = ds.Search.resume(cut_off(journal, learn, tmp_path / "cut.db"), Sum())
    search.run(30 - len(search.history))
    assert history(search) == history(whole)
    search.close()


# What is refused ----------------------------------------------------------------------------------


@pytest.fixture
def journal(tmp_path):
    path = tmp_path / "run.db"
    search = ds.Search.default(Sum(), initial=4, seed=0, journal=path)
    search.run(12)
    search.close()
    return path


def refused(path, words, problem=None, **arguments):
    before = path.read_bytes()
    with pytest.raises(JournalError, match=words):
        ds.Search.resume(path, problem or Sum(), **arguments)
    assert path.read_bytes() == before


def test_a_journal_of_another_problem_is_refused(journal):
    refused(
        journal,
        "another problem .its type was Sum, and is Subsets",
        ds.problems.Subsets(17, 4, reward=sum),
    )


def test_a_journal_of_other_data_is_refused(tmp_path):
    path = tmp_path / "run.db"
    ds.Search.default(ds.problems.Synthetic(seed=0), initial=2, seed=0, journal=path).close()
    refused(path, "another problem .its choices or its data differ", ds.problems.Synthetic(seed=1))


def test_a_journal_of_another_search_is_refused(journal):
    refused(journal, "noisy=False, not True", noisy=True)
    refused(journal, "covariance=None, not", covariance=ds.covariances.Overlap.of(Sum()))


def test_a_journal_of_a_default_search_with_other_rules_is_refused(journal, tmp_path):
    def change(events):
        events[0][2]["parts"]["proposers"] = "Portfolio of another version"
        return events

    refused(rewritten(journal, change, tmp_path / "other.db"), "another search .its proposers was")


def test_a_journal_of_another_version_is_refused(journal, monkeypatch):
    monkeypatch.setattr("dagsearch.__version__", "99.0")
    refused(journal, "99.0")


def test_parts_that_a_journal_cannot_hold_must_be_given_again(tmp_path):
    path, chosen = tmp_path / "run.db", Sum()
    covariance = ds.covariances.Overlap.of(chosen)
    search = ds.Search.default(chosen, covariance=covariance, seed=0, journal=path)
    search.run(8)
    search.close()
    refused(path, "made with covariance")
    again = ds.Search.resume(path, chosen, covariance=ds.covariances.Overlap.of(chosen))
    assert history(again) == history(search)
    again.close()
    policy, rollout = ds.policies.UpperConfidence(1.0), ds.rollouts.Uniform()
    parts = {"proposers": ds.proposers.Descent(policy, rollout, ds.expansions.AllChildren())}
    made = tmp_path / "parts.db"

    def scores():
        return ds.posterior.WeightScores(ds.covariances.Overlap.of(chosen), 0.1)

    search = ds.Search(
        chosen, scores=scores(), backup=ds.backups.MomentMatching(), **parts, seed=0, journal=made
    )
    search.run(8)
    search.close()
    refused(made, "same arguments")
    other = {"scores": scores(), "backup": ds.backups.Softmax(), **parts}
    refused(made, "another search .its backup was", **other)
    again = ds.Search.resume(made, chosen, scores=scores(), backup=ds.backups.MomentMatching(), **parts)
    assert history(again) == history(search)
    again.close()


@pytest.mark.parametrize("share", [0.0, 0.3, 0.7])
def test_a_truncated_file_is_refused(journal, share):
    content = journal.read_bytes()
    journal.write_bytes(content[: int(share * len(content))])
    refused(journal, "damaged|not a journal")


@pytest.mark.parametrize(
    ("old", "new"),
    [(b'"reward":', b'"reward":1'), (b'"kind":"ask"', b'"kind":"run"'), (b'"number":7', b'"number":8')],
)
def test_a_tampered_file_is_refused(journal, old, new):
    content = journal.read_bytes()
    assert old in content
    journal.write_bytes(content.replace(old, new, 1))
    refused(journal, "changed or damaged")


@pytest.mark.parametrize("gone", [slice(5, 6), slice(-1, None), slice(1, None), slice(0, None)])
def test_a_file_without_some_of_its_lines_is_refused(journal, gone):
    head, other_head, *lines = journal.read_bytes().splitlines(keepends=True)
    del lines[gone]
    journal.write_bytes(head + other_head + b"".join(lines))
    refused(journal, "changed or damaged|is damaged")


def test_other_files_are_refused(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("not a database at all, but long enough to be looked at" * 20)
    refused(text, "notes.txt is not a journal of dagsearch")
    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE event (number)")
    connection.close()
    refused(other, "not a journal of dagsearch")
    with pytest.raises(JournalError, match="there is no journal"):
        ds.Search.resume(tmp_path / "missing.db", Sum())


def test_a_journal_is_never_written_over(journal):
    before = journal.read_bytes()
    with pytest.raises(JournalError, match="exists already"):
        ds.Search.default(Sum(), seed=0, journal=journal)
    assert journal.read_bytes() == before
    with pytest.raises(JournalError, match="does not exist"):
        ds.Search.default(Sum(), seed=0, journal=journal.parent / "nowhere" / "run.db")


def test_a_second_search_on_one_journal_is_refused(journal):
    first = ds.Search.resume(journal, Sum())
    with pytest.raises(
        JournalError, match=r"in use by another search of this process: close\(\) that search"
    ):
        ds.Search.resume(journal, Sum())
    code = (
        "import sys, dagsearch as ds; from support.problems import Sum; ds.Search.resume(sys.argv[1], Sum())"
    )
    other = subprocess.run(
        [sys.executable, "-c", code, str(journal)], env=environment(), capture_output=True, text=True
    )
    assert "in use by another search, in another process: end that process" in other.stderr
    first.run(2)
    first.close()
    ds.Search.resume(journal, Sum()).close()


class Opaque:
    """A state that JSON does not know."""

    def __init__(self, number):
        self.number = number

    def __hash__(self):
        return self.number

    def __eq__(self, other):
        return self.number == other.number


class Steps:
    def root(self):
        return Opaque(0)

    def actions(self, state):
        return [1, 2] if state.number < 4 else []

    def step(self, state, action):
        return Opaque(state.number + action)

    def reward(self, leaf):
        return float(leaf.number)

    def items(self, state):
        return [state.number]


class EncodedSteps(Steps):
    def encode(self, state):
        return state.number

    def decode(self, encoded):
        return Opaque(encoded)


class WronglyEncodedSteps(EncodedSteps):
    def decode(self, encoded):
        return Opaque(encoded + 1)


def test_states_that_json_does_not_know_need_encode_and_decode(tmp_path):
    with pytest.raises(ProblemError, match="give the problem encode"):
        ds.Search.paper(Steps(), seed=0, journal=tmp_path / "run.db")
    with pytest.raises(ProblemError, match="a state other than"):
        ds.Search.paper(WronglyEncodedSteps(), seed=0, journal=tmp_path / "run.db")
    assert not (tmp_path / "run.db").exists()
    search = ds.Search.paper(EncodedSteps(), seed=0, journal=tmp_path / "run.db")
    search.run(5)
    search.close()
    again = ds.Search.resume(tmp_path / "run.db", EncodedSteps())
    assert [e.leaf.number for e in again.history] == [e.leaf.number for e in search.history]
    again.close()


@pytest.mark.parametrize(
    "value", [3, "a", None, True, 0.1, (1, ("b", 2.5)), frozenset({3, 1}), (frozenset({"x", (1, 2)}), -1)]
)
def test_states_come_back_as_they_were(value):
    assert from_json(json.loads(json.dumps(to_json(value)))) == value


@pytest.mark.parametrize(
    "chosen",
    [
        ds.problems.TicTacToe(),
        ds.problems.Synthetic(seed=0),
        ds.problems.Subsets(6, (1, 3), reward=sum),
        ds.baselines.as_tree(ds.problems.TicTacToe()),
        ds.baselines.as_tree(ds.problems.Subsets(6, (1, 3), reward=sum)),
    ],
    ids=lambda p: type(p).__name__,
)
def test_bundled_problems_can_be_resumed(chosen, tmp_path):
    search = ds.Search.paper(chosen, seed=0, journal=tmp_path / "run.db")
    search.run(20)
    search.close()
    again = ds.Search.resume(tmp_path / "run.db", chosen)
    assert history(again) == history(search)
    assert parts_of(again) == parts_of(search)
    again.close()


def test_a_search_with_a_journal_is_not_copied(tmp_path):
    import pickle

    search = ds.Search.paper(Sum(), seed=0, journal=tmp_path / "run.db")
    with pytest.raises(TypeError, match="resume it"):
        pickle.dumps(search)
    search.close()
    assert pickle.loads(pickle.dumps(search)).run(3).history


# Disks --------------------------------------------------------------------------------------------


@pytest.fixture
def full_disk():
    """Lets files of this process grow to a size and no further, as on a disk without room."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_stops_the_search_and_says_what_is_safe(tmp_path, full_disk):
    path = tmp_path / "run.db"
    search = ds.Search.default(Sum(), initial=4, seed=0, journal=path)
    search.run(5)
    full_disk(path.stat().st_size + 20_000)
    with pytest.raises(JournalError, match=r"too large.*events were written"):
        search.run(300)
    count = sum(e.kind == "tell" for e in read_events(path))
    assert len(search.history) == count > 5  # nothing is known that the file does not hold
    with pytest.raises(JournalError, match="events were written"):
        search.ask()
    assert search.result().history  # what is known can still be looked at
    search.close()
    full_disk(resource.RLIM_INFINITY)
    again = ds.Search.resume(path, Sum())
    assert history(again) == history(search)
    again.run(3)
    again.close()


def test_a_file_that_may_not_grow_stops_the_search(tmp_path):
    """The kernel itself refuses to write, as on a disk without room."""
    run = subprocess.run(
        durable_command(tmp_path, 80, 1), env=environment(DURABLE_LIMIT="30"), capture_output=True, text=True
    )
    assert "JournalError: cannot write to the journal" in run.stderr
    assert 0 < len(told(tmp_path)) < 80
    go_on(tmp_path / "run.db", tmp_path / "log", 80, 1)
    assert len(told(tmp_path)) == 80


def test_a_disk_that_becomes_read_only_stops_the_search(tmp_path):
    path = tmp_path / "run.db"
    search = ds.Search.default(Sum(), initial=4, seed=0, journal=path)
    proposal = search.ask()
    read_only, writable = os.open(path, os.O_RDONLY), search.recorder.journal._file._descriptor
    os.dup2(read_only, writable)
    os.close(read_only)
    with pytest.raises(JournalError, match=r"the reward 0.25 of .* tell it after resuming"):
        search.tell(proposal, 0.25)
    assert search.history == []
    search.close()
    again = ds.Search.resume(path, Sum())
    assert again.ask() == proposal
    again.close()


@pytest.mark.parametrize("written", [False, True])
def test_an_event_whose_head_cannot_be_written_counts_as_not_written(written, tmp_path):
    """Also if the head is there in spite of the error."""
    path, failing = tmp_path / "run.db", []

    def watch(operation, carry_out):
        fails = failing and operation.kind == "write" and operation.position < 1024
        if written or not fails:
            carry_out(operation.data)
        if fails:
            if written:
                failing.clear()
            raise OSError("no room")

    with watched(watch):
        search = ds.Search.default(Sum(), initial=4, seed=0, journal=path)
        proposal = search.ask()
        failing.append(True)
        with pytest.raises(JournalError, match=r"no room.*tell it after resuming"):
            search.tell(proposal, 0.25)
        search.close()
    again = ds.Search.resume(path, Sum())
    assert again.history == []
    assert again.ask() == proposal
    again.close()


def test_what_cannot_be_a_journal_is_named(tmp_path):
    for path in (tmp_path, "/dev/null"):
        with pytest.raises(JournalError, match="exists already"):
            ds.Search.default(Sum(), seed=0, journal=path)
        with pytest.raises(JournalError, match="is not a file"):
            ds.search(Sum(), 5, seed=0, journal=path)
    with pytest.raises(JournalError, match=r"cannot open /proc/run.db for writing"):  # nobody may
        ds.Search.default(Sum(), seed=0, journal="/proc/run.db")


# Killed -------------------------------------------------------------------------------------------


def durable_command(folder, budget, jobs):
    files = [str(folder / "run.db"), str(folder / "log")]
    return [sys.executable, "-m", "support.durable_run", *files, str(budget), str(jobs)]


def evaluated(folder):
    return (folder / "log").read_text().split()


def told(folder):
    return [e.content for e in read_events(folder / "run.db") if e.kind == "tell"]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("jobs", [1, 4])
def test_a_run_killed_at_a_random_moment_ends_as_if_it_had_not_been(jobs, tmp_path, long):
    budget = 300 if long else 80
    whole = tmp_path / "whole"
    whole.mkdir()
    go_on(whole / "run.db", whole / "log", budget, jobs)
    expected, rng = told(whole), random.Random(jobs)
    for number in range(50 if long else 3):
        folder = tmp_path / str(number)
        folder.mkdir()
        moment = f"{rng.randrange(1, budget)}:{rng.uniform(0.0, 0.02)}"
        with running(durable_command(folder, budget, jobs), env=environment(DURABLE_KILL=moment)) as process:
            assert process.wait() in (0, -signal.SIGKILL)
        before, paid_before = told(folder), Counter(evaluated(folder))
        go_on(folder / "run.db", folder / "log", budget, jobs)
        assert told(folder)[: len(before)] == before  # nothing told is lost
        for name in ("leaf", "reward", "actions", "expected"):
            assert [t[name] for t in told(folder)] == [t[name] for t in expected]
        paid_again = Counter(evaluated(folder)) - paid_before
        assert not {"-".join(map(str, t["leaf"])) for t in before} & set(paid_again)


# Half way -----------------------------------------------------------------------------------------


def test_ctrl_c_while_hyperparameters_are_learnt_harms_neither_search_nor_file(tmp_path, monkeypatch):
    calls, maximise = [], ds.evidence.Evidence.maximise

    def interrupted(self, *given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return maximise(self, *given)

    monkeypatch.setattr(ds.evidence.Evidence, "maximise", interrupted)
    search = ds.Search.default(Sum(), initial=6, seed=0)
    with pytest.raises(KeyboardInterrupt):
        search.run(40)
    told = search.history[-2]
    assert search.belief(told.leaf).g.mean == pytest.approx(told.reward, abs=0.05)
    calls.clear()
    journal = tmp_path / "run.db"
    search = ds.Search.default(Sum(), initial=6, seed=0, journal=journal)
    with pytest.raises(KeyboardInterrupt):
        search.run(40)
    with pytest.raises(JournalError, match="stopped halfway"):
        search.ask()
    search.close()
    monkeypatch.undo()
    again = ds.Search.resume(journal, Sum())
    again.run(40 - len(again.history))
    assert history(again) == history_of_uninterrupted(40)
    again.close()


def history_of_uninterrupted(budget):
    search = ds.Search.default(Sum(), initial=6, seed=0)
    search.run(budget)
    return history(search)


def test_ctrl_c_in_a_reward_and_the_same_script_again(tmp_path):
    class Interrupted(Sum):
        left = 7

        def reward(self, leaf):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return super().reward(leaf)

    whole = ds.search(Interrupted(), 6, seed=0)
    assert len(whole.history) == 6
    whole = ds.search(Sum(), 30, seed=0)
    problem = Interrupted()
    with pytest.raises(ds.errors.SearchInterrupted):
        ds.search(problem, 30, seed=0, journal=tmp_path / "run.db")
    assert ds.search(problem, 30, seed=0, journal=tmp_path / "run.db").history == whole.history


class Words:
    """One of the leaves is nothing that JSON knows."""

    def root(self):
        return ()

    def actions(self, state):
        return np.array([0, 1, 2]) if len(state) < 5 else []

    def step(self, state, action):
        state = (*state, "abc"[action])
        return (*state[:4], b"bytes") if state == ("c",) * 5 else state

    def reward(self, leaf):
        return float(leaf.count("c"))


def test_a_state_that_cannot_be_kept_stops_the_search_and_the_file_is_good(tmp_path):
    journal = tmp_path / "run.db"
    search = ds.Search.default(Words(), seed=1, journal=journal)
    with pytest.raises(ProblemError, match="cannot be kept"):
        search.run(243)
    assert search.history
    with pytest.raises(JournalError, match="Resume from the file"):
        search.ask()
    search.close()
    again = ds.Search.resume(journal, Words())
    assert history(again) == history(search)
    again.close()


@pytest.mark.parametrize("name", SEARCHES)
def test_looking_does_not_change_what_comes_next(name, tmp_path):
    def make():
        return SEARCHES[name](linear_subsets())

    looked, not_looked = kept(make(), tmp_path / "run.db"), make()
    for search in (looked, not_looked):
        search.run(40)
    for _ in range(3):
        for search in (looked, not_looked):
            for _ in range(4):
                search.ask()
                if search is looked:
                    search.belief(search.problem.root())
                    search.recommend()
                    search.result()
        assert looked.pending == not_looked.pending
        for search in (looked, not_looked):
            for proposal in search.pending[:2]:
                search.tell(proposal, search.problem.reward(proposal.leaf))
                if search is looked:
                    search.belief(proposal.leaf)
    again = replayed(make, tmp_path / "run.db")
    assert looked.ask(4) == not_looked.ask(4) == again.ask(4)
    assert state(looked) == state(not_looked) == state(again)


def test_another_covariance_of_the_same_name_is_refused(tmp_path):
    matrix = np.cov(np.random.default_rng(0).normal(size=(16, 40)))
    path = tmp_path / "run.db"
    search = ds.Search.default(
        Sum(), covariance=ds.covariances.SetKernel(matrix), seed=0, initial=10, journal=path
    )
    search.run(8)
    search.close()
    other = ds.covariances.SetKernel(matrix[::-1, ::-1])
    refused(path, "another covariance|another search", covariance=other)


def test_what_a_search_left_behind_before_it_began_is_no_journal_yet(tmp_path):
    path = tmp_path / "run.db"
    path.touch()
    assert len(ds.search(Sum(), 12, seed=0, journal=path).history) == 12
    assert len(ds.search(Sum(), 14, seed=0, journal=path).history) == 14


def test_arguments_may_be_given_again(tmp_path):
    path = tmp_path / "run.db"
    prior = (0.0, 1.0)
    ds.Search.paper(Sum(), increment_prior=prior, seed=0, journal=path).close()
    ds.Search.resume(path, Sum(), increment_prior=prior).close()
    ds.Search.default(Sum(), initial=np.int64(4), seed=0, journal=tmp_path / "int.db").close()
    ds.Search.resume(tmp_path / "int.db", Sum()).close()


# What may be begun, and what a copy is ---------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        bytes(1),
        bytes(512),
        bytes(44_000),
        bytes(1_000_000),
        bytes(1024) + b"the user's text\n",
        bytes(700) + b"text",
        b"[",
        b"{",
        b"text",
    ],
    ids=["1", "512", "44 kB", "1 MB", "heads and text", "zeros and text", "[", "{", "text"],
)
def test_only_an_empty_file_may_be_begun(content, tmp_path, capsys):
    path, paid = tmp_path / "run.db", []
    path.write_bytes(content)

    def value(leaf):
        paid.append(leaf)
        return float(sum(leaf))

    for begin in (
        lambda: ds.search(ds.problems.Subsets(9, 3, reward=value), 5, journal=path),
        lambda: ds.Search.default(Sum(), seed=0, journal=path),
        lambda: ds.Search.resume(path, Sum()),
        lambda: backup_journal(path, tmp_path / "copy.db"),
    ):
        with pytest.raises(JournalError) as error:
            begin()
        assert "\n" not in str(error.value)
    assert main(["show", str(path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert path.read_bytes() == content
    assert not paid
    assert os.listdir(tmp_path) == ["run.db"]


def test_an_ask_does_not_wait_for_the_disk_and_a_reward_waits_once(tmp_path):
    operations = []

    def watch(operation, carry_out):
        operations.append(operation.kind)
        carry_out(operation.data)

    with watched(watch):
        search = ds.Search.default(Sum(), initial=4, seed=0, journal=tmp_path / "run.db")
        operations.clear()
        proposals = search.ask(3)
        assert operations == ["write"] * 3
        for proposal in proposals:
            operations.clear()
            search.tell(proposal, 1.0)
            assert operations == ["write", "sync", "write"]
        search.close()


def test_asks_that_a_power_cut_loses_are_asked_again(tmp_path):
    path = tmp_path / "run.db"
    search = ds.Search.default(Sum(), initial=4, seed=0, journal=path)
    search.run(6)
    safe = path.stat().st_size
    asked = search.ask(4)
    state = search.asked
    search.recorder.journal._file.close()  # the machine stops
    content = path.read_bytes()
    for left in (safe, safe + 3, safe + 700, len(content) - 1):
        image = tmp_path / f"{left}.db"
        image.write_bytes(content[:left] + bytes(len(content) - left))
        again = ds.Search.resume(image, Sum())
        assert again.ask(4) == asked
        assert again.asked == state
        again.close()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644])
def test_a_copy_keeps_the_mode_and_replaces_nothing(mode, tmp_path):
    path, copy, other = tmp_path / "run.db", tmp_path / "copy.db", tmp_path / "other"
    search = ds.Search.default(Sum(), initial=4, seed=0, journal=path)
    search.run(3)
    path.chmod(mode)
    assert backup_journal(path, copy) == len(read_events(path))
    assert stat.S_IMODE(copy.stat().st_mode) == mode
    other.write_text("the user's")
    for name, target in (("link", other), ("dangling", tmp_path / "nothing"), ("hard", None)):
        link = tmp_path / name
        if target is None:
            os.link(other, link)
        else:
            link.symlink_to(target)
        with pytest.raises(JournalError, match="exists already"):
            backup_journal(path, link)
    assert other.read_text() == "the user's"
    assert not (tmp_path / "nothing").exists()
    search.close()


@pytest.mark.slow
def test_journals_are_locked_by_the_branch_for_windows_as_well():
    """In a process of its own, in which ``fcntl`` cannot be imported."""
    tests = ["tests/durable/test_follow.py", __file__, "tests/integration/test_join.py"]
    chosen = "follow or second_search or begin_at_once or in_use or killed_is_evaluated or lines_that_no"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "support.without_fcntl"]
    done = subprocess.run(
        [*command, *tests, "-k", f"({chosen}) and not windows"],
        env=environment(),
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert int(re.search(r"(\d+) passed", done.stdout).group(1)) >= 9
