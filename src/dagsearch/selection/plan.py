"""What ``fit`` is about to do: its arguments, checked, and what one look at the table suggests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from dagsearch._internal.typing import IntArray
from dagsearch.covariances import Covariance
from dagsearch.problems.subsets import Subset
from dagsearch.selection.arguments import (
    Features,
    checked_budget,
    checked_scorer,
    fold_splits,
    routed_metadata,
    subset_covariance,
    subset_problem,
    validated_data,
)
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.estimate import Nested, Splits, baseline_on, nested_selection
from dagsearch.selection.identity import data_digest
from dagsearch.selection.rankings import Rankings, first_subsets, ranked, rows_that_count
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
    rankings: Rankings | None
    """Relevance of the columns; ``None`` without a target."""
    first: Sequence[Subset]
    """Subsets to begin with: what the rankings would choose."""
    budget: int
    """Number of subsets to score."""
    bounds: tuple[float, float]
    """Smallest and largest value that a score can have."""
    baseline: float | None
    """Cross-validated score of predictions that use no feature; ``None`` if the score does not allow it."""
    digest: str | None
    """What scores depend on; ``None`` without storage."""
    classification: bool
    """Whether the target consists of classes."""

    def covariance(self) -> Covariance:
        """What is believed about subsets before any score."""
        return subset_covariance(self.data, self.rankings, self.problem)

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
    budget = checked_budget(selector.budget)
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
    rankings = ranked(_safe_indexing(data, counted), aim, is_classifier(estimator))
    limits = selector.n_features_to_select, selector.fixed, selector.forbidden, selector.groups
    problem = subset_problem(features, *limits, rankings)
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
        rankings=rankings,
        first=[] if rankings is None else first_subsets(rankings, problem, budget),
        budget=budget,
        bounds=score_bounds(scoring, estimator),
        baseline=baseline_on(estimator, scoring, data, target, splits, of_rows),
        digest=None
        if selector.storage is None
        else data_digest(data, weighted, splits, estimator, selector.scoring),
        classification=is_classifier(estimator),
    )
