"""One run of one method on one problem, as rows of the CSV file."""

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.general.methods import METHODS, warm_up
from experiments.general.optima import scale_of
from experiments.general.problems import TASKS
from experiments.harness.runner import Row, recorded_steps

MARKS = (25, 50, 100)
"""Numbers of evaluations in the tables, before the end of the budget."""
OWN_MS = "own ms"
"""What is measured besides regret, as it follows the problem's name in the file."""


def one_run(method: str, name: str, number: int, budget: int) -> list[Row]:
    """Normalised regret at some steps, and own time.

    A run that ends early, because it proposes nothing new, keeps its regret.
    """
    task = TASKS[name]
    instance = task.instance(number)
    with threadpool_limits(limits=1):
        warm_up(method, name)
        run = METHODS[method].run(instance, budget, number)
    best = np.append(run.scores, np.repeat(run.scores[-1], budget - len(run.scores)))
    regret = np.round(scale_of(task, number).regret(best), 9) + 0.0  # 0, not -0, where only rounding differs
    rows = [Row(method, name, number, step, float(regret[step - 1])) for step in _steps(budget)]
    rows.append(Row(method, f"{name}, {OWN_MS}", number, budget, 1e3 * run.seconds / len(run.scores)))
    return rows


def _steps(budget: int) -> list[int]:
    marks = [mark for mark in MARKS if mark <= budget]
    return sorted({*recorded_steps(budget, 1.12), *marks})
