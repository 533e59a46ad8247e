"""``python -m experiments truth selection``: what the feature selector states, on real tables.

Rows of every table are held out in several ways. The selector states on the others what their score will be,
and which features belong to the best subset. The held-out rows, and selections on other rows, say what is
true.
"""

import math
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.feature_selection import f_classif, f_regression
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from dagsearch.selection.scoring import baseline_score, heldout_interval
from dagsearch.sklearn import DAGSearchSelector
from experiments.harness.csv_files import read_csv, write_csv
from experiments.harness.markdown import aligned
from experiments.harness.runner import rounded, run_tasks, write_settings
from experiments.truth.measures import Line, line, table
from experiments.truth.tables import CHOSEN_ON, TABLES, RealTable

# Part of the rows to select by, and their largest number.
_PART, _MOST_ROWS = 0.65, 400
BUDGET, SPLITS, FOLDS = 60, 5, 5
QUARTER, AUTO = "a quarter", "auto"
"""Numbers of features: a quarter of the columns, or any number up to 20."""
_CLASSES = {"sonar", "heart", "australian", "bands", "pima", "saheart", "housevotes", "ICU"}
"""Tables whose target consists of classes."""
BINS = ((0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 0.9), (0.9, 1.0))
"""Inclusion probabilities that are compared with how often features are chosen."""


class Case(NamedTuple):
    """One selection: what it states, and what held-out rows say."""

    table: str
    split: int
    size: str
    rows: int
    columns: int
    chosen: int
    """Number of features."""
    score: float
    """Cross-validated score."""
    expected: float
    """Score that is stated for new rows."""
    low: float
    high: float
    """Its 90% interval."""
    held: float
    """Score on the held-out rows."""
    held_low: float
    held_high: float
    """Its 90% interval, which allows for the choice of these rows."""
    held_rows: int
    none: float
    all: float
    ranked: float
    """Scores on the same rows with no features, with all, and with as many that are best one by one."""
    subsets: int
    fits: int
    """Number of fits for the estimate, in addition to those of the subsets."""


class Stated(NamedTuple):
    """The probability with which a selection states that a feature belongs to the best subset."""

    table: str
    split: int
    size: str
    column: int
    probability: float
    """NaN if it is not stated."""
    chosen: int
    """Whether the selection chose it: 1 or 0."""


def measured(table: RealTable, name: str, split: int, size: str, budget: int) -> tuple[Case, list[Stated]]:
    """Select on some rows, and judge by the others."""
    rows, labels = np.arange(len(table.target)), table.target if table.classification else None
    count = min(_MOST_ROWS, int(_PART * len(rows)))
    train, test = train_test_split(rows, train_size=count, random_state=split, stratify=labels)
    data, target, unseen, aim = table.data[train], table.target[train], table.data[test], table.target[test]
    kind = StratifiedKFold if table.classification else KFold
    selector = DAGSearchSelector(
        table.estimator,
        n_features_to_select="auto" if size == AUTO else max(1, data.shape[1] // 4),
        budget=budget,
        cv=kind(FOLDS, shuffle=True, random_state=split),
        random_state=split,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of estimators that have not converged
        selector.fit(data, target)
    scorer = check_scoring(table.estimator)

    def held(columns: Any) -> tuple[float, tuple[float, float]]:
        fitted = clone(table.estimator).fit(data[:, columns], target)
        score = float(scorer(fitted, unseen[:, columns], aim))
        interval = heldout_interval(scorer, fitted, unseen[:, columns], aim, score)
        assert interval is not None
        return score, interval

    score, interval = held(np.flatnonzero(selector.support_))
    test_of_each = f_classif if table.classification else f_regression
    with np.errstate(all="ignore"):
        strength = np.nan_to_num(test_of_each(data, target)[0])
    chosen = int(selector.support_.sum())
    none = baseline_score(table.estimator, scorer, target, aim)
    low, high = selector.score_interval_
    case = Case(
        name,
        split,
        size,
        len(train),
        data.shape[1],
        chosen,
        selector.best_score_,
        selector.expected_score_,
        low,
        high,
        score,
        interval[0],
        interval[1],
        len(test),
        np.nan if none is None else none,
        held(np.arange(data.shape[1]))[0],
        held(np.argsort(-strength, kind="stable")[:chosen])[0],
        len(selector.history_["features"]),
        0 if selector._run.repeated is None else selector._run.repeated.fits,
    )
    chances = zip(selector.inclusion_probability_, selector.support_, strict=True)
    stated = [Stated(name, split, size, i, float(p), int(taken)) for i, (p, taken) in enumerate(chances)]
    return case, stated


def _task(name: str, split: int, size: str, budget: int) -> tuple[Case, list[Stated]]:
    return measured(TABLES[name](), name, split, size, budget)


class Selections(NamedTuple):
    """What was measured."""

    cases: list[Case]
    stated: list[Stated]
    about: dict[str, Any]
    """Settings, as needed to run the experiment again."""
    shown: str = ""
    """Nothing but the summary."""

    def write(self, folder: Path) -> list[Path]:
        """Write the files; returns their paths."""
        folder.mkdir(parents=True, exist_ok=True)
        return [
            _written(folder / "selection.csv.gz", Case._fields, self.cases),
            _written(folder / "inclusion.csv.gz", Stated._fields, self.stated),
            write_settings(folder, "selection", self.about),
        ]


def run(
    jobs: int,
    quick: bool = False,
    task: Callable[..., tuple[Case, list[Stated]]] = _task,
    names: Sequence[str] = tuple(TABLES),
) -> Selections:
    """Measure on all tables."""
    splits, budget = (2, 20) if quick else (SPLITS, BUDGET)
    tasks = [(n, s, size, budget) for n in names for s in range(splits) for size in (QUARTER, AUTO)]
    found = run_tasks(task, tasks, jobs, True)
    about = {"tables": list(names), "splits": splits, "budget": budget, "folds": FOLDS}
    about |= {"rows": [_PART, _MOST_ROWS], "chosen_on": CHOSEN_ON}
    return Selections([case for case, _ in found], [one for _, some in found for one in some], about)


def summary(outcome: Selections) -> str:
    """What is stated and what is true, as a table."""
    cases, stated = ([one._asdict() for one in some] for some in (outcome.cases, outcome.stated))
    return aligned(table(lines(cases, stated)))


def _written(path: Path, fields: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
    short = ([rounded(value) if isinstance(value, float) else value for value in row] for row in rows)
    write_csv(path, fields, short)
    return path


# What holds -----------------------------------------------------------------------------------------


def covers(case: Mapping[str, Any]) -> bool:
    """Whether the stated interval covers the held-out score, allowing for the error of that."""
    at = {name: float(case[name]) for name in ("expected", "low", "high", "held", "held_low", "held_high")}
    if at["held"] < at["expected"]:
        own, other = at["expected"] - at["low"], at["held_high"] - at["held"]
    else:
        own, other = at["high"] - at["expected"], at["held"] - at["held_low"]
    return abs(at["held"] - at["expected"]) <= math.hypot(own, other) + 1e-12


def lines(cases: Sequence[Mapping[str, Any]], stated: Sequence[Mapping[str, Any]]) -> list[Line]:
    """What the table says, from the rows of the files."""

    def held(quantity: str, size: str | None = None) -> Line:
        some = [case for case in cases if size in (None, case["size"])]
        return line(quantity, "0.90", [covers(case) for case in some], [case["table"] for case in some])

    def ahead(quantity: str, classes: Sequence[bool]) -> Line:
        some = [case for case in cases if (case["table"] in _CLASSES) in classes]
        less = [float(case["expected"]) - float(case["held"]) for case in some]
        return line(quantity, "0", less, [case["table"] for case in some], share=False)

    return [
        held("`score_interval_` covers the score on new rows"),
        held("the same, a quarter of the columns", QUARTER),
        held("the same, any number of columns", AUTO),
        ahead("`expected_score_` less the score on new rows", [True, False]),
        *(
            [ahead("the same, accuracy of classes", [True])]
            if _CLASSES & {case["table"] for case in cases}
            else []
        ),
        *_inclusion(stated),
    ]


def _inclusion(rows: Sequence[Mapping[str, Any]]) -> list[Line]:
    """How often features are chosen on other splits, by the probability that was stated on one."""
    chosen: dict[tuple[Any, ...], dict[str, float]] = defaultdict(dict)
    for row in rows:
        chosen[row["table"], row["size"], row["column"]][row["split"]] = float(row["chosen"])
    found = []
    for low, high in BINS:
        some = [row for row in rows if low <= float(row["probability"]) < high + (high == 1.0)]
        if not some:
            continue
        shares = [
            float(np.mean([taken for split, taken in others.items() if split != row["split"]]))
            for row in some
            for others in [chosen[row["table"], row["size"], row["column"]]]
        ]
        nominal = float(np.mean([float(row["probability"]) for row in some]))
        quantity = f"`inclusion_probability_` from {low:g} to {high:g}: chosen on other splits"
        found.append(line(quantity, f"{nominal:.2f}", shares, [row["table"] for row in some]))
    return found


def read(folder: Path) -> list[Line]:
    """The same from the files that were written."""
    return lines(read_csv(folder / "selection.csv.gz"), read_csv(folder / "inclusion.csv.gz"))
