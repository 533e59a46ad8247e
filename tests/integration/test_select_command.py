"""``dagsearch select``."""

import argparse
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky import get_reusable_executor

from dagsearch.cli import main
from dagsearch.cli.select import add_parser, task
from dagsearch.sklearn import DAGSearchSelector
from support.processes import PATIENCE, running, wait_until

# Most tests run the whole command on a table.
pytestmark = pytest.mark.slow

HOSTILE = "<img src=x onerror=alert(1)>"


def example(rows=80):
    """A table with numbers, flags, text and gaps; ``kind`` and ``size`` are to be predicted."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(rows, 4)), columns=["a", "b", "c", "d"])
    table["flag"] = rng.random(rows) > 0.5
    table["colour"] = np.where(table["a"] > 0, "red", np.where(table["b"] > 0, "blue", "green"))
    table["kind"] = np.where(table["a"] + table["b"] > 0, "yes", "no")
    table["size"] = 2 * table["a"] + table["c"] + 0.1 * rng.normal(size=rows)
    table.loc[::9, "b"] = np.nan
    table.loc[::11, "colour"] = None
    return table


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the table in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    example().to_csv("table.csv", index=False)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def select(folder, capsys):
    """Runs the command; returns the exit code and what it printed."""

    def run(*arguments, data="table.csv", target="size", k="2", budget="6"):
        given = ["select", data, "--target", target, "--k", k, "--budget", budget]
        code = main([*given, *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def result(path="out"):
    return json.loads((Path(path) / "result.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("target", "task"), [("kind", "classification"), ("size", "regression")])
def test_task_follows_from_the_target(select, target, task):
    code, out, _ = select("--out", "out", target=target, budget="13")
    assert code == 0
    written = result()
    headline = written["headline"]
    assert out.startswith(headline)
    found, others = written["result"], {one["name"]: one for one in written["comparisons"]}
    for score in (
        found["holdout_score"],
        *found["holdout_interval"],
        *(others[name]["holdout_score"] for name in ("no features", "all features")),
    ):
        assert f"{score:.3f}" in headline
    low, high = found["score_interval"]
    assert f" {found['expected_score']:.4f} ({low:.4f} to {high:.4f})  " in out
    assert ("warning: the hold-out score" in out) == (not low <= found["holdout_score"] <= high)
    assert written["settings"]["task"] == task
    assert written["result"]["score"] > 0.8
    assert written["data"]["rows"] + written["data"]["holdout_rows"] == 80
    assert [other["name"] for other in written["comparisons"]][0::2] == ["all features", "no features"]
    for feature in written["result"]["features"]:
        assert f"\n{feature} " in out


def test_fixed_and_forbidden(select):
    code, out, _ = select("--out", "out", "--fixed", "d", "--forbidden", "a", k="2-3", budget="8")
    assert code == 0
    assert all(
        "d" in entry["features"] and "a" not in entry["features"] and len(entry["features"]) in (2, 3)
        for entry in result()["history"]
    )
    assert result()["comparisons"][0]["features"] == 6  # what is forbidden is not compared with either
    assert "all features" in out


# Estimators -----------------------------------------------------------------------------------------


MODULE = """
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

ready = make_pipeline(SimpleImputer(), Ridge(alpha=3.0))

class Loose:
    def fit(self, X, y):
        pass

loose = Loose()
"""


def test_ready_made_estimator_of_the_current_folder(select, folder):
    (folder / "module.py").write_text(MODULE)
    assert select("--estimator", "module:ready", "--forbidden", "colour", "kind", "--out", "out")[0] == 0
    assert "alpha=3.0" in result()["settings"]["estimator"]
    assert "imputing" not in result()["settings"]["estimator"]
    assert result()["comparisons"][0]["score"] is not None


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere.Ridge", "cannot be imported .*No module named 'nowhere'"),
        ("Rigde", "scikit-learn has no such classifier or regressor; did you mean 'Ridge'?"),
        ("faulty.Ridge", "cannot be imported .*SyntaxError"),
        ("module.loose", "cannot create the estimator .*get_params"),
        ("Ridge(alpa=3)", "cannot create the estimator .*alpa"),
        ("Ridge(3)", "write parameters as in Name"),
        ("Ridge(alpha=open('x'))", "write parameters as in Name"),
    ],
)
def test_estimators_that_are_none(select, folder, path, message):
    (folder / "module.py").write_text(MODULE)
    (folder / "faulty.py").write_text("def (")
    code, out, err = select("--estimator", path)
    assert (code, out) == (1, "")
    assert err.startswith(f"dagsearch select: error: --estimator {path}")
    assert re.search(message, err)


# Bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "sise"}, "--target: there is no column 'sise'; did you mean 'size'?"),
        ({"data": "missing.csv"}, "missing.csv cannot be read: No such file"),
        ({"data": "table.png"}, "table.png: a table must be a .csv, .csv.gz, .tsv, .xlsx or .parquet file"),
        ({"data": "two.csv"}, "too few rows with a target: 2"),
        ({"data": "one-class.csv", "target": "kind"}, "the target 'kind' is always 'yes'"),
        ({"data": "ids.csv", "target": "kind"}, "the target 'kind' has 80 different texts in 80 rows"),
        ({"data": "narrow.csv"}, "too few columns to choose from besides the target: 1"),
    ],
)
def test_bad_tables_are_told(select, folder, arguments, message):
    (folder / "two.csv").write_text("a,b,size\n1,2,3\n2,3,4\n")
    example().assign(kind="yes").to_csv("one-class.csv", index=False)
    example().assign(kind=[f"number {i}" for i in range(80)]).to_csv("ids.csv", index=False)
    example()[["a", "size"]].to_csv("narrow.csv", index=False)
    code, out, err = select(**arguments)
    assert (code, out) == (1, "")
    assert message in err
    assert err.startswith("dagsearch select: error: ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scoring", "acuracy"], "no scorer 'acuracy'; did you mean 'accuracy'?"),
        (["--forbidden", "colours"], "forbidden: there is no feature 'colours'; did you mean 'colour'?"),
        (["--fixed", "a", "b", "c"], "n_features_to_select=2, but 3 are fixed"),
        (["--forbidden", "a", "b", "c", "d", "flag", "colour", "kind"], "forbidden: no feature is left"),
        (["--cv", "70"], "n_samples=60; use fewer folds, or more rows"),
        (["--cv", "1"], "n_splits=1"),
        (["--holdout", "0.999"], "--holdout 0.999"),
        (["--holdout", "1"], "--holdout 1"),
        (["--estimator", "Ridge", "--target", "kind"], "the target 'kind' is not numeric: use a classifier"),
        (["--out", "table.csv"], "table.csv"),
        (["--out", "/proc/nowhere"], "/proc/nowhere"),
    ],
)
def test_bad_options_are_told(select, arguments, message):
    code, out, err = select(*arguments)
    assert (code, out) == (1, "")
    assert message in err


@pytest.mark.parametrize("arguments", [["--k", "0"], ["--k", "4-2"], ["--budget", "x"], ["--x"]])
def test_malformed_options_end_with_usage(select, arguments):
    with pytest.raises(SystemExit) as ended:
        select(*arguments)
    assert ended.value.code == 2


def test_names_are_shown_and_not_run(select, folder):
    table = example().rename(columns={"a": HOSTILE, "c": "red\x1b[31m,\nline"})
    table.to_csv("hostile.csv", index=False)
    given = ["--fixed", HOSTILE, "red\x1b[31m,\nline", "--out", "out"]
    code, out, _ = select(*given, data="hostile.csv")
    assert code == 0
    assert HOSTILE in out
    assert "\x1b" not in out
    assert r"red\x1b[31m,\nline" in out
    assert HOSTILE in result()["result"]["features"]
    assert HOSTILE not in (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_doubtful_columns_are_named_before_anything_is_spent(folder, capsys, monkeypatch):
    table = example().assign(price=[f"${1000 + i:,}.50" for i in range(80)], number=range(80))
    table["leak"] = np.where(table["kind"] == "yes", "paid", "open")
    table.to_csv("messy.csv", index=False)

    def spent(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(DAGSearchSelector, "fit", spent)
    assert main(["select", "messy.csv", "--target", "kind", "--forbidden", "size"]) == 130
    told = capsys.readouterr().err
    assert "target kind, features to select auto, budget 100, task classification" in told
    assert "columns 9, rows 60, hold-out rows 20" in told
    assert "note: converted from text to numbers: 'price' (such as '$1,000.50')" in told
    assert "note: excluded as likely identifiers: 'number' (--keep to use)" in told
    first = next(line for line in told.splitlines() if line.startswith("note"))
    assert first.startswith(
        "note: suspected leak: one column alone predicts the target almost perfectly: 'leak'"
    )
    assert "note: the classes of 'kind' are numbered: 'no' is 0, 'yes' is 1, the positive class" in told


@pytest.mark.usefixtures("folder")
def test_kept_and_fixed_columns_may_be_chosen():
    example().assign(number=range(80)).to_csv("table.csv", index=False)
    assert "number" not in task.task_for(parsed()).kept.features
    for option in ("--keep", "--fixed"):
        assert "number" in task.task_for(parsed(option, "number")).kept.features


# Targets and models -----------------------------------------------------------------------------------

STRICT = """
import numpy as np
from sklearn.tree import DecisionTreeClassifier

class Strict(DecisionTreeClassifier):
    def fit(self, X, y, **more):
        if sorted(np.unique(y)) != list(range(len(np.unique(y)))):
            raise ValueError("classes must be 0, 1, ...")  # as XGBoost demands
        return super().fit(X, y, **more)
"""


def test_targets_are_numbered_for_scorers_and_strict_estimators(select, folder):
    (folder / "strict.py").write_text(STRICT)
    example().assign(kind=lambda t: np.where(t["kind"] == "yes", 1, -1)).to_csv("t.csv", index=False)
    given = ["--estimator", "strict.Strict", "--scoring", "f1", "--out", "out"]
    code, out, _ = select(*given, data="t.csv", target="kind")
    assert code == 0
    assert result()["result"]["failed"] == 0
    assert result()["settings"]["positive class"] == "1"
    assert "F1 0." in out.splitlines()[0]


def test_estimators_by_short_name_with_settings(select):
    given = "RandomForestRegressor(n_estimators=7, max_features='sqrt', bootstrap=False)"
    assert select("--estimator", given, "--out", "out")[0] == 0
    shown = result()["settings"]["estimator"]
    assert shown.startswith("RandomForestRegressor(bootstrap=False, max_features='sqrt', n_estimators=7,")
    assert "RandomForestRegressor" in result()["question"]


CHATTY = """
import sys, warnings
from sklearn.linear_model import Ridge

class Chatty(Ridge):
    def fit(self, X, y):
        print("chatter")
        print("chatter", file=sys.stderr)
        warnings.warn("chatter")
        return super().fit(X, y)

    def predict(self, X):
        print("chatter")
        return super().predict(X)
"""


def test_what_estimators_print_is_kept_away(folder, capfd):
    (folder / "chatty.py").write_text(CHATTY)
    get_reusable_executor().shutdown()  # workers of earlier tests do not look into this folder
    given = ["--target", "size", "--k", "2", "--budget", "6", "--estimator", "chatty.Chatty"]
    assert main(["select", "table.csv", *given, "--jobs", "2"]) == 0
    out, err = capfd.readouterr()
    assert "chatter" not in out + err
    assert "6/6" in err


def test_a_table_without_signal_gets_no_word_of_certainty(select):
    rng = np.random.default_rng(0)
    noise = pd.DataFrame(rng.normal(size=(100, 6)), columns=list("abcdef"))
    noise.assign(target=rng.choice(["yes", "no"], 100)).to_csv("noise.csv", index=False)
    _, out, _ = select("--out", "out", data="noise.csv", target="target", k="auto", budget="6")
    found = result()
    assert "nothing here predicts the target better than no features" in found["headline"]
    assert {feature["inclusion"] for feature in found["features"]} == {None}
    assert found["result"]["simpler"] is found["code"] is None
    assert "In Python" not in out


# Rows -------------------------------------------------------------------------------------------------

SPLITS = """
from sklearn.model_selection import ShuffleSplit

unseeded = ShuffleSplit(3, test_size=0.5)

number = 3
"""


@pytest.mark.usefixtures("folder")
def test_time_column_predicts_later_rows_from_earlier_ones():
    table = example().assign(day=pd.date_range("2024-01-01", periods=80).strftime("%d.%m.%Y"))
    table["size"] = np.arange(80) + 0.5  # the time
    table.sample(frac=1.0, random_state=0).to_csv("table.csv", index=False)
    found = task.task_for(parsed("--time-column", "day"))
    assert "day" not in found.kept.features
    times = found.kept.target.to_numpy()
    assert times.max() < found.holdout.target.min()
    assert len(found.splits) == 5
    assert all(times[train].max() < times[test].min() for train, test in found.splits)


def parsed(*arguments, target="size", data="table.csv"):
    """The options of the command line."""
    given = ["select", data, "--target", target, "--k", "2", "--budget", "30", *arguments]
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    return parser.parse_args(given)


@pytest.mark.parametrize("target", ["kind", "size"])
def test_group_column_keeps_rows_together(folder, target):
    example().assign(who=[i // 4 for i in range(80)]).to_csv("table.csv", index=False)
    prepared = task.task_for(parsed("--group-column", "who", target=target))
    assert not set(prepared.kept.groups) & set(prepared.holdout.groups)
    groups = prepared.kept.groups.to_numpy()
    assert len(prepared.splits) == 5
    assert all(not set(groups[train]) & set(groups[test]) for train, test in prepared.splits)


def test_rows_without_weight_count_neither_when_fitting_nor_when_scoring(select):
    table = example().assign(w=[1.0] * 40 + [0.0] * 40)
    table.loc[40:, "size"] = 1e6 * np.arange(40)
    table.to_csv("outliers.csv", index=False)
    given = ["--weight-column", "w", "--fixed", "a", "c", "--out", "out"]
    assert select(*given, data="outliers.csv", budget="1")[0] == 0
    assert result()["result"]["score"] > 0.8
    code, _, err = select("--weight-column", "w", "--estimator", "KNeighborsRegressor", data="outliers.csv")
    assert (code, "--weight-column: KNeighborsRegressor cannot be fitted with weights" in err) == (1, True)


def test_own_folds_are_the_same_for_every_subset(select, folder):
    (folder / "splits.py").write_text(SPLITS)
    given = ["--cv", "splits:unseeded", "--out", "out", "--forbidden", "kind", "colour", "flag"]
    assert select(*given, k="4", budget="3")[0] == 0
    assert result()["settings"]["cv"].startswith("ShuffleSplit(n_splits=3")
    assert result()["comparisons"][0]["name"] == "all features"
    assert result()["comparisons"][0]["score"] == pytest.approx(result()["result"]["score"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cv", "splits:nothing"], "--cv splits:nothing cannot be imported"),
        (["--cv", "splits:number"], "--cv splits:number: not a splitter, because it has no method split"),
        (["--group-column", "flag"], "n_splits=5"),
        (["--time-column", "a", "--holdout", "0.999"], "--holdout 0.999: "),
    ],
)
def test_bad_rows_are_told(select, folder, arguments, message):
    (folder / "splits.py").write_text(SPLITS)
    code, out, err = select(*arguments)
    assert (code, out) == (1, "")
    assert message in err


def test_groups_and_time_exclude_each_other(select, capsys):
    with pytest.raises(SystemExit) as ended:
        select("--group-column", "colour", "--time-column", "a")
    assert ended.value.code == 2
    assert "argument --time-column: not allowed with argument --group-column" in capsys.readouterr().err


# Files ------------------------------------------------------------------------------------------------


def test_a_reader_that_has_had_enough_loses_no_files(folder):
    given = ["--budget", "5", "--out", "out", "--holdout", "0", "--forbidden", "kind", "colour"]
    with running(command_line(*given), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 141
    assert b"Traceback" not in err
    assert (folder / "out" / "report.html").exists()


def test_files_beside_the_table_replace_no_installed_module(folder):
    for name in ("sklearn", "fractions"):
        (folder / f"{name}.py").write_text("raise SystemExit('let in')")
    assert "SVR" in str(task.task_for(parsed("--estimator", "sklearn.svm.SVR")).estimator)
    (folder / "own.py").write_text("from sklearn.linear_model import Ridge\nclass Own(Ridge): pass\n")
    assert "Own" in str(task.task_for(parsed("--estimator", "own.Own")).estimator)
    assert sys.path[-1] == str(folder)  # at the end, for worker processes


# Interrupts -------------------------------------------------------------------------------------------


# Hard tables ------------------------------------------------------------------------------------------


def test_a_rare_class_is_scored_by_the_order_of_the_predictions(select, folder):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(1500, 8)), columns=[f"v{i}" for i in range(8)])
    strength = table["v2"] + table["v5"] + 0.5 * rng.normal(size=1500)
    table["fraud"] = np.where(strength >= np.sort(strength)[-37], "yes", "no")
    table.to_csv("fraud.tsv", sep="\t", index=False)
    _, out, err = select("--out", "out", data="fraud.tsv", target="fraud", k="2", budget="8")
    assert "note: 97.5% of the rows are 'no': scored by roc_auc" in err
    assert set(result()["result"]["features"]) == {"v2", "v5"}
    assert out.startswith("With 2 of 8 features, predicting 'fraud' reaches ROC AUC 0.9")
    given = {"target": "fraud", "data": "fraud.tsv"}
    (note, *_) = task.task_for(parsed("--scoring", "accuracy", **given)).notes
    assert "accuracy is not informative; use --scoring roc_auc" in note
    table["fraud"] = np.where(table["v1"] > 1.5, "maybe", table["fraud"])
    table.to_csv("fraud.tsv", sep="\t", index=False)
    assert task.task_for(parsed(**given)).scoring == "balanced_accuracy"
    table.assign(fraud=np.where(table.index == 0, "yes", "no")).to_csv("fraud.tsv", sep="\t", index=False)
    with pytest.warns(UserWarning, match="least populated class"):
        assert "all hold-out rows are 'no'" in task.task_for(parsed(**given)).notes[-1]


def test_a_near_leak_comes_first(select):
    rng = np.random.default_rng(0)
    table = example().drop(columns=["size", "kind"]).assign(euro=rng.lognormal(5.0, 0.6, 80))
    table.assign(dollar=1.1 * table["euro"] + 2.0 * rng.normal(size=80)).to_csv("price.csv", index=False)
    _, out, err = select("--out", "out", data="price.csv", target="dollar")
    assert out.startswith("Suspected leak: 'euro' alone predicts the target almost perfectly")
    assert "'euro' (R² 0.99" in err
    assert result()["notes"][0].startswith("suspected leak")


def test_the_interval_of_the_hold_out_score_has_the_weights_of_the_score(select):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(400, 3)), columns=list("abc"))
    heavy = np.arange(400) % 10 < 3
    table["w"] = np.where(heavy, 20.0, 0.1)
    table["kind"] = np.where((table["a"] > 0) == (heavy | (rng.random(400) < 0.1)), "yes", "no")
    table.to_csv("weights.csv", index=False)
    given = ["--weight-column", "w", "--scoring", "roc_auc", "--out", "out"]
    assert select(*given, data="weights.csv", target="kind")[0] == 0
    found = result()["result"]
    low, high = found["holdout_interval"]
    assert found["holdout_score"] > 0.9
    assert low > 0.8  # the light rows, which are predicted wrongly, do not count
    assert high - low < 0.2


COUNTED = """
import time
from pathlib import Path
from sklearn.linear_model import Ridge

class Counted(Ridge):
    def fit(self, X, y):
        with Path("fits").open("a") as file:
            file.write(".")
        while Path("hold").exists() and Path("fits").stat().st_size > 40:
            time.sleep(0.01)
        return super().fit(X, y)
"""


def command_line(*arguments):
    command = ["-m", "dagsearch", "select", "table.csv", "--target", "size", "--k", "2"]
    return [sys.executable, *command, *arguments]


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_prints_and_writes_what_was_found(folder):
    (folder / "counted.py").write_text(COUNTED)
    (folder / "hold").touch()
    given = ["--estimator", "counted.Counted", "--budget", "100000", "--out", "out"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with running(command_line(*given), **pipes) as process:
        wait_until(lambda: (folder / "fits").exists() and (folder / "fits").stat().st_size > 40, process)
        process.send_signal(signal.SIGINT)
        (folder / "hold").unlink()  # what is left to do needs fits
        out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert b"importance (90 % CI)" in out
    assert b"Traceback" not in err
    assert result()["result"]["stopped"] == "interrupted"
    assert result()["result"]["evaluations"] == 8
