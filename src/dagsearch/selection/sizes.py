"""Score against number of features."""

from typing import NamedTuple

import numpy as np

from dagsearch.errors import ProblemError
from dagsearch.problems.ground import SubsetProblem
from dagsearch.record import Record
from dagsearch.search import Search
from dagsearch.selection.confirm import best_leader, leader_of, within_one_error


class SizeScore(NamedTuple):
    """The best of the scored subsets with some number of features."""

    columns: tuple[int, ...]
    """The subset."""
    score: float
    """Its mean score over the folds."""
    error: float | None
    """Standard error of this mean; ``None`` with a single fold."""
    subsets: int
    """Number of scored subsets of this size."""


def best_by_size(record: Record) -> list[SizeScore]:
    """The best subset of every size that was scored, in the order of sizes."""
    found: dict[int, SizeScore] = {}
    for entry in record.successes():
        scored = entry.scored
        known = found.get(len(scored.columns))
        count = 1 if known is None else known.subsets + 1
        if known is None or scored.mean > known.score:
            folds = len(scored.scores)
            error = float(np.std(scored.scores, ddof=1)) / folds**0.5 if folds > 1 else None
            found[len(scored.columns)] = SizeScore(scored.columns, scored.mean, error, count)
        else:
            found[len(scored.columns)] = known._replace(subsets=count)
    return [found[size] for size in sorted(found)]


def smallest_good(record: Record) -> frozenset[int]:
    """The smallest subset whose score is within one standard error of the best score."""
    leaders = [leader_of(entry.scored) for entry in record.successes()]
    best = best_leader(leaders)
    fewer = [leader for leader in leaders if len(leader.subset) < len(best.subset)]
    return (within_one_error(best, fewer, record.folds, lambda leader: len(leader.subset)) or best).subset


def next_smaller(search: Search, problem: SubsetProblem, record: Record) -> frozenset[int] | None:
    """The subset to score next in order to find a smaller one that is as good.

    It lacks one feature of the smallest subset within one standard error of the best score; of such subsets
    that were not scored yet it has the highest expected score. ``None`` if there is none.
    """
    if not record.successes():
        return None
    current = smallest_good(record)
    scored = {frozenset(entry.scored.columns) for entry in record.entries}
    left = [current - {column} for column in sorted(current)]
    open_ones = [leaf for leaf in left if leaf not in scored and can_be_chosen(leaf, problem)]
    return max(open_ones, key=lambda leaf: search.belief(leaf).g.mean, default=None)


def can_be_chosen(leaf: frozenset[int], problem: SubsetProblem) -> bool:
    """Whether a subset can be selected."""
    try:
        problem.path_to(leaf)
    except ProblemError:  # too small, without a fixed feature, or part of a group
        return False
    return True
