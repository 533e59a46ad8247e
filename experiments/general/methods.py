"""The compared methods: our searches, and methods for any kind of choice."""

from functools import partial

import numpy as np

from dagsearch._internal.typing import IntArray
from dagsearch.methods import default_initial
from dagsearch.search import Search
from experiments.general.problems import Instance
from experiments.general.process import gaussian_process
from experiments.general.spaces import Space
from experiments.general.stated import stated
from experiments.general.suite import Method, peer
from experiments.harness import peers
from experiments.harness.evaluations import Evaluations

OURS = "dagsearch"
INITIAL = 20
"""Number of random leaves that standardise the rewards of the paper's method, as in its section 4.3."""
EVERY = 500
"""Number of evaluations after which a search restarts."""
POPULATION, ENTERED = 20, 3
"""Sizes of the genetic algorithm's population and of its tournaments."""
PATIENCE = 100
"""Number of consecutive known points after which a package counts as converged."""

# Ours --------------------------------------------------------------------------------------------------


def counted(instance: Instance, evaluate: Evaluations) -> Instance:
    """The instance with scores that count as evaluations."""
    return instance._replace(scores=lambda points: np.array([evaluate(point) for point in points]))


def ours(evaluate: Evaluations, instance: Instance, seed: int) -> None:
    """:func:`dagsearch.search` without any setting except ``noisy``."""
    problem, initial = stated(counted(instance, evaluate)), default_initial(evaluate.budget)
    search = Search.default(problem, initial=initial, noisy=evaluate.noisy, seed=seed)
    _recommending(search, evaluate)


def paper(evaluate: Evaluations, instance: Instance, seed: int) -> None:
    """The method of the paper; it may evaluate a point again."""
    initial = min(INITIAL, evaluate.budget // 4)
    problem = stated(counted(instance, evaluate), descends=True)
    _recommending(Search.paper(problem, standardize=initial, seed=seed), evaluate)


def _recommending(search: Search, evaluate: Evaluations) -> None:
    """Run a search; with noisy scores, record its recommendation after each evaluation."""
    first: dict[object, int] = {}
    for number, evaluation in enumerate(search.steps(evaluate.budget)):
        first.setdefault(evaluation.leaf, number)
        if evaluate.noisy:
            best = search.incumbent()
            assert best is not None
            evaluate.recommended[number + 1] = evaluate.points[first[best.leaf]]


def restarted(evaluate: Evaluations, instance: Instance, seed: int) -> None:
    """:func:`dagsearch.search` repeatedly, each time for 500 evaluations and without earlier rewards."""
    for number in range(-(-evaluate.budget // EVERY)):
        problem = stated(counted(instance, evaluate))
        Search.default(problem, initial=default_initial(EVERY), seed=1000 * seed + number).run(EVERY)


# Others ------------------------------------------------------------------------------------------------


def random_search(evaluate: Evaluations, space: Space, seed: int) -> None:
    """Random points."""
    rng = np.random.default_rng(seed)
    while True:
        evaluate(space.sample(1, rng)[0])


def hill_climbing(evaluate: Evaluations, space: Space, seed: int) -> None:
    """From a random point, make the first change that helps; restart where none does."""
    rng = np.random.default_rng(seed)

    def neighbours(point: IntArray) -> IntArray:
        return rng.permutation(space.neighbours(point, rng))

    while True:
        peers.climb(evaluate, space.sample(1, rng)[0], neighbours)


def annealing(evaluate: Evaluations, space: Space, seed: int) -> None:
    """Simulated annealing: random changes, at a temperature that falls by a factor of 1,000.

    The temperature begins at the standard deviation of 20 random points.
    """
    rng = np.random.default_rng(seed)
    points = space.sample(20, rng)
    scores = [evaluate(point) for point in points]
    point, score, first = points[int(np.argmax(scores))], max(scores), float(np.std(scores))
    while True:
        other = rng.choice(space.neighbours(point, rng))
        found = evaluate(other)
        temperature = first * 1e-3 ** (len(evaluate.rewards) / evaluate.budget)
        if found >= score or rng.random() < np.exp((found - score) / temperature):
            point, score = other, found


def genetic_algorithm(evaluate: Evaluations, space: Space, seed: int) -> None:
    """Tournaments of three, children of two parents with one random change on average; the worst dies."""
    rng = np.random.default_rng(seed)
    people = list(space.sample(POPULATION, rng))
    fitness = [evaluate(person) for person in people]
    while True:
        entered = [rng.choice(POPULATION, ENTERED, replace=False) for _ in range(2)]
        mother, father = (max(some, key=lambda number: fitness[number]) for some in entered)
        child = space.cross(people[mother], people[father], rng)
        for _ in range(rng.poisson(1.0)):
            child = rng.choice(space.neighbours(child, rng))
        score, worst = evaluate(child), int(np.argmin(fitness))
        if score >= fitness[worst]:
            people[worst], fitness[worst] = child, score


def optuna(evaluate: Evaluations, space: Space, seed: int, sampler: str) -> None:
    """A sampler of Optuna with its defaults.

    Options are categorical suggestions, made only where they exist; numbers are integers and floats, on a
    logarithmic scale if they are spaced so, rounded to the nearest option. Orders and subsets of fixed size
    come from one float per item: their order, or the k largest.
    """
    evaluate.patience = PATIENCE
    peers.optuna(evaluate, space.suggested, sampler, seed)


METHODS: dict[str, Method] = {
    OURS: Method(ours, repeats=True),
    "GP (BoTorch)": peer(gaussian_process, "botorch", "gpytorch", "torch"),
    "GP (Optuna)": peer(partial(optuna, sampler="GPSampler"), "optuna", "torch"),
    "hill climbing": peer(hill_climbing),
    "genetic": peer(genetic_algorithm),
    "TPE (Optuna)": peer(partial(optuna, sampler="TPESampler"), "optuna"),
    "paper's method": Method(paper, repeats=True),
    "random": peer(random_search),
}
"""The methods for short budgets, by their names in tables and on the command line."""
LONG: dict[str, Method] = {
    OURS: METHODS[OURS],
    f"restarted every {EVERY}": Method(restarted, repeats=True),
    "annealing": peer(annealing),
    "genetic": METHODS["genetic"],
    "hill climbing": METHODS["hill climbing"],
    "TPE (Optuna)": METHODS["TPE (Optuna)"]._replace(most=1000),
}
"""The methods for thousands of evaluations."""
