"""The scale of regret: the best score of every instance, and the mean score of random points.

``python -m experiments.general.optima`` computes them (an hour on one core) and writes ``optima.csv`` into
this folder, with a point that has the best score. Some problems come with a proven solution, and small
ones are enumerated. The others are climbed many times, and the file states how many climbs ended at the
best score.
"""

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems import TASKS, Instance
from experiments.general.spaces import Places, Space
from experiments.harness.peers import ascend
from experiments.harness.runner import run_tasks, write_csv

FILE = Path(__file__).with_name("optima.csv")
ENUMERATED = 1 << 24
"""Largest number of points to enumerate."""
CLIMBS = 100
"""Number of climbs if there are more points."""
KICKS = 15
"""Number of times that a climb continues after a few random changes."""
CHANGES = 3
"""Number of these changes."""
RANDOM = 100_000
"""Number of random points."""


class Scale(NamedTuple):
    """The two scores of an instance that define regrets of 0 and 1."""

    best: float
    """The largest score, or the largest known one."""
    random: float
    """Mean score of random points."""
    how: str
    """How the best score is known."""
    point: tuple[int, ...]
    """A point with the best score."""

    def regret(self, score: FloatArray) -> FloatArray:
        """0 at the best score, 1 at the mean score of random points."""
        return (self.best - score) / (self.best - self.random)


@cache
def scales() -> dict[tuple[str, int], Scale]:
    """All scales of the file, by problem and instance; a relabelled problem has those of the original."""
    return {
        (name, number): Scale(best, random, how, tuple(map(int, point.split())))
        for name, number, best, random, how, point in pd.read_csv(FILE, dtype={"point": str}).to_numpy()
    }


def compute(name: str, number: int) -> Scale:
    """Compute the scale of an instance."""
    task = TASKS[name]
    instance, rng = task.make(number), np.random.default_rng([number, 1])
    random = float(instance.scores(instance.space.sample(RANDOM, rng)).mean())
    if instance.best is not None:
        point, how = instance.best, "proven"
    elif instance.space.size <= ENUMERATED and not task.slow:
        peaks = [points[instance.scores(points).argmax()] for points in instance.space.everything()]
        point, how = peaks[instance.scores(np.array(peaks)).argmax()], "enumerated"
    else:
        ends = [climb(instance, rng) for _ in range(CLIMBS)]
        point, height = max(ends, key=lambda end: end[1])
        how = f"{sum(end[1] >= height - 1e-9 for end in ends)} of {CLIMBS} climbs"
    return Scale(float(instance.scores(point[None])[0]), random, how, tuple(point.tolist()))


def climb(instance: Instance, rng: np.random.Generator) -> tuple[IntArray, float]:
    """A point and its score, by iterated steepest ascent from a random point."""

    def neighbours(point: IntArray) -> IntArray:
        return instance.space.neighbours(point, rng)

    point, score = ascend(instance.scores, instance.space.sample(1, rng)[0], neighbours)
    for _ in range(KICKS):
        end, height = ascend(instance.scores, _kicked(instance.space, point, rng), neighbours)
        if height >= score:
            point, score = end, height
    return point, score


def _kicked(space: Space, point: IntArray, rng: np.random.Generator) -> IntArray:
    """A few random changes; if all places have the same options, or one option replaced everywhere.

    A few changes do not lead from 24 times one pesticide to 24 times another, which may be better: the more
    often a pesticide is used, the cheaper it is.
    """
    if isinstance(space, Places) and not space.conditions and rng.random() < 0.5:
        count = int(space.options[0])
        if count > 2 and np.all(space.options == count):
            old, new = rng.choice(count, 2, replace=False)
            return np.where(point == old, new, point)
    for _ in range(CHANGES):
        point = rng.choice(space.neighbours(point, rng))
    return point


if __name__ == "__main__":
    tasks = [task for task in TASKS.values() if task.original == task.name]
    instances = [(task.name, number) for task in tasks for number in range(task.instances)]
    cells = [
        [*instance, f"{best:.12g}", f"{random:.6g}", how, " ".join(map(str, point))]
        for instance, (best, random, how, point) in zip(
            instances, run_tasks(compute, instances, os.cpu_count() or 1), strict=True
        )
    ]
    write_csv(FILE, pd.DataFrame(cells, columns=["problem", "instance", *Scale._fields]))
