"""``python -m experiments benchmark forecast``: how often the intervals of ``Search.forecast`` hold."""

from collections.abc import Sequence

import numpy as np

from dagsearch.forecasts import FITTED, Coefficients, forecast
from dagsearch.methods import default_initial
from dagsearch.search import Search
from experiments.benchmarks.forecast.fitting import cases_of, fit
from experiments.general.problems import KINDS, TASKS
from experiments.general.stated import stated
from experiments.harness import markdown
from experiments.harness.drawing import figure
from experiments.harness.runner import Outcome, Row, run_rounds

__all__ = ["OTHERS", "SHIPPED", "refitted", "run", "summary", "table"]

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
    drawn = figure()
    axes = drawn.subplots()
    for method in (SHIPPED, OTHERS):
        shares = [_share(covered, method, horizon=horizon) for horizon in HORIZONS]
        axes.plot(range(len(HORIZONS)), shares, marker="o", label=method)
    axes.axhspan(0.8, 0.95, color="grey", alpha=0.2, label="80–95%")
    axes.set(
        xlabel="further evaluations, as a share of the budget",
        ylabel="share of forecasts whose 90% interval held",
        ylim=(0.5, 1.0),
    )
    axes.set_xticks(range(len(HORIZONS)), HORIZONS)
    axes.legend(fontsize="small")
    about = {"seeds": seeds, "nominal": 0.9, "coefficients": FITTED._asdict()}
    return Outcome(NAME, [*rows, *covered], about, {NAME: drawn})


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
