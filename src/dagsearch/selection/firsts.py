"""The first subsets that are scored: what simple methods would choose."""

import numpy as np

from dagsearch._internal.typing import IntArray
from dagsearch.problems.ground import SubsetProblem
from dagsearch.selection.glance import Glance

Subset = frozenset[int]

# Columns that are correlated more strongly than this with a chosen one are left out of a thinned ranking.
_ALIKE = 0.7
# Largest part of the budget for first subsets, and largest number of sizes that each ranking is tried with.
_PART, _MOST_SIZES = 0.3, 4


def first_subsets(seen: Glance, problem: SubsetProblem, budget: int) -> list[Subset]:
    """What rankings of the columns would choose, each subset once.

    The first is what a test of each column by itself would choose (``SelectKBest``). Then come the columns
    that a linear model gathers step by step, the mean of all rankings with strongly correlated columns
    thinned out, and the other rankings. If several sizes are allowed, the largest, the smallest and some in
    between are tried.

    Parameters
    ----------
    seen : Glance
        The rankings.
    problem : SubsetProblem
        The subsets that may be chosen.
    budget : int
        Number of subsets that will be scored; the first ones take a third of it at most.
    """
    order = {name: np.argsort(-scores, kind="stable") for name, scores in seen.rankings.items()}
    # Forward selection ends early where nothing is left to explain; the mean ranking goes on.
    ahead = np.argsort(-(seen.ahead + 1e-6 * seen.relevance), kind="stable")
    every = np.argsort(-seen.relevance, kind="stable")
    linear = order.pop("linear")
    most = int(problem.sizes[-1])
    orders = [linear, ahead, thinned(every, seen, 2 * most), every, *order.values()]
    found: dict[Subset, None] = {}
    sizes = _sizes(problem.sizes)
    for size in sizes:
        for ranked in orders if size == sizes[0] else orders[1:4]:
            found.setdefault(best_of(ranked, problem, size))
    limit = max(1, int(_PART * budget))
    return list(found)[:limit]


def _sizes(allowed: range) -> list[int]:
    """Some of the allowed sizes, evenly spread on a logarithmic scale, the largest first."""
    least, most = max(allowed[0], 1), max(allowed[-1], 1)
    spread = np.geomspace(least, most, min(_MOST_SIZES, most - least + 1))
    return sorted(
        {round(float(size)) for size in spread if round(size) in allowed} or {allowed[-1]}, reverse=True
    )


def best_of(ranked: IntArray, problem: SubsetProblem, size: int) -> Subset:
    """The subset of the first ``size`` choices by a ranking of the columns, with what is fixed."""
    owner = {column: members for members in problem.choices.values() for column in members}
    chosen: list[Subset] = []
    for column in ranked.tolist():
        if len(chosen) == size:
            break
        members = owner.get(column)
        if members is not None and members not in chosen:
            chosen.append(members)
    return frozenset(problem.items(problem.root())).union(*chosen)


def thinned(ranked: IntArray, seen: Glance, most: int) -> IntArray:
    """The first ``most`` columns of a ranking without a strongly correlated better one, then the rest."""
    place = np.full(ranked.size, -1, dtype=np.int64)
    place[seen.columns] = np.arange(seen.columns.size)
    table = seen.table
    kept: list[int] = []
    alike: list[int] = []
    for column in ranked.tolist():
        if len(kept) >= most:
            break
        if place[column] < 0:
            alike.append(column)
            continue
        correlations = table[:, place[kept]].T @ table[:, place[column]] / len(table)
        (alike if np.abs(correlations).max(initial=0.0) > _ALIKE else kept).append(column)
    first = [*kept, *alike]
    return np.array([*first, *ranked[~np.isin(ranked, first)].tolist()], dtype=np.int64)
