"""The estimator, the scorer and the folds that options name."""

import ast
import inspect
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
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

from dagsearch._internal.hints import did_you_mean
from dagsearch.cli.common import imported
from dagsearch.selection.arguments import check_scorer_name
from dagsearch.tables import Table, TableError, prepared
from dagsearch.tables.clean import is_prepared

# Share of the most frequent class from which on accuracy says little.
_MAJORITY = 0.8


def default_estimator(classification: bool, seed: int) -> Any:
    """A linear model of prepared columns."""
    return prepared(LogisticRegression(max_iter=1000, random_state=seed) if classification else Ridge())


def estimator_for(text: str, seed: int) -> Any:
    """The estimator with a name or at an import path, with the parameters in parentheses after it.

    A class is called with ``random_state=seed`` if it accepts one, and gets imputed, scaled and encoded
    columns. An object is used as it is.
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
        raise TableError(f"--estimator {text}: this does not make an estimator ({reason})") from error


def _parsed(text: str) -> tuple[str, dict[str, Any]]:
    """The path and the parameters in ``path(name=value)``; values are Python literals."""
    path, _, settings = text.partition("(")
    try:
        call: Any = ast.parse(f"dict({settings or ')'}", mode="eval").body
        if not call.args:
            return path, {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}
    except (SyntaxError, ValueError, AttributeError):
        pass
    raise TableError(f"--estimator {text}: parameters must be written like Name(alpha=3, kind='text')")


def _found(path: str) -> Any:
    """An estimator of scikit-learn by its name, otherwise a class or an object by its import path."""
    if "." in path or ":" in path:
        return imported("--estimator", path)
    known = dict(all_estimators(type_filter=["classifier", "regressor"]))
    if path not in known:
        advice = did_you_mean(path, known, "give an import path, such as package.module.Name")
        raise TableError(f"--estimator {path}: scikit-learn has no such classifier or regressor; {advice}")
    return known[path]


def described(estimator: Any) -> str:
    """The estimator as text; the preparation that every class gets is only mentioned."""
    text = str(estimator[-1] if is_prepared(estimator) else estimator)
    after = ", after imputing, scaling and encoding" if is_prepared(estimator) else ""
    return " ".join(text.split()) + after


def scoring_for(name: str | None, table: Table, estimator: Any, notes: list[str]) -> str:
    """The name of a scorer of scikit-learn that can score the target.

    By default r2 or accuracy, but not accuracy if most rows belong to one class; a note says so.
    """
    shares = table.target.value_counts(normalize=True)
    rare = bool(table.classes) and float(shares.iloc[0]) > _MAJORITY
    if rare and name in (None, "accuracy"):
        ranks = hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")
        better = "roc_auc" if len(table.classes) == 2 and ranks else "balanced_accuracy"
        most = f"{shares.iloc[0]:.1%} of the rows are {table.classes[int(shares.index[0])]!r}"
        advice = f"accuracy says little here; use --scoring {better}" if name else f"scored by {better}"
        notes.insert(min(len(table.leaking), 1), f"{most}: {advice}")
        name = name or better
    if name is None:
        return "accuracy" if table.classes else "r2"
    check_scorer_name("--scoring", name)
    return name


def splitter_for(cv: str, table: Table, in_time: bool, seed: int) -> Any:
    """The splitter: at an import path, or with a number of folds that respect time, groups and classes."""
    if not cv.isdecimal():
        found = imported("--cv", cv)
        if not callable(getattr(found, "split", None)):
            raise TableError(f"--cv {cv}: it is not a splitter: it has no method split")
        return found() if inspect.isclass(found) else found
    if in_time:
        return TimeSeriesSplit(int(cv))
    kinds: Any = (StratifiedKFold, KFold)
    if table.groups is not None:
        kinds = StratifiedGroupKFold, GroupKFold
    return kinds[0 if table.classes else 1](int(cv), shuffle=True, random_state=seed)


def hold_out(table: Table, fraction: float, in_time: bool, seed: int) -> tuple[Table, Table | None]:
    """Rows to select by, and rows to hold out: the last ones in the order of time, or whole groups."""
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
