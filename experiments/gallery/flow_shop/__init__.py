"""Which order? A flow shop: the order of jobs with the shortest makespan, by simulation."""

from collections.abc import Sequence

import numpy as np

from experiments.gallery import frame

COUNTS = (100, 200, 500)
"""Numbers of evaluations in the table."""
RUNS_PER_INSTANCE = 100
"""A run's number is its instance, times this, plus its seed."""


def by_instance(runs: Sequence[frame.Run]) -> list[frame.Run]:
    """One run per method and instance, the mean of its seeds: they are not independent of each other."""
    groups: dict[tuple[str, int], list[frame.Run]] = {}
    for run in runs:
        groups.setdefault((run.method, run.seed // RUNS_PER_INSTANCE), []).append(run)
    return [
        frame.Run(
            method,
            instance,
            np.mean([run.best for run in group], axis=0).tolist(),
            float(np.mean([run.wall_seconds for run in group])),
            float(np.mean([run.own_seconds for run in group])),
        )
        for (method, instance), group in groups.items()
    ]


def table(runs: Sequence[frame.Run]) -> str:
    """Distances from the best known makespan, and how much dagsearch is ahead instance by instance."""
    means = by_instance(runs)
    return f"{frame.table(means, COUNTS, digits=2)}\n\n{frame.differences(means, COUNTS, digits=2)}"
