"""Scores of every candidate of every grid, which comparisons replay, and runs of successive halving.

Halving scores candidates on few rows first, so it cannot be replayed: its runs are fitted here, too.
"""

import warnings
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, cross_validate

from dagsearch._internal.typing import FloatArray
from experiments.benchmarks.grid_tasks import FOLDS, TASKS
from experiments.harness.runner import Outcome, run_tasks

_SCORES, _HALVING = "scores.csv.gz", "halving.csv.gz"
# Candidates that a process scores at a time.
_CHUNK = 16
# Runs of successive halving on a task.
_SEEDS = 4


def fit_what_is_missing(folder: Path, names: Sequence[str], jobs: int) -> None:
    """Write the scores of the grids, and runs of successive halving, unless the folder has both."""
    if (folder / _SCORES).exists() and (folder / _HALVING).exists():
        return
    sizes = {name: len(ParameterGrid(TASKS[name].grid)) for name in names}
    chunks = [(name, start) for name in names for start in range(0, sizes[name], _CHUNK)]
    heads = ["task", "candidate", "seconds", *(f"fold {fold}" for fold in range(FOLDS))]
    scores = pd.DataFrame(chain.from_iterable(run_tasks(_scores, chunks, jobs)), columns=heads)
    heads = ["task", "seed", "rows", "fits", "seconds", "candidate"]
    ends = (_halving(name, seed, jobs) for name in names for seed in range(_SEEDS))
    halving = pd.DataFrame(chain.from_iterable(ends), columns=heads)
    Outcome("scores", (), {"tasks": list(names)}, tables={"scores": scores, "halving": halving}).write(folder)


def _scores(name: str, start: int) -> list[list[Any]]:
    """The seconds and the scores on folds of some candidates."""
    task = TASKS[name]
    data, target = task.load()
    rows = []
    for number, candidate in list(enumerate(ParameterGrid(task.grid)))[start : start + _CHUNK]:
        with warnings.catch_warnings(action="ignore"):
            model = clone(task.estimator).set_params(**clone(candidate, safe=False))
            found = cross_validate(model, data, target, cv=task.cv, scoring=task.scoring)
        seconds = float(found["fit_time"].sum() + found["score_time"].sum())
        rows.append([name, number, f"{seconds:.3g}", *(f"{score:.6g}" for score in found["test_score"])])
    return rows


def _halving(name: str, seed: int, jobs: int) -> list[list[Any]]:
    """The best candidate after every round, with the fits and their seconds until then."""
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV

    task = TASKS[name]
    data, target = task.load()
    search = HalvingGridSearchCV(
        *(task.estimator, task.grid),
        scoring=task.scoring,
        cv=task.cv,
        random_state=seed,
        refit=False,
        n_jobs=jobs,
    )
    with warnings.catch_warnings(action="ignore"):
        search.fit(data, target)
    results, grid = search.cv_results_, list(ParameterGrid(task.grid))
    spent = (results["mean_fit_time"] + results["mean_score_time"]) * FOLDS
    rows, fits, seconds = [], 0, 0.0
    for number in range(search.n_iterations_):
        tried = np.flatnonzero(results["iter"] == number)
        fits, seconds = fits + len(tried) * FOLDS, seconds + float(spent[tried].sum())
        best = tried[np.argmax(np.nan_to_num(results["mean_test_score"][tried], nan=-np.inf))]
        rows.append(
            [
                *(name, seed, search.n_resources_[number], fits, f"{seconds:.3g}"),
                grid.index(results["params"][best]),
            ]
        )
    return rows


def read_scores(folder: Path) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Scores on folds, shape ``(candidates, folds)``, and seconds of every candidate, by task."""
    scores = pd.read_csv(folder / _SCORES)
    folds = scores.columns[scores.columns.str.startswith("fold")]
    return {
        str(name): (found[folds].to_numpy(), found["seconds"].to_numpy())
        for name, found in scores.groupby("task", sort=False)
    }


def read_halving(folder: Path) -> list[Any]:
    """The last round of every run of successive halving."""
    rounds = pd.read_csv(folder / _HALVING)
    return list(rounds.groupby(["task", "seed"], sort=False).tail(1).itertuples())
