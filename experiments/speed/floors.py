"""Lower bounds of a step's cost on this machine: its linear algebra alone."""

import numpy as np
from scipy.linalg.blas import dgemv, dsymv, dsyr, dtrsv

from experiments.speed.measure import seconds_of


def weights(dimension: int) -> float:
    """Seconds of one symmetric rank-1 update and one product with a matrix of the feature dimension."""
    matrix, vector = np.asfortranarray(np.eye(dimension)), np.ones(dimension)
    return seconds_of(lambda: dsyr(-1e-9, dsymv(1.0, matrix, vector), a=matrix, overwrite_a=True))


def kernel(rewards: int, nodes: int) -> float:
    """Seconds of one triangular solve with the rewards' factor, and one product of rewards and nodes."""
    rng = np.random.default_rng(0)
    factor = np.asfortranarray(np.eye(rewards) + np.tril(rng.normal(size=(rewards, rewards))) / rewards)
    whitened, vector = np.asfortranarray(rng.normal(size=(nodes, rewards))), rng.normal(size=rewards)
    return seconds_of(lambda: (dtrsv(factor, vector, lower=1), dgemv(1.0, whitened, vector)))


def back_up(nodes: int, edges: int) -> float:
    """Seconds of one pass over the nodes' scores and the edges' children with NumPy."""
    rng = np.random.default_rng(0)
    g_mean, g_var = rng.normal(size=nodes), rng.uniform(size=nodes)
    v_mean, v_var = np.empty(nodes), np.empty(nodes)
    children = np.sort(rng.integers(nodes, size=edges))  # a node's children are mostly neighbours
    gathered = np.empty(edges)

    def one_pass() -> None:
        np.copyto(v_mean, g_mean)
        np.copyto(v_var, g_var)
        np.take(v_mean, children, out=gathered, mode="clip")
        np.take(v_var, children, out=gathered, mode="clip")

    return seconds_of(one_pass)
