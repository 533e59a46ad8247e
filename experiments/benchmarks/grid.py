"""After how many candidates is a search as good as the whole grid? ``DAGSearchCV`` beside other searches.

Every candidate of every grid was scored once, so that searches replay scores instead of fitting. A search has
arrived at its first candidate whose mean score is within one standard error of the best one.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import ParameterGrid

from dagsearch._internal.typing import FloatArray
from dagsearch.errors import SearchExhausted
from dagsearch.selection.grid import GridProblem
from dagsearch.selection.identity import identity_of
from dagsearch.sklearn import DAGSearchCV
from experiments.benchmarks.grid_scores import fit_what_is_missing, read_halving, read_scores
from experiments.benchmarks.grid_tasks import FOLDS, TASKS, Task
from experiments.harness.peers import import_peer
from experiments.harness.runner import Outcome, Row, run_tasks

OURS, GRID, HALVING = "DAGSearchCV", "GridSearchCV", "HalvingGridSearchCV"
_SEEDS = 20
# Optuna proposes a candidate again and again in the end: so many times the size of the grid are enough.
_MOST_TRIALS = 2

Asks = Iterator[dict[str, Any]]
"""Candidates that a method scores, one by one."""
Score = Callable[[dict[str, Any]], float]
"""The mean score of a candidate; the worst one if it fails."""


def within_one_error(folds: FloatArray) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """Which candidates are within one standard error of the best; ``folds`` has one row per candidate."""
    means = np.nan_to_num(folds.mean(axis=1), nan=-np.inf)
    best = folds[np.argmax(means)]
    return np.asarray(means >= means.max() - best.std(ddof=1) / np.sqrt(best.size))


# Methods ---------------------------------------------------------------------------------------------


def _ours(task: Task, score: Score, seed: int) -> Asks:
    problem = GridProblem(ParameterGrid(task.grid).param_grid)
    search = DAGSearchCV(task.estimator, task.grid, random_state=seed)._search(problem)
    while True:
        try:
            proposal = search.ask()
        except SearchExhausted:
            return
        candidate = problem.candidate(proposal.leaf)
        search.tell(proposal, score(candidate))
        yield candidate


def _random(task: Task, score: Score, seed: int) -> Asks:
    """The candidates in random order, as ``RandomizedSearchCV`` draws without replacement from lists."""
    candidates = ParameterGrid(task.grid)
    yield from (candidates[place] for place in np.random.default_rng(seed).permutation(len(candidates)))


def _optuna(task: Task, score: Score, seed: int) -> Asks:
    """Tree-structured Parzen estimators; a list of dicts is a choice of the dict, and of its parameters."""
    optuna = import_peer("optuna")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    grids = ParameterGrid(task.grid).param_grid
    for _ in range(_MOST_TRIALS * len(ParameterGrid(task.grid))):
        trial = study.ask()
        number = trial.suggest_categorical("grid", list(range(len(grids)))) if len(grids) > 1 else 0
        candidate = {name: _suggested(trial, name, list(values)) for name, values in grids[number].items()}
        study.tell(trial, score(candidate))
        yield candidate


def _suggested(trial: Any, name: str, values: list[Any]) -> Any:
    """One of the values; numbers in their order."""
    name = f"{name} of {len(values)}"  # the same name needs the same options
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return sorted(values)[trial.suggest_int(name, 0, len(values) - 1)]
    return values[trial.suggest_categorical(name, list(range(len(values))))]


METHODS: dict[str, Callable[[Task, Score, int], Asks]] = {
    OURS: _ours,
    "RandomizedSearchCV": _random,
    "Optuna, TPE": _optuna,
}


# The runs --------------------------------------------------------------------------------------------


def run(quick: bool = False, jobs: int = 1, scores: Path = Path("results/grid")) -> Outcome:
    """Score the grids, unless the folder ``scores`` has their scores, and replay every method."""
    names = ["iris, neighbours"] if quick else list(TASKS)
    fit_what_is_missing(scores, names, jobs)
    known, seeds = read_scores(scores), 2 if quick else _SEEDS
    tasks = [(m, name, known[name][0], seed) for m in METHODS for name in names for seed in range(seeds)]
    rows = run_tasks(_replayed, tasks, jobs, progress=True)
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
    seen = set[int]()
    asks = METHODS[method](task, lambda candidate: float(means[number[_key(candidate)]]), seed)
    for candidate in asks:
        seen.add(number[_key(candidate)])
        if good[number[_key(candidate)]]:
            return Row(method, name, seed, size, float(len(seen)))
    return Row(method, name, seed, size, float(size))


def _key(candidate: dict[str, Any]) -> str:
    return identity_of(sorted(candidate.items(), key=lambda item: item[0]))


def _halving_rows(folder: Path, scores: dict[str, tuple[FloatArray, FloatArray]]) -> list[Row]:
    """What successive halving takes until its end, in candidates; infinite if its choice is not good.

    By time, its fits on few rows count for what they take.
    """
    rows = list[Row]()
    for end in read_halving(folder):
        if end.task in scores:
            folds, seconds = scores[end.task]
            taken = end.fits / FOLDS, len(folds) * end.seconds / seconds.sum()
            good = within_one_error(folds)[end.candidate]
            rows += [
                Row(method, end.task, end.seed, len(folds), float(value) if good else np.inf)
                for method, value in zip((HALVING, f"{HALVING}, by time"), taken, strict=True)
            ]
    return rows


def summary(outcome: Outcome) -> str:
    """Mean share of the grid until a method arrives, in percent, with its standard error, by task.

    Below: the median of the tasks, and on how many of them DAGSearchCV needs less.
    """
    rows = pd.DataFrame(outcome.rows)
    rows["percent"] = 100.0 * rows["value"] / rows["step"]
    found = rows.groupby(["setting", "method"], sort=False)["percent"].agg(["mean", "sem"]).unstack()
    means = found["mean"]
    ahead = means.gt(means[OURS], axis=0).sum()
    ends = pd.DataFrame({"median": means.median(), "DAGSearchCV needs less": ahead})
    return "\n\n".join(part.to_string(float_format="%.1f") for part in (means, found["sem"], ends))
