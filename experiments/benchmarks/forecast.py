"""How often the intervals of ``Search.forecast`` hold, and the coefficients that suit forecasts best."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize

from dagsearch._internal.typing import FloatArray
from dagsearch.forecasts import FITTED, Coefficients, Past, forecast, progress_of
from dagsearch.methods import default_initial
from dagsearch.results import Gaussian
from dagsearch.search import Search
from experiments.general.problems import KINDS, TASKS
from experiments.general.stated import stated
from experiments.harness import markdown
from experiments.harness.runner import Outcome, Row, run_rounds

NAME = "forecast"
SEEDS = 3
"""Number of runs on every problem."""
FIRST_FITTED = 100
"""The coefficients in use were fitted to as many other runs, with seeds from this number on."""
SHIPPED, OTHERS = "coefficients in use", "fitted without the problem"
_QUICK = ("cover", "tour")


def run(*, jobs: int = 1, quick: bool = False, progress: bool = True) -> Outcome:
    """Run the default search on every problem, and compare its forecasts with what came."""
    names, numbers = (_QUICK, range(1)) if quick else (tuple(TASKS), range(SEEDS))
    rows = run_rounds(one_run, [(name, number) for number in numbers for name in names], jobs, progress)
    return outcome(rows, len(numbers))


def refitted(jobs: int = 1) -> Coefficients:
    """The coefficients of largest likelihood on the runs that those in use were fitted to."""
    numbers = range(FIRST_FITTED, FIRST_FITTED + SEEDS)
    rows = run_rounds(one_run, [(name, number) for number in numbers for name in TASKS], jobs, True)
    return fit(cases_of(rows))


def outcome(rows: Sequence[Row], seeds: int) -> Outcome:
    """The rewards and predictions of runs, with the share of forecasts that held."""
    covered = measured(rows)
    about = {"seeds": seeds, "nominal": 0.9, "coefficients": FITTED._asdict()}
    return Outcome(NAME, [*rows, *covered], about)


def one_run(name: str, number: int) -> list[Row]:
    """Rewards and predictions of one run."""
    task = TASKS[name]
    search = Search.default(stated(task.instance(number)), initial=default_initial(task.budget), seed=number)
    rows = []
    for evaluation in search.steps(task.budget):
        rows.append(Row("reward", name, number, evaluation.step, evaluation.reward))
        if evaluation.predicted is not None:
            rows.append(Row("prediction", name, number, evaluation.step, evaluation.predicted.mean))
    return rows


HORIZONS = ("1", "a tenth", "a quarter", "a half", "the rest")
"""How far ahead forecasts look, in evaluations or as shares of the budget."""


def measured(rows: Sequence[Row]) -> list[Row]:
    """Whether each forecast held, with the coefficients in use and with ones fitted to other problems."""
    cases = cases_of(rows)
    fits = {}
    for problem in dict.fromkeys(case.family for case in cases):
        others = [case for case in cases if case.family != problem]
        fits[problem] = fit(others) if others else FITTED
    found = []
    for case in cases:
        for method, coefficients in ((SHIPPED, FITTED), (OTHERS, fits[case.family])):
            foreseen = forecast(case.progress, case.n, coefficients)
            # A gain in the last digits is none.
            rounding = 1e-6 * case.progress.spread
            held = foreseen.low - rounding <= case.best <= foreseen.high + rounding
            setting = f"{case.problem}, {case.horizon}"
            found.append(Row(method, setting, case.run, case.progress.rewards, float(held)))
    return found


def _share(rows: Sequence[Row], method: str, kind: str | None = None, horizon: str | None = None) -> float:
    values = [
        row.value
        for row in rows
        if row.method == method
        for problem, _, ahead in [row.setting.partition(", ")]
        if kind in (None, TASKS[problem].kind) and horizon in (None, ahead)
    ]
    return float(np.mean(values)) if values else float("nan")


def table(rows: Sequence[Row]) -> str:
    """Share of forecasts that held, per kind of problem and horizon."""
    kinds = [kind for kind in KINDS if not np.isnan(_share(rows, SHIPPED, kind))]
    lines = []
    for name, kind in [*((kind, kind) for kind in kinds), ("all", None)]:
        ahead = [_share(rows, SHIPPED, kind, horizon) for horizon in (*HORIZONS, None)]
        lines.append([name, *(f"{share:.2f}" for share in (*ahead, _share(rows, OTHERS, kind)))])
    return markdown.table(["problems", *HORIZONS, "all", OTHERS], lines)


def summary(outcome: Outcome) -> str:
    """The table for a terminal."""
    return markdown.aligned(table(outcome.rows))


# Cases, and what suits them ---------------------------------------------------------------------------

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
