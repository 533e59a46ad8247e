"""The scikit-learn transformer that selects features."""

import math
import warnings
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Self

from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted

from dagsearch.methods import default_initial
from dagsearch.search import Search
from dagsearch.selection.arguments import Features, Plan, checked_scorer, plan_of
from dagsearch.selection.findings import findings_of, one_left_out
from dagsearch.selection.report import SelectionReport
from dagsearch.selection.run import SelectionRun
from dagsearch.selection.scoring import Scored, undivided
from dagsearch.storage.log import has_begun


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
    n_features_to_select : int, float, (int, int), "auto" or None, default=None
        Number of features to select. If a float between 0 and 1, a fraction of the features. If a pair, the
        smallest and the largest number. If ``"auto"``, any number up to 20. If ``None``, half of the
        features. A group counts as one feature.
    budget : int, default=100
        Number of subsets to score. Each takes one fit per fold. No subset is scored twice.
    scoring : str, callable or None, default=None
        A scorer's name, or a callable ``scorer(estimator, X, y)``. If ``None``, the estimator's ``score``
        method is used.
    cv : int, cross-validation generator or iterable, default=5
        The cross-validation splitting strategy. Every subset is scored on the same folds.
    fixed : array-like of int, str or bool, default=None
        Features that are part of every subset, by number or name, or as a mask.
    forbidden : array-like of int, str or bool, default=None
        Features that are part of no subset, by number or name, or as a mask.
    groups : sequence of array-like of int or str, default=None
        Groups of features that are selected together.
    n_jobs : int or None, default=None
        Number of subsets to score in parallel with joblib. ``None`` means 1 unless in a
        :obj:`joblib.parallel_config` context.
    random_state : int, RandomState instance or None, default=None
        Controls the randomness of the search. Folds are controlled by ``cv``.
    verbose : int, default=0
        If not 0, a progress bar is shown.
    storage : path-like, str or None, default=None
        Database that logs every scored subset: the path of an SQLite file, or ``postgresql://…``. If the run
        exists, ``fit`` continues it: call ``fit`` again with the same data and arguments after a crash, or
        with a larger budget. The same call in another process joins the run.
    name : str or None, default=None
        Name of the run in the database. By default the database has one run.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), dtype=bool
        The mask of selected features.
    n_features_to_select_ : int
        The number of features that were selected.
    best_score_ : float
        Mean cross-validated score of the selected features. It is too high, because the same folds were used
        for selection; see ``expected_score_``.
    expected_score_ : float
        The expected score on new rows: ``best_score_`` minus ``optimism_``.
    score_interval_ : tuple of (float, float)
        Central 90 % interval of the score on new rows, within the bounds of the score.
    optimism_ : float or None
        Optimism of ``best_score_``: it is the best of many, and the ranking that suggested subsets has seen
        all rows. ``None`` with fewer than three folds or without a target.
    baseline_score_ : float or None
        Cross-validated score of predictions that use no feature; ``None`` if the score does not allow it.
    importances_ : ndarray of shape (n_features,)
        Importance of each feature: the best score with it minus the best score without it, over scored and
        predicted subsets. NaN if no subset has the feature, or if none lacks it.
    importance_intervals_ : ndarray of shape (n_features, 2)
        Their central 90 % intervals.
    inclusion_probability_ : ndarray of shape (n_features,)
        Probability that the importance is positive, that is, that another split would select the feature.
    simpler_ : dict or None
        The subset with the fewest features within one standard error of the selected one, if it has fewer:
        ``features``, ``score``.
    notes_ : list of str
        Remarks about the selection.
    ranking_ : ndarray of shape (n_features,)
        Rank of each feature by importance; the most important feature has rank 1.
    history_ : dict of ndarrays
        One entry per scored subset, as in ``cv_results_``: ``features``, ``mean_test_score``,
        ``std_test_score``, ``rank_test_score``, ``split0_test_score``, …, ``best_score``,
        ``score_time``, ``seconds`` (since the start), ``failure``.
    stopped_ : str
        Why the search ended: ``"budget"``, ``"exhausted"``, ``"steered"`` or ``"interrupted"``.
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

    # Set by commands: the options to note in the stored run, and whether to hide the estimator's output.
    _asked_by: Mapping[str, Any] = {}
    _silent = False
    _run: SelectionRun

    def __init__(
        self,
        estimator: Any,
        *,
        n_features_to_select: int | float | tuple[int, int] | str | None = None,
        budget: int = 100,
        scoring: Any = None,
        cv: Any = 5,
        fixed: Sequence[Any] | None = None,
        forbidden: Sequence[Any] | None = None,
        groups: Sequence[Sequence[Any]] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        storage: str | PathLike[str] | None = None,
        name: str | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_features_to_select = n_features_to_select
        self.budget = budget
        self.scoring = scoring
        self.cv = cv
        self.fixed = fixed
        self.forbidden = forbidden
        self.groups = groups
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.storage = storage
        self.name = name

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search for the subset with the best cross-validated score.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            The features.
        y : array-like of shape (n_samples,), default=None
            The target. Unsupervised estimators need none.
        **params : dict
            ``sample_weight`` for the estimator (the last step of a pipeline) and the scorer, if it accepts
            weights, and ``groups`` for the splitter. With scikit-learn's metadata routing, any metadata.

        Returns
        -------
        self : object
            The fitted selector.

        Raises
        ------
        SelectionError
            If no subset could be scored.
        KeyboardInterrupt
            On Ctrl-C. If at least one subset was scored by then, the selector is fitted with the results.
        """
        plan = plan_of(self, X, y, params)
        self._run = run = self._begin(plan)
        try:
            with Parallel(n_jobs=self.n_jobs) as parallel:  # reuses its workers for all batches

                def score(subsets: Sequence[Sequence[int]]) -> list[Scored]:
                    if len(subsets) == 1:
                        return [plan.score(subsets[0])]
                    return list(parallel(delayed(undivided)(plan.score, subset) for subset in subsets))

                run.select(score, plan.first, plan.budget, bool(self.verbose))
            if run.successes():
                run.repeat_ranking(plan.score, plan.suggest, len(plan.first), self.n_jobs)
                run.leave_out(plan.score, one_left_out(run), self.n_jobs)
        except BaseException:  # Ctrl-C
            run.stopped = "interrupted"
            if run.successes():
                self._set_findings(plan)
            raise
        else:
            self._set_findings(plan)
        finally:
            run.search.close()
        return self

    def _features(self) -> Features:
        names = getattr(self, "feature_names_in_", None)  # scikit-learn sets it only if there are names
        return Features(self.n_features_in_, None if names is None else [str(name) for name in names])

    def report(self) -> SelectionReport:
        """Report the results as tables, figures and a page.

        :meth:`dagsearch.selection.SelectionReport.of` adds comparisons with other methods, a hold-out score
        and notes.
        """
        check_is_fitted(self)
        return SelectionReport.of(self)

    def get_metadata_routing(self) -> MetadataRouter:
        """Get metadata routing of this object; see scikit-learn's user guide."""
        fit = "fit"
        return (
            MetadataRouter(owner=self)
            .add(estimator=self.estimator, method_mapping=MethodMapping().add(caller=fit, callee="fit"))
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller=fit, callee="split"))
            .add(
                scorer=checked_scorer(self.estimator, self.scoring),
                method_mapping=MethodMapping().add(caller=fit, callee="score"),
            )
        )

    def _begin(self, plan: Plan) -> SelectionRun:
        """A new run, or the stored one."""
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        given: dict[str, Any] = {"storage": self.storage, "name": self.name, "covariance": plan.covariance}
        problem = plan.problem
        if self.storage is not None and has_begun(self.storage, self.name):
            search = Search.resume(problem=problem.problem, **given)
        else:
            search = Search.default(problem.problem, initial=default_initial(plan.budget), seed=seed, **given)
        about: dict[str, Any] = {
            "data": plan.digest,
            "features": [" + ".join(plan.features.texts(columns)) for columns in problem.choices.values()],
            "rows": plan.score.rows,
            "folds": plan.score.folds,
            **self._asked_by,
        }
        if plan.score.bounds[1] < math.inf:
            about["largest"] = plan.score.bounds[1]
        try:
            return SelectionRun(problem, search, about, plan.score, int(effective_n_jobs(self.n_jobs)))
        except BaseException:
            search.close()
            raise

    def _set_findings(self, plan: Plan) -> None:
        """Set the attributes of a fitted selector; must be called by ``fit``, because it may warn."""
        run, features = self._run, plan.features
        failures = run.failure_message(features.labels(range(features.count)))
        if not run.successes():
            raise SelectionError(failures)
        if failures is not None:
            warnings.warn(failures, FailedSubsetsWarning, stacklevel=3)  # points to the call of fit
        run.search.close()  # no more scores are reported
        run.search.settle()
        for name, value in findings_of(run, features).items():
            setattr(self, name, value)

    def _get_support_mask(self) -> Any:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        # A pipeline's tags do not tell whether it imputes.
        parts = [self.estimator, *self.estimator.get_params().values()]
        imputes = any(isinstance(part, Pipeline) for part in parts)
        tags.input_tags.allow_nan = inner.input_tags.allow_nan or imputes
        tags.target_tags.required = inner.target_tags.required
        return tags
