"""Pipelines for real tables: their settings, and the score of every pipeline.

``python -m experiments.general.settings`` fits every pipeline by cross-validation and writes
``tables/NAME.csv.gz`` (twenty minutes on two cores). Runs look up these scores, so evaluations are free.
"""

import os
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.spaces import Condition, Places
from experiments.harness.runner import run_tasks, write_csv

FOLDER = Path(__file__).with_name("tables")
Settings = Mapping[str, Any]
"""The values of one pipeline by name, without missing settings."""


class Setting(NamedTuple):
    """A named setting."""

    values: Sequence[Hashable]
    """Its possible values; numbers are on a scale."""
    when: tuple[str, tuple[Hashable, ...]] | None = None
    """The earlier setting on which it depends, and the values for which it exists."""

    def exists(self, made: Mapping[str, Any]) -> bool:
        """Whether it exists, given the values before it."""
        return self.when is None or made.get(self.when[0]) in self.when[1]


class Table(NamedTuple):
    """A table of data and the pipelines for it."""

    settings: Mapping[str, Setting]
    load: Callable[[], tuple[FloatArray, FloatArray]]
    """The data: features and response."""
    scoring: str
    """Name of the score in scikit-learn."""
    folds: int
    """Number of cross-validation folds."""


def places(settings: Mapping[str, Setting]) -> Places:
    """The points: the number of the value of every setting."""
    names = list(settings)
    conditions = {}
    for name, setting in settings.items():
        if setting.when is not None:
            other, values = setting.when
            options = tuple(settings[other].values.index(value) for value in values)
            conditions[names.index(name)] = Condition(names.index(other), options)
    every = [setting.values for setting in settings.values()]
    return Places([len(values) for values in every], conditions, names, every)


# Settings ----------------------------------------------------------------------------------------------


def _logarithmic(low: float, high: float, count: int) -> tuple[float, ...]:
    """Powers of ten with exponents from ``low`` to ``high``, four digits each."""
    return tuple(float(f"{value:.4g}") for value in np.logspace(low, high, count))


_TUMOURS = {
    "scaler": Setting(("none", "standard", "minmax", "robust")),
    "model": Setting(("linear", "svm", "neighbours", "tree", "boosting")),
    "C": Setting(_logarithmic(-3, 4, 22), ("model", ("linear", "svm"))),
    "gamma": Setting(_logarithmic(-5, 1, 19), ("model", ("svm",))),
    "k": Setting(tuple(range(1, 41)), ("model", ("neighbours",))),
    "weights": Setting(("uniform", "distance"), ("model", ("neighbours",))),
    "p": Setting((1, 2), ("model", ("neighbours",))),
    "depth": Setting(tuple(range(1, 9)), ("model", ("tree", "boosting"))),
    "leaf": Setting((1, 2, 3, 5, 8, 12, 20, 30), ("model", ("tree",))),
    "rate": Setting(_logarithmic(-2.5, 0, 11), ("model", ("boosting",))),
    "rounds": Setting((10, 20, 40, 80, 160), ("model", ("boosting",))),
}
_NUMERALS = {
    "scaler": Setting(("none", "standard", "minmax")),
    "reduce": Setting(("no", "pca")),
    "components": Setting((4, 6, 9, 13, 18, 25, 35, 50), ("reduce", ("pca",))),
    "model": Setting(("linear", "svm", "neighbours", "tree")),
    "C": Setting(_logarithmic(-3, 3, 13), ("model", ("linear", "svm"))),
    "gamma": Setting(_logarithmic(-5, 1, 13), ("model", ("svm",))),
    "k": Setting(tuple(range(1, 21)), ("model", ("neighbours",))),
    "weights": Setting(("uniform", "distance"), ("model", ("neighbours",))),
    "depth": Setting(tuple(range(2, 17, 2)), ("model", ("tree",))),
    "leaf": Setting((1, 2, 4, 8, 16), ("model", ("tree",))),
}
_DIABETES = {
    "expand": Setting(("no", "squares")),
    "scaler": Setting(("standard", "quantile")),
    "model": Setting(("ridge", "elastic", "svm", "neighbours", "boosting")),
    "alpha": Setting(_logarithmic(-3, 4, 29), ("model", ("ridge", "elastic"))),
    "mix": Setting((0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95), ("model", ("elastic",))),
    "C": Setting(_logarithmic(-1, 4, 16), ("model", ("svm",))),
    "gamma": Setting(_logarithmic(-5, 0, 16), ("model", ("svm",))),
    "k": Setting(tuple(range(1, 61)), ("model", ("neighbours",))),
    "weights": Setting(("uniform", "distance"), ("model", ("neighbours",))),
    "depth": Setting(tuple(range(1, 7)), ("model", ("boosting",))),
    "rate": Setting(_logarithmic(-2.5, 0, 11), ("model", ("boosting",))),
    "rounds": Setting((10, 20, 40, 80, 160, 320), ("model", ("boosting",))),
}


def _bundled(name: str, rows: int | None = None) -> Callable[[], tuple[FloatArray, FloatArray]]:
    def load() -> tuple[FloatArray, FloatArray]:
        from sklearn import datasets

        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        chosen = np.random.default_rng(0).permutation(len(y))[:rows]
        return X[chosen], y[chosen]

    return load


TABLES = {
    "tumours": Table(_TUMOURS, _bundled("breast_cancer"), "accuracy", 5),
    "numerals": Table(_NUMERALS, _bundled("digits", 500), "accuracy", 3),
    "diabetes": Table(_DIABETES, _bundled("diabetes"), "r2", 5),
}


# Scores ------------------------------------------------------------------------------------------------


@cache
def scores(name: str) -> FloatArray:
    """Score of every pipeline, in the order of ``Places.everything``."""
    return pd.read_csv(FOLDER / f"{name}.csv.gz")["score"].to_numpy()


@cache
def look_up(name: str) -> Callable[[IntArray], FloatArray]:
    """Scores of points, from the file."""
    points = np.concatenate(list(places(TABLES[name].settings).everything()))
    known = dict(zip(map(bytes, points), scores(name).tolist(), strict=True))
    return lambda points: np.array([known[bytes(point)] for point in points])


# Fitting -----------------------------------------------------------------------------------------------


def _prepared(made: Settings) -> list[Any]:
    """The steps of a pipeline before its model."""
    from sklearn import decomposition, preprocessing

    scalers = {
        "standard": preprocessing.StandardScaler,
        "minmax": preprocessing.MinMaxScaler,
        "robust": preprocessing.RobustScaler,
        "quantile": lambda: preprocessing.QuantileTransformer(n_quantiles=100, output_distribution="normal"),
    }
    steps: list[Any] = [scalers[made["scaler"]]()] if made["scaler"] != "none" else []
    if made.get("expand") == "squares":
        steps.insert(0, preprocessing.PolynomialFeatures(2, include_bias=False))
    if made.get("reduce") == "pca":
        steps.append(decomposition.PCA(made["components"], random_state=0))
    return steps


def _model(made: Settings, regression: bool) -> Any:
    """The model of a pipeline."""
    from sklearn import ensemble, linear_model, neighbors, svm, tree

    kind = made["model"]
    if kind == "linear":
        return linear_model.LogisticRegression(C=made["C"], max_iter=300)
    if kind == "ridge":
        return linear_model.Ridge(alpha=made["alpha"])
    if kind == "elastic":
        return linear_model.ElasticNet(alpha=made["alpha"], l1_ratio=made["mix"], max_iter=500)
    if kind == "svm":
        return (svm.SVR if regression else svm.SVC)(C=made["C"], gamma=made["gamma"], max_iter=20_000)
    if kind == "neighbours":
        nearest = neighbors.KNeighborsRegressor if regression else neighbors.KNeighborsClassifier
        return nearest(made["k"], weights=made["weights"], p=made.get("p", 2))
    if kind == "tree":
        return tree.DecisionTreeClassifier(
            max_depth=made["depth"], min_samples_leaf=made["leaf"], random_state=0
        )
    boosting = ensemble.GradientBoostingRegressor if regression else ensemble.GradientBoostingClassifier
    return boosting(
        learning_rate=made["rate"],
        max_depth=made["depth"],
        n_estimators=made["rounds"],
        subsample=0.5,
        max_features="sqrt",
        random_state=0,
    )


def fitted(name: str, made: Settings) -> float:
    """Mean score of a pipeline in cross-validation."""
    from sklearn import model_selection, pipeline

    table = TABLES[name]
    X, y = table.load()
    regression = table.scoring == "r2"
    kind = model_selection.KFold if regression else model_selection.StratifiedKFold
    folds = kind(table.folds, shuffle=True, random_state=0)
    whole = pipeline.make_pipeline(*_prepared(made), _model(made, regression))
    with warnings.catch_warnings(action="ignore"):  # pipelines may fail to converge
        return float(model_selection.cross_val_score(whole, X, y, scoring=table.scoring, cv=folds).mean())


def pipelines(name: str) -> list[Settings]:
    """All pipelines, in the order of ``Places.everything``."""
    settings = TABLES[name].settings
    return [
        {
            key: setting.values[code]
            for (key, setting), code in zip(settings.items(), point.tolist(), strict=True)
            if code < len(setting.values)
        }
        for points in places(settings).everything()
        for point in points
    ]


if __name__ == "__main__":
    for table in TABLES:
        earned = run_tasks(fitted, [(table, made) for made in pipelines(table)], os.cpu_count() or 1)
        write_csv(FOLDER / f"{table}.csv.gz", pd.DataFrame({"score": [f"{score:.6f}" for score in earned]}))
