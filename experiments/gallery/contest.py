"""Methods compared on the problems of an application: the runs, the tables of its README, the picture."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import dagsearch as ds
from dagsearch._internal.typing import FloatArray
from experiments.harness.drawing import COLOURS, figure
from experiments.harness.evaluations import BudgetSpent, Evaluations
from experiments.harness.markdown import table
from experiments.harness.runner import Outcome, Row, curves, run_rounds

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OWN_MS = "own ms"
"""A method's own CPU milliseconds per evaluation, as it follows the problem's name in the file."""
# Number of evaluations whose values may lie outside a picture: the first ones would squeeze the rest.
_FIRST_SHOWN = 5

Method = Callable[[Evaluations, int], None]
"""``method(evaluate, seed)`` calls ``evaluate(point)`` until it is done or the budget is spent."""
Merge = Callable[[FloatArray], FloatArray]
"""Makes independent units, shape ``(units, steps)``, of the best values of all problems and seeds."""


class Contest(NamedTuple):
    """Methods that are compared on one problem."""

    problem: str
    """Its name."""
    methods: Mapping[str, Method]
    """The methods by name, ours first."""
    reward: Callable[[Any], float]
    """What is maximised; each run counts its own evaluations."""
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
    own = evaluate.own_seconds
    best, count = np.maximum.accumulate(evaluate.rewards), len(evaluate.rewards)
    changes = [n for n in range(count) if n in (0, count - 1) or best[n] > best[n - 1]]
    rows = [Row(name, contest.problem, seed, n + 1, contest.shown(float(best[n]))) for n in changes]
    return [*rows, Row(name, f"{contest.problem}, {OWN_MS}", seed, count, 1e3 * own / count)]


def answered(name: str, result: ds.Result, answer: Mapping[str, Any]) -> Outcome:
    """What a search of an application found, to be written and shown."""
    rows = [Row("dagsearch", "best reward", 0, one.step, one.best_reward) for one in result.history]
    found = {**answer, "best reward": result.best_reward, "evaluations": len(result.history)}
    return Outcome(name, rows, found, shown="\n".join(f"{what}: {value}" for what, value in found.items()))


# What the runs say ------------------------------------------------------------------------------------


def best_values(rows: Sequence[Row], steps: Sequence[int], merge: Merge) -> dict[str, FloatArray]:
    """Of every method the best values after some numbers of evaluations, shape ``(units, steps)``.

    ``merge`` is given an array of shape ``(problems, seeds, steps)``. A run that ended earlier keeps its
    last value.
    """
    found: dict[str, list[FloatArray]] = {}
    for (method, setting), curve in curves(rows).items():
        if not setting.endswith(OWN_MS):
            found.setdefault(method, []).append(curve.values[:, [curve.at(step) for step in steps]])
    return {method: merge(np.array(values)) for method, values in found.items()}


def _mean_and_error(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    error = values.std(axis=0, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0 * values[0]
    return values.mean(axis=0), np.asarray(error)


def means(rows: Sequence[Row], steps: Sequence[int], merge: Merge, digits: int) -> str:
    """Best values after some numbers of evaluations, with the standard error over units, and own time."""
    lines = []
    for method, values in best_values(rows, steps, merge).items():
        pairs = zip(*_mean_and_error(values), strict=True)
        own = np.mean([row.value for row in rows if row.method == method and row.setting.endswith(OWN_MS)])
        cells = (f"{mean:.{digits}f} ± {error:.{digits}f}" for mean, error in pairs)
        lines.append([method, *cells, f"{own:.1f}"])
    heads = (f"after {step}" for step in steps)
    return table(["mean ± standard error", *heads, "own ms / evaluation"], lines)


def differences(rows: Sequence[Row], steps: Sequence[int], merge: Merge, digits: int) -> str:
    """The first method less each of the others, unit by unit: mean and standard error."""
    found = best_values(rows, steps, merge)
    ours, *others = found
    lines = []
    for other in others:
        pairs = zip(*_mean_and_error(found[ours] - found[other]), strict=True)
        lines.append([other, *(f"{mean:+.{digits}f} ± {error:.{digits}f}" for mean, error in pairs)])
    return table([f"{ours} minus", *(f"after {step}" for step in steps)], lines)


def draw(
    rows: Sequence[Row], merge: Merge, title: str, ylabel: str, levels: Mapping[str, float] | None = None
) -> "Figure":
    """Mean best values against evaluations with their standard errors; known values as horizontal lines."""
    steps = range(1, 1 + max(row.step for row in rows))
    drawn, seen = figure(), list((levels or {}).values())
    axes = drawn.subplots()
    for colour, (method, values) in zip(COLOURS, best_values(rows, steps, merge).items(), strict=False):
        mean, error = _mean_and_error(values)
        seen += mean[_FIRST_SHOWN:].tolist()
        axes.plot(steps, mean, label=method, color=colour)
        axes.fill_between(steps, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0.0)
    for style, (name, value) in zip((":", "--", "-."), (levels or {}).items(), strict=False):
        axes.axhline(value, color="black", linestyle=style, linewidth=1.0, label=name)
    axes.set(xlabel="evaluations", ylabel=ylabel, title=title, xscale="log")
    if np.isfinite(seen).all() and np.ptp(seen or [0.0]) > 0.0:
        axes.set_ylim(min(seen) - 0.05 * np.ptp(seen), max(seen) + 0.05 * np.ptp(seen))
    axes.legend(fontsize="small")
    return drawn
