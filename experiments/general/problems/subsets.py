"""Subsets: cover, regression, portfolio and knapsack."""

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from experiments.general.problems.base import Instance
from experiments.general.spaces import AnySize, Subset


def cover(number: int) -> Instance:
    """8 of 40 sites for sensors: the expected weight of 150 targets that at least one sensor detects."""
    rng = np.random.default_rng([number, 10])
    sites, targets = rng.random((40, 2)), rng.random((150, 2))
    weights = rng.gamma(2.0, size=150)
    distance = np.linalg.norm(targets[:, None] - sites, axis=2)
    missed = np.log1p(-0.95 * np.exp(-((distance / 0.15) ** 2)))

    def scores(points: IntArray) -> FloatArray:
        return np.asarray((1.0 - np.exp(points @ missed.T)) @ (weights / weights.sum()))

    return Instance(Subset(40, 8), scores)


def regression(number: int) -> Instance:
    """6 of 30 correlated features: R² of a least-squares fit on held-out rows."""
    rng = np.random.default_rng([number, 11])
    factors = rng.normal(size=(160, 8))
    features = factors @ rng.normal(size=(8, 30)) + 1.5 * rng.normal(size=(160, 30))
    true = rng.choice(30, 8, replace=False)
    response = features[:, true] @ rng.normal(size=8) + features[:, true[0]] * features[:, true[1]] / 3.0
    response += rng.normal(scale=response.std() / 2.0, size=160)
    features -= features.mean(axis=0)
    response -= response.mean()
    (X, y), (held_X, held_y) = (features[:80], response[:80]), (features[80:], response[80:])
    gram, moment = X.T @ X + 1e-6 * np.eye(30), X.T @ y
    held_gram, held_moment, held_square = held_X.T @ held_X, held_X.T @ held_y, held_y @ held_y

    def scores(points: IntArray) -> FloatArray:
        chosen = np.nonzero(points)[1].reshape(len(points), -1)
        rows, columns = chosen[:, :, None], chosen[:, None, :]
        weights = np.linalg.solve(gram[rows, columns], moment[chosen][:, :, None])[:, :, 0]
        quadratic = np.einsum("mi,mij,mj->m", weights, held_gram[rows, columns], weights)
        error = held_square - 2.0 * np.sum(weights * held_moment[chosen], axis=1) + quadratic
        return np.asarray(1.0 - error / held_square)

    return Instance(Subset(30, 6), scores)


def portfolio(number: int) -> Instance:
    """10 of 40 assets in equal parts: mean return less a price for its variance."""
    rng = np.random.default_rng([number, 12])
    loadings = rng.normal(size=(40, 4)) * [1.0, 0.6, 0.4, 0.3]
    covariance = loadings @ loadings.T + np.diag(rng.uniform(0.2, 1.0, size=40))
    means = 0.3 * loadings[:, 0] + 0.3 * rng.normal(size=40)

    def scores(points: IntArray) -> FloatArray:
        shares = points / 10.0
        return np.asarray(shares @ means - 2.0 * np.einsum("mi,ij,mj->m", shares, covariance, shares))

    return Instance(Subset(40, 10), scores)


def knapsack(number: int) -> Instance:
    """Any of 20 items: their value less ten for every unit of weight above the capacity."""
    rng = np.random.default_rng([number, 13])
    weights = rng.integers(5, 40, size=20).astype(np.float64)
    values = weights + rng.uniform(0.0, 20.0, size=20)
    capacity = np.floor(0.4 * weights.sum())

    def scores(points: IntArray) -> FloatArray:
        return np.asarray(points @ values - 10.0 * np.maximum(points @ weights - capacity, 0.0))

    return Instance(AnySize(20), scores)
