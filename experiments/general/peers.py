"""Methods to compare with, for any :class:`~experiments.general.spaces.Space`."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.parameters import Parameter, answered
from experiments.general.problems import Instance, Scores
from experiments.general.spaces import Space
from experiments.harness import peers
from experiments.harness.evaluations import BudgetSpent, Evaluations


class Run(NamedTuple):
    """What a method has done."""

    scores: FloatArray
    """Score of what the method would recommend after each evaluation: of its best point, or, with noise, the
    true score of what it says is best. Fewer than the budget if the method proposed nothing new."""
    seconds: float
    """The method's own CPU time, without that of the scores."""


Peer = Callable[[Instance, int, int], Run]
"""``peer(instance, budget, seed)``."""
Method = Callable[[Evaluations, Space, int], None]
"""``method(evaluate, space, seed)`` evaluates points, which are rows of whole numbers."""


def evaluations(instance: Instance, budget: int, seed: int) -> Evaluations:
    """Evaluates the points of an instance."""
    read = with_noise(instance, seed)
    return Evaluations(
        lambda point: read(point[None])[0],
        budget,
        key=lambda point: point.tobytes(),
        noisy=instance.noise > 0.0,
    )


def with_noise(instance: Instance, seed: int) -> Scores:
    """The scores as a run reads them."""
    if instance.noise == 0.0:
        return instance.scores
    rng = np.random.default_rng([seed, 4])
    return lambda points: instance.scores(points) + instance.noise * rng.normal(size=len(points))


def as_peer(method: Method) -> Peer:
    """A method that is timed; packages must have been imported by an earlier run."""

    def run(instance: Instance, budget: int, seed: int) -> Run:
        evaluate, began = evaluations(instance, budget, seed), time.process_time()
        with suppress(BudgetSpent):
            method(evaluate, instance.space, seed)
        seconds = time.process_time() - began - evaluate.cpu_seconds
        return Run(_recommended(instance, evaluate), seconds)

    return run


def _recommended(instance: Instance, evaluate: Evaluations) -> FloatArray:
    """True scores of what a method recommends; if it says nothing, of the point with the best reading."""
    best = np.maximum.accumulate(evaluate.rewards)
    if not evaluate.noisy:
        return best
    first = np.array([evaluate.rewards.index(reading) for reading in best])
    points = [
        evaluate.recommended.get(number, evaluate.points[which]) for number, which in enumerate(first, 1)
    ]
    return instance.scores(np.array(points))


def random_search(evaluate: Evaluations, space: Space, seed: int) -> None:
    """Random points."""
    rng = np.random.default_rng(seed)
    peers.random_search(evaluate, lambda: space.sample(1, rng)[0])


def hill_climbing(evaluate: Evaluations, space: Space, seed: int) -> None:
    """From a random point, take the first change that helps; start again where none does."""
    rng = np.random.default_rng(seed)

    def neighbours(point: IntArray) -> IntArray:
        return rng.permutation(space.neighbours(point, rng))

    peers.hill_climbing(evaluate, lambda: space.sample(1, rng)[0], neighbours)


POPULATION, ENTERED = 20, 3


def genetic_algorithm(evaluate: Evaluations, space: Space, seed: int) -> None:
    """Tournaments of three, children of two parents with one random change on average; the worst one dies."""
    rng = np.random.default_rng(seed)
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


def _winner(fitness: Sequence[float], rng: np.random.Generator) -> int:
    entered = rng.choice(len(fitness), ENTERED, replace=False)
    return int(max(entered, key=lambda number: fitness[number]))


PATIENCE = 100
"""Number of known points in a row after which a package is taken to have converged."""


def optuna_tpe(evaluate: Evaluations, space: Space, seed: int) -> None:
    """Optuna's default, the multivariate tree-structured Parzen estimator.

    Options are categorical suggestions, made only where they exist; numbers are its integers and floats, on a
    scale of logarithms where they are, rounded to the nearest option. Orders and subsets of fixed size
    are made of one float per item: their order, or the k largest.
    """
    parameters = space.parameters()

    def suggest(trial: Any) -> Any:
        def ask(parameter: Parameter) -> Any:
            if parameter.options is None:
                return trial.suggest_float(parameter.name, 0.0, 1.0)
            scale = parameter.scale
            if scale is None:
                return trial.suggest_categorical(parameter.name, range(parameter.options))
            if scale.whole:
                number = trial.suggest_int(parameter.name, int(scale.low), int(scale.high), log=scale.log)
            else:
                number = trial.suggest_float(parameter.name, scale.low, scale.high, log=scale.log)
            return scale.nearest(number)

        return answered(parameters, ask, space.made)

    peers.tpe(evaluate, suggest, seed, patience=PATIENCE)
