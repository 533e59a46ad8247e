"""One selection, from the options of the command line to its report."""

import argparse
import csv
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

from dagsearch.cli.select.comparisons import comparisons
from dagsearch.cli.select.estimator import described, estimator_for, scoring_for
from dagsearch.selection.heldout import heldout_interval
from dagsearch.selection.honest import baseline_score
from dagsearch.selection.noise import FoldNoise
from dagsearch.selection.report import Comparison, Holdout, SelectionReport
from dagsearch.selection.scoring import SubsetScorer
from dagsearch.selection.table import Table, TableError, read_table, split_target
from dagsearch.sklearn import DAGSearchSelector


@dataclass(frozen=True)
class Request:
    """The options of the command line; a journal keeps them as JSON."""

    data: Path
    target: str
    k: int | tuple[int, int] | None
    budget: int
    task: str = "auto"
    estimator: str | None = None
    scoring: str | None = None
    cv: int = 5
    fixed: Sequence[str] = ()
    forbidden: Sequence[str] = ()
    groups: Sequence[str] = ()
    seconds: float | None = None
    patience: int | None = None
    holdout: float = 0.25
    jobs: int | None = None
    cluster: str | None = None
    journal: Path | None = None
    honest: bool = False
    seed: int = 0
    progress: bool = True

    @classmethod
    def of(cls, options: argparse.Namespace) -> "Request":
        """The request in the parsed options of ``dagsearch select``."""
        names = [field.name for field in fields(cls) if field.name != "progress"]
        wanted = {name: getattr(options, name) for name in names}
        return cls(**wanted, progress=not options.quiet)

    @property
    def grouped(self) -> list[list[str]]:
        """Names of the columns that are chosen together."""
        return [_names(text) for text in self.groups]


class Outcome(NamedTuple):
    """The outcome of a selection."""

    report: SelectionReport
    """What was found."""
    interrupted: bool
    """Whether Ctrl-C ended it early."""


def select(request: Request) -> Outcome:
    """Select, compare, and make the report."""
    prepared = _prepared(request)
    selector = _selector(prepared)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        interrupted = _fit(selector, prepared)
        others: list[Comparison] = []
        if not interrupted:
            others, interrupted = _compare(selector, prepared, int(selector.support_.sum()))
        held = prepared.held_out(np.flatnonzero(selector.support_).tolist())
        honest = None
        if request.honest and not interrupted:
            honest = selector.honest_score(prepared.kept.features, prepared.kept.target, cv=prepared.cv)
    notes = [*prepared.table.notes, *_own_warnings(caught)]
    report = selector.report(_settings(prepared), others, held, notes, honest)
    return Outcome(report, interrupted)


def resume(journal: Path, noted: Mapping[str, Any], budget: int | None) -> Outcome:
    """Continue the request in a journal of :func:`select`."""
    request = Request(**noted)
    sizes = tuple(request.k) if isinstance(request.k, (list, tuple)) else request.k
    return select(
        replace(
            request,
            data=Path(request.data),
            journal=journal,
            k=cast("int | tuple[int, int] | None", sizes),
            budget=request.budget if budget is None else budget,
        )
    )


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

    def on_folds(self) -> SubsetScorer:
        """Scorer of columns by cross-validation."""
        splits = list(self.cv.split(self.kept.features, self.kept.target))
        return SubsetScorer(self.estimator, self.scorer, self.kept.features, self.kept.target, splits, {}, {})

    def held_out(self, columns: Sequence[int]) -> Holdout | None:
        """Number of held-out rows and score of columns on them; ``None`` if there are none."""
        if self.holdout is None:
            return None
        rows = len(self.holdout.target)
        data, unseen = self.kept.features.iloc[:, list(columns)], self.holdout.features.iloc[:, list(columns)]
        try:
            fitted = clone(self.estimator).fit(data, self.kept.target)
            score = float(self.scorer(fitted, unseen, self.holdout.target))
        except Exception:  # the estimator is the user's: the report says that there is no score
            return Holdout(rows, None)
        if not np.isfinite(score):
            return Holdout(rows, None)
        interval = heldout_interval(self.scorer, fitted, unseen, self.holdout.target, score)
        return Holdout(rows, score, interval)


def _prepared(request: Request) -> _Prepared:
    table = split_target(read_table(request.data), request.target, request.task)
    _check_present("--fixed", request.fixed, table)
    _check_present("--groups", [name for group in request.grouped for name in group], table)
    kept, holdout = _split(table, request)
    estimator = estimator_for(request.estimator, table.classification, request.seed)
    scoring = scoring_for(request.scoring, table.classification)
    scorer = check_scoring(estimator, scoring=scoring)
    folds = StratifiedKFold if table.classification else KFold
    cv = folds(request.cv, shuffle=True, random_state=request.seed)
    return _Prepared(request, table, kept, holdout, estimator, scoring, scorer, cv)


def _selector(prepared: _Prepared) -> DAGSearchSelector:
    request = prepared.request
    selector = DAGSearchSelector(
        prepared.estimator,
        n_features_to_select=request.k,
        budget=request.budget,
        scoring=prepared.scoring,
        cv=prepared.cv,
        max_seconds=request.seconds,
        patience=request.patience,
        fixed=list(request.fixed) or None,
        forbidden=[name for name in request.forbidden if name not in prepared.table.left_out] or None,
        groups=request.grouped or None,
        n_jobs=request.jobs,
        random_state=request.seed,
        verbose=int(request.progress),
        journal=request.journal,
    )
    # So that 'dagsearch resume' needs only the journal.
    selector._asked_by = {"select": json.loads(json.dumps(asdict(request), default=str))}
    return selector


def _fit(selector: DAGSearchSelector, prepared: _Prepared) -> bool:
    """Fit; returns whether Ctrl-C ended it with a result."""
    try:
        with _cluster(prepared.request.cluster):
            selector.fit(prepared.kept.features, prepared.kept.target)
    except KeyboardInterrupt:
        if not hasattr(selector, "support_"):
            raise
        return True
    return False


def _compare(selector: DAGSearchSelector, prepared: _Prepared, count: int) -> tuple[list[Comparison], bool]:
    """Other subsets with their scores on the held-out rows, and whether Ctrl-C ended the comparison."""
    request, score = prepared.request, prepared.on_folds()
    noise = FoldNoise()
    by_fold = [selector.history_[f"split{fold}_test_score"] for fold in range(request.cv)]
    for scores in np.column_stack(by_fold):
        if np.all(np.isfinite(scores)):
            noise.add(scores)
    out_of_time = selector.stopped_ == "seconds"  # forward selection then gets no more time, either
    budget = len(selector.history_["features"]) if out_of_time else request.budget
    found: list[Comparison] = []
    try:
        for comparison, columns, scored in comparisons(
            score, noise, prepared.kept, request.forbidden, count, budget
        ):
            held = prepared.held_out(columns)
            if held is not None:
                comparison = replace(comparison, holdout_score=held.score, holdout_interval=held.interval)
            found.append(comparison)
            selector.consider(scored)
        found.append(_without_features(prepared))
    except KeyboardInterrupt:
        return found, True
    return found, False


def _without_features(prepared: _Prepared) -> Comparison:
    """The score of predictions that use no feature, as a baseline."""
    kept, found = prepared.kept, []
    for train, test in prepared.cv.split(kept.features, kept.target):
        parts = [(None, kept.target.iloc[rows]) for rows in (train, test)]
        found.append(baseline_score(prepared.estimator, prepared.scorer, *parts))
    known = [score for score in found if score is not None]
    held = None
    if prepared.holdout is not None:
        whole = (None, kept.target), (None, prepared.holdout.target)
        held = baseline_score(prepared.estimator, prepared.scorer, *whole)
    score = float(np.mean(known)) if known and len(known) == len(found) else None
    return Comparison("no features", 0, 0, score, holdout_score=held)


def _settings(prepared: _Prepared) -> dict[str, Any]:
    """Settings to show in the report."""
    request = prepared.request
    return {
        "data": request.data.name,
        "target": request.target,
        "task": "classification" if prepared.table.classification else "regression",
        "features to select": "half" if request.k is None else str(request.k),
        "budget": request.budget,
        "estimator": described(prepared.estimator),
        "scoring": prepared.scoring,
        "cv": str(prepared.cv),
        "hold-out": request.holdout,
        "seed": request.seed,
    }


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
            raise TableError(f"{option}: {name!r} cannot be a feature, it has {table.left_out[name]}")


def _own_warnings(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """Warnings of the selector, without those of failed subsets, which the report states itself."""
    return list(dict.fromkeys(str(warning.message) for warning in caught if warning.category is UserWarning))


def _split(table: Table, request: Request) -> tuple[Table, Table | None]:
    """Rows to select by, and rows to hold out."""
    if request.holdout == 0.0:
        return table, None
    stratify = table.target if table.classification and table.target.value_counts().min() > 1 else None
    try:
        parts = train_test_split(
            table.features,
            table.target,
            test_size=request.holdout,
            random_state=request.seed,
            stratify=stratify,
        )
    except ValueError as error:
        raise TableError(
            f"--holdout {request.holdout}: {error} Use another fraction, or 0 for none"
        ) from error
    return replace(table, features=parts[0], target=parts[2]), replace(
        table, features=parts[1], target=parts[3]
    )


def _names(text: str) -> list[str]:
    """Names separated by commas, in quotes if they contain one."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]
