"""What ``fit`` is about to do: its arguments, checked, and what one look at the table suggests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from dagsearch._internal.typing import IntArray
from dagsearch.covariances import Covariance
from dagsearch.run.stopping import Stop
from dagsearch.selection.arguments import (
    Features,
    WarmStart,
    checked_budget,
    checked_callbacks,
    checked_scorer,
    fold_splits,
    routed_metadata,
    stop_rules,
    subset_covariance,
    subset_problem,
    validated_data,
    warm_start_subsets,
)
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.estimate import Nested, Splits, baseline_on, nested_selection
from dagsearch.selection.identity import data_digest
from dagsearch.selection.rankings import Glance, first_subsets, glance, rows_that_count
from dagsearch.selection.scoring import SubsetScorer, score_bounds

if TYPE_CHECKING:
    from dagsearch.selection.selector import DAGSearchSelector


@dataclass(frozen=True)
class Plan:
    """A selection that can begin: nothing the user gave is unchecked, and nothing has been scored."""

    features: Features
    """Number and names of the columns."""
    data: Any
    """The columns."""
    target: Any
    """What is to be predicted; ``None`` for unsupervised estimators."""
    problem: ColumnSubsets
    """The subsets that can be chosen."""
    scorer: SubsetScorer
    """Scores subsets on the folds of the search."""
    on: Callable[[Splits], SubsetScorer]
    """Makes a scorer on other folds."""
    splits: Splits
    """The folds of the search."""
    counted: IntArray
    """Rows whose weight is not 0."""
    seen: Glance | None
    """Rankings of the columns; ``None`` without a target."""
    warm_start: WarmStart
    """Subsets to begin with, those of the rankings included."""
    budget: int
    """Number of subsets to score."""
    stop: Stop
    """Rules for stopping earlier."""
    callbacks: Sequence[Callable[[Any], Any]]
    """Called after every subset."""
    bounds: tuple[float, float]
    """Smallest and largest value that a score can have."""
    baseline: float | None
    """Cross-validated score of predictions that use no feature; ``None`` if the score does not allow it."""
    digest: str | None
    """What scores depend on; ``None`` without storage."""
    classification: bool
    """Whether the target consists of classes."""

    def covariance(self, given: Any) -> Covariance:
        """The covariance that the argument ``covariance`` stands for."""
        return subset_covariance(given, self.features, self.data, self.seen, self.problem)

    def nested(self, candidates: int, n_jobs: int | None) -> Nested | None:
        """A selection among ``candidates`` subsets, repeated inside the folds; ``None`` if there is none."""
        table = self.data, self.target, self.counted, self.classification
        return nested_selection(self.on, self.splits, self.problem, *table, candidates, n_jobs)

    @property
    def tested(self) -> int:
        """Number of rows that test a subset."""
        return int(np.unique(np.concatenate([test for _, test in self.splits])).size)


def plan_of(selector: "DAGSearchSelector", data: Any, target: Any, params: Mapping[str, Any]) -> Plan:
    """Check everything that ``fit`` was given; to be called by ``fit`` itself, because it may warn."""
    estimator = selector.estimator
    stop = stop_rules(selector.patience, selector.target_score, selector.max_seconds)
    budget = checked_budget(selector.budget)
    callbacks = checked_callbacks(selector.callbacks)
    data, target = validated_data(selector, data, target)
    scoring = checked_scorer(estimator, selector.scoring)
    routed = routed_metadata(selector, scoring, params)
    splits = fold_splits(selector.cv, estimator, data, target, routed.splitter.split)
    of_rows, silent = (routed.estimator.fit, routed.scorer.score), selector._silent

    def on(folds: Splits) -> SubsetScorer:  # goes to workers: the selector itself may hold what cannot
        return SubsetScorer(clone(estimator), scoring, data, target, folds, *of_rows, silent)

    features = selector._features()
    counted = rows_that_count(int(data.shape[0]), routed.estimator.fit)
    aim = None if target is None else _safe_indexing(target, counted)
    seen = glance(_safe_indexing(data, counted), aim, is_classifier(estimator), features.count)
    limits = selector.n_features_to_select, selector.fixed, selector.forbidden, selector.groups
    problem = subset_problem(features, *limits, seen)
    warm_start = warm_start_subsets(selector.warm_start, features, problem)
    rankings = [] if seen is None else first_subsets(seen, problem, budget)
    weighted = (target, routed.estimator.fit) if routed.estimator.fit else target  # scores depend on both
    return Plan(
        features=features,
        data=data,
        target=target,
        problem=problem,
        scorer=on(splits),
        on=on,
        splits=splits,
        counted=counted,
        seen=seen,
        warm_start=warm_start._replace(first=[*warm_start.first, *rankings]),
        budget=budget,
        stop=stop,
        callbacks=callbacks,
        bounds=score_bounds(scoring, estimator),
        baseline=baseline_on(estimator, scoring, data, target, splits, of_rows),
        digest=None
        if selector.storage is None
        else data_digest(data, weighted, splits, estimator, selector.scoring),
        classification=is_classifier(estimator),
    )
