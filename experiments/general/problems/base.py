"""An instance of a problem, and its entry in the table of problems."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.spaces import Places, Space

Scores = Callable[[IntArray], FloatArray]
"""Scores of points, shape ``(m,)``, given one row per point; large is good."""


class Instance(NamedTuple):
    """What is to be searched."""

    space: Space
    """The points."""
    scores: Scores
    """Their scores."""


@dataclass(frozen=True)
class Task:
    """A problem of the benchmark."""

    name: str
    """Its name in tables and on the command line."""
    kind: str
    """Which kind of choice it is."""
    what: str
    """What is chosen, in a few words."""
    budget: int
    """Number of evaluations."""
    make: Callable[[int], Instance]
    """The instance with a number."""
    instances: int = 4
    """Number of different instances; the runs take them in turn."""
    relabels: str | None = None
    """The problem that this one is with its options in another order, if it is one."""
    optimum: float | None = None
    """The largest score, where it is known without computing."""
    slow: bool = False
    """Whether scores take too long to enumerate all points."""

    def instance(self, number: int) -> Instance:
        """The instance of a run."""
        return self.make(number % self.instances)


def relabelled(task: Task) -> Task:
    """The same problem with the options of every place in random order, another one for every instance."""

    def make(number: int) -> Instance:
        space, scores = task.make(number % task.instances)
        assert isinstance(space, Places)
        assert not space.conditions
        rng = np.random.default_rng([number, 2])
        meant = [rng.permutation(count) for count in space.options]

        def relabelled_scores(points: IntArray) -> FloatArray:
            columns = [order[column] for order, column in zip(meant, points.T, strict=True)]
            return scores(np.stack(columns, axis=1))

        return Instance(space, relabelled_scores)

    what = f"{task.what}; options in random order"
    return replace(
        task, name=f"{task.name}-relabelled", what=what, make=make, instances=4, relabels=task.name
    )
