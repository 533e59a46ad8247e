"""Cross-validated scores of subsets of features, with their noise, bounds and intervals."""

import io
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import numpy as np
from joblib import parallel_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection._validation import _fit_and_score
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from dagsearch._internal.texts import described
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.data import REACH


class Scored(NamedTuple):
    """The result of scoring a subset of features."""

    columns: tuple[int, ...]
    """Column numbers of the features, ascending."""
    scores: FloatArray
    """Score on each fold, shape ``(n_folds,)``; NaN if scoring failed."""
    seconds: float
    """Seconds for fitting and scoring."""
    failure: str | None
    """Why scoring failed; ``None`` if it succeeded."""
    told: float = 0.0
    """Time of scoring, in seconds since the start of the selection."""

    @property
    def mean(self) -> float:
        """The subset's score: the mean over the folds."""
        return float(np.mean(self.scores))


class SubsetScorer:
    """Scores subsets of columns by cross-validation, all on the same folds.

    Parameters
    ----------
    estimator : estimator
        Cloned for every fit.
    scorer : callable
        Called as ``scorer(estimator, X, y)``.
    data : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        All features. The estimator gets only the subset's columns.
    target : array-like of shape (n_samples,) or None
        The target.
    splits : sequence of (train, test)
        Row numbers of every fold.
    fit_params, score_params : mapping
        Passed to the estimator and to the scorer. Values with one entry per row are cut to the fold's rows.
    silent : bool
        Whether to hide the estimator's output and warnings.
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
        self._estimator, self._scorer, self._data, self._target = estimator, scorer, data, target
        self._fit_params, self._score_params, self._silent = fit_params, score_params, silent
        self.rows, self.folds, self.splits = int(data.shape[0]), len(splits), splits
        self.bounds = score_bounds(scorer, estimator)
        self.tested = int(np.unique(np.concatenate([test for _, test in splits])).size)
        """Number of test rows of a subset."""

    def __call__(self, columns: Sequence[int], folds: Sequence[int] | None = None) -> Scored:
        """Fit and score on every fold, or on some; an exception of the estimator becomes text."""
        chosen, began, failure = tuple(sorted(columns)), time.perf_counter(), None
        some = self.splits if folds is None else [self.splits[number] for number in folds]
        scores = np.full(len(some), np.nan)
        try:
            with quiet() if self._silent else nullcontext():
                data = _safe_indexing(self._data, list(chosen), axis=1)
                scores[:] = [self._score(data, train, test) for train, test in some]
            if not np.all(np.isfinite(scores)):
                failure = f"the score is {scores[~np.isfinite(scores)][0]} on a fold"
        except Exception as error:  # the estimator is the user's: its errors must not end the search
            failure = described(error)
        scores = scores if failure is None else np.full(len(some), np.nan)
        return Scored(chosen, scores, time.perf_counter() - began, failure)

    def _score(self, data: Any, train: IntArray, test: IntArray) -> float:
        found = _fit_and_score(
            clone(self._estimator),
            data,
            self._target,
            scorer=self._scorer,
            train=train,
            test=test,
            verbose=0,
            parameters=None,
            fit_params=self._fit_params,
            score_params=self._score_params,
            error_score="raise",
        )
        return float(found["test_scores"])

    def baseline(self) -> float | None:
        """Mean score of predictions that use no feature; ``None`` if it is unknown.

        Classes are predicted as in all rows: if they are balanced, the largest class of the training rows is
        the smallest of the test rows, and the score would be below chance.
        """
        found, weights, every = list[float | None](), weights_of(self._fit_params), np.arange(self.rows)
        for train, test in self.splits if self._target is not None else ():
            seen = every if is_classifier(self._estimator) else train
            of_seen, of_test = (_safe_indexing(self._target, rows) for rows in (seen, test))
            judging = _check_method_params(self._data, params=self._score_params, indices=test)
            heavy = None if weights is None else _safe_indexing(weights, seen)
            found.append(baseline_score(self._estimator, self._scorer, of_seen, of_test, heavy, **judging))
        return float(np.mean(found)) if found and None not in found else None  # type: ignore[arg-type]


def weights_of(fit_params: Mapping[str, Any]) -> Any:
    """The rows' weights among the parameters of a fit; ``None`` if there are none."""
    return next((value for name, value in fit_params.items() if name.endswith("sample_weight")), None)


def baseline_score(
    estimator: Any, scorer: Any, seen: Any, unseen: Any, weights: Any = None, **judging: Any
) -> float | None:
    """Score of predictions that use no feature; ``None`` if the score does not allow it.

    The prediction is the most frequent class, or the mean, of the ``seen`` targets with their ``weights``. It
    is scored on the ``unseen`` targets; ``judging`` are parameters for the scorer.
    """
    dummy = DummyClassifier(strategy="prior") if is_classifier(estimator) else DummyRegressor()
    try:
        dummy.fit(np.zeros((len(seen), 1)), seen, sample_weight=weights)
        score = float(scorer(dummy, np.zeros((len(unseen), 1)), unseen, **judging))
    except Exception:  # the scorer is the user's, and may need a target, or attributes that a dummy lacks
        return None
    return score if np.isfinite(score) else None


def undivided(call: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a worker of joblib; nested parallel calls run in this worker.

    On a Dask cluster, joblib would send the trees of a forest to other workers one by one and wait.
    """
    with parallel_config("threading", n_jobs=1):
        return call(*arguments)


@contextmanager
def quiet() -> Iterator[None]:
    """Within this context, an estimator's output and warnings are discarded."""
    nowhere = io.StringIO()
    with redirect_stdout(nowhere), redirect_stderr(nowhere), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


# Noise ----------------------------------------------------------------------------------------------


# Weight of the variance over all subsets against a subset's own, as a number of folds.
_SHARED_FOLDS = 4.0


def fold_noise(scores: FloatArray) -> FloatArray:
    """Variance of each subset's mean score over folds, without the part that all subsets have in common.

    ``scores`` have the shape ``(n_subsets, n_folds)``. All subsets are scored on the same folds, so a fold
    that is hard for all of them adds no noise to comparisons; only a subset's deviation from the others does.
    A subset's own variance and that of all subsets are averaged, because few folds may agree by accident. The
    noise is 0 if it cannot be estimated: with one fold, or if scores do not vary.
    """
    count, folds = scores.shape
    if folds < 2:
        return np.zeros(count)
    rest = scores - scores.mean(axis=1, keepdims=True)
    if count > 1:
        rest = rest - rest.mean(axis=0)
    squares = (rest**2).sum(axis=1) * count / (max(count - 1, 1) * (folds - 1))
    variance = (_SHARED_FOLDS * squares.mean() + (folds - 1) * squares) / (_SHARED_FOLDS + folds - 1)
    least = (1e-9 * float(np.abs(scores).max(initial=0.0))) ** 2
    return np.asarray(np.where(variance > least, variance, 0.0) / folds)


# Bounds ---------------------------------------------------------------------------------------------


_SHARES = {f"{name}_score" for name in ("accuracy", "average_precision", "balanced_accuracy", "f1", "fbeta")}
_SHARES |= {f"{name}_score" for name in ("jaccard", "precision", "recall", "roc_auc", "top_k_accuracy")}
_EXPLAINED = {f"{name}_score" for name in ("r2", "explained_variance", "d2_tweedie", "d2_pinball")}


def score_bounds(scorer: Any, estimator: Any) -> tuple[float, float]:
    """The bounds of a scikit-learn scorer; infinite if unknown."""
    name = getattr(getattr(scorer, "_score_func", None), "__name__", "")
    if type(scorer).__name__ == "_PassthroughScorer":
        name = "accuracy_score" if is_classifier(estimator) else "r2_score" if is_regressor(estimator) else ""
    if getattr(scorer, "_sign", 1) < 0:  # a loss, negated
        return -math.inf, 0.0
    if name in _SHARES:
        return 0.0, 1.0
    if name == "matthews_corrcoef":
        return -1.0, 1.0
    return -math.inf, 1.0 if name in _EXPLAINED else math.inf


# Intervals ------------------------------------------------------------------------------------------


# Number of parts of the held-out rows, each left out in turn.
_PARTS = 20


def score_interval(score: float, deviation: float, bounds: tuple[float, float]) -> tuple[float, float]:
    """Central 90 % interval of a score with this standard deviation, within its bounds."""
    low, high = score - REACH * deviation, score + REACH * deviation
    return min(max(low, bounds[0]), score), max(min(high, bounds[1]), score)


def least_deviation(score: float, rows: float, bounds: tuple[float, float]) -> float:
    """Lower bound of the standard deviation of a score on this number of rows.

    A share of the rows has a binomial variance, smoothed so that a perfect share has some, too. An
    unexplained share of the variance has a relative error of ``sqrt(2 / rows)``.
    """
    low, high = bounds
    if np.isfinite(low) and np.isfinite(high):
        share = ((min(max(score, low), high) - low) / (high - low) * rows + 0.5) / (rows + 1.0)
        return (high - low) * float(np.sqrt(share * (1.0 - share) / rows))
    return (1.0 - score + 1.0 / rows) * float(np.sqrt(2.0 / rows)) if high == 1.0 else 0.0


def heldout_interval(
    scorer: Any, fitted: Any, data: Any, target: Any, score: float, weights: Any = None
) -> tuple[float, float] | None:
    """Central 90 % interval of a fitted estimator's score on new rows like the held-out ones.

    A twentieth of the rows at a time is left out (jackknife); ``None`` if there are too few rows, or if they
    then have no score. ``weights`` are the rows' weights, if the scorer accepts any.
    """
    rows = len(target)
    if rows < 5:
        return None
    order, parts = np.random.default_rng(0).permutation(rows), min(_PARTS, rows)
    found = []
    for left in np.array_split(order, parts):
        kept = np.setdiff1d(order, left)
        judging = {} if weights is None else {"sample_weight": _safe_indexing(weights, kept)}
        try:
            found.append(
                float(scorer(fitted, _safe_indexing(data, kept), _safe_indexing(target, kept), **judging))
            )
        except ValueError:  # such as one class only
            return None
    deviation = float(np.sqrt((parts - 1.0) * np.var(found)))
    if not np.isfinite(deviation):
        return None
    # Weighted rows count as the number of equal rows with the same variance (Kish).
    part = np.ones(rows) if weights is None else np.asarray(weights, dtype=np.float64)
    alike = max(float(part.sum() ** 2 / max((part**2).sum(), 1e-300)), 1.0)
    bounds = score_bounds(scorer, fitted)
    return score_interval(score, max(deviation, least_deviation(score, alike, bounds)), bounds)
