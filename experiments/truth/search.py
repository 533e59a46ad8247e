"""Statements of a running search against outcomes: forecasts, predicted rewards, stops by tolerance.

The problems come from :mod:`experiments.truth.fresh`; nothing was fitted or chosen on them.
"""

import math
from collections.abc import Sequence

import numpy as np

from dagsearch.data import REACH
from dagsearch.forecasts import Forecast
from dagsearch.methods import default_initial
from dagsearch.results import Evaluation
from dagsearch.search import Search
from experiments.general.stated import stated
from experiments.harness import markdown
from experiments.harness.runner import Outcome, Row, run_rounds
from experiments.truth.fresh import FRESH
from experiments.truth.measures import Line, line, table

FORECAST, REWARDS, TOLERANCE = "forecast", "rewards", "tolerance"
"""Names of the measures."""
STATED = {
    FORECAST: ("90 % interval of `forecast`, from half the budget to all of it", "0.90"),
    REWARDS: ("90 % interval of a reward (`Evaluation.predicted`)", "0.90"),
    TOLERANCE: ("after a stop by `tolerance`, the rest of the budget gains less than that", "0.90"),
}
"""The statements, and how often they should be true."""
SMALL = 0.1
"""``tolerance``, in standard deviations of a search's initial random leaves."""
ROUNDS = 16
"""Number of runs of every problem."""


def run(jobs: int, quick: bool = False) -> Outcome:
    """Run the fresh problems."""
    names, rounds = (["walk", "columns", "valley"], 1) if quick else (list(FRESH), ROUNDS)
    tasks = [(problem, number) for number in range(rounds) for problem in names]
    rows = run_rounds(one_run, tasks, jobs)
    return Outcome("search", rows, {"rounds": rounds, "problems": names, "tolerance": SMALL})


def summary(outcome: Outcome) -> str:
    """Statements and outcomes, as a table."""
    return markdown.aligned(table(lines(outcome.rows)))


def lines(rows: Sequence[Row]) -> list[Line]:
    """Statements against outcomes."""
    found = []
    for name, (quantity, nominal) in STATED.items():
        some = [row for row in rows if row.method == name]
        found.append(line(quantity, nominal, [row.value for row in some], [row.setting for row in some]))
    return found


def one_run(problem: str, number: int) -> list[Row]:
    """The statements in one run, and the outcomes."""
    instance, budget = FRESH[problem].make(number), FRESH[problem].budget
    initial = default_initial(budget)
    search = Search.default(
        stated(instance._replace(scores=instance.read(number))),
        initial=initial,
        noisy=instance.noise > 0.0,
        seed=number,
    )
    ahead: Forecast | None = None
    stopped: Evaluation | None = None
    tolerance = 0.0
    for step, evaluation in enumerate(search.steps(budget), 1):
        if step == initial:
            tolerance = SMALL * float(np.std([one.reward for one in search.history]))
        if step == budget // 2:
            ahead = search.forecast(budget - step)
        if stopped is None and initial < step < budget:
            forecast = search.forecast(budget - step)
            if forecast is not None and forecast.high - evaluation.best_reward < tolerance:
                stopped = evaluation
    history, rows = search.history, []
    reached = history[-1].best_reward
    tiny = 1e-9 * max(1.0, abs(reached))
    if ahead is not None:
        covered = ahead.low - tiny <= reached <= ahead.high + tiny
        rows.append(Row(FORECAST, problem, number, len(history), float(covered)))
    if stopped is not None:
        kept = reached - stopped.best_reward < tolerance + tiny
        rows.append(Row(TOLERANCE, problem, number, stopped.step, float(kept)))
    inside = [
        abs(one.reward - one.predicted.mean) <= REACH * math.sqrt(one.predicted.variance)
        for one in history
        if one.predicted is not None
    ]
    rows.append(Row(REWARDS, problem, number, len(history), sum(inside) / len(inside)))
    return rows
