"""What the rows of the benchmark say: regret, ranks, wins and losses, own time."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from dagsearch._internal.typing import FloatArray
from experiments.general.methods import METHODS, OWN_MS
from experiments.general.problems import KINDS, TASKS
from experiments.harness.runner import Curve, Row, curves

ALL, STANDARD, RELABELLED = "all", "standard ones", "standard ones, relabelled"
FOUND = 1e-6
"""Normalised regret below which a point is the optimum."""


class Mean(NamedTuple):
    """A mean with its standard error, if it has one."""

    value: float
    error: float | None

    @classmethod
    def of(cls, values: FloatArray) -> "Mean":
        """Of all values."""
        error = values.std(ddof=1) / np.sqrt(values.size) if values.size > 1 else 0.0
        return cls(float(values.mean()), float(error))


class Measures:
    """Everything that tables and pictures show.

    Parameters
    ----------
    rows : iterable of Row
        Rows of the CSV file.

    Attributes
    ----------
    methods : list of str
        The methods that ran.
    problems : list of str
        The problems that all of them ran on; only these are shown.
    partly : list of str
        The problems that some of them ran on.
    """

    def __init__(self, rows: Iterable[Row]) -> None:
        self._curves: Mapping[tuple[str, str], Curve] = curves(rows)
        run = {method for method, _ in self._curves}
        self.methods = [name for name in METHODS if name in run]
        ran_by = {name: [m for m in self.methods if (m, name) in self._curves] for name in TASKS}
        self.problems = [name for name, ran in ran_by.items() if ran == self.methods]
        self.partly = [name for name, ran in ran_by.items() if ran and ran != self.methods]
        for name in self.problems:
            forms = {(len(c.values), c.steps[-1]) for m in self.methods for c in [self.curve(m, name)]}
            if len(forms) > 1:
                raise ValueError(f"{name}: methods have different runs or budgets; run them again together")

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """Problems by kind, all of these together, the standard ones among them, and these relabelled."""
        original = [name for name in self.problems if TASKS[name].relabels is None]
        found = {kind: [name for name in original if TASKS[name].kind == kind] for kind in KINDS}
        found[ALL] = original
        standard = {task.relabels for task in TASKS.values()}
        found[STANDARD] = [name for name in original if name in standard]
        found[RELABELLED] = [name for name in self.problems if TASKS[name].relabels is not None]
        return {group: names for group, names in found.items() if names}

    def curve(self, method: str, problem: str) -> Curve:
        """Regret of all runs."""
        return self._curves[method, problem]

    def regret(self, method: str, problems: Sequence[str], step: int | None = None) -> FloatArray:
        """Regret of all runs on some problems after ``step`` evaluations, or at the end."""
        values = []
        for problem in problems:
            curve = self.curve(method, problem)
            values.append(curve.values[:, -1 if step is None else curve.at(step)])
        return np.concatenate(values)

    def ranks(self, problems: Sequence[str]) -> dict[str, Mean]:
        """Rank of every method at the end, 1 is best; runs that end alike share their ranks.

        Runs on one problem are not independent, so the error is that over problems; of one problem, over
        runs.
        """
        regrets = np.array([[self.regret(m, [name]) for name in problems] for m in self.methods])
        ranks = rankdata(np.round(regrets, 6), axis=0)
        units = ranks.mean(axis=2) if len(problems) > 1 else ranks[:, 0]
        return {method: Mean.of(row) for method, row in zip(self.methods, units, strict=True)}

    def ran_on(self, problem: str) -> list[str]:
        """The methods that ran on a problem."""
        return [method for method in self.methods if (method, problem) in self._curves]

    def own_ms(self, method: str, problem: str) -> FloatArray:
        """Own milliseconds per evaluation of all runs."""
        return self._curves[method, f"{problem}, {OWN_MS}"].values[:, -1]

    def beyond(self) -> list[str]:
        """Problems where a run is better than the best score of ``optima.csv``, which is then out of date."""
        return [
            problem
            for problem in self.problems
            if any(self.regret(method, [problem]).min() < -FOUND for method in self.methods)
        ]
