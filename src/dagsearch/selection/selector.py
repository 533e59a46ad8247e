"""Feature selection in the manner of scikit-learn."""

import difflib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from numbers import Integral, Real
from os import PathLike
from typing import Any, Self

import joblib
import numpy as np
from scipy.stats import beta, rankdata
from sklearn import get_config
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, check_array, check_random_state, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import check_is_fitted, validate_data

from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import FloatArray
from dagsearch.covariances import Covariance, SetKernel
from dagsearch.durable.fingerprint import without_addresses
from dagsearch.durable.journal import Event, JournalError, has_begun, read_events
from dagsearch.errors import CovarianceError, ProblemError
from dagsearch.execution.stopping import Stop
from dagsearch.problems import SubsetRange, Subsets
from dagsearch.problems.ground import SubsetProblem
from dagsearch.search import Search
from dagsearch.selection import (
    Comparison,
    Entry,
    Holdout,
    SelectionReport,
    SelectionRun,
    SubsetScorer,
    likeness,
)
from dagsearch.selection.report import CENTRAL, central_interval

# A matrix between more features than these would not fit.
_MOST_ALIKE = 10_000
# With fewer subsets than these nothing is known but their own scores.
_FEWEST = 5
_RUNNERS_UP = 5


class SelectionError(ValueError):
    """No subset could be scored."""


class FailedSubsetsWarning(UserWarning):
    """Some subsets could not be scored."""


class DAGSearchSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Select the features with which an estimator does best, within so many fits.

    Subsets are scored by cross-validation; a joint Gaussian belief over all subsets, in which those with
    similar features are alike, decides which to score next.

    Parameters
    ----------
    estimator : estimator
        What the features are for. It is cloned for every fit and sees nothing but the chosen columns.
    n_features_to_select : int, float, (int, int) or None
        How many; a fraction of them; from one to another number; ``None`` for half. A group counts as one.
    budget : int
        How many subsets to score, each with as many fits as there are folds. No subset is scored twice.
    scoring : str, callable or None
        As everywhere in scikit-learn; the estimator's own ``score`` by default.
    cv : int, splitter or iterable
        As everywhere in scikit-learn. Every subset is scored on the same folds.
    max_seconds : float, optional
        Stop once so much time has passed; a subset that is being scored is finished.
    patience : int, optional
        Stop after so many subsets in a row without a better one.
    target_score : float, optional
        Stop once a score is at least this.
    confidence : float, optional
        Stop once the best subset so far is the best of all with this probability.
    fixed : sequence of int or str, or mask
        Features that belong to every subset.
    forbidden : sequence of int or str, or mask
        Features that belong to none.
    groups : sequence of sequences of int or str
        Features that enter together.
    warm_start : sequence of subsets, or mapping from subsets to scores
        Subsets to begin with. They are scored like others, unless their scores are given.
    covariance : "correlation", array, Covariance or None
        How alike features are: by their squared correlations in the data; by a positive semi-definite matrix;
        as a covariance over subsets says; or not at all.
    n_jobs : int, optional
        How many subsets are scored at once, by joblib.
    random_state : int, RandomState or None
        Source of all randomness of the search; folds have their own.
    verbose : int
        Whether to show a bar.
    callbacks : sequence of callables
        Each is called with a :class:`sklearn.utils.Bunch` after every subset: ``step``, ``features``,
        ``score``, ``fold_scores``, ``failure``, ``best_features``, ``best_score``. One that returns true ends
        the search.
    journal : path, optional
        File in which every scored subset is kept. If it exists, ``fit`` goes on from there: call it again
        with the same data and arguments after a crash. A larger budget is another reason to.

    Attributes
    ----------
    support_ : array of bool, shape ``(n_features,)``
        The chosen features.
    n_features_to_select_ : int
        How many there are.
    best_score_ : float
        Mean score over the folds. Chosen as the largest of many, it flatters: see ``score_interval_``.
    score_interval_ : (float, float)
        Central 90% of what the chosen subset is worth on data like this, by all scores together.
    probability_best_ : float or None
        That no other subset is worth more.
    inclusion_probability_ : array, shape ``(n_features,)``
        Of each feature, the probability that it belongs to the best subset.
    inclusion_interval_ : array, shape ``(n_features, 2)``
        Central 90% of it, for the number of samples it was computed from.
    ranking_ : array of int, shape ``(n_features,)``
        1 for the most probable feature, and so on.
    history_ : dict of arrays
        One entry per scored subset, in the manner of ``cv_results_``: ``features``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``, ``split0_test_score``, …, ``best_score``,
        ``score_time``, ``seconds`` (from the start), ``failure``.
    runners_up_ : list of dict
        The best of the others: ``features``, ``score``, ``interval``.
    stopped_ : str
        Why the search ended: ``"budget"``, ``"exhausted"``, ``"patience"``, ``"target"``, ``"seconds"``,
        ``"confidence"``, ``"callback"`` or ``"interrupted"``.
    search_ : Search
        Everything that is believed.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> selector = DAGSearchSelector(KNeighborsClassifier(), n_features_to_select=3, budget=30)
    >>> selector.fit(X, y).get_support().sum()
    np.int64(3)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        n_features_to_select: int | float | tuple[int, int] | None = None,
        budget: int = 100,
        scoring: Any = None,
        cv: Any = 5,
        max_seconds: float | None = None,
        patience: int | None = None,
        target_score: float | None = None,
        confidence: float | None = None,
        fixed: Sequence[Any] | None = None,
        forbidden: Sequence[Any] | None = None,
        groups: Sequence[Sequence[Any]] | None = None,
        warm_start: Any = None,
        covariance: Any = "correlation",
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        callbacks: Sequence[Callable[[Bunch], Any]] | None = None,
        journal: str | PathLike[str] | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.budget = budget
        self.scoring = scoring
        self.cv = cv
        self.max_seconds = max_seconds
        self.patience = patience
        self.target_score = target_score
        self.confidence = confidence
        self.fixed = fixed
        self.forbidden = forbidden
        self.groups = groups
        self.warm_start = warm_start
        self.covariance = covariance
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.callbacks = callbacks
        self.journal = journal

    _asked_by: Mapping[str, Any] = {}  # what else a journal must know: the command that made the selector

    # Fitting --------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search for the best subset.

        Parameters
        ----------
        X : array, sparse matrix or data frame, shape ``(n_samples, n_features)``
            The features.
        y : array, optional
            What to predict.
        **params
            ``sample_weight`` for the estimator and ``groups`` for the splitter; anything, with scikit-learn's
            metadata routing.

        Raises
        ------
        SelectionError
            If no subset could be scored.
        KeyboardInterrupt
            On Ctrl-C; the selector is then fitted with what was found, if anything was. So it is after an
            error in a callback.
        """
        stop = self._stop()
        budget = _checked_budget(self.budget)
        self._check_callbacks()
        data = self._checked_data(X)
        _, y = indexable(data, y)
        if y is None and get_tags(self).target_tags.required:
            name = type(self).__name__
            raise ValueError(f"This {name} estimator requires y to be passed, but the target y is None.")
        routed = self._routed(params)
        cv = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(cv.split(data, y, **routed.splitter.split))
        if not splits:
            raise ValueError("cv gave no folds; an iterator gives them only once, a list again and again")
        scorer = SubsetScorer(
            clone(self.estimator),
            self._scorer(),
            data,
            y,
            splits,
            routed.estimator.fit,
            routed.scorer.score,
        )
        problem = self._problem()
        data_digest = self._data_digest(data, y, splits)
        events = self._events(data_digest)
        search = self._search(problem, data, budget, resumed=bool(events))
        self._run = SelectionRun(problem, search, budget, stop, self.n_jobs, bool(self.verbose))
        if events:
            self._run.restore(events, len(splits))
        else:
            search.note({"data": data_digest, **self._asked_by})
        known, first = self._begin_with(problem)
        try:
            self._run.go(scorer, known, first, self._after_each)
        except BaseException:  # Ctrl-C, or what a callback raised
            self._run.stopped = "interrupted"
            if search.history:
                self._conclude()
            raise
        else:
            self._conclude()
        finally:
            search.close()
        return self

    def _data_digest(self, data: Any, y: Any, splits: Any) -> str | None:
        """What a journal's scores are of."""
        if self.journal is None:
            return None
        how = without_addresses(f"{self.estimator!r} {self.scoring!r}")
        return f"{joblib.hash((data, y, splits))} {how}"

    def _events(self, data_digest: str | None) -> list[Event]:
        """What the journal holds already."""
        if self.journal is None or not has_begun(self.journal):
            return []
        events = read_events(self.journal)
        notes = (event.content.get("note") or {} for event in events)
        if data_digest not in [note["data"] for note in notes if "data" in note]:
            raise JournalError(
                f"journal: {self.journal} holds scores of other data, folds, estimator or scoring; it was "
                "left as it is. Choose another name to begin anew"
            )
        return events

    def _checked_data(self, X: Any) -> Any:
        """The data as it came, if it can be cut into columns; names and their number are noted."""
        allow_nan = get_tags(self).input_tags.allow_nan
        if hasattr(X, "iloc") and X.ndim == 2:
            validate_data(self, X, skip_check_array=True)
            if len(X) == 0 or X.shape[1] == 0:
                raise ValueError(f"Found array with {len(X)} sample(s) and {X.shape[1]} feature(s).")
            return X
        checked = validate_data(
            self, X, accept_sparse="csc", dtype=None, ensure_all_finite=not allow_nan, ensure_min_samples=2
        )
        if checked.dtype == object:
            with suppress(ValueError):  # text may be what the estimator wants, but nothing else
                check_array(checked, ensure_all_finite=False)
        return checked

    def _routed(self, params: Mapping[str, Any]) -> Bunch:
        """What goes to the estimator, the splitter and the scorer."""
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", **params)
        unknown = sorted(set(params) - {"sample_weight", "groups"})
        if unknown:
            raise TypeError(
                f"fit got {unknown[0]!r}: without metadata routing it passes on sample_weight and groups "
                "only; see sklearn.set_config(enable_metadata_routing=True)"
            )
        weights = {name: params[name] for name in ("sample_weight",) if params.get(name) is not None}
        rows = {name: params[name] for name in ("groups",) if params.get(name) is not None}
        return Bunch(estimator=Bunch(fit=weights), splitter=Bunch(split=rows), scorer=Bunch(score={}))

    def get_metadata_routing(self) -> MetadataRouter:
        """Where metadata goes: see scikit-learn's guide to metadata routing."""
        fit = "fit"
        return (
            MetadataRouter(owner=self)
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller=fit, callee="fit"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller=fit, callee="split"))
            .add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller=fit, callee="score"))
        )

    # What the arguments mean --------------------------------------------------------------------

    def _stop(self) -> Stop:
        reasons: dict[str, tuple[str, Any]] = {
            "patience": ("patience", self.patience),
            "target_score": ("target", self.target_score),
            "max_seconds": ("seconds", self.max_seconds),
            "confidence": ("confidence", self.confidence),
        }
        for argument, (name, value) in reasons.items():
            try:
                Stop(**{name: value})
            except ValueError as error:
                raise ValueError(argument + str(error).removeprefix(name)) from error
        return Stop(**dict(reasons.values()))

    def _check_callbacks(self) -> None:
        callbacks = [] if self.callbacks is None else _listed("callbacks", self.callbacks, "callables")
        if not all(callable(callback) for callback in callbacks):
            raise ValueError(f"callbacks must be a sequence of callables, got {self.callbacks!r}")

    def _scorer(self) -> Any:
        if isinstance(self.scoring, (list, tuple, set, dict)):
            raise ValueError(f"scoring must be one score, by name or as a callable, got {self.scoring!r}")
        return check_scoring(self.estimator, scoring=self.scoring)

    def _problem(self) -> SubsetProblem:
        """The subsets to choose from."""
        fixed, forbidden = self._columns("fixed", self.fixed), self._columns("forbidden", self.forbidden)
        given = [] if self.groups is None else _listed("groups", self.groups, "groups")
        groups = [self._columns("groups", _listed("groups", group, "groups")) for group in given]
        owner = {column: group[0] for group in groups for column in group}
        held = {owner.get(column, column) for column in fixed}
        banned = {owner.get(column, column) for column in forbidden}
        choices = {owner.get(column, column) for column in range(self.n_features_in_)} - banned
        if not choices:
            raise ValueError("forbidden: there is no other feature to choose")
        least, most = self._sizes(len(choices), len(held))
        settings: dict[str, Any] = {"fixed": fixed, "forbidden": forbidden, "groups": groups}
        if least == most:
            return Subsets(self.n_features_in_, most, _elsewhere, **settings)
        return SubsetRange(self.n_features_in_, least, most, _elsewhere, **settings)

    def _columns(self, argument: str, wanted: Any) -> list[int]:
        """Column numbers of what was named by number, name or mask."""
        if wanted is None:
            return []
        if isinstance(wanted, (str, Integral)):
            wanted = [wanted]
        given = _listed(argument, wanted, "features")
        if given and all(isinstance(which, (bool, np.bool_)) for which in given):
            if len(given) != self.n_features_in_:
                raise ValueError(
                    f"{argument}: a mask must have one entry per feature ({self.n_features_in_}), "
                    f"got {len(given)}"
                )
            return [int(column) for column in np.flatnonzero(given)]
        return [self._column(argument, which) for which in given]

    def _column(self, argument: str, which: Any) -> int:
        if isinstance(which, Integral):
            if not 0 <= int(which) < self.n_features_in_:
                last = self.n_features_in_ - 1
                raise ValueError(f"{argument}: there is no feature {which}, they are numbered 0 to {last}")
            return int(which)
        names = [str(name) for name in getattr(self, "feature_names_in_", [])]
        if str(which) not in names:
            alike = difflib.get_close_matches(str(which), names, 1)
            advice = f"; did you mean {alike[0]!r}?" if alike else "" if names else ": X has no column names"
            raise ValueError(f"{argument}: there is no feature {which!r}{advice}")
        return names.index(str(which))

    def _sizes(self, choices: int, held: int) -> tuple[int, int]:
        """The least and the largest number of choices, of which some are fixed."""
        wanted = self.n_features_to_select
        if wanted is None:
            return (max(1, held, choices // 2),) * 2
        if isinstance(wanted, Integral) and not isinstance(wanted, bool):
            least = most = int(wanted)
        elif isinstance(wanted, Real) and 0.0 < wanted < 1.0:
            least = most = max(1, int(choices * float(wanted)))
        elif (
            isinstance(wanted, (tuple, list))
            and len(wanted) == 2
            and all(isinstance(size, Integral) for size in wanted)
        ):
            least, most = int(wanted[0]), int(wanted[1])
        else:
            raise ValueError(
                "n_features_to_select must be a whole number, a fraction between 0 and 1, a pair (least, "
                f"most) or None, got {wanted!r}"
            )
        if not 1 <= least <= most:
            raise ValueError(f"n_features_to_select must be at least 1, and ascending, got {wanted!r}")
        if most > choices or (least == most == choices and choices > 1):
            warnings.warn(
                f"n_features_to_select={wanted!r}, but there are {choices} features to choose from: "
                + ("all of them are taken" if least >= choices else f"at most {choices} are taken"),
                stacklevel=3,
            )
            least, most = min(least, choices), choices
        if most < held:
            raise ValueError(f"n_features_to_select={wanted!r}, but {held} are fixed")
        return max(least, held), most

    def _search(self, problem: SubsetProblem, data: Any, budget: int, resumed: bool) -> Search:
        if budget < _FEWEST:
            warnings.warn(
                f"a budget of {budget} subsets is too small to learn from: they are little more than random; "
                f"use at least {4 * _FEWEST}, better ten per feature to select",
                stacklevel=3,
            )
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        covariance = self.covariance
        initial = min(20, max(2, budget // 5))
        try:
            if not isinstance(covariance, Covariance):
                covariance = SetKernel(self._between(data))
            if resumed:
                assert self.journal is not None
                return Search.resume(self.journal, problem, covariance=covariance)
            return Search.default(
                problem, covariance=covariance, initial=initial, seed=seed, journal=self.journal
            )
        except CovarianceError as error:
            raise CovarianceError(f"covariance: {error}") from error

    def _between(self, data: Any) -> FloatArray | None:
        """The matrix of how alike features are; ``None`` if they are not."""
        if self.covariance is None:
            return None
        if isinstance(self.covariance, str) and self.covariance == "correlation":
            return likeness(data) if self.n_features_in_ <= _MOST_ALIKE else None
        try:
            matrix = np.asarray(self.covariance, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "covariance must be 'correlation', a matrix, a dagsearch covariance or None, "
                f"got {self.covariance!r}"
            ) from error
        if matrix.shape != (self.n_features_in_, self.n_features_in_):
            raise ValueError(
                f"covariance must be a matrix between the {self.n_features_in_} features, "
                f"got shape {matrix.shape}"
            )
        return matrix

    def _begin_with(self, problem: SubsetProblem) -> tuple[dict[frozenset[int], float], list[frozenset[int]]]:
        """Subsets whose scores are known, and subsets to score first."""
        given = self.warm_start
        if given is None or given is False:
            return {}, []
        subsets = [self._subset(features, problem) for features in _listed("warm_start", given, "subsets")]
        if not isinstance(given, Mapping):
            return {}, subsets
        for features, score in given.items():
            if not is_finite(score):
                raise ValueError(f"warm_start: the score of {features!r} must be finite, got {score!r}")
        return dict(zip(subsets, map(float, given.values()), strict=True)), []

    def _subset(self, features: Any, problem: SubsetProblem) -> frozenset[int]:
        subset = frozenset(self._columns("warm_start", _listed("warm_start", features, "subsets")))
        try:
            problem.path_to(subset)
        except ProblemError as error:
            raise ValueError(f"warm_start: {features!r} cannot be chosen ({error})") from error
        return subset

    # What was found -------------------------------------------------------------------------------

    def _after_each(self, entry: Entry) -> bool:
        if not self.callbacks:
            return False
        best = self._run.search.incumbent()
        told = Bunch(
            step=len(self._run.entries),
            features=self._names(entry.scored.columns),
            score=None if entry.scored.failure else entry.scored.mean,
            fold_scores=entry.scored.scores,
            failure=entry.scored.failure,
            best_features=None if best is None else self._names(sorted(best.leaf)),
            best_score=entry.best,
        )
        answers = [callback(told) for callback in self.callbacks]
        return any(bool(answer) for answer in answers)

    def _names(self, columns: Iterable[int]) -> tuple[Any, ...]:
        """Names of features, or their numbers if they have none."""
        names = getattr(self, "feature_names_in_", None)
        return tuple(int(column) if names is None else str(names[column]) for column in columns)

    def _conclude(self) -> None:
        """Set what a fitted selector has."""
        run, search = self._run, self._run.search
        failures = run.failures_in_words(self._names(range(self.n_features_in_)))
        if not search.history:
            raise SelectionError(failures)
        if failures is not None:
            warnings.warn(failures, FailedSubsetsWarning, stacklevel=3)
        search.close()  # all is scored; what follows only looks
        search.settle()
        run.note_belief(search.sample_optimum())
        result = search.result()
        self.search_ = search
        self.stopped_ = run.stopped
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[sorted(result.best_state)] = True
        self.n_features_to_select_ = int(self.support_.sum())
        self.best_score_ = result.best_reward
        self.score_interval_ = central_interval(search.belief(result.best_state).g)
        self.probability_best_ = result.probability_best
        self._set_inclusion()
        self.history_ = self._history()
        self.runners_up_ = self._runners_up(result.best_state)

    def _set_inclusion(self) -> None:
        optimum = self.search_.sample_optimum()
        if optimum is None:  # nothing but the subsets' own scores is known
            counts, samples = self.support_.astype(np.float64), 0
        else:
            included = np.zeros((len(optimum.leaves), self.n_features_in_))
            for row, leaf in zip(included, optimum.leaves, strict=True):
                row[sorted(leaf)] = 1.0
            samples = optimum.samples.shape[1]
            counts = included[optimum.winners].sum(axis=0)
        self.inclusion_probability_ = counts / max(samples, 1)
        tail = (1.0 - CENTRAL) / 2.0
        bounds = [beta.ppf(q, counts + 0.5, max(samples, 1) - counts + 0.5) for q in (tail, 1.0 - tail)]
        self.inclusion_interval_ = np.column_stack(bounds)
        # Ties by what was chosen, then by position.
        order = np.lexsort((np.arange(self.n_features_in_), ~self.support_, -self.inclusion_probability_))
        self.ranking_ = np.empty(self.n_features_in_, dtype=np.int64)
        self.ranking_[order] = np.arange(1, self.n_features_in_ + 1)

    def _history(self) -> dict[str, Any]:
        entries = self._run.entries
        folds = np.array([entry.scored.scores for entry in entries]).reshape(len(entries), self._run.folds)
        mean = folds.mean(axis=1)
        features = np.empty(len(entries), dtype=object)
        features[:] = [self._names(entry.scored.columns) for entry in entries]
        ranks = rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min").astype(np.int64)
        return {
            "features": features,
            "mean_test_score": mean,
            "std_test_score": folds.std(axis=1),
            "rank_test_score": ranks,
            **{f"split{number}_test_score": folds[:, number] for number in range(folds.shape[1])},
            "best_score": np.array([np.nan if e.best is None else e.best for e in entries]),
            "score_time": np.array([entry.scored.seconds for entry in entries]),
            "seconds": np.array([entry.seconds for entry in entries]),
            "failure": np.array([entry.scored.failure for entry in entries], dtype=object),
        }

    def _runners_up(self, best: frozenset[int]) -> list[dict[str, Any]]:
        others = [entry.scored for entry in self._run.successes() if frozenset(entry.scored.columns) != best]
        others.sort(key=lambda scored: -scored.mean)
        return [
            {
                "features": self._names(scored.columns),
                "score": scored.mean,
                "interval": central_interval(self.search_.belief(frozenset(scored.columns)).g),
            }
            for scored in others[:_RUNNERS_UP]
        ]

    def report(
        self,
        settings: Mapping[str, Any] | None = None,
        comparisons: Sequence[Comparison] = (),
        holdout: Holdout | None = None,
        notes: Sequence[str] = (),
    ) -> SelectionReport:
        """What was found, as tables, figures and a page; see :class:`dagsearch.selection.SelectionReport`.

        Parameters
        ----------
        settings : mapping, optional
            What to show as settings; by default the selector's parameters.
        comparisons, holdout, notes : optional
            What else is known: other ways to choose, scores on rows that were kept aside, warnings.
        """
        check_is_fitted(self)
        shown = {name: value for name, value in self.get_params(deep=False).items() if value is not None}
        return SelectionReport.of(
            self._run,
            self._names(range(self.n_features_in_)),
            self.inclusion_probability_,
            self.inclusion_interval_,
            self.score_interval_,
            self.runners_up_,
            {name: str(value) for name, value in (settings or shown).items()},
            comparisons,
            holdout,
            notes,
        )

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        # Pipelines do not tell whether they impute.
        parts = [self.estimator, *self.estimator.get_params().values()]
        imputes = any(isinstance(part, Pipeline) for part in parts)
        tags.input_tags.allow_nan = inner.input_tags.allow_nan or imputes
        tags.target_tags.required = inner.target_tags.required
        return tags


def _checked_budget(budget: Any) -> int:
    if not isinstance(budget, Integral) or isinstance(budget, bool) or budget < 1:
        raise ValueError(f"budget must be a positive whole number of subsets, got {budget!r}")
    return int(budget)


def _listed(argument: str, given: Any, what: str) -> list[Any]:
    """The entries of a sequence; text is none."""
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise ValueError(f"{argument} must be a sequence of {what}, got {given!r}")
    return list(given)


def _elsewhere(subset: frozenset[int]) -> float:
    raise NotImplementedError("subsets are scored by the selector")
