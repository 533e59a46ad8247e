"""Orders: weighted tardiness, a round trip, a quadratic assignment, a flow shop, a job shop."""

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems.base import Instance
from experiments.general.spaces import Order, Repeated, who_comes_first


def tardiness(number: int) -> Instance:
    """15 jobs on one machine: the total weighted tardiness, negative.

    Drawn as in Potts and Van Wassenhove (1985), with tardiness factor and range of due dates 0.6.
    """
    rng = np.random.default_rng([number, 20])
    times, weights = rng.integers(1, 101, size=15), rng.integers(1, 11, size=15)
    due = times.sum() * rng.uniform(0.1, 0.7, size=15)

    def scores(points: IntArray) -> FloatArray:
        late = np.maximum(np.cumsum(times[points], axis=1) - due[points], 0.0)
        return np.asarray(-np.sum(weights[points] * late, axis=1))

    return Instance(Order(15, who_comes_first), scores)


def tour(number: int) -> Instance:
    """A round trip through 14 random towns: its length, negative."""
    return round_trip(np.random.default_rng([number, 21]).random((14, 2)))


def round_trip(towns: FloatArray) -> Instance:
    """A round trip through towns in the plane: its length, negative."""
    distance = np.linalg.norm(towns[:, None] - towns, axis=2)

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(-np.sum(distance[points, np.roll(points, -1, axis=1)], axis=1))

    return Instance(Order(len(towns)), scores)


def assignment(number: int) -> Instance:
    """Quadratic assignment of 12 facilities to 12 places: flow times distance, negative."""
    rng = np.random.default_rng([number, 22])
    places = rng.random((12, 2))
    distance = np.linalg.norm(places[:, None] - places, axis=2)
    flow = np.triu(rng.integers(0, 10, size=(12, 12)) * (rng.random((12, 12)) < 0.5), 1)
    return placed(flow + flow.T, distance)


def placed(flow: FloatArray | IntArray, distance: FloatArray) -> Instance:
    """Facilities at places: flow times distance, negative."""

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(-np.sum(flow[points[:, :, None], points[:, None, :]] * distance, axis=(1, 2)) / 2.0)

    return Instance(Order(len(flow)), scores)


def flow_shop(number: int) -> Instance:
    """12 jobs through five machines, in the same order on each: the makespan, negative."""
    jobs, machines = 12, 5
    times = np.random.default_rng([number, 23]).integers(1, 100, size=(jobs, machines))

    def scores(points: IntArray) -> FloatArray:
        # The first column stays 0: nothing comes before the first machine.
        done = np.zeros((len(points), machines + 1))
        for job in points.T:
            for machine in range(machines):
                start = np.maximum(done[:, machine], done[:, machine + 1])
                done[:, machine + 1] = start + times[job, machine]
        return -done[:, -1]

    return Instance(Order(jobs), scores)


def job_shop(number: int) -> Instance:
    """Six jobs, each through six machines in its own order: the makespan, negative.

    A point lists the jobs whose next operation starts, so every job occurs six times.
    """
    rng = np.random.default_rng([number, 24])
    times = rng.integers(1, 100, size=(6, 6))
    route = rng.permuted(np.tile(np.arange(6), (6, 1)), axis=1)

    def scores(points: IntArray) -> FloatArray:
        rows = np.arange(len(points))
        operation = np.zeros((len(points), 6), dtype=np.int64)
        job_free, machine_free = np.zeros((2, len(points), 6))
        for job in points.T:
            number = operation[rows, job]
            machine = route[job, number]
            end = np.maximum(job_free[rows, job], machine_free[rows, machine]) + times[job, number]
            job_free[rows, job] = machine_free[rows, machine] = end
            operation[rows, job] += 1
        return np.asarray(-job_free.max(axis=1))

    return Instance(Repeated(6, 6), scores)
