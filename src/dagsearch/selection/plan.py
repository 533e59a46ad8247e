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
from dagsearch.selection.estimate import Columns
from dagsearch.selection.identity import data_digest
from dagsearch.selection.rankings import Rankings, first_subsets, ranked, rows_that_count, suggestions
from dagsearch.selection.scoring import SubsetScorer

if TYPE_CHECKING:
    from dagsearch.selection.selector import DAGSearchSelector


@dataclass(frozen=True)
class Plan:
    """A selection that can begin: nothing the user gave is unchecked, and nothing has been scored."""

    features: Features
    """Number and names of the columns."""
    ranked: Callable[[IntArray], Rankings | None]
    """Ranks the columns by some rows; ``None`` without a target."""
    problem: ColumnSubsets
    """The subsets that can be chosen."""
    score: SubsetScorer
    """Scores subsets on the folds of the search."""
    covariance: Covariance
    """What is believed about subsets before any score."""
    first: Sequence[Subset]
    """Subsets to begin with: what the rankings would choose."""
    budget: int
    """Number of subsets to score."""
    digest: str | None
    """What scores depend on; ``None`` without storage."""

    def suggest(self, rows: IntArray) -> list[Columns] | None:
        """What rankings of these rows would choose; ``None`` without a target."""
        rankings = self.ranked(rows)
        if rankings is None:
            return None
        return [self.problem.columns_of(leaf) for leaf in suggestions(rankings, self.problem)]


def plan_of(selector: "DAGSearchSelector", data: Any, target: Any, params: Mapping[str, Any]) -> Plan:
    """Check everything that ``fit`` was given; to be called by ``fit`` itself, because it may warn."""
    estimator = selector.estimator
    budget = checked_budget(selector.budget)
    data, target = validated_data(selector, data, target)
    scoring = checked_scorer(estimator, selector.scoring)
    routed = routed_metadata(selector, scoring, params)
    splits = fold_splits(selector.cv, estimator, data, target, routed.splitter.split)
    fitting, judging = routed.estimator.fit, routed.scorer.score
    features = selector._features()
    rows = int(data.shape[0])
    counted = rows_that_count(rows, fitting)

    def ranked_by(some: IntArray) -> Rankings | None:
        some = np.intersect1d(some, counted)
        aim = None if target is None else _safe_indexing(target, some)
        return ranked(_safe_indexing(data, some), aim, is_classifier(estimator))

    rankings = ranked_by(np.arange(rows))
    limits = selector.n_features_to_select, selector.fixed, selector.forbidden, selector.groups
    problem = subset_problem(features, *limits, rankings)
    columns = sorted(problem.fixed), list(problem.choices.values())
    depends_on = (target, fitting, columns), splits, estimator, selector.scoring
    return Plan(
        features=features,
        ranked=ranked_by,
        problem=problem,
        score=SubsetScorer(
            clone(estimator), scoring, data, target, splits, fitting, judging, selector._silent
        ),
        covariance=subset_covariance(data, rankings, problem),
        first=[] if rankings is None else first_subsets(rankings, problem, budget),
        budget=budget,
        digest=None if selector.storage is None else data_digest(data, *depends_on),
    )
