"""The best score of every instance, and the mean score of random points: what regret is measured by.

``python -m experiments.general.optima`` computes them (an hour on one core) and writes ``optima.csv`` into
this folder, with a point that has the best score. Some problems come with a proven solution, and small ones are
enumerated. The others are climbed many times, and the file states how many climbs ended at the best score.
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
    point: tuple[int, ...]
    """A point that has it."""

    def regret(self, score: FloatArray) -> FloatArray:
        """0 at the best score, 1 at the mean score of random points."""
        return (self.best - score) / (self.best - self.random)


def scale_of(task: Task, number: int) -> Scale:
    """The scale of the instance of a run."""
    return scales()[task.original, number % TASKS[task.original].instances]


@cache
def scales() -> dict[tuple[str, int], Scale]:
    """All of the file, by problem and instance; a relabelled problem has those of the original."""
    return {
        (row["problem"], int(row["instance"])): Scale(
            float(row["best"]), float(row["random"]), row["how"], tuple(map(int, row["point"].split()))
        )
        for row in read_csv(FILE)
    }


def compute(task: Task, number: int, climbs: int = CLIMBS) -> Scale:
    """The scale of an instance, computed."""
    instance, rng = task.make(number), np.random.default_rng([number, 1])
    random = float(instance.scores(instance.space.sample(RANDOM, rng)).mean())
    if task.solve is not None:
        return _scale(instance, random, "proven", task.solve(number))
    if instance.space.size <= ENUMERATED and not task.slow:
        best = max((_best_of(instance, points) for points in instance.space.everything()), key=_height)
        return _scale(instance, random, "enumerated", best[0])
    ends = [climb(instance, rng) for _ in range(climbs)]
    point, height = max(ends, key=_height)
    reached = sum(end[1] >= height - 1e-9 for end in ends)
    return _scale(instance, random, f"{reached} of {climbs} climbs", point)


End = tuple[IntArray, float]
"""A point and its score."""


def _height(end: End) -> float:
    return end[1]


def _best_of(instance: Instance, points: IntArray) -> End:
    scores = instance.scores(points)
    return points[scores.argmax()], float(scores.max())


def _scale(instance: Instance, random: float, how: str, point: IntArray) -> Scale:
    """The scale whose best score is that of a point."""
    best = float(instance.scores(point[None])[0])
    return Scale(best, random, how, tuple(point.tolist()))


def climb(instance: Instance, rng: np.random.Generator) -> End:
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
    return point, score


def write(names: Sequence[str] = ()) -> None:
    """Compute the scales of all problems, or of some, and write the file; the others keep their lines."""
    tasks = [task for task in TASKS.values() if task.original == task.name]
    found = dict(scales()) if FILE.exists() else {}
    todo = [(task, n) for task in tasks if not names or task.name in names for n in range(task.instances)]
    for task, number in tqdm(todo, unit="instance"):
        found[task.name, number] = compute(task, number)
        order = [key for task in tasks for n in range(task.instances) if (key := (task.name, n)) in found]
        rows = [(key, found[key]) for key in order]
        cells = (
            [*key, f"{scale.best:.12g}", f"{scale.random:.6g}", scale.how, " ".join(map(str, scale.point))]
            for key, scale in rows
        )
        write_csv(FILE, ["problem", "instance", *Scale._fields], cells)


if __name__ == "__main__":
    write(sys.argv[1:])
