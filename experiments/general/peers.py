"""Methods to compare with, for any :class:`~experiments.general.spaces.Space`."""

from collections.abc import Sequence

import numpy as np

from dagsearch._internal.typing import IntArray
from experiments.general.spaces import Space
from experiments.harness import peers
from experiments.harness.evaluations import Evaluations


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
    evaluate.patience = PATIENCE
    peers.tpe(evaluate, space.suggested, seed)
