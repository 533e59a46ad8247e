"""What all applications share: a run with storage, and the comparison of methods."""

import argparse
import hashlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import dagsearch as ds
from experiments.harness import markdown
from experiments.harness.csv_files import read_csv, write_csv
from experiments.harness.drawing import figure
from experiments.harness.evaluations import BudgetSpent, Evaluations
from experiments.harness.runner import run_tasks, write_settings

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Number of evaluations whose values may lie outside a picture: the first ones would squeeze the rest.
_FIRST_SHOWN = 5
TOGETHER = 100
"""Number of run numbers that belong to one problem."""
# One colour per method in the order of a comparison, distinct for any colour vision (Okabe and Ito).
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")


# A run ---------------------------------------------------------------------------------------------------


def solve(
    search: Callable[..., ds.Result], what: Any, options: argparse.Namespace, **settings: Any
) -> ds.Result | None:
    """``search(what, ...)`` with a bar and storage; after Ctrl-C the result so far.

    ``search`` is ``ds.search``, ``ds.maximize`` or ``ds.minimize``, and ``what`` is its first argument.
    ``None`` if it was interrupted before the first evaluation.
    """
    storage = options.out / "run.db"
    if options.jobs != 1:
        settings["n_jobs"] = options.jobs
    if options.fresh:
        storage.unlink(missing_ok=True)
    try:
        return search(
            what, options.budget, seed=options.seed, storage=storage, progress=sys.stderr.isatty(), **settings
        )
    except ds.SearchInterrupted as interruption:
        count = len(interruption.result.history)
        print(f"\nStopped after {count} evaluations; the same command continues.", file=sys.stderr)
        return interruption.result if count else None
    except ds.StorageError as error:
        raise SystemExit(
            f"{error}\nTo begin again, add --fresh; to keep both runs, add --out DIR."
        ) from error


def digest(texts: Sequence[str]) -> str:
    """A short text that is different for different texts, for a problem's ``identity``."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


# Methods compared ----------------------------------------------------------------------------------------


Method = Callable[[Evaluations, int], None]
"""``method(evaluate, seed)`` calls ``evaluate(point)`` until it is done or the budget is spent."""


class Run(NamedTuple):
    """One run of one method."""

    method: str
    """Its name."""
    seed: int
    """Its seed."""
    best: list[float]
    """Best value after each evaluation, as a practitioner reads it."""
    wall_seconds: float
    """Time of the run, evaluations included."""
    own_seconds: float
    """CPU time of the method itself, without that of the evaluations."""


class Contest(NamedTuple):
    """Methods that are compared on one problem."""

    methods: Mapping[str, Method]
    """The methods by name, ours first."""
    reward: Callable[[Any], float]
    """What is maximised; each run counts its own evaluations."""
    budget: int | Mapping[str, int]
    """Evaluations per run, the same for all or by method."""
    shown: Callable[[float], float] = float
    """The best reward as a practitioner reads it, such as a cost."""
    number: int = 0
    """Number of the problem: that of a run is this, times :data:`TOGETHER`, plus its seed."""


def compare(contests: Sequence[Contest], seeds: int, jobs: int = 1) -> list[Run]:
    """Run every method of every contest with every seed.

    Parameters
    ----------
    contests : sequence of Contest
        What is compared, on one problem or several.
    seeds : int
        Runs per method, with the seeds 0, 1, 2, …
    jobs : int
        Number of runs at the same time, each in a process of its own; −1 for one per core.
    """
    names = dict.fromkeys(name for contest in contests for name in contest.methods)
    tasks = [
        (contest, name, seed)
        for name in names
        for contest in contests
        if name in contest.methods
        for seed in range(seeds)
    ]
    return run_tasks(_one_run, tasks, jobs if jobs > 0 else os.cpu_count() or 1, sys.stderr.isatty())


def _one_run(contest: Contest, name: str, seed: int) -> Run:
    budget = contest.budget if isinstance(contest.budget, int) else contest.budget[name]
    evaluate = Evaluations(contest.reward, budget)
    began, began_cpu = time.perf_counter(), time.process_time()
    with suppress(BudgetSpent):
        contest.methods[name](evaluate, seed)
    wall, cpu = time.perf_counter() - began, time.process_time() - began_cpu
    best = [contest.shown(float(value)) for value in np.maximum.accumulate(evaluate.rewards)]
    return Run(name, TOGETHER * contest.number + seed, best, wall, cpu - evaluate.cpu_seconds)


# What a comparison writes --------------------------------------------------------------------------------


def write(folder: Path, runs: Sequence[Run], about: Mapping[str, Any]) -> None:
    """``curves.csv`` (where the best value changes), ``runs.csv`` (times) and ``comparison.json``."""
    changes = [
        (run.method, run.seed, count, f"{value:.7g}")
        for run in runs
        for count, value in enumerate(run.best, start=1)
        if count in (1, len(run.best)) or value != run.best[count - 2]
    ]
    write_csv(folder / "curves.csv", ("method", "seed", "evaluations", "best"), changes)
    times = [(run.method, run.seed, f"{run.wall_seconds:.3f}", f"{run.own_seconds:.3f}") for run in runs]
    write_csv(folder / "runs.csv", ("method", "seed", "wall_seconds", "own_seconds"), times)
    write_settings(folder, "comparison", about)


def read(folder: Path) -> list[Run]:
    """The runs that :func:`write` wrote."""
    best: dict[tuple[str, int], list[float]] = {}
    for row in read_csv(folder / "curves.csv"):
        curve = best.setdefault((row["method"], int(row["seed"])), [])
        curve += curve[-1:] * (int(row["evaluations"]) - 1 - len(curve)) + [float(row["best"])]
    times = {
        (row["method"], int(row["seed"])): (float(row["wall_seconds"]), float(row["own_seconds"]))
        for row in read_csv(folder / "runs.csv")
    }
    return [Run(*run, best[run], *seconds) for run, seconds in times.items()]


def averaged(runs: Sequence[Run], number: Callable[[Run], int], mean: Callable[..., Any]) -> list[Run]:
    """One run per method and ``number(run)``: the mean of their values; shorter runs keep their last."""
    groups: dict[tuple[str, int], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.method, number(run)), []).append(run)
    found = []
    for (method, own), group in groups.items():
        longest = max(len(run.best) for run in group)
        curves = [run.best + run.best[-1:] * (longest - len(run.best)) for run in group]
        seconds = np.mean([(run.wall_seconds, run.own_seconds) for run in group], axis=0)
        found.append(Run(method, own, mean(curves, axis=0).tolist(), *seconds.tolist()))
    return found


def at(runs: Sequence[Run], method: str, count: int) -> "tuple[float, float]":
    """Mean and standard error of a method's best value after ``count`` evaluations.

    A run that ended earlier keeps its last value.
    """
    values = _values(runs, method, count)
    with np.errstate(invalid="ignore"):  # a run in which everything failed so far has an infinite value
        error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
        return float(np.mean(values)), float(error)


def _values(runs: Sequence[Run], method: str, count: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Best values of a method's runs after ``count`` evaluations, in the order of their seeds."""
    own = sorted((run for run in runs if run.method == method), key=lambda run: run.seed)
    return np.array([run.best[min(count, len(run.best)) - 1] for run in own])


def differences(runs: Sequence[Run], counts: Sequence[int], digits: int, record: bool = False) -> str:
    """The first method against the others in Markdown: mean difference of runs with the same seed, and error.

    With ``record``, also the numbers of seeds with a larger, an equal and a smaller value.
    """
    ours, *others = dict.fromkeys(run.method for run in runs)
    rows = []
    for other in others:
        cells = []
        for count in counts:
            apart = np.round(_values(runs, ours, count) - _values(runs, other, count), 6)
            error = apart.std(ddof=1) / np.sqrt(apart.size) if apart.size > 1 else 0.0
            cells.append(f"{apart.mean():+.{digits}f} ± {error:.{digits}f}")
            if record:
                cells[-1] += f" ({np.sum(apart > 0)} / {np.sum(apart == 0)} / {np.sum(apart < 0)})"
        rows.append([other, *cells])
    return markdown.table([f"{ours} minus", *(f"after {count}" for count in counts)], rows)


def table(runs: Sequence[Run], counts: Sequence[int], digits: int) -> str:
    """The comparison in Markdown: best values after some numbers of evaluations, and times."""
    rows, once = [], len({run.seed for run in runs}) == 1  # no error can be told
    form = "{:.{d}f}" if once else "{:.{d}f} ± {:.{d}f}"
    for method in dict.fromkeys(run.method for run in runs):
        cells = [form.format(*at(runs, method, count), d=digits) for count in counts]
        own = np.mean([run.own_seconds / len(run.best) for run in runs if run.method == method])
        wall = np.mean([run.wall_seconds for run in runs if run.method == method])
        rows.append([method, *cells, f"{1000 * own:.1f}", f"{wall:.1f}"])
    heads = [f"after {count}" for count in counts]
    head = "one run" if once else "mean ± standard error"
    return markdown.table([head, *heads, "own ms / evaluation", "wall s / run"], rows)


class Panel(NamedTuple):
    """A part of the picture of a comparison."""

    title: str
    """What was compared."""
    ylabel: str
    """What a best value is."""
    runs: Sequence[Run]
    """The runs that are shown."""
    levels: Mapping[str, float] = MappingProxyType({})
    """Values to compare with, drawn as horizontal lines."""


def report(
    folder: Path, runs: Sequence[Run], table: str, panels: Sequence[Panel], about: Mapping[str, Any]
) -> None:
    """Write the files of a comparison, print its table, and put it into the folder's README if it has one."""
    write(folder, runs, about)
    draw(folder / "comparison.png", panels)
    print(table)
    if (folder / "README.md").exists():
        markdown.put(folder / "README.md", {"results": table})


def draw(path: Path, panels: Sequence[Panel]) -> None:
    """Mean best values against evaluations with their standard errors."""
    drawn = figure(7.0 if len(panels) == 1 else 4.5 * len(panels), 4.2)
    for axes, panel in zip(drawn.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        _draw_panel(axes, panel)
    drawn.savefig(path, dpi=130)


def _draw_panel(axes: "Axes", panel: Panel) -> None:
    seen = list(panel.levels.values())
    for colour, method in zip(COLOURS, dict.fromkeys(run.method for run in panel.runs), strict=False):
        longest = max(len(run.best) for run in panel.runs if run.method == method)
        counts = np.arange(1, longest + 1)
        mean, error = np.array([at(panel.runs, method, int(count)) for count in counts]).T
        seen += mean[_FIRST_SHOWN:].tolist()
        axes.plot(counts, mean, label=method, color=colour)
        axes.fill_between(counts, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0.0)
    for style, (name, value) in zip((":", "--", "-."), panel.levels.items(), strict=False):
        axes.axhline(value, color="black", linestyle=style, linewidth=1.0, label=name)
    axes.set(xlabel="evaluations", ylabel=panel.ylabel, title=panel.title, xscale="log")
    if np.isfinite(seen).all() and np.ptp(seen or [0.0]) > 0.0:
        axes.set_ylim(min(seen) - 0.05 * np.ptp(seen), max(seen) + 0.05 * np.ptp(seen))
    axes.legend(fontsize="small")
