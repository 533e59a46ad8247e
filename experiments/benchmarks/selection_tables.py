"""The tables of ``python -m experiments benchmark selection``: bundled with scikit-learn, or generated."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_wine,
    make_classification,
    make_friedman1,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dagsearch.cli.select.task import default_estimator


@dataclass(frozen=True)
class Task:
    """A table, an estimator, and the number ``k`` of features to choose."""

    data: Any
    """Features: an array, or a data frame with categories and gaps."""
    target: Any
    estimator: Any
    k: int
    classification: bool = True
    fresh: tuple[Any, Any] | None = None
    """Features and target of many fresh rows, if the table is generated."""

    @property
    def splits(self) -> int:
        """Number of splits of the table: more if few rows are held out."""
        return 10 if self.fresh is None else 5


# Number of fresh rows of a generated table: enough to know an estimator's true score.
_FRESH = 4000


def _generated(data: Any, target: Any, estimator: Any, k: int, classification: bool = True) -> Task:
    """A table of all rows except the last ``_FRESH``."""
    rows, others = slice(None, -_FRESH), slice(-_FRESH, None)
    return Task(data[rows], target[rows], estimator, k, classification, (data[others], target[others]))


def _scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


def _bundled(load: Callable[..., Any], k: int, model: Any, classification: bool = True) -> Task:
    data, target = load(return_X_y=True)
    return Task(data, target, _scaled(model), k, classification)


def _madelon() -> Task:
    """A few informative columns, their linear combinations, and many irrelevant ones."""
    data, target = make_classification(
        n_samples=800 + _FRESH, n_features=600, n_informative=5, n_redundant=15, random_state=1
    )
    return _generated(data, target, _scaled(KNeighborsClassifier()), 5)


def _needles() -> Task:
    """Three of 2,000 columns matter."""
    rng = np.random.default_rng(2)
    data = rng.standard_normal((400 + _FRESH, 2000))
    target = data[:, [3, 50, 700]].sum(axis=1) + 0.7 * rng.standard_normal(len(data)) > 0.0
    return _generated(data, target.astype(int), _scaled(LogisticRegression()), 5)


def _genes() -> Task:
    """Columns in 50 correlated blocks, few rows: like gene expression."""
    rng = np.random.default_rng(3)
    causes = rng.standard_normal((240 + _FRESH, 50))
    data = 0.8 * np.repeat(causes, 20, axis=1) + 0.6 * rng.standard_normal((len(causes), 1000))
    signal = causes[:, :5] @ np.array([1.2, -1.0, 0.8, 0.8, -0.6])
    target = signal + 0.7 * rng.standard_normal(len(causes)) > 0.0
    return _generated(data, target.astype(int), _scaled(LogisticRegression()), 8)


def _drowned_digits() -> Task:
    """Digits next to 600 pixels of other, random images."""
    rng = np.random.default_rng(4)
    data, target = load_digits(return_X_y=True)
    strange = data[rng.permutation(len(data))][:, rng.integers(0, 64, 600)]
    return Task(np.hstack([data, strange])[:1000], target[:1000], KNeighborsClassifier(3), 20)


def _sensors() -> Task:
    """Few rows, many weak and redundant columns, no simple boundary."""
    data, target = make_classification(
        n_samples=280 + _FRESH,
        n_features=60,
        n_informative=12,
        n_redundant=20,
        n_clusters_per_class=3,
        flip_y=0.05,
        random_state=5,
    )
    return _generated(data, target, _scaled(KNeighborsClassifier()), 12)


def _clinic() -> Task:
    """Breast cancer with half of its columns as text in three levels, and a tenth of all values missing."""
    rng = np.random.default_rng(6)
    frame = load_breast_cancer(as_frame=True).frame
    target, data = frame.pop("target").to_numpy(), frame
    for name in data.columns[::2]:
        data[name] = pd.qcut(data[name], 3, labels=["low", "medium", "high"]).astype(object)
    return Task(data.mask(rng.random(data.shape) < 0.1), target, default_estimator(True, 0), 8)


def _customers() -> Task:
    """Categories of unequal frequency, skewed amounts, and informative gaps."""
    rng = np.random.default_rng(7)
    rows = 900 + _FRESH
    region = rng.choice(["north", "south", "east", "west"], rows, p=[0.5, 0.3, 0.15, 0.05])
    contract = rng.choice(["month", "year", "two years"], rows, p=[0.6, 0.25, 0.15])
    channel = rng.choice(["shop", "web", "phone"], rows)
    amount, age = rng.lognormal(3.0, 1.0, rows), rng.normal(45.0, 15.0, rows)
    calls, months = rng.poisson(2.0, rows).astype(float), rng.exponential(24.0, rows)
    leaves = 1.4 * (contract == "month") + 0.35 * calls - 0.04 * months + 0.8 * (region == "south")
    target = (leaves + rng.logistic(size=rows) > 1.2).astype(int)
    columns: dict[str, Any] = {"region": region, "contract": contract, "channel": channel}
    columns |= {"amount": amount, "age": age, "calls": calls, "months": months}
    columns |= {f"answer {i}": rng.choice(list("abcdef"), rows) for i in range(8)}
    columns |= {f"usage {i}": 0.3 * np.log(amount) + rng.standard_normal(rows) for i in range(20)}
    data = pd.DataFrame(columns)
    data = data.mask(rng.random(data.shape) < 0.08)
    return _generated(data, target, default_estimator(True, 0), 6)


def _friedman() -> Task:
    data, target = make_friedman1(400 + _FRESH, 40, noise=1.0, random_state=8)
    return _generated(data, target, _scaled(KNeighborsRegressor()), 6, False)


TASKS: dict[str, Callable[[], Task]] = {
    "breast cancer, 8 of 30": partial(_bundled, load_breast_cancer, 8, LogisticRegression(max_iter=500)),
    "wine, 6 of 13": partial(_bundled, load_wine, 6, LogisticRegression(max_iter=500)),
    "digits, 30 of 64": partial(_bundled, load_digits, 30, KNeighborsClassifier()),
    "diabetes, 5 of 10": partial(_bundled, load_diabetes, 5, Ridge(), False),
    "Friedman, 6 of 40": _friedman,
    "sensors, 12 of 60": _sensors,
    "clinic, 8 of 30": _clinic,
    "customers, 6 of 35": _customers,
    "Madelon-like, 5 of 600": _madelon,
    "digits and others, 20 of 664": _drowned_digits,
    "genes, 8 of 1,000": _genes,
    "needles, 5 of 2,000": _needles,
}
