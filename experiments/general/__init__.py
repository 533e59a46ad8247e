"""``python -m experiments benchmark general``: every kind of choice, against methods for any kind."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from experiments.general import page
from experiments.general.measures import Measures
from experiments.general.methods import METHODS, check_installed, one_run
from experiments.general.problems import TASKS
from experiments.harness.runner import Outcome, Row, read_rows, run_rounds

__all__ = ["METHODS", "SEEDS", "TASKS", "Measures", "run", "summary"]

NAME = "general"
SEEDS = 8
"""Number of runs of every method on every problem; they take the instances in turn."""
_QUICK_BUDGET = 30
_SLOWEST_FIRST = ("GP (BoTorch)", "TPE (Optuna)")


def run(
    *,
    methods: Sequence[str] = (),
    problems: Sequence[str] = (),
    seeds: int | None = None,
    jobs: int = 1,
    quick: bool = False,
    keep: Path | None = None,
    progress: bool = True,
) -> Outcome:
    """Run the benchmark at full size, or ``quick``.

    Parameters
    ----------
    methods, problems : sequence of str
        Which; all by default.
    seeds : int, optional
        Number of runs of every method on every problem.
    jobs : int
        Number of processes; results do not depend on it.
    quick : bool
        Whether one run of 30 evaluations is enough.
    keep : path, optional
        A folder with results. What is not run now is taken from there.
    progress : bool
        Whether to show a bar.
    """
    methods, problems = _chosen("method", methods, METHODS), _chosen("problem", problems, TASKS)
    check_installed(methods)
    budgets = {name: min(TASKS[name].budget, _QUICK_BUDGET if quick else 10**9) for name in problems}
    numbers = range(seeds or (1 if quick else SEEDS))
    order = sorted(methods, key=lambda method: method not in _SLOWEST_FIRST)
    tasks = [(method, name, n, budgets[name]) for method in order for name in problems for n in numbers]
    rows, kept = run_rounds(one_run, tasks, jobs, progress), dict[str, Any]()
    if keep is not None:
        earlier = _kept(keep, methods, problems)
        before = json.loads((keep / f"{NAME}.json").read_text())
        kept = {name: before[name] for name in ("commit", "versions", "kept_from") if name in before}
        kept["methods"] = sorted({row.method for row in earlier})
        rows = [*earlier, *rows]
    ran, stated = {row.method for row in rows}, {row.setting.partition(",")[0] for row in rows}
    about = {
        "seeds": len(numbers),
        "methods": [method for method in METHODS if method in ran],
        "evaluations": {
            name: budgets.get(name, task.budget) for name, task in TASKS.items() if name in stated
        },
        "measured": "regret: 0 is the optimum or the best score known, 1 the mean score of random points",
        **({"kept_from": kept} if kept else {}),
    }
    found = Measures(rows)
    return Outcome(NAME, rows, about, {NAME: page.draw(found), "front": page.draw_front(found)})


def _chosen(what: str, names: Sequence[str], known: Iterable[str]) -> list[str]:
    """The names in the order of the table; all, if there are none."""
    known = list(known)
    for name in names:
        if name not in known:
            raise ValueError(f"there is no {what} {name!r}; there are {', '.join(known)}")
    return [name for name in known if not names or name in names]


def _kept(folder: Path, methods: Sequence[str], problems: Sequence[str]) -> list[Row]:
    """Rows of the folder's file that are not measured again."""
    again = {(method, problem) for method in methods for problem in problems}
    rows = read_rows(folder / f"{NAME}.csv.gz")
    return [row for row in rows if (row.method, row.setting.partition(",")[0]) not in again]


def summary(outcome: Outcome) -> str:
    """The most important tables."""
    return page.summary(Measures(outcome.rows))
