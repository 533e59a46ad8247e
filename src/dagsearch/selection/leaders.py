"""The subset with the best score, and a simpler one that is about as good."""

from collections.abc import Iterable
from typing import NamedTuple

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
    return Choice(chosen, simpler_than(chosen, scored))


def simpler_than(chosen: Scored, scored: Iterable[Scored]) -> Scored | None:
    """The subset with the fewest features within one standard error of the chosen one, if it has fewer.

    It is the standard error of their difference, fold by fold: how hard the rows of a fold are cancels out.
    """
    for other in sorted(scored, key=lambda one: (len(one.columns), -one.mean)):
        difference = chosen.scores - other.scores
        if len(other.columns) < len(chosen.columns) and difference.mean() <= standard_error(difference):
            return other
    return None


def standard_error(scores: FloatArray) -> float:
    """Standard error of a mean over cross-validation folds, of scores or of their differences.

    The training sets of folds overlap, so that the variance of the mean does not fall with their number as
    that of independent scores does (Nadeau and Bengio, 2003).
    """
    folds = len(scores)
    return float(np.sqrt((1.0 / folds + 1.0 / (folds - 1)) * scores.var(ddof=1))) if folds > 1 else 0.0
