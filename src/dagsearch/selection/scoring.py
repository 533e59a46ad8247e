"""A subset's cross-validated score."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from dagsearch._internal.typing import FloatArray, IntArray


class Scored(NamedTuple):
    """What became of a subset."""

    columns: tuple[int, ...]
    """The features, ascending."""
    scores: FloatArray
    """By fold, shape ``(folds,)``; NaN if it failed."""
    seconds: float
    """How long it took."""
    failure: str | None
    """Why there is no score; ``None`` if there is one."""

    @property
    def mean(self) -> float:
        """The score: the mean over folds."""
        return float(np.mean(self.scores))


class SubsetScorer:
    """Scores subsets of columns by cross-validation, every one on the same folds.

    Parameters
    ----------
    estimator : estimator
        Cloned for every fit.
    scorer : callable
        ``scorer(estimator, X, y)``.
    data : array, sparse matrix or data frame
        All columns; the estimator gets some of them, otherwise untouched.
    target : array or None
        What to predict.
    splits : sequence of (train, test)
        Row numbers of every fold.
    fit_params, score_params : mapping
        Passed on; what has one entry per row is cut to the fold's rows.
    """

    def __init__(
        self,
        estimator: Any,
        scorer: Any,
        data: Any,
        target: Any,
        splits: Sequence[tuple[IntArray, IntArray]],
        fit_params: Mapping[str, Any],
        score_params: Mapping[str, Any],
    ) -> None:
        self._estimator, self._scorer, self._data = estimator, scorer, data
        self.rows, self.folds = int(data.shape[0]), len(splits)
        self._folds = [
            (
                train,
                test,
                None if target is None else _safe_indexing(target, train),
                None if target is None else _safe_indexing(target, test),
                _check_method_params(data, params=fit_params, indices=train),
                _check_method_params(data, params=score_params, indices=test),
            )
            for train, test in splits
        ]

    def __call__(self, columns: Sequence[int]) -> Scored:
        """Fit and score on every fold. Whatever the estimator raises becomes the failure's text."""
        chosen = tuple(sorted(columns))
        began = time.perf_counter()
        failure = None
        scores = np.full(len(self._folds), np.nan)
        try:
            data = _safe_indexing(self._data, list(chosen), axis=1)
            for number, (train, test, y_train, y_test, fit_params, score_params) in enumerate(self._folds):
                fitted = clone(self._estimator)
                seen = _safe_indexing(data, train)
                fitted.fit(seen, **fit_params) if y_train is None else fitted.fit(seen, y_train, **fit_params)
                unseen = _safe_indexing(data, test)
                targets = () if y_test is None else (y_test,)
                scores[number] = float(self._scorer(fitted, unseen, *targets, **score_params))
            if not np.all(np.isfinite(scores)):
                failure = f"the score is {scores[~np.isfinite(scores)][0]} on a fold"
        except Exception as error:  # the estimator is the user's: nothing it does may end the search
            failure = f"{type(error).__name__}: {error}"
        if failure is not None:
            scores = np.full(len(self._folds), np.nan)
        return Scored(chosen, scores, time.perf_counter() - began, failure)
