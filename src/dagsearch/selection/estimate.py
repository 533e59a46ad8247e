"""The expected score on new data: an estimate without the optimism of having searched, and its interval.

The best of many cross-validated scores is too high for new data, for two reasons:

- rankings that suggest the first subsets have seen all rows. A small selection by rankings is therefore
  repeated without the rows of each fold, and scored on these rows.
- the search looks for high scores. So its gain over the first subsets is measured on folds that take no part
  in the choice: of each fold, the score of the subset that is best on the other folds.

The expected score is the sum of both. In tables with little or no signal it is unbiased to about 0.02.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from dagsearch._internal.typing import BoolArray, FloatArray, IntArray
from dagsearch.data import REACH
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.leaders import standard_error
from dagsearch.selection.rankings import first_subsets, ranked
from dagsearch.selection.scoring import SubsetScorer, undivided, within

Splits = Sequence[tuple[IntArray, IntArray]]
"""Row numbers for training and for testing, for every fold."""

NOTHING = "nothing here predicts the target better than no features"
"""What is said of a table without signal."""
# Outer folds of the nested selection; subsets scored in each, at most, and as a part of the budget.
_OUTER, _MOST, _PART = 5, 8, 0.08


class Estimate(NamedTuple):
    """The score of the chosen subset on new rows."""

    score: float
    """The expected score."""
    interval: tuple[float, float]
    """Its central 90% interval, within the bounds of the score."""
    optimism: float | None
    """What was deducted from the cross-validated score; ``None`` if it was not estimated."""
    baseline: float | None
    """Cross-validated score of predictions that use no feature; ``None`` if the score does not allow it."""

    @property
    def signal(self) -> bool | None:
        """Whether the features predict better than none; ``None`` without a baseline."""
        return None if self.baseline is None else is_better([(self.score, self.interval[0], self.baseline)])


def is_better(found: Sequence[tuple[float, float, float]]) -> bool | None:
    """Whether scores are above those of no features by more than chance; ``None`` if nothing is known.

    Each estimate has a score, the lower end of its interval and the score of no features. Together they are
    weighted by their precision.
    """
    weights = [(REACH / max(score - low, 1e-12)) ** 2 for score, low, _ in found]
    ahead = sum(weight * (score - none) for weight, (score, _, none) in zip(weights, found, strict=True))
    return bool(ahead > REACH * float(np.sqrt(sum(weights)))) if found else None


def optimism_of(scores: FloatArray, first: BoolArray, nested: float) -> float:
    """By how much the best mean score is too high; see the module's docstring.

    Parameters
    ----------
    scores : ndarray of shape (n_subsets, n_folds)
        Scores of all subsets.
    first : ndarray of shape (n_subsets,)
        Which of them the rankings suggested.
    nested : float
        Score of a selection by rankings that is repeated inside the folds.
    """
    best, folds = float(scores.mean(axis=1).max()), scores.shape[1]
    others = (scores.sum(axis=1, keepdims=True) - scores) / (folds - 1)
    unseen = float(scores[others.argmax(axis=0), np.arange(folds)].mean())
    suggested = float(scores[first].mean(axis=1).max(initial=-np.inf)) if first.any() else unseen
    return max(0.0, best - nested - max(0.0, unseen - suggested))


def estimate(
    score: float,
    deviation: float,
    optimism: float | None,
    bounds: tuple[float, float],
    baseline: float | None = None,
) -> Estimate:
    """The expected score on new data, from a cross-validated one.

    Parameters
    ----------
    score : float
        The cross-validated score.
    deviation : float
        Its standard deviation; see :func:`score_deviation`.
    optimism : float or None
        By how much it is too high, if known.
    bounds : tuple of (float, float)
        Smallest and largest value of a score.
    baseline : float or None
        Score without any feature.
    """
    expected = score - (optimism or 0.0)
    reach = REACH * deviation
    return Estimate(
        expected, within((expected - reach, expected + reach), bounds, expected), optimism, baseline
    )


def score_deviation(
    scores: FloatArray, others: FloatArray | None, rows: int, bounds: tuple[float, float]
) -> float:
    """Standard deviation of a mean over folds, as an estimate of the score on new rows.

    Parameters
    ----------
    scores : ndarray of shape (n_folds,)
        The scores.
    others : ndarray of shape (n_subsets, n_folds) or None
        Scores of other subsets. Few folds agree by accident, so that half of the variance between folds is
        the median over these subsets.
    rows : int
        Number of rows that test. A score cannot be known better than they allow: a share of the rows has a
        binomial variance, of which a perfect share has some, too, and an unexplained share of the variance a
        relative error of ``sqrt(2 / rows)``.
    bounds : tuple of (float, float)
        Smallest and largest value of a score.
    """
    folds, mean = len(scores), float(scores.mean())
    error = standard_error(scores, folds)
    if others is not None and len(others) and folds > 1:
        typical = float(np.median([standard_error(other, folds) for other in others]))
        error = float(np.sqrt((error**2 + typical**2) / 2.0))
    low, high = bounds
    least = 0.0
    if np.isfinite(low) and np.isfinite(high):
        share = ((mean - low) / (high - low) * rows + 0.5) / (rows + 1.0)
        least = (high - low) * float(np.sqrt(share * (1.0 - share) / rows))
    elif high == 1.0:
        least = (1.0 - mean + 1.0 / rows) * float(np.sqrt(2.0 / rows))
    return max(error, least)


# Nested selection -----------------------------------------------------------------------------------


class Nested(NamedTuple):
    """A selection that is repeated inside the folds, without the rows that judge it."""

    score: float | None
    """Its mean score; ``None`` if it could not be scored."""
    fits: int
    """Number of fits that it took."""


def nested_candidates(budget: int) -> int:
    """Number of subsets that the nested selection scores in each outer fold."""
    return max(1, min(_MOST, int(_PART * budget)))


def nested_selection(
    on: Callable[[Splits], SubsetScorer],
    splits: Splits,
    problem: ColumnSubsets,
    data: Any,
    target: Any,
    counted: IntArray,
    classification: bool,
    candidates: int,
    n_jobs: int | None,
) -> Nested | None:
    """Select among what rankings suggest without the rows of each fold, and score the choice on these rows.

    Parameters
    ----------
    on : callable
        Makes a scorer on given folds.
    splits : sequence of (train, test)
        The folds of the search. The other folds without the rows of one of them are its inner folds, so that
        groups of rows stay together, and time runs forward.
    problem : ColumnSubsets
        The subsets that can be chosen.
    data, target
        All rows.
    counted : ndarray of int
        Rows that rankings look at.
    classification : bool
        Whether the target consists of classes.
    candidates : int
        Number of subsets that are scored in each outer fold.
    n_jobs : int or None
        Number of outer folds at a time.

    Returns
    -------
    Nested or None
        ``None`` with fewer than three folds, or without a target that rankings could look at.
    """
    outer = coarser(splits, _OUTER)
    if len(outer) < 3 or target is None:
        return None
    judge = on(outer)

    def judged(number: int) -> tuple[float | None, int] | None:
        train = np.intersect1d(outer[number][0], counted)
        rankings = ranked(_safe_indexing(data, train), _safe_indexing(target, train), classification)
        if rankings is None:
            return None
        found = first_subsets(rankings, problem, 10_000)
        options = [sorted(subset) for subset in found[:: -(-len(found) // candidates)]]
        fits, best = 1, options[0]
        if len(options) > 1:
            score = on(inner_folds(outer, number))
            scored = [score(option) for option in options]
            fits += score.folds * len(options)
            best = list(max(scored, key=lambda one: -np.inf if one.failure else one.mean).columns)
        return judge.on_fold(best, number), fits

    found = Parallel(n_jobs=n_jobs)(delayed(undivided)(judged, number) for number in range(len(outer)))
    if any(one is None for one in found):
        return None
    scores = [score for score, _ in found]
    known = [score for score in scores if score is not None]
    mean = float(np.mean(known)) if len(known) == len(scores) else None
    return Nested(mean, sum(fits for _, fits in found))


def coarser(splits: Splits, most: int) -> list[tuple[IntArray, IntArray]]:
    """At most ``most`` folds, each of several that are left out together."""
    made = []
    for group in np.array_split(np.arange(len(splits)), min(most, len(splits))):
        test = np.unique(np.concatenate([splits[i][1] for i in group]))
        train = splits[group[0]][0]
        for i in group[1:]:
            train = np.intersect1d(train, splits[i][0])
        made.append((np.setdiff1d(train, test), test))
    return [(train, test) for train, test in made if train.size and test.size]


def inner_folds(outer: Splits, number: int) -> list[tuple[IntArray, IntArray]]:
    """The other folds, without the rows that are not for training in this one."""
    rows = outer[number][0]
    inside = [
        (np.intersect1d(train, rows), np.intersect1d(test, rows))
        for place, (train, test) in enumerate(outer)
        if place != number
    ]
    return [(train, test) for train, test in inside if train.size and test.size] or [(rows, rows)]


def baseline_on(
    estimator: Any, scorer: Any, data: Any, target: Any, splits: Splits, of_rows: tuple[Any, Any]
) -> float | None:
    """Mean score over folds of predictions that use no feature; ``None`` if a fold has none.

    ``of_rows`` are the parameters for fitting and for scoring.
    """
    found = []
    for train, test in splits if target is not None else ():
        fitting, judging = (
            _check_method_params(data, params=params, indices=rows)
            for params, rows in zip(of_rows, (train, test), strict=True)
        )
        weights = [value for name, value in fitting.items() if name.endswith("sample_weight")]
        seen, unseen = _safe_indexing(target, train), _safe_indexing(target, test)
        found.append(baseline_score(estimator, scorer, seen, unseen, *weights[:1], **judging))
    known = [score for score in found if score is not None]
    return float(np.mean(known)) if known and len(known) == len(found) else None


def baseline_score(
    estimator: Any, scorer: Any, seen: Any, unseen: Any, weights: Any = None, **judging: Any
) -> float | None:
    """Score of predictions that use no feature; ``None`` if the score does not allow it.

    The prediction is the most frequent class, or the mean, of the targets that are ``seen``, by their
    ``weights``. It is judged by the ``unseen`` targets; ``judging`` are parameters for the scorer.
    """
    dummy = DummyClassifier(strategy="prior") if is_classifier(estimator) else DummyRegressor()
    try:
        dummy.fit(np.zeros((len(seen), 1)), seen, sample_weight=weights)
        score = float(scorer(dummy, np.zeros((len(unseen), 1)), unseen, **judging))
    except Exception:  # the scorer is the user's, and may need what a dummy does not have
        return None
    return score if np.isfinite(score) else None
