"""The best score of every instance, and the mean score of random points: what regret is measured by.

``python -m experiments.general.optima`` computes them (half an hour on one core) and writes
``optima.csv`` into this folder. Small problems are enumerated. The others are climbed many times, and the
file states how many climbs ended at the best score.
"""

import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from tqdm import tqdm

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems import TASKS, Instance, Task
from experiments.harness.csv_files import read_csv, write_csv
from experiments.harness.peers import ascend

FILE = Path(__file__).with_name("optima.csv")
ENUMERATED = 1 << 24
"""Largest number of points that are enumerated."""
CLIMBS = 100
"""Number of climbs where there are more."""
KICKS = 15
"""Number of times that a climb goes on after a few random changes."""
RANDOM = 100_000
"""Number of random points."""


class Scale(NamedTuple):
    """Two scores of an instance between which regret is measured."""

    best: float
    """The largest score, or the largest that is known."""
    random: float
    """Mean score of random points."""
    how: str
    """How the best score is known."""

    def regret(self, score: FloatArray) -> FloatArray:
        """0 at the best score, 1 at the mean score of random points."""
        return (self.best - score) / (self.best - self.random)


def scale_of(task: Task, number: int) -> Scale:
    """The scale of the instance of a run."""
    return scales()[task.relabels or task.name, number % TASKS[task.relabels or task.name].instances]


@cache
def scales() -> dict[tuple[str, int], Scale]:
    """All of the file, by problem and instance; a relabelled problem has those of the original."""
    return {
        (row["problem"], int(row["instance"])): Scale(float(row["best"]), float(row["random"]), row["how"])
        for row in read_csv(FILE)
    }


def compute(task: Task, number: int, climbs: int = CLIMBS) -> Scale:
    """The scale of an instance, computed."""
    instance, rng = task.make(number), np.random.default_rng([number, 1])
    random = instance.scores(instance.space.sample(RANDOM, rng)).mean()
    if task.optimum is not None:
        return Scale(task.optimum, float(random), "known")
    if instance.space.size <= ENUMERATED and not task.slow:
        best = max(instance.scores(points).max() for points in instance.space.everything())
        return Scale(float(best), float(random), "enumerated")
    ends = np.array([_climb(instance, rng) for _ in range(climbs)])
    reached = int(np.sum(ends >= ends.max() - 1e-9))
    return Scale(float(ends.max()), float(random), f"{reached} of {climbs} climbs")


def _climb(instance: Instance, rng: np.random.Generator) -> float:
    """Iterated steepest ascent from a random point."""

    def neighbours(point: IntArray) -> IntArray:
        return instance.space.neighbours(point, rng)

    point, score = ascend(instance.scores, instance.space.sample(1, rng)[0], neighbours)
    for _ in range(KICKS):
        kicked = point
        for _ in range(3):
            kicked = rng.choice(neighbours(kicked))
        end, height = ascend(instance.scores, kicked, neighbours)
        if height >= score:
            point, score = end, height
    return score


def write(names: Sequence[str] = ()) -> None:
    """Compute the scales of all problems, or of some, and write the file; the others keep their lines."""
    tasks = [task for task in TASKS.values() if task.relabels is None]
    found = dict(scales()) if FILE.exists() else {}
    todo = [(task, n) for task in tasks if not names or task.name in names for n in range(task.instances)]
    for task, number in tqdm(todo, unit="instance"):
        found[task.name, number] = compute(task, number)
        order = [key for task in tasks for n in range(task.instances) if (key := (task.name, n)) in found]
        rows = [(key, found[key]) for key in order]
        cells = ([*key, f"{best:.12g}", f"{random:.6g}", how] for key, (best, random, how) in rows)
        write_csv(FILE, ["problem", "instance", *Scale._fields], cells)


if __name__ == "__main__":
    write(sys.argv[1:])
