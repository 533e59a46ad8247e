"""What the rows of the benchmark say: regret, ranks, own time."""

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
from scipy.stats import rankdata

from dagsearch._internal.typing import FloatArray
from experiments.general.methods import METHODS
from experiments.general.problems import KINDS, TASKS
from experiments.harness.curves import OWN_MS, Mean, curves
from experiments.harness.runner import Row

ALL, ORDERED, RELABELLED = "all", "with relabelled versions", "these, relabelled"


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
        self.curves = curves(rows)
        """Regret and own time of all runs, by method and setting."""
        run = {method for method, _ in self.curves}
        self.methods = [name for name in METHODS if name in run]
        ran_by = {name: self.ran_on(name) for name in TASKS}
        self.problems = [name for name, ran in ran_by.items() if ran == self.methods]
        self.partly = [name for name, ran in ran_by.items() if ran and ran != self.methods]
        for name in self.problems:
            forms = {(len(c.values), c.steps[-1]) for m in self.methods for c in [self.curves[m, name]]}
            if len(forms) > 1:
                raise ValueError(f"{name}: methods have different runs or budgets; run them again together")

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """Problems by kind, all of these together, those that are relabelled too, and these relabelled."""
        original = [name for name in self.problems if TASKS[name].relabels is None]
        found = {kind: [name for name in original if TASKS[name].kind == kind] for kind in KINDS}
        relabelled = [name for name in self.problems if TASKS[name].relabels is not None]
        found[ALL] = original
        found[ORDERED] = [TASKS[name].original for name in relabelled]
        found[RELABELLED] = relabelled
        return {group: names for group, names in found.items() if names}

    def regret(self, method: str, problems: Sequence[str], step: int | None = None) -> FloatArray:
        """Regret of all runs on some problems after ``step`` evaluations, or at the end."""
        found = [self.curves[method, problem] for problem in problems]
        return np.concatenate([curve.after(step or int(curve.steps[-1])) for curve in found])

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
        return [method for method in self.methods if (method, problem) in self.curves]

    def own_ms(self, method: str, problem: str) -> FloatArray:
        """Own milliseconds per evaluation of all runs."""
        return self.curves[method, f"{problem}, {OWN_MS}"].values[:, -1]
