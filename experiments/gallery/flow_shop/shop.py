"""The shop as a discrete-event simulation with SimPy, and Taillard's instances, made by his generator.

E. Taillard, Benchmarks for basic scheduling problems, European Journal of Operational Research 64 (1993).
"""

from collections.abc import Generator, Sequence
from typing import NamedTuple

import simpy

# The generator is Lehmer's x' = a x mod m.
_A, _M = 16807, 2**31 - 1
_SHORTEST, _LONGEST = 1, 99

Times = tuple[tuple[int, ...], ...]
"""Processing times: one row per job, one column per machine."""


class Instance(NamedTuple):
    """Jobs that all pass through the same machines in the same order."""

    name: str
    """Its name in the literature."""
    times: Times
    """Processing times."""
    best_known: int
    """The smallest makespan in the literature."""


# Of the ten instances with 20 jobs and 5 machines: seed of the generator, and best known makespan.
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
    return Instance(f"ta{number:03d}", drawn_times(seed, 20, 5), best_known)


def drawn_times(seed: int, jobs: int, machines: int) -> Times:
    """The processing times of all jobs on the first machine are drawn first, then those on the second."""
    drawn = []
    for _ in range(jobs * machines):
        seed = _A * seed % _M
        drawn.append(_SHORTEST + int(seed / _M * (_LONGEST - _SHORTEST + 1)))
    return tuple(zip(*(drawn[first : first + jobs] for first in range(0, len(drawn), jobs)), strict=True))


def makespan(times: Times, order: Sequence[int]) -> float:
    """The time when the last job is done if the jobs enter the shop in this order.

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
