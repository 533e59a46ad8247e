"""The gallery as a whole: the command that lists it, and tables that say what the CSV files say."""

import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from experiments.__main__ import main
from experiments.gallery import frame
from experiments.harness import markdown
from experiments.harness.evaluations import EvaluationFailed, Evaluations

FOLDER = Path(__file__).parents[2] / "experiments" / "gallery"
NAMES = ["flow_shop", "indexes", "passes", "pipeline"]


def test_the_command_lists_every_application(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["gallery"]) == 0
    listed = re.findall(r"start: +python -m experiments gallery (\w+)", capsys.readouterr().out)
    assert listed == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_readme_says_what_the_runs_say(name):
    application, folder = importlib.import_module(f"experiments.gallery.{name}"), FOLDER / name
    page, runs = (folder / "README.md").read_text(), frame.read(folder)
    assert f"<!-- results -->\n\n{application.table(runs)}\n\n<!-- end -->" in page
    assert (folder / "comparison.png").exists()
    assert len({run.seed for run in runs}) >= 5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method", "options"),
    [
        ("flow_shop", "NEH + local search", []),
        ("indexes", "greedy", ["--k", "2", "--budget", "10", "--seeds", "2"]),
        ("passes", "whole orders", ["--llvm", "llvmlite", "--budget", "10", "--programs", "hash"]),
        ("pipeline", "TPE, categories", ["--budget", "2"]),
    ],
)
def test_a_small_comparison_writes_its_files(name, method, options, tmp_path, capsys):
    assert main(["gallery", name, "compare", "--small", *options, "--out", str(tmp_path)]) == 0
    assert f"| {method}" in capsys.readouterr().out
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"curves.csv", "runs.csv", "comparison.json", "comparison.png"}


# The frame -------------------------------------------------------------------------------------------


def climb(evaluate, seed):
    point = seed
    while True:
        evaluate.or_worst(point)
        point += 1


def reward(point):
    if point == 2:
        raise EvaluationFailed
    return float(point % 5)


def test_a_run_ends_with_its_budget_and_failures_count():
    contest = frame.Contest({"climb": climb}, reward, budget=4, shown=lambda value: -value, number=1)
    runs = frame.compare([contest], seeds=2)
    assert [run.best for run in runs] == [[0.0, -1.0, -1.0, -3.0], [-1.0, -1.0, -3.0, -4.0]]
    assert [run.seed for run in runs] == [100, 101]
    assert all(run.wall_seconds > 0.0 and run.own_seconds >= 0.0 for run in runs)


@pytest.mark.slow
def test_runs_in_several_processes_are_the_same_runs():
    one, other = (
        frame.Contest({"climb": climb, "again": climb}, lambda point: -reward(point), 3),
        frame.Contest({"climb": climb}, reward, 4, number=1),
    )
    here, there = (frame.compare([one, other], seeds=2, jobs=jobs) for jobs in (1, 2))
    assert [run[:3] for run in there] == [run[:3] for run in here]
    assert [run[:2] for run in here] == [
        ("climb", 0), ("climb", 1), ("climb", 100), ("climb", 101), ("again", 0), ("again", 1)
    ]  # fmt: skip


def test_a_point_costs_once_even_if_it_fails():
    evaluate = Evaluations(reward, 3)
    assert [evaluate(1), evaluate(1)] == [1.0, 1.0]
    for _ in range(2):
        with pytest.raises(EvaluationFailed):
            evaluate(2)
    assert evaluate.rewards == [1.0, -np.inf]


def test_what_is_written_is_read_again(tmp_path):
    contest = frame.Contest({"climb": climb, "same": climb}, reward, {"climb": 7, "same": 3})
    runs = frame.compare([contest], seeds=2)
    frame.write(tmp_path, runs, {"setting": 1})
    again = frame.read(tmp_path)
    assert [run[:3] for run in again] == [run[:3] for run in runs]
    assert frame.at(again, "same", 99) == frame.at(again, "same", 3) == (2.0, 1.0)
    assert "| same | 2.00 ± 1.00 |" in frame.table(again, [3], digits=2)
    frame.draw(tmp_path / "picture.png", [frame.Panel("title", "value", again, {"known": 1.0})] * 2)
    assert (tmp_path / "picture.png").stat().st_size > 0


def test_a_table_needs_its_place(tmp_path):
    page = tmp_path / "README.md"
    page.write_text("<!-- results -->\nold\n<!-- end -->\n")
    markdown.put(page, {"results": "new"})
    assert page.read_text() == "<!-- results -->\n\nnew\n\n<!-- end -->\n"
    page.write_text("nothing")
    with pytest.raises(ValueError, match="no place"):
        markdown.put(page, {"results": "new"})
