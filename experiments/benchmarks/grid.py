"""After how many candidates is a search as good as the whole grid? ``DAGSearchCV`` against other searches.

Every candidate of every grid was scored once, so that searches replay scores instead of fitting. A search has
arrived at its first candidate whose mean score is within one standard error of the best one. Halving scores
candidates on few rows first, so it cannot be replayed: it is run with real fits.
"""

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid, cross_validate

from dagsearch._internal.typing import BoolArray, FloatArray
from dagsearch.selection.batches import identity_of
from dagsearch.selection.grid import GridProblem
from dagsearch.sklearn import DAGSearchCV
from experiments.benchmarks.grid_tasks import FOLDS, TASKS, Task
from experiments.harness import peers
from experiments.harness.evaluations import BudgetSpent, Evaluations
from experiments.harness.runner import Outcome, Row, run_tasks

OURS, GRID, HALVING = "DAGSearchCV", "GridSearchCV", "HalvingGridSearchCV"
_SEEDS = 20
_SCORES, _HALVING = "scores.csv.gz", "halving.csv.gz"
# Number of candidates that a process scores at a time.
_CHUNK = 16
# Number of runs of successive halving per task.
_HALVING_SEEDS = 4
# In the end Optuna repeats candidates: a number of proposals of this many times the grid's size is enough.
_MOST_TRIALS = 2


def within_one_error(folds: FloatArray) -> BoolArray:
    """Which candidates are within one standard error of the best; ``folds`` has one row per candidate."""
    means = np.nan_to_num(folds.mean(axis=1), nan=-np.inf)
    best = folds[np.argmax(means)]
    return np.asarray(means >= means.max() - best.std(ddof=1) / np.sqrt(best.size))


# Methods ---------------------------------------------------------------------------------------------


def _ours(task: Task, evaluate: Evaluations, seed: int) -> None:
    problem = GridProblem(ParameterGrid(task.grid).param_grid)
    search = DAGSearchCV(task.estimator, task.grid, random_state=seed)._search(problem)
    while True:
        proposal = search.ask()
        search.tell(proposal, evaluate(problem.candidate(proposal.leaf)))


def _random(task: Task, evaluate: Evaluations, seed: int) -> None:
    """The candidates in random order, like ``RandomizedSearchCV``, without replacement."""
    candidates = ParameterGrid(task.grid)
    for place in np.random.default_rng(seed).permutation(len(candidates)):
        evaluate(candidates[place])


def _optuna(task: Task, evaluate: Evaluations, seed: int) -> None:
    """Tree-structured Parzen estimators; with a list of dicts, the first choice is the dict."""
    grids = ParameterGrid(task.grid).param_grid

    def suggest(trial: Any) -> dict[str, Any]:
        if trial.number >= _MOST_TRIALS * evaluate.budget:
            raise BudgetSpent
        number = trial.suggest_categorical("grid", list(range(len(grids)))) if len(grids) > 1 else 0
        return {name: _suggested(trial, name, list(values)) for name, values in grids[number].items()}

    peers.optuna(evaluate, suggest, "TPESampler", seed)


def _suggested(trial: Any, name: str, values: list[Any]) -> Any:
    """One of the values; numbers are ordered."""
    name = f"{name} of {len(values)}"  # the same name needs the same options
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return sorted(values)[trial.suggest_int(name, 0, len(values) - 1)]
    return values[trial.suggest_categorical(name, list(range(len(values))))]


METHODS: dict[str, Callable[[Task, Evaluations, int], None]] = {
    OURS: _ours,
    "RandomizedSearchCV": _random,
    "Optuna, TPE": _optuna,
}


# Scores ----------------------------------------------------------------------------------------------


def fit_what_is_missing(folder: Path, names: Sequence[str], jobs: int) -> None:
    """Write the scores of the grids, and runs of successive halving, unless the folder has them."""
    about = {"tasks": list(names)}
    if not (folder / _SCORES).exists():
        sizes = {name: len(ParameterGrid(TASKS[name].grid)) for name in names}
        chunks = [(name, start) for name in names for start in range(0, sizes[name], _CHUNK)]
        heads = ["task", "candidate", "seconds", *(f"fold {fold}" for fold in range(FOLDS))]
        scores = pd.DataFrame(chain.from_iterable(run_tasks(_scores, chunks, jobs)), columns=heads)
        Outcome("scores", (), about, tables={"scores": scores}).write(folder)
    if not (folder / _HALVING).exists():
        heads = ["task", "seed", "rows", "fits", "seconds", "candidate"]
        ends = (_halving(name, seed, jobs) for name in names for seed in range(_HALVING_SEEDS))
        halving = pd.DataFrame(chain.from_iterable(ends), columns=heads)
        Outcome("halving", (), about, tables={"halving": halving}).write(folder)


def _scores(name: str, start: int) -> list[list[Any]]:
    """Seconds and fold scores of some candidates."""
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
    """The best candidate after every round, with the fits and seconds until then."""
    from sklearn.experimental import enable_halving_search_cv  # noqa: F401
    from sklearn.model_selection import HalvingGridSearchCV

    task = TASKS[name]
    data, target = task.load()
    settings = {"scoring": task.scoring, "cv": task.cv, "random_state": seed, "n_jobs": jobs}
    search = HalvingGridSearchCV(task.estimator, task.grid, refit=False, **settings)
    with warnings.catch_warnings(action="ignore"):
        search.fit(data, target)
    results, grid = search.cv_results_, list(ParameterGrid(task.grid))
    spent = (results["mean_fit_time"] + results["mean_score_time"]) * FOLDS
    rows, fits, seconds = [], 0, 0.0
    for number in range(search.n_iterations_):
        tried = np.flatnonzero(results["iter"] == number)
        fits, seconds = fits + len(tried) * FOLDS, seconds + float(spent[tried].sum())
        best = tried[np.argmax(np.nan_to_num(results["mean_test_score"][tried], nan=-np.inf))]
        chosen = grid.index(results["params"][best])
        rows.append([name, seed, search.n_resources_[number], fits, f"{seconds:.3g}", chosen])
    return rows


def read_scores(folder: Path) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Scores on folds, shape ``(candidates, folds)``, and seconds of every candidate, by task."""
    return {
        str(name): (found.filter(like="fold").to_numpy(), found["seconds"].to_numpy())
        for name, found in pd.read_csv(folder / _SCORES).groupby("task", sort=False)
    }


# The runs --------------------------------------------------------------------------------------------


def run(quick: bool = False, jobs: int = 1, scores: Path = Path("results/grid")) -> Outcome:
    """Score the grids, unless the folder ``scores`` has the scores, and replay every method."""
    names = ["iris, neighbours"] if quick else list(TASKS)
    fit_what_is_missing(scores, names, jobs)
    known, seeds = read_scores(scores), 2 if quick else _SEEDS
    tasks = [(m, name, known[name][0], seed) for m in METHODS for name in names for seed in range(seeds)]
    rows = run_tasks(_replayed, tasks, jobs)
    rows += [Row(GRID, name, 0, len(known[name][0]), float(len(known[name][0]))) for name in names]
    rows += _halving_rows(scores, known)
    near = {name: int(within_one_error(known[name][0]).sum()) for name in names}
    sizes = {name: len(known[name][0]) for name in names}
    return Outcome("grid", rows, {"seeds": seeds, "candidates": sizes, "within_one_error": near})


def _replayed(method: str, name: str, folds: FloatArray, seed: int) -> Row:
    """The number of different candidates until the first good one."""
    task, good, size = TASKS[name], within_one_error(folds), len(folds)
    number = {_key(one): place for place, one in enumerate(ParameterGrid(task.grid))}
    means = np.nan_to_num(folds.mean(axis=1), nan=np.nanmin(folds))
    arrived = list[int]()

    def score(candidate: dict[str, Any]) -> float:
        place = number[_key(candidate)]
        if good[place]:
            arrived.append(len(evaluate.rewards) + 1)
            raise BudgetSpent
        return float(means[place])

    evaluate = Evaluations(score, size, key=_key)
    with suppress(BudgetSpent):
        METHODS[method](task, evaluate, seed)
    return Row(method, name, seed, size, float((arrived or [size])[0]))


def _key(candidate: dict[str, Any]) -> str:
    return identity_of(sorted(candidate.items(), key=lambda item: item[0]))


def _halving_rows(folder: Path, scores: dict[str, tuple[FloatArray, FloatArray]]) -> list[Row]:
    """The cost of successive halving in candidates; infinite if its choice is not good.

    By time, its fits on few rows count by their duration.
    """
    rows, rounds = list[Row](), pd.read_csv(folder / _HALVING)
    ends: Any = rounds[rounds["task"].isin(scores)].groupby(["task", "seed"], sort=False).tail(1)
    for end in ends.itertuples():
        folds, seconds = scores[end.task]
        good = within_one_error(folds)[end.candidate]
        taken = {HALVING: end.fits / FOLDS, f"{HALVING}, by time": len(folds) * end.seconds / seconds.sum()}
        for method, value in taken.items():
            rows.append(Row(method, end.task, end.seed, len(folds), float(value) if good else np.inf))
    return rows


def summary(outcome: Outcome) -> str:
    """Mean share of the grid until a method arrives, in percent, with its standard error, by task.

    Below: the median over tasks, and the number of tasks on which DAGSearchCV needs less.
    """
    rows = pd.DataFrame(outcome.rows)
    rows["percent"] = 100.0 * rows["value"] / rows["step"]
    found = rows.groupby(["setting", "method"], sort=False)["percent"].agg(["mean", "sem"]).unstack()
    means = found["mean"]
    ahead = means.gt(means[OURS], axis=0).sum()
    ends = pd.DataFrame({"median": means.median(), "DAGSearchCV needs less": ahead})
    return "\n\n".join(part.to_string(float_format="%.1f") for part in (means, found["sem"], ends))
