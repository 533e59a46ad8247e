"""``dagsearch select``."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from joblib.externals.loky import get_reusable_executor

from dagsearch.cli import main
from dagsearch.cli.select import comparisons, task
from dagsearch.cli.select.options import Request
from dagsearch.cli.select.summary import summary
from dagsearch.selection import SelectionReport, scoring
from dagsearch.selection.page import selection_view
from dagsearch.selection.record import Scored
from dagsearch.selection.scoring import quiet
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
    monkeypatch.setattr(scoring, "_DRAWS", 40)  # intervals of held-out scores take most of the time
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
        given = ["select", data, "--target", target, "--k", k, "--budget", budget, "--quiet"]
        code = main([*given, *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def result(path="out"):
    return json.loads((Path(path) / "result.json").read_text(encoding="utf-8"))


def test_files_are_named_and_the_budget_decides_what_is_compared(select):
    code, out, err = select("--out", "out")
    assert (code, err) == (0, "")
    assert "forward selection" not in out
    assert all(str(Path("out") / name) in out for name in ["result.json", "history.csv", "report.html"])


@pytest.mark.parametrize(("target", "task"), [("kind", "classification"), ("size", "regression")])
def test_task_follows_from_the_target(select, target, task):
    code, out, err = select("--out", "out", target=target, budget="20")
    assert (code, err) == (0, "")
    written = result()
    assert written["settings"]["task"] == task
    assert written["result"]["score"] > 0.8
    assert written["data"]["rows"] + written["data"]["holdout_rows"] == 80
    assert [other["name"] for other in written["comparisons"]][0::2] == ["all features", "forward selection"]
    for feature in written["result"]["features"]:
        assert f"\n{feature} " in out
    assert "cross-validated  new rows, 90%" in out


def test_range_of_sizes(select):
    assert select("--out", "out", "--fixed", "d", "b", k="2-3", budget="12")[0] == 0
    features = result()["result"]["features"]
    assert {"b", "d"} <= set(features)
    assert 2 <= len(features) <= 3


def test_fixed_forbidden_and_groups(select):
    code, out, _ = select("--out", "out", "--fixed", "d", "--forbidden", "a", "--groups", "b, c", budget="20")
    assert code == 0
    assert all(
        "d" in entry["features"]
        and "a" not in entry["features"]
        and len({"b", "c"} & set(entry["features"])) != 1
        for entry in result()["history"]
    )
    assert result()["comparisons"][0]["features"] == 6  # what is forbidden is not compared with either
    assert "all features" in out


def test_no_rows_kept_aside(select):
    code, out, _ = select("--holdout", "0", "--out", "out")
    assert code == 0
    assert result()["result"]["holdout_score"] is None
    assert result()["data"] == {"rows": 80, "columns": 7, "holdout_rows": None}
    assert "–" in out


def without_seconds(content):
    if isinstance(content, dict):
        return {key: without_seconds(value) for key, value in content.items() if key != "seconds"}
    return [without_seconds(value) for value in content] if isinstance(content, list) else content


def test_seed_decides(select):
    for name, seed in (("one", 1), ("again", 1), ("two", 2)):
        assert select("--seed", seed, "--out", name, target="kind")[0] == 0
    assert without_seconds(result("one")) == without_seconds(result("again"))
    scores = [[entry["score"] for entry in result(name)["history"]] for name in ("one", "two")]
    assert scores[0] != scores[1]  # other rows are held out, and other folds are drawn


# Estimators -----------------------------------------------------------------------------------------


def test_estimator_by_import_path(select):
    assert select("--estimator", "sklearn.neighbors.KNeighborsRegressor", "--out", "out")[0] == 0
    assert "KNeighborsRegressor" in result()["settings"]["estimator"]
    assert "imputing" in result()["settings"]["estimator"]


MODULE = """
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

ready = make_pipeline(SimpleImputer(), Ridge(alpha=3.0))

def made():
    return ready

def failing():
    raise RuntimeError("not today")

class Own(Ridge):
    pass

class Needy(Ridge):
    def __init__(self, what):
        self.what = what

class Loose:
    def fit(self, X, y):
        pass

loose = Loose()
number = 3
"""


@pytest.mark.parametrize("name", ["ready", "made"])
def test_ready_made_estimator_of_the_current_folder(select, folder, name):
    (folder / "module.py").write_text(MODULE)
    path = f"module:{name}"
    assert select("--estimator", path, "--forbidden", "colour", "kind", "--out", "out")[0] == 0
    assert "alpha=3.0" in result()["settings"]["estimator"]
    assert "imputing" not in result()["settings"]["estimator"]
    assert result()["comparisons"][0]["score"] is not None


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere.Ridge", "cannot be imported .*No module named 'nowhere'"),
        ("sklearn.linear_model.Rigde", "cannot be imported .*no attribute 'Rigde'"),
        ("Rigde", "scikit-learn has no such classifier or regressor; did you mean 'Ridge'?"),
        (
            "KNeighborsClassifier",
            "predicts classes, but the target consists of numbers: use KNeighborsRegressor",
        ),
        ("..Ridge", "cannot be imported"),
        ("faulty.Ridge", "cannot be imported .*SyntaxError"),
        ("module.failing", "not an estimator .*RuntimeError: not today"),
        ("module.loose", "not an estimator .*get_params"),
        ("module.number", "not an estimator .*number has no fit method"),
        ("module.Needy", "cannot be called without arguments .*what"),
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
        ({"target": "sise"}, "there is no column 'sise'; did you mean 'size'?"),
        ({"target": "zzz"}, "columns are 'a', 'b'"),
        ({"data": "missing.csv"}, "missing.csv: there is no such file"),
        ({"data": "table.png"}, "table.png: a table must be a .csv, .csv.gz, .tsv, .xlsx or .parquet file"),
        ({"data": "noise.parquet"}, "noise.parquet cannot be read as parquet"),
        ({"data": "noise.csv"}, "noise.csv cannot be read as csv"),
        ({"data": "empty.csv"}, "empty.csv cannot be read as csv"),
        ({"data": "header.csv"}, "the table has 0 rows with a target"),
        ({"data": "two.csv"}, "the table has 2 rows with a target: too few"),
        ({"data": "one-class.csv", "target": "kind"}, "the target 'kind' is always 'yes'"),
        ({"data": "one-class.csv", "target": "one"}, "the target 'one' is always 1: there"),
        ({"data": "ids.csv", "target": "kind"}, "the target 'kind' has 80 different texts in 80 rows"),
        ({"data": "narrow.csv"}, "1 columns to choose from"),
    ],
)
def test_bad_tables_are_told(select, folder, arguments, message):
    (folder / "noise.parquet").write_bytes(b"noise")
    (folder / "noise.csv").write_bytes(bytes(range(256)) * 4)
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("a,b,size\n")
    (folder / "two.csv").write_text("a,b,size\n1,2,3\n2,3,4\n")
    example().assign(kind="yes", one=1).to_csv("one-class.csv", index=False)
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
        (["--scoring", "roc_auc"], "--scoring roc_auc cannot score a target of numbers"),
        (["--fixed", "colours"], "fixed: there is no feature 'colours'; did you mean 'colour'?"),
        (["--fixed", "Colo"], "fixed: there is no feature 'Colo'; did you mean 'colour'?"),
        (["--groups", "a,x"], "groups: there is no feature 'x'"),
        (["--fixed", "a", "b", "c"], "n_features_to_select=2, but 3 are fixed"),
        (["--forbidden", "a", "b", "c", "d", "flag", "colour", "kind"], "forbidden: no feature is left"),
        (["--cv", "70"], "n_splits=70"),
        (["--holdout", "0.999"], "--holdout 0.999"),
        (["--task", "regression", "--target", "kind"], "the target 'kind' is not numeric"),
        (["--out", "table.csv"], "table.csv"),
        (["--out", "/proc/nowhere"], "/proc/nowhere"),
    ],
)
def test_bad_options_are_told(select, arguments, message):
    code, out, err = select(*arguments)
    assert (code, out) == (1, "")
    assert message in err


@pytest.mark.parametrize(("target", "meant"), [("kind", "Classifier"), ("size", "Regressor")])
def test_the_estimator_that_was_meant_predicts_what_the_target_has(select, target, meant):
    _, _, err = select("--estimator", "RandomForrest", target=target)
    assert f"did you mean 'RandomForest{meant}'?" in err


def test_a_limit_is_stated_only_to_who_exceeds_it(select, capsys):
    for given, limited in (("0", False), (str(2**63), True)):
        with pytest.raises(SystemExit):
            select(budget=given)
        assert (f"of at most {2**63 - 1}" in capsys.readouterr().err) == limited


def test_the_output_says_which_score_to_believe(select):
    select("--out", "out")
    content = result()
    low, high = content["result"]["score_interval"]
    for held, told in ((low - 0.1, True), ((low + high) / 2.0, False), (high + 0.1, True), (None, False)):
        content["result"]["holdout_score"] = held
        assert ("believe the held-out score" in summary(SelectionReport(content))) == told


@pytest.mark.parametrize(
    "arguments",
    [["--k", "0"], ["--k", "4-2"], ["--cv", "1"], ["--holdout", "1"], ["--seconds", "-1"], ["--x"]],
)
def test_malformed_options_end_with_usage(select, arguments):
    with pytest.raises(SystemExit) as ended:
        select(*arguments)
    assert ended.value.code == 2


def test_useless_columns_are_left_out_and_told(select):
    table = example().assign(nothing=None, same=1, when=pd.Timestamp("2020-01-01"), lists=[[1, 2]] * 80)
    table["when"] += pd.to_timedelta(np.arange(80), unit="D")
    table.to_parquet("odd.parquet")
    # Forbidding what is left out anyway is fine.
    code, out, err = select("--forbidden", "same", "--out", "out", data="odd.parquet")
    assert (code, err) == (0, "")
    assert "note: left out, with no values: 'nothing'" in out
    assert "note: left out, with neither numbers nor text: 'lists'" in out
    assert "note: left out, with what looks like dates: 'when'" in out
    assert "note: left out, with one value only: 'same'" in out
    assert result()["data"]["columns"] == 7
    code, _, err = select("--fixed", "same", data="odd.parquet")
    assert code == 1
    assert "--fixed: 'same' cannot be a feature: it has one value only" in err


def test_types_of_parquet_are_understood(select):
    table = example()
    table["nullable"] = pd.array([1, None, 3, 4] * 20, dtype="Int64")
    table["maybe"] = pd.array([True, None, False, True] * 20, dtype="boolean")
    table["class"] = pd.Categorical(table["colour"])
    table["count"] = pd.array(range(80), dtype="Int64")
    table.to_parquet("typed.parquet")
    fixed = ["nullable", "maybe", "class"]
    assert select("--fixed", *fixed, "--out", "out", data="typed.parquet", target="count", k="4")[0] == 0
    assert result()["settings"]["task"] == "regression"
    assert result()["result"]["failed"] == 0


def test_rows_without_target_are_left_out(select):
    table = example()
    table.loc[:9, "kind"] = None
    table.to_csv("gaps.csv", index=False)
    code, out, _ = select("--out", "out", data="gaps.csv", target="kind")
    assert code == 0
    assert "10 rows without a target were left out" in out
    assert result()["data"]["rows"] + result()["data"]["holdout_rows"] == 70


def test_rare_classes_are_warned_of(select):
    table = example()
    table.loc[:2, "kind"] = ["rare", "rarer", "rarest"]
    table.to_csv("rare.csv", index=False)
    code, out, err = select(data="rare.csv", target="kind")
    assert (code, err) == (0, "")
    assert out.count("least populated class") == 1


def test_more_features_than_there_are(select, capsys):
    code, out, _ = select("--out", "out", k="50")
    assert code == 0
    assert len(result()["result"]["features"]) == 7
    assert "warning: --k 50, but there are 7 features" in out
    assert main(["select", "table.csv", "--target", "size", "--k", "50", "--budget", "2"]) == 0
    before, _, _ = capsys.readouterr().err.partition("1 of 2 subsets")
    assert "warning: --k 50, but there are 7 features" in before  # nothing is spent yet


def test_a_column_that_repeats_a_forbidden_or_grouped_one_may_be_chosen(select):
    table = example()
    table.assign(twin=table["a"]).to_csv("twins.csv", index=False)
    for given in (["--forbidden", "a", "--fixed", "twin"], ["--forbidden", "a"], ["--groups", "a,twin"]):
        code, out, err = select(*given, "--out", "out", "--force", data="twins.csv", k="6")
        assert (code, err) == (0, "")
        assert "twin" in result()["result"]["features"]
        assert "keep=['" in out
        scope = {}
        exec(result()["code"], scope)
        assert "twin" in scope["features"]


def test_many_features_are_listed_in_part(select):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 80)), columns=[f"c{i}" for i in range(80)])
    table.assign(size=table.sum(axis=1)).to_csv("wide.csv", index=False)
    code, out, _ = select(data="wide.csv", k="500", budget="2")
    assert code == 0
    assert "warning: --k 500, but there are 80 features" in out
    assert out.count("not known") == 0  # there was no choice
    assert "\nand 50 more, listed in the code below\n" in out


def test_notes_are_printed_once_and_columns_counted_alike(folder, capsys):
    example().assign(same=1).to_csv("odd.csv", index=False)
    given = ["select", "odd.csv", "--target", "size", "--k", "2", "--budget", "6", "--forbidden", "a"]
    assert main(given) == 0
    out, err = capsys.readouterr()
    assert (out + err).count("left out, with one value only") == 1
    assert "note: left out, with one value only: 'same'" in err
    assert "from 6 columns" in err
    assert out.startswith("With 2 of 6 features")


def test_equal_names_are_told_apart(select, folder):
    rows = "".join(f"{i % 7},{i % 3},{i % 5},{i * 1.5}\n" for i in range(60))
    (folder / "twins.csv").write_text("a,a,b,size\n" + rows)
    assert select("--out", "out", data="twins.csv", k="1")[0] == 0
    assert {feature["name"] for feature in result()["features"]} == {"a", "a.1", "b"}


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


def test_failures_are_told_in_one_line(select, folder):
    (folder / "plain.py").write_text("from sklearn.linear_model import Ridge\nridge = Ridge()\n")
    code, out, _ = select("--estimator", "plain.ridge", "--forbidden", "kind", "colour", budget="12")
    assert code == 0
    (line,) = [line for line in out.splitlines() if "could not be scored" in line]
    assert "Input X contains NaN" in line
    following = out.partition(line)[2].splitlines()[1]
    assert following.startswith("warning: ")


def test_standard_input(select, monkeypatch):
    content = Path("table.csv").read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    assert select("--out", "out", data="-")[0] == 0
    assert result()["settings"]["data"] == "standard input"
    assert select("--out", "first")[0] == 0
    assert result()["result"]["features"] == result("first")["result"]["features"]


def test_how_the_table_is_written_can_be_given(select, folder):
    (folder / "odd.csv").write_bytes(example().to_csv(sep="^", decimal=",", index=False).encode("cp437"))
    given = ["--sep", "^", "--decimal", ",", "--encoding", "cp437", "--out", "out"]
    assert select(*given, data="odd.csv")[0] == 0
    assert result()["settings"]["task"] == "regression"
    code, _, err = select("--encoding", "klingon", data="odd.csv")
    assert code == 1
    assert "--encoding klingon" in err


def test_doubtful_columns_are_named_before_anything_is_spent(folder, capsys, monkeypatch):
    table = example().assign(price=[f"${1000 + i:,}.50" for i in range(80)], number=range(80))
    table["leak"] = np.where(table["kind"] == "yes", "paid", "open")
    table.to_csv("messy.csv", index=False)

    def spent(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(task, "_fit", spent)
    assert main(["select", "messy.csv", "--target", "kind", "--forbidden", "size"]) == 130
    told = capsys.readouterr().err
    assert (
        "classification of 'kind' from 8 columns, 60 rows and 20 held-out ones; accuracy; LogisticReg" in told
    )
    assert "note: converted from text to numbers: 'price' (such as '$1,000.50')" in told
    assert "note: left out, with what looks like identifiers: 'number' (--keep to use)" in told
    assert "note: one column alone determines the target (score 1.0000): 'leak'" in told
    assert "note: the classes of 'kind' are numbered: 'no' is 0, 'yes' is 1 and counts as positive" in told


def test_kept_and_fixed_columns_may_be_chosen(select):
    example().assign(number=range(80)).to_csv("messy.csv", index=False)
    assert select("--keep", "number", "--out", "one", data="messy.csv")[0] == 0
    assert select("--fixed", "number", "--out", "two", data="messy.csv")[0] == 0
    assert result("one")["data"]["columns"] == 8
    assert "number" in result("two")["result"]["features"]


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


@pytest.mark.parametrize("labels", [("no", "yes"), (1, 2), (-1, 1), (False, True)])
def test_targets_are_numbered_for_scorers_and_strict_estimators(select, folder, labels):
    (folder / "strict.py").write_text(STRICT)
    example().assign(kind=lambda t: np.where(t["kind"] == "yes", labels[1], labels[0])).to_csv(
        "t.csv", index=False
    )
    given = ["--estimator", "strict.Strict", "--scoring", "f1", "--out", "out"]
    code, out, _ = select(*given, data="t.csv", target="kind")
    assert code == 0
    assert result()["result"]["failed"] == 0
    assert result()["settings"]["positive class"] == str(labels[1])
    assert "F1 0." in out.splitlines()[0]


def test_scorers_of_two_classes_are_refused_for_three(select):
    code, _, err = select("--scoring", "f1", target="colour")
    assert code == 1
    assert "--scoring f1 cannot score a target of 3 classes; use f1_macro" in err


def test_estimators_by_short_name_with_settings(select):
    given = [
        "--estimator",
        "RandomForestRegressor",
        "--set",
        "n_estimators=7",
        "max_features=sqrt",
        "bootstrap=False",
    ]
    assert select(*given, "--out", "out")[0] == 0
    shown = result()["settings"]["estimator"]
    assert shown.startswith("RandomForestRegressor(bootstrap=False, max_features='sqrt', n_estimators=7,")
    assert "RandomForestRegressor" in result()["question"]
    code, _, err = select("--set", "alpa=3")
    assert (code, "--set alpa: Ridge has no such parameter; did you mean 'alpha'?" in err) == (1, True)
    assert "--set alpha: it must be name=value" in select("--set", "alpha")[2]


CHATTY = """
import os, sys, warnings
from sklearn.linear_model import Ridge

class Chatty(Ridge):
    def fit(self, X, y):
        print("chatter")
        print("chatter", file=sys.stderr)
        os.write(1, b"chatter")
        os.write(2, b"chatter")
        warnings.warn("chatter")
        return super().fit(X, y)

    def predict(self, X):
        print("chatter")
        return super().predict(X)
"""


@pytest.mark.parametrize("more", [["--jobs", "1"], ["--jobs", "2"], ["--honest"]])
def test_what_estimators_print_is_kept_away(folder, capfd, more):
    (folder / "chatty.py").write_text(CHATTY)
    get_reusable_executor().shutdown()  # workers of earlier tests do not look into this folder
    given = ["--target", "size", "--k", "2", "--budget", "6", "--quiet", "--estimator", "chatty.Chatty"]
    assert main(["select", "table.csv", *given, *more]) == 0
    out, err = capfd.readouterr()
    assert "chatter" not in out + err
    assert "chatty" in out  # the code names its module


def test_quiet_is_over_when_the_last_thread_leaves(capfd):
    with quiet():
        with quiet():
            print("inner")
        os.write(1, b"outer")
    print("after")
    assert capfd.readouterr().out == "after\n"


def test_any_number_of_columns_is_the_default_and_a_simpler_choice_is_shown(folder, capsys):
    table = pd.read_csv("table.csv").drop(columns=["size", "kind"])
    noise = np.random.default_rng(0).normal(size=len(table))
    value = table["a"] + 0.4 * table["c"] + 0.4 * table["d"] + noise
    table.assign(value=value).to_csv("weak.csv", index=False)
    assert main(["select", "weak.csv", "--target", "value", "--budget", "40", "--quiet", "--out", "out"]) == 0
    out, sizes = capsys.readouterr().out, result()["by_size"]
    assert result()["settings"]["features to select"] == "auto"
    assert result()["result"]["features"] == max(sizes, key=lambda size: size["score"])["features"]
    assert [len(size["features"]) for size in sizes] == sorted(len(size["features"]) for size in sizes)
    assert sum(size["subsets"] for size in sizes) == 40
    assert "features  best cross-validated  standard error  subsets" in out
    simpler = result()["result"]["simpler"]
    assert len(simpler["features"]) < len(result()["result"]["features"])
    assert (
        f"within one standard error of the difference, fold by fold: {len(simpler['features'])} feature"
        in out
    )


def test_one_size_has_no_table_of_sizes(select):
    assert select("--out", "one")[0] == 0
    assert result("one")["by_size"] == []


def test_the_headline_compares_on_the_same_rows(select):
    _, out, _ = select("--out", "out", budget="20")
    found, rows = result(), {one["name"]: one for one in result()["comparisons"]}
    headline = found["headline"]
    assert out.startswith(headline)
    for score in (
        found["result"]["holdout_score"],
        *found["result"]["holdout_interval"],
        rows["no features"]["holdout_score"],
        rows["all features"]["holdout_score"],
        rows["best 2 one by one (f_regression)"]["holdout_score"],
    ):
        assert f"{score:.3f}" in headline


def test_a_leak_comes_first(select):
    table = pd.read_csv("table.csv")
    table.insert(0, "answer", np.where(table["kind"] == "yes", 1.0, 0.0) + 0.001 * np.arange(80))
    table.to_csv("leak.csv", index=False)
    _, out, _ = select("--out", "out", data="leak.csv", target="kind")
    assert out.startswith("Suspected leak: 'answer' alone determines the target")
    assert "'answer'" in result()["warnings"][0]


@pytest.mark.parametrize("k", ["1", "auto"])
def test_a_table_without_signal_gets_no_word_of_certainty(select, k):
    told = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        noise = pd.DataFrame(rng.normal(size=(100, 6)), columns=list("abcdef"))
        noise.assign(target=rng.choice(["yes", "no"], 100)).to_csv("noise.csv", index=False)
        _, out, _ = select("--out", f"out{seed}", data="noise.csv", target="target", k=k, budget="20")
        found = result(f"out{seed}")
        if "nothing here predicts the target better than no features" in found["headline"]:
            told += 1
            assert "certain" not in found["headline"]
            assert {feature["inclusion"] for feature in found["features"]} == {None}
            assert found["result"]["simpler"] is found["substitutes"] is found["code"] is None
            assert selection_view(found)["effects"] is None
            assert "In Python" not in out
        assert all((feature["inclusion"] or 0.0) < 0.9 for feature in found["features"])
        assert "nearly certain" not in out
    assert told >= 3


def test_nothing_shown_is_beyond_the_bounds_of_the_score(select):
    table = pd.read_csv("table.csv")[["a", "c", "d", "size"]]
    table.assign(sure=table["a"] > 0).drop(columns="size").to_csv("easy.csv", index=False)
    _, _, _ = select("--out", "out", data="easy.csv", target="sure", k="1-3", budget="50")
    found = result()
    assert found["result"]["stopped"] == "exhausted"
    view = selection_view(found)
    assert view["forecast"] == []
    intervals = [found["result"]["score_interval"], *(one["interval"] for one in found["runners_up"])]
    intervals += [one["interval"] for one in found["comparisons"] if one["interval"]]
    for low, high in intervals:
        assert 0.0 <= low < high <= 1.0
    # The chosen subset has one interval, wherever it is shown.
    assert view["leaves"][0]["interval"] == found["result"]["score_interval"]
    found["result"]["stopped"] = "budget"
    ends = [point[end] for point in selection_view(found)["forecast"] for end in ("low", "mean", "high")]
    assert max(ends, default=0.0) <= 1.0


def test_the_code_to_copy_runs_and_fits_the_chosen_columns(select, folder):
    code, out, _ = select("--out", "out", "--estimator", "SVC", "--set", "C=2", target="kind")
    assert code == 0
    code = result()["code"]
    assert "\n".join(f"    {line}".rstrip() for line in code.splitlines()) in out
    namespace = {}
    exec(code, namespace)
    model, table = namespace["model"], namespace["table"]
    assert model.steps[1][1].C == 2
    assert list(model.feature_names_in_) == result()["result"]["features"]
    assert model.score(table.features[namespace["features"]], table.target) > 0.8


# Rows -------------------------------------------------------------------------------------------------

SPLITS = """
import numpy as np
from pathlib import Path
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import ShuffleSplit

class Seen(DummyRegressor):
    def fit(self, X, y, sample_weight=None):
        with Path("seen").open("a") as file:
            file.write(f"{len(y)} {max(y)} {0 if sample_weight is None else sum(sample_weight)}\\n")
        return super().fit(X, y, sample_weight)

three = ShuffleSplit(3, test_size=0.5, random_state=0)

def made():
    return three

def broken():
    raise RuntimeError("not today")

number = 3
"""


def test_time_column_predicts_later_rows_from_earlier_ones(select, folder):
    (folder / "splits.py").write_text(SPLITS)
    table = example().drop(columns=["kind", "colour"])
    table["size"] = np.arange(80) + 0.5  # the time
    table["day"] = pd.date_range("2024-01-01", periods=80).strftime("%d.%m.%Y")
    table.sample(frac=1.0, random_state=0).to_csv("days.csv", index=False)
    given = ["--time-column", "day", "--estimator", "splits.Seen", "--out", "out"]
    assert select(*given, data="days.csv")[0] == 0
    seen = [line.split() for line in Path("seen").read_text().splitlines()]
    assert all(float(last) == int(count) - 0.5 for count, last, _ in seen)  # the first rows, without a gap
    assert {int(count) for count, _, _ in seen} == {10, 20, 30, 40, 50, 60}  # five folds, and the hold-out
    assert result()["settings"]["time"] == "day"
    assert "day" not in {feature["name"] for feature in result()["features"]}


def test_group_column_keeps_rows_together(folder):
    example().assign(who=[i // 4 for i in range(80)]).to_csv("groups.csv", index=False)
    for target in ("kind", "size"):
        prepared = task._prepared(request(data=Path("groups.csv"), target=target, group_column="who"))
        assert not set(prepared.kept.groups) & set(prepared.holdout.groups)
        groups = prepared.kept.groups.to_numpy()
        splits = list(prepared.cv.split(prepared.kept.features, prepared.kept.target, groups))
        assert len(splits) == 5
        assert all(not set(groups[train]) & set(groups[test]) for train, test in splits)
    outcome = task.select(request(data=Path("groups.csv"), group_column="who", budget=6))
    assert outcome.report.to_dict()["result"]["failed"] == 0


def test_weight_column_reaches_estimator_and_scorer(select, folder):
    (folder / "splits.py").write_text(SPLITS)
    example().assign(w=[2.0] * 40 + [0.0] * 40).to_csv("weights.csv", index=False)
    given = ["--weight-column", "w", "--estimator", "splits.Seen", "--holdout", "0"]
    assert select(*given, data="weights.csv")[0] == 0
    assert all(float(line.split()[2]) > 0 for line in Path("seen").read_text().splitlines())
    # Rows without weight count neither when fitting nor when scoring.
    table = example().assign(w=[1.0] * 40 + [0.0] * 40)
    table.loc[40:, "size"] = 1e6 * np.arange(40)
    table.to_csv("outliers.csv", index=False)
    given = ["--weight-column", "w", "--fixed", "a", "c", "--out", "out"]
    assert select(*given, data="outliers.csv", budget="1")[0] == 0
    assert result()["result"]["score"] > 0.8
    code, _, err = select("--weight-column", "w", "--estimator", "KNeighborsRegressor", data="outliers.csv")
    assert (code, "--weight-column: KNeighborsRegressor cannot be fitted with weights" in err) == (1, True)


def test_the_honest_score_of_a_pipeline_takes_weights(select):
    example().assign(w=np.arange(80.0)).to_csv("weights.csv", index=False)
    code, out, err = select("--weight-column", "w", "--honest", "--out", "out", data="weights.csv")
    assert (code, err) == (0, "")
    assert "Honest score of the whole selection" in out
    assert result()["honest"]["score"] > 0.5


@pytest.mark.parametrize("error", [RuntimeError("no more"), KeyboardInterrupt()])
def test_what_was_found_survives_a_failure_of_nested_cross_validation(select, monkeypatch, error):
    def failing(*_, **__):
        raise error

    monkeypatch.setattr(DAGSearchSelector, "honest_score", failing)
    code, out, err = select("--honest", "--out", "out")
    assert len(result()["result"]["features"]) == 2
    if isinstance(error, KeyboardInterrupt):
        assert (code, err.startswith("interrupted")) == (130, True)
    else:
        assert (code, err) == (0, "")
        assert "warning: there is no score by nested cross-validation: RuntimeError: no more" in out


@pytest.mark.parametrize("path", ["splits:three", "splits:made", "sklearn.model_selection.LeaveOneOut"])
def test_own_folds(select, folder, path):
    (folder / "splits.py").write_text(SPLITS)
    code, _, err = select("--cv", path, "--out", "out", "--scoring", "neg_mean_absolute_error", budget="3")
    assert (code, err) == (0, "")
    assert result()["settings"]["cv"].startswith(("ShuffleSplit(n_splits=3", "LeaveOneOut"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--cv", "splits:nothing"], "--cv splits:nothing: it cannot be imported"),
        (["--cv", "splits:broken"], "--cv splits:broken: it cannot be imported (RuntimeError: not today)"),
        (["--cv", "splits:number"], "--cv splits:number: it is not a splitter: it has no method split"),
        (
            ["--group-column", "colour", "--time-column", "a"],
            "--group-column and --time-column cannot be used together",
        ),
        (["--group-column", "flag"], "--cv 5: the group column has"),
        (["--time-column", "a", "--holdout", "0.99"], "--holdout 0.99: Too few rows"),
        (["--positive", "yes"], "--positive yes: the target 'size' has no classes"),
    ],
)
def test_bad_rows_are_told(select, folder, arguments, message):
    (folder / "splits.py").write_text(SPLITS)
    code, out, err = select(*arguments)
    assert (code, out) == (1, "")
    assert message in err


# Files ------------------------------------------------------------------------------------------------


def test_existing_files_are_replaced_only_by_force(select, folder):
    assert select("--out", "out")[0] == 0
    (folder / "out" / "history.csv").write_text("mine")
    code, out, err = select("--out", "out")
    assert (code, out) == (1, "")
    assert "result.json exists; give another folder, or --force to replace it" in err
    assert (folder / "out" / "history.csv").read_text() == "mine"
    assert select("--out", "out", "--force")[0] == 0
    assert (folder / "out" / "history.csv").read_text() != "mine"


def test_what_was_found_is_printed_even_if_it_cannot_be_written(select, monkeypatch):
    def full(*_):
        raise OSError("no space left on device")

    monkeypatch.setattr(SelectionReport, "write", full)
    code, out, err = select("--out", "out")
    assert code == 1
    assert out.startswith("With 2 of 7 features")
    assert "no space left on device" in err


def test_a_reader_that_has_had_enough_loses_no_files(folder):
    given = ["--budget", "6", "--quiet", "--out", "out"]
    with running(command_line(*given), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        process.stdout = None
        _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (141, b"")
    assert (folder / "out" / "report.html").exists()


def test_spreadsheets_find_no_formulas(select, folder):
    (folder / "rude.py").write_text(
        "from sklearn.linear_model import Ridge\n"
        "class Rude(Ridge):\n"
        "    def fit(self, X, y):\n"
        "        if X.shape[1] == 2 and X[0, 0] < 0: raise type('=cmd', (Exception,), {})('x')\n"
        "        return super().fit(X, y)\n"
    )
    table = example().rename(columns={"a": "=cmd|' /C calc'!A0", "b": "@sum(1)", "c": "+1", "d": "-1"})
    table.to_csv("formulas.csv", index=False)
    given = ["--estimator", "rude.Rude", "--forbidden", "kind", "colour", "flag", "--out", "out"]
    code, _, err = select(*given, data="formulas.csv", budget="20")
    assert (code, err) == (0, "")
    with (folder / "out" / "history.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    cells = [cell for row in rows for name, cell in row.items() if name in ("failure", "features")]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    assert any(cell.startswith("'=cmd: x") for cell in cells)
    assert not any('"=' in row["features"] or '"@' in row["features"] for row in rows)
    assert [json.loads(row["features"]) for row in rows] == [
        entry["features"] for entry in result()["history"]
    ]


def test_files_beside_the_table_replace_no_installed_module(select, folder):
    before = list(sys.path)
    for name in ("sklearn", "openpyxl", "fractions"):
        (folder / f"{name}.py").write_text("raise SystemExit('let in')")
    assert select("--estimator", "sklearn.svm.SVR")[0] == 0
    assert sys.path == before
    (folder / "own.py").write_text("from sklearn.linear_model import Ridge\nclass Own(Ridge): pass\n")
    assert select("--estimator", "own.Own")[0] == 0
    assert sys.path == [*before, str(folder)]  # at the end, for worker processes


# Interrupts -------------------------------------------------------------------------------------------


def request(**arguments):
    """What the command line asks for."""
    defaults = {"data": Path("table.csv"), "target": "size", "k": 2, "budget": 30, "progress": False}
    return Request(**defaults | arguments)


def test_a_request_survives_json_and_bad_ones_do_not():
    asked = request(k=(2, 4), fixed=("a",), storage="run.db", seconds=3, decimal=",")
    assert Request.from_json(json.loads(json.dumps(asked.to_json()))) == asked
    good = asked.to_json()
    bad = [{"k": [1, 2, 3]}, {"k": "many"}, {"fixed": "a"}, {"fixed": [1]}, {"budget": "6"}, {"budget": True}]
    for change in [*bad, {"decimal": ";"}, {"data": 1}, {"honest": 1}, {"other": 1}, {"seconds": "3"}]:
        with pytest.raises(TypeError):
            Request.from_json(good | change)
    with pytest.raises(TypeError):
        Request.from_json({"data": "table.csv"})


def test_interrupt_while_comparing_loses_nothing(folder, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(comparisons, "forward_selection", interrupted)
    outcome = task.select(request())
    assert outcome.interrupted
    content = outcome.report.to_dict()
    assert [other["name"] for other in content["comparisons"]][:1] == ["all features"]
    assert len(content["comparisons"]) == 2
    assert content["result"]["holdout_score"] is not None
    assert "held out" in summary(outcome.report)


def test_forward_selection_is_not_begun_when_time_is_up(folder):
    outcome = task.select(request(seconds=1e-3))
    content = outcome.report.to_dict()
    assert content["result"]["stopped"] == "seconds"
    assert not any(other["name"] == "forward selection" for other in content["comparisons"])


def test_forward_selection_ends_when_time_is_up():
    """Its time is over before the second column is added."""
    scored = []

    def score(columns):
        scored.append(columns)
        return Scored(tuple(columns), np.ones(3), 0.0, None)

    clock = iter(range(100))
    with mock.patch("time.perf_counter", side_effect=clock):
        found = comparisons.forward_selection(score, range(5), 2, mock.Mock(), until=6)
    assert found is None
    assert len(scored) == 6


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
    return [
        sys.executable,
        "-m",
        "dagsearch",
        "select",
        "table.csv",
        "--target",
        "size",
        "--k",
        "2",
        *arguments,
    ]


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
    assert b"in the best subset with probability" in out
    assert b"Traceback" not in err
    assert result()["result"]["stopped"] == "interrupted"
    assert result()["result"]["evaluations"] == 8


@pytest.mark.slow
def test_own_estimator_in_several_processes_with_a_bar(folder):
    (folder / "counted.py").write_text(COUNTED)
    given = ["--estimator", "counted.Counted", "--budget", "6", "--jobs", "2"]
    script = Path(sys.executable).with_name("dagsearch")
    done = subprocess.run([script, *command_line(*given)[3:]], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "6 of 6 subsets" in done.stderr
    assert len(done.stderr.splitlines()) < 10  # no bar where there is no terminal
    assert "could not be scored" not in done.stdout


def test_predictions_without_features_are_judged_by_the_weights_as_well(select, folder):
    table = example()
    table["w"] = np.where(table["kind"] == "yes", 3.0, 1.0)
    table.to_csv("weighted.csv", index=False)
    given = ["--weight-column", "w", "--holdout", "0", "--scoring", "accuracy", "--out", "out"]
    assert select(*given, data="weighted.csv", target="kind")[0] == 0
    (dull,) = (one for one in result()["comparisons"] if one["name"] == "no features")
    yes = (table["kind"] == "yes").to_numpy()
    assert dull["score"] == pytest.approx(3 * yes.sum() / (3 * yes.sum() + (~yes).sum()), abs=0.02)
    assert dull["score"] > yes.mean() + 0.1
