"""Smallest and largest value that a score can have, so that no interval goes beyond."""

import math
from typing import Any

from sklearn.base import is_classifier, is_regressor

_SHARES = (
    "accuracy_score",
    "average_precision_score",
    "balanced_accuracy_score",
    "f1_score",
    "fbeta_score",
    "jaccard_score",
    "precision_score",
    "recall_score",
    "roc_auc_score",
    "top_k_accuracy_score",
)
_EXPLAINED = (
    "d2_absolute_error_score",
    "d2_pinball_score",
    "d2_tweedie_score",
    "explained_variance_score",
    "r2_score",
)


def score_bounds(scorer: Any, estimator: Any) -> tuple[float, float]:
    """The bounds of a scorer of scikit-learn; infinite where they are not known.

    Parameters
    ----------
    scorer : callable
        From :func:`sklearn.metrics.check_scoring`.
    estimator : estimator
        Its own ``score`` is accuracy or r², if the scorer uses that.
    """
    measure = getattr(scorer, "_score_func", None)
    if measure is None:
        if type(scorer).__name__ != "_PassthroughScorer":
            return -math.inf, math.inf
        return (
            (0.0, 1.0)
            if is_classifier(estimator)
            else (-math.inf, 1.0 if is_regressor(estimator) else math.inf)
        )
    name = getattr(measure, "__name__", "")
    if getattr(scorer, "_sign", 1) < 0:  # a loss, negated
        return -math.inf, 0.0
    if name in _SHARES:
        return 0.0, 1.0
    if name == "matthews_corrcoef":
        return -1.0, 1.0
    return -math.inf, 1.0 if name in _EXPLAINED else math.inf


def within(interval: tuple[float, float], bounds: tuple[float, float], *points: float) -> tuple[float, float]:
    """The interval, cut to the bounds, and extended to these points."""
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in interval)
    return min(low, *points), max(high, *points)
