"""Methods to compare with, for any :class:`~experiments.general.spaces.Space`.

Only distinct points count as evaluations: one that is proposed again is looked up.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.benchmarks.subset_peers import import_peer, quiet
from experiments.general.problems import Instance


class Run(NamedTuple):
    """What a method has done."""

    scores: FloatArray
    """Score of every evaluation, in order; fewer than the budget if the method proposed nothing new."""
    seconds: float
    """The method's own CPU time, without that of the scores."""
    probability: float | None = None
    """What the method says at the end about its best point being the best of all."""


Peer = Callable[[Instance, int, int], Run]
"""``peer(instance, budget, seed)``."""


class Spent(Exception):
    """The budget is spent, or nothing new is proposed."""


class Evaluator:
    """Evaluates, counts and times the points that a peer proposes; raises :class:`Spent` at the end.

    The clock of a peer's own time starts with the constructor: import packages before.

    Parameters
    ----------
    instance : Instance
        What is searched.
    budget : int
        Maximum number of distinct points.
    patience : int
        Number of known points in a row after which the peer is ended: it proposes nothing new.
    """

    def __init__(self, instance: Instance, budget: int, patience: int = 10_000) -> None:
        self.space, self._scores = instance.space, instance.scores
        self._budget, self._patience = budget, patience
        self.points: list[IntArray] = []
        self.scores: list[float] = []
        self._known: dict[bytes, float] = {}
        self._repeats = 0
        self._paid = 0.0
        self._began = time.process_time()

    def __call__(self, point: IntArray) -> float:
        name = point.tobytes()
        score = self._known.get(name)
        if score is not None:
            self._repeats += 1
            if self._repeats >= self._patience:
                raise Spent
            return score
        self._repeats = 0
        began = time.process_time()
        score = self._known[name] = float(self._scores(point[None])[0])
        self._paid += time.process_time() - began
        self.points.append(point)
        self.scores.append(score)
        if len(self.scores) == self._budget:
            raise Spent
        return score

    def knows(self, points: IntArray) -> Sequence[bool]:
        """Whether each point has been evaluated."""
        return [point.tobytes() in self._known for point in points]

    def run(self) -> Run:
        """What has been done; call it once, at the end."""
        seconds = time.process_time() - self._began - self._paid
        return Run(np.array(self.scores), seconds)


def random_search(instance: Instance, budget: int, seed: int) -> Run:
    """Random points."""
    evaluate, rng = Evaluator(instance, budget), np.random.default_rng(seed)
    with suppress(Spent):
        while True:
            evaluate(instance.space.sample(1, rng)[0])
    return evaluate.run()


def hill_climbing(instance: Instance, budget: int, seed: int) -> Run:
    """From a random point, take the first change that helps; start again where none does."""
    evaluate, rng = Evaluator(instance, budget), np.random.default_rng(seed)
    with suppress(Spent):
        while True:
            _climb(evaluate, rng)
    return evaluate.run()


def _climb(evaluate: Evaluator, rng: np.random.Generator) -> None:
    point = evaluate.space.sample(1, rng)[0]
    score, climbing = evaluate(point), True
    while climbing:
        climbing = False
        for neighbour in rng.permutation(evaluate.space.neighbours(point, rng)):
            if (found := evaluate(neighbour)) > score:
                point, score, climbing = neighbour, found, True
                break


POPULATION, ENTERED = 20, 3


def genetic_algorithm(instance: Instance, budget: int, seed: int) -> Run:
    """Tournaments of three, children of two parents with one random change on average; the worst one dies."""
    evaluate, rng = Evaluator(instance, budget), np.random.default_rng(seed)
    space = instance.space
    with suppress(Spent):
        people = list(space.sample(POPULATION, rng))
        fitness = [evaluate(person) for person in people]
        while True:
            mother, father = (_winner(fitness, rng) for _ in range(2))
            child = space.cross(people[mother], people[father], rng)
            for _ in range(rng.poisson(1.0)):
                child = rng.choice(space.neighbours(child, rng))
            score, worst = evaluate(child), int(np.argmin(fitness))
            if score >= fitness[worst]:
                people[worst], fitness[worst] = child, score
    return evaluate.run()


def _winner(fitness: Sequence[float], rng: np.random.Generator) -> int:
    entered = rng.choice(len(fitness), ENTERED, replace=False)
    return int(max(entered, key=lambda number: fitness[number]))


def optuna_tpe(instance: Instance, budget: int, seed: int) -> Run:
    """Optuna's default, the multivariate tree-structured Parzen estimator.

    Places are categorical suggestions, made only where they exist. Orders and subsets of fixed size are
    made of one float per item: their order, or the k largest.
    """
    optuna = import_peer("optuna")
    # Once it has converged it proposes the same point for ever, more slowly each time.
    evaluate = Evaluator(instance, budget, patience=100)
    with quiet(optuna.logging), suppress(Spent):
        sampler = optuna.samplers.TPESampler(seed=seed)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        while True:
            trial = study.ask()
            study.tell(trial, evaluate(instance.space.suggest(trial)))
    return evaluate.run()
