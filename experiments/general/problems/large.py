"""Problems too large to solve, for thousands of evaluations; their best scores are unknown."""

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems.base import Instance
from experiments.general.problems.orders import placed, round_trip
from experiments.general.problems.strings import merit_factor
from experiments.general.spaces import Places, Subset


def landscape(number: int) -> Instance:
    """An NK landscape: 80 bits, each with a random effect together with four others."""
    rng, n, k = np.random.default_rng([number, 300]), 80, 4
    others = np.array([rng.choice(np.delete(np.arange(n), bit), k, replace=False) for bit in range(n)])
    read, added = np.column_stack([np.arange(n), others]), rng.random((n, 2 ** (k + 1)))
    weights = 2 ** np.arange(k + 1)

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(added[np.arange(n), points[:, read] @ weights].mean(axis=1))

    return Instance(Places([2] * n), scores)


def autocorrelation(number: int) -> Instance:
    """A sequence of 60 signs with low autocorrelation: its merit factor. There is one instance."""
    return merit_factor(60)


def pairs(number: int) -> Instance:
    """One of 5 options for each of 40 places, with effects of places and of 120 pairs of places."""
    rng, n, m = np.random.default_rng([number, 302]), 40, 5
    alone = rng.normal(size=(n, m))
    every = np.column_stack(np.triu_indices(n, 1))
    first, second = every[rng.choice(len(every), 3 * n, replace=False)].T
    together = rng.normal(size=(3 * n, m, m))

    def scores(points: IntArray) -> FloatArray:
        both = together[np.arange(3 * n), points[:, first], points[:, second]]
        return np.asarray(alone[np.arange(n), points].sum(axis=1) + both.sum(axis=1))

    return Instance(Places([m] * n), scores)


def assignment(number: int) -> Instance:
    """Quadratic assignment of 25 facilities to 25 places: flow times distance, negative."""
    rng, n = np.random.default_rng([number, 303]), 25
    places = rng.random((n, 2))
    distance = np.abs(places[:, None] - places).sum(axis=2)
    flow = np.triu(np.floor(10.0 ** rng.uniform(-1.0, 2.0, size=(n, n))), 1)
    return placed(flow + flow.T, distance)


def tour(number: int) -> Instance:
    """A round trip through 40 random towns: its length, negative."""
    return round_trip(np.random.default_rng([number, 304]).random((40, 2)))


def sites(number: int) -> Instance:
    """15 of 200 sites for sensors: the mean distance of 1,000 places to the nearest one, negative.

    The places lie around six towns.
    """
    rng = np.random.default_rng([number, 305])
    towns, site = rng.random((6, 2)), rng.random((200, 2))
    place = towns[rng.integers(6, size=1000)] + 0.12 * rng.normal(size=(1000, 2))
    distance = np.linalg.norm(site[:, None] - place, axis=2)

    def scores(points: IntArray) -> FloatArray:
        return np.array([-distance[point == 1].min(axis=0).mean() for point in points])

    return Instance(Subset(200, 15), scores)
