"""Pairs of items or choices that are worth more, or less, together than one by one.

With the residuals r of the linear model and z = (x_i − p_i)(x_j − p_j), where p is the share of leaves with a
part, an interaction w has the posterior N(Σ z r / (Σ z² + 0.1), σ² / (Σ z² + 0.1)), σ² being the variance of
the residuals. Only pairs of parts with large effects or in good leaves are looked at, each on its own.
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dagsearch.journal.leaves import Part
from dagsearch.record import Told
from dagsearch.report.effects import NINETY, Effect

# Largest numbers of evaluations, the latest ones, and of parts that are looked at.
_EVALUATIONS, _PARTS = 2000, 20
# How many deviations from 0 an interaction must be: with 190 pairs, few searches show one by chance.
_SURE = 3.5


class Pair(NamedTuple):
    """An interaction of two parts."""

    parts: tuple[Part, Part]
    """The parts."""
    effect: float
    """What a leaf with both is worth beyond the sum of the two main effects."""
    low: float
    """Lower end of the central 90% interval."""
    high: float
    """Upper end."""
    leaves: int
    """Number of leaves that have both."""


def pairs_of(told: Sequence[Told], effects: Sequence[Effect], most: int) -> list[Pair]:
    """The ``most`` clearest interactions; none that may well be chance.

    Parameters
    ----------
    told : sequence of Told
        The evaluations.
    effects : sequence of Effect
        Main effects; parts without one count as worth nothing.
    most : int
        Number of pairs.
    """
    told = told[-_EVALUATIONS:]
    ranked = sorted(effects, key=lambda effect: -abs(effect.effect))
    column = {effect.part: place for place, effect in enumerate(ranked)}
    if len(told) < 10 or len(column) < 2:
        return []
    has = np.zeros((len(told), len(column)))
    for row, one in enumerate(told):
        has[row, [column[part] for part in one.parts if part in column]] = 1.0
    centred = has - has.mean(axis=0)
    rewards = np.array([one.reward for one in told])
    residual = rewards - rewards.mean() - centred @ np.array([effect.effect for effect in ranked])
    variance = float(residual.var())
    found = []
    for i, j in combinations(range(min(_PARTS, len(ranked))), 2):
        both = int(has[:, i] @ has[:, j])
        # Options of one choice exclude each other.
        if both < 3 or (ranked[i].part.place and ranked[i].part.place == ranked[j].part.place):
            continue
        z = centred[:, i] * centred[:, j]
        precision = float(z @ z) + 0.1
        mean, deviation = float(z @ residual) / precision, (variance / precision) ** 0.5
        if abs(mean) > _SURE * deviation > 0.0:
            ends = mean - NINETY * deviation, mean + NINETY * deviation
            found.append((abs(mean) / deviation, Pair((ranked[i].part, ranked[j].part), mean, *ends, both)))
    found.sort(key=lambda scored: -scored[0])
    return [pair for _, pair in found[:most]]
