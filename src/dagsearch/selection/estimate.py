"""The expected score on new data: an estimate without the optimism of having searched, and its interval.

The best of many cross-validated scores is too high for new data, for two reasons:

- the search looks for high scores. So the choice is repeated on folds that take no part in it: of each fold,
  the score of the subset that is best on the other folds.
- rankings that suggest the first subsets have seen all rows. They are repeated without the rows of each fold,
  and what they then suggest is scored on these rows.

The expected score is the best one less both differences.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from joblib import Parallel, delayed

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.data import REACH
from dagsearch.selection.scoring import Scored, SubsetScorer, least_deviation, score_interval, undivided

NOTHING = "nothing here predicts the target better than no features"
"""What is said of a table without signal."""
# Number of folds that rankings are repeated without, at most.
_MOST_FOLDS = 10

Columns: TypeAlias = tuple[int, ...]
"""Column numbers, ascending."""
Suggest: TypeAlias = Callable[[IntArray], Sequence[Columns] | None]
"""What rankings suggest that see some rows, in an order that does not depend on the rows; ``None`` if they
cannot be made."""


class Estimate(NamedTuple):
    """The score of a subset on new rows."""

    score: float
    """The expected score."""
    interval: tuple[float, float]
    """Its central 90% interval, within the bounds of the score."""
    optimism: float | None
    """What was deducted from the cross-validated score; ``None`` if it was not estimated."""


def estimate(score: float, deviation: float, optimism: float | None, bounds: tuple[float, float]) -> Estimate:
    """The expected score, from a cross-validated one with a :func:`score_deviation` and an optimism."""
    expected = score - (optimism or 0.0)
    return Estimate(expected, score_interval(expected, deviation, bounds), optimism)


def is_better(found: Sequence[tuple[float, float, float]]) -> bool | None:
    """Whether scores are above those of no features by more than chance; ``None`` if nothing is known.

    Each estimate has a score, the lower end of its interval and the score of no features. Together they are
    weighted by their precision.
    """
    weights = [(REACH / max(score - low, 1e-12)) ** 2 for score, low, _ in found]
    ahead = sum(weight * (score - none) for weight, (score, _, none) in zip(weights, found, strict=True))
    return bool(ahead > REACH * float(np.sqrt(sum(weights)))) if found else None


def optimism_of_choice(scores: FloatArray) -> float:
    """By how much the best mean score is too high because it is the best; see the module's docstring.

    ``scores`` of all subsets have the shape ``(n_subsets, n_folds)``.
    """
    others = scores.sum(axis=1, keepdims=True) - scores
    unseen = scores[others.argmax(axis=0), np.arange(scores.shape[1])].mean()
    return max(0.0, float(scores.mean(axis=1).max() - unseen))


class Repeated(NamedTuple):
    """What came of rankings that were repeated without the rows of a fold."""

    optimism: float | None
    """By how much scores of what they suggest are too high; ``None`` if nothing could be scored."""
    fits: int
    """Number of fits that it took."""


def optimism_of_rankings(
    score: SubsetScorer,
    suggest: Suggest,
    scored: Mapping[Columns, FloatArray],
    n_jobs: int | None,
) -> Repeated | None:
    """By how much scores of what rankings suggest are too high, because rankings have seen all rows.

    ``scored`` are scores on all folds by subset. ``None`` with fewer than three folds, or without a target
    that rankings could look at.
    """
    suggested = suggest(np.arange(score.rows))
    if suggested is None or score.folds < 3:
        return None
    places = [place for place, columns in enumerate(suggested) if columns in scored]
    numbers = np.unique(np.linspace(0, score.folds - 1, _MOST_FOLDS).astype(np.int64)).tolist()

    def lost(number: int) -> tuple[list[float], int] | None:
        again = suggest(score.splits[number][0])
        if again is None:
            return None
        changed = {again[place] for place in places if again[place] != suggested[place]}
        found = {columns: float(score(columns, [number]).scores[0]) for columns in sorted(changed)}
        before = {place: scored[suggested[place]][number] for place in places}
        return [before[p] - found.get(again[p], before[p]) for p in places], len(found)

    repeated = Parallel(n_jobs=n_jobs)(delayed(undivided)(lost, number) for number in numbers)
    if any(one is None for one in repeated):
        return None
    differences = np.array([some for some, _ in repeated])
    known = differences[np.isfinite(differences)]
    optimism = max(0.0, float(known.mean())) if known.size else None
    return Repeated(optimism, sum(fits for _, fits in repeated))


def score_deviation(scores: FloatArray, others: FloatArray, rows: int, bounds: tuple[float, float]) -> float:
    """Standard deviation of a mean over folds, as an estimate of the score on new rows.

    Few folds agree by accident, so half of the variance between folds is the median over ``others``: other
    subsets, of shape ``(n_subsets, n_folds)``. The score cannot be known better than the number of ``rows``
    that test it allows.
    """
    error = standard_error(scores)
    if len(others) and len(scores) > 1:
        typical = float(np.median([standard_error(other) for other in others]))
        error = float(np.sqrt((error**2 + typical**2) / 2.0))
    return max(error, least_deviation(float(scores.mean()), rows, bounds))


# The choice -----------------------------------------------------------------------------------------


def best_of(scored: Iterable[Scored]) -> Scored:
    """The subset with the best mean score; of ties, the smallest, then the first.

    Scoring the leaders again on other folds, preferring those with the best expected score, and taking a
    ranking's choice in tables with few rows were tried: the choices did worse on held-out rows, or no better.
    """
    return max(scored, key=lambda one: (round(one.mean, 12), -len(one.columns)))


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
