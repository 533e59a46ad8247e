"""Who should propose leaves? The default search with different shares of descents."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dagsearch.methods import default_initial
from dagsearch.problems import DigitsPixels, Synthetic
from experiments.benchmarks.variants import PORTFOLIOS
from experiments.general.optima import scale_of
from experiments.general.problems import TASKS
from experiments.general.stated import stated
from experiments.harness.drawing import figure
from experiments.harness.markdown import table
from experiments.harness.runner import Curve, Outcome, Request, Row, curves, run_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GENERAL, DIGITS, SYNTHETIC = "general", "digits", "synthetic"
MARKS = {GENERAL: (25, 50), DIGITS: (100, 200), SYNTHETIC: (15, 20)}
"""Numbers of evaluations in the table; of the general problems also the end."""


def run(request: Request) -> Outcome:
    """Every share of descents on the general problems, digits and the synthetic one."""
    quick = request.quick
    seeds, runs, splits = (1, 1, 1) if quick else (4, 5, 3)
    problems = list(TASKS)[:13:6] if quick else list(TASKS)
    sizes = [(name, seeds, 30 if quick else TASKS[name].budget) for name in problems]
    sizes += [(f"{DIGITS} {split}", runs, 30 if quick else 200) for split in range(splits)]
    sizes += [(SYNTHETIC, 2 if quick else 50, 20 if quick else 50)]
    methods = list(PORTFOLIOS)[::-1]  # those with most descents take longest, and come first
    tasks = [(method, name, n, budget) for method in methods for name, ns, budget in sizes for n in range(ns)]
    rows = run_rounds(one_run, tasks, request.jobs, request.progress)
    about = {"seeds": seeds, "runs": runs, "problems": problems}
    return Outcome("portfolio", rows, about, {"portfolio": _draw(rows)})


def one_run(method: str, name: str, number: int, budget: int) -> list[Row]:
    """Regret on a general problem, accuracy on digits, or whether the optimum was found."""
    if name == SYNTHETIC:
        problem = Synthetic(seed=number)
        search = PORTFOLIOS[method](problem, number, budget // 10)
        found = [one.best_reward >= problem.best_reward - 1e-9 for one in search.steps(budget)]
        return _rows(method, SYNTHETIC, number, np.array(found, dtype=np.float64), MARKS[SYNTHETIC])
    if name.startswith(DIGITS):
        split = int(name.split()[1])
        search = PORTFOLIOS[method](DigitsPixels(split=split), number, default_initial(budget))
        best = np.array([one.best_reward for one in search.steps(budget)])
        return _rows(method, DIGITS, 100 * split + number, best, MARKS[DIGITS])
    task = TASKS[name]
    search = PORTFOLIOS[method](stated(task.instance(number)), number, default_initial(budget))
    best = np.array([one.best_reward for one in search.steps(budget)])
    regret = np.round(scale_of(task, number).regret(best), 9) + 0.0
    rows = _rows(method, name, number, regret, MARKS[GENERAL])
    return [*rows, Row(method, f"{name}, end", number, budget, float(regret[-1]))]


def _rows(method: str, setting: str, number: int, values: np.ndarray, marks: Sequence[int]) -> list[Row]:
    """The values at the marks; a run that ended early keeps its last one."""
    return [Row(method, setting, number, mark, float(values[min(mark, len(values)) - 1])) for mark in marks]


# The table ---------------------------------------------------------------------------------------------


def portfolio_table(rows: Sequence[Row]) -> str:
    """Means by share of descents; regret with its standard error of the difference to no descents."""
    found = curves(rows)
    methods = [method for method in PORTFOLIOS if any(method == known for known, _ in found)]
    names = [name for name in TASKS if (methods[0], name) in found]
    base = {mark: _regrets(found, methods[0], names, mark) for mark in (*MARKS[GENERAL], None)}
    lines = []
    for method in methods:
        cells = [method]
        for mark, before in base.items():
            regret = _regrets(found, method, names, mark)
            apart = regret - before
            error = apart.std(ddof=1) / np.sqrt(apart.size)
            shown = f"{regret.mean():.3f}"
            cells.append(shown if method == methods[0] else f"{shown} ({apart.mean():+.3f} ± {error:.3f})")
        for name, digits in ((DIGITS, 4), (SYNTHETIC, 2)):
            curve = found[method, name]
            cells.append(" / ".join(f"{curve.mean[curve.at(mark)]:.{digits}f}" for mark in MARKS[name]))
        lines.append(cells)
    heads = ["descents", "regret at 25", "at 50", "at the end", "digits at 100 / 200", "synthetic by 15 / 20"]
    return table(heads, lines)


def _regrets(
    found: "dict[tuple[str, str], Curve]", method: str, names: Sequence[str], mark: int | None
) -> np.ndarray:
    """Regret of every run on the general problems, in one order for all methods."""
    every = []
    for name in names:
        curve = found[method, f"{name}, end" if mark is None else name]
        every.append(curve.values[:, -1 if mark is None else curve.at(mark)])
    return np.concatenate(every)


def _draw(rows: Sequence[Row]) -> "Figure":
    """Mean regret at the end by share of descents, with standard errors."""
    found = curves(rows)
    methods = [method for method in PORTFOLIOS if any(method == known for known, _ in found)]
    names = [name for name in TASKS if (methods[0], name) in found]
    drawn = figure(7.0, 3.2)
    axes = drawn.subplots()
    ends = [_regrets(found, method, names, None) for method in methods]
    errors = [end.std(ddof=1) / np.sqrt(end.size) if end.size > 1 else 0.0 for end in ends]
    axes.barh(methods, [end.mean() for end in ends], xerr=errors, color="#0072B2")
    axes.invert_yaxis()
    axes.set(xlabel="mean regret at the end, general problems", title="share of leaves from descents")
    return drawn
