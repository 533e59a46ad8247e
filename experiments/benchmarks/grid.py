"""After how many candidates is a search as good as the whole grid? ``DAGSearchCV`` beside other searches.

Every candidate of every grid was scored once, so that searches replay scores instead of fitting. A search has
arrived at its first candidate whose mean score is within one standard error of the best one.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import ParameterGrid

from dagsearch._internal.typing import FloatArray
from dagsearch.selection.batches import identity_of
from dagsearch.selection.grid import GridProblem
from dagsearch.sklearn import DAGSearchCV
from experiments.benchmarks.grid_scores import fit_what_is_missing, read_halving, read_scores
from experiments.benchmarks.grid_tasks import FOLDS, TASKS, Task
from experiments.harness import peers
from experiments.harness.evaluations import BudgetSpent, Evaluations
from experiments.harness.runner import Outcome, Row, run_tasks

OURS, GRID, HALVING = "DAGSearchCV", "GridSearchCV", "HalvingGridSearchCV"
_SEEDS = 20
# Optuna proposes a candidate again and again in the end: so many times the size of the grid are enough.
_MOST_TRIALS = 2


def within_one_error(folds: FloatArray) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
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
    """The candidates in random order, as ``RandomizedSearchCV`` draws without replacement from lists."""
    candidates = ParameterGrid(task.grid)
    for place in np.random.default_rng(seed).permutation(len(candidates)):
        evaluate(candidates[place])


def _optuna(task: Task, evaluate: Evaluations, seed: int) -> None:
    """Tree-structured Parzen estimators; a list of dicts is a choice of the dict, and of its parameters."""
    grids = ParameterGrid(task.grid).param_grid

    def suggest(trial: Any) -> dict[str, Any]:
        if trial.number >= _MOST_TRIALS * evaluate.budget:
            raise BudgetSpent
        number = trial.suggest_categorical("grid", list(range(len(grids)))) if len(grids) > 1 else 0
        return {name: _suggested(trial, name, list(values)) for name, values in grids[number].items()}

    peers.optuna(evaluate, suggest, "TPESampler", seed)


def _suggested(trial: Any, name: str, values: list[Any]) -> Any:
    """One of the values; numbers in their order."""
    name = f"{name} of {len(values)}"  # the same name needs the same options
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return sorted(values)[trial.suggest_int(name, 0, len(values) - 1)]
    return values[trial.suggest_categorical(name, list(range(len(values))))]


METHODS: dict[str, Callable[[Task, Evaluations, int], None]] = {
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
