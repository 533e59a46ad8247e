"""The estimator, the scorer and the folds that options name, and the code that fits the estimator again."""

import ast
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin, clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
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
from dagsearch._internal.typing import IntArray
from dagsearch.cli.imports import imported
from dagsearch.cli.select.options import AUTO, Request
from dagsearch.selection.arguments import check_scorer_name, last_step
from dagsearch.tables import Table, TableError, prepared
from dagsearch.tables.clean import is_prepared, listed
from dagsearch.tables.read import INPUT

_BINARY = {"f1", "precision", "recall", "jaccard"}
"""Scorers of two classes; with ``_macro`` they score more."""


def estimator_for(path: str | None, settings: Sequence[str], classification: bool, seed: int) -> Any:
    """The estimator with a name or at an import path, by default a linear model.

    A class is called with ``random_state=seed`` if it accepts one, and gets imputed, scaled and encoded
    columns. An object is used as it is. ``settings`` are parameters of the model, as ``name=value``.
    """
    found = (
        _found(path, classification) if path is not None else LogisticRegression if classification else Ridge
    )
    if not inspect.isclass(found):
        return _checked_kind(_with_settings(found, settings), path, classification)
    arguments: dict[str, Any] = {"random_state": seed}
    if found is LogisticRegression:
        arguments["max_iter"] = 1000
    try:
        accepted = inspect.signature(found).parameters
        model = found(**{name: value for name, value in arguments.items() if name in accepted})
    except (TypeError, ValueError) as error:
        raise TableError(
            f"--estimator {path}: the class cannot be called without arguments ({error})"
        ) from error
    return prepared(_checked_kind(_with_settings(model, settings), path, classification))


@cache
def _sklearn_estimators() -> dict[str, Any]:
    """Classifiers and regressors of scikit-learn by name."""
    return dict(all_estimators(type_filter=["classifier", "regressor"]))


def is_from_sklearn(path: str) -> bool:
    """Whether a path names an estimator that scikit-learn itself provides."""
    module, _, name = path.replace(":", ".").rpartition(".")
    return module.partition(".")[0] in ("", "sklearn") and name in _sklearn_estimators()


def _found(path: str, classification: bool) -> Any:
    """An estimator of scikit-learn by its name, otherwise a class or an object by its import path."""
    if "." in path or ":" in path:
        return _own_estimator(path)
    if path not in _sklearn_estimators():
        other = "give an import path, such as package.module.Name"
        kind = ClassifierMixin if classification else RegressorMixin
        fitting = [name for name, found in _sklearn_estimators().items() if issubclass(found, kind)]
        advice = did_you_mean(path, fitting, other)
        raise TableError(f"--estimator {path}: scikit-learn has no such classifier or regressor; {advice}")
    return _sklearn_estimators()[path]


def _checked_kind(model: Any, path: str | None, classification: bool) -> Any:
    """The model, unless it predicts classes where the target has none, or numbers where it has classes."""
    if is_regressor(model) if classification else is_classifier(model):
        has, predicts = ("classes", "numbers") if classification else ("numbers", "classes")
        name = str(path).rpartition(".")[2]
        sibling = (
            name.replace("Regressor", "Classifier")
            if classification
            else name.replace("Classifier", "Regressor")
        )
        advice = f"use {sibling}, or" if sibling != name and sibling in _sklearn_estimators() else "use"
        task = "regression" if classification else "classification"
        raise TableError(
            f"--estimator {path} predicts {predicts}, but the target consists of {has}: {advice} "
            f"--task {task}"
        )
    return model


def _with_settings(model: Any, settings: Sequence[str]) -> Any:
    given = dict(_setting(text) for text in settings)
    known = model.get_params()
    for name in given:
        if name not in known:
            advice = did_you_mean(name, known, f"it has {listed(list(known), str)}")
            raise TableError(f"--set {name}: {type(model).__name__} has no such parameter; {advice}")
    return model.set_params(**given)


def _setting(text: str) -> tuple[str, Any]:
    """A name and a Python literal; anything else is text."""
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise TableError(f"--set {text}: it must be name=value")
    try:
        return name.strip(), ast.literal_eval(value.strip())
    except (ValueError, SyntaxError):
        return name.strip(), value.strip()


def described(estimator: Any) -> str:
    """The estimator as text; the preparation that every class gets is only mentioned."""
    if is_prepared(estimator):
        return f"{constructor(estimator.steps[1][1])}, after imputing, scaling and encoding"
    return " ".join(str(estimator).split())


def constructor(model: Any) -> str:
    """The call of the model's class, with the parameters that are not its defaults."""
    kind = type(model)
    defaults = inspect.signature(kind).parameters
    given = [
        f"{name}={value!r}"
        for name, value in model.get_params(deep=False).items()
        if name not in defaults or repr(value) != repr(defaults[name].default)
    ]
    return f"{kind.__name__}({', '.join(given)})"


def check_weights(estimator: Any) -> None:
    """Raise ``TableError`` if the estimator cannot be fitted with weights."""
    model = estimator
    while hasattr(model, "steps"):
        model = model.steps[-1][1]
    if not has_fit_parameter(model, "sample_weight"):
        raise TableError(f"--weight-column: {type(model).__name__} cannot be fitted with weights")


def scoring_for(name: str | None, target: Any, classification: bool) -> str:
    """The name of a scorer of scikit-learn that can score the target, by default accuracy or r2."""
    if name is None:
        return "accuracy" if classification else "r2"
    try:
        check_scorer_name("--scoring", name)
    except ValueError as error:
        raise TableError(str(error)) from error
    values = np.asarray(target)
    data = np.zeros((len(values), 1))
    trivial = DummyClassifier(strategy="prior") if classification else DummyRegressor()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            get_scorer(name)(trivial.fit(data, values), data, values)
    except (ValueError, TypeError, AttributeError) as error:
        kind = f"{len(np.unique(values))} classes" if classification else "numbers"
        advice = f"; use {name}_macro" if name in _BINARY and classification else ""
        if name == "roc_auc" and classification:
            advice = "; use roc_auc_ovr"
        reason = str(error).partition("\n")[0].rstrip(".")
        raise TableError(f"--scoring {name} cannot score a target of {kind}{advice} ({reason})") from error
    return name


def _own_estimator(path: str) -> Any:
    """A class or an estimator by ``package.module.Name`` or ``package.module:Name``."""
    found = _object_at("estimator", path)
    if inspect.isclass(found) and hasattr(found, "fit"):
        return found
    try:
        made = found if hasattr(found, "fit") or not callable(found) else found()
        if not hasattr(made, "fit"):
            raise TypeError(f"{path} has no fit method")
        return clone(made)
    except Exception as error:
        raise TableError(
            f"--estimator {path}: it is not an estimator ({type(error).__name__}: {error})"
        ) from error


def _object_at(option: str, path: str, is_maker: Callable[[Any], bool] = lambda _: False) -> Any:
    """The object at an import path, or what it returns without arguments if it is a maker."""
    try:
        found = imported(path)
        return found() if is_maker(found) else found
    except Exception as error:  # a user's script may fail in any way
        raise TableError(
            f"--{option} {path}: it cannot be imported ({type(error).__name__}: {error})"
        ) from error


# Folds ----------------------------------------------------------------------------------------------


def folds_for(cv: int | str, table: Table, in_time: bool, seed: int) -> Any:
    """The splitter: at an import path, or with a number of folds that respect time, groups and classes."""
    if isinstance(cv, str):
        return _own_splitter(cv)
    if in_time:
        return TimeSeriesSplit(cv)
    if table.groups is not None:
        count = table.groups.nunique()
        if count < cv:
            raise TableError(f"--cv {cv}: the group column has only {count} groups; use fewer folds")
        grouped = StratifiedGroupKFold if table.classification else GroupKFold
        return grouped(cv, shuffle=True, random_state=seed)
    folds = StratifiedKFold if table.classification else KFold
    return folds(cv, shuffle=True, random_state=seed)


def _own_splitter(path: str) -> Any:
    """A splitter by its import path, or what a class or function there returns without arguments."""
    made = _object_at(
        "cv", path, lambda found: inspect.isclass(found) or (callable(found) and not hasattr(found, "split"))
    )
    if not callable(getattr(made, "split", None)):
        raise TableError(f"--cv {path}: it is not a splitter: it has no method split")
    return made


def hold_out(table: Table, fraction: float, in_time: bool, seed: int) -> tuple[Table, Table | None]:
    """Rows to select by, and rows to hold out: the last ones in the order of time, or whole groups."""
    if fraction == 0.0:
        return table, None
    try:
        kept, held = _positions(table, fraction, in_time, seed)
    except ValueError as error:
        raise TableError(f"--holdout {fraction}: {error} Use another fraction, or 0 for none") from error
    return table.rows(kept), table.rows(held)


def _positions(table: Table, fraction: float, in_time: bool, seed: int) -> tuple[IntArray, IntArray]:
    rows = np.arange(len(table.target))
    if in_time:
        first = len(rows) - max(1, round(fraction * len(rows)))
        if first < 2:
            raise ValueError("Too few rows are left.")
        return rows[:first], rows[first:]
    if table.groups is not None:
        by_group = GroupShuffleSplit(1, test_size=fraction, random_state=seed)
        kept, held = next(by_group.split(rows, table.target, table.groups))
        return np.asarray(kept), np.asarray(held)
    stratify = table.target if table.classification and table.target.value_counts().min() > 1 else None
    kept, held = train_test_split(rows, test_size=fraction, random_state=seed, stratify=stratify)
    return np.asarray(kept), np.asarray(held)


# Code to copy ---------------------------------------------------------------------------------------


def code_for(request: Request, estimator: Any, table: Table, names: Sequence[str]) -> str:
    """Read the table as the command did, and fit the estimator on the chosen columns."""
    features = table.features
    forbidden = [features[name] for name in request.forbidden if name in features]
    # Without --forbidden, a column that repeats a forbidden one would be left out.
    repeated = [name for name in names if any(features[name].equals(other) for other in forbidden)]
    path = "table.csv" if str(request.data) == INPUT else str(request.data)
    weights = ""
    if request.weight_column is not None:
        weights = f", {last_step(estimator)}sample_weight=table.weights"
    source, made = (
        _own(str(request.estimator)) if not is_prepared(estimator) else _class(estimator.steps[1][1])
    )
    return "\n".join(
        [
            f"from dagsearch.tables import load_table{', prepared' if is_prepared(estimator) else ''}",
            source,
            "",
            f"table = load_table({path!r}, {request.target!r}{_options(request, repeated)})",
            f"features = {list(names)!r}",
            f"model = {made}.fit(table.features[features], table.target{weights})",
        ]
    )


def _options(request: Request, repeated: Sequence[str]) -> str:
    """The arguments of ``load_table`` that differ from its defaults."""
    defaults = {one.name: one.default for one in fields(Request)}
    values = {name: getattr(request, name) for name in defaults}
    loads = request.named("load").items()
    given = {load: None if values[name] == defaults[name] else values[name] for name, load in loads}
    given |= {"task": None if request.task == AUTO else request.task}
    given |= {"keep": [*request.kept, *repeated] or None}
    return "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)


def _own(path: str) -> tuple[str, str]:
    """Import of an estimator object, or of a function that makes it; and how to get the object."""
    module, _, name = path.replace(":", ".").rpartition(".")
    makes = not hasattr(getattr(sys.modules[module], name), "fit")
    return f"from {module} import {name}", f"{name}()" if makes else name


def _class(model: Any) -> tuple[str, str]:
    """Import of the model's class; and how it is made."""
    parts = type(model).__module__.split(".")
    module = ".".join(part for part in parts if not part.startswith("_"))
    return f"from {module} import {type(model).__name__}", f"prepared({constructor(model)})"
