"""One option for each of many places: the standard problems of combinatorial Bayesian optimisation.

Contamination and Ising come from BOCS (Baptista and Poloczek, 2018) and COMBO (Oh et al., 2019), pest control
and Ackley from MCBO (Dreczkowski et al., 2023). Weighted MaxSAT has COMBO's form; its instances are drawn
here, from the model behind the benchmark file ``frb10-6-4``.
"""

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems.base import Instance
from experiments.general.settings import Setting, places
from experiments.general.spaces import Places

_PRICE = 0.01
"""Price of a 1 in Contamination and Ising, the largest in COMBO."""
_LIMIT = 0.1
"""Tolerated share of contaminated food, or of infested land."""


def contamination(number: int) -> Instance:
    """At which of 25 stages to prevent contamination: costs, less how often the limit holds; negative."""
    stages, draws = 25, 100
    # COMBO draws all three with the same seed.
    at_first = np.random.RandomState(number).beta(1.0, 30.0, size=draws)
    spread = np.random.RandomState(number).beta(1.0, 17.0 / 3.0, size=(stages, draws))
    cured = np.random.RandomState(number).beta(1.0, 3.0 / 7.0, size=(stages, draws))

    def scores(points: IntArray) -> FloatArray:
        share = np.broadcast_to(at_first, (len(points), draws))
        cost = (1.0 + _PRICE) * points.sum(axis=1)
        for stage in range(stages):
            prevented = points[:, stage, None] == 1
            share = np.where(prevented, (1.0 - cured[stage]) * share, share + spread[stage] * (1.0 - share))
            cost = cost - (np.mean(share < _LIMIT, axis=1) - 0.95)
        return np.asarray(-cost)

    return Instance(Places([2] * stages), scores)


def ising(number: int) -> Instance:
    """Which of the 24 couplings of a 4 × 4 grid to keep: Kullback-Leibler divergence and a price; negative.

    The first 12 places are the couplings within rows, the last 12 those between rows.
    """
    rng = np.random.default_rng([number, 41])
    couplings = rng.choice([-1.0, 1.0], size=24) * rng.uniform(0.05, 5.0, size=24)
    spins = 2 * ((np.arange(1 << 16)[:, None] >> np.arange(16)) & 1) - 1
    grid = spins.reshape(-1, 4, 4)
    within = (grid[:, :, :-1] * grid[:, :, 1:]).reshape(-1, 12)
    between = (grid[:, :-1] * grid[:, 1:]).reshape(-1, 12)
    products = np.concatenate([within, between], axis=1)
    energy = 2.0 * products @ couplings
    probability = np.exp(energy - energy.max())
    log_partition = np.log(probability.sum()) + energy.max()
    moments = probability @ products / probability.sum()

    def scores(points: IntArray) -> FloatArray:
        divergence = 2.0 * (1 - points) @ (couplings * moments)
        divergence += _log_partition(points * couplings) - log_partition
        return np.asarray(-(divergence + _PRICE * points.sum(axis=1)))

    return Instance(Places([2] * 24), scores)


def _log_partition(couplings: FloatArray) -> FloatArray:
    """Logarithm of the partition function of 4 × 4 grids, one per row, from row of spins to row of spins."""
    rows = 2.0 * ((np.arange(16)[:, None] >> np.arange(4)) & 1) - 1.0
    within, between = (part.reshape(-1, 4, 3) for part in np.split(couplings, 2, axis=1))
    between = between.reshape(-1, 3, 4)
    single = np.exp(2.0 * within @ (rows[:, :-1] * rows[:, 1:]).T)
    weights = single[:, 0]
    for row in range(3):
        coupled = np.exp(2.0 * np.einsum("sc,mc,tc->mst", rows, between[:, row], rows))
        weights = np.einsum("ms,mst->mt", weights, coupled) * single[:, row + 1]
    return np.asarray(np.log(weights.sum(axis=1)))


def satisfiability(number: int) -> Instance:
    """60 truth values: the total weight of satisfied clauses, weights standardised.

    Ten variables with six values each (model RB of Xu et al., at its phase transition, with a hidden
    solution); a truth value states whether a variable has a value. Clauses: a variable has a value, not two
    values, and two variables do not have a forbidden pair. Standardised weights are negative for light
    clauses, which are better left unsatisfied.
    """
    rng = np.random.default_rng([number, 42])
    variables, values, tightness = 10, 6, 0.25
    solution = rng.integers(values, size=variables)
    literals = [[(v * values + value, 1) for value in range(values)] for v in range(variables)]
    literals += [
        [(v * values + a, 0), (v * values + b, 0)]
        for v in range(variables)
        for a in range(values)
        for b in range(a)
    ]
    for _ in range(round(0.8 / np.log(4.0 / 3.0) * variables * np.log(variables))):
        v, w = rng.choice(variables, 2, replace=False)
        pairs = [(a, b) for a in range(values) for b in range(values) if (a, b) != (solution[v], solution[w])]
        for pair in rng.choice(len(pairs), round(tightness * values**2), replace=False):
            a, b = pairs[pair]
            literals.append([(v * values + a, 0), (w * values + b, 0)])
    weights = rng.integers(1, 1001, size=len(literals)).astype(np.float64)
    weights = (weights - weights.mean()) / weights.std()
    clause = np.repeat(np.arange(len(literals)), [len(one) for one in literals])
    place, wanted = np.array([literal for one in literals for literal in one]).T
    starts = np.flatnonzero(np.diff(clause, prepend=-1))

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(np.logical_or.reduceat(points[:, place] == wanted, starts, axis=1) @ weights)

    return Instance(Places([2] * (variables * values)), scores)


def pest(number: int) -> Instance:
    """Nothing or one of four pesticides at 25 stages: price and infested stages; negative.

    MCBO's function with its seed, 0; there is one instance. Pests grow tolerant of a pesticide, and
    its price falls, the more often it is used.
    """
    stages, draws, seed = 25, 100, 0
    # Every stage draws the same numbers, because MCBO starts the generator anew each time.
    spread = np.random.RandomState(seed).beta(1.0, 17.0 / 3.0, size=draws)
    at_first = np.random.RandomState(seed).beta(1.0, 30.0, size=draws)
    prices = np.array([0.0, 1.0, 0.8, 0.7, 0.5])
    discounts = np.array([0.0, 0.2, 0.3, 0.3, 0.0]) / stages
    beta = np.array([np.inf, 2.0, 3.0, 3.0, 5.0]) / 7.0
    tolerance = np.array([0.0, 1.0, 2.5, 2.0, 0.5]) / 7.0 / stages
    killed = np.zeros((5, stages, draws))  # by pesticide and number of earlier uses
    for pesticide in range(1, 5):
        for uses in range(stages):
            strength = beta[pesticide] + uses * tolerance[pesticide]
            killed[pesticide, uses] = np.random.RandomState(seed).beta(1.0, strength, size=draws)

    def scores(points: IntArray) -> FloatArray:
        rows = np.arange(len(points))
        uses = np.zeros((len(points), 5), dtype=np.int64)
        share = np.broadcast_to(at_first, (len(points), draws))
        cost = np.zeros(len(points))
        for stage in range(stages):
            chosen = points[:, stage]
            cost += np.mean(share > _LIMIT, axis=1)
            controlled = (1.0 - killed[chosen, uses[rows, chosen]]) * share
            share = np.where(chosen[:, None] > 0, controlled, spread * (1.0 - share) + share)
            uses[rows, chosen] += 1
        cost += np.sum(uses * prices * (1.0 - discounts * uses), axis=1)
        return -cost

    return Instance(Places([5] * stages), scores)


def ackley(number: int) -> Instance:
    """Ackley's function of 20 variables with 11 levels each, as in MCBO, negative; one instance."""
    levels = np.linspace(-32.768, 32.768, 11)

    def scores(points: IntArray) -> FloatArray:
        x = levels[points]
        far = -20.0 * np.exp(-0.2 * np.sqrt(np.mean(x**2, axis=1)))
        return np.asarray(-(far - np.exp(np.mean(np.cos(2.0 * np.pi * x), axis=1)) + 20.0 + np.e))

    return Instance(Places([11] * 20), scores, best=np.full(20, 5))  # the middle of all levels, 0


def stages(number: int) -> Instance:
    """One of 5 options for each of 21 stages, each with its own words: effects alone and next to each other.

    The options of every stage are listed from best to worst by their effects alone.
    """
    rng = np.random.default_rng([number, 43])
    count, options = 21, 5
    alone = -np.sort(rng.exponential(size=(count, options)), axis=1)
    together = 0.5 * rng.normal(size=(count - 1, options, options))
    words = [[f"{chr(97 + stage)}{option}" for option in range(options)] for stage in range(count)]
    settings = {f"stage {stage}": Setting(some) for stage, some in enumerate(words)}
    every = np.arange(count)

    def scores(points: IntArray) -> FloatArray:
        pairs = together[every[:-1], points[:, :-1], points[:, 1:]]
        return np.asarray(alone[every, points].sum(axis=1) + pairs.sum(axis=1))

    return Instance(places(settings), scores)
