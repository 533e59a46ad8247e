"""Cross-validated scores of subsets of features."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.problem import Problem
from dagsearch.results import Proposal
from dagsearch.run.pools import Running
from dagsearch.selection.quiet import quiet


class Scored(NamedTuple):
    """The result of scoring a subset."""

    columns: tuple[int, ...]
    """Column numbers of the features, ascending."""
    scores: FloatArray
    """Score on each fold, shape ``(n_folds,)``; NaN if scoring failed."""
    seconds: float
    """Time that fitting and scoring took."""
    failure: str | None
    """Why there is no score; ``None`` if there is one."""

    @property
    def mean(self) -> float:
        """The subset's score: the mean over the folds."""
        return float(np.mean(self.scores))


class _Fold(NamedTuple):
    train: IntArray
    test: IntArray
    train_target: Any
    test_target: Any
    fit_params: Mapping[str, Any]
    score_params: Mapping[str, Any]


class SubsetScorer:
    """Scores subsets of columns by cross-validation, all on the same folds.

    Parameters
    ----------
    estimator : estimator
        Cloned for every fit.
    scorer : callable
        Called as ``scorer(estimator, X, y)``.
    data : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        All features. The estimator gets the columns of the subset, otherwise unchanged.
    target : array-like of shape (n_samples,) or None
        The target.
    splits : sequence of (train, test)
        Row numbers of every fold.
    fit_params, score_params : mapping
        Passed to the estimator and to the scorer. Values with one entry per row are cut to the fold's rows.
    silent : bool
        Whether to keep away what the estimator prints and warns of.
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
        silent: bool = False,
    ) -> None:
        self._estimator, self._scorer, self._data = estimator, scorer, data
        self._silent = silent
        self.rows, self.folds = int(data.shape[0]), len(splits)
        self._folds = [
            _Fold(
                train,
                test,
                None if target is None else _safe_indexing(target, train),
                None if target is None else _safe_indexing(target, test),
                _check_method_params(data, params=fit_params, indices=train),
                _check_method_params(data, params=score_params, indices=test),
            )
            for train, test in splits
        ]

    @property
    def training_rows(self) -> list[IntArray]:
        """Row numbers for training, of every fold."""
        return [fold.train for fold in self._folds]

    def on_fold(self, columns: Sequence[int], number: int) -> float | None:
        """Score on one fold; ``None`` if it fails."""
        data = _safe_indexing(self._data, sorted(columns), axis=1)
        try:
            with quiet() if self._silent else nullcontext():
                score = self._score(data, self._folds[number])
        except Exception:  # as in __call__
            return None
        return score if np.isfinite(score) else None

    def __call__(self, columns: Sequence[int]) -> Scored:
        """Fit and score on every fold; an exception of the estimator becomes the text of the failure."""
        chosen = tuple(sorted(columns))
        began = time.perf_counter()
        failure = None
        scores = np.full(len(self._folds), np.nan)
        try:
            with quiet() if self._silent else nullcontext():
                data = _safe_indexing(self._data, list(chosen), axis=1)
                for number, fold in enumerate(self._folds):
                    scores[number] = self._score(data, fold)
            if not np.all(np.isfinite(scores)):
                failure = f"the score is {scores[~np.isfinite(scores)][0]} on a fold"
        except Exception as error:  # the estimator is the user's: none of its errors may end the search
            failure = f"{type(error).__name__}: {error}"
        if failure is not None:
            scores = np.full(len(self._folds), np.nan)
        return Scored(chosen, scores, time.perf_counter() - began, failure)

    def _score(self, data: Any, fold: _Fold) -> float:
        fitted = clone(self._estimator)
        train_target = () if fold.train_target is None else (fold.train_target,)
        fitted.fit(_safe_indexing(data, fold.train), *train_target, **fold.fit_params)
        test_target = () if fold.test_target is None else (fold.test_target,)
        return float(self._scorer(fitted, _safe_indexing(data, fold.test), *test_target, **fold.score_params))


class BatchPool:
    """Scores a batch of subsets at a time with joblib; the results are :class:`Scored`.

    It is the :class:`dagsearch.run.pools.Pool` of a feature selection.

    Parameters
    ----------
    scorer : SubsetScorer
        Scores one subset.
    n_jobs : int or None
        Number of jobs, as in joblib.
    """

    def __init__(self, scorer: SubsetScorer, n_jobs: int | None) -> None:
        self._batch_size = int(effective_n_jobs(n_jobs))
        self._left = self._batch_size  # of the batch that is being filled
        self._scorer = scorer
        self._parallel = Parallel(n_jobs=n_jobs)
        self._parallel.__enter__()  # keeps its workers from batch to batch

    def begin_within_batch(self, entries: int) -> None:
        """Complete the batch that an earlier run with the journal was interrupted in, then begin the next."""
        self._left = self._batch_size - entries % self._batch_size

    def workers(self) -> int:
        """Number of subsets in the batch."""
        return self._left

    def start(self, problem: Problem, proposal: Proposal) -> Running:
        """Add a subset to the next batch."""
        return Running(proposal, Future())

    def finished(self, running: Sequence[Running], patience: float | None = None) -> list[Running]:
        """Score the batch."""
        subsets = [sorted(one.proposal.leaf) for one in running]
        if self._batch_size == 1:
            found = [self._scorer(subset) for subset in subsets]
        else:
            found = self._parallel(delayed(self._scorer)(subset) for subset in subsets)
        for one, scored in zip(running, found, strict=True):
            one.future.set_result(scored)
        self._left = self._batch_size
        return list(running)

    def abandon(self, one: Running) -> None:
        """Leave a subset out of the batch, which has not begun."""
        one.future.cancel()

    def close(self) -> None:
        """Let joblib end its workers."""
        self._parallel.__exit__(None, None, None)
