"""What is compared: dagsearch, and what schedulers use. All evaluate orders; NEH also knows all times."""

import math
import random
from collections.abc import Iterator, Sequence
from functools import partial

import dagsearch as ds
from experiments.gallery.flow_shop.simulation import makespan
from experiments.gallery.flow_shop.taillard import Times
from experiments.gallery.frame import Method
from experiments.harness.evaluations import Evaluations
from experiments.harness.peers import climb, hill_climbing, random_search

Order = tuple[int, ...]

# Number of random moves away from the best order before the next local search.
_KICK = 3
# Final temperature of simulated annealing; makespans are whole numbers.
_COLD = 1.0
# Numbers of evaluations over which simulated annealing cools down: those at which methods are compared.
_COOLED = (200, 500)


def methods(times: Times) -> dict[str, Method]:
    """The methods by name; dagsearch first."""
    return {
        "dagsearch": _dagsearch(len(times)),
        "NEH + local search": _neh_and_local_search(times),
        **{f"annealing, cooled over {count}": _annealing(times, count) for count in _COOLED},
        "hill climbing": _hill_climbing(len(times)),
        "random orders": _random(len(times)),
    }


def neh(times: Times) -> Order:
    """The heuristic of Nawaz, Enscore and Ham (1983).

    Jobs are inserted one by one, the longest first, each where the partial order is shortest.
    """
    order: list[int] = []
    for job in sorted(range(len(times)), key=lambda job: -sum(times[job])):
        options = [[*order[:place], job, *order[place:]] for place in range(len(order) + 1)]
        order = min(options, key=lambda option: makespan(times, option))
    return tuple(order)


def _dagsearch(jobs: int) -> Method:
    def run(evaluate: Evaluations, seed: int) -> None:
        ds.search(ds.problems.Orders(range(jobs), evaluate), evaluate.budget, seed=seed)

    return run


def _neh_and_local_search(times: Times) -> Method:
    """From NEH's order down to a local optimum, then from near the best one again and again.

    The simulations of partial orders that NEH needs are not counted.
    """

    def run(evaluate: Evaluations, seed: int) -> None:
        chance, moves = random.Random(seed), _moves(len(times))
        best = climb(evaluate, neh(times), partial(_moved_once, chance))
        while True:
            start = best
            for _ in range(_KICK):
                start = _moved(start, *chance.choice(moves))
            best = max(best, climb(evaluate, start, partial(_moved_once, chance)), key=evaluate)

    return run


def _hill_climbing(jobs: int) -> Method:
    def run(evaluate: Evaluations, seed: int) -> None:
        chance = random.Random(seed)
        hill_climbing(evaluate, lambda: _random_order(jobs, chance), partial(_moved_once, chance))

    return run


def _annealing(times: Times, evaluations: int) -> Method:
    """Simulated annealing with the settings of Osman and Potts (1989): one random job is moved at a time.

    The temperature begins at a fifth of the mean processing time. It falls such that its inverse grows by the
    same amount with every evaluation, to 1 after ``evaluations``, and then stays there.
    """
    jobs, machines = len(times), len(times[0])
    hot = sum(map(sum, times)) / (5 * jobs * machines)

    def run(evaluate: Evaluations, seed: int) -> None:
        chance, moves = random.Random(seed), _moves(jobs)
        order = _random_order(jobs, chance)
        reward = evaluate(order)
        while True:
            spent = min(1.0, len(evaluate.rewards) / evaluations)
            temperature = 1.0 / (1.0 / hot + spent * (1.0 / _COLD - 1.0 / hot))
            tried = _moved(order, *chance.choice(moves))
            found = evaluate(tried)
            if found >= reward or chance.random() < math.exp((found - reward) / temperature):
                order, reward = tried, found

    return run


def _random(jobs: int) -> Method:
    def run(evaluate: Evaluations, seed: int) -> None:
        chance = random.Random(seed)
        random_search(evaluate, lambda: _random_order(jobs, chance))

    return run


def _moved_once(chance: random.Random, order: Order) -> Iterator[Order]:
    """All orders with one job moved, in random order."""
    moves = _moves(len(order))
    return (_moved(order, *move) for move in chance.sample(moves, len(moves)))


def _random_order(jobs: int, chance: random.Random) -> Order:
    return tuple(chance.sample(range(jobs), jobs))


def _moves(jobs: int) -> Sequence[tuple[int, int]]:
    """Every way to move one job to another position, each once."""
    return [(i, j) for i in range(jobs) for j in range(jobs) if j not in (i, i - 1)]


def _moved(order: Order, start: int, end: int) -> Order:
    without = [*order[:start], *order[start + 1 :]]
    return (*without[:end], order[start], *without[end:])
