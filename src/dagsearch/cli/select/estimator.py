"""The estimator and the scorer that ``--estimator`` and ``--scoring`` name."""

import difflib
import inspect
from typing import Any

from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer_names
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from dagsearch._internal.imports import imported
from dagsearch.selection.table import TableError


def estimator_for(path: str | None, classification: bool, seed: int) -> Any:
    """The estimator at an import path, by default a linear model.

    A class is called with ``random_state=seed`` if it accepts one, and gets imputed, scaled and encoded
    columns. An object is used as it is.
    """
    found = LogisticRegression if classification else Ridge
    if path is not None:
        found = _imported(path)
        if not inspect.isclass(found):
            return found
    arguments: dict[str, Any] = {"random_state": seed}
    if found is LogisticRegression:
        arguments["max_iter"] = 1000
    accepted = inspect.signature(found).parameters
    try:
        model = found(**{name: value for name, value in arguments.items() if name in accepted})
    except TypeError as error:
        raise TableError(
            f"--estimator {path}: the class cannot be called without arguments ({error})"
        ) from error
    return make_pipeline(_preparation(), model)


def _preparation() -> Any:
    """Numbers are imputed and scaled, other columns imputed and encoded."""
    numeric = make_column_selector(dtype_include=["number", "bool"])
    other = make_column_selector(dtype_exclude=["number", "bool"])
    return make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        (
            make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
            other,
        ),
    )


def described(estimator: Any) -> str:
    """The estimator as text; the preparation that every class gets is only mentioned."""
    steps = getattr(estimator, "steps", [])
    if len(steps) == 2 and isinstance(steps[0][1], ColumnTransformer):
        return f"{steps[1][1]}, after imputing, scaling and encoding"
    return str(estimator)


def scoring_for(name: str | None, classification: bool) -> str:
    """The name of a scorer of scikit-learn, by default accuracy or r2."""
    if name is None:
        return "accuracy" if classification else "r2"
    if name not in get_scorer_names():
        alike = difflib.get_close_matches(name, get_scorer_names(), 1)
        advice = f"did you mean {alike[0]!r}?" if alike else "see sklearn.metrics.get_scorer_names()"
        raise TableError(f"--scoring: scikit-learn has no scorer {name!r}; {advice}")
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
