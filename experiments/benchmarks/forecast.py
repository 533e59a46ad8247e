"""Fits the coefficients of ``dagsearch.forecasts``; ``truth search`` measures how often forecasts hold."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from dagsearch._internal.typing import FloatArray
from dagsearch.forecasts import Coefficients, Past, progress_of
from dagsearch.methods import default_initial
from dagsearch.results import Evaluation
from dagsearch.search import Search
from experiments.general.problems import TASKS
from experiments.general.stated import stated
from experiments.harness.runner import Outcome, Row, run_tasks

SEEDS = range(100, 103)
"""Seeds of the runs on every problem; no other experiment uses them."""
_QUICK = ("cover", "tour")
# Shares of the budget after which forecasts are made, and shares of it that they look ahead.
_MOMENTS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8)
_AHEAD = (0.1, 0.25, 0.5)
# A smaller gain, in deviations of the rewards, is rounding.
_ROUNDING = 1e-6
# Keeps coefficients small that the data hardly determine.
_PENALTY = 1e-3


class Case(NamedTuple):
    """A moment of a run, and what came."""

    progress: Past
    """What a forecast is computed from."""
    n: int
    """Number of further evaluations."""
    gain: float
    """How much the best reward improved within them, in deviations of the rewards; 0 if only by rounding."""


def run(*, jobs: int = 1, quick: bool = False, progress: bool = True) -> Outcome:
    """Run the default search on every problem and fit the coefficients to what came."""
    names, seeds = (_QUICK, SEEDS[:1]) if quick else (tuple(TASKS), SEEDS)
    tasks = [(name, seed) for seed in seeds for name in names]
    fitted = fit([case for cases in run_tasks(cases_of, tasks, jobs, progress) for case in cases])
    rows = [
        Row(part, "coefficient", number, 0, weight)
        for part, weights in fitted._asdict().items()
        for number, weight in enumerate(weights)
    ]
    return Outcome("forecast", rows, {"seeds": list(seeds), "problems": list(names)})


def cases_of(name: str, seed: int) -> list[Case]:
    """The cases of one run."""
    task = TASKS[name]
    search = Search.default(stated(task.instance(seed)), initial=default_initial(task.budget), seed=seed)
    return cases(list(search.steps(task.budget)))


def cases(history: Sequence[Evaluation]) -> list[Case]:
    """Forecasts at some moments, each for some numbers of further evaluations."""
    budget, found = len(history), []
    rewards, beliefs = [one.reward for one in history], [one.predicted for one in history]
    best = np.maximum.accumulate(rewards)
    for t in sorted({max(8, round(share * budget)) for share in _MOMENTS}):
        past = progress_of(rewards[:t], beliefs[:t])
        if past is None or t >= budget:
            continue
        for n in (1, *(int(share * budget) for share in _AHEAD), budget - t):
            if 0 < n <= budget - t:
                gain = float(best[t + n - 1] - past.best) / past.spread
                found.append(Case(past, n, gain if gain > _ROUNDING else 0.0))
    return found


def fit(cases: Sequence[Case]) -> Coefficients:
    """The coefficients of largest likelihood."""
    improved = np.array([case.gain > 0.0 for case in cases])
    terms = np.array([case.progress.hazard_terms(case.n) for case in cases])

    def of_hazard(weights: FloatArray) -> float:
        hazard = np.exp(np.clip(terms @ weights, -20.0, 6.0))
        stayed = np.where(improved, np.log(-np.expm1(-hazard)), -hazard)
        return -float(stayed.mean()) + _PENALTY * float(weights[1:] @ weights[1:])

    better = [case for case in cases if case.gain > 0.0]
    sizes = np.array([case.progress.size_terms(case.n) for case in better])
    gains = np.array([case.gain for case in better])

    def of_size(weights: FloatArray) -> float:
        mean = np.exp(np.clip(sizes @ weights, -30.0, 30.0))
        return float((np.log(mean) + gains / mean).mean()) + _PENALTY * float(weights[1:] @ weights[1:])

    found = [
        minimize(of, np.zeros(width)).x
        for of, width in ((of_hazard, terms.shape[1]), (of_size, sizes.shape[1]))
    ]
    return Coefficients(*(tuple(float(round(weight, 3)) for weight in weights) for weights in found))
