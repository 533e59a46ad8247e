"""``python -m experiments truth causes``: ten tables with known causes, which must come first."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from dagsearch.sklearn import DAGSearchSelector
from experiments.harness.runner import Outcome, Row, run_rounds

_ROWS = 150
FIRST, PROBABILITY, WORTH, OTHERS = "causes first", "least inclusion", "least worth", "largest other worth"
"""Names of the measures."""

Made = tuple[Any, Any, set[int]]


def leak(rng: np.random.Generator) -> Made:
    """One of eight columns determines the target."""
    data = rng.normal(size=(_ROWS, 8))
    return data, (data[:, 3] > 0.0).astype(int), {3}


def two_of_ten(rng: np.random.Generator) -> Made:
    """Two of ten columns and noise make the target."""
    data = rng.normal(size=(_ROWS, 10))
    return data, (data[:, 2] + data[:, 7] + 0.3 * rng.normal(size=_ROWS) > 0.0).astype(int), {2, 7}


def twins(rng: np.random.Generator) -> Made:
    """Column 5 nearly equals column 1, so either is sufficient; nothing replaces column 6."""
    data = rng.normal(size=(_ROWS, 8))
    data[:, 5] = data[:, 1] + 0.05 * rng.normal(size=_ROWS)
    return data, (data[:, 1] + data[:, 6] > 0.0).astype(int), {6}


KINDS: dict[str, Callable[[np.random.Generator], Made]] = {
    "a leak": leak,
    "two of ten": two_of_ten,
    "twins": twins,
}
TABLES = [*((name, seed) for name in KINDS for seed in range(3)), ("a leak", 3)]
"""Kind and seed of every table."""


def fitted(name: str, seed: int) -> tuple[DAGSearchSelector, set[int]]:
    """A selection on a table, and the causes."""
    data, target, causes = KINDS[name](np.random.default_rng(seed))
    settings: dict[str, Any] = {"n_features_to_select": (1, 4), "budget": 30, "cv": 3, "random_state": 0}
    return DAGSearchSelector(LogisticRegression(), **settings).fit(data, target), causes


def _measured(name: str, seed: int) -> list[Row]:
    selector, causes = fitted(name, seed)
    own, worth = sorted(causes), selector.importances_
    found = {
        FIRST: float(set(np.argsort(selector.ranking_)[: len(own)]) == causes),
        PROBABILITY: float(selector.inclusion_probability_[own].min()),
        WORTH: float(worth[own].min()),
        OTHERS: float(np.delete(worth, own).max()),
    }
    return [Row(name, what, seed, 30, value) for what, value in found.items()]


def run(quick: bool = False, jobs: int = 1) -> Outcome:
    """Select on all tables."""
    rows = run_rounds(_measured, TABLES[:1] if quick else TABLES, jobs)
    return Outcome("causes", rows, {"tables": len(TABLES), "rows": _ROWS})


def summary(outcome: Outcome) -> str:
    """A line for every table."""
    rows = pd.DataFrame(outcome.rows)
    return rows.set_index(["method", "round", "setting"])["value"].unstack(sort=False).to_string()
