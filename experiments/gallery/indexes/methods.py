"""Our search, greedy forward selection, and climbing by swaps."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction import DictVectorizer

import dagsearch as ds
from experiments.gallery.indexes.planner import Index, Planner
from experiments.harness.contest import Method
from experiments.harness.evaluations import Evaluations
from experiments.harness.peers import climb

# Weights of the similarities of two indexes; OWN is the independent part of an index.
_TABLE, _FIRST, _COLUMN, _SAME_COLUMNS, _OWN = 0.2, 0.3, 0.2, 0.1, 0.3


def alike(indexes: Sequence[Index]) -> NDArray[np.float64]:
    """Similarity of indexes: the same table, the same first column, shared columns in any order.

    The matrix is a product of weighted features, so it is positive semi-definite; its diagonal is 1.
    """
    weights = [
        {
            ("table", index.table): _TABLE,
            ("first", index.table, index.columns[0]): _FIRST,
            ("all", index.table, frozenset(index.columns)): _SAME_COLUMNS,
            ("own", index): _OWN,
            **{("column", index.table, column): _COLUMN / len(index.columns) for column in index.columns},
        }
        for index in indexes
    ]
    table = np.sqrt(DictVectorizer(sparse=False, sort=False).fit_transform(weights))
    table /= np.linalg.norm(table, axis=1, keepdims=True)
    return np.asarray(table @ table.T)


def index_choice(
    planner: Planner, k: int, storage: float, reward: Callable[[frozenset[int]], float]
) -> ds.problems.Subsets:
    """At most ``k`` candidates that together fit into ``storage`` bytes."""
    fits = partial(planner.fits, storage=storage)
    return ds.problems.Subsets(len(planner.indexes), (0, k), reward, allowed=fits)


def saving(planner: Planner, chosen: frozenset[int]) -> float:
    """The reward of a subset: the logarithm of the factor by which it makes the workload cheaper."""
    return math.log(planner.cost(()) / planner.cost(chosen))


def share(reward: float) -> float:
    """The workload's cost for a reward, as a share of the cost without further indexes."""
    return math.exp(-reward)


def methods(planner: Planner, k: int, storage: float) -> dict[str, Method]:
    """The methods by name, ours first."""
    sizes, count = np.array(planner.sizes, dtype=np.float64), len(planner.indexes)
    fits = partial(planner.fits, storage=storage)

    def ours(evaluate: Evaluations, seed: int) -> None:
        problem = index_choice(planner, k, storage, evaluate)
        covariance = ds.covariances.SetKernel(alike(planner.indexes))
        ds.search(problem, evaluate.budget, covariance=covariance, seed=seed)

    def greedy(evaluate: Evaluations, seed: int, prices: NDArray[np.float64]) -> None:
        chosen: frozenset[int] = frozenset()
        reward = 0.0
        while len(chosen) < k:
            more = [index for index in range(count) if index not in chosen and fits(chosen | {index})]
            if not more:
                return
            gains = [(evaluate(chosen | {index}) - reward) / prices[index] for index in more]
            chosen |= {more[int(np.argmax(gains))]}
            reward = evaluate(chosen)

    def swaps(evaluate: Evaluations, seed: int) -> None:
        rng = np.random.default_rng(seed)

        def exchanged(chosen: frozenset[int]) -> Iterator[frozenset[int]]:
            pairs = [(out, new) for out in sorted(chosen) for new in range(count) if new not in chosen]
            others = (chosen - {pairs[i][0]} | {pairs[i][1]} for i in rng.permutation(len(pairs)))
            return filter(fits, others)

        for _ in range(evaluate.budget):  # hardly any choice of k may fit
            chosen = frozenset(rng.choice(count, k, replace=False).tolist())
            if fits(chosen):
                climb(evaluate, chosen, exchanged)

    return {
        "dagsearch": ours,
        "greedy": partial(greedy, prices=np.ones(count)),
        "greedy per byte": partial(greedy, prices=sizes),
        "swap climbing": swaps,
    }
