"""What ``fit`` is about to do: its arguments, checked, and what one look at the table suggests."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.base import clone, is_classifier

from dagsearch.covariances import Covariance
from dagsearch.problems.ground import Subset, SubsetProblem
from dagsearch.run.runner import checked_steer
from dagsearch.run.stopping import Stop
from dagsearch.selection.arguments import (
    Features,
    WarmStart,
    checked_budget,
    checked_callbacks,
    checked_repeats,
    checked_scorer,
    fold_splits,
    routed_metadata,
    stop_rules,
    subset_covariance,
    subset_problem,
    validated_data,
    warm_start_subsets,
)
from dagsearch.selection.choice import Honest, honest_rankings, is_crowded
from dagsearch.selection.journal import data_digest
from dagsearch.selection.leaders import redrawn_folds
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
    problem: SubsetProblem
    """The subsets that can be chosen."""
    scorer: SubsetScorer
    """Scores subsets on the folds of the search."""
    redrawn: Sequence[SubsetScorer]
    """Score subsets on re-drawn folds."""
    seen: Glance | None
    """Rankings of the columns; ``None`` without a target."""
    rankings: Sequence[Subset]
    """What the rankings would choose; the first is the choice of a test of each feature by itself."""
    warm_start: WarmStart
    """Subsets to begin with, those of the rankings included."""
    budget: int
    """Number of subsets to score."""
    stop: Stop
    """Rules for stopping earlier."""
    steer: bool
    """Whether requests of the user are taken."""
    callbacks: Sequence[Callable[[Any], Any]]
    """Called after every subset."""
    bounds: tuple[float, float]
    """Smallest and largest value that a score can have."""
    digest: str | None
    """What scores depend on; ``None`` without a journal."""
    classification: bool
    """Whether the target consists of classes."""

    @property
    def rival(self) -> Subset | None:
        """What a test of each feature by itself would choose."""
        return self.rankings[0] if self.rankings else None

    def covariance(self, given: Any) -> Covariance:
        """The covariance that the argument ``covariance`` stands for."""
        return subset_covariance(given, self.features, self.data, self.seen, self.problem)

    def honest(self) -> Mapping[str, Honest]:
        """Scores of rankings that are repeated inside the folds; none if there are rows enough."""
        if not is_crowded(self.problem, self.scorer.rows):
            return {}
        return honest_rankings(
            self.seen, self.problem, self.data, self.target, self.classification, self.scorer
        )


def plan_of(selector: "DAGSearchSelector", data: Any, target: Any, params: Mapping[str, Any]) -> Plan:
    """Check everything that ``fit`` was given; to be called by ``fit`` itself, because it may warn."""
    estimator = selector.estimator
    stop = stop_rules(selector.patience, selector.target_score, selector.max_seconds, selector.confidence)
    budget, repeats = checked_budget(selector.budget), checked_repeats(selector.repeats)
    callbacks = checked_callbacks(selector.callbacks)
    steer = checked_steer(selector.steer, selector.journal is not None)
    data, target = validated_data(selector, data, target)
    scoring = checked_scorer(estimator, selector.scoring)
    routed = routed_metadata(selector, scoring, params)
    split = selector.cv, estimator, data, target, routed.splitter.split
    splits = fold_splits(*split)

    def on(folds: Any) -> SubsetScorer:
        of_rows = routed.estimator.fit, routed.scorer.score
        return SubsetScorer(clone(estimator), scoring, data, target, folds, *of_rows, selector._silent)

    features = selector._features()
    counted = rows_that_count(data, target, routed.estimator.fit)
    seen = glance(*counted, is_classifier(estimator), features.count)
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
        redrawn=[on(folds) for folds in redrawn_folds(*split, repeats)],
        seen=seen,
        rankings=rankings,
        warm_start=warm_start._replace(first=[*warm_start.first, *rankings]),
        budget=budget,
        stop=stop,
        steer=steer,
        callbacks=callbacks,
        bounds=score_bounds(scoring, estimator),
        digest=None
        if selector.journal is None
        else data_digest(data, weighted, splits, estimator, selector.scoring),
        classification=is_classifier(estimator),
    )
