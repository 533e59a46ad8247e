"""Stored feature selections: of one process that is interrupted, of several, and on the command line."""

import json
import re
import signal
import subprocess
import sys
import warnings
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from typing import ClassVar

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import dagsearch as ds
from dagsearch.cli import main
from dagsearch.errors import StorageError
from dagsearch.selection import SelectionRun
from dagsearch.sklearn import DAGSearchSelector
from support.processes import PATIENCE, environment, running, wait_until
from support.runs import cut_off, events

# Every test fits many times, or starts the command.
pytestmark = pytest.mark.slow

distributed = pytest.importorskip("distributed")

X, Y = load_wine(return_X_y=True, as_frame=True)


class Stopped(Exception):
    pass


def selector(budget, storage=None, **more):
    estimator = make_pipeline(StandardScaler(), LogisticRegression())
    return DAGSearchSelector(
        estimator, n_features_to_select=3, budget=budget, cv=3, random_state=0, storage=storage, **more
    )


@contextmanager
def stopped_after(monkeypatch, steps):
    """The selection ends with an exception after ``steps`` scores."""
    left, take = [steps], SelectionRun.take

    def taking(*given):
        found = take(*given)
        left[0] -= 1
        if left[0] == 0:
            raise Stopped
        return found

    with monkeypatch.context() as patch:
        patch.setattr(SelectionRun, "take", taking)
        with pytest.raises(Stopped):
            yield


# One process ----------------------------------------------------------------------------------------


@cache
def uninterrupted():
    return selector(30).fit(X, Y)


@pytest.mark.parametrize("steps", [1, 25])
def test_a_selector_that_was_cut_off_goes_on(steps, tmp_path, monkeypatch):
    whole = uninterrupted()
    with stopped_after(monkeypatch, steps):
        selector(30, tmp_path / "run.db").fit(X, Y)
    again = selector(30, tmp_path / "run.db").fit(X, Y)
    assert again.history_["features"].tolist() == whole.history_["features"].tolist()
    for name in ("mean_test_score", "best_score", "split1_test_score"):
        np.testing.assert_array_equal(again.history_[name], whole.history_[name])
    np.testing.assert_array_equal(again.inclusion_probability_, whole.inclusion_probability_)
    assert again.score_interval_ == whole.score_interval_
    assert np.all(np.diff(again.history_["seconds"]) >= 0.0)


def test_a_larger_budget_goes_on_with_the_same_run(tmp_path):
    first = selector(20, tmp_path / "run.db").fit(X, Y)
    more = selector(30, tmp_path / "run.db").fit(X, Y)
    assert more.history_["features"][:20].tolist() == first.history_["features"].tolist()
    assert len(more.history_["features"]) == 30


def test_a_run_of_other_data_is_refused(tmp_path):
    selector(10, tmp_path / "run.db").fit(X, Y)
    with pytest.raises(StorageError, match="other data, folds, estimator or scoring"):
        selector(20, tmp_path / "run.db").fit(X * 2.0, Y)
    with pytest.raises(StorageError, match="other data"):
        selector(20, tmp_path / "run.db", scoring="f1_macro").fit(X, Y)
    with pytest.raises(StorageError, match="other data"):
        selector(20, tmp_path / "run.db").fit(X, Y, sample_weight=np.ones(len(Y)))


class Sometimes(LogisticRegression):
    """Fails on some columns."""

    def fit(self, data, y):
        if data[:, 0].mean() > 100.0:
            raise ValueError("too large")
        return super().fit(StandardScaler().fit_transform(data), y)


def test_failed_subsets_are_known_again(tmp_path, monkeypatch):
    def failing(**more):
        made = DAGSearchSelector(Sometimes(), n_features_to_select=2, budget=25, cv=3, random_state=0, **more)
        data = X.to_numpy()[:, ::-1]  # large values come first
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ds.sklearn.FailedSubsetsWarning)
            return made.fit(data, Y)

    whole = failing()
    with stopped_after(monkeypatch, 22):
        failing(storage=tmp_path / "run.db")
    again = failing(storage=tmp_path / "run.db")
    assert again.history_["failure"].tolist() == whole.history_["failure"].tolist()
    assert any(again.history_["failure"][:22])


RNG = np.random.default_rng(0)
# The value of an entry says which column it is from.
COLUMNS = RNG.normal(size=(30, 7)).clip(-4.0, 4.0) + 10.0 * np.arange(7)
TARGET = COLUMNS[:, 1] - COLUMNS[:, 4] + 0.5 * RNG.normal(size=30)


class Least(RegressorMixin, BaseEstimator):
    """Least squares; the columns of every fit are noted."""

    fitted: ClassVar[list[frozenset[int]]] = []

    def fit(self, data, y):
        self.fitted.append(frozenset(np.round(np.mean(data, axis=0) / 10.0).astype(int).tolist()))
        self.weights_ = np.linalg.lstsq(np.c_[data, np.ones(len(data))], y, rcond=None)[0]
        return self

    def predict(self, data):
        return np.c_[data, np.ones(len(data))] @ self.weights_


def least(storage, budget=16, **more):
    arguments = {"n_features_to_select": (2, 3), "cv": 2, "random_state": 0, **more}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the budget is small
        return DAGSearchSelector(Least(), budget=budget, storage=storage, **arguments).fit(COLUMNS, TARGET)


def findings(fitted):
    """What a selector has found, to the last bit, as text because some of it may be unknown (NaN)."""
    found = [np.asarray(fitted.history_[name]) for name in ("features", "mean_test_score", "best_score")]
    found += [fitted.support_, fitted.inclusion_probability_]
    return [*(repr(one.tolist()) for one in found), repr(fitted.score_interval_)]


def subset(event):
    return frozenset(event.body["leaf"])


@pytest.mark.parametrize("more", [{}, {"n_jobs": 2}], ids=["one at a time", "two at once"])
def test_a_selection_cut_off_anywhere_ends_as_if_it_had_not_been(more, tmp_path):
    """Nothing that was told is scored again, and all findings are those of the whole run."""
    with joblib.parallel_config(backend="threading"):
        whole = findings(least(tmp_path / "run.db", **more))
        for kept in range(0, len(events(tmp_path / "run.db")) + 1, 3):
            copy = cut_off(tmp_path / "run.db", kept, tmp_path / f"{kept}.db")
            told, before = {subset(event) for event in events(copy, "tell")}, len(Least.fitted)
            assert findings(least(copy, **more)) == whole
            assert not told.intersection(Least.fitted[before:])


# Several processes ----------------------------------------------------------------------------------


JOINED = """
import json
import sys
import time

import numpy as np
from sklearn.linear_model import Ridge

from dagsearch.selection import SelectionRun
from dagsearch.sklearn import DAGSearchSelector


class Slow(Ridge):
    def fit(self, X, y):
        time.sleep(0.02)
        return super().fit(X, y)


rng = np.random.default_rng(0)
X = rng.normal(size=(40, 9))
y = X[:, 1] - X[:, 4] + 0.5 * rng.normal(size=40)
fitted = DAGSearchSelector(
    Slow(),
    n_features_to_select=(2, 4),
    budget=40,
    cv=3,
    random_state=0,
    storage=sys.argv[1],
).fit(X, y)
found = sorted(map(sorted, fitted.history_["features"])), fitted.stopped_, fitted.support_.tolist()
print(json.dumps([*found, fitted.best_score_]))
"""


@pytest.mark.parametrize("killed", [False, True])
def test_the_same_fit_in_several_processes_is_one_selection(killed, storage):
    """Every subset is asked for and told once, the budget is that of all, and all find the same."""

    def tells():
        with suppress(StorageError):  # it has not begun
            return [json.dumps(event.body["leaf"]) for event in events(storage, "tell")]
        return []

    with ExitStack() as stack:

        def begin(_=None):
            command = [sys.executable, "-c", JOINED, storage]
            return stack.enter_context(running(command, stdout=subprocess.PIPE, env=environment()))

        begun = list(map(begin, range(3)))
        for count in (3, 12, 25) if killed else ():
            wait_until(lambda count=count: len(tells()) >= count)
            begun[0].kill()
            begun[0].wait()
            begun = [*begun[1:], begin()]
        found = [json.loads(process.communicate(timeout=PATIENCE)[0]) for process in begun]
    assert all(one == found[0] for one in found)
    subsets, stopped, *_ = found[0]
    assert stopped == "budget"
    assert len(subsets) == len(set(map(tuple, subsets))) == 40
    assert len(tells()) == len(set(tells())) == 40
    asked = [json.dumps(event.body["leaf"]) for event in events(storage, "ask")]
    assert len(asked) == len(set(asked))


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


def options(budget, run, *more):
    settings = ["--target", "kind", "--k", 3, "--budget", budget, "--cv", 3, "--storage", run]
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
        assert main(["show", "run.db"]) == 0
        shown = capsys.readouterr().out
        assert "State: running" in shown
        assert re.search(r"Evaluations: \d+ of 24", shown)
        process.kill()
        process.wait()
    assert main(["show", "run.db"]) == 0
    told = capsys.readouterr().out
    assert "State: running" not in told
    assert re.search(r"Evaluations: \d+ of 24", told)
    (folder / "log").unlink()
    assert re.search(r" at .*(alcohol|flavanoids|hue)", told)  # names, not numbers
    assert main(options(24, "run.db", "--out", "out", *held)) == 0
    assert capsys.readouterr().out.split("wrote")[0].strip() == whole.strip()
    assert (folder / "out" / "report.html").exists()


@pytest.mark.usefixtures("interruptible")
def test_an_interrupted_selection_says_how_to_continue(folder, capsys):
    (folder / "log").touch()
    given = options(24, "run.db", "--estimator", "held.Held", "--out", "my report")
    with running(
        [sys.executable, "-m", "dagsearch", *given], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        wait_until(lambda: len((folder / "log").read_text().splitlines()) > 30, process)
        process.send_signal(signal.SIGINT)
        (folder / "log").unlink()
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"With 3 of 13 features" in out
    assert err.decode().splitlines()[-1] == "interrupted; run the same command again to continue"
    assert main(given) == 0
    assert json.loads((folder / "my report" / "result.json").read_text())["result"]["evaluations"] == 24
    assert main(["resume", "run.db", "--problem", "held:Held"]) == 1
    assert "rerun the command or script that began it" in capsys.readouterr().err
