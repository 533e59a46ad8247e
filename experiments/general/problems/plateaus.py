"""Scores that move only when several places are right, and problems of hundreds of places."""

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems.base import Instance
from experiments.general.spaces import Letters, Order, Places

_BLOCKS, _LENGTH = 8, 4


def _hidden_blocks(number: int) -> tuple[IntArray, IntArray, FloatArray]:
    """Places of every block, what is right there, and the blocks' weights."""
    rng = np.random.default_rng([number, 60])
    where = rng.permutation(_BLOCKS * _LENGTH).reshape(_BLOCKS, _LENGTH)
    return where, rng.integers(2, size=(_BLOCKS, _LENGTH)), rng.dirichlet(np.full(_BLOCKS, 5.0))


def blocks(number: int) -> Instance:
    """Deceptive blocks: 32 yes-or-no places in eight blocks, scattered.

    A block earns its weight if all four places are right, 0.4 of it if all are wrong, and nothing otherwise.
    """
    where, right, weights = _hidden_blocks(number)

    def scores(points: IntArray) -> FloatArray:
        fits = np.sum(points[:, where] == right, axis=2)
        return np.asarray(((fits == _LENGTH) + 0.4 * (fits == 0)) @ weights)

    return Instance(Places([2] * (_BLOCKS * _LENGTH)), scores)


def best_blocks(number: int) -> IntArray:
    """All places right."""
    where, right, _ = _hidden_blocks(number)
    return _placed(where, right)


_NEEDLES, _LETTERS = 4, 5


def _hidden_needles(number: int) -> tuple[IntArray, IntArray]:
    """Places of every motif, and its letters."""
    rng = np.random.default_rng([number, 61])
    where = rng.permutation(_NEEDLES * _LETTERS).reshape(_NEEDLES, _LETTERS)
    return where, rng.integers(4, size=(_NEEDLES, _LETTERS))


def needles(number: int) -> Instance:
    """Four motifs of five letters each, scattered over 20 places.

    A motif earns a quarter if all letters fit, 0.3 of that with three or four, and nothing with fewer.
    """
    where, right = _hidden_needles(number)
    earned = np.array([0.0, 0.0, 0.0, 0.3, 0.3, 1.0]) / _NEEDLES

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(earned[np.sum(points[:, where] == right, axis=2)].sum(axis=1))

    return Instance(Letters(_NEEDLES * _LETTERS, 4), scores)


def best_needles(number: int) -> IntArray:
    """All letters fit."""
    return _placed(*_hidden_needles(number))


def _placed(where: IntArray, right: IntArray) -> IntArray:
    point = np.zeros(where.size, dtype=np.int64)
    point[where] = right
    return point


# Hundreds of places ------------------------------------------------------------------------------------

_SWITCHES = 200


def _hidden_ring(number: int) -> tuple[IntArray, FloatArray]:
    """Which switch is where on a ring, and what three neighbours add by their positions."""
    rng = np.random.default_rng([number, 62])
    order = rng.permutation(_SWITCHES)
    tables = rng.normal(size=(_SWITCHES, 2, 1, 1)) + 0.7 * rng.normal(size=(_SWITCHES, 2, 2, 2))
    return order, tables


def switches(number: int) -> Instance:
    """200 switches: each adds something by itself, and together with two others on a hidden ring."""
    order, tables = _hidden_ring(number)
    places = np.arange(_SWITCHES)

    def scores(points: IntArray) -> FloatArray:
        ring = points[:, order]
        following, second = (np.roll(ring, -shift, axis=1) for shift in (1, 2))
        return np.asarray(tables[places, ring, following, second].mean(axis=1))

    return Instance(Places([2] * _SWITCHES), scores)


def best_switches(number: int) -> IntArray:
    """The best positions, by dynamic programming around the ring for each start of two switches."""
    order, tables = _hidden_ring(number)
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
    point = np.zeros(_SWITCHES, dtype=np.int64)
    point[order] = max(found)[1]
    return point


_CHECKS = 100


def _costs_and_risks(number: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng([number, 63])
    return rng.gamma(2.0, 5.0, size=_CHECKS), rng.beta(1.0, 40.0, size=_CHECKS)


def checks(number: int) -> Instance:
    """100 checks one after the other until one fails: the expected cost, negative."""
    costs, risks = _costs_and_risks(number)
    passes = 1.0 - risks

    def scores(points: IntArray) -> FloatArray:
        reached = np.cumprod(passes[points], axis=1) / passes[points]
        return np.asarray(-np.sum(reached * costs[points], axis=1))

    return Instance(Order(_CHECKS), scores)


def best_checks(number: int) -> IntArray:
    """By cost per risk: exchanging two neighbours that are not in this order never costs more."""
    costs, risks = _costs_and_risks(number)
    return np.argsort(costs / risks)
