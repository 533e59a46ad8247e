"""What happens to journals in bad hands: copies, links, damage, other programs, other users."""

import json
import logging
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.cli import main
from dagsearch.cli.show import summary
from dagsearch.journal import journal as journals
from dagsearch.journal import lock as locks
from dagsearch.journal.journal import JournalError, backup_journal, has_begun, is_in_use, read_events
from dagsearch.journal.lines import LENGTH, SLOT, last_head
from support.journals import history, rewritten, written
from support.problems import Sum
from support.processes import environment, wait_until
from tests.durable.crashes.layer import recorded, watched

REWARDS = 14


def search_in(path, **more):
    return ds.Search.default(Sum(), initial=4, seed=0, journal=path, **more)


def rewards(path):
    return [e.content["reward"] for e in read_events(path) if e.kind == "tell"]


@pytest.fixture(scope="module")
def whole():
    """The history of a run that nothing happened to."""
    search = ds.Search.default(Sum(), initial=4, seed=0)
    search.run(REWARDS + 6)
    return history(search)


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A folder with whatever a killed run left."""
    folder = tmp_path_factory.mktemp("killed")
    code = (
        "import os, signal, dagsearch as ds; from support.problems import Sum; "
        f"ds.Search.default(Sum(), initial=4, seed=0, journal='run.db').run({REWARDS}); "
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", code], env=environment(), cwd=folder)
    assert done.returncode == -signal.SIGKILL
    return folder


# Damage -------------------------------------------------------------------------------------------


def files_of(folder):
    return sorted(path.name for path in folder.iterdir())


def resumed_rewards(path):
    """The rewards that a search knows after the same script ran again; ``None`` if it was refused."""
    try:
        search = ds.Search.resume(path, Sum())
    except JournalError:
        return None
    search.close()
    return len(search.history)


@pytest.mark.slow
def test_a_changed_byte_in_any_file_of_a_killed_run_is_an_error_or_harmless(killed, tmp_path):
    for name in files_of(killed):
        content = (killed / name).read_bytes()
        for position in np.linspace(0, len(content) - 1, 60).astype(int):
            folder = shutil.copytree(killed, tmp_path / "copy", dirs_exist_ok=True)
            changed = bytes([content[position] ^ 0x10])
            (folder / name).write_bytes(content[:position] + changed + content[position + 1 :])
            assert resumed_rewards(folder / "run.db") in (None, REWARDS), (name, position)


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
def test_a_file_of_a_killed_run_that_was_cut_off_is_an_error_or_harmless(share, killed, tmp_path):
    for name in files_of(killed):
        folder = shutil.copytree(killed, tmp_path / name)
        content = (killed / name).read_bytes()
        (folder / name).write_bytes(content[: int(share * len(content))])
        assert resumed_rewards(folder / "run.db") in (None, REWARDS), name


@pytest.mark.slow
def test_the_file_of_a_killed_run_can_be_moved_alone(killed, tmp_path, whole):
    shutil.copy(killed / "run.db", tmp_path / "moved.db")
    search = ds.Search.resume(tmp_path / "moved.db", Sum())
    assert len(search.history) == REWARDS
    search.run(6)
    search.close()
    assert history(search) == whole
    assert files_of(tmp_path) == ["moved.db"]


@pytest.mark.parametrize("zeros", [512, 1024, 4096])
def test_a_beginning_of_zeros_is_not_a_new_journal(zeros, tmp_path):
    """A page that was never written to the disk."""
    path = tmp_path / "run.db"
    search = search_in(path)
    search.run(6)
    search.close()
    content = bytes(zeros) + path.read_bytes()[zeros:]
    path.write_bytes(content)
    if zeros > 512:  # the second head says the same as the first
        with pytest.raises(JournalError, match="damaged"):
            ds.search(Sum(), 12, seed=0, journal=path)
        assert path.read_bytes() == content
    else:
        assert len(rewards(path)) == 6


def test_an_empty_file_begins_a_new_search_with_a_warning(tmp_path, caplog):
    path = tmp_path / "run.db"
    path.touch()
    with caplog.at_level(logging.WARNING):
        ds.search(Sum(), 6, seed=0, journal=path)
    assert "is empty: a new search begins" in caplog.text


# Copies -------------------------------------------------------------------------------------------


ANOTHER = """
import sqlite3, sys
import dagsearch as ds
from support.problems import Sum

try:
    connection = sqlite3.connect(sys.argv[1])
    print(connection.execute("SELECT count(*) FROM event").fetchall())
    connection.close()
except sqlite3.DatabaseError:
    pass
ds.Search.resume(sys.argv[1], Sum())
"""


@pytest.mark.slow
def test_a_copy_by_the_running_process_neither_unlocks_nor_loses_anything(tmp_path, whole):
    """Closing any descriptor of a file drops the POSIX locks of the process."""
    path = tmp_path / "run.db"
    search = search_in(path)
    search.run(REWARDS)
    (tmp_path / "copies").mkdir()
    for file in tmp_path.glob("run.db*"):
        shutil.copy(file, tmp_path / "copies")
    other = subprocess.run(
        [sys.executable, "-c", ANOTHER, str(path)], env=environment(), capture_output=True, text=True
    )
    assert "in use by another search" in other.stderr
    (tmp_path / "after").mkdir()
    for file in tmp_path.glob("run.db*"):  # what a kill would leave now
        shutil.copy(file, tmp_path / "after")
    search.run(6)
    search.close()
    for copy in ("copies", "after"):
        again = ds.Search.resume(tmp_path / copy / "run.db", Sum())
        assert len(again.history) == REWARDS
        again.run(6)
        again.close()
        assert history(again) == whole


def test_a_backup_of_a_running_search_can_be_resumed(tmp_path, whole, capsys):
    path, copy = tmp_path / "run.db", tmp_path / "copy.db"
    search = search_in(path)
    search.run(REWARDS)
    assert backup_journal(path, copy) == len(read_events(path))
    assert copy.read_bytes()[1024:] == path.read_bytes()[1024:]
    for wrong, words in {copy: "exists already", tmp_path / "nowhere" / "copy.db": "No such file"}.items():
        with pytest.raises(JournalError, match=words):
            backup_journal(path, wrong)
    again = ds.Search.resume(copy, Sum())
    again.run(6)
    search.run(6)
    assert history(again) == history(search) == whole
    assert main(["backup", str(path), str(tmp_path / "other.db")]) == 0
    assert "copied" in capsys.readouterr().out
    assert main(["backup", str(path), str(tmp_path / "other.db")]) == 1
    assert rewards(tmp_path / "other.db") == rewards(path)


def test_a_copy_at_any_moment_of_a_write_is_a_journal(tmp_path):
    """A copy that another program makes while an event is being written."""
    path, copy, found = tmp_path / "run.db", tmp_path / "copy.db", []
    search = search_in(tmp_path / "begun.db")
    search.close()
    shutil.copy(tmp_path / "begun.db", path)

    def watch(operation, carry_out):
        for share in (0, 2, 1) if operation.kind == "write" else (1,):
            if share == 2:
                carry_out(operation.data[: len(operation.data) // 2])
            elif share == 1:
                carry_out(operation.data)
            copy.write_bytes(path.read_bytes())
            found.append(len(rewards(copy)))

    with watched(watch):
        search = ds.Search.resume(path, Sum())
        search.run(5)
        search.close()
    assert len(found) > 50
    assert found == sorted(found)
    assert set(found) == set(range(6))


# The first milliseconds ---------------------------------------------------------------------------


class Stopped(BaseException):
    pass


def stopping(number, after):
    passed = 0

    def watch(operation, carry_out):
        nonlocal passed
        passed += 1
        if passed <= number or after:
            carry_out(operation.data)
        elif operation.kind == "write":
            carry_out(operation.data[:300])
        if passed > number:
            raise Stopped

    return watch


@pytest.mark.slow
def test_a_journal_that_was_interrupted_while_it_was_made_can_be_used(tmp_path):
    operations = recorded(lambda: search_in(tmp_path / "whole.db"))
    assert len(operations) >= 5
    expected = history(search_in(tmp_path / "expected.db").run(5))
    for number in range(len(operations)):
        for after in (False, True):
            path = tmp_path / f"{number}-{after}.db"
            with pytest.raises(Stopped), watched(stopping(number, after)):
                search_in(path)
            again = ds.Search.resume(path, Sum()) if has_begun(path) else search_in(path)
            assert history(again.run(5)) == expected
            again.close()


# One search writes --------------------------------------------------------------------------------


def test_no_second_search_gets_in_by_another_name_of_the_file(tmp_path):
    path = tmp_path / "run.db"
    search = search_in(path)
    search.run(3)
    (tmp_path / "link.db").symlink_to(path)
    os.link(path, tmp_path / "hard.db")
    (tmp_path / "folder").symlink_to(tmp_path)
    for name in ("link.db", "hard.db", "folder/run.db", "run.db"):
        assert is_in_use(tmp_path / name)
        with pytest.raises(JournalError, match="in use"):
            ds.Search.resume(tmp_path / name, Sum())
    search.run(3)
    search.close()
    again = ds.Search.resume(tmp_path / "link.db", Sum())
    assert history(again) == history(search)
    with pytest.raises(JournalError, match="in use"):
        ds.Search.resume(path, Sum())
    again.close()


def test_no_second_search_gets_in_after_other_files_were_deleted(tmp_path):
    path = tmp_path / "run.db"
    search = search_in(path)
    search.run(3)
    for file in tmp_path.glob("run.db-*"):
        file.unlink()
    with pytest.raises(JournalError, match="in use"):
        ds.Search.resume(path, Sum())
    search.run(3)
    search.close()
    assert len(rewards(path)) == 6


def test_two_processes_that_begin_at_once_do_not_share_a_file(tmp_path, monkeypatch):
    """The second one looked before the first one began."""
    path = tmp_path / "run.db"
    first = search_in(path)
    with monkeypatch.context() as patched:
        patched.setattr(journals, "has_begun", lambda path: False)
        with pytest.raises(JournalError, match="in use"):
            search_in(path)
    first.close()
    looked = iter([False])
    with monkeypatch.context() as patched:
        patched.setattr(journals, "has_begun", lambda path: next(looked, True))
        with pytest.raises(JournalError, match="exists already"):
            search_in(path)
    assert len(read_events(path)) == 1


def test_systems_without_locks_of_open_files_lock_the_whole_file(tmp_path, monkeypatch):
    for name in ("_lock_range", "_is_range_locked"):
        monkeypatch.setattr(locks, name, lambda descriptor: None)
    monkeypatch.setattr(locks, "_GLANCE", 0.05)
    path = tmp_path / "run.db"
    search = search_in(path)
    assert is_in_use(path)
    shutil.copy(path, tmp_path / "copy.db")
    with pytest.raises(JournalError, match="in use"):
        ds.Search.resume(path, Sum())
    search.close()
    assert not is_in_use(path)
    ds.Search.resume(path, Sum()).close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_that_outlives_the_search_does_not_keep_the_file(tmp_path):
    path = tmp_path / "run.db"
    search = search_in(path)
    search.run(2)
    reading, writing = os.pipe()
    hearing, saying = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(writing)
        os.write(saying, b".")  # it has begun, and so given up the file
        refused = 1
        with suppress(JournalError):
            search.ask()
            refused = 0
        os.read(reading, 1)  # until the parent ends
        os._exit(refused)
    os.close(reading)
    os.read(hearing, 1)
    assert is_in_use(path)
    search.ask()
    search.close()
    again = ds.Search.resume(path, Sum())
    assert len(again.pending) == 1
    again.close()
    for end in (writing, hearing, saying):
        os.close(end)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1


@pytest.mark.parametrize("harm", ["deleted", "replaced", "truncated", "extended"])
def test_a_file_that_another_program_changes_stops_the_search(harm, tmp_path):
    path = tmp_path / "run.db"
    search = search_in(path)
    search.run(3)
    if harm == "deleted":
        path.unlink()
    elif harm == "replaced":
        shutil.copy(path, tmp_path / "copy.db")
        os.replace(tmp_path / "copy.db", path)
    elif harm == "truncated":
        os.truncate(path, 1500)
    else:
        with path.open("ab") as file:
            file.write(b"more")
    with pytest.raises(JournalError, match=r"by another program.*tell it after resuming"):
        search.tell(frozenset({1, 2, 3, 4}), 1.0)
    assert len(search.result().history) == 3
    search.close()


# Readers ------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_searches_start_while_their_journal_is_watched(tmp_path):
    path, ended, seen = tmp_path / "run.db", threading.Event(), []

    def watch():
        while not ended.is_set():
            with suppress(JournalError):
                seen.append(summary(path)["running"])

    watchers = [threading.Thread(target=watch) for _ in range(2)]
    for thread in watchers:
        thread.start()
    try:
        for _ in range(30):
            search_in(path).close()
            search = ds.Search.resume(path, Sum())
            search.ask()
            search.close()
            path.unlink()
        search = search_in(path)
        wait_until(lambda: True in seen)
        search.close()
    finally:
        ended.set()
        for thread in watchers:
            thread.join()


def as_another_user(folder, check):
    """Call in a process that may not write to the folder; returns whether ``check`` returned true."""
    if os.getuid() != 0:
        folder.chmod(0o555)
        try:
            return check()
        finally:
            folder.chmod(0o755)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.setuid(65534)
            code = 0 if check() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.fixture
def public_folder():
    """A folder that every user may read; those of pytest are private."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="needs users")
def test_journals_are_shown_to_users_who_may_only_read(public_folder):
    path = public_folder / "run.db"
    search = search_in(path)
    search.run(5)
    for file in public_folder.iterdir():
        file.chmod(0o444)
    before = files_of(public_folder)

    def check():
        found = summary(path)
        return found["running"] and found["evaluations"] == 5

    assert as_another_user(public_folder, check)
    search.close()
    assert as_another_user(public_folder, lambda: not summary(path)["running"])
    assert files_of(public_folder) == before


# What is shown ------------------------------------------------------------------------------------

ESCAPE = "\x1b]0;owned\x07\x1b[2J\u202e"


def test_show_prints_no_character_that_controls_the_terminal(tmp_path, capsys):
    path, copy = tmp_path / "run.db", tmp_path / "copy.db"
    search = search_in(path)
    search.run(3)
    search.forget(search.ask(), note={"failure": f"{ESCAPE}\nsecond line"})
    search.close()

    def change(events):
        events[0][2]["problem"]["type"] = f"{ESCAPE}\nnot running"
        events[0][2]["dagsearch"] = events[0][2]["made_by"] = ESCAPE
        events[-1][2]["note"]["failure"] = ESCAPE
        for event in events:
            if event[0] == "tell":
                event[2]["leaf"] = ESCAPE
        return events

    for shown in (path, rewritten(path, change, copy)):
        assert main(["show", str(shown)]) == 0
        text = capsys.readouterr().out
        assert all(character.isprintable() or character == "\n" for character in text)
        assert "\\x1b]0;owned" in text
        assert main(["show", "--json", str(shown)]) == 0
        assert capsys.readouterr().out.isascii()
    assert main(["resume", str(copy), "--problem", "support.problems:Sum"]) == 1
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(
    "note", ["just text", 3, None, [1], {"select": "text"}, {"failure": 3}, {"belief": 1}]
)
def test_notes_of_any_kind_are_shown(note, tmp_path, capsys):
    path = tmp_path / "run.db"
    search = search_in(path)
    search.note(note)
    search.tell(search.ask(), 1.0, note=note)
    search.close()
    assert main(["show", str(path)]) == 0
    assert "1 evaluations" in capsys.readouterr().out
    assert main(["resume", str(path), "--problem", "support.problems:Sum", "--budget", "3"]) == 0
    assert "after 3 evaluations" in capsys.readouterr().out


@pytest.mark.slow
def test_consistent_files_that_lack_a_field_are_refused_by_name(tmp_path, capsys):
    path, changed = tmp_path / "run.db", tmp_path / "changed.db"
    search = search_in(path)
    search.run(8)
    search.forget(search.ask())
    search.propose(frozenset({0, 1, 2, 3}), [0, 1, 2, 3])
    search.settle()
    search.close()
    tried = 0
    for number, (_, kind, _, content) in enumerate(read_events(path)):
        if number > 12 and kind in ("ask", "tell"):
            continue
        for name in {*content} - {"changes", "nodes", "note"}:
            for wrong in ("missing", "other"):

                def change(events, number=number, name=name, wrong=wrong):
                    if wrong == "missing":
                        del events[number][2][name]
                    else:
                        events[number][2][name] = {} if events[number][2][name] != {} else 3
                    return events

                rewritten(path, change, changed)
                code = main(["show", str(changed)])
                said = capsys.readouterr()
                assert code == 0 or (f"event {number}" in said.err and "Traceback" not in said.err)
                with suppress(JournalError):
                    ds.Search.resume(changed, Sum()).close()
                tried += 1
    assert tried > 60


@pytest.mark.parametrize("place", [-1, -5, 7, 2**70])
@pytest.mark.parametrize("kind", ["tell", "forget"])
def test_an_event_about_a_proposal_that_is_not_pending_is_refused(kind, place, tmp_path, capsys):
    search = search_in(tmp_path / "run.db")
    search.run(4)
    search.forget(search.ask(), again=False, note={"failure": "none"})
    search.close()

    def change(events):
        for event in events:
            if event[0] == kind:
                event[2]["pending"] = place
        return events

    copy = tmp_path / "copy.db"
    rewritten(tmp_path / "run.db", change, copy)
    with pytest.raises(JournalError, match=f"it names number {place}"):
        ds.Search.resume(copy, Sum())
    assert main(["show", str(copy)]) == 0
    assert "best" in capsys.readouterr().out


@pytest.mark.parametrize(
    "events",
    [
        [],
        [("settings", 0.0, "{}")],
        [("settings", 0.0, "[]")],
        [("settings", 0.0, '{"a": NaN}')],
        [("settings", 0.0, "[" * 100_000 + "]" * 100_000)],
        [("settings", 0.0, "not json")],
        [("other", 0.0, "{}")],
    ],
    ids=range(7),
)
def test_consistent_files_that_are_no_journals_are_refused(events, tmp_path, capsys):
    path = written(tmp_path / "run.db", events)
    assert main(["show", str(path)]) == 1
    assert main(["resume", str(path)]) == 1
    assert "Traceback" not in capsys.readouterr().err


# Notes and names ----------------------------------------------------------------------------------


def test_a_note_that_json_does_not_know_loses_no_reward(tmp_path):
    circle = {}
    circle["self"] = circle

    class Silent:
        def __repr__(self):
            raise RuntimeError

    notes = {
        "number": (np.int64(3), 3),
        "large number": (10**5000, hex(10**5000)),
        "nan": (float("nan"), "nan"),
        "infinite": ({"x": np.float32("inf")}, {"x": "inf"}),
        "array": ({"x": np.arange(3)}, {"x": [0, 1, 2]}),
        "keys": ({1: (2, None)}, {"1": [2, None]}),
        "object": (Path("a"), repr(Path("a"))),
        "circle": (circle, None),
        "silent": (Silent(), None),
    }
    path = tmp_path / "run.db"
    search = search_in(path)
    for note, _ in notes.values():
        proposal = search.ask()
        search.tell(proposal, Sum().reward(proposal.leaf), note=note)
        search.note(note)
        search.forget(search.ask(), note=note)
    search.close()
    told = [e.content["note"] for e in read_events(path) if e.kind == "tell"]
    assert len(told) == len(notes)
    for found, (_, expected) in zip(told, notes.values(), strict=True):
        assert found == expected if expected is not None else isinstance(found, str)
    again = ds.Search.resume(path, Sum())
    assert history(again) == history(search)
    again.close()


def test_a_journal_in_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in (":memory:", ""):
        with pytest.raises(JournalError, match="names no file"):
            search_in(name)
        with pytest.raises(JournalError, match="names no file"):
            ds.search(Sum(), 5, seed=0, journal=name)
        with pytest.raises(JournalError, match="names no file"):
            ds.Search.resume(name, Sum())
    assert files_of(tmp_path) == []


# The format ---------------------------------------------------------------------------------------


@pytest.fixture
def begun(tmp_path):
    """A journal with some rewards."""
    search = search_in(tmp_path / "begun.db")
    search.run(REWARDS)
    search.close()
    return tmp_path / "begun.db"


def test_a_journal_of_another_format_is_refused(begun, tmp_path):
    other = tmp_path / "newer.db"
    content = begun.read_bytes().replace(b'"format": 2', b'"format": 3')
    other.write_bytes(content)
    with pytest.raises(JournalError, match="format 3"):
        ds.Search.resume(other, Sum())


def test_every_line_of_a_journal_is_json(begun):
    lines = [json.loads(line) for line in begun.read_text().splitlines()]
    assert [line["format"] for line in lines[:2]] == [2, 2]
    assert [line["number"] for line in lines[2:]] == list(range(len(lines) - 2))


def test_the_power_fails_twice_while_heads_are_written(tmp_path):
    """Each time, the head that was being written is lost; the other one must be there."""
    path = tmp_path / "run.db"
    search = search_in(path)
    search.run(3)
    search.close()
    for budget in (1, 1):
        lose_last_head(path)
        search = ds.Search.resume(path, Sum())
        search.run(budget)
        search.close()
    lose_last_head(path)
    again = ds.Search.resume(path, Sum())
    assert len(again.history) == 5
    again.close()


def lose_last_head(path):
    _, position = last_head(path, path.read_bytes()[:LENGTH])
    with path.open("r+b") as file:
        file.seek(position)
        file.write(bytes(SLOT))
