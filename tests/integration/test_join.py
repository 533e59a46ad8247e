"""Several processes on one run, without a scheduler."""

import json
import signal
import subprocess
import sys
from collections import Counter

import pytest

import dagsearch as ds
from dagsearch.cli import main
from dagsearch.journal.joining import joining_folder
from dagsearch.journal.journal import is_in_use, read_events
from support.processes import environment, running, wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def start(tmp_path):
    """Start the run, or a process that joins it."""

    def started(role, *budget):
        command = [sys.executable, "-m", "support.joined", *map(str, budget)]
        if not budget:
            joins = ["join", str(tmp_path / "run.db"), "--problem", "support.joined:Logged"]
            command = [sys.executable, "-m", "dagsearch", *joins]
        settings = environment(FOLDER=str(tmp_path), ROLE=role)
        return running(command, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    return started


def log(tmp_path):
    path = tmp_path / "log"
    return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


def roles(tmp_path):
    return Counter(role for role, *_ in log(tmp_path))


def told(tmp_path):
    return [event for event in read_events(tmp_path / "run.db") if event.kind == "tell"]


def leaves(events):
    return [tuple(value for _, value in event.content["leaf"]) for event in events]


def ended(process):
    out, error = process.communicate(timeout=600)
    assert process.returncode == 0, error
    return out.split()


def test_processes_share_a_run_and_end_with_it(tmp_path, start):
    with start("one") as one, start("run", 60) as run, start("two") as two:
        assert ended(run) == ["60", "budget"]
        made = [int(ended(process)[0]) for process in (one, two)]
    by = roles(tmp_path)
    assert made == [by["one"], by["two"]]
    assert min(by["one"], by["two"], by["run"]) > 0
    assert sum(by.values()) == len(set(leaves(told(tmp_path)))) == 60
    joined = [event.note["joined"] for event in told(tmp_path) if "joined" in event.note]
    assert len(set(joined)) == sum(made)
    assert all(
        e.content["reward"] == a * b for e, (a, b) in zip(told(tmp_path), leaves(told(tmp_path)), strict=True)
    )


def test_the_leaf_of_a_process_that_is_killed_is_evaluated_by_another(tmp_path, start):
    (tmp_path / "hold").touch()
    with start("held") as held, start("run", 30) as run:
        wait_until(lambda: roles(tmp_path)["held"] == 1, run)
        held.send_signal(signal.SIGKILL)
        held.wait()
        assert ended(run) == ["30", "budget"]
    lost = next(tuple(leaf) for role, *leaf in log(tmp_path) if role == "held")
    again = Counter(tuple(leaf) for role, *leaf in log(tmp_path))
    assert again[lost] == 2
    assert len(set(leaves(told(tmp_path)))) == 30
    assert [path.suffix for path in joining_folder(tmp_path / "run.db").iterdir()] == []


def test_what_is_finished_while_the_run_is_dead_is_not_lost(tmp_path, start):
    """The run is killed while another process evaluates; it finishes, and the run goes on with its result."""
    (tmp_path / "hold").touch()
    with start("held") as held:
        with start("run", 30) as run:
            wait_until(lambda: roles(tmp_path)["held"] == 1 and len(told(tmp_path)) > 5, run)
        assert run.returncode == -signal.SIGKILL
        wait_until(lambda: not is_in_use(tmp_path / "run.db"))
        before = leaves(told(tmp_path))
        paid = next((int(a), int(b)) for role, a, b in log(tmp_path) if role == "held")
        assert paid not in before
        (tmp_path / "hold").unlink()
        folder = joining_folder(tmp_path / "run.db")
        wait_until(lambda: any('"reward"' in path.read_text() for path in folder.glob("*.log")), held)
        held.send_signal(signal.SIGKILL)  # not even if it dies then, too
        held.wait()
    with start("run", 30) as run:
        assert ended(run) == ["30", "budget"]
    after = leaves(told(tmp_path))
    assert after[: len(before)] == before
    assert after.count(paid) == 1
    assert Counter(tuple(leaf) for _, *leaf in log(tmp_path))[tuple(map(str, paid))] == 1


def test_a_run_that_continues_waits_for_what_is_still_evaluated(tmp_path, start):
    (tmp_path / "hold").touch()
    with start("held") as held:
        with start("run", 30) as run:
            wait_until(lambda: roles(tmp_path)["held"] == 1 and len(told(tmp_path)) > 5, run)
        wait_until(lambda: not is_in_use(tmp_path / "run.db"))
        with start("run", 30) as run:
            wait_until(lambda: len(told(tmp_path)) == 29, run)
            (tmp_path / "hold").unlink()
            assert ended(run) == ["30", "budget"]
        assert int(ended(held)[0]) >= 1
    evaluated = Counter(tuple(leaf) for role, *leaf in log(tmp_path))
    held_leaf = next(tuple(leaf) for role, *leaf in log(tmp_path) if role == "held")
    assert evaluated[held_leaf] == 1


def test_failures_of_others_count_as_failures(tmp_path, start):
    with start("failing") as failing, start("run", 20) as run:
        rewards, stopped = ended(run)
        made = int(ended(failing)[0])
    assert made > 0
    assert (int(rewards), stopped) == (20 - made, "budget")
    failures = [e.note["failure"] for e in read_events(tmp_path / "run.db") if e.kind == "forget"]
    assert len(failures) == made
    assert all("a broken machine" in failure for failure in failures)


# What is refused ---------------------------------------------------------------------------------------


def area(choose):
    return choose("width", range(5)) * choose("height", range(5))


def test_nobody_to_join_is_an_error(tmp_path):
    with pytest.raises(ds.JournalError, match=r"no run of .* takes processes that join: run the search with"):
        ds.join(tmp_path / "run.db", area, patience=0.2)
    ds.maximize(area, 3, journal=tmp_path / "run.db")
    with pytest.raises(ds.JournalError, match="no run of"):
        ds.join(tmp_path / "run.db", area, patience=0.2)
    with pytest.raises(ValueError, match="patience must be a positive number of seconds, got -1"):
        ds.join(tmp_path / "run.db", area, patience=-1)


def test_a_run_without_a_journal_cannot_be_joined():
    with pytest.raises(ValueError, match="join=True needs a journal"):
        ds.maximize(area, 3, join=True)
    with pytest.raises(ValueError, match="join must be True or False"):
        ds.maximize(area, 3, join="yes")


def test_a_function_is_joined_by_the_function(tmp_path):
    """The journal says whether it is minimised; the evaluations are made by a thread here."""
    import threading

    joined = []
    thread = threading.Thread(target=lambda: joined.append(ds.join(tmp_path / "run.db", area)))
    thread.start()
    result = ds.minimize(area, 15, seed=0, journal=tmp_path / "run.db", join=True)
    thread.join(timeout=600)
    assert (result.best_reward, len(result.history)) == (0.0, 15)
    assert joined[0] == sum("joined" in e.note for e in read_events(tmp_path / "run.db"))


def test_another_problem_is_refused(tmp_path, capsys):
    search = ds.Search.default(ds.problems.FunctionProblem(area), journal=tmp_path / "run.db")
    pool = search.steps(2, join=True)
    try:
        with pytest.raises(ds.JournalError, match="is the journal of another problem"):
            ds.join(tmp_path / "run.db", lambda choose: choose("width", range(3)), patience=5)
        assert main(["join", str(tmp_path / "run.db"), "--problem", "nothing"]) == 1
        assert "must be module:name" in capsys.readouterr().err
    finally:
        pool.close()
        search.close()


def test_a_folder_that_others_may_write_to_is_refused(tmp_path):
    folder = joining_folder(tmp_path / "run.db")
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(ds.JournalError, match="nobody else may write to"):
        ds.maximize(area, 3, journal=tmp_path / "run.db", join=True)


def test_lines_that_no_process_writes_are_ignored(tmp_path):
    folder = joining_folder(tmp_path / "run.db")
    folder.mkdir(mode=0o700)
    (folder / "odd.log").write_text('nonsense\n[1]\n{"task": 1}\n' + json.dumps({"begun": 1.0}) + "\n{")
    (folder / "odd.log").chmod(0o600)
    result = ds.maximize(area, 4, seed=0, journal=tmp_path / "run.db", join=True)
    assert len(result.history) == 4
