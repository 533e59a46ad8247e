"""The subset with the best score, and a simpler one that is about as good."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.selection.record import Scored, SelectionRecord


class Choice(NamedTuple):
    """The chosen subset, and a simpler one."""

    chosen: Scored
    """The choice."""
    simpler: Scored | None
    """The subset with the fewest features within one standard error of the chosen one, if it has fewer."""


def choose(record: SelectionRecord) -> Choice:
    """The subset with the best mean score; of ties, the smallest, then the first.

    Scoring the leaders again on other folds, preferring those with the best expected score, and taking a
    ranking's choice in tables with few rows were tried: the choices did worse on held-out rows, or no better.
    """
    scored = [entry.scored for entry in record.successes()]
    chosen = max(scored, key=lambda one: (round(one.mean, 12), -len(one.columns)))
    fewer = [one for one in scored if len(one.columns) < len(chosen.columns)]
    return Choice(chosen, within_one_error(chosen, fewer, record.folds, lambda one: len(one.columns)))


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
    chosen: Scored, others: Iterable[Scored], folds: int, simplicity: Callable[[Scored], Any]
) -> Scored | None:
    """The simplest of the others whose score is within one standard error of the chosen one's.

    It is the standard error of their difference, fold by fold: how hard the rows of a fold are cancels out.
    """
    for other in sorted(others, key=lambda other: (simplicity(other), -other.mean)):
        difference = chosen.scores - other.scores
        if difference.mean() <= standard_error(difference, folds):
            return other
    return None
