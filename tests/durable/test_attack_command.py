"""``python -m tests.durable.attacks``, small: what it counts, adds up and finds."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dagsearch.journal.journal import Journal
from dagsearch.search import Search
from experiments.harness.runner import ExperimentError, read_rows
from support.processes import environment
from tests.durable.attacks import report, run, summary
from tests.durable.attacks.campaign import attack

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def test_a_second_run_adds_its_operations_to_those_of_the_first(tmp_path):
    first = run(operations=1, jobs=2, kinds=["paper, standardised"], out=tmp_path, progress=False)
    first.write(tmp_path)
    second = run(operations=1, kinds=["game, with proofs"], out=tmp_path, progress=False)
    second.write(tmp_path)
    rows = read_rows(tmp_path / "attacks.csv.gz")
    about = json.loads((tmp_path / "attacks.json").read_text())
    assert rows[: len(first.rows)] == list(first.rows)
    counted = report.totals(rows)
    assert counted.keys() == {"paper, standardised", "game, with proofs"}
    assert [one["operations"] for one in about["runs"]] == [one["operations"] for one in counted.values()]
    for figures in counted.values():
        by_rule = sum(count for name, count in figures.items() if name.startswith("operations: "))
        assert by_rule == figures["operations"] > 50
        assert figures["resumes"] > 0
        assert figures["rewards lost"] == figures["repeated beyond pending"] == 0
    assert about["failures"] == []
    assert "all promises kept" in summary(second)
    ends = [(one["first seed"], one["first seed"] + one["seeds"]) for one in about["runs"]]
    assert ends[1][0] == ends[0][1]
    with pytest.raises(ExperimentError, match="must not count twice"):
        run(operations=1, seed=ends[1][0], out=tmp_path, progress=False)


def test_the_command_attacks_and_adds_up(tmp_path):
    command = [sys.executable, "-m", "tests.durable.attacks", "--operations", "1", "--jobs", "1"]
    command += ["--only", "paper", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert "all promises kept" in done.stdout, done.stderr
    assert json.loads((tmp_path / "attacks.json").read_text())["runs"][0]["kinds"] == ["paper"]


def test_a_run_without_time_begins_nothing(tmp_path):
    outcome = run(operations=1000, seconds=0.0, kinds=["paper"], progress=False)
    assert outcome.settings["runs"][0]["operations"] == 0


def test_an_unknown_kind_is_named():
    with pytest.raises(ExperimentError, match="does not know chess"):
        run(operations=1, kinds=["chess"])


def test_a_journal_that_forgets_a_reward_is_found_out_and_the_seed_finds_it_again(monkeypatch):
    append = Journal.append

    def forgetful(self, kind, content):
        if kind != "tell" or content["reward"] != 0.0:
            append(self, kind, content)

    monkeypatch.setattr(Journal, "append", forgetful)
    found = [attack("paper", seed) for seed in (1, 1)]
    assert found[0] == found[1]
    assert len(found[0].failures) == 1
    assert any("tell" in step for step in found[0].failures[0].steps)


def test_a_search_that_asks_for_a_told_leaf_is_found_out(monkeypatch):
    def add_pending(self, proposal):
        self.index.node(proposal.leaf)  # without closing the leaf
        self.data.pending.append(proposal)
        return proposal

    monkeypatch.setattr(Search, "add_pending", add_pending)
    found = attack("default, 10 leaves", 1)
    assert found.figures["repeated beyond pending"] > 0
    assert "repeated beyond pending" in found.failures[0].error


def test_without_openspiel_all_but_its_kind_can_be_attacked():
    code = (
        "import sys; sys.modules['pyspiel'] = None\n"
        "from tests.durable.attacks.machine import kinds_installed\n"
        "print(*kinds_installed(), sep=';')"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, text=True, check=True
    )
    kinds = found.stdout.strip().split(";")
    assert "game of OpenSpiel" not in kinds
    assert {"default", "noisy", "paper", "selector", "game"} <= set(kinds)


def test_the_tables_of_the_page_are_those_of_the_results():
    page = (ROOT / "docs" / "durability.md").read_text()
    assert report.filled(page, ROOT / "results" / "attacks") == page
    about = json.loads((ROOT / "results" / "attacks" / "attacks.json").read_text())
    assert about["failures"] == []
