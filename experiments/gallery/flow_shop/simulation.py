"""The shop as a discrete-event simulation with SimPy."""

from collections.abc import Generator, Sequence
from typing import NamedTuple

import simpy

from experiments.gallery.flow_shop.taillard import Times


class Operation(NamedTuple):
    """A job on a machine."""

    job: int
    """Its number."""
    machine: int
    """Its number."""
    start: float
    """When it starts."""
    end: float
    """When it ends."""


def simulated(times: Times, order: Sequence[int]) -> list[Operation]:
    """All operations if the jobs enter the shop in this order, as they end.

    Every machine works on one job at a time. Jobs wait for it in a queue and never overtake.
    """
    shop = simpy.Environment()
    machines = [simpy.Resource(shop, capacity=1) for _ in times[0]]
    operations: list[Operation] = []

    def process(job: int) -> Generator[simpy.Event, None, None]:
        for number, machine in enumerate(machines):
            with machine.request() as turn:
                yield turn
                start = shop.now
                yield shop.timeout(times[job][number])
                operations.append(Operation(job, number, start, shop.now))

    for job in order:
        shop.process(process(job))
    shop.run()
    return operations


def makespan(times: Times, order: Sequence[int]) -> float:
    """The time when the last job is done."""
    return max(operation.end for operation in simulated(times, order))
