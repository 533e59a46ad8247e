"""The expected score on new data, corrected for the optimism of the search, and its interval.

The best of many cross-validated scores is too high for new data, for two reasons:

- the search looks for high scores. So the choice is repeated for each fold: the subset that is best on the
  other folds is scored on this fold.
- the ranking that suggests the first subsets has seen all rows. It is repeated without the rows of each fold,
  from all candidates, and its suggestion of about the chosen size is scored on these rows.

The expected score is the best one minus both differences.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from joblib import Parallel, delayed

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.data import REACH
from dagsearch.selection.scoring import Scored, SubsetScorer, least_deviation, undivided

NOTHING = "nothing here predicts the target better than no features"
"""The verdict on a table without signal."""

Columns: TypeAlias = tuple[int, ...]
"""Column numbers, ascending."""
Suggest: TypeAlias = Callable[[IntArray], Sequence[Columns] | None]
"""The suggestions of a ranking by some rows, in an order that does not depend on the rows; ``None`` without
a target to rank by."""


def is_better(found: Sequence[tuple[float, float, float]]) -> bool | None:
    """Whether scores exceed those of no features by more than chance; ``None`` if nothing is known.

    Each estimate has a score, the lower end of its interval and the score of no features. They are averaged
    with weights by precision.
    """
    weights = [(REACH / max(score - low, 1e-12)) ** 2 for score, low, _ in found]
    ahead = sum(weight * (score - none) for weight, (score, _, none) in zip(weights, found, strict=True))
    return bool(ahead > REACH * float(np.sqrt(sum(weights)))) if found else None


def optimism_of_choice(scores: FloatArray) -> float:
    """The optimism of the best mean score because it is the best; see the module's docstring.

    ``scores`` of all subsets have the shape ``(n_subsets, n_folds)``.
    """
    others = scores.sum(axis=1, keepdims=True) - scores
    unseen = scores[others.argmax(axis=0), np.arange(scores.shape[1])].mean()
    return max(0.0, float(scores.mean(axis=1).max() - unseen))


class Repeated(NamedTuple):
    """The result of repeating the ranking without the rows of a fold."""

    losses: Sequence[float]
    """How much the score of its suggestion falls on each fold."""
    fits: int
    """Number of fits."""

    @property
    def optimism(self) -> float:
        """The optimism of the suggestion's score."""
        return max(0.0, float(np.mean(self.losses)))


def optimism_of_ranking(
    score: SubsetScorer, suggest: Suggest, scored: Mapping[Columns, FloatArray], size: int, n_jobs: int | None
) -> Repeated | None:
    """The optimism of the score of a ranking's suggestion, because the ranking has seen all rows.

    Many columns are more optimistic than one: the suggestion nearest to the chosen ``size`` counts.
    ``scored`` are scores on all folds by subset. ``None`` with few folds, without a target, or on failure.
    """
    suggested = suggest(np.arange(score.rows)) or ()
    known = [place for place, one in enumerate(suggested) if one in scored]
    if not known or score.folds < 3:
        return None
    place = min(known, key=lambda one: abs(np.log(len(suggested[one]) / size)))
    before = suggested[place]

    def lost(number: int) -> tuple[float, bool]:
        after = (suggest(score.splits[number][0]) or suggested)[place]
        if after == before:
            return 0.0, False
        return float(scored[before][number] - score(after, [number]).scores[0]), True

    folds = range(score.folds)
    losses, fits = np.array(Parallel(n_jobs=n_jobs)(delayed(undivided)(lost, one) for one in folds)).T
    finite = np.isfinite(losses)
    if not finite.any():
        return None
    return Repeated(np.where(finite, losses, losses[finite].mean()).tolist(), int(fits.sum()))


def score_deviation(scores: FloatArray, others: FloatArray, rows: int, bounds: tuple[float, float]) -> float:
    """Standard deviation of a mean over folds, as an estimate of the score on new rows.

    Few folds may agree by accident, so half of the variance between folds is the median over ``others``: the
    scores of other subsets, shape ``(n_subsets, n_folds)``. The number of test ``rows`` sets a lower limit.
    Scores must be corrected for optimism fold by fold, because its estimate varies, too.
    """
    error = standard_error(scores)
    if len(others) and len(scores) > 1:
        typical = float(np.median([standard_error(other) for other in others]))
        error = float(np.sqrt((error**2 + typical**2) / 2.0))
    return max(error, least_deviation(float(scores.mean()), rows, bounds))


# The choice -----------------------------------------------------------------------------------------


def best_of(scored: Iterable[Scored]) -> Scored:
    """The subset with the best mean score; ties go to the smallest, then to the first.

    Scoring the leaders again on other folds, preferring the best expected score, and using a ranking's choice
    in tables with few rows were tried: on held-out rows the choices were worse, or no better.
    """
    return max(scored, key=lambda one: (round(one.mean, 12), -len(one.columns)))


def simpler_than(chosen: Scored, scored: Iterable[Scored]) -> Scored | None:
    """The subset with the fewest features within one standard error of the chosen one, if it has fewer.

    It is the standard error of their difference, fold by fold: the difficulty of a fold's rows cancels out.
    """
    for other in sorted(scored, key=lambda one: (len(one.columns), -one.mean)):
        difference = chosen.scores - other.scores
        if len(other.columns) < len(chosen.columns) and difference.mean() <= standard_error(difference):
            return other
    return None


def standard_error(scores: FloatArray) -> float:
    """Standard error of a mean over cross-validation folds, of scores or of their differences.

    The training sets of folds overlap, so the variance of the mean falls more slowly with their number than
    for independent scores (Nadeau and Bengio, 2003).
    """
    folds = len(scores)
    return float(np.sqrt((1.0 / folds + 1.0 / (folds - 1)) * scores.var(ddof=1))) if folds > 1 else 0.0
