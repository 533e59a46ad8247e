"""The tasks of ``python -m experiments benchmark grid``: a table, an estimator, and a grid of its parameters.

Five tables come with scikit-learn, three with mlxtend. The grids were fixed before they were scored.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.feature_selection import SelectKBest
from sklearn.linear_model import ElasticNet, Lasso, LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, RobustScaler, StandardScaler
from sklearn.svm import SVC, SVR

from experiments.harness.peers import import_peer

FOLDS = 5
"""Number of folds."""
# Number of rows from the sample of MNIST.
_IMAGES = 1500


class Task(NamedTuple):
    """A table, an estimator, and a grid of its parameters."""

    load: Callable[[], tuple[Any, Any]]
    """Function that returns features and target."""
    estimator: Any
    grid: Any
    """The grid for ``GridSearchCV``: a dict, or a list of dicts."""
    scoring: str

    @property
    def cv(self) -> Any:
        """The folds, the same for every candidate."""
        regression = self.scoring == "r2"
        return (KFold if regression else StratifiedKFold)(FOLDS, shuffle=True, random_state=0)


def _bundled(load: Callable[..., Any]) -> tuple[Any, Any]:
    return load(return_X_y=True)  # type: ignore[no-any-return]


def _of_mlxtend(name: str) -> tuple[Any, Any]:
    data, target = getattr(import_peer("mlxtend.data"), name)()
    return data[:, np.isfinite(data).all(axis=0)], target  # names of cars are not numbers


def _images() -> tuple[Any, Any]:
    data, target = _of_mlxtend("mnist_data")
    rows = np.random.default_rng(0).permutation(len(target))[:_IMAGES]
    return data[rows] / 255.0, target[rows]


def _powers(low: int, high: int, step: float = 1.0) -> list[float]:
    return [float(f"{10.0**power:.3g}") for power in np.arange(low, high + step / 2, step)]


def _steps(**steps: Any) -> Pipeline:
    return Pipeline(list(steps.items()))


def _of(step: str, **parameters: list[Any]) -> dict[str, list[Any]]:
    """Values of the parameters of a step."""
    return {f"{step}__{name}": values for name, values in parameters.items()}


_SCALERS = ["passthrough", StandardScaler(), MinMaxScaler(), RobustScaler()]

TASKS: dict[str, Task] = {
    "breast cancer, SVM": Task(
        partial(_bundled, load_breast_cancer),
        _steps(scale=StandardScaler(), svm=SVC()),
        [
            _of("svm", kernel=["linear"], C=_powers(-4, 4)),
            _of("svm", kernel=["rbf"], C=_powers(-4, 4), gamma=_powers(-6, 2)),
            _of("svm", kernel=["poly"], C=_powers(-4, 4), gamma=_powers(-4, 0))
            | _of("svm", degree=[2, 3, 4], coef0=[0.0, 1.0]),
        ],
        "accuracy",
    ),
    "digits, PCA and SVM": Task(
        partial(_bundled, load_digits),
        _steps(pca=PCA(random_state=0), svm=SVC()),
        _of("pca", n_components=[5, 10, 15, 20, 30, 40, 50])
        | _of("svm", C=_powers(-2, 4), gamma=_powers(-6, 0)),
        "accuracy",
    ),
    "wine, logistic regression": Task(
        partial(_bundled, load_wine),
        _steps(
            scale=StandardScaler(),
            reduce=PCA(random_state=0),
            model=LogisticRegression(solver="saga", max_iter=300, random_state=0),
        ),
        {"scale": _SCALERS, **_of("reduce", n_components=[2, 4, 6, 8, 10, 13])}
        | _of("model", C=_powers(-3, 3), l1_ratio=[0.0, 0.5, 1.0]),
        "neg_log_loss",
    ),
    "iris, neighbours": Task(
        partial(_bundled, load_iris),
        _steps(scale=StandardScaler(), knn=KNeighborsClassifier()),
        {"scale": _SCALERS, "knn__n_neighbors": [1, 3, 5, 7, 9, 11, 15, 20, 25, 30, 40, 50]}
        | _of("knn", weights=["uniform", "distance"], p=[1, 1.5, 2, 3]),
        "neg_log_loss",
    ),
    "diabetes, linear models": Task(
        partial(_bundled, load_diabetes),
        _steps(scale=StandardScaler(), expand=PolynomialFeatures(2, include_bias=False), model=Ridge()),
        [
            {
                "expand": [
                    "passthrough",
                    *(PolynomialFeatures(2, interaction_only=only) for only in (True, False)),
                ],
                "scale": _SCALERS[1:],
                "model": [Ridge(), Lasso(max_iter=3000)],
                "model__alpha": _powers(-4, 4, 0.5),
            },
            {
                "expand": ["passthrough", PolynomialFeatures(2)],
                "scale": _SCALERS[1:],
                "model": [ElasticNet(max_iter=3000)],
                **_of("model", alpha=_powers(-4, 2), l1_ratio=[0.1, 0.3, 0.5, 0.7, 0.9]),
            },
        ],
        "r2",
    ),
    "cars, boosting": Task(
        partial(_of_mlxtend, "autompg_data"),
        GradientBoostingRegressor(random_state=0),
        {
            "learning_rate": [0.01, 0.03, 0.1, 0.3, 1.0],
            "n_estimators": [50, 100, 200, 400],
            "max_depth": [1, 2, 3, 5, 8],
            "subsample": [0.5, 0.75, 1.0],
            "min_samples_leaf": [1, 5, 20],
        },
        "r2",
    ),
    "housing, four models": Task(
        partial(_of_mlxtend, "boston_housing_data"),
        _steps(scale=StandardScaler(), model=Ridge()),
        [
            {"model": [Ridge()], "model__alpha": _powers(-4, 4, 0.5)},
            {"model": [SVR()]}
            | _of("model", C=_powers(-2, 4), gamma=_powers(-5, 1), epsilon=[0.01, 0.1, 0.5, 1.0]),
            {"model": [KNeighborsRegressor()], "model__n_neighbors": [1, 2, 3, 4, 5, 7, 10, 15, 20, 30]}
            | _of("model", weights=["uniform", "distance"], p=[1, 2]),
            {
                "model": [RandomForestRegressor(random_state=0)],
                "model__max_features": [0.2, 0.4, 0.6, 0.8, 1.0],
            }
            | _of("model", min_samples_leaf=[1, 2, 5, 10], max_depth=[3, 6, None]),
        ],
        "r2",
    ),
    "MNIST sample, pipelines": Task(
        _images,
        _steps(reduce=PCA(random_state=0), model=LogisticRegression(max_iter=300)),
        [
            {"reduce": [step], **sizes, "model": [model], **settings}
            for step, sizes in (
                (PCA(random_state=0), _of("reduce", n_components=[5, 10, 20, 30, 40, 60, 80, 120])),
                (SelectKBest(), _of("reduce", k=[25, 50, 100, 150, 200, 300, 400, 500])),
            )
            for model, settings in (
                (LogisticRegression(max_iter=300), _of("model", C=_powers(-4, 3))),
                (SVC(), _of("model", C=_powers(-1, 3), gamma=[*_powers(-4, 0), "scale"])),
                (
                    KNeighborsClassifier(),
                    _of("model", n_neighbors=[1, 3, 5, 7, 10, 15, 25], weights=["uniform", "distance"]),
                ),
            )
        ],
        "accuracy",
    ),
}
