"""Scores that change only if several places are right, and problems with hundreds of places."""

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems.base import Instance
from experiments.general.spaces import Order, Places


def blocks(number: int) -> Instance:
    """Deceptive blocks: 32 yes-or-no places in eight blocks, scattered.

    A block earns its weight if all four places are right, 0.4 of it if all are wrong, and nothing otherwise.
    """
    rng = np.random.default_rng([number, 60])
    where, right = rng.permutation(32).reshape(8, 4), rng.integers(2, size=(8, 4))
    weights = rng.dirichlet(np.full(8, 5.0))

    def scores(points: IntArray) -> FloatArray:
        fits = np.sum(points[:, where] == right, axis=2)
        return np.asarray(((fits == 4) + 0.4 * (fits == 0)) @ weights)

    return Instance(Places([2] * 32), scores, best=_placed(where, right))


def needles(number: int) -> Instance:
    """Four motifs of five letters each, scattered over 20 places.

    A motif earns a quarter if all letters fit, 0.3 of that with three or four, and nothing with fewer.
    """
    rng = np.random.default_rng([number, 61])
    where, right = rng.permutation(20).reshape(4, 5), rng.integers(4, size=(4, 5))
    earned = np.array([0.0, 0.0, 0.0, 0.3, 0.3, 1.0]) / 4.0

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(earned[np.sum(points[:, where] == right, axis=2)].sum(axis=1))

    return Instance(Places([4] * 20), scores, best=_placed(where, right))


def leading(number: int) -> Instance:
    """LeadingOnes with epistasis, as in the suite PBO of IOHprofiler: 32 signs in blocks of four.

    A sign becomes the parity of the three others of its block; then the ones before the first zero count.
    So nearly all changes of a block have no effect, and improvements change several signs.
    """

    def scores(points: IntArray) -> FloatArray:
        blocks = points.reshape(len(points), -1, 4)
        seen = (blocks.sum(axis=2, keepdims=True) - blocks) % 2
        return np.asarray(np.cumprod(seen.reshape(points.shape), axis=1).mean(axis=1))

    return Instance(Places([2] * 32), scores, best=np.ones(32, dtype=np.int64))


def _placed(where: IntArray, right: IntArray) -> IntArray:
    """The point that is right everywhere."""
    point = np.zeros(where.size, dtype=np.int64)
    point[where] = right
    return point


# Hundreds of places ------------------------------------------------------------------------------------

_SWITCHES, _CHECKS = 200, 100


def switches(number: int) -> Instance:
    """200 switches with effects of each, and of each together with two others on a hidden ring."""
    rng = np.random.default_rng([number, 62])
    order, places = rng.permutation(_SWITCHES), np.arange(_SWITCHES)
    tables = rng.normal(size=(_SWITCHES, 2, 1, 1)) + 0.7 * rng.normal(size=(_SWITCHES, 2, 2, 2))

    def scores(points: IntArray) -> FloatArray:
        ring = points[:, order]
        following, second = (np.roll(ring, -shift, axis=1) for shift in (1, 2))
        return np.asarray(tables[places, ring, following, second].mean(axis=1))

    best = np.zeros(_SWITCHES, dtype=np.int64)
    best[order] = _best_ring(tables)
    return Instance(Places([2] * _SWITCHES), scores, best=best)


def _best_ring(tables: FloatArray) -> list[int]:
    """The best positions, by dynamic programming around the ring for each start of two switches."""
    found = []
    for first in range(4):
        a, b = divmod(first, 2)
        value = np.full((2, 2), -np.inf)  # of the last two switches
        value[a, b] = 0.0
        came_from = []
        for place in range(_SWITCHES - 2):
            ways = value[:, :, None] + tables[place]
            came_from.append(ways.argmax(axis=0))
            value = ways.max(axis=0)
        # The last two places look around the ring at the first two.
        value = value + tables[-2, :, :, a] + tables[-1, :, a, b]
        pair = np.unravel_index(value.argmax(), (2, 2))
        ring = [int(pair[1]), int(pair[0])]
        for before in reversed(came_from):
            ring.append(int(before[ring[-1], ring[-2]]))
        found.append((float(value.max()), ring[::-1]))
    return max(found)[1]


def checks(number: int) -> Instance:
    """100 checks in sequence until one fails: the expected cost, negative.

    The best order is by cost per risk: exchanging two neighbours that violate it never increases the cost.
    """
    rng = np.random.default_rng([number, 63])
    costs, risks = rng.gamma(2.0, 5.0, size=_CHECKS), rng.beta(1.0, 40.0, size=_CHECKS)
    passes = 1.0 - risks

    def scores(points: IntArray) -> FloatArray:
        reached = np.cumprod(passes[points], axis=1) / passes[points]
        return np.asarray(-np.sum(reached * costs[points], axis=1))

    return Instance(Order(_CHECKS), scores, best=np.argsort(costs / risks))
