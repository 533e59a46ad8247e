"""Journals of selectors and on the command line."""

import importlib
import json
import re
import shlex
import signal
import subprocess
import sys
import warnings
from contextlib import chdir
from functools import cache, partial

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dagsearch as ds
from dagsearch.cli import main
from dagsearch.journal.journal import Journal, JournalError, read_events
from dagsearch.report import Report
from dagsearch.sklearn import DAGSearchSelector
from support.problems import Sum
from support.processes import PATIENCE, TESTS, running, wait_until
from support.steps import Walk

# Every test starts the command, or several.
pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed")

X, Y = load_wine(return_X_y=True, as_frame=True)


class Stopped(Exception):
    pass


def selector(budget, journal=None, **more):
    estimator = make_pipeline(StandardScaler(), LogisticRegression())
    return DAGSearchSelector(
        estimator, n_features_to_select=3, budget=budget, cv=3, random_state=0, journal=journal, **more
    )


def after(steps):
    def stop(told):
        if told.step == steps:
            raise Stopped

    return stop


# Selectors ----------------------------------------------------------------------------------------


WARM_STARTS = {"cold": None, "subsets": [[0, 1, 2], [3, 4, 5]], "scores": {(0, 1, 2): 0.7}}


@cache
def uninterrupted(start):
    return selector(30, warm_start=WARM_STARTS[start]).fit(X, Y)


@pytest.mark.parametrize("start", WARM_STARTS)
@pytest.mark.parametrize("steps", [1, 9, 25])
def test_a_selector_that_was_cut_off_goes_on(steps, start, tmp_path):
    whole, warm_start = uninterrupted(start), WARM_STARTS[start]
    with pytest.raises(Stopped):
        selector(30, tmp_path / "run.db", callbacks=[after(steps)], warm_start=warm_start).fit(X, Y)
    again = selector(30, tmp_path / "run.db", warm_start=warm_start).fit(X, Y)
    assert again.history_["features"].tolist() == whole.history_["features"].tolist()
    for name in ("mean_test_score", "best_score", "split1_test_score"):
        np.testing.assert_array_equal(again.history_[name], whole.history_[name])
    np.testing.assert_array_equal(again.inclusion_probability_, whole.inclusion_probability_)
    assert again.score_interval_ == whole.score_interval_
    assert np.all(np.diff(again.history_["seconds"]) >= 0.0)
    assert again.report().to_dict()["belief"] == whole.report().to_dict()["belief"]


def test_a_larger_budget_goes_on_with_the_same_journal(tmp_path):
    first = selector(20, tmp_path / "run.db").fit(X, Y)
    more = selector(30, tmp_path / "run.db").fit(X, Y)
    assert more.history_["features"][:20].tolist() == first.history_["features"].tolist()
    assert len(more.history_["features"]) == 30


def test_a_journal_of_other_data_is_refused(tmp_path):
    selector(10, tmp_path / "run.db").fit(X, Y)
    with pytest.raises(JournalError, match="other data, folds, estimator or scoring"):
        selector(20, tmp_path / "run.db").fit(X * 2.0, Y)
    with pytest.raises(JournalError, match="other data"):
        selector(20, tmp_path / "run.db", scoring="f1_macro").fit(X, Y)
    with pytest.raises(JournalError, match="other data"):
        selector(20, tmp_path / "run.db").fit(X, Y, sample_weight=np.ones(len(Y)))


class Sometimes(LogisticRegression):
    """Fails on some columns."""

    def fit(self, data, y):
        if data[:, 0].mean() > 100.0:
            raise ValueError("too large")
        return super().fit(StandardScaler().fit_transform(data), y)


def test_failed_subsets_are_known_again(tmp_path):
    def failing(**more):
        made = DAGSearchSelector(Sometimes(), n_features_to_select=2, budget=25, cv=3, random_state=0, **more)
        data = X.to_numpy()[:, ::-1]  # large values come first
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ds.sklearn.FailedSubsetsWarning)
            return made.fit(data, Y)

    whole = failing()
    with pytest.raises(Stopped):
        failing(journal=tmp_path / "run.db", callbacks=[after(22)])
    again = failing(journal=tmp_path / "run.db")
    assert again.history_["failure"].tolist() == whole.history_["failure"].tolist()
    assert any(again.history_["failure"][:22])


# Commands -----------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with a table and a module in it; the command finds modules there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    X.assign(kind=Y).to_csv("wine.csv", index=False)
    (tmp_path / "held.py").write_text(HELD)
    yield tmp_path
    sys.modules.pop("held", None)


HELD = """
import time
from pathlib import Path

from sklearn.linear_model import RidgeClassifier


class Held(RidgeClassifier):
    \"\"\"Never ends once there are 30 lines in a file, if it exists.\"\"\"

    def fit(self, X, y):
        log = Path("log")
        if log.exists():
            with log.open("a") as file:
                file.write("fit\\n")
            while len(log.read_text().splitlines()) > 30:
                time.sleep(0.01)
        return super().fit(X, y)
"""


def options(budget, journal, *more):
    settings = ["--target", "kind", "--k", 3, "--budget", budget, "--quiet", "--cv", 3, "--journal", journal]
    return [str(given) for given in ("select", "wine.csv", *settings, *more)]


@pytest.mark.slow
def test_select_can_be_killed_shown_and_resumed(folder, capsys):
    held = ["--estimator", "held.Held"]
    assert main(options(24, "whole.db", *held)) == 0
    whole = capsys.readouterr().out
    (folder / "log").touch()
    command = [sys.executable, "-m", "dagsearch", *options(24, "run.db", *held)]
    with running(command, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: len((folder / "log").read_text().splitlines()) > 30, process)
        assert main(["show", "run.db", "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["running"]
        assert shown["budget"] == 24
        assert shown["evaluations"] == 10
        process.kill()
        process.wait()
    assert main(["show", "run.db"]) == 0
    told = capsys.readouterr().out
    assert "not running" in told
    assert "of 24 evaluations" in told
    (folder / "log").unlink()
    assert re.search(r" at .*(alcohol|flavanoids|hue)", told)  # names, not numbers
    assert main(["resume", "run.db", "--out", "out", *held]) == 0
    assert capsys.readouterr().out.split("wrote")[0].strip() == whole.strip()
    assert (folder / "out" / "report.html").exists()


PAYLOAD = """
from pathlib import Path

Path("imported").touch()


def f():
    Path("called").touch()


class Splitter:
    def split(self, X, y, groups=None):
        raise RuntimeError("split")
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The events of a finished selection."""
    with chdir(tmp_path_factory.mktemp("finished")):
        X.assign(kind=Y).to_csv("wine.csv", index=False)
        assert main(options(20, "run.db")) == 0
        return read_events("run.db")


@pytest.fixture
def tampered(finished, folder):
    """Writes a journal whose request was changed by someone who knows how to write consistent digests."""

    def write(**changes):
        journal = Journal.create("other.db", finished[0].content)
        for event in finished[1:]:
            note = event.content.get("note") or {}
            if "select" in note:
                note = {**note, "select": {**note["select"], **changes}}
                journal.append(event.kind, {**event.content, "note": note})
            else:
                journal.append(event.kind, event.content)
        journal.close()

    return write


@pytest.mark.parametrize(
    ("changes", "remedy"),
    [
        ({"estimator": "payload:f"}, "--estimator payload:f"),
        ({"estimator": "payload.f"}, "--estimator payload.f"),
        ({"estimator": "os:abort"}, "--estimator os:abort"),
        ({"estimator": "sklearn.utils.all_estimators"}, "--estimator sklearn.utils.all_estimators"),
        ({"estimator": "a b;c"}, "--estimator 'a b;c'"),
        ({"cv": "payload:Splitter"}, "--cv payload:Splitter"),
        ({"cluster": "tcp://127.0.0.1:1"}, "--cluster tcp://127.0.0.1:1"),
    ],
)
def test_resume_runs_nothing_that_the_file_names_unless_confirmed(folder, tampered, capsys, changes, remedy):
    (folder / "payload.py").write_text(PAYLOAD)
    tampered(**changes)
    capsys.readouterr()
    assert main(["resume", "other.db", "--budget", "22"]) == 1
    err = capsys.readouterr().err
    assert "If you trust it, add " + remedy in err
    assert not (folder / "imported").exists()
    assert str(folder) not in sys.path


def test_resume_with_a_confirmed_estimator_imports_it(folder, tampered, capsys):
    (folder / "payload.py").write_text(PAYLOAD)
    tampered(estimator="payload:f")
    assert main(["resume", "other.db", "--budget", "22", "--estimator", "other:f"]) == 1
    assert "the journal's selection used 'payload:f'" in capsys.readouterr().err
    assert not (folder / "imported").exists()
    assert main(["resume", "other.db", "--budget", "22", "--estimator", "payload:f"]) == 1
    assert (folder / "called").exists()
    assert "it is not an estimator" in capsys.readouterr().err
    sys.modules.pop("payload", None)


def test_resume_of_scikit_learns_own_estimators_needs_no_confirmation(folder, capsys):
    assert main(options(20, "run.db", "--estimator", "KNeighborsClassifier")) == 0
    assert main(["resume", "run.db", "--budget", "22"]) == 0
    assert main(options(20, "long.db", "--estimator", "sklearn.neighbors.KNeighborsClassifier")) == 0
    assert main(["resume", "long.db", "--budget", "22"]) == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "changes",
    [
        {"nothing": 1},
        {"data": 5},
        {"target": None},
        {"budget": "many"},
        {"fixed": "a"},
        {"fixed": [1]},
        {"k": "some"},
        {"k": [1, "2"]},
        {"estimator": 3},
        {"set": {"a": 1}},
    ],
)
def test_damaged_requests_are_told(tampered, capsys, changes):
    tampered(**changes)
    assert main(["resume", "other.db"]) == 1
    assert "the request of 'dagsearch select' in it cannot be understood" in capsys.readouterr().err


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_selection_says_how_to_resume(folder):
    (folder / "log").touch()
    given = ["--estimator", "held.Held", "--out", "my report"]
    command = [sys.executable, "-m", "dagsearch", *options(24, "run.db", *given)]
    with running(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        wait_until(lambda: len((folder / "log").read_text().splitlines()) > 30, process)
        process.send_signal(signal.SIGINT)
        (folder / "log").unlink()
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"With 3 of 13 features" in out
    (line,) = err.decode().splitlines()
    advice = (
        "interrupted; resume with: dagsearch resume run.db --estimator held.Held --out 'my report' --force"
    )
    assert line == advice
    assert main(shlex.split(line)[4:]) == 0
    assert json.loads((folder / "my report" / "result.json").read_text())["result"]["evaluations"] == 24


def test_select_on_a_cluster_scores_two_subsets_at_once(folder, local_cluster):
    assert main(options(24, "run.db", "--cluster", local_cluster._client.scheduler.address)) == 0
    asked = [event.kind for event in read_events(folder / "run.db") if event.kind in ("ask", "tell")]
    first = asked.index("ask")  # after the rankings
    assert asked[first : first + 3] == ["ask", "ask", "tell"]
    assert asked.count("tell") == 24


def test_a_cluster_that_is_not_there_is_named(folder, capsys, monkeypatch):
    address = "tcp://127.0.0.1:1"
    monkeypatch.setattr(distributed, "Client", partial(distributed.Client, timeout=0.1))
    assert main(options(24, "run.db", "--cluster", address)) == 1
    assert f"--cluster {address}: there is no scheduler" in capsys.readouterr().err


def test_searches_are_resumed_by_their_problem(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(TESTS)
    journal = tmp_path / "run.db"
    search = ds.Search.default(Sum(), initial=4, seed=0, journal=journal)
    steps = search.steps(30)
    for _ in range(12):
        next(steps)
    search.close()
    whole = ds.Search.default(Sum(), initial=4, seed=0).run(30)
    assert main(["resume", str(journal)]) == 1
    assert "give --problem" in capsys.readouterr().err
    for wrong, words in {
        "support.problems": "module:name",
        "support.problems:Nothing": "cannot be imported",
    }.items():
        assert main(["resume", str(journal), "--problem", wrong]) == 1
        assert words in capsys.readouterr().err
    assert main(["resume", str(journal), "--problem", "support.problems:Sum"]) == 0
    told = capsys.readouterr().out
    assert f"best reward {whole.best_reward:.6g} after 30 evaluations" in told
    assert (
        main(["resume", str(journal), "--problem", "support.problems:Sum", "--budget", "34", "--jobs", "2"])
        == 0
    )
    assert "after 34 evaluations" in capsys.readouterr().out


def test_a_function_is_resumed_by_its_name(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "of_mine.py").write_text(
        "def cost(choose):\n    return abs(choose('x', range(30)) - 7.0) + choose('y', range(9))\n"
    )
    function = importlib.import_module("of_mine").cost
    ds.minimize(function, 12, seed=0, journal="run.db")
    whole = ds.minimize(function, 30, seed=0)
    assert main(["resume", "run.db", "--problem", "of_mine:cost", "--budget", "30"]) == 0
    told = capsys.readouterr().out
    assert f"best reward {whole.best_reward:.6g} after 30 evaluations" in told
    assert repr(whole.best_state) in told


def test_what_is_no_journal_is_said(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("hello")
    for command in ("show", "resume"):
        assert main([command, str(tmp_path / "missing.db")]) == 1
        assert "there is no journal" in capsys.readouterr().err
        assert main([command, str(tmp_path / "notes.txt")]) == 1
        assert "is not a journal" in capsys.readouterr().err


def cost(choose):
    return (choose("x", range(10)) - 3) ** 2


@pytest.mark.parametrize(
    ("begin", "go_on", "word"),
    [(ds.minimize, ds.maximize, "minimised"), (ds.maximize, ds.minimize, "maximised")],
)
def test_what_was_minimised_is_not_maximised_later(begin, go_on, word, tmp_path):
    journal = tmp_path / "run.db"
    begin(cost, budget=4, seed=0, journal=journal)
    before = journal.read_bytes()
    with pytest.raises(ds.JournalError, match=f"of a function that is {word}"):
        go_on(cost, budget=6, seed=0, journal=journal)
    assert journal.read_bytes() == before
    assert len(begin(cost, budget=6, seed=0, journal=journal).history) == 6


def test_show_says_that_failures_count(tmp_path, capsys):
    def fragile(choose):
        if (a := choose("a", range(10))) > 6:
            raise OSError("too hot")
        return a

    ds.maximize(fragile, 10, seed=0, journal=tmp_path / "run.db", on_error="skip")
    assert main(["show", str(tmp_path / "run.db")]) == 0
    assert "7 rewards and 3 failures of 10 evaluations, 0 pending, 3 failed" in capsys.readouterr().out
    report = Report.of_journals(tmp_path / "run.db").to_dict()[0]
    assert (report["evaluations"], report["failed_in_run"], report["state"]) == (7, 3, "ended")


def test_show_has_the_numbers_of_a_function_that_is_minimised(tmp_path, capsys):
    journal = tmp_path / "run.db"
    best = ds.minimize(lambda choose: cost(choose) + 5, budget=6, seed=0, journal=journal).best_reward
    assert main(["show", str(journal), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["best_reward"] == best
    assert best >= 5
    assert all(reward >= 5 for reward, _ in shown["last"])


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
    ds.search(make(), 20, seed=0, journal=tmp_path / "run.db")
    assert main(["show", str(tmp_path / "run.db")]) == 0
    lines = capsys.readouterr().out.splitlines()
    best = next(line for line in lines if line.startswith("best so far"))
    assert re.fullmatch(f"best so far: \\S+ at {written}", best), best
    assert len([line for line in lines if line.startswith("  ") and "null" not in line]) in (3, 5)


def test_show_has_names_and_paths_in_json(tmp_path, capsys):
    best = ds.search(Walk(), 20, seed=0, journal=tmp_path / "walk.db").best_path
    orders = ds.problems.Orders("abc", reward=lambda order: order.index("a"))
    order = ds.search(orders, 4, seed=0, journal=tmp_path / "order.db").best_state
    for name, expected in (("walk.db", best), ("order.db", order)):
        assert main(["show", str(tmp_path / name), "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["best_leaf"] == list(expected)


@pytest.mark.parametrize(
    ("rules", "stopped"), [({"target": 9}, "target"), ({"patience": 3}, "patience"), ({}, "budget")]
)
def test_a_search_that_has_ended_evaluates_nothing_when_it_is_run_again(rules, stopped, tmp_path):
    calls = []

    def reward(subset):
        calls.append(subset)
        return float(sum(subset))

    problem = ds.problems.Subsets(8, 2, reward=reward)
    first, second = (ds.search(problem, 15, seed=0, journal=tmp_path / "run.db", **rules) for _ in range(2))
    assert first.stopped == second.stopped == stopped
    assert len(first.history) == len(second.history) == len(calls)


@pytest.mark.parametrize(
    ("name", "force", "code"),
    [
        ("run.db", False, 1),
        ("run.db", True, 1),
        ("link.db", True, 1),
        ("table.csv", False, 1),
        ("table.csv", True, 0),
        ("page.html", False, 0),
        ("missing/page.html", False, 1),
        ("folder", True, 1),
    ],
)
def test_a_report_replaces_no_file_of_the_user(name, force, code, tmp_path, capsys):
    ds.search(ds.problems.Subsets(6, 2, reward=sum), 6, seed=0, journal=tmp_path / "run.db")
    (tmp_path / "link.db").symlink_to(tmp_path / "run.db")
    (tmp_path / "table.csv").write_text("a,b")
    (tmp_path / "page.html").write_text("<!DOCTYPE html><title>an earlier page</title>")
    (tmp_path / "folder").mkdir()
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    out = ["--out", str(tmp_path / name), *(["--force"] if force else [])]
    assert main(["report", str(tmp_path / "run.db"), *out]) == code
    assert ("error: --out:" in capsys.readouterr().err) == (code == 1)
    if code == 1:
        assert {path: path.read_bytes() for path in before} == before
    else:
        assert b"dagsearch" in (tmp_path / name).read_bytes()


def test_a_copy_that_exists_is_not_replaced(tmp_path, capsys):
    ds.search(ds.problems.Subsets(6, 2, reward=sum), 4, seed=0, journal=tmp_path / "run.db")
    (tmp_path / "copy.db").write_text("mine")
    assert main(["backup", str(tmp_path / "run.db"), str(tmp_path / "copy.db")]) == 1
    assert "exists already: choose another file name" in capsys.readouterr().err
    assert (tmp_path / "copy.db").read_text() == "mine"
