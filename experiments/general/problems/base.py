"""An instance of a problem, and its entry in the table of problems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.problem import Problem
from experiments.general.spaces import Places, Space

Scores = Callable[[IntArray], FloatArray]
"""Scores of points, shape ``(m,)``, given one row per point; large is good."""
OwnClass = Callable[[Callable[[Mapping[str, Any]], float]], Problem]
"""A user's own class, made from a function that scores named values."""


State = tuple[Any, ...]
"""The first choices, one after the other."""


class Sequential:
    """A user's own class with one choice after the other; a state is the tuple of the choices so far."""

    def __init__(self, actions: Callable[[State], Sequence[Any]], reward: Callable[[State], float]) -> None:
        self._actions, self._reward = actions, reward

    def root(self) -> State:
        return ()

    def actions(self, state: State) -> Sequence[Any]:
        return self._actions(state)

    def step(self, state: State, action: Any) -> State:
        return (*state, action)

    def reward(self, leaf: State) -> float:
        return self._reward(leaf)


class Instance(NamedTuple):
    """An instance of a problem to search."""

    space: Space
    """The points."""
    scores: Scores
    """Their scores, without noise."""
    own: OwnClass | None = None
    """The user's own class for the problem, if any."""
    noise: float = 0.0
    """Standard deviation of an evaluation's noise."""
    best: IntArray | None = None
    """A point whose score is proven to be the largest, if any."""

    def read(self, seed: int) -> Scores:
        """The scores as a run reads them."""
        if self.noise == 0.0:
            return self.scores
        rng = np.random.default_rng([seed, 4])
        return lambda points: self.scores(points) + self.noise * rng.normal(size=len(points))


@dataclass(frozen=True)
class Task:
    """A problem of the benchmark."""

    name: str
    """Its name in tables and on the command line."""
    kind: str
    """Its kind of choice."""
    what: str
    """What is chosen, in a few words."""
    budget: int
    """Number of evaluations."""
    make: Callable[[int], Instance]
    """The instance with this number."""
    instances: int = 4
    """Number of different instances; the runs take them in turn."""
    relabels: str | None = None
    """The original, if this is a problem with its options in another order."""
    same: str | None = None
    """The problem with the same scores, if this one is a class of it or makes it noisy."""
    slow: bool = False
    """Whether scores take too long to enumerate all points."""
    scaled: bool = True
    """Whether regret is measured; otherwise the score itself."""

    @property
    def original(self) -> str:
        """Name of the problem that defines the best score."""
        return self.relabels or self.same or self.name

    def instance(self, number: int) -> Instance:
        """The instance of a run."""
        return self.make(number % self.instances)


def noisy(task: Task, **changes: Any) -> Task:
    """The same problem with noise of half the standard deviation of random points' scores."""

    def make(number: int) -> Instance:
        instance = task.make(number)
        random = instance.space.sample(1000, np.random.default_rng([number, 3]))
        return instance._replace(noise=0.5 * float(instance.scores(random).std()))

    return _variant(task, "noisy", make, same=task.name, **changes)


def as_class(task: Task, own: OwnClass, **changes: Any) -> Task:
    """The same problem as a class."""

    def make(number: int) -> Instance:
        return task.make(number)._replace(own=own)

    return _variant(task, "class", make, same=task.name, **changes)


def _variant(task: Task, form: str, make: Callable[[int], Instance], **changes: Any) -> Task:
    name, what = f"{task.name}-{form}", f"{task.what}; {form}"
    return replace(task, name=name, what=what, make=make, **changes)


def relabelled(task: Task) -> Task:
    """The same problem with the options of every place in random order, another one for every instance."""

    def make(number: int) -> Instance:
        instance = task.make(number % task.instances)
        space, scores = instance.space, instance.scores
        assert isinstance(space, Places)
        assert not space.conditions
        rng = np.random.default_rng([number, 2])
        meant = [rng.permutation(count) for count in space.options]

        def relabelled_scores(points: IntArray) -> FloatArray:
            columns = [order[column] for order, column in zip(meant, points.T, strict=True)]
            return scores(np.stack(columns, axis=1))

        return Instance(space, relabelled_scores)

    return _variant(task, "relabelled", make, instances=4, relabels=task.name)
