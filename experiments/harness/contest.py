"""Methods compared on the problems of an application: the runs, the picture, the answer of one search."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import dagsearch as ds
from experiments.harness.curves import Mean, Merge, changes, units
from experiments.harness.drawing import COLOURS, figure
from experiments.harness.evaluations import BudgetSpent, Evaluations
from experiments.harness.runner import Outcome, Row, run_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Method = Callable[[Evaluations, int], None]
"""``method(evaluate, seed)`` calls ``evaluate(point)`` until it is done or the budget is spent."""


class Contest(NamedTuple):
    """Methods compared on one problem."""

    problem: str
    """Its name."""
    methods: Mapping[str, Method]
    """The methods by name, ours first."""
    reward: Callable[[Any], float]
    """The function to maximise; each run counts its own evaluations."""
    budget: int
    """Evaluations per run."""
    shown: Callable[[float], float] = float
    """The best reward as a practitioner reads it, such as a cost."""


def compare(contests: Sequence[Contest], seeds: int, jobs: int = 1) -> list[Row]:
    """Run every method of every contest with the seeds 0, 1, 2, …"""
    names = dict.fromkeys(name for contest in contests for name in contest.methods)
    tasks = [
        (contest, name, seed)
        for name in names
        for contest in contests
        if name in contest.methods
        for seed in range(seeds)
    ]
    return run_rounds(one_run, tasks, jobs)


def one_run(contest: Contest, name: str, seed: int) -> list[Row]:
    """The best value wherever it changes, and at the end; own time."""
    evaluate = Evaluations(contest.reward, contest.budget)
    with suppress(BudgetSpent):
        contest.methods[name](evaluate, seed)
    best = np.array([contest.shown(value) for value in np.maximum.accumulate(evaluate.rewards).tolist()])
    return changes(best, name, contest.problem, seed, evaluate)


def answered(name: str, result: ds.Result, answer: Mapping[str, Any]) -> Outcome:
    """The answer of an application's search, to write and to show."""
    rows = [Row("dagsearch", "best reward", 0, one.step, one.best_reward) for one in result.history]
    found = {**answer, "best reward": result.best_reward, "evaluations": len(result.history)}
    return Outcome(name, rows, found, shown="\n".join(f"{what}: {value}" for what, value in found.items()))


def draw(
    rows: Sequence[Row], merge: Merge, title: str, ylabel: str, levels: Mapping[str, float] | None = None
) -> "Figure":
    """Mean best values against evaluations with their standard errors; known values as horizontal lines."""
    steps = range(1, 1 + max(row.step for row in rows))
    drawn, seen = figure(), list((levels or {}).values())
    axes = drawn.subplots()
    for colour, (method, values) in zip(COLOURS, units(rows, steps, merge).items(), strict=False):
        mean, error = np.array([Mean.of(column) for column in values.T]).T
        seen += mean[5:].tolist()  # the first ones would squeeze the rest
        axes.plot(steps, mean, label=method, color=colour)
        axes.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0.0)
    for style, (name, value) in zip((":", "--", "-."), (levels or {}).items(), strict=False):
        axes.axhline(value, color="black", linestyle=style, linewidth=1.0, label=name)
    axes.set(xlabel="evaluations", ylabel=ylabel, title=title, xscale="log")
    if np.isfinite(seen).all() and np.ptp(seen or [0.0]) > 0.0:
        axes.set_ylim(min(seen) - 0.05 * np.ptp(seen), max(seen) + 0.05 * np.ptp(seen))
    axes.legend(fontsize="small")
    return drawn
