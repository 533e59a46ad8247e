"""Forecasts made during runs, with what came; and the coefficients that suit them best."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from dagsearch._internal.typing import FloatArray
from dagsearch.forecasts import Coefficients, Past, progress_of
from dagsearch.results import Gaussian
from experiments.general.problems import TASKS
from experiments.harness.runner import Row

# Shares of the budget after which forecasts are made.
_MOMENTS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8)
# A smaller gain, in deviations of the rewards, is rounding.
_ROUNDING = 1e-6
# Keeps coefficients small that the data hardly determine.
_PENALTY = 1e-3


class Case(NamedTuple):
    """A moment of a run, and the best reward some evaluations later."""

    problem: str
    """Name of the problem."""
    run: int
    """Number of the run on it."""
    progress: Past
    """What a forecast is computed from."""
    n: int
    """Number of further evaluations."""
    horizon: str
    """The same in words."""
    best: float
    """Best reward after them."""

    @property
    def family(self) -> str:
        """The problem, or the one whose options it relabels."""
        return TASKS[self.problem].original

    @property
    def gain(self) -> float:
        """How much the best reward improved; 0 if only by rounding."""
        gain = self.best - self.progress.best
        return gain if gain > _ROUNDING * self.progress.spread else 0.0


def cases_of(rows: Sequence[Row]) -> list[Case]:
    """All cases of the runs whose rewards and predictions these are."""
    rewards: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
    predicted: dict[tuple[str, int], dict[int, float]] = defaultdict(dict)
    for row in rows:
        if row.method in ("reward", "prediction"):
            kept = rewards if row.method == "reward" else predicted
            kept[row.setting, row.round][row.step] = row.value
    cases = []
    for (problem, number), by_step in rewards.items():
        told = [by_step[step] for step in sorted(by_step)]
        means = predicted[problem, number]
        beliefs = [Gaussian(means[step], 0.0) if step in means else None for step in sorted(by_step)]
        cases += _cases(problem, number, told, beliefs)
    return cases


def _cases(
    problem: str, number: int, told: Sequence[float], beliefs: Sequence[Gaussian | None]
) -> list[Case]:
    budget, cases = len(told), []
    best = np.maximum.accumulate(told)
    for t in sorted({max(8, round(share * budget)) for share in _MOMENTS}):
        progress = progress_of(told[:t], beliefs[:t])
        if progress is None or t >= budget:
            continue
        ahead = {"1": 1, "a tenth": budget // 10, "a quarter": budget // 4, "a half": budget // 2}
        for horizon, n in (ahead | {"the rest": budget - t}).items():
            if 0 < n <= budget - t:
                cases.append(Case(problem, number, progress, n, horizon, float(best[t + n - 1])))
    return cases


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
    shares = np.array([case.gain / case.progress.spread for case in better])

    def of_size(weights: FloatArray) -> float:
        mean = np.exp(np.clip(sizes @ weights, -30.0, 30.0))
        return float((np.log(mean) + shares / mean).mean()) + _PENALTY * float(weights[1:] @ weights[1:])

    found = [
        minimize(of, np.zeros(width)).x
        for of, width in ((of_hazard, terms.shape[1]), (of_size, sizes.shape[1]))
    ]
    return Coefficients(*(tuple(float(round(weight, 3)) for weight in weights) for weights in found))
