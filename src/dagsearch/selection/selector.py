"""The scikit-learn transformer that selects features."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Self

from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import check_scoring
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch, check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from dagsearch.errors import CovarianceError
from dagsearch.problems.ground import SubsetProblem
from dagsearch.search import Search
from dagsearch.selection.arguments import (
    Features,
    checked_budget,
    checked_callbacks,
    stop_rules,
    subset_covariance,
    subset_problem,
    warm_start_subsets,
    warn_small_budget,
)
from dagsearch.selection.callbacks import notifier
from dagsearch.selection.findings import history, inclusion, runners_up, support_mask
from dagsearch.selection.journal import data_digest, recorded_events
from dagsearch.selection.report import Comparison, Holdout, Inclusion, SelectionReport, central_interval
from dagsearch.selection.run import SelectionRun
from dagsearch.selection.scoring import BatchPool, SubsetScorer
from dagsearch.selection.validation import fold_splits, routed_metadata, validated_data


class SelectionError(ValueError):
    """No subset could be scored."""


class FailedSubsetsWarning(UserWarning):
    """Some subsets could not be scored."""


class DAGSearchSelector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Transformer that selects the subset of features with the best cross-validated score.

    The search scores ``budget`` subsets by cross-validation. A joint Gaussian belief over all subsets, in
    which subsets of similar features have similar scores, decides which subset to score next.

    Parameters
    ----------
    estimator : estimator object
        An unfitted estimator. It is cloned for every fit, which sees only the columns of a subset.
    n_features_to_select : int, float, (int, int) or None, default=None
        Number of features to select. If a float between 0 and 1, the fraction of the features. If a pair, the
        smallest and the largest number. If ``None``, half of the features. A group counts as one feature.
    budget : int, default=100
        Number of subsets to score. Each takes one fit per fold. No subset is scored twice.
    scoring : str, callable or None, default=None
        A scorer's name, or a callable ``scorer(estimator, X, y)``. If ``None``, the estimator's ``score``
        method is used.
    cv : int, cross-validation generator or iterable, default=5
        The cross-validation splitting strategy. Every subset is scored on the same folds.
    max_seconds : float or None, default=None
        Stop after this time in seconds. Subsets that are being scored at that time are finished.
    patience : int or None, default=None
        Stop after this number of subsets in a row without a better score.
    target_score : float or None, default=None
        Stop once a score is at least this large.
    confidence : float or None, default=None
        Stop once the best subset so far is the best of all subsets with at least this probability.
    fixed : array-like of int, str or bool, default=None
        Features that are part of every subset, by number or name, or as a mask.
    forbidden : array-like of int, str or bool, default=None
        Features that are part of no subset, by number or name, or as a mask.
    groups : sequence of array-like of int or str, default=None
        Groups of features that are selected together.
    warm_start : sequence of subsets, mapping from subsets to scores or None, default=None
        Subsets to begin with. They are scored like all others, or not at all if their scores are given.
    covariance : "correlation", array-like, Covariance or None, default="correlation"
        Similarity of features: their squared correlations in ``X``; a positive semi-definite matrix of shape
        (n_features, n_features); or a covariance over subsets. If ``None``, features are independent.
    n_jobs : int or None, default=None
        Number of subsets to score in parallel with joblib. ``None`` means 1 unless in a
        :obj:`joblib.parallel_config` context.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of the search. Folds are controlled by ``cv``.
    verbose : int, default=0
        If not 0, a progress bar is shown.
    callbacks : sequence of callables or None, default=None
        Each is called after every subset with a :class:`sklearn.utils.Bunch` that has ``step``, ``features``,
        ``score``, ``fold_scores``, ``failure``, ``best_features`` and ``best_score``. The search ends if a
        callback returns true.
    journal : path-like or None, default=None
        File to which every scored subset is written. If it exists, ``fit`` continues from it. Call ``fit``
        again with the same data and arguments after a crash, or with a larger budget to score more subsets.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), dtype=bool
        The mask of selected features.
    n_features_to_select_ : int
        The number of features that were selected.
    best_score_ : float
        Mean cross-validated score of the selected features. As the largest of many scores it is biased
        upwards; see ``score_interval_``.
    score_interval_ : tuple of (float, float)
        Central 90% interval of the score of the selected features, given all scores.
    probability_best_ : float or None
        Probability that no other subset has a better score.
    inclusion_probability_ : ndarray of shape (n_features,)
        Probability that each feature is part of the best subset.
    inclusion_interval_ : ndarray of shape (n_features, 2)
        Central 90% intervals of these probabilities, which are estimated from a finite number of samples.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature by inclusion probability; the most probable feature has rank 1.
    history_ : dict of ndarrays
        One entry per scored subset, as in ``cv_results_``: ``features``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``, ``split0_test_score``, …, ``best_score``,
        ``score_time``, ``seconds`` (since the start), ``failure``.
    runners_up_ : list of dict
        The subsets with the best scores after the selected one: ``features``, ``score``, ``interval``.
    stopped_ : str
        Why the search ended: ``"budget"``, ``"exhausted"``, ``"patience"``, ``"target"``, ``"seconds"``,
        ``"confidence"``, ``"callback"`` or ``"interrupted"``.
    search_ : Search
        The search, with its beliefs about all subsets.
    n_features_in_ : int
        Number of features seen during ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of features seen during ``fit``. Defined only if all feature names of ``X`` are strings.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> selector = DAGSearchSelector(KNeighborsClassifier(), n_features_to_select=3, budget=30)
    >>> selector.fit(X, y).get_support().sum()
    np.int64(3)
    """

    # The command that made the selector, if one did: noted in the journal, for `dagsearch resume` to read.
    _asked_by: Mapping[str, Any] = {}

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

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search for the subset with the best cross-validated score.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,), default=None
            The target. Unsupervised estimators need none.
        **params : dict
            ``sample_weight`` for the estimator and ``groups`` for the splitter. If scikit-learn's metadata
            routing is enabled, any metadata.

        Returns
        -------
        self : object
            The fitted selector.

        Raises
        ------
        SelectionError
            If no subset could be scored.
        KeyboardInterrupt
            On Ctrl-C. If at least one subset was scored by then, the selector is fitted with what was found.
            The same holds for an error in a callback.
        """
        stop = stop_rules(self.patience, self.target_score, self.max_seconds, self.confidence)
        budget = checked_budget(self.budget)
        callbacks = checked_callbacks(self.callbacks)
        data, y = validated_data(self, X, y)
        routed = routed_metadata(self, params)
        splits = fold_splits(self.cv, self.estimator, data, y, routed.splitter.split)
        scorer = SubsetScorer(
            clone(self.estimator), self._scorer(), data, y, splits, routed.estimator.fit, routed.scorer.score
        )
        features = self._features()
        problem = subset_problem(features, self.n_features_to_select, self.fixed, self.forbidden, self.groups)
        warm_start = warm_start_subsets(self.warm_start, features, problem)
        warn_small_budget(budget)
        self._run = run = self._begin(problem, data, y, splits, budget)
        notify = notifier(callbacks, run, features)
        try:
            pool = BatchPool(scorer, self.n_jobs)
            run.run(pool, warm_start, budget, stop, notify, progress=bool(self.verbose))
        except BaseException:  # Ctrl-C, or an error in a callback
            run.stopped = "interrupted"
            if run.search.history:
                self._set_findings(features)
            raise
        else:
            self._set_findings(features)
        finally:
            run.search.close()
        return self

    def _features(self) -> Features:
        names = getattr(self, "feature_names_in_", None)  # scikit-learn sets it only if there are names
        return Features(self.n_features_in_, None if names is None else [str(name) for name in names])

    def _scorer(self) -> Any:
        if isinstance(self.scoring, (list, tuple, set, dict)):
            raise ValueError(f"scoring must be one score, by name or as a callable, got {self.scoring!r}")
        return check_scoring(self.estimator, scoring=self.scoring)

    def get_metadata_routing(self) -> MetadataRouter:
        """Get metadata routing of this object.

        Please check scikit-learn's user guide on how the routing mechanism works.

        Returns
        -------
        routing : MetadataRouter
            A :class:`~sklearn.utils.metadata_routing.MetadataRouter` encapsulating routing information.
        """
        fit = "fit"
        return (
            MetadataRouter(owner=self)
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller=fit, callee="fit"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller=fit, callee="split"))
            .add(scorer=self._scorer(), method_mapping=MethodMapping().add(caller=fit, callee="score"))
        )

    def _begin(self, problem: SubsetProblem, data: Any, y: Any, splits: Any, budget: int) -> SelectionRun:
        """A new run, or one that continues from the journal."""
        digest, events = None, []
        if self.journal is not None:
            digest = data_digest(data, y, splits, self.estimator, self.scoring)
            events = recorded_events(self.journal, digest)
        search = self._search(problem, data, budget, resumed=bool(events))
        run = SelectionRun(problem, search, int(data.shape[0]), len(splits))
        if events:
            run.restore(events)
        else:
            about = {"data": digest, "budget": budget, "names": self._features().names}
            search.note({**about, **self._asked_by})
        return run

    def _search(self, problem: SubsetProblem, data: Any, budget: int, resumed: bool) -> Search:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        try:
            covariance = subset_covariance(self.covariance, self._features(), data)
            if resumed:
                assert self.journal is not None
                return Search.resume(self.journal, problem, covariance=covariance)
            initial = min(20, max(2, budget // 5))
            return Search.default(
                problem, covariance=covariance, initial=initial, seed=seed, journal=self.journal
            )
        except CovarianceError as error:
            raise CovarianceError(f"covariance: {error}") from error

    def _set_findings(self, features: Features) -> None:
        """Set the attributes of a fitted selector; to be called by ``fit`` itself, because it may warn."""
        run, search = self._run, self._run.search
        failures = run.record.failure_message(features.labels(range(features.count)))
        if not search.history:
            raise SelectionError(failures)
        if failures is not None:
            warnings.warn(failures, FailedSubsetsWarning, stacklevel=3)  # points to the call of fit
        search.close()  # nothing more is told; what follows only reads
        search.settle()
        optimum = search.sample_optimum()
        run.record_belief(optimum)
        result = search.result()
        self.search_ = search
        self.stopped_ = run.stopped
        self.support_ = support_mask(result.best_state, features.count)
        self.n_features_to_select_ = int(self.support_.sum())
        self.best_score_ = result.best_reward
        self.score_interval_ = central_interval(search.belief(result.best_state).g)
        self.probability_best_ = result.probability_best
        found = inclusion(optimum, self.support_)
        self.inclusion_probability_, self.inclusion_interval_, self.ranking_ = found
        self.history_ = history(run.record, features)
        self.runners_up_ = runners_up(search, run.record, result.best_state, features)

    def report(
        self,
        settings: Mapping[str, Any] | None = None,
        comparisons: Sequence[Comparison] = (),
        holdout: Holdout | None = None,
        notes: Sequence[str] = (),
    ) -> SelectionReport:
        """Report what was found, as tables, figures and a page.

        Parameters
        ----------
        settings : mapping, default=None
            The settings to show. If ``None``, the parameters of the selector.
        comparisons : sequence of Comparison, default=()
            Results of other methods of feature selection.
        holdout : Holdout, default=None
            Score on rows that were not used for the selection.
        notes : sequence of str, default=()
            Further warnings to show.

        Returns
        -------
        report : SelectionReport
            See :class:`dagsearch.selection.SelectionReport`.
        """
        check_is_fitted(self)
        shown = {name: value for name, value in self.get_params(deep=False).items() if value is not None}
        return SelectionReport.of(
            self._run,
            self._features().labels(range(self.n_features_in_)),
            Inclusion(self.inclusion_probability_, self.inclusion_interval_, self.ranking_),
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
        # A pipeline's tags do not say whether it imputes.
        parts = [self.estimator, *self.estimator.get_params().values()]
        imputes = any(isinstance(part, Pipeline) for part in parts)
        tags.input_tags.allow_nan = inner.input_tags.allow_nan or imputes
        tags.target_tags.required = inner.target_tags.required
        return tags
