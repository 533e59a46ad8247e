"""Figures of the attacks: written, added to those of earlier runs, and shown."""

import importlib.util
import json
import math
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from experiments.harness import markdown
from experiments.harness.markdown import table
from experiments.harness.runner import ExperimentError, Outcome, Row, read_rows
from tests.durable.attacks.campaign import Found, campaign

NAME = "attacks"
BROKEN = ("rewards lost", "repeated beyond pending")
"""Figures that must be zero."""
OPERATIONS = 100_000
"""Number of operations by default."""
QUICK = 300
"""Number of operations of the small version."""


def run(
    *,
    operations: int,
    seconds: float | None = None,
    jobs: int = 1,
    seed: int | None = None,
    kinds: Sequence[str] = (),
    out: Path | None = None,
    progress: bool = True,
) -> Outcome:
    """Attack searches until there are enough operations.

    Parameters
    ----------
    operations : int
        Number of operations.
    seconds : float, optional
        Time after which no further sequence of operations begins.
    jobs : int
        Number of processes.
    seed : int, optional
        The first seed; by default the first one that the results in ``out`` do not have.
    kinds : sequence of str
        Kinds of search; all that are installed by default.
    out : Path, optional
        Folder with results of earlier runs, to which the new ones are added.
    progress : bool
        Whether to show the progress.
    """
    if importlib.util.find_spec("hypothesis") is None:
        raise ExperimentError("attacks needs Hypothesis: pip install 'dagsearch[test]'")
    from tests.durable.attacks.machine import kinds_installed

    known = kinds_installed()
    unknown = sorted(set(kinds) - set(known))
    if unknown:
        raise ExperimentError(f"attacks does not know {', '.join(unknown)}: choose among {', '.join(known)}")
    rows, runs, failures = _earlier(out)
    seed = _first_seed(runs, seed)
    chosen, began = list(kinds or known), time.perf_counter()
    limit = math.inf if seconds is None else seconds
    found = list(campaign(chosen, seed, operations, limit, jobs, progress))
    taken = time.perf_counter() - began
    rows += _rows(found, seed)
    runs.append(
        {
            "first seed": seed,
            "seeds": len(found),
            "operations": sum(one.figures["operations"] for one in found),
            "seconds": round(taken, 1),
            "processes": jobs,
            "cores": os.cpu_count(),
            "kinds": chosen,
        }
    )
    failures += [failure._asdict() for one in found for failure in one.failures]
    return Outcome(NAME, rows, {"runs": runs, "failures": failures})


def _earlier(out: Path | None) -> tuple[list[Row], list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows, runs and failures of earlier runs."""
    if out is None or not (out / f"{NAME}.json").exists():
        return [], [], []
    about = json.loads((out / f"{NAME}.json").read_text())
    return read_rows(out / f"{NAME}.csv.gz"), about["runs"], about["failures"]


def _first_seed(runs: Sequence[Mapping[str, Any]], seed: int | None) -> int:
    free = max((run["first seed"] + run["seeds"] for run in runs), default=1)
    if seed is not None and seed < free:
        raise ExperimentError(
            f"--seed: the results that --out names already have the seeds below {free}, and the same "
            f"operations must not count twice. Choose {free} or more, or leave it out"
        )
    return free if seed is None else seed


def _rows(found: Sequence[Found], seed: int) -> list[Row]:
    """The figures of a run by kind of search."""
    by_kind: dict[str, Counter[str]] = {}
    for one in found:
        by_kind.setdefault(one.kind, Counter()).update(one.figures)
    return [
        Row(kind, figure, seed, 0, float(figures[figure]))
        for kind, figures in sorted(by_kind.items())
        for figure in sorted({*figures, *BROKEN})
    ]


def totals(rows: Sequence[Row]) -> dict[str, Counter[str]]:
    """The figures of each kind of search, over all runs."""
    found: dict[str, Counter[str]] = {}
    for row in rows:
        found.setdefault(row.method, Counter())[row.setting] += round(row.value)
    return found


def figures_table(rows: Sequence[Row], failures: int) -> str:
    """The figures of each kind of search as a table of a page."""
    by_kind = totals(rows)
    everything = sum(by_kind.values(), Counter[str]())
    head = ["search", "operations", "faults", "resumes", "rewards told", "states compared", *BROKEN]
    lines = [_line(kind, figures) for kind, figures in by_kind.items()]
    return table(head, [*lines, _line("**all**", everything)]) + f"\n\nFailures: {failures}."


def _line(name: str, figures: Counter[str]) -> list[str]:
    faults = sum(count for figure, count in figures.items() if figure.startswith("faults: "))
    resumes = figures["resumes"] + figures["copies resumed"]
    counts = [figures["operations"], faults, resumes, figures["rewards told"], figures["states compared"]]
    return [name, *(f"{count:,}" for count in (*counts, *(figures[broken] for broken in BROKEN)))]


def faults_table(rows: Sequence[Row]) -> str:
    """At which operation on the file what happened how often, as a table of a page."""
    everything = sum(totals(rows).values(), Counter[str]())
    faults = {figure: count for figure, count in everything.items() if figure.startswith("faults: ")}
    ends = list(dict.fromkeys(figure[8:].partition(" at a ")[0] for figure in sorted(faults)))
    places = list(dict.fromkeys(figure.partition(" at a ")[2] for figure in sorted(faults)))
    lines = [
        [end, *(f"{faults.get(f'faults: {end} at a {place}', 0):,}" for place in places)] for end in ends
    ]
    return table(["fault", *(f"at a {place}" for place in places)], lines)


def filled(text: str, folder: Path) -> str:
    """A page with the tables of the results in a folder."""
    rows, runs, failures = _earlier(folder)
    return markdown.filled(
        text,
        {
            "attacks": figures_table(rows, len(failures)),
            "faults": faults_table(rows),
            "pace of the attacks": _pace(runs),
        },
    )


def _pace(runs: Sequence[Mapping[str, Any]]) -> str:
    operations, seconds = (sum(run[what] for run in runs) for what in ("operations", "seconds"))
    processes = sorted({run["processes"] for run in runs})
    return (
        f"{operations:,} operations took {seconds / 60.0:.0f} minutes in {' or '.join(map(str, processes))} "
        f"processes: {60.0 * operations / seconds:,.0f} a minute."
    )


def summary(outcome: Outcome) -> str:
    """The figures over all runs, and the speed of the last one."""
    last, failures = outcome.settings["runs"][-1], outcome.settings["failures"]
    rules = sum(totals(outcome.rows).values(), Counter[str]())
    lines = [figures_table(outcome.rows, len(failures)), "", faults_table(outcome.rows), ""]
    lines += [f"{figure:32s} {rules[figure]:10,d}" for figure in sorted(rules) if ": " in figure]
    pace = 60.0 * last["operations"] / last["seconds"]
    lines.append(
        f"{last['operations']:,} operations now, {pace:,.0f} a minute in {last['processes']} processes"
    )
    for failure in failures:
        again = f"--only {failure['kind']!r} --seed {failure['seed']} --operations 1 --out OTHER"
        lines.append(f"FAILURE ({again}): {failure['error'][:300]}")
    lines.append("all promises kept" if not failures else f"PROMISES BROKEN {len(failures)} TIMES")
    return "\n".join(lines)
