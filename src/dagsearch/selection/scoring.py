"""Cross-validated scores of subsets of features: how they are computed, how noisy they are, their bounds."""

import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from scipy.stats import beta
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from dagsearch._internal.texts import described
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.data import REACH
from dagsearch.problem import Problem
from dagsearch.results import Gaussian, Proposal
from dagsearch.run.pools import Pool, Running
from dagsearch.selection.record import Scored


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
        Whether to hide what the estimator prints, and its warnings.
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
            failure = described(error)
        if failure is not None:
            scores = np.full(len(self._folds), np.nan)
        return Scored(chosen, scores, time.perf_counter() - began, failure)

    def _score(self, data: Any, fold: _Fold) -> float:
        fitted = clone(self._estimator)
        train_target = () if fold.train_target is None else (fold.train_target,)
        fitted.fit(_safe_indexing(data, fold.train), *train_target, **fold.fit_params)
        test_target = () if fold.test_target is None else (fold.test_target,)
        return float(self._scorer(fitted, _safe_indexing(data, fold.test), *test_target, **fold.score_params))


def undivided(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a worker of joblib; what it calls runs in this worker.

    On a Dask cluster, joblib would send the trees of a forest to other workers one by one, and wait.
    """
    with parallel_config("threading", n_jobs=1):
        return call(*arguments)


class BatchPool(Pool):
    """Scores a batch of subsets at a time with joblib; the results are :class:`Scored`.

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
        """Complete the batch that an interrupted run has begun, then begin the next."""
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
            found = self._parallel(delayed(undivided)(self._scorer, subset) for subset in subsets)
        for one, scored in zip(running, found, strict=True):
            one.future.set_result(scored)
        self._left = self._batch_size
        return list(running)

    def close(self) -> None:
        """Let joblib end its workers."""
        self._parallel.__exit__(None, None, None)


# Silence --------------------------------------------------------------------------------------------


_lock = threading.Lock()
_entered = 0
_redirected = ExitStack()


@contextmanager
def quiet() -> Iterator[None]:
    """While entered, standard output, standard error and warnings of this process go nowhere.

    That includes what compiled code prints. Threads may enter at the same time; the last one to leave
    restores everything.
    """
    global _entered
    with _lock:
        _entered += 1
        if _entered == 1:
            _redirect(_redirected)
    try:
        yield
    finally:
        with _lock:
            _entered -= 1
            if _entered == 0:
                _redirected.close()


def _redirect(stack: ExitStack) -> None:
    nowhere = stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(ValueError, OSError):  # closed, or full
                stream.flush()
    for descriptor in (1, 2):
        with suppress(OSError):  # a process without standard output
            kept = os.dup(descriptor)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, descriptor)
            os.dup2(nowhere.fileno(), descriptor)
    stack.enter_context(redirect_stdout(nowhere))
    stack.enter_context(redirect_stderr(nowhere))
    stack.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")


# Noise ----------------------------------------------------------------------------------------------


# Weight of the variance over all subsets against a subset's own, as a number of folds.
_SHARED_FOLDS = 4.0


class FoldNoise:
    """Variance of a mean score over folds, without the part that all subsets have in common.

    All subsets are scored on the same folds. If a fold is hard for all of them, that is not noise when they
    are compared; only a subset's deviation from the others on that fold is.
    """

    def __init__(self) -> None:
        self._count, self._size = 0, 0.0
        # Of the scores without each subset's mean: mean by fold, and squared deviations from it (Welford).
        self._mean: FloatArray | float = 0.0
        self._squares = 0.0

    def add(self, scores: FloatArray) -> float | None:
        """Add the scores of a subset, and return the variance of their mean.

        Parameters
        ----------
        scores : ndarray of shape (n_folds,)
            Score on each fold.

        Returns
        -------
        float or None
            ``None`` if it cannot be estimated: with one fold, or if scores do not vary.
        """
        scores = np.asarray(scores, dtype=np.float64)
        folds = len(scores)
        if folds < 2:
            return None
        centred = scores - scores.mean()
        self._count += 1
        self._size = max(self._size, float(np.abs(scores).max()))
        before = centred - self._mean
        self._mean = self._mean + before / self._count
        rest = centred - self._mean
        self._squares += float(before @ rest)
        if self._count == 1:
            variance = float(scores.var(ddof=1))
        else:
            free = (self._count - 1) * (folds - 1)
            own = float(rest @ rest) * self._count / free
            shared = self._squares / free
            variance = (_SHARED_FOLDS * shared + (folds - 1) * own) / (_SHARED_FOLDS + folds - 1)
        return variance / folds if variance > (1e-9 * self._size) ** 2 else None


TAILS = (0.05, 0.95)
"""Probabilities below the two ends of a central interval."""


# Bounds ---------------------------------------------------------------------------------------------


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
    """The bounds of a scorer of scikit-learn; infinite where they are unknown.

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


def central_interval(belief: Gaussian) -> tuple[float, float]:
    """The central 90% interval of a belief."""
    reach = REACH * belief.variance**0.5
    return belief.mean - reach, belief.mean + reach


def within(interval: tuple[float, float], bounds: tuple[float, float], *points: float) -> tuple[float, float]:
    """The interval, cut to the bounds, and extended to these points."""
    low, high = (min(max(end, bounds[0]), bounds[1]) for end in interval)
    return min(low, *points), max(high, *points)


# Held-out rows --------------------------------------------------------------------------------------


# Number of times that the rows are drawn again.
_DRAWS = 200


def heldout_interval(
    scorer: Any, fitted: Any, data: Any, target: Any, score: float, sample_weight: Any = None
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
    sample_weight : array-like, optional
        Weights of the rows, as in ``score``.
    """
    rows = len(target)
    weights = np.ones(rows) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if rows < 5:
        return None
    if _is_share(scorer, fitted):
        effective = weights.sum() ** 2 / (weights**2).sum()  # as many rows of equal weight say as much
        right = score * effective
        low, high = (float(beta.ppf(q, right + 0.5, effective - right + 0.5)) for q in TAILS)
        return min(low, score), max(high, score)
    if hasattr(scorer, "_score_func"):  # it sees predictions only, which need not be computed again
        fitted, data = _Remembering(fitted, data), np.arange(rows)
    rng, found = np.random.default_rng(0), []
    for _ in range(_DRAWS):
        drawn = rng.integers(rows, size=rows)
        weighted = {} if sample_weight is None else {"sample_weight": weights[drawn]}
        try:
            found.append(
                float(scorer(fitted, _safe_indexing(data, drawn), _safe_indexing(target, drawn), **weighted))
            )
        except ValueError:  # such as a draw with one class only
            continue
    found = [value for value in found if np.isfinite(value)]
    if len(found) < _DRAWS // 2:
        return None
    low, high = (float(end) for end in np.quantile(found, TAILS))
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
