"""Journals of selectors and on the command line."""

import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dagsearch as ds
from dagsearch.cli import main
from dagsearch.durable.journal import JournalError, read_events
from dagsearch.sklearn import DAGSearchSelector
from executing import Sum
from test_execution import cluster

HERE = Path(__file__).parent
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


@pytest.mark.parametrize("warm_start", [None, [[0, 1, 2], [3, 4, 5]], {(0, 1, 2): 0.7}])
@pytest.mark.parametrize("steps", [1, 9, 25])
def test_a_selector_that_was_cut_off_goes_on(steps, warm_start, tmp_path):
    whole = selector(30, warm_start=warm_start).fit(X, Y)
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


def dagsearch(*arguments, cwd=None, **more):
    command = [sys.executable, "-m", "dagsearch", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, **more)


@pytest.fixture
def table(tmp_path):
    X.assign(kind=Y).to_csv(tmp_path / "wine.csv", index=False)
    return tmp_path / "wine.csv"


def options(table, budget, journal):
    return [
        "select",
        table,
        "--target",
        "kind",
        "--k",
        3,
        "--budget",
        budget,
        "--quiet",
        "--cv",
        3,
        "--journal",
        journal,
    ]


def test_select_can_be_killed_shown_and_resumed(table, tmp_path, capsys):
    whole = dagsearch(*options(table, 60, tmp_path / "whole.db"))
    journal = tmp_path / "run.db"
    process = subprocess.Popen(
        [sys.executable, "-m", "dagsearch", *map(str, options(table, 60, journal))],
        stdout=subprocess.DEVNULL,
    )
    while process.poll() is None:
        if journal.exists():
            assert main(["show", str(journal), "--json"]) in (0, 1)  # 1: it has only just begun
            shown = capsys.readouterr().out
            if shown and json.loads(shown)["evaluations"] >= 15:
                break
    running = json.loads(shown)
    assert running["running"]
    assert running["budget"] == 60
    process.kill()
    process.wait()
    assert main(["show", str(journal)]) == 0
    told = capsys.readouterr().out
    assert "not running" in told
    assert "of 60 evaluations" in told
    resumed = dagsearch("resume", journal, "--out", tmp_path / "out")
    assert resumed.returncode == 0, resumed.stderr
    assert resumed.stdout.split("wrote")[0].strip() == whole.stdout.strip()
    assert (tmp_path / "out" / "report.html").exists()


def test_select_on_a_cluster_finds_what_it_finds_here(table, tmp_path):
    with cluster(2) as executor:
        address = executor._client.scheduler.address
        found = dagsearch(*options(table, 24, tmp_path / "run.db"), "--cluster", address)
    assert found.returncode == 0, found.stderr
    asked = [event.kind for event in read_events(tmp_path / "run.db") if event.kind in ("ask", "tell")]
    assert asked[:3] == ["ask", "ask", "tell"]  # two at once
    assert asked.count("tell") == 24


def test_a_cluster_that_is_not_there_is_named(table, tmp_path):
    found = dagsearch(*options(table, 24, tmp_path / "run.db"), "--cluster", "tcp://127.0.0.1:1")
    assert found.returncode == 1
    assert "--cluster tcp://127.0.0.1:1: there is no scheduler" in found.stderr


def test_searches_are_resumed_by_their_problem(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(HERE)
    journal = tmp_path / "run.db"
    search = ds.Search.default(Sum(), initial=4, seed=0, journal=journal)
    steps = search.steps(30)
    for _ in range(12):
        next(steps)
    search.close()
    whole = ds.Search.default(Sum(), initial=4, seed=0).run(30)
    assert main(["resume", str(journal)]) == 1
    assert "give --problem" in capsys.readouterr().err
    for wrong, words in {"executing": "module:name", "executing:Nothing": "cannot be imported"}.items():
        assert main(["resume", str(journal), "--problem", wrong]) == 1
        assert words in capsys.readouterr().err
    assert main(["resume", str(journal), "--problem", "executing:Sum"]) == 0
    told = capsys.readouterr().out
    assert f"best reward {whole.best_reward:.6g} after 30 evaluations" in told
    assert main(["resume", str(journal), "--problem", "executing:Sum", "--budget", "34", "--jobs", "2"]) == 0
    assert "after 34 evaluations" in capsys.readouterr().out


def test_what_is_no_journal_is_said(tmp_path, capsys):
    (tmp_path / "notes.txt").write_text("hello")
    for command in ("show", "resume"):
        assert main([command, str(tmp_path / "missing.db")]) == 1
        assert "there is no journal" in capsys.readouterr().err
        assert main([command, str(tmp_path / "notes.txt")]) == 1
        assert "or not a journal" in capsys.readouterr().err
