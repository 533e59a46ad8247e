"""``dagsearch select``."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dagsearch.cli import main
from dagsearch.cli.select import comparisons, task
from dagsearch.cli.select.summary import summary
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
        given = ["select", data, "--target", target, "--k", k, "--budget", budget, "--quiet"]
        code = main([*given, *map(str, arguments)])
        return code, *capsys.readouterr()

    return run


def result(path="out"):
    return json.loads((Path(path) / "result.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_formats_give_the_same_result(select, suffix):
    file, table = f"other.{suffix}", example()
    if suffix == "parquet":
        table.to_parquet(file)
    else:
        table.to_csv(file, sep="\t" if suffix == "tsv" else ",", index=False)
    code, out, err = select("--out", "out", data=file)
    assert (code, err) == (0, "")
    assert select("--out", "first")[0] == 0
    assert result()["result"]["features"] == result("first")["result"]["features"]
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
    assert "cross-validated  90% interval" in out


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
    assert result("one")["history"][0]["features"] != result("two")["history"][0]["features"]


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
        ("Ridge", "cannot be imported"),
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
    assert err.startswith(f"dagsearch select: error: --estimator {path}: ")
    assert re.search(message, err)


# Bad input --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"target": "sise"}, "there is no column 'sise'; did you mean 'size'?"),
        ({"target": "zzz"}, "columns are 'a', 'b'"),
        ({"data": "missing.csv"}, "missing.csv: there is no such file"),
        ({"data": "table.txt"}, "table.txt: a table must be a .csv, .tsv or .parquet file"),
        ({"data": "noise.parquet"}, "noise.parquet cannot be read as parquet"),
        ({"data": "noise.csv"}, "noise.csv cannot be read as csv"),
        ({"data": "empty.csv"}, "empty.csv cannot be read as csv"),
        ({"data": "header.csv"}, "the table has 0 rows with a target"),
        ({"data": "two.csv"}, "the table has 2 rows with a target: too few"),
        ({"data": "one-class.csv", "target": "kind"}, "the target 'kind' is always 'yes'"),
        ({"data": "ids.csv", "target": "kind"}, "n_splits=5"),
        ({"data": "narrow.csv"}, "1 columns to choose from"),
    ],
)
def test_bad_tables_are_told(select, folder, arguments, message):
    (folder / "noise.parquet").write_bytes(b"noise")
    (folder / "noise.csv").write_bytes(bytes(range(256)) * 4)
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text("a,b,size\n")
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
        (["--scoring", "roc_auc"], "none of the 6 subsets could be scored"),
        (["--fixed", "colours"], "fixed: there is no feature 'colours'; did you mean 'colour'?"),
        (["--groups", "a,x"], "groups: there is no feature 'x'"),
        (["--fixed", "a", "b", "c"], "n_features_to_select=2, but 3 are fixed"),
        (["--forbidden", "a", "b", "c", "d", "flag", "colour", "kind"], "forbidden: there is no other"),
        (["--seconds", "-1"], "seconds must be positive"),
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


@pytest.mark.parametrize(
    "arguments", [["--k", "0"], ["--k", "4-2"], ["--cv", "1"], ["--holdout", "1"], ["--x"]]
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
    assert "warning: left out, with no values: 'nothing'" in out
    assert "warning: left out, with neither numbers nor text: 'when', 'lists'" in out
    assert "warning: left out, with one value only: 'same'" in out
    assert result()["data"]["columns"] == 7
    code, _, err = select("--fixed", "same", data="odd.parquet")
    assert code == 1
    assert "--fixed: 'same' cannot be a feature, it has one value only" in err


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


def test_more_features_than_there_are(select):
    code, out, _ = select("--out", "out", k="50")
    assert code == 0
    assert len(result()["result"]["features"]) == 7
    assert "warning: n_features_to_select=50, but there are 7 features" in out


def test_equal_names_are_told_apart(select, folder):
    rows = "".join(f"{i},{i % 3},{i % 5},{i * 1.5}\n" for i in range(60))
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
    assert "red�[31m,�line" in out
    assert HOSTILE in result()["result"]["features"]
    assert HOSTILE not in (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_failures_are_told_in_one_line(select, folder):
    (folder / "plain.py").write_text("from sklearn.linear_model import Ridge\nridge = Ridge()\n")
    code, out, _ = select("--estimator", "plain.ridge", "--forbidden", "kind", "colour", budget="12")
    assert code == 0
    (line,) = [line for line in out.splitlines() if "could not be scored" in line]
    assert "Input X contains NaN" in line
    assert out.endswith(line + "\n")


# Interrupts -------------------------------------------------------------------------------------------


def request(**arguments):
    defaults = {"data": Path("table.csv"), "target": "size", "k": 2, "budget": 30, "progress": False}
    return task.Request(**defaults | arguments)


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
    assert "6/6" in done.stderr
    assert "could not be scored" not in done.stdout
