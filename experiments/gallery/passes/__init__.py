"""Which compiler passes, in which order? LLVM."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from experiments.gallery import frame
from experiments.harness import markdown

COUNTS = (100, 250, 500, 1000, 2000)
"""Numbers of applied passes in the table of the README."""
OURS, ON_A_TREE = "dagsearch", "dagsearch on a tree"
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
    return "\n\n".join(filter(None, (means(runs), merging(runs), each)))


def means(runs: Sequence[frame.Run]) -> str:
    """The geometric means over all programs, with the number of seeds of every method."""
    found = by_seed(runs)
    seeds = Counter(run.method for run in found)
    named = [run._replace(method=f"{run.method}, {_counted(seeds[run.method])}") for run in found]
    return frame.table(named, COUNTS, digits=3)


def merging(runs: Sequence[frame.Run]) -> str:
    """The search over the same one on a tree, run by run with the same program and seed."""
    ours, tree = ({run.seed: run.best for run in runs if run.method == name} for name in (OURS, ON_A_TREE))
    both = sorted(ours.keys() & tree.keys())
    if len(both) < 2:
        return ""
    cells = []
    for count in COUNTS:
        ratios = [np.log(_at(ours[seed], count) / _at(tree[seed], count)) for seed in both]
        mean, error = np.mean(ratios), np.std(ratios, ddof=1) / np.sqrt(len(ratios))
        cells.append(f"{np.exp(mean):.3f} ± {error:.3f}")
    return markdown.table(
        [f"{OURS} over {ON_A_TREE}, {len(both)} pairs", *(f"after {count}" for count in COUNTS)],
        [["instructions left there over those left here", *cells]],
    )


def _at(best: Sequence[float], count: int) -> float:
    return best[min(count, len(best)) - 1]


def _counted(seeds: int) -> str:
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


def _names() -> Sequence[str]:
    from experiments.gallery.passes.programs import NAMES

    return NAMES
