"""The estimator and the scorer that ``--estimator``, ``--set`` and ``--scoring`` name."""

import ast
import difflib
import inspect
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils import all_estimators
from sklearn.utils.validation import has_fit_parameter

from dagsearch._internal.imports import imported
from dagsearch.tables.clean import is_prepared, prepared
from dagsearch.tables.read import TableError

_BINARY = {"f1", "precision", "recall", "jaccard"}
"""Scorers of two classes; with ``_macro`` they score more."""


def estimator_for(path: str | None, settings: Sequence[str], classification: bool, seed: int) -> Any:
    """The estimator with a name or at an import path, by default a linear model.

    A class is called with ``random_state=seed`` if it accepts one, and gets imputed, scaled and encoded
    columns. An object is used as it is. ``settings`` are parameters of the model, as ``name=value``.
    """
    found = _found(path) if path is not None else LogisticRegression if classification else Ridge
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


def _found(path: str) -> Any:
    """An estimator of scikit-learn by its name, otherwise a class or an object by its import path."""
    if "." in path or ":" in path:
        return _imported(path)
    if path not in _sklearn_estimators():
        alike = difflib.get_close_matches(path, _sklearn_estimators(), 1)
        advice = f"did you mean {alike[0]}?" if alike else "give an import path, such as package.module.Name"
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
            alike = difflib.get_close_matches(name, known, 1)
            advice = f"; did you mean {alike[0]}?" if alike else ""
            raise TableError(f"--set {name}: {type(model).__name__} has no such parameter{advice}")
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
    defaults = kind().get_params()
    given = [
        f"{name}={value!r}"
        for name, value in model.get_params(deep=False).items()
        if repr(value) != repr(defaults[name])
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
    if name not in get_scorer_names():
        alike = difflib.get_close_matches(name, get_scorer_names(), 1)
        advice = f"did you mean {alike[0]!r}?" if alike else "see sklearn.metrics.get_scorer_names()"
        raise TableError(f"--scoring: scikit-learn has no scorer {name!r}; {advice}")
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


def _imported(path: str) -> Any:
    """A class or an estimator by ``package.module.Name`` or ``package.module:Name``."""
    try:
        found = imported(path)
    except Exception as error:  # a user's script may fail in any way
        raise TableError(f"--estimator {path}: it cannot be imported ({_named(error)})") from error
    if inspect.isclass(found) and hasattr(found, "fit"):
        return found
    try:
        made = found if hasattr(found, "fit") or not callable(found) else found()
        if not hasattr(made, "fit"):
            raise TypeError(f"{path} has no fit method")
        return clone(made)
    except Exception as error:
        raise TableError(f"--estimator {path}: it is not an estimator ({_named(error)})") from error


def _named(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
