"""Journals after a crash at every operation on the file; and that the sweep would notice broken promises."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dagsearch.journal import lines
from dagsearch.journal.file import LockedFile
from dagsearch.journal.journal import Journal
from dagsearch.journal.lines import Head
from support.processes import environment
from tests.durable.crashes import TRIED, damage, kills, power
from tests.durable.crashes.layer import Operation
from tests.durable.crashes.workloads import WORKLOADS

ROOT = Path(__file__).parents[2]


def broken(found):
    """Promises that were broken, without the figures that count attempts."""
    return {what: count for what, count in found.items() if count and what.partition(": ")[2] not in TRIED}


@pytest.mark.slow
def test_a_power_cut_after_any_operation_loses_nothing(tmp_path):
    found = power.sweep(WORKLOADS["paper"], tmp_path, every=1)
    assert found["power cuts: contents"] > 300
    assert broken(found) == {}


def test_damage_is_not_silent(tmp_path):
    found = damage.sweep(WORKLOADS["paper"], tmp_path, every=29)
    assert found["damage: changed bytes"] > 250
    assert found["damage: parts of zeros"] > 100
    assert broken(found) == {}


@pytest.mark.slow
def test_the_command_kills_at_crash_points_and_finds_all_promises_kept(tmp_path):
    command = [sys.executable, "-m", "tests.durable.crashes", "--quick", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert "all promises kept" in done.stdout, done.stderr
    figures = dict(re.findall(r"^(\w.*?)\s{2,}([\d,]+)$", done.stdout, re.MULTILINE))
    assert int(figures["kills: crash points"]) > 40
    assert int(figures["kills: rewards confirmed"]) > 100
    assert figures["kills: rewards lost"] == "0"
    assert (tmp_path / "crashes.json").exists()


@pytest.mark.slow
def test_the_sweep_notices_a_journal_that_does_not_wait_for_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(LockedFile, "append", lambda self, data, wait: self.write(self.size, data))
    assert broken(power.sweep(WORKLOADS["paper"], tmp_path, every=3))["power cuts: events lost"] > 0


def test_the_sweep_notices_a_journal_that_does_not_know_how_far_it_goes(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "last_head", lambda path, data: (Head(), 0))
    found = broken(damage.sweep(WORKLOADS["paper"], tmp_path, every=97))
    assert found["damage: truncations that lose events in silence"] > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # it forks
def test_the_sweep_notices_a_journal_that_writes_events_late(tmp_path, monkeypatch):
    store, late = Journal._store, []

    def store_the_one_before(self, kind, content):
        late.append((kind, content))
        if len(late) > 1:
            store(self, *late.pop(0))

    workload = WORKLOADS["paper"]
    whole = tmp_path / "whole.db"
    workload.run(whole, tmp_path / "whole.log")
    monkeypatch.setattr(Journal, "_store", store_the_one_before)
    lost = 0
    for number in (20, 30, 40):
        journal, log = tmp_path / f"{number}.db", tmp_path / f"{number}.log"
        late.clear()
        kills._killed(lambda: workload.run(journal, log), number, "before")  # noqa: B023
        with monkeypatch.context() as right:
            right.setattr(Journal, "_store", store)
            found = kills._checked(workload, journal, log, [], kills._pending(journal))
        lost += found["kills: rewards lost"] + found["kills: evaluations repeated beyond pending"]
    assert lost > 0


def test_contents_after_a_power_cut():
    before = [Operation("write", 0, b"ab"), Operation("sync", 0, b"")]
    assert set(power.contents(before)) == {b"ab"}
    assert set(power.contents([*before, Operation("write", 2, b"cd")])) == {b"ab", b"abcd", b"abc", b"ab\0\0"}
    assert set(power.contents([*before, Operation("truncate", 1, b"")])) == {b"ab", b"a"}
