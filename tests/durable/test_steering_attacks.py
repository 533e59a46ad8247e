"""Steering files that others made, that are no files or are lost: nothing is forged, lost or waited for."""

import errno
import json
import os
import stat
import threading
import time

import pytest

import dagsearch as ds
from dagsearch.cli import main
from dagsearch.journal.journal import read_events
from dagsearch.journal.record import Record
from dagsearch.journal.requests import requests_path, send_request
from dagsearch.report.report import Report, Watched
from tests.durable.attacks.steering import BAD, FORGERIES, NOBODY, line, nested

needs_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs two accounts")
needs_posix = pytest.mark.skipif(os.name != "posix", reason="such files do not exist there")


def problem(reward=sum):
    return ds.problems.Subsets(10, 3, reward=reward)


@pytest.fixture
def journal(tmp_path):
    return tmp_path / "run.db"


def begun(journal, reward=sum):
    return ds.Search.default(problem(reward), seed=0, initial=4, journal=journal)


def forged(journal):
    """Requests that would end the search with a false best reward."""
    best = {"leaf": [0, 1, 2], "reward": 1e6}
    return line(journal, "tell", best) + line(journal, "stop", name="fedcba9876543210")


def assert_not_steered(search, evaluations=8):
    assert len(search.history) == evaluations
    assert search.result().stopped == "budget"
    assert search.result().best_reward < 100.0
    search.close()


# Who may steer ------------------------------------------------------------------------------------


def test_a_run_that_did_not_opt_in_reads_no_requests(journal):
    search = begun(journal)
    requests_path(journal).touch(mode=0o600)
    requests_path(journal).write_bytes(forged(journal))
    search.run(8)
    assert_not_steered(search)


def test_the_run_makes_the_file_for_its_own_account_alone(journal):
    search = begun(journal)
    search.run(2, steer=True)
    found = os.stat(requests_path(journal))
    assert stat.S_ISREG(found.st_mode)
    if os.name == "posix":
        assert stat.S_IMODE(found.st_mode) == 0o600
    search.close()


@needs_root
def test_a_file_of_another_account_does_nothing(journal, caplog):
    """As in a folder like /tmp, where anyone may make the file before the run does."""
    journal.parent.chmod(0o1777)
    search = begun(journal)
    text, path = forged(journal), requests_path(journal)
    child = os.fork()
    if child == 0:
        try:
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            os.write(descriptor, text)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if status:  # the folder of the tests may be closed to other accounts
        path.write_bytes(text)
        path.chmod(0o600)
        os.chown(path, NOBODY, NOBODY)
    assert os.stat(path).st_uid == NOBODY
    search.run(8, steer=True)
    assert_not_steered(search)
    assert caplog.text.count("it belongs to another user") == 1
    with pytest.raises(OSError, match="belongs to another user"):
        send_request(journal, "stop")


@needs_posix
@pytest.mark.parametrize("mode", [0o620, 0o602, 0o666])
def test_a_file_that_others_may_write_to_does_nothing(journal, mode):
    search = begun(journal)
    path = requests_path(journal)
    path.write_bytes(forged(journal))
    path.chmod(mode)
    search.run(8, steer=True)
    assert_not_steered(search)
    with pytest.raises(OSError, match="others may write to it"):
        send_request(journal, "stop")


@needs_posix
@pytest.mark.parametrize("make", FORGERIES.values(), ids=FORGERIES)
@pytest.mark.parametrize("before", [True, False])
def test_what_is_no_file_of_its_own_is_neither_read_nor_waited_for(journal, make, before):
    path, calls = requests_path(journal), []

    def reward(chosen):
        calls.append(chosen)
        if not before and len(calls) == 3:
            path.unlink()
            make(path, text)
        return sum(chosen)

    search = begun(journal, reward)
    text = forged(journal)
    try:
        if before:
            make(path, text)
    except PermissionError:
        pytest.skip("devices cannot be made here")
    runner = threading.Thread(target=search.run, args=(8,), kwargs={"steer": True}, daemon=True)
    runner.start()
    runner.join(120.0)
    assert not runner.is_alive()
    assert_not_steered(search)
    with pytest.raises(OSError, match="cannot be used"):
        send_request(journal, "stop")


def test_steering_without_a_journal_is_refused_before_anything_is_paid():
    calls = []
    for call in (
        lambda: ds.search(problem(calls.append), 4, steer=True),
        lambda: ds.maximize(lambda choose: choose("a", [1, 2]), 4, steer=True),
        lambda: ds.Search.default(problem(calls.append)).run(4, steer=True),
    ):
        with pytest.raises(ValueError, match="steer=True needs a journal"):
            call()
    assert calls == []


# Nothing is lost after "Sent" ---------------------------------------------------------------------


def paused(journal, **options):
    """A search in a thread that was asked to pause, and has."""
    search = begun(journal)
    requests_path(journal).touch(mode=0o600)
    send_request(journal, "pause")
    runner = threading.Thread(target=search.run, args=(6,), kwargs={"steer": True, **options}, daemon=True)
    runner.start()
    wait_for(lambda: any(event.kind == "steer" for event in read_events(journal)))
    return search, runner


def wait_for(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("made_again", ["by the run", "by the user", "with the same content"])
def test_a_request_after_the_file_was_deleted_is_taken(journal, made_again):
    search, runner = paused(journal)
    path = requests_path(journal)
    kept = path.read_bytes()
    path.unlink()
    if made_again != "by the run":
        path.touch(mode=0o600)
    if made_again == "with the same content":  # of the same length
        path.write_bytes(b"\n" * len(kept))
    send_request(journal, "continue")
    runner.join(120.0)
    assert len(search.history) == 6
    search.close()


def test_what_was_written_just_before_the_file_is_deleted_is_taken(journal):
    calls = []

    def reward(chosen):
        calls.append(chosen)
        if len(calls) == 3:
            send_request(journal, "stop")
            requests_path(journal).unlink()
        return sum(chosen)

    search = begun(journal, reward)
    search.run(8, steer=True)
    assert len(search.history) == 3
    search.close()


def test_a_sender_whose_file_is_deleted_meanwhile_says_so(journal, monkeypatch):
    begun(journal).close()
    path = requests_path(journal)
    path.touch(mode=0o600)
    real = os.fsync

    def deleting(descriptor):
        real(descriptor)
        path.unlink(missing_ok=True)

    monkeypatch.setattr(os, "fsync", deleting)
    with pytest.raises(OSError, match="does not exist"):
        send_request(journal, "stop")


def test_a_reward_that_changes_the_folder_does_not_end_steering(journal, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    calls = []

    def reward(chosen):
        calls.append(chosen)
        os.chdir(tmp_path / "elsewhere")
        if len(calls) == 3:
            send_request(journal, "stop")
        return sum(chosen)

    search = begun(journal.name, reward)
    search.run(8, steer=True)
    assert len(search.history) == 3
    search.close()


@pytest.mark.parametrize("part", [0, 1, 40, -1])
def test_a_full_disk_is_reported_and_leaves_no_half_line(journal, monkeypatch, part):
    search = begun(journal)
    path = requests_path(journal)
    path.touch(mode=0o600)
    real = os.write

    def full(descriptor, data):
        if not data.endswith(b"\n") or b'"request"' not in data:
            return real(descriptor, data)
        if part == 0:
            raise OSError(errno.ENOSPC, "no space is left")
        return real(descriptor, data[:part])

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(OSError, match=r"full|no space"):
            send_request(journal, "stop")
    assert path.read_bytes() == b""
    send_request(journal, "budget", 5)
    search.run(8, steer=True)
    assert len(search.history) == 5  # and was not stopped by what was not sent
    search.close()


def test_a_half_line_of_a_sender_that_was_killed_does_not_swallow_the_next(journal):
    search = begun(journal)
    path = requests_path(journal)
    path.touch(mode=0o600)
    path.write_bytes(line(journal, "stop")[:-20])
    send_request(journal, "budget", 5)
    search.run(8, steer=True)
    assert len(search.history) == 5
    search.close()


def test_a_file_without_lines_is_passed_over(journal):
    search = begun(journal)
    path = requests_path(journal)
    path.touch(mode=0o600)
    with path.open("r+b") as file:
        file.truncate(1 << 33)  # sparse
    search.run(8, steer=True)
    assert_not_steered(search)


# What is accepted can be read for ever --------------------------------------------------------------


LINES = {
    **BAD,
    "largest budget": ("budget", 2**63 - 1),
    "largest reward": ("tell", {"leaf": [0, 1, 2], "reward": 1e100}),
    "smallest reward": ("tell", {"leaf": [0, 1, 2], "reward": -1e100}),
    "value where none belongs": ("pause", nested(50)),
}


@pytest.mark.parametrize("name", LINES)
def test_a_line_that_was_taken_never_makes_the_journal_unusable(journal, name, capsys, tmp_path):
    search = begun(journal)
    path = requests_path(journal)
    path.touch(mode=0o600)
    path.write_bytes(
        line(journal, *LINES[name])
        + line(journal, "continue", name="a" * 16)
        + line(journal, "budget", 5, "b" * 16)
    )
    search.run(4, steer=True)
    assert len(search.history) == 5
    search.close()
    assert journal.stat().st_size < 100_000
    assert_readable(journal, tmp_path)
    assert main(["show", str(journal)]) == 0
    assert "6 of 6 evaluations" in capsys.readouterr().out


def assert_readable(journal, folder):
    """Every reader reads it, and the search goes on."""
    Record.of(read_events(journal))
    Report.of_journals(journal).write(folder / "page.html")
    (run,) = json.loads(Watched([journal]).content(""))["runs"]
    assert run["problem_text"] is None
    again = ds.Search.resume(journal, problem())
    before = len(again.history)
    again.run(1)
    assert len(again.history) == before + 1
    again.close()


@pytest.mark.parametrize("budget", [2**63, 2**1024, 10**400, 10**5000, True, 1.5], ids=range(6))
def test_a_budget_that_no_journal_can_hold_is_refused(journal, budget):
    with pytest.raises(
        ValueError, match=r"budget must be a positive whole number .* at most 9223372036854775807"
    ):
        ds.search(problem(), budget, journal=journal)
    assert not journal.exists()


def test_a_budget_without_an_end_is_allowed(journal, tmp_path):
    ds.search(problem(), 2**63 - 1, seed=0, patience=3, journal=journal)
    assert_readable(journal, tmp_path)


class Brittle(ds.problems.Subsets):
    """Its path_to fails in a way of its own."""

    def path_to(self, state):
        raise AttributeError("no such leaf")


def test_a_problem_that_cannot_look_a_leaf_up_refuses_the_request(journal):
    search = ds.Search.default(Brittle(10, 3, reward=sum), seed=0, initial=4, journal=journal)
    requests_path(journal).touch(mode=0o600)
    send_request(journal, "propose", [0, 1, 2])
    search.run(4, steer=True)
    assert len(search.history) == 4
    search.close()
    assert "no such leaf" in Record.of(read_events(journal)).steering[0].refused


def test_a_paused_search_goes_on_in_a_run_that_takes_no_requests(journal, caplog):
    search = begun(journal)
    requests_path(journal).touch(mode=0o600)
    send_request(journal, "pause")
    send_request(journal, "stop")
    search.run(4, steer=True)
    assert Record.of(read_events(journal)).paused
    search.close()
    again = ds.Search.resume(journal, problem())
    again.run(4)
    assert len(again.history) == 4
    assert "this run takes no requests: it continues" in caplog.text
    again.close()
    assert not Record.of(read_events(journal)).paused
    last = ds.Search.resume(journal, problem())
    assert not last.recorder.steering.paused
    last.close()


@pytest.mark.slow
def test_commands_take_requests_only_if_they_are_told_to(tmp_path, monkeypatch, capsys):
    table = tmp_path / "table.csv"
    rows = ["a,b,c,y", *(f"{n % 7},{n % 5},{n % 3},{n % 7 + n % 3}" for n in range(60))]
    table.write_text("\n".join(rows))
    monkeypatch.chdir(tmp_path)

    def steerable(journal):
        return [event.content["steer"] for event in read_events(journal) if event.kind == "run"]

    select = [
        "select",
        "table.csv",
        "--target",
        "y",
        "--k",
        "1-3",
        "--budget",
        "5",
        "--quiet",
        "--holdout",
        "0",
    ]
    assert main([*select, "--journal", "a.db"]) == 0
    assert main([*select, "--journal", "b.db", "--steer"]) == 0
    assert main(["resume", "b.db", "--budget", "6"]) == 0
    assert main(["resume", "b.db", "--budget", "7", "--steer"]) == 0
    assert (steerable("a.db"), steerable("b.db")) == ([False], [True, False, True])
    assert requests_path("b.db").exists()
    assert not requests_path("a.db").exists()
    assert main([*select, "--steer"]) == 1
    assert "steer=True needs a journal" in capsys.readouterr().err
    assert main(["demo", "--budget", "2", "--out", "a.png", "--journal", "c.db", "--steer"]) == 0
    assert steerable("c.db") == [True]
    assert main(["demo", "--budget", "2", "--steer"]) == 1
    assert "steer=True needs a journal" in capsys.readouterr().err
