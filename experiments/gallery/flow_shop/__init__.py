"""Which order? A flow shop: the order of jobs with the shortest makespan, by simulation."""

import argparse
import math
import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np

import dagsearch as ds
from experiments.gallery import frame
from experiments.gallery.flow_shop.shop import (
    COUNT,
    Instance,
    Times,
    drawn_times,
    instance,
    makespan,
    simulated,
)
from experiments.harness import peers
from experiments.harness.csv_files import write_csv
from experiments.harness.evaluations import Evaluations

ABOUT, BUDGET, SMALL = "Find the order of jobs with the shortest makespan.", 500, 30
COUNTS = (100, 200, 500)
"""Numbers of evaluations in the table."""
Order = tuple[int, ...]


def options(parser: argparse.ArgumentParser) -> None:
    """The application's own options."""
    numbers = range(1, COUNT + 1)
    parser.add_argument(
        "--instance", type=int, default=1, choices=numbers, help="ta001 to ta010 (default: 1)"
    )


class Schedule:
    """The reward of an order: minus its makespan."""

    def __init__(self, shop: Instance) -> None:
        self._times = shop.times

    def __call__(self, order: Sequence[int]) -> float:
        """Simulate the shop."""
        return -makespan(self._times, order)

    def identity(self) -> str:
        """A digest of the processing times: a run continues with the same ones only."""
        return frame.digest([repr(self._times)])


def run(options: argparse.Namespace) -> None:
    """Search, print the order and write the schedule."""
    shop = instance(options.instance)
    if options.small:
        shop = Instance("8 jobs on 3 machines", drawn_times(873654221, 8, 3), None)
    result = frame.solve(ds.search, ds.problems.Orders(range(len(shop.times)), Schedule(shop)), options)
    if result is None or result.best_reward is None:
        return
    order = result.best_state
    print(f"{shop.name}: makespan {-result.best_reward:g} after {len(result.history)} simulations")
    if shop.best_known is not None:
        print(f"best known: {shop.best_known}; this is {_distance(shop, result.best_reward):.1f} % above")
    print("order:", " ".join(str(job + 1) for job in order))
    rows = ((one.job + 1, one.machine + 1, one.start, one.end) for one in simulated(shop.times, order))
    write_csv(options.out / "schedule.csv", ("job", "machine", "start", "end"), rows)
    print(f"schedule: {options.out / 'schedule.csv'}")


def _distance(shop: Instance, reward: float) -> float:
    """Percent by which a makespan exceeds the best known one."""
    assert shop.best_known is not None
    return 100.0 * (-reward / shop.best_known - 1.0)


def compare(options: argparse.Namespace) -> None:
    """All methods on all instances; writes the files of the comparison and the table in the README."""
    shops = {number: instance(number) for number in range(1, 3 if options.small else COUNT + 1)}
    contests = [
        frame.Contest(methods(shop.times), Schedule(shop), options.budget, partial(_distance, shop), number)
        for number, shop in shops.items()
    ]
    runs = frame.compare(contests, options.seeds, options.jobs)
    by_neh = {shop.name: _distance(shop, Schedule(shop)(neh(shop.times))) for shop in shops.values()}
    about = {
        "what": "percent above the best known makespan; number of a run = 100 × instance + seed",
        "budget": options.budget,
        "NEH alone": by_neh,
    }
    panel = frame.Panel(
        "Flow shop, 20 jobs on 5 machines",
        "% above the best known makespan",
        by_instance(runs),
        {"NEH alone": sum(by_neh.values()) / len(by_neh)},
    )
    frame.report(options.out, runs, table(runs), [panel], about)


def by_instance(runs: Sequence[frame.Run]) -> list[frame.Run]:
    """One run per method and instance, the mean of its seeds: they are not independent of each other."""
    return frame.averaged(runs, lambda run: run.seed // frame.TOGETHER, np.mean)


def table(runs: Sequence[frame.Run]) -> str:
    """Distances from the best known makespan, and how much dagsearch is ahead instance by instance."""
    means = by_instance(runs)
    return f"{frame.table(means, COUNTS, digits=2)}\n\n{frame.differences(means, COUNTS, digits=2)}"


# Methods -------------------------------------------------------------------------------------------------

# Number of random moves away from the best order before the next local search.
_KICK = 3
# Final temperature of simulated annealing; makespans are whole numbers.
_COLD = 1.0
# Numbers of evaluations over which simulated annealing cools down: those at which methods are compared.
_COOLED = (200, 500)


def methods(times: Times) -> dict[str, frame.Method]:
    """The methods by name; dagsearch first. All evaluate orders; NEH also knows all times."""
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

    Jobs are inserted one by one, the longest first, each where the partial order is shortest.
    """
    order: list[int] = []
    for job in sorted(range(len(times)), key=lambda job: -sum(times[job])):
        options = [[*order[:place], job, *order[place:]] for place in range(len(order) + 1)]
        order = min(options, key=lambda option: makespan(times, option))
    return tuple(order)


def _dagsearch(evaluate: Evaluations, seed: int, times: Times) -> None:
    ds.search(ds.problems.Orders(range(len(times)), evaluate), evaluate.budget, seed=seed)


def _neh_and_local_search(evaluate: Evaluations, seed: int, times: Times) -> None:
    """From NEH's order down to a local optimum, then from near the best one again and again.

    The simulations of partial orders that NEH needs are not counted.
    """
    chance, moves = random.Random(seed), _moves(len(times))
    best = peers.climb(evaluate, neh(times), partial(_moved_once, chance))
    while True:
        start = best
        for _ in range(_KICK):
            start = _moved(start, *chance.choice(moves))
        best = max(best, peers.climb(evaluate, start, partial(_moved_once, chance)), key=evaluate)


def _annealing(evaluate: Evaluations, seed: int, times: Times, cooled: int) -> None:
    """Simulated annealing with the settings of Osman and Potts (1989): one random job is moved at a time.

    The temperature begins at a fifth of the mean processing time. It falls such that its inverse grows by the
    same amount with every evaluation, to 1 after ``cooled`` of them, and then stays there.
    """
    chance, moves = random.Random(seed), _moves(len(times))
    hot = sum(map(sum, times)) / (5 * len(times) * len(times[0]))
    order = _random_order(len(times), chance)
    reward = evaluate(order)
    while True:
        spent = min(1.0, len(evaluate.rewards) / cooled)
        temperature = 1.0 / (1.0 / hot + spent * (1.0 / _COLD - 1.0 / hot))
        tried = _moved(order, *chance.choice(moves))
        found = evaluate(tried)
        if found >= reward or chance.random() < math.exp((found - reward) / temperature):
            order, reward = tried, found


def _hill_climbing(evaluate: Evaluations, seed: int, times: Times) -> None:
    chance = random.Random(seed)
    peers.hill_climbing(evaluate, lambda: _random_order(len(times), chance), partial(_moved_once, chance))


def _random(evaluate: Evaluations, seed: int, times: Times) -> None:
    chance = random.Random(seed)
    peers.random_search(evaluate, lambda: _random_order(len(times), chance))


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
