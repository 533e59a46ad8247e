"""The subsets with the best scores: which one is chosen, and which simpler ones are about as good."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.errors import ProblemError
from dagsearch.problems.subsets import Subset
from dagsearch.search import Search
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.record import Scored, SelectionRecord


class Choice(NamedTuple):
    """The chosen subset, and a simpler one."""

    chosen: Scored
    """The choice."""
    simpler: Scored | None
    """The subset with the fewest features within one standard error of the chosen one, if it has fewer."""


def choose(record: SelectionRecord, search: Search, parsimonious: bool) -> Choice:
    """The subset with the best mean score; of ties, the smallest, then the first.

    Scoring the leaders again on other folds, preferring those with the best expected score, and taking a
    ranking's choice in tables with few rows were tried: the choices did worse on held-out rows, or no better.

    Parameters
    ----------
    record : SelectionRecord
        Everything scored.
    search : Search
        It also knows the scores that the user gave, without their folds.
    parsimonious : bool
        Whether to choose the simpler subset.
    """
    scored = {frozenset(entry.scored.columns): entry.scored for entry in record.successes()}
    failed = {frozenset(entry.scored.columns) for entry in record.failed()}
    for told in search.history:
        if told.leaf not in scored and told.leaf not in failed:
            scored[told.leaf] = Scored(tuple(sorted(told.leaf)), np.array([told.reward]), 0.0, None)
    chosen = max(scored.values(), key=lambda one: (round(one.mean, 12), -len(one.columns)))
    simpler = simpler_than(chosen, scored.values(), record.folds)
    if parsimonious and simpler is not None:
        return Choice(simpler, None)
    return Choice(chosen, simpler)


def standard_error(difference: FloatArray, folds: int) -> float:
    """Standard error of a mean over cross-validation folds.

    The training sets of folds overlap, so that the variance of the mean does not fall with their number as
    that of independent scores does (Nadeau and Bengio, 2003).

    Parameters
    ----------
    difference : ndarray of shape (n_scores,)
        Score, or difference of two scores, on each fold.
    folds : int
        Number of folds.
    """
    if len(difference) < 2:
        return 0.0
    tested = 1.0 / max(folds - 1, 1)
    return float(np.sqrt((1.0 / len(difference) + tested) * difference.var(ddof=1)))


def within_one_error(
    chosen: Scored, others: Sequence[Scored], folds: int, simplicity: Callable[[Scored], Any]
) -> Scored | None:
    """The simplest of the others whose score is within one standard error of the chosen one's.

    It is the standard error of their difference, fold by fold: how hard the rows of a fold are cancels out.
    """
    for other in sorted(others, key=lambda other: (simplicity(other), -other.mean)):
        shared = min(len(chosen.scores), len(other.scores))
        difference = chosen.scores[:shared] - other.scores[:shared]
        if difference.mean() <= standard_error(difference, folds):
            return other
    return None


def simpler_than(chosen: Scored, scored: Iterable[Scored], folds: int) -> Scored | None:
    """The subset with the fewest features of those that have fewer, within one standard error."""
    fewer = [one for one in scored if len(one.columns) < len(chosen.columns)]
    return within_one_error(chosen, fewer, folds, lambda one: len(one.columns))


def next_smaller(
    search: Search, problem: ColumnSubsets, scored: Mapping[Subset, Scored], folds: int
) -> Subset | None:
    """The subset to score next in order to find a smaller one that is as good.

    It lacks one feature of the smallest subset within one standard error of the best score; of such subsets
    that were not scored yet it has the highest expected score. ``None`` if there is none. ``scored`` are all
    subsets so far, those that failed included.
    """
    valid = [one for one in scored.values() if one.failure is None]
    if not valid:
        return None
    best = max(valid, key=lambda one: one.mean)
    current = frozenset((simpler_than(best, valid, folds) or best).columns)
    left = [current - {column} for column in sorted(current)]
    open_ones = [leaf for leaf in left if leaf not in scored and can_be_chosen(leaf, problem)]
    return max(open_ones, key=lambda leaf: search.belief(leaf).g.mean, default=None)


def can_be_chosen(leaf: Subset, problem: ColumnSubsets) -> bool:
    """Whether a subset can be selected."""
    try:
        problem.path_to(leaf)
    except ProblemError:  # too small, without a fixed feature, or part of a group
        return False
    return True
