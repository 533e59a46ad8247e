"""One selection, from the options of the command line to its report."""

import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring

from dagsearch.cli.common import printable
from dagsearch.cli.select.comparisons import Budget, comparisons
from dagsearch.cli.select.estimator import (
    check_weights,
    code_for,
    described,
    estimator_for,
    folds_for,
    hold_out,
    scoring_for,
)
from dagsearch.cli.select.options import Request
from dagsearch.run.stopping import Stop
from dagsearch.selection.arguments import Features, size_warning, weight_params
from dagsearch.selection.estimate import baseline_score
from dagsearch.selection.report import Comparison, Holdout, SelectionReport
from dagsearch.selection.scoring import SubsetScorer, heldout_interval, quiet
from dagsearch.sklearn import DAGSearchSelector
from dagsearch.tables.read import INPUT, Limits, TableError, TextFormat, read_table
from dagsearch.tables.roles import Roles, Table, leak_note, split_target


class Outcome(NamedTuple):
    """The outcome of a selection."""

    report: SelectionReport
    """What was found."""
    interrupted: bool
    """Whether Ctrl-C ended it early."""
    notes: Sequence[str]
    """What was read and done to the table; announced before the search if progress is shown."""


def select(request: Request) -> Outcome:
    """Select, compare, and make the report."""
    until = math.inf if request.seconds is None else time.perf_counter() + request.seconds
    prepared = _prepared(request)
    too_many = _too_many(request.k, prepared.choices())
    if request.progress:
        _announce(prepared, too_many)
    selector = _selector(prepared)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        interrupted = _fit(selector, prepared)
        others: list[Comparison] = []
        if not interrupted:
            others, interrupted = _compare(selector, prepared, until)
        held = prepared.held_out(np.flatnonzero(selector.support_).tolist())
    table = prepared.table
    leaks = [leak_note(table.leaking)] if table.leaking else []
    notes = [note for note in table.notes if note not in leaks]
    cautions = [*leaks, *too_many, *_own_warnings(caught)]
    names = selector.get_feature_names_out().tolist()
    code = code_for(request, prepared.estimator, table, names)
    report = selector.report(_settings(prepared), others, held, notes, code, table.leaking, warnings=cautions)
    return Outcome(report, interrupted, table.notes)


@dataclass(frozen=True)
class _Prepared:
    """A request with its table, estimator, scorer and folds."""

    request: Request
    table: Table
    kept: Table
    """Rows to select by."""
    holdout: Table | None
    """Held-out rows; ``None`` if there are none."""
    estimator: Any
    scoring: str
    """The scorer's name in scikit-learn."""
    scorer: Any
    cv: Any
    splits: list[Any]
    """Rows to train and to test by, for each fold: taken once, because a splitter may draw them at random."""

    def choices(self) -> int:
        """Number of columns that may be chosen."""
        names = list(self.table.features.columns)
        forbidden = [name for name in self.request.forbidden if name in names]
        return Features(len(names), names).count_allowed(forbidden, self.request.grouped)

    def of_rows(self) -> dict[str, Any]:
        """Groups and weights of the rows to select by, for ``fit``."""
        found = {"groups": self.kept.groups, "sample_weight": self.kept.weights}
        return {name: values for name, values in found.items() if values is not None}

    def on_folds(self) -> SubsetScorer:
        """Scorer of columns by cross-validation."""
        kept = self.kept
        params = weight_params(self.estimator, self.scorer, kept.weights)
        own = kept.features, kept.target, self.splits
        return SubsetScorer(self.estimator, self.scorer, *own, *params, silent=True)

    def held_out(self, columns: Sequence[int]) -> Holdout | None:
        """Number of held-out rows and score of columns on them; ``None`` if there are none."""
        if self.holdout is None:
            return None
        rows = len(self.holdout.target)
        data, unseen = self.kept.features.iloc[:, list(columns)], self.holdout.features.iloc[:, list(columns)]
        fitting, _ = weight_params(self.estimator, self.scorer, self.kept.weights)
        _, judging = weight_params(self.estimator, self.scorer, self.holdout.weights)
        try:
            with quiet():
                fitted = clone(self.estimator).fit(data, self.kept.target, **fitting)
                score = float(self.scorer(fitted, unseen, self.holdout.target, **judging))
                if not np.isfinite(score):
                    return Holdout(rows, None)
                weights = judging.get("sample_weight")
                interval = heldout_interval(self.scorer, fitted, unseen, self.holdout.target, score, weights)
        except Exception:  # the estimator is the user's: the report says that there is no score
            return Holdout(rows, None)
        return Holdout(rows, score, interval)


def _prepared(request: Request) -> _Prepared:
    if request.group_column is not None and request.time_column is not None:
        raise TableError(
            "--group-column and --time-column cannot be used together: give a splitter with --cv"
        )
    written = TextFormat(request.sep, request.decimal, request.encoding)
    limits = Limits(request.max_bytes, request.max_cells, request.max_columns)
    read = read_table(request.data, written, limits)
    keep = [name for name in request.kept if name in read.frame.columns or name in request.keep]
    roles = Roles(request.target, request.group_column, request.time_column, request.weight_column)
    table = split_target(read.frame, roles, request.task, request.positive, keep, request.forbidden)
    table = replace(table, notes=read.notes + table.notes)
    _check_present("--fixed", request.fixed, table)
    _check_present("--groups", [name for group in request.grouped for name in group], table)
    in_time = request.time_column is not None
    kept, holdout = hold_out(table, request.holdout, in_time, request.seed)
    estimator = estimator_for(request.estimator, request.set, table.classification, request.seed)
    if table.weights is not None:
        check_weights(estimator)
    scoring = scoring_for(request.scoring, kept.target, table.classification)
    scorer = check_scoring(estimator, scoring=scoring)
    cv = folds_for(request.cv, kept, in_time, request.seed)
    splits = list(cv.split(kept.features, kept.target, kept.groups))
    return _Prepared(request, table, kept, holdout, estimator, scoring, scorer, cv, splits)


def _too_many(k: int | tuple[int, int] | str, choices: int) -> list[str]:
    """A warning if no more columns can be chosen than ``--k`` asks for."""
    if isinstance(k, str):
        return []
    least, most = k if isinstance(k, tuple) else (k, k)
    wanted = f"{least}-{most}" if isinstance(k, tuple) else str(k)
    told = size_warning(f"--k {wanted}", least, most, choices)
    return [] if told is None else [told]


def _announce(prepared: _Prepared, cautions: Sequence[str]) -> None:
    """Tell what was read and noticed before anything is spent."""
    table, request = prepared.table, prepared.request
    task = "classification" if table.classification else "regression"
    size = f"{prepared.choices()} columns, {len(prepared.kept.target)} rows"
    held = 0 if prepared.holdout is None else len(prepared.holdout.target)
    estimator = described(prepared.estimator)
    lines = [
        f"{task} of {request.target!r} from {size} and {held} held-out ones; {prepared.scoring}; {estimator}",
        *(f"note: {note}" for note in table.notes),
        *(f"warning: {caution}" for caution in cautions),
    ]
    for line in lines:
        print(printable(line), file=sys.stderr, flush=True)


def _selector(prepared: _Prepared) -> DAGSearchSelector:
    request = prepared.request
    selector = DAGSearchSelector(
        prepared.estimator,
        n_features_to_select=request.k,
        budget=request.budget,
        scoring=prepared.scoring,
        cv=prepared.splits,
        fixed=list(request.fixed) or None,
        forbidden=[name for name in request.forbidden if name not in prepared.table.left_out] or None,
        groups=request.grouped or None,
        n_jobs=request.jobs,
        random_state=request.seed,
        verbose=int(request.progress),
        storage=request.storage,
        name=request.name,
    )
    selector._silent = True
    selector._stop = Stop(seconds=request.seconds, patience=request.patience)
    # So that 'dagsearch resume' needs only the run. The URL of a database may hold a password.
    selector._asked_by = {"select": replace(request, storage=None, name=None).to_json()}
    return selector


def _fit(selector: DAGSearchSelector, prepared: _Prepared) -> bool:
    """Fit; returns whether Ctrl-C ended it with a result."""
    kept = prepared.kept
    try:
        with _cluster(prepared.request.cluster):
            selector.fit(kept.features, kept.target, **prepared.of_rows())
    except KeyboardInterrupt:
        if not hasattr(selector, "support_"):
            raise
        return True
    return False


def _compare(selector: DAGSearchSelector, prepared: _Prepared, until: float) -> tuple[list[Comparison], bool]:
    """Other subsets with their scores on the held-out rows, and whether Ctrl-C ended the comparison."""
    request, score = prepared.request, prepared.on_folds()
    count, budget = int(selector.support_.sum()), Budget(request.budget, until)
    found: list[Comparison] = []
    try:
        for comparison, columns in comparisons(
            score, selector._run.estimate, prepared.kept, request.forbidden, count, budget
        ):
            held = prepared.held_out(columns)
            if held is not None:
                comparison = replace(comparison, holdout_score=held.score, holdout_interval=held.interval)
            found.append(comparison)
        found.append(_without_features(selector, prepared))
    except KeyboardInterrupt:
        return found, True
    return found, False


def _without_features(selector: DAGSearchSelector, prepared: _Prepared) -> Comparison:
    """The score of predictions that use no feature, as a baseline."""
    kept, unseen, held = prepared.kept, prepared.holdout, None
    if unseen is not None:
        _, judging = weight_params(prepared.estimator, prepared.scorer, unseen.weights)
        targets = kept.target, unseen.target, kept.weights
        held = baseline_score(prepared.estimator, prepared.scorer, *targets, **judging)
    return Comparison("no features", 0, 0, selector.baseline_score_, holdout_score=held)


def _settings(prepared: _Prepared) -> dict[str, Any]:
    """Settings to show in the report."""
    request, classes = prepared.request, prepared.table.classes
    found = {
        "data": "standard input" if str(request.data) == INPUT else request.data.name,
        "task": "classification" if classes else "regression",
        "positive": classes[1] if len(classes) == 2 else None,
        "k": str(request.k),
        "estimator": described(prepared.estimator),
        "scoring": prepared.scoring,
        "cv": str(prepared.cv),
    }
    shown = {label: found.get(name, getattr(request, name)) for name, label in request.named("label").items()}
    return {label: value for label, value in shown.items() if value is not None}


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    """While entered, joblib runs on the workers of a Dask cluster."""
    if address is None:
        yield
        return
    try:
        from distributed import Client
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("--cluster needs Dask: pip install 'dagsearch[dask]'") from error
    try:
        client = Client(address, timeout=10)  # type: ignore[no-untyped-call]
    except OSError as error:
        raise TableError(f"--cluster {address}: there is no scheduler there ({error})") from error
    with client, joblib.parallel_config(backend="dask", n_jobs=-1):
        yield


def _check_present(option: str, names: Sequence[str], table: Table) -> None:
    for name in names:
        if name in table.left_out:
            raise TableError(f"{option}: {name!r} cannot be a feature: it has {table.left_out[name]}")


def _own_warnings(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """Warnings of the selector, without those that the report or the command states itself."""
    return list(dict.fromkeys(str(warning.message) for warning in caught if warning.category is UserWarning))
