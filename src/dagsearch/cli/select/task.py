"""One selection, from the command line's options to its report."""

import argparse
import ast
import inspect
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
    train_test_split,
)
from sklearn.utils import all_estimators
from sklearn.utils.validation import has_fit_parameter

from dagsearch._internal.hints import did_you_mean
from dagsearch.cli.common import imported, printable
from dagsearch.selection.arguments import MOST_CANDIDATES, check_scorer_name, folds_of, weight_params
from dagsearch.selection.rankings import ranked
from dagsearch.selection.report import MAJORITY, Comparison, Holdout, SelectionReport
from dagsearch.selection.scoring import Scored, SubsetScorer, baseline_score, heldout_interval, quiet
from dagsearch.sklearn import DAGSearchSelector
from dagsearch.tables import Table, TableError, load_table, prepared
from dagsearch.tables.clean import is_prepared
from dagsearch.tables.read import INPUT


@dataclass(frozen=True)
class Task:
    """A table with its estimator, scorer and folds."""

    kept: Table
    """Rows to select by."""
    holdout: Table | None
    """Hold-out rows; ``None`` if there are none."""
    estimator: Any
    scoring: str
    """The scorer's name in scikit-learn."""
    scorer: Any
    cv: Any
    """The splitter."""
    splits: list[Any]
    """Training and test rows of each fold, drawn once because a splitter may have no seed."""
    notes: list[str]

    def held_out(self, columns: Sequence[int]) -> Holdout | None:
        """Number of hold-out rows and the columns' score on them; ``None`` if there are none."""
        if self.holdout is None:
            return None
        target, score, interval = self.holdout.target, None, None
        data, unseen = (one.features.iloc[:, list(columns)] for one in (self.kept, self.holdout))
        fitting, _ = weight_params(self.estimator, self.scorer, self.kept.weights)
        _, judging = weight_params(self.estimator, self.scorer, self.holdout.weights)
        try:
            with quiet():
                fitted = clone(self.estimator).fit(data, self.kept.target, **fitting)
                found = float(self.scorer(fitted, unseen, target, **judging))
                if np.isfinite(found) and len(columns) <= MOST_CANDIDATES:  # for more it would take minutes
                    weights = judging.get("sample_weight")
                    interval = heldout_interval(self.scorer, fitted, unseen, target, found, weights)
                score = found if np.isfinite(found) else None
        except Exception:  # the estimator is the user's: the report then has no score
            pass
        return Holdout(len(target), score, interval)


def select(options: argparse.Namespace) -> tuple[SelectionReport, bool]:
    """Select, compare, and make the report; also returns whether Ctrl-C ended it early."""
    others: list[Comparison] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        task = task_for(options)
        _announce(task, options)
        selector = _selector(task, options)
        try:
            rows = {"groups": task.kept.groups, "sample_weight": task.kept.weights}
            selector.fit(task.kept.features, task.kept.target, **rows)
            others.extend(comparisons(selector, task, options.forbidden))
            interrupted = False
        except KeyboardInterrupt:
            if not hasattr(selector, "support_"):
                raise
            interrupted = True
        held = task.held_out(np.flatnonzero(selector.support_).tolist())
    own = [str(one.message) for one in caught if one.category is UserWarning]  # the report states others
    cautions = [text.replace("n_features_to_select=", "--k ") for text in dict.fromkeys(own)]
    expected = selector.score_interval_
    if held is not None and held.interval is not None and held.interval[1] < expected[0]:
        interval = f"{expected[0]:.4f} to {expected[1]:.4f}"
        cautions.append(
            f"the hold-out score {held.score:.4f} is below the expected 90 % interval, {interval}"
        )
    report = SelectionReport.of(
        selector,
        _settings(task, options),
        others,
        held,
        task.notes,
        leaks=list(task.kept.leaking),
        warnings=cautions,
    )
    return report, interrupted


def task_for(options: argparse.Namespace) -> Task:
    """Read and prepare everything that the options name."""
    in_time, seed = options.time_column is not None, options.seed
    estimator = None if options.estimator is None else estimator_for(options.estimator, seed)
    kinds = {True: is_classifier(estimator), False: is_regressor(estimator)} if estimator is not None else {}
    table = load_table(
        options.data,
        options.target,
        classification=next((kind for kind, holds in kinds.items() if holds), None),
        group=options.group_column,
        time=options.time_column,
        weight=options.weight_column,
        keep=[*options.keep, *(name for name in options.fixed if name not in options.keep)],
        forbidden=options.forbidden,
    )
    for name in options.fixed:
        if name in table.excluded:
            raise TableError(f"--fixed: {name!r} cannot be a feature: it is {table.excluded[name]}")
    if estimator is None:
        estimator = default_estimator(bool(table.classes), seed)
    model = estimator[-1] if hasattr(estimator, "steps") else estimator
    if table.weights is not None and not has_fit_parameter(model, "sample_weight"):
        raise TableError(f"--weight-column: {type(model).__name__} cannot be fitted with weights")
    notes = list(table.notes)
    scoring = scoring_for(options.scoring, table, estimator, notes)
    kept, holdout = hold_out(table, options.holdout, in_time, seed)
    if table.classes and holdout is not None and holdout.target.nunique() == 1:
        only = table.classes[int(holdout.target.iloc[0])]
        notes.append(f"all hold-out rows are {only!r}: their score says nothing about other classes")
    cv = splitter_for(options.cv, kept, in_time, seed)
    splits = folds_of(cv, kept.features, kept.target, groups=kept.groups)
    scorer = check_scoring(estimator, scoring=scoring)
    return Task(kept, holdout, estimator, scoring, scorer, cv, splits, notes)


def _announce(task: Task, options: argparse.Namespace) -> None:
    """Print the settings and notes before scoring begins."""
    held = 0 if task.holdout is None else len(task.holdout.target)
    found = {"columns": task.kept.features.shape[1], "rows": len(task.kept.target), "hold-out rows": held}
    settings = ", ".join(f"{name} {value}" for name, value in {**_settings(task, options), **found}.items())
    lines = [settings, *(f"note: {note}" for note in task.notes)]
    print("\n".join(map(printable, lines)), file=sys.stderr, flush=True)


def _selector(task: Task, options: argparse.Namespace) -> DAGSearchSelector:
    selector = DAGSearchSelector(
        task.estimator,
        n_features_to_select=options.k,
        budget=options.budget,
        scoring=task.scoring,
        cv=task.splits,
        fixed=options.fixed or None,
        forbidden=[name for name in options.forbidden if name not in task.kept.excluded] or None,
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=1,
        storage=options.storage,
        name=options.name,
    )
    about = {"target": options.target, "estimator": options.estimator, "scoring": task.scoring}
    selector._silent = True
    selector._asked_by = {"select": {**about, "budget": options.budget}}  # for pages about the stored run
    return selector


def comparisons(selector: DAGSearchSelector, task: Task, forbidden: Sequence[str]) -> Iterator[Comparison]:
    """Compare with all features, the best ones by a univariate test, and no features."""
    kept = task.kept
    params = weight_params(task.estimator, task.scorer, kept.weights)
    data = kept.features, kept.target, task.splits
    score = SubsetScorer(task.estimator, task.scorer, *data, *params, silent=True)
    columns = [i for i, name in enumerate(kept.features) if name not in forbidden]
    count = int(selector.support_.sum())
    yield _compared("all features", score(columns), task)
    relevance = ranked(kept.features, kept.target, bool(kept.classes))
    assert relevance is not None, "a table has a target"
    best = sorted(columns, key=lambda column: -relevance[column])[:count]
    yield _compared(f"top {count} by univariate score", score(best), task)
    held = None
    if task.holdout is not None:
        _, judging = weight_params(task.estimator, task.scorer, task.holdout.weights)
        targets = kept.target, task.holdout.target, kept.weights
        held = baseline_score(task.estimator, task.scorer, *targets, **judging)
    yield Comparison("no features", 0, 0, selector.baseline_score_, holdout_score=held)


def _compared(name: str, scored: Scored, task: Task) -> Comparison:
    if scored.failure is not None:
        return Comparison(name, len(scored.columns), 1, None)
    held = task.held_out(scored.columns)
    on_rows = (None, None) if held is None else (held.score, held.interval)
    return Comparison(name, len(scored.columns), 1, scored.mean, *on_rows)


def _settings(task: Task, options: argparse.Namespace) -> dict[str, Any]:
    """Settings to show in the report."""
    classes = task.kept.classes
    found = {
        "data": "standard input" if options.data == INPUT else Path(options.data).name,
        "target": options.target,
        "features to select": str(options.k),
        "budget": options.budget,
        "task": "classification" if classes else "regression",
        "positive class": classes[1] if len(classes) == 2 else None,
        "estimator": described(task.estimator),
        "scoring": task.scoring,
        "cv": str(task.cv),
        "groups": options.group_column,
        "time": options.time_column,
        "weights": options.weight_column,
        "hold-out": options.holdout,
        "seed": options.seed,
    }
    return {name: value for name, value in found.items() if value is not None}


# Estimator, scorer and folds from the options -----------------------------------------------------------


def default_estimator(classification: bool, seed: int) -> Any:
    """A linear model of prepared columns."""
    return prepared(LogisticRegression(max_iter=1000, random_state=seed) if classification else Ridge())


def estimator_for(text: str, seed: int) -> Any:
    """The estimator with this name or import path, and with the parameters in parentheses after it.

    A class is called with ``random_state=seed`` if it accepts one, and gets imputed, scaled and encoded
    columns. An object is used unchanged.
    """
    path, settings = _parsed(text)
    found = _found(path)
    try:
        if inspect.isclass(found):
            seeded = "random_state" in inspect.signature(found).parameters
            return prepared(found(**({"random_state": seed} if seeded else {}) | settings))
        return clone(found).set_params(**settings)
    except Exception as error:  # the estimator is the user's
        reason = f"{type(error).__name__}: {error}"
        raise TableError(f"--estimator {text}: cannot create the estimator ({reason})") from error


def _parsed(text: str) -> tuple[str, dict[str, Any]]:
    """Path and parameters of ``path(name=value)``; values are Python literals."""
    path, _, settings = text.partition("(")
    try:
        call: Any = ast.parse(f"dict({settings or ')'}", mode="eval").body
        if not call.args:
            return path, {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    except (SyntaxError, ValueError, AttributeError):
        pass
    raise TableError(f"--estimator {text}: write parameters as in Name(alpha=3, kind='text')")


def _found(path: str) -> Any:
    """A scikit-learn estimator by name, otherwise a class or an object by import path."""
    if "." in path or ":" in path:
        return imported("--estimator", path)
    known = dict(all_estimators(type_filter=["classifier", "regressor"]))
    if path not in known:
        advice = did_you_mean(path, known, "give an import path, such as package.module.Name")
        raise TableError(f"--estimator {path}: scikit-learn has no such classifier or regressor; {advice}")
    return known[path]


def described(estimator: Any) -> str:
    """The estimator as text, with a short mention of its preparation."""
    text = str(estimator[-1] if is_prepared(estimator) else estimator)
    after = ", after imputing, scaling and encoding" if is_prepared(estimator) else ""
    return " ".join(text.split()) + after


def scoring_for(name: str | None, table: Table, estimator: Any, notes: list[str]) -> str:
    """The name of a scikit-learn scorer that can score the target.

    By default r2 or accuracy; if most rows belong to one class, another score and a note about it.
    """
    shares = table.target.value_counts(normalize=True)
    rare = bool(table.classes) and float(shares.iloc[0]) > MAJORITY
    if rare and name in (None, "accuracy"):
        ranks = hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")
        better = "roc_auc" if len(table.classes) == 2 and ranks else "balanced_accuracy"
        most = f"{shares.iloc[0]:.1%} of the rows are {table.classes[int(shares.index[0])]!r}"
        advice = f"accuracy is not informative; use --scoring {better}" if name else f"scored by {better}"
        notes.insert(min(len(table.leaking), 1), f"{most}: {advice}")
        name = name or better
    if name is None:
        return "accuracy" if table.classes else "r2"
    check_scorer_name("--scoring", name)
    return name


def splitter_for(cv: str, table: Table, in_time: bool, seed: int) -> Any:
    """The splitter at an import path, or with a number of folds that respect time, groups and classes."""
    if not cv.isdecimal():
        found = imported("--cv", cv)
        if not callable(getattr(found, "split", None)):
            raise TableError(f"--cv {cv}: not a splitter, because it has no method split")
        return found() if inspect.isclass(found) else found
    if in_time:
        return TimeSeriesSplit(int(cv))
    kinds: Any = (StratifiedKFold, KFold)
    if table.groups is not None:
        kinds = StratifiedGroupKFold, GroupKFold
    return kinds[0 if table.classes else 1](int(cv), shuffle=True, random_state=seed)


def hold_out(table: Table, fraction: float, in_time: bool, seed: int) -> tuple[Table, Table | None]:
    """Rows for the selection, and rows to hold out: the last ones in time, or whole groups."""
    if fraction == 0.0:
        return table, None
    if not 0.0 < fraction < 1.0:
        raise TableError(
            f"--holdout {fraction:g}: must be a fraction of the rows, such as 0.25, or 0 for none"
        )
    rows = np.arange(len(table.target))
    try:
        if in_time:
            kept, held = train_test_split(rows, test_size=fraction, shuffle=False)
        elif table.groups is not None:
            by_group = GroupShuffleSplit(1, test_size=fraction, random_state=seed)
            kept, held = next(by_group.split(rows, table.target, table.groups))
        else:
            common = table.classes and table.target.value_counts().min() > 1
            stratify = table.target if common else None
            kept, held = train_test_split(rows, test_size=fraction, random_state=seed, stratify=stratify)
    except ValueError as error:
        raise TableError(f"--holdout {fraction}: {error} Use another fraction, or 0 for none") from error
    return table.rows(np.asarray(kept)), table.rows(np.asarray(held))
