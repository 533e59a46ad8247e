"""Stored runs: what docs/runs.md promises of one process at a time."""

import copy
import gc
import json
import os
import pickle
import resource
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import pytest

import dagsearch as ds
from dagsearch._internal.plain import from_json, to_json
from dagsearch.storage.database import Database, PostgreSQL, SQLite, database_of
from support.problems import Failing, Sum
from support.processes import environment
from support.runs import (
    cut_off,
    events,
    history,
    knowledge,
    lines_of,
    logged,
    record,
    restored,
    rewritten,
)
from support.searches import methods_of_the_experiments
from support.steps import BitPasses, Language, Samples

StorageError = ds.StorageError
BREAK = (  # every connection but the own one
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE pid <> pg_backend_pid() AND usename = 'postgres'"
)


def default(problem, storage=None, **more):
    return ds.Search.default(problem, **{"initial": 4, "seed": 0} | more, storage=storage)


def finished(search, budget, **execution):
    """The search, closed, after ``budget`` evaluations in all."""
    with closing(search):
        if search.spent < budget:
            search.run(budget - search.spent, **execution)
    return search


def told(storage):
    """Every reward of a run, and what was believed before, which must be equal to the last bit."""
    return [
        (e.body["leaf"], e.body["reward"], e.body["predicted"], e.body.get("step"))
        for e in events(storage, "tell")
    ]


# Resumed is uninterrupted -----------------------------------------------------------------------


class Own:
    """A class of the user's, with states of its own."""

    def root(self):
        return ()

    def actions(self, state):
        return ["a", "b", "c"] if len(state) < 5 else []

    def step(self, state, action):
        return (*state, action)

    def reward(self, leaf):
        return float(leaf.count("a") - 2 * (leaf[0] == leaf[-1]))


def pairs(choose):
    first = choose("first", range(9))
    return float(first * choose("second", range(7)) if first % 2 else -first)


def total(chosen):
    return float(sum(chosen))


def order_cost(order):
    return -float(sum(abs(place - item) for place, item in enumerate(order)))


KINDS = {
    "subsets": (Sum, ds.Search.default),
    "choices": (
        lambda: ds.problems.Choices({"a": range(9), "b": [1, 2, 5]}, reward=lambda c: c["a"] * c["b"]),
        default,
    ),
    "orders": (lambda: ds.problems.Orders(range(6), reward=order_cost), default),
    "sequences": (lambda: ds.problems.Sequences("abc", 6, reward=lambda s: float(s.count("a"))), default),
    "function": (lambda: ds.problems.FunctionProblem(pairs), default),
    "own class": (Own, default),
    "noisy": (Sum, lambda *a, **k: default(*a, noisy=True, **k)),
    "paper": (lambda: ds.problems.Subsets(12, 3, reward=total), ds.Search.paper),
    "standardised": (Sum, lambda *a, **k: ds.Search.paper(*a, standardize=5, **k)),
    "game": (ds.problems.TicTacToe, default),
    "costly steps": (lambda: Language(0, letters=4, length=5), ds.StepSearch),
    "iterators of steps": (Samples, ds.StepSearch),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_cut_off_after_any_event_ends_as_if_it_had_not_been(kind, tmp_path, long):
    problem, make = KINDS[kind]
    storage, budget = tmp_path / "run.db", 24
    finished(make(problem(), seed=1, storage=storage), budget)
    whole, count = told(storage), len(events(storage))
    assert len(whole) > 15
    for cut in sorted({1, count - 1, *range(2, count, max(1, count // (20 if long else 4)))}):
        copy = cut_off(storage, cut, tmp_path / f"{cut}.db")
        before = told(copy)
        finished(make(problem(), seed=7, storage=copy), budget)  # the seed is that of the run
        assert before == whole[: len(before)]
        assert told(copy) == whole


def test_evaluations_at_once_that_are_learnt_in_order_are_resumed_as_well(storage, fresh):
    with ThreadPoolExecutor(2) as executor:
        several = {"executor": executor, "deterministic": True}
        finished(default(Sum(), storage), 20, **several)
        for cut in range(1, len(events(storage)), 9):
            copy = cut_off(storage, cut, fresh())
            finished(ds.Search.resume(copy, Sum()), 20, **several)
            assert told(copy) == told(storage)


@pytest.mark.parametrize(
    "make", dict(methods_of_the_experiments()).values(), ids=dict(methods_of_the_experiments())
)
def test_every_composition_is_repeated_to_the_last_bit(make, tmp_path):
    search = logged(make(), tmp_path / "run.db")
    search.run(30)
    again = logged(make(), cut_off(tmp_path / "run.db", None, tmp_path / "copy.db"))
    assert knowledge(again) == knowledge(search)
    assert again.ask() == search.ask()


@pytest.mark.parametrize("left", ["closed", "collected", "open"])
def test_whoever_leaves_a_run_leaves_it_whole(left, storage):
    search = default(Sum(), storage)
    search.run(8)
    before, pending = history(search), search.ask()
    if left == "closed":
        search.close()
        search.tell(pending, 1.0)  # is not stored
    if left == "collected":
        del search
        gc.collect()
    again = ds.Search.resume(storage, Sum())
    assert history(again) == before
    proposal = again.ask()
    assert (proposal == pending) == (left != "open")  # which its process may still evaluate
    again.close()


def test_one_line_searches_go_on(storage):
    first = ds.search(Sum(), 12, seed=2, storage=storage)
    assert ds.search(Sum(), 12, seed=5, storage=storage).history == first.history
    more = ds.search(Sum(), 20, storage=storage)
    assert more.history[:12] == first.history
    assert len(more.history) == 20


def test_hyperparameters_that_were_learnt_and_not_written_are_learnt_again(tmp_path):
    storage = tmp_path / "run.db"
    finished(default(Sum(), storage), 20)
    learnt = [event.number for event in events(storage, "learnt")]
    assert learnt
    for number in learnt:
        copy = cut_off(storage, number - 1, tmp_path / f"{number}.db")
        ds.Search.resume(copy, Sum()).close()  # and the process ends again
        finished(ds.Search.resume(copy, Sum()), 20)
        assert told(copy) == told(storage)


# Failures ----------------------------------------------------------------------------------------


def test_failures_are_stored_count_and_are_not_evaluated_again(storage):
    search = default(Failing(), storage)
    with pytest.raises(ds.EvaluationError):
        search.run(100)
    spent = search.spent
    search.run(20, on_error="skip")
    search.close()
    failed = [event for event in events(storage, "forget") if "no fifteen" in event.note["failure"]]
    assert len(failed) == search.data.failed >= 1
    assert search.spent == spent + 20
    again = ds.Search.resume(storage, Failing())
    assert (history(again), again.spent, again.data.failed) == (history(search), search.spent, len(failed))
    finished(again, spent + 30, on_error="skip")
    asked = {event.number: tuple(event.body["leaf"]) for event in events(storage, "ask")}
    lost = [asked[event.body["ask"]] for event in events(storage, "forget")]
    assert len(set(asked.values())) == len(asked)
    assert all(15 in leaf for leaf in lost)
    assert record(storage).spent == spent + 30


def test_a_failure_that_is_told_as_a_reward_keeps_its_text(storage):
    result = ds.search(Failing(), 20, seed=0, storage=storage, on_error=-1.0)
    failed = [one for one in result.history if 15 in one.leaf]
    read = record(storage)
    assert len(failed) == len(read.failures) >= 1
    assert all("no fifteen" in failure.text for failure in read.failures)
    assert (len(result.history), read.spent) == (20, 20)


# Several runs in one database, and the way out of it ----------------------------------------------


def test_a_database_holds_several_runs_by_name(storage):
    first = ds.search(Sum(), 6, seed=0, storage=storage, name="one")
    ds.search(Own(), 6, seed=0, storage=storage, name="two")
    assert ds.search(Sum(), 6, storage=storage, name="one").history == first.history
    with pytest.raises(StorageError, match=r"several runs: give the name of one of them .'one', 'two'"):
        ds.search(Sum(), 9, storage=storage)
    with pytest.raises(StorageError, match=r"has no run named 'three'"):
        ds.Search.resume(storage, Sum(), name="three")
    with pytest.raises(ValueError, match="give storage="):
        ds.search(Sum(), 9, name="one")


def test_an_exported_run_is_imported_and_goes_on_as_it_would_have(storage, tmp_path):
    whole = finished(default(Sum()), 20)
    finished(default(Sum(), storage), 11)
    copy = restored(lines_of(storage), tmp_path / "copy.db", "again")
    assert lines_of(copy)[1:] == lines_of(storage)[1:]
    again = finished(ds.Search.resume(copy, Sum(), name="again"), 20)
    assert history(again) == history(whole)
    with pytest.raises(StorageError, match="has a run named 'again' already"):
        restored(lines_of(storage), copy, "again")


@pytest.mark.parametrize(
    "lines",
    [[], ["{}"], ["no JSON"], ["[" * 10**5], ['{"run": {"name": "x"}}'], ["a run", "without an event"]],
)
def test_lines_that_are_no_run_write_nothing(lines, storage, fresh):
    finished(default(Sum(), storage), 3)
    if lines[-1:] == ["without an event"]:
        lines = lines_of(storage)
        del lines[2]
    with pytest.raises(StorageError, match="not an exported run"):
        restored(lines, copy := fresh())
    with pytest.raises(StorageError):  # not even a database without a run
        record(copy)


# Readers ------------------------------------------------------------------------------------------


def test_a_reader_sees_a_search_write(storage):
    search, reader = default(Sum(), storage), database_of(storage)
    for number in range(1, 6):
        search.run(1)
        assert sum(event.kind == "tell" for event in reader.events("run")) == number
    reader.close()
    search.close()


# What is refused ----------------------------------------------------------------------------------


@pytest.fixture
def stored(tmp_path):
    finished(default(Sum(), tmp_path / "run.db"), 12)
    return tmp_path / "run.db"


def refused(storage, words, problem=None, **arguments):
    before = storage.read_bytes()
    with pytest.raises(StorageError, match=words) as error:
        ds.Search.resume(storage, problem or Sum(), **arguments)
    assert "\n" not in str(error.value)
    assert storage.read_bytes() == before
    assert not storage.with_name(f"{storage.name}-wal").exists()  # a reader leaves no other file


def test_a_run_of_another_problem_is_refused(stored, tmp_path):
    refused(
        stored,
        "another problem or search: its type was Sum, and is Subsets",
        ds.problems.Subsets(17, 4, reward=sum),
    )
    default(ds.problems.Synthetic(seed=0), tmp_path / "data.db").close()
    refused(tmp_path / "data.db", "its identity was", ds.problems.Synthetic(seed=1))
    ds.StepSearch(BitPasses(0), storage=tmp_path / "steps.db").close()
    with pytest.raises(StorageError, match="another problem"):
        ds.StepSearch(BitPasses(1), storage=tmp_path / "steps.db")


def test_a_run_of_another_search_is_refused(stored, tmp_path):
    refused(stored, "another problem or search: its noisy was False, and is True", noisy=True)
    refused(stored, "another problem or search", covariance=ds.covariances.Overlap.of(Sum()))
    with pytest.raises(StorageError, match="another problem or search"):
        default(Sum(), stored, noisy=True)
    with pytest.raises(StorageError, match="another problem or search"):
        ds.Search.paper(Sum(), storage=stored)
    other = rewritten(
        stored,
        lambda rows: rows[0]["run"]["settings"]["parts"].update(covariance="others"),
        tmp_path / "other.db",
    )
    refused(other, "another problem or search: its covariance was others")


def test_another_covariance_of_the_same_name_is_refused(tmp_path):
    matrix, storage = np.cov(np.random.default_rng(0).normal(size=(16, 40))), tmp_path / "run.db"
    default(Sum(), storage, covariance=ds.covariances.SetKernel(matrix)).close()
    refused(storage, "another problem or search", covariance=ds.covariances.SetKernel(matrix[::-1, ::-1]))


def test_what_was_minimised_is_not_maximised_later(storage):
    ds.minimize(pairs, 5, seed=0, storage=storage)
    with pytest.raises(StorageError, match=r"its minimize was True, and is False"):
        ds.maximize(pairs, 9, storage=storage)
    assert len(ds.minimize(pairs, 9, storage=storage).history) == 9


@pytest.mark.parametrize(
    ("version", "allowed"), [("2.0.1", True), ("2.9", True), ("3.0.0", True), ("1.9", False)]
)
def test_runs_of_earlier_versions_are_continued(version, allowed, stored, monkeypatch, caplog):
    monkeypatch.setattr("dagsearch.__version__", version)
    if not allowed:
        refused(stored, f"was begun with dagsearch 2.0.0, this is {version}.*dagsearch export")
        return
    assert len(finished(ds.Search.resume(stored, Sum()), 15).history) == 15
    assert "was begun with dagsearch 2.0.0" in caplog.text


def test_parts_that_cannot_be_stored_must_be_given_again(tmp_path):
    storage, chosen = tmp_path / "run.db", Sum()
    search = finished(default(chosen, storage, covariance=ds.covariances.Overlap.of(chosen)), 8)
    refused(storage, "another problem or search")
    again = ds.Search.resume(storage, chosen, covariance=ds.covariances.Overlap.of(chosen))
    assert history(again) == history(search)
    again.close()


def changed(storage, statement, *values):
    with closing(sqlite3.connect(storage)) as connection:
        connection.execute(statement, values)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE event SET body = replace(body, '\"reward\":', '\"reward\":1') WHERE number = 7",
        "UPDATE event SET claim = 'mine' WHERE number = 7",
        "UPDATE event SET body = x'00ff' WHERE number = 7",
        "UPDATE event SET time = 'never' WHERE number = 7",
        "DELETE FROM event WHERE number = 7",
    ],
)
def test_an_event_that_was_changed_is_named(harm, stored):
    number = next(event.number for event in events(stored, "tell"))
    changed(stored, harm.replace("number = 7", f"number = {number}"))
    refused(stored, f"run.db is damaged: event {number} of run 'run' was changed")


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE run SET settings = '{'",
        "UPDATE run SET problem = x'00'",
        "UPDATE run SET settings = '{}'",
        """UPDATE run SET settings = replace(settings, '"seed": 0', '"seed": 1')""",
    ],
)
def test_a_header_that_was_changed_is_named(harm, stored):
    changed(stored, harm)
    refused(stored, "run.db")


@pytest.mark.parametrize(
    "content", [bytes(44_000), b"text", "CREATE TABLE event (number)", "CREATE TABLE trials (number)"]
)
def test_a_database_of_another_program_stays_as_it_is(content, tmp_path):
    storage = tmp_path / "notes.txt"
    if isinstance(content, bytes):
        storage.write_bytes(content)
    else:  # of another program
        changed(storage, content)
    before = storage.read_bytes()
    for begin in (lambda: default(Sum(), storage), lambda: ds.Search.resume(storage, Sum())):
        with pytest.raises(StorageError, match=r"notes.txt.* is not a database"):
            begin()
    assert storage.read_bytes() == before
    assert os.listdir(tmp_path) == ["notes.txt"]


@pytest.mark.parametrize(
    ("storage", "words"),
    [
        ("", "must be the path of a file or postgresql"),
        (":memory:", "must be the path of a file or postgresql"),
        ("mysql://host/x", "must be the path of a file or postgresql"),
        (3, "must be the path of a file or postgresql"),
        ("nowhere/run.db", "there is no folder nowhere"),
        (".", "unable to open"),
        ("postgresql://me:secret@127.0.0.1:1/none", r"^postgresql://127.0.0.1/none: connection.*refused"),
    ],
)
def test_what_cannot_be_storage_is_named(storage, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match=words) as error:
        default(Sum(), storage)
    assert "\n" not in str(error.value)
    assert "secret" not in str(error.value)
    assert os.listdir(tmp_path) == []


def test_a_missing_run_is_not_made_by_resuming_it(tmp_path):
    with pytest.raises(StorageError, match=r"there is no file .*missing.db"):
        ds.Search.resume(tmp_path / "missing.db", Sum())
    assert os.listdir(tmp_path) == []


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
    """As a tuple, which JSON makes a list of."""

    def encode(self, state):
        return (state.number, "encoded")

    def decode(self, encoded):
        return Opaque(encoded[0])


class WronglyEncodedSteps(EncodedSteps):
    def decode(self, encoded):
        return Opaque(encoded[0] + 1)


def test_states_that_json_does_not_know_need_encode_and_decode(tmp_path):
    for problem, words in (
        (Steps(), "give the problem encode"),
        (WronglyEncodedSteps(), "must be equal to the state"),
    ):
        with pytest.raises(ds.ProblemError, match=words):
            ds.Search.paper(problem, seed=0, storage=tmp_path / "run.db")
    assert os.listdir(tmp_path) == []
    search = finished(ds.Search.paper(EncodedSteps(), seed=0, storage=tmp_path / "run.db"), 5)
    again = ds.Search.resume(tmp_path / "run.db", EncodedSteps())
    assert history(again) == history(search)
    again.close()


@pytest.mark.parametrize(
    "value",
    [(), (1, "a", None), frozenset({1, (2, 3)}), ((1.5, True), frozenset()), frozenset({frozenset({1})})],
)
def test_states_survive_json(value):
    assert from_json(json.loads(json.dumps(to_json(value)))) == value


# Nothing that is read is executed -------------------------------------------------------------------

HOSTILE = [
    "__import__('os').system('touch executed')",
    "{0.__class__.__mro__}",
    "$(touch executed)",
    "'; DROP TABLE event; --",
    "<script>document.title='executed'</script>",
    "!!python/object/apply:os.system ['touch executed']",
    "\x1b[2J\u202e\x00",
]


def test_hostile_strings_are_only_strings(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problem = ds.problems.Choices(dict.fromkeys(HOSTILE[:2], HOSTILE), reward=len)
    search = default(problem, "run.db", name="'; DROP TABLE run; --")
    for text in HOSTILE:
        search.tell(search.ask(), 1.0, note={text: text})
    search.close()
    copy = cut_off("run.db", None, "copy.db")
    again = ds.Search.resume(copy, problem)
    assert history(again) == history(search)
    assert [event.body["note"] for event in events(copy, "tell")] == [{text: text} for text in HOSTILE]
    record(copy)
    again.close()
    assert not os.path.exists("executed")


def test_malformed_events_with_right_checksums_are_refused_by_number(stored, tmp_path):
    """Whoever can write a database can write such events, for instance by an import."""
    bodies = [
        {},
        {"reward": "x"},
        {"ask": [], "leaf": {"set": {}}},
        {"step": 7},
        {"leaf": "__import__('os')"},
    ]
    place = {event.kind: event.number for event in events(stored)}
    count = 0
    for kind, number in place.items():
        for body in bodies:
            count += 1
            copy = rewritten(stored, lambda rows: rows[number].update(body=body), tmp_path / f"{count}.db")  # noqa: B023
            if kind in ("ask", "tell"):
                with pytest.raises(StorageError, match=rf"event {number}"):
                    ds.Search.resume(copy, Sum())
            with_errors(record, copy)
            with_errors(lambda: ds.Search.resume(copy, Sum()).close())  # noqa: B023


def with_errors(act, *given):
    """Whatever the event, the only error is that of storage."""
    try:
        act(*given)
    except StorageError as error:
        assert "\n" not in str(error)  # noqa: PT017


# When nothing can be written --------------------------------------------------------------------------


@pytest.fixture
def full_disk():
    """Limits the size of files: the kernel then refuses to write, as on a disk without room."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


def test_a_full_disk_stops_the_search_and_names_the_reward(tmp_path, full_disk):
    storage = tmp_path / "run.db"
    search = default(Sum(), storage)
    search.run(5)
    proposal = search.ask()
    full_disk(storage.with_name("run.db-wal").stat().st_size)
    for act in (lambda: search.tell(proposal, 0.25), search.ask):
        with pytest.raises(StorageError, match=r"tell the reward 0.25 of .* after resuming"):
            act()
    assert len(search.history) == len(events(storage, "tell")) == 5
    full_disk(resource.RLIM_INFINITY)
    search.close()
    again = ds.Search.resume(storage, Sum())
    assert history(again) == history(search)
    assert again.ask() == proposal
    again.tell(proposal, 0.25)
    assert len(finished(again, 20).history) == 20


@pytest.mark.parametrize("harm", ["delete", "replace"])
def test_a_run_that_is_deleted_or_replaced_meanwhile_stops_the_search(harm, stored, tmp_path):
    copy = cut_off(stored, 4, tmp_path / "copy.db")
    search = ds.Search.resume(stored, Sum())
    proposal = search.ask()
    if harm == "delete":
        stored.unlink()
    else:
        copy.replace(stored)
    with pytest.raises(StorageError, match="deleted or replaced"):
        search.tell(proposal, 1.0)
    search.close()


def test_a_forked_search_tells_nothing(stored, monkeypatch):
    search = ds.Search.resume(stored, Sum())
    monkeypatch.setattr(search.log._heart, "is_alive", lambda: False)  # threads end in a fork
    with pytest.raises(StorageError, match="forked"):
        search.ask()
    search.close()


def test_a_connection_that_breaks_is_made_again(postgres):
    import psycopg

    storage = postgres()
    search = default(Sum(), storage)
    for _ in range(3):
        search.run(3)
        with psycopg.connect(storage, autocommit=True) as connection:
            connection.execute(BREAK)
    search.run(3)
    search.close()
    assert len(events(storage, "tell")) == 12


def test_several_processes_on_a_network_file_system_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(Database, "is_on_network", property(lambda self: True))
    monkeypatch.setattr(SQLite, "is_on_network", property(lambda self: True))
    search = default(Sum(), tmp_path / "run.db")
    search.run(3)
    with pytest.raises(StorageError, match=r"network file system.*storage='postgresql://…'.*executor="):
        ds.Search.resume(tmp_path / "run.db", Sum())
    search.run(2)
    search.close()
    finished(ds.Search.resume(tmp_path / "run.db", Sum()), 8)  # one at a time is well


# Interrupted halfway ----------------------------------------------------------------------------------


def test_ctrl_c_while_hyperparameters_are_learnt_harms_neither_search_nor_run(tmp_path, monkeypatch):
    calls, maximise = [], ds.evidence.Evidence.maximise

    def interrupted(self, *given):
        calls.append(given)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return maximise(self, *given)

    monkeypatch.setattr(ds.evidence.Evidence, "maximise", interrupted)
    search = default(Sum(), tmp_path / "run.db")
    with pytest.raises(KeyboardInterrupt):
        search.run(20)
    with pytest.raises(StorageError, match="stopped halfway"):
        search.ask()
    search.close()
    monkeypatch.undo()
    again = finished(ds.Search.resume(tmp_path / "run.db", Sum()), 20)
    assert history(again) == history(finished(default(Sum()), 20))


def test_ctrl_c_in_a_reward_and_the_same_script_again(storage):
    class Interrupted(Sum):
        left = 7

        def reward(self, leaf):
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
            return super().reward(leaf)

    problem = Interrupted()
    with pytest.raises(ds.SearchInterrupted):
        ds.search(problem, 20, seed=0, storage=storage)
    assert ds.search(problem, 20, storage=storage).history == ds.search(Sum(), 20, seed=0).history


def test_a_search_with_storage_is_neither_copied_nor_pickled(tmp_path):
    search = default(Sum(), tmp_path / "run.db")
    for act in (copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="cannot pickle"):
            act(search)
    search.close()


def test_a_process_that_is_killed_loses_nothing_that_was_told(storage):
    """After every reward it says so; what it has said is in the run."""
    code = (
        "import os, signal, sys, dagsearch as ds; from support.problems import Sum\n"
        "search = ds.Search.default(Sum(), initial=4, seed=0, storage=sys.argv[1])\n"
        "for number, one in enumerate(search.steps(20), start=1):\n"
        "    print(sorted(one.leaf), one.reward, flush=True)\n"
        "    if number == int(sys.argv[2]): os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    said = []
    for more in (1, 6, 4):
        command = [sys.executable, "-c", code, storage, str(more)]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True)
        assert done.returncode == -signal.SIGKILL, done.stderr
        said += done.stdout.splitlines()
        assert [f"{e.body['leaf']} {e.body['reward']}" for e in events(storage, "tell")] == said
    finished(ds.Search.resume(storage, Sum()), 20)
    assert [reward for _, reward, *_ in told(storage)] == [
        e.reward for e in finished(default(Sum()), 20).history
    ]


def test_pending_leaves_are_offered_again(storage):
    search = default(Sum(), storage)
    batch = search.ask(4)
    search.tell(batch[2], 1.0)
    search.close()
    again = ds.Search.resume(storage, Sum())
    assert [p.leaf for p in again.pending] == [batch[i].leaf for i in (0, 1, 3)]
    assert again.ask(2) == [batch[0], batch[1]]
    again.forget(again.pending[-1])
    assert again.ask().leaf not in {batch[0].leaf, batch[1].leaf}
    again.close()


def test_a_server_that_is_gone_stops_the_search_and_names_the_reward(postgres, monkeypatch):
    import psycopg

    monkeypatch.setattr(PostgreSQL, "tries", 2)
    storage = postgres()
    search = default(Sum(), storage)
    search.run(5)
    proposal, where = search.ask(), storage.replace("/postgres?", "/gone?")
    with monkeypatch.context() as patched:
        patched.setattr(search.log.database, "_url", where)
        with psycopg.connect(storage, autocommit=True) as connection:
            connection.execute(BREAK)
        with pytest.raises(StorageError, match=r"tell the reward 0.25 of frozenset.* after resuming"):
            search.tell(proposal, 0.25)
    search.close()
    again = ds.Search.resume(storage, Sum())
    assert len(again.history) == 5
    again.close()
