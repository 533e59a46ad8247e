"""Which pipeline? scikit-learn: preparation, reduction, model and settings with the best score."""

from collections.abc import Sequence

from experiments.gallery import frame

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
            against = frame.differences(own, COUNTS, digits=4, record=True)
            parts += [f"**{name}**", frame.table(own, COUNTS, digits=4), against]
    return "\n\n".join(parts)
