"""What ``fit`` is about to do: its arguments, checked, and what one look at the table suggests."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.problems.subsets import Subset
from dagsearch.run.runner import checked_budget
from dagsearch.selection.arguments import (
    Features,
    checked_scorer,
    fold_splits,
    routed_metadata,
    subset_covariance,
    subset_problem,
    validated_data,
)
from dagsearch.selection.batches import identity_of
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.estimate import Suggest
from dagsearch.selection.rankings import ranked, rows_that_count, suggestions
from dagsearch.selection.scoring import SubsetScorer

if TYPE_CHECKING:
    from dagsearch.selection.selector import DAGSearchSelector

# Largest part of the budget for first subsets.
_PART = 0.3


class Plan(NamedTuple):
    """A selection that can begin: nothing the user gave is unchecked, and nothing has been scored."""

    features: Features
    problem: ColumnSubsets
    score: SubsetScorer
    covariance: Covariance
    """What is believed about subsets before any score."""
    suggest: Suggest
    """What a ranking by some rows would choose."""
    first: Sequence[Subset]
    """Subsets to begin with: what a ranking by all rows would choose."""
    budget: int
    """Number of subsets to score."""
    digest: str | None
    """What scores depend on; ``None`` without storage."""


def plan_of(selector: "DAGSearchSelector", data: Any, target: Any, params: Mapping[str, Any]) -> Plan:
    """Check everything that ``fit`` was given; to be called by ``fit`` itself, because it may warn."""
    estimator, budget = selector.estimator, checked_budget(selector.budget)
    data, target = validated_data(selector, data, target)
    scoring = checked_scorer(estimator, selector.scoring)
    routed = routed_metadata(selector, scoring, params)
    splits = fold_splits(selector.cv, estimator, data, target, routed.splitter.split)
    fitting, judging = routed.estimator.fit, routed.scorer.score
    features, rows = selector._features(), int(data.shape[0])
    counted = rows_that_count(rows, fitting)

    def ranked_by(some: IntArray) -> FloatArray | None:
        some = np.intersect1d(some, counted)
        aim = None if target is None else _safe_indexing(target, some)
        return ranked(_safe_indexing(data, some), aim, is_classifier(estimator))

    def suggest(some: IntArray) -> Sequence[tuple[int, ...]] | None:
        found = ranked_by(some)
        return None if found is None else [problem.columns_of(leaf) for leaf in suggestions(found, problem)]

    relevance = ranked_by(np.arange(rows))
    limits = selector.n_features_to_select, selector.fixed, selector.forbidden, selector.groups
    problem = subset_problem(features, *limits, relevance)
    columns = sorted(problem.fixed), list(problem.choices.values())
    depends_on = (target, fitting, columns), splits, clone(estimator, safe=False), selector.scoring
    return Plan(
        features,
        problem,
        SubsetScorer(clone(estimator), scoring, data, target, splits, fitting, judging, selector._silent),
        subset_covariance(data, relevance, problem),
        suggest,
        [] if relevance is None else suggestions(relevance, problem)[: max(1, int(_PART * budget))],
        budget,
        None if selector.storage is None else identity_of(data, *depends_on),
    )
