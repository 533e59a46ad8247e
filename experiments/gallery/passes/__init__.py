"""Which compiler passes, in which order? LLVM."""

from collections.abc import Sequence

import numpy as np

from experiments.gallery import frame
from experiments.harness import markdown

COUNTS = (100, 250, 500, 1000, 2000)
"""Numbers of applied passes in the table of the README."""
RUNS_PER_PROGRAM = 100
"""A run's number is that of its program, times this, plus its seed."""


def by_seed(runs: Sequence[frame.Run]) -> list[frame.Run]:
    """One run per method and seed: the geometric mean over the programs."""
    groups: dict[tuple[str, int], list[frame.Run]] = {}
    for run in runs:
        groups.setdefault((run.method, run.seed % RUNS_PER_PROGRAM), []).append(run)
    return [
        frame.Run(
            method,
            seed,
            _geometric_means(group),
            float(np.mean([run.wall_seconds for run in group])),
            float(np.mean([run.own_seconds for run in group])),
        )
        for (method, seed), group in groups.items()
    ]


def _geometric_means(runs: Sequence[frame.Run]) -> list[float]:
    longest = max(len(run.best) for run in runs)
    curves = [np.append(run.best, [run.best[-1]] * (longest - len(run.best))) for run in runs]
    means: list[float] = np.exp(np.mean(np.log(curves), axis=0)).tolist()
    return means


def table(runs: Sequence[frame.Run]) -> str:
    """How many times as many instructions -Oz leaves, over all programs and for each of them."""
    methods = list(dict.fromkeys(run.method for run in runs))
    numbers = sorted({run.seed // RUNS_PER_PROGRAM for run in runs})
    rows = []
    for number in numbers:
        own = [run for run in runs if run.seed // RUNS_PER_PROGRAM == number]
        rows.append(
            [_names()[number], *(f"{frame.at(own, method, COUNTS[-1])[0]:.3f}" for method in methods)]
        )
    each = markdown.table([f"program, after {COUNTS[-1]}", *methods], rows)
    return f"{frame.table(by_seed(runs), COUNTS, digits=3)}\n\n{each}"


def _names() -> Sequence[str]:
    from experiments.gallery.passes.programs import NAMES

    return NAMES
