"""``python -m experiments benchmark noise``: what a search recommends when rewards are noisy.

Sixteen problems of the general benchmark, four of each of four kinds, all with noise of half the standard
deviation of random points' scores. With ``--keep``, the rows of an earlier version are shown beside it.
"""

from pathlib import Path
from typing import Any

import numpy as np

from dagsearch.methods import default_initial
from dagsearch.search import Search
from experiments.general.optima import scale_of
from experiments.general.problems import TASKS
from experiments.general.problems.base import noisy_instance
from experiments.general.stated import stated
from experiments.harness.markdown import aligned, table
from experiments.harness.runner import Outcome, Row, read_rows, run_rounds

PROBLEMS = {
    "subsets": ("cover", "regression", "portfolio", "knapsack"),
    "choices": ("contamination", "maxsat", "pest", "ackley"),
    "orders": ("tardiness", "tour", "assignment", "flow-shop"),
    "strings": ("landscape", "motifs", "folding", "labs"),
}
"""Names of problems of the general benchmark by kind of choice."""
BUDGET, SEEDS = 80, 8
NOW, BEFORE = "now", "before"
VALUE, SHARE = "true value", "largest share of one leaf"
"""What is measured: how far the true value of what is recommended is above random points, where the best is
1; and the share of the evaluations that the leaf got that was evaluated most often."""


def run(quick: bool = False, jobs: int = 1, seeds: int | None = None, keep: Path | None = None) -> Outcome:
    """Run the default search; ``keep`` is a folder with the results of an earlier version."""
    names = [name for kind in PROBLEMS.values() for name in kind]
    numbers = range(seeds or (1 if quick else SEEDS))
    rows = run_rounds(one_run, [(name, number) for name in names for number in numbers], jobs)
    if keep is not None:
        earlier = read_rows(keep / "noise.csv.gz")
        rows += [row._replace(method=BEFORE) for row in earlier if row.method == NOW]
    return Outcome("noise", rows, {"seeds": len(numbers), "budget": BUDGET, "measured": [VALUE, SHARE]})


def one_run(name: str, number: int) -> list[Row]:
    """One search, told that rewards are noisy."""
    task = TASKS[name]
    truth = noisy_instance(task.instance(number), number % task.instances)
    problem: Any = stated(truth._replace(scores=truth.read(number)))
    search = Search.default(problem, initial=default_initial(BUDGET), noisy=True, seed=number)
    result = search.run(BUDGET)
    regret = scale_of(task, number).regret(np.array([stated(truth).reward(result.best_state)]))
    leaves = [search.index.find(evaluation.leaf) for evaluation in result.history]
    share = float(np.unique(leaves, return_counts=True)[1].max()) / BUDGET
    return [
        Row(NOW, f"{name}, {VALUE}", number, BUDGET, 1.0 - float(regret[0])),
        Row(NOW, f"{name}, {SHARE}", number, BUDGET, share),
    ]


def summary(outcome: Outcome) -> str:
    """Means by kind, and of the differences of the problems' means with their standard error."""
    means: dict[tuple[str, str], float] = {}
    for key in {(row.method, row.setting) for row in outcome.rows}:
        means[key] = float(np.mean([row.value for row in outcome.rows if (row.method, row.setting) == key]))
    methods = [method for method in (BEFORE, NOW) if any(key[0] == method for key in means)]
    lines = []
    for what in (VALUE, SHARE):
        all_of = {"all": [name for kind in PROBLEMS.values() for name in kind]}
        for kind, names in {**PROBLEMS, **all_of}.items():
            by_method = [np.array([means[method, f"{name}, {what}"] for name in names]) for method in methods]
            line = [what, kind, *(f"{values.mean():.3f}" for values in by_method)]
            if len(methods) == 2:
                change = by_method[1] - by_method[0]
                error = change.std(ddof=1) / np.sqrt(change.size)
                line.append(f"{change.mean():+.3f} ± {error:.3f}")
            lines.append(line)
    return aligned(table(["what", "problems", *methods, *["change"][: len(methods) - 1]], lines))
