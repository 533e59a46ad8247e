"""``python -m tests.durable.crashes``: journals after kills, power cuts and damage at every possible place.

- :mod:`kills`: a process is killed before, in the middle of and after every operation on the file.
- :mod:`power`: every content that a disk may have if the power is cut between two operations.
- :mod:`damage`: every byte changed, and the file cut off at every length.

After each of these the promises 1 to 4 of ``docs/durability.md`` are checked.
"""

import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dagsearch._internal.threads import one_thread
from experiments.harness.runner import Outcome, Row
from tests.durable.crashes import damage, kills, power
from tests.durable.crashes.workloads import WORKLOADS

__all__ = ["TRIED", "failures", "run", "summary"]

TRIED = (
    "crash points",
    "contents",
    "changed bytes",
    "truncations",
    "parts of zeros",
    "rewards confirmed",
    "files of zeros before a search began",
)
"""Figures that say how much was tried; all others count what must not happen."""


def run(*, quick: bool = False) -> Outcome:
    """Try every crash of a small run by every kind of search, or ``quick`` some crashes of two kinds."""
    rows: list[Row] = []
    names = ("paper", "batch") if quick else tuple(WORKLOADS)
    logging.getLogger("dagsearch").setLevel(logging.ERROR)  # it warns of journals that never began
    with one_thread(), tempfile.TemporaryDirectory() as folder:
        for name in names:
            place = Path(folder, name)
            place.mkdir()
            workload = WORKLOADS[name]
            rows += _rows(name, kills.sweep(workload, place, every=7 if quick else 1))
            rows += _rows(name, power.sweep(workload, place, every=7 if quick else 1))
            rows += _rows(name, damage.sweep(workload, place, every=97 if quick else 1))
    return Outcome("crashes", rows, {"quick": quick, "workloads": list(names)})


def _rows(name: str, figures: Mapping[str, int]) -> list[Row]:
    return [Row(name, figure, 0, 0, float(count)) for figure, count in figures.items()]


def failures(outcome: Outcome) -> int:
    """Number of times that a promise was broken."""
    return round(sum(row.value for row in outcome.rows if row.setting.partition(": ")[2] not in TRIED))


def summary(outcome: Outcome) -> str:
    """All figures, and the sum over the kinds of search."""
    totals: dict[str, float] = {}
    for row in outcome.rows:
        totals[row.setting] = totals.get(row.setting, 0.0) + row.value
    kinds = ", ".join(outcome.settings["workloads"])
    lines = [f"searches: {kinds}", *(f"{figure:48s} {value:8,.0f}" for figure, value in totals.items())]
    broken = failures(outcome)
    lines.append("all promises kept" if not broken else f"PROMISES BROKEN {broken} TIMES")
    return "\n".join(lines)
