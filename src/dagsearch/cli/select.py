"""``dagsearch select``: choose features of a table, compare, and write a report."""

import csv
import difflib
import inspect
import json
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.feature_selection import f_classif, f_regression
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from dagsearch._internal.imports import imported
from dagsearch.gaussians import Gaussian
from dagsearch.selection.likeness import numbers
from dagsearch.selection.noise import FoldNoise
from dagsearch.selection.report import Comparison, Holdout, SelectionReport, central_interval
from dagsearch.selection.scoring import Scored, SubsetScorer
from dagsearch.selection.table import Table, TableError, read_table, split_target
from dagsearch.sklearn import DAGSearchSelector


@dataclass(frozen=True)
class Request:
    """What the command line asks for."""

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
    seed: int = 0
    progress: bool = True


class Outcome:
    """A report, and whether it came before its time."""

    def __init__(self, report: SelectionReport, interrupted: bool) -> None:
        self.report, self.interrupted = report, interrupted


def run(request: Request) -> Outcome:
    """Select, compare, and gather the report."""
    table = split_target(read_table(request.data), request.target, request.task)
    groups = [_names(text) for text in request.groups]
    _check_present("--fixed", request.fixed, table)
    _check_present("--groups", [name for group in groups for name in group], table)
    kept, aside = _split(table, request)
    estimator = _estimator(request, table)
    scoring = _scoring(request, table)
    folds = StratifiedKFold if table.classification else KFold
    cv = folds(request.cv, shuffle=True, random_state=request.seed)
    selector = DAGSearchSelector(
        estimator,
        n_features_to_select=request.k,
        budget=request.budget,
        scoring=scoring,
        cv=cv,
        max_seconds=request.seconds,
        patience=request.patience,
        fixed=list(request.fixed) or None,
        forbidden=[name for name in request.forbidden if name not in table.left_out] or None,
        groups=groups or None,
        n_jobs=request.jobs,
        random_state=request.seed,
        verbose=int(request.progress),
        journal=request.journal,
    )
    # So that 'dagsearch resume' can go on with nothing but the journal.
    selector._asked_by = {"select": json.loads(json.dumps(asdict(request), default=str))}
    scorer = check_scoring(estimator, scoring=scoring)

    def on_holdout(columns: Sequence[int]) -> float | None:
        if aside is None:
            return None
        whole = [(np.arange(len(kept.target)), np.arange(len(kept.target), len(table.target)))]
        data, target = _joined(kept, aside)
        found = SubsetScorer(estimator, scorer, data, target, whole, {}, {})(columns)
        return None if found.failure else found.mean

    interrupted = False
    comparisons: list[Comparison] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            with _cluster(request.cluster):
                selector.fit(kept.features, kept.target)
        except KeyboardInterrupt:
            if not hasattr(selector, "support_"):
                raise
            interrupted = True
        chosen = np.flatnonzero(selector.support_).tolist()
        held = None if aside is None else Holdout(len(aside.target), on_holdout(chosen))
        splits = list(cv.split(kept.features, kept.target))
        score = SubsetScorer(estimator, scorer, kept.features, kept.target, splits, {}, {})
        noise = FoldNoise()
        by_fold = [selector.history_[f"split{fold}_test_score"] for fold in range(len(splits))]
        for scores in np.column_stack(by_fold):
            if np.all(np.isfinite(scores)):
                noise.add(scores)
        out_of_time = selector.stopped_ == "seconds"  # nor has forward selection more of it
        budget = len(selector.history_["features"]) if out_of_time else request.budget
        try:
            others = _comparisons(score, noise, kept, request.forbidden, len(chosen), budget)
            for comparison, columns in () if interrupted else others:
                comparisons.append(replace(comparison, holdout_score=on_holdout(columns)))
        except KeyboardInterrupt:  # what was found by then is told all the same
            interrupted = True
    notes = [*table.notes, *_own_warnings(caught)]
    settings = {
        "data": request.data.name,
        "target": request.target,
        "task": "classification" if table.classification else "regression",
        "features to select": "half" if request.k is None else str(request.k),
        "budget": request.budget,
        "estimator": _described(estimator),
        "scoring": scoring,
        "cv": str(cv),
        "hold-out": request.holdout,
        "seed": request.seed,
    }
    return Outcome(selector.report(settings, comparisons, held, notes), interrupted)


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    """While entered, joblib's work is done by the workers of a Dask cluster."""
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
        raise TableError(f"--cluster {address}: there is no scheduler ({error})") from error
    with client, joblib.parallel_config(backend="dask", n_jobs=-1):
        yield


def resumed(journal: Path, noted: Mapping[str, Any], budget: int | None) -> Outcome:
    """Go on with a selection that :func:`run` began, as its journal says."""
    request = Request(**noted)
    sizes = tuple(request.k) if isinstance(request.k, (list, tuple)) else request.k
    return run(
        replace(
            request,
            data=Path(request.data),
            journal=journal,
            k=cast("int | tuple[int, int] | None", sizes),
            budget=request.budget if budget is None else budget,
        )
    )


def _check_present(option: str, names: Sequence[str], table: Table) -> None:
    for name in names:
        if name in table.left_out:
            raise TableError(f"{option}: {name!r} can be no feature, it has {table.left_out[name]}")


def _own_warnings(caught: Sequence[warnings.WarningMessage]) -> list[str]:
    """What the selector warned of; failed subsets are told by the report itself."""
    return list(dict.fromkeys(str(warning.message) for warning in caught if warning.category is UserWarning))


def _split(table: Table, request: Request) -> tuple[Table, Table | None]:
    """What to select by, and what to keep aside."""
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
        raise TableError(f"--holdout {request.holdout}: {error} Use another part, or 0 for none") from error
    return replace(table, features=parts[0], target=parts[2]), replace(
        table, features=parts[1], target=parts[3]
    )


def _joined(kept: Table, aside: Table) -> tuple[Any, Any]:
    import pandas

    return pandas.concat([kept.features, aside.features]), pandas.concat([kept.target, aside.target])


def _names(text: str) -> list[str]:
    """Names separated by commas, in quotes if they contain some."""
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True))]


def _estimator(request: Request, table: Table) -> Any:
    """What was asked for, after imputing, scaling and encoding unless it is ready-made."""
    found = LogisticRegression if table.classification else Ridge
    if request.estimator is not None:
        found = _imported(request.estimator)
        if not inspect.isclass(found):
            return found
    arguments: dict[str, Any] = {"random_state": request.seed}
    if found is LogisticRegression:
        arguments["max_iter"] = 1000
    accepted = inspect.signature(found).parameters
    try:
        model = found(**{name: value for name, value in arguments.items() if name in accepted})
    except TypeError as error:
        raise TableError(
            f"--estimator {request.estimator}: it cannot be made without arguments ({error})"
        ) from error
    numeric = make_column_selector(dtype_include=["number", "bool"])
    other = make_column_selector(dtype_exclude=["number", "bool"])
    return make_pipeline(
        make_column_transformer(
            (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
            (
                make_pipeline(
                    SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
                ),
                other,
            ),
        ),
        model,
    )


def _scoring(request: Request, table: Table) -> str:
    if request.scoring is None:
        return "accuracy" if table.classification else "r2"
    if request.scoring not in get_scorer_names():
        alike = difflib.get_close_matches(request.scoring, get_scorer_names(), 1)
        advice = f"did you mean {alike[0]!r}?" if alike else "see sklearn.metrics.get_scorer_names()"
        raise TableError(f"--scoring: scikit-learn has no scorer {request.scoring!r}; {advice}")
    return request.scoring


def _imported(path: str) -> Any:
    """A class or an object by its import path: ``package.module.Name`` or ``package.module:Name``."""
    try:
        found = imported(path)
    except Exception as error:  # a user's script may fail in any way
        raise TableError(f"--estimator {path}: it cannot be imported ({_told(error)})") from error
    if inspect.isclass(found) and hasattr(found, "fit"):
        return found
    try:
        made = found if hasattr(found, "fit") or not callable(found) else found()
        if not hasattr(made, "fit"):
            raise TypeError(f"{path} has no fit method")
        return clone(made)
    except Exception as error:
        raise TableError(f"--estimator {path}: it is no estimator ({_told(error)})") from error


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"


def _described(estimator: Any) -> str:
    """In a few words; the preparation that every class gets is told as such."""
    steps = getattr(estimator, "steps", [])
    if len(steps) == 2 and isinstance(steps[0][1], ColumnTransformer):
        return f"{steps[1][1]}, after imputing, scaling and encoding"
    return str(estimator)


Chosen = tuple[Comparison, Sequence[int]]


def _comparisons(
    score: Callable[[Sequence[int]], Scored],
    noise: FoldNoise,
    table: Table,
    forbidden: Collection[str],
    count: int,
    budget: int,
) -> Iterator[Chosen]:
    """All features, the best ones each by itself, and forward selection if the budget covers it."""
    columns = [i for i, name in enumerate(table.features.columns) if name not in forbidden]
    yield _compared("all features", score(columns), columns, 1, noise)
    test = f_classif if table.classification else f_regression
    data = np.column_stack([numbers(table.features.iloc[:, i]) for i in columns])
    with np.errstate(divide="ignore", invalid="ignore"):
        strength = np.nan_to_num(test(data, _target_numbers(table))[0], nan=0.0, posinf=np.inf)
    best = sorted(columns[i] for i in np.argsort(-strength, kind="stable")[:count])
    yield _compared(f"best {count} one by one ({test.__name__})", score(best), best, 1, noise)
    needed = sum(len(columns) - taken for taken in range(count))
    if needed <= budget:
        yield _forward(score, columns, count, noise)


def _target_numbers(table: Table) -> Any:
    return numbers(table.target) if not table.classification else table.target.to_numpy()


def _forward(
    score: Callable[[Sequence[int]], Scored], columns: Sequence[int], count: int, noise: FoldNoise
) -> Chosen:
    taken: list[int] = []
    tried = 0
    last: Scored | None = None
    for _ in range(count):
        options = [score([*taken, column]) for column in columns if column not in taken]
        tried += len(options)
        valid = [option for option in options if option.failure is None]
        if not valid:
            break
        last = max(valid, key=lambda option: option.mean)
        taken = list(last.columns)
    if last is None:
        return Comparison("forward selection", 0, tried, None), taken
    return _compared("forward selection", last, taken, tried, noise)


def _compared(name: str, scored: Scored, columns: Sequence[int], tried: int, noise: FoldNoise) -> Chosen:
    if scored.failure is not None:
        return Comparison(name, len(columns), tried, None), columns
    variance = noise.add(scored.scores)
    interval = None if variance is None else central_interval(Gaussian(scored.mean, variance))
    return Comparison(name, len(columns), tried, scored.mean, interval), columns


def summary(report: SelectionReport) -> str:
    """The report as text for a terminal."""
    content = report.to_dict()
    found, lines = content["result"], []
    chosen = [feature for feature in content["features"] if feature["selected"]]
    names = {feature["name"]: _printable(feature["name"]) for feature in chosen}
    width = max(len(name) for name in names.values())
    lines.append(f"{'feature':{width}}  in the best subset with probability")
    for feature in chosen:
        low, high = feature["interval"]
        name = names[feature["name"]]
        lines.append(f"{name:{width}}  {feature['inclusion']:.2f}  ({low:.2f} to {high:.2f})")
    lines.append("")
    ours = (found["evaluations"], found["score"], found["score_interval"], found["holdout_score"])
    rows = [("chosen", len(chosen), *ours)]
    rows += [
        (c["name"], c["features"], c["subsets"], c["score"], c["interval"], c["holdout_score"])
        for c in content["comparisons"]
    ]
    name_width = max(len(row[0]) for row in rows)
    lines.append(f"{'':{name_width}}  features  subsets  cross-validated  90% interval      held out")
    for name, features, subsets, score, interval, held in rows:
        shown = "–" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}"
        counts = f"{features:8}  {subsets:7}"
        lines.append(f"{name:{name_width}}  {counts}  {_number(score):>15}  {shown:16}  {_number(held):>8}")
    lines.append("")
    lines.append("Scores on the folds flatter what was chosen by them; those held out do not.")
    # The rest of a long message is in the report.
    lines += [f"warning: {_printable(text.splitlines()[0])}" for text in content["warnings"]]
    return "\n".join(lines)


def _printable(text: str) -> str:
    """Without what would move a terminal's cursor or change its colours."""
    return "".join(character if character.isprintable() else "�" for character in text)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
