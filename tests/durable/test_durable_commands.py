"""Stored runs on the command line."""

import importlib
import re

import numpy as np
import pytest

import dagsearch as ds
from dagsearch.cli import main
from support.problems import Sum
from support.processes import TESTS
from support.steps import Walk

# Every test starts the command, or several.
pytestmark = pytest.mark.slow


def test_searches_are_resumed_by_their_problem(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(TESTS)
    run = tmp_path / "run.db"
    search = ds.Search.default(Sum(), initial=4, seed=0, storage=run)
    steps = search.steps(30)
    for _ in range(12):
        next(steps)
    search.close()
    whole = ds.Search.default(Sum(), initial=4, seed=0).run(30)
    assert main(["resume", str(run), "--problem", "support.problems:Nothing"]) == 1
    assert "cannot be imported" in capsys.readouterr().err
    assert main(["resume", str(run), "--problem", "support.problems:Sum"]) == 0
    told = capsys.readouterr().out
    assert f"best reward {whole.best_reward:.6g} after 30 evaluations" in told
    assert (
        main(["resume", str(run), "--problem", "support.problems:Sum", "--budget", "34", "--jobs", "2"]) == 0
    )
    assert "after 34 evaluations" in capsys.readouterr().out


def test_a_function_is_resumed_by_its_name(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "of_mine.py").write_text(
        "def cost(choose):\n    return abs(choose('x', range(30)) - 7.0) + choose('y', range(9))\n"
    )
    function = importlib.import_module("of_mine").cost
    ds.minimize(function, 12, seed=0, storage="run.db")
    whole = ds.minimize(function, 30, seed=0)
    assert main(["resume", "run.db", "--problem", "of_mine:cost", "--budget", "30"]) == 0
    told = capsys.readouterr().out
    assert f"best reward {whole.best_reward:.6g} after 30 evaluations" in told
    assert repr(whole.best_state) in told


@pytest.mark.parametrize("seed", range(2))
def test_show_recommends_what_the_result_does_in_a_noisy_run(seed, tmp_path, capsys):
    noise = iter(np.random.default_rng(seed).normal(size=60))
    result = ds.maximize(
        lambda choose: 0.2 * choose("a", range(8)) + next(noise),
        60,
        seed=seed,
        noisy=True,
        storage=tmp_path / "run.db",
    )
    assert main(["show", str(tmp_path / "run.db")]) == 0
    told = capsys.readouterr().out.splitlines()
    assert f"Best mean so far {result.best_reward:.4g} after 60 evaluations." in told
    assert f"Best leaf: a={result.best_state['a']}" in told


def pipeline(choose):
    choose("scaler", ["standard", None])
    return -abs(choose("k", range(9)) - 7)


@pytest.mark.parametrize(
    ("make", "written"),
    [
        (lambda: ds.problems.FunctionProblem(pipeline), r"scaler=(standard|None), k=7"),
        (
            lambda: ds.problems.Orders(["cut", "weld", "paint"], reward=lambda o: o.index("cut")),
            r"(weld, paint|paint, weld), cut",
        ),
        (
            lambda: ds.problems.Subsets(["ash", "oak", "fir"], 2, reward=lambda s: "ash" in s),
            r"(ash, oak|oak, ash|ash, fir|fir, ash)",
        ),
        (Walk, r"((right|up|stay)(, )?)+"),
    ],
)
def test_show_writes_leaves_as_people_do(make, written, tmp_path, capsys):
    ds.search(make(), 20, seed=0, storage=tmp_path / "run.db")
    assert main(["show", str(tmp_path / "run.db")]) == 0
    lines = capsys.readouterr().out.splitlines()
    best = next(line for line in lines if line.startswith("Best leaf: "))
    assert re.fullmatch(f"Best leaf: {written}", best), best
    assert len([line for line in lines if line.startswith("  ") and "null" not in line]) in (3, 5)


@pytest.mark.parametrize(
    ("rules", "stopped"), [({"target": 9}, "target"), ({"patience": 3}, "patience"), ({}, "budget")]
)
def test_a_search_that_has_ended_evaluates_nothing_when_it_is_run_again(rules, stopped, tmp_path):
    calls = []

    def reward(subset):
        calls.append(subset)
        return float(sum(subset))

    problem = ds.problems.Subsets(8, 2, reward=reward)
    first, second = (ds.search(problem, 15, seed=0, storage=tmp_path / "run.db", **rules) for _ in range(2))
    assert first.stopped == second.stopped == stopped
    assert len(first.history) == len(second.history) == len(calls)
