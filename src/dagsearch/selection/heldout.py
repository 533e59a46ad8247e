"""Intervals of scores on held-out rows."""

from typing import Any

import numpy as np
from scipy.stats import beta
from sklearn.utils import _safe_indexing

from dagsearch._internal.typing import IntArray
from dagsearch.selection.bounds import score_bounds

# Number of times that the rows are drawn again, and the probability that intervals hold.
_DRAWS, _CENTRAL = 200, 0.9


def heldout_interval(
    scorer: Any, fitted: Any, data: Any, target: Any, score: float
) -> tuple[float, float] | None:
    """Central 90% interval of the score that a fitted estimator has on new rows like the held-out ones.

    A share of rows, such as accuracy, has a Jeffreys interval. For other scores the rows are drawn again,
    with replacement. ``None`` if there are too few rows, or if most draws have no score.

    Parameters
    ----------
    scorer : callable
        Called as ``scorer(fitted, data, target)``.
    fitted : estimator
        It has not seen these rows.
    data, target
        The held-out rows.
    score : float
        The score on them.
    """
    rows = len(target)
    tail = (1.0 - _CENTRAL) / 2.0
    if rows < 5:
        return None
    if _is_share(scorer, fitted):
        right = score * rows
        low, high = (float(beta.ppf(q, right + 0.5, rows - right + 0.5)) for q in (tail, 1.0 - tail))
        return min(low, score), max(high, score)
    if hasattr(scorer, "_score_func"):  # it sees predictions only, which need not be computed again
        fitted, data = _Remembering(fitted, data), np.arange(rows)
    rng, found = np.random.default_rng(0), []
    for _ in range(_DRAWS):
        drawn = rng.integers(rows, size=rows)
        try:
            found.append(float(scorer(fitted, _safe_indexing(data, drawn), _safe_indexing(target, drawn))))
        except ValueError:  # such as a draw with one class only
            continue
    found = [value for value in found if np.isfinite(value)]
    if len(found) < _DRAWS // 2:
        return None
    low, high = (float(end) for end in np.quantile(found, (tail, 1.0 - tail)))
    return min(low, score), max(high, score)


class _Remembering:
    """A fitted estimator that predicts once, and is then asked for rows by their numbers."""

    def __init__(self, fitted: Any, data: Any) -> None:
        self._fitted, self._data = fitted, data
        self._predicted: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        own = getattr(self._fitted, name)
        if name not in ("predict", "predict_proba", "decision_function"):
            return own

        def predicted(rows: IntArray) -> Any:
            if name not in self._predicted:
                self._predicted[name] = own(self._data)
            return _safe_indexing(self._predicted[name], rows)

        predicted.__name__ = name  # by which scorers ask for it
        return predicted


def _is_share(scorer: Any, fitted: Any) -> bool:
    """Whether the score is the share of rows that are predicted correctly."""
    measure = getattr(scorer, "_score_func", None)
    if measure is None:
        return type(scorer).__name__ == "_PassthroughScorer" and score_bounds(scorer, fitted) == (0.0, 1.0)
    return getattr(measure, "__name__", "") == "accuracy_score"
