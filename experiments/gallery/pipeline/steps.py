"""The function that is searched: it chooses the steps of a pipeline, and computes their score."""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectPercentile, f_classif, f_regression
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import BaseCrossValidator, KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

import dagsearch as ds
from experiments.gallery.pipeline.tables import Table

FOLDS = 5
"""Number of parts in cross-validation."""

Preparation = tuple[str, bool, str, str]
"""How columns are prepared: gaps, whether they are marked, encoder, scaler."""
Step = tuple[Any, ...]
"""The name of a step, and its settings."""
Fold = tuple[Any, Any, Any, Any]
"""Prepared columns and target to fit with, the same to score with."""


class Plan(NamedTuple):
    """What was chosen."""

    preparation: Preparation
    """How columns become numbers without gaps."""
    reduction: Step
    """How these become fewer."""
    model: Step
    """What predicts."""


# The choices ---------------------------------------------------------------------------------------------


def plan(choose: Callable[[str, Any], Any], is_classification: bool) -> Plan:
    """Make all choices; some of them depend on others."""
    preparation = (
        choose("gaps", ["mean", "median", "neighbours"]),
        choose("mark gaps", [False, True]),
        choose("encoder", ["one-hot", "ordinal", "target"]),
        choose("scaler", ["none", "range", "standard", "robust", "quantile"]),
    )
    reduction: Step = (choose("reduction", ["none", "select", "components"]),)
    if reduction == ("select",):
        reduction += (choose("percent kept", [10, 20, 35, 50, 70]),)
    elif reduction == ("components",):
        reduction += (choose("variance kept", [0.5, 0.7, 0.8, 0.9, 0.95, 0.99]),)
    model = choose("model", ["linear", "neighbours", "support vectors", "trees", "boosting"])
    return Plan(preparation, reduction, (model, *_settings(choose, model, is_classification)))


def _settings(choose: Callable[[str, Any], Any], model: str, is_classification: bool) -> Step:
    if model == "linear":
        strength = choose("C", [1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0])
        return strength, choose("class weights", [None, "balanced"]) if is_classification else None
    if model == "neighbours":
        count = choose("neighbours", [1, 2, 3, 5, 8, 12, 20, 30])
        return count, choose("neighbour weights", ["uniform", "distance"]), choose("metric", [1, 2])
    if model == "support vectors":
        kernel = choose("kernel", ["linear", "rbf", "sigmoid"])
        gamma = "scale" if kernel == "linear" else choose("gamma", [1e-4, 1e-3, 1e-2, 0.1, 1.0])
        return kernel, gamma, choose("margin C", [0.01, 0.1, 0.3, 1.0, 3.0, 10.0])
    if model == "trees":
        return choose("rows per leaf", [1, 2, 4, 8, 16]), choose("columns per split", [0.1, 0.3, 0.5, 1.0])
    return (
        choose("learning rate", [0.02, 0.05, 0.1, 0.2, 0.4]),
        choose("rounds", [10, 20, 40]),
        choose("leaves", [4, 8, 16, 31]),
        choose("shrinkage", [0.0, 1.0, 10.0]),
    )


# Their score ---------------------------------------------------------------------------------------------


class Score:
    """What is maximised: ``score(choose)`` is the cross-validated score of the pipeline that it chooses.

    Folds and models have fixed seeds, so the same choices always earn the same score. Prepared columns are
    kept: many pipelines share them.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self._prepared: dict[Preparation, list[Fold]] = {}
        self._scorer = get_scorer("balanced_accuracy" if table.is_classification else "r2")

    def __call__(self, choose: ds.problems.Choose) -> float:
        """Choose first, compute afterwards."""
        return self.of(plan(choose, self.table.is_classification))

    def identity(self) -> str:
        """What distinguishes this function from that of another table, for storage."""
        return self.table.digest()

    def of(self, chosen: Plan) -> float:
        """Mean score of five folds."""
        with _quietly():
            if chosen.preparation not in self._prepared:
                self._prepared[chosen.preparation] = self._folds(chosen.preparation)
            model = _predictor(chosen, self.table.is_classification)
            folds = self._prepared[chosen.preparation]
            return float(np.mean([self._scorer(model.fit(*fold[:2]), *fold[2:]) for fold in folds]))

    def _folds(self, preparation: Preparation) -> list[Fold]:
        """The columns are prepared in every fold anew, by its rows to fit with."""
        features, target = self.table.features, self.table.target
        found: list[Fold] = []
        for fitted, scored in _folds(self.table.is_classification).split(features, target):
            columns = _columns(preparation, self.table.is_classification)
            to_fit = columns.fit_transform(features.iloc[fitted], target.iloc[fitted])
            to_score = columns.transform(features.iloc[scored])
            found.append((to_fit, target.iloc[fitted], to_score, target.iloc[scored]))
        return found

    def fitted(self, chosen: Plan) -> Pipeline:
        """The whole pipeline, fitted to all rows of the table."""
        columns = _columns(chosen.preparation, self.table.is_classification)
        pipeline = make_pipeline(columns, _predictor(chosen, self.table.is_classification))
        with _quietly():
            return pipeline.fit(self.table.features, self.table.target)

    def on(self, fitted: Pipeline, other: Table) -> float:
        """Score of a fitted pipeline on other rows."""
        return float(self._scorer(fitted, other.features, other.target))


@contextmanager
def _quietly() -> Iterator[None]:
    """One thread, because the tables are small; a model that does not converge has its score all the same."""
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def _folds(is_classification: bool) -> BaseCrossValidator:
    form = StratifiedKFold if is_classification else KFold
    return form(FOLDS, shuffle=True, random_state=0)


# scikit-learn's objects ----------------------------------------------------------------------------------


def _columns(preparation: Preparation, is_classification: bool) -> ColumnTransformer:
    """The step that fills gaps, scales numbers and turns categories into numbers."""
    gaps, marked, encoder, scaler = preparation
    imputer = KNNImputer if gaps == "neighbours" else partial(SimpleImputer, strategy=gaps)
    numbers = make_pipeline(imputer(add_indicator=marked), _scaler(scaler))
    filled = SimpleImputer(strategy="constant", fill_value="missing")
    texts = make_pipeline(filled, _encoder(encoder, is_classification))
    is_number = make_column_selector(dtype_include=np.number)
    is_text = make_column_selector(dtype_exclude=np.number)
    return ColumnTransformer([("numbers", numbers, is_number), ("texts", texts, is_text)])


def _scaler(name: str) -> Any:
    return {
        "none": "passthrough",
        "range": MinMaxScaler(),
        "standard": StandardScaler(),
        "robust": RobustScaler(),
        "quantile": QuantileTransformer(n_quantiles=50, output_distribution="normal", random_state=0),
    }[name]


def _encoder(name: str, is_classification: bool) -> Any:
    return {
        "one-hot": OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        "ordinal": OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        "target": TargetEncoder(cv=_folds(is_classification)),
    }[name]


def _predictor(chosen: Plan, is_classification: bool) -> Pipeline:
    """Reduction and model."""
    kind, *amount = chosen.reduction
    reduction: Any = "passthrough"
    if kind == "select":
        reduction = SelectPercentile(f_classif if is_classification else f_regression, percentile=amount[0])
    elif kind == "components":
        reduction = PCA(amount[0], random_state=0)
    return make_pipeline(reduction, _model(chosen.model, is_classification))


def _model(model: Step, is_classification: bool) -> Any:
    name, *settings = model
    if name == "linear":
        strength, weights = settings
        if is_classification:
            return LogisticRegression(C=strength, class_weight=weights, max_iter=500)
        return Ridge(1.0 / strength)
    if name == "neighbours":
        count, weights, power = settings
        neighbours = KNeighborsClassifier if is_classification else KNeighborsRegressor
        return neighbours(count, weights=weights, p=power)
    if name == "support vectors":
        kernel, gamma, strength = settings
        return (SVC if is_classification else SVR)(kernel=kernel, C=strength, gamma=gamma, max_iter=20_000)
    if name == "trees":
        rows, share = settings
        forest = ExtraTreesClassifier if is_classification else ExtraTreesRegressor
        return forest(30, min_samples_leaf=rows, max_features=share, random_state=0)
    rate, rounds, leaves, shrinkage = settings
    boosting = HistGradientBoostingClassifier if is_classification else HistGradientBoostingRegressor
    return boosting(
        learning_rate=rate,
        max_iter=rounds,
        max_leaf_nodes=leaves,
        l2_regularization=shrinkage,
        random_state=0,
    )
