"""Which order? A flow shop: the order of jobs with the shortest makespan, by simulation.

The shop is a discrete-event simulation with SimPy; the instances are Taillard's, made by his generator: E.
Taillard, Benchmarks for basic scheduling problems, European Journal of Operational Research 64 (1993).
"""

import math
import random
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from typing import NamedTuple

import simpy

import dagsearch as ds
from experiments.harness.contest import Contest, Method, answered, compare, draw
from experiments.harness.curves import by_setting, differences, means
from experiments.harness.evaluations import Evaluations
from experiments.harness.peers import climb
from experiments.harness.runner import Outcome, Row

COUNTS = (100, 200, 500)
"""Numbers of evaluations in the table."""
Order = tuple[int, ...]
Times = tuple[tuple[int, ...], ...]
"""Processing times: one row per job, one column per machine."""


class Instance(NamedTuple):
    """Jobs that pass through the same machines in the same order."""

    name: str
    """Its name in the literature."""
    times: Times
    """Processing times."""
    best_known: int
    """The smallest makespan in the literature."""


# Seed of the generator and best known makespan of the ten instances with 20 jobs and 5 machines.
_PUBLISHED = (
    (873654221, 1278),
    (379008056, 1359),
    (1866992158, 1081),
    (216771124, 1293),
    (495070989, 1235),
    (402959317, 1195),
    (1369363414, 1234),
    (2021925980, 1206),
    (573109518, 1230),
    (88325120, 1108),
)
COUNT = len(_PUBLISHED)
"""Number of instances."""


def taillards(number: int) -> Instance:
    """One of the ten instances with 20 jobs and 5 machines, from ``taillards(1)``, which is ta001."""
    seed, best_known = _PUBLISHED[number - 1]
    machines: list[list[int]] = [[] for _ in range(5)]
    for times in machines:
        for _ in range(20):
            seed = 16807 * seed % (2**31 - 1)  # Lehmer's generator
            times.append(1 + int(seed / (2**31 - 1) * 99))
    return Instance(f"ta{number:03d}", tuple(zip(*machines, strict=True)), best_known)


def makespan(times: Times, order: Sequence[int]) -> float:
    """The time at which the last job is done if the jobs enter the shop in this order.

    Every machine works on one job at a time. Jobs wait for it in a queue and never overtake.
    """
    shop = simpy.Environment()
    machines = [simpy.Resource(shop, capacity=1) for _ in times[0]]

    def process(job: int) -> Generator[simpy.Event, None, None]:
        for machine, time in zip(machines, times[job], strict=True):
            with machine.request() as turn:
                yield turn
                yield shop.timeout(time)

    for job in order:
        shop.process(process(job))
    shop.run()
    return float(shop.now)


# The comparison ------------------------------------------------------------------------------------------


def solve(quick: bool, jobs: int, instance: int = 1, budget: int = 500, seed: int = 0) -> Outcome:
    """Search one instance, ta001 to ta010."""
    shop = taillards(instance)
    problem = ds.problems.Orders(range(len(shop.times)), partial(_reward, shop.times))
    result = ds.search(problem, 30 if quick else budget, seed=seed, progress=True)
    order = [job + 1 for job in result.best_state]
    return answered(
        "flow_shop", result, {"instance": shop.name, "best known": shop.best_known, "order": order}
    )


def run(quick: bool, jobs: int) -> Outcome:
    """All methods on all instances: percent above the best known makespan."""
    budget = 30 if quick else COUNTS[-1]
    shops = [taillards(number) for number in range(1, 2 if quick else COUNT + 1)]
    contests = [
        Contest(
            shop.name, methods(shop.times), partial(_reward, shop.times), budget, partial(_distance, shop)
        )
        for shop in shops
    ]
    rows = compare(contests, 1 if quick else 2, jobs)
    by_neh = {shop.name: _distance(shop, -makespan(shop.times, neh(shop.times))) for shop in shops}
    levels = {"NEH alone": sum(by_neh.values()) / len(by_neh)}
    title = "Flow shop, 20 jobs on 5 machines"
    drawn = draw(rows, by_setting, title, "% above the best known makespan", levels)
    about = {"budget": budget, "NEH alone": by_neh}
    return Outcome("flow_shop", rows, about, {"flow_shop": drawn}, tables(rows)["flow_shop"])


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Distances from the best known makespan, and paired differences from dagsearch."""
    parts = (part(rows, COUNTS, 2, by_setting) for part in (means, differences))
    return {"flow_shop": "\n\n".join(parts)}


def _reward(times: Times, order: Sequence[int]) -> float:
    return -makespan(times, order)


def _distance(shop: Instance, reward: float) -> float:
    """Percent by which a makespan exceeds the best known one."""
    return 100.0 * (-reward / shop.best_known - 1.0)


# Methods -------------------------------------------------------------------------------------------------

# Number of random moves away from the best order before the next local search.
_KICK = 3
# Final temperature of simulated annealing; makespans are whole numbers.
_COLD = 1.0
# Numbers of evaluations over which simulated annealing cools down, equal to those of the comparison.
_COOLED = (200, 500)


def methods(times: Times) -> dict[str, Method]:
    """The methods by name, dagsearch first. All evaluate orders; NEH also knows all times."""
    found: dict[str, Callable[..., None]] = {
        "dagsearch": _dagsearch,
        "NEH + local search": _neh_and_local_search,
        **{f"annealing, cooled over {count}": partial(_annealing, cooled=count) for count in _COOLED},
        "hill climbing": _hill_climbing,
        "random orders": _random,
    }
    return {name: partial(method, times=times) for name, method in found.items()}


def neh(times: Times) -> Order:
    """The heuristic of Nawaz, Enscore and Ham (1983).

    Jobs are inserted one by one, the longest first, each where it makes the partial order shortest.
    """
    order: list[int] = []
    for job in sorted(range(len(times)), key=lambda job: -sum(times[job])):
        options = [[*order[:place], job, *order[place:]] for place in range(len(order) + 1)]
        order = min(options, key=lambda option: makespan(times, option))
    return tuple(order)


def _dagsearch(evaluate: Evaluations, seed: int, times: Times) -> None:
    ds.search(ds.problems.Orders(range(len(times)), evaluate), evaluate.budget, seed=seed)


def _neh_and_local_search(evaluate: Evaluations, seed: int, times: Times) -> None:
    """From NEH's order down to a local optimum, then repeatedly from near the best one.

    NEH's simulations of partial orders are not counted.
    """
    chance = random.Random(seed)
    best = climb(evaluate, neh(times), partial(_around, chance))
    while True:
        start = best
        for _ in range(_KICK):
            start = next(_around(chance, start))
        best = max(best, climb(evaluate, start, partial(_around, chance)), key=evaluate)


def _annealing(evaluate: Evaluations, seed: int, times: Times, cooled: int) -> None:
    """Simulated annealing with the settings of Osman and Potts (1989): one random job is moved at a time.

    The temperature begins at a fifth of the mean processing time. Its inverse grows by the same amount with
    every evaluation, to 1 after ``cooled`` of them, and then stays constant.
    """
    chance = random.Random(seed)
    hot = sum(map(sum, times)) / (5 * len(times) * len(times[0]))
    order = _random_order(len(times), chance)
    reward = evaluate(order)
    while True:
        spent = min(1.0, len(evaluate.rewards) / cooled)
        temperature = 1.0 / (1.0 / hot + spent * (1.0 / _COLD - 1.0 / hot))
        tried = next(_around(chance, order))
        found = evaluate(tried)
        if found >= reward or chance.random() < math.exp((found - reward) / temperature):
            order, reward = tried, found


def _hill_climbing(evaluate: Evaluations, seed: int, times: Times) -> None:
    chance = random.Random(seed)
    while True:
        climb(evaluate, _random_order(len(times), chance), partial(_around, chance))


def _random(evaluate: Evaluations, seed: int, times: Times) -> None:
    chance = random.Random(seed)
    while True:
        evaluate(_random_order(len(times), chance))


def _around(chance: random.Random, order: Order) -> Iterator[Order]:
    """All orders with one job moved, each once, in random order."""
    places = range(len(order))
    moves = [(start, end) for start in places for end in places if end not in (start, start - 1)]
    for start, end in chance.sample(moves, len(moves)):
        without = [*order[:start], *order[start + 1 :]]
        yield (*without[:end], order[start], *without[end:])


def _random_order(jobs: int, chance: random.Random) -> Order:
    return tuple(chance.sample(range(jobs), jobs))
