"""Means with errors, curves, differences and tables from the rows of an experiment."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from dagsearch._internal.typing import FloatArray
from dagsearch.results import Evaluation
from experiments.harness import markdown
from experiments.harness.evaluations import Evaluations
from experiments.harness.runner import Outcome, Row

OWN_MS = "own ms"
"""Suffix of a problem's name in the file for a method's own CPU milliseconds per evaluation."""

# Rows of a run -----------------------------------------------------------------------------------------


def recorded_steps(steps: int, growth: float) -> list[int]:
    """Steps from 1 to ``steps``, each about ``growth`` times the previous one."""
    grid = [1]
    while grid[-1] < steps:
        grid.append(min(steps, max(grid[-1] + 1, round(grid[-1] * growth))))
    return sorted({*grid, *(step for step in (50, 100, 200, 400, 800) if step <= steps)})


def best_rewards(
    history: Sequence[Evaluation], method: str, setting: str, number: int, growth: float
) -> list[Row]:
    """The best reward so far of a search, at some steps."""
    steps = recorded_steps(len(history), growth)
    return [Row(method, setting, number, step, history[step - 1].best_reward) for step in steps]


def changes(
    values: FloatArray, method: str, problem: str, number: int, evaluate: Evaluations, last: int | None = None
) -> list[Row]:
    """A run's values wherever they change and at its end, and the method's own time.

    ``values`` has one entry per evaluation. A run that ends before ``last`` keeps its value until then.
    """
    count = len(values)
    steps = [n for n in range(count) if n in (0, count - 1) or values[n] != values[n - 1]]
    rows = [Row(method, problem, number, n + 1, float(values[n])) for n in steps]
    if last is not None and last > count:
        rows.append(Row(method, problem, number, last, float(values[-1])))
    own = 1e3 * evaluate.own_seconds / count
    return [*rows, Row(method, f"{problem}, {OWN_MS}", number, rows[-1].step, own)]


# Means -------------------------------------------------------------------------------------------------


class Mean(NamedTuple):
    """A mean and its standard error."""

    value: float
    error: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Mean":
        """The mean of independent values; the error of a single value is 0."""
        found = np.array(list(values), dtype=np.float64)
        error = found.std(ddof=1) / np.sqrt(found.size) if found.size > 1 else 0.0
        return cls(float(found.mean()), float(error))

    def shown(self, digits: int, sign: str = "") -> str:
        """The mean ± its error; ``sign="+"`` shows the sign of positive means."""
        return f"{self.value:{sign}.{digits}f} ± {self.error:.{digits}f}"


class Curve(NamedTuple):
    """A method's values against the number of evaluations."""

    steps: FloatArray
    """Numbers of evaluations, shape ``(points,)``."""
    values: FloatArray
    """One row per round, shape ``(rounds, points)``."""

    @property
    def mean(self) -> FloatArray:
        """Mean over the rounds."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation over the rounds."""
        return np.asarray(self.values.std(axis=0, ddof=1 if len(self.values) > 1 else 0))

    @property
    def error(self) -> FloatArray:
        """Standard error of the mean."""
        return np.asarray(self.deviation / np.sqrt(len(self.values)))

    def at(self, step: int) -> int:
        """Index of the last point at or before ``step``."""
        return int(np.searchsorted(self.steps, step, side="right")) - 1

    def after(self, step: int) -> FloatArray:
        """The values of all rounds after ``step`` evaluations."""
        return np.asarray(self.values[:, self.at(step)])

    def less(self, other: "Curve", step: int) -> Mean:
        """Mean difference from another curve in the same rounds."""
        return Mean.of(self.after(step) - other.after(step))


def curves(rows: Iterable[Row]) -> dict[tuple[str, str], Curve]:
    """The rows by method and setting, in order of appearance; a value stays until the next one."""
    found = {}
    last = pd.DataFrame(rows, columns=list(Row._fields)).drop_duplicates([*Row._fields[:-1]], keep="last")
    for (method, setting), some in last.groupby(["method", "setting"], sort=False):
        table = some.pivot(index="round", columns="step", values="value").ffill(axis=1)
        found[str(method), str(setting)] = Curve(table.columns.to_numpy(float), table.to_numpy())
    return found


def best_setting(rows: Iterable[Row]) -> dict[str, tuple[str, Curve]]:
    """For every method the setting with the largest mean over all steps and rounds."""
    best: dict[str, tuple[str, Curve]] = {}
    for (method, setting), curve in curves(rows).items():
        if method not in best or curve.values.mean() > best[method][1].values.mean():
            best[method] = setting, curve
    return best


# Tables ------------------------------------------------------------------------------------------------

Merge = Callable[[FloatArray], FloatArray]
"""Makes independent units, shape ``(units, steps)``, of the values of all settings and rounds."""


def by_run(values: FloatArray) -> FloatArray:
    """Every run is a unit."""
    return values.reshape(-1, values.shape[-1])


def by_setting(values: FloatArray) -> FloatArray:
    """The mean over the rounds of every setting is a unit: they are not independent of each other."""
    return np.asarray(values.mean(axis=1))


def units(rows: Sequence[Row], steps: Sequence[int], merge: Merge = by_run) -> dict[str, FloatArray]:
    """The values of every method after some numbers of evaluations, shape ``(units, steps)``.

    ``merge`` gets an array of shape ``(settings, rounds, steps)``.
    """
    found: dict[str, list[FloatArray]] = {}
    for (method, setting), curve in curves(rows).items():
        if not setting.endswith(OWN_MS):
            found.setdefault(method, []).append(curve.values[:, [curve.at(step) for step in steps]])
    return {method: merge(np.array(values)) for method, values in found.items()}


def means(rows: Sequence[Row], steps: Sequence[int], digits: int, merge: Merge = by_run) -> str:
    """Values after some numbers of evaluations, with the standard error over units, and own time."""
    lines = []
    for method, values in units(rows, steps, merge).items():
        own = [row.value for row in rows if row.method == method and row.setting.endswith(OWN_MS)]
        cells = [Mean.of(column).shown(digits) for column in values.T]
        lines.append([method, *cells, *([f"{np.mean(own):.1f}"] if own else [])])
    last = ["own ms / evaluation"] if any(row.setting.endswith(OWN_MS) for row in rows) else []
    return markdown.table(["mean ± standard error", *(f"after {step}" for step in steps), *last], lines)


def differences(rows: Sequence[Row], steps: Sequence[int], digits: int, merge: Merge = by_run) -> str:
    """The first method less each of the others, unit by unit: mean and standard error."""
    found = units(rows, steps, merge)
    ours, *others = found
    lines = [
        [other, *(Mean.of(column).shown(digits, "+") for column in (found[ours] - found[other]).T)]
        for other in others
    ]
    return markdown.table([f"{ours} minus", *(f"after {step}" for step in steps)], lines)


def summary(outcome: Outcome) -> str:
    """Mean and standard error of every method with its best setting at a few steps, for a terminal."""
    found = best_setting(outcome.rows)
    last = max(int(curve.steps[-1]) for _, curve in found.values())
    marks = [mark for mark in (25, 50, 100, 200, 400, 1200) if mark <= last] or [last]
    rows = []
    for method, (setting, curve) in found.items():
        at = [curve.at(mark) for mark in marks]
        cells = (f"{curve.mean[n]:.4g} ± {curve.error[n]:.2g}" if n >= 0 else "–" for n in at)
        rows.append([method, setting, *cells])
    return markdown.aligned(markdown.table(["method", "setting", *map(str, marks)], rows))
