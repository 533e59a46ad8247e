"""Which pipeline? scikit-learn: preparation, reduction, model and settings with the best score."""

from collections.abc import Sequence

import numpy as np

from gallery import frame

COUNTS = (15, 30, 60)
"""Numbers of evaluations in the table."""
TABLES = ("wine", "diabetes")
"""The tables of the comparison."""
RUNS_PER_TABLE = 100
"""A run's number is that of its table, from 1, times this, plus its seed."""


def of_table(runs: Sequence[frame.Run], name: str) -> list[frame.Run]:
    """The runs on one table, numbered by their seeds."""
    first = (TABLES.index(name) + 1) * RUNS_PER_TABLE
    chosen = [run for run in runs if first <= run.seed < first + RUNS_PER_TABLE]
    return [run._replace(seed=run.seed - first) for run in chosen]


def table(runs: Sequence[frame.Run]) -> str:
    """Scores table by table, and dagsearch against the others seed by seed."""
    parts = []
    for name in TABLES:
        own = of_table(runs, name)
        if own:
            parts += [f"**{name}**", frame.table(own, COUNTS, digits=4), _against(own)]
    return "\n\n".join(parts)


def _against(runs: Sequence[frame.Run]) -> str:
    """Mean difference with its standard error, and wins, ties and losses, of runs with the same seed."""
    ours, *others = dict.fromkeys(run.method for run in runs)
    lines = [f"| {ours} minus | " + " | ".join(f"after {count}" for count in COUNTS) + " |"]
    lines.append("|---" * (len(COUNTS) + 1) + "|")
    for other in others:
        cells = []
        for count in COUNTS:
            apart = np.round(_at(runs, ours, count) - _at(runs, other, count), 6)
            error = apart.std(ddof=1) / np.sqrt(apart.size) if apart.size > 1 else 0.0
            record = f"{np.sum(apart > 0)} / {np.sum(apart == 0)} / {np.sum(apart < 0)}"
            cells.append(f"{apart.mean():+.4f} ± {error:.4f} ({record})")
        lines.append(f"| {other} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _at(runs: Sequence[frame.Run], method: str, count: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    found = sorted((run for run in runs if run.method == method), key=lambda run: run.seed)
    return np.array([run.best[min(count, len(run.best)) - 1] for run in found])
