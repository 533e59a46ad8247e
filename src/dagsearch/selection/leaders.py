"""The subsets with the best scores: on other folds, by number of features, within one standard error."""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv

from dagsearch._internal.typing import FloatArray
from dagsearch.errors import ProblemError
from dagsearch.problems.ground import SubsetProblem
from dagsearch.record import Scored
from dagsearch.search import Search

Subset = frozenset[int]

# Leaders are at most this number of subsets, and this part of the budget.
_MOST_LEADERS, _PART = 8, 0.1
# Seed of the first re-drawn folds; they must not depend on the search, or its seed would decide the choice.
_SEED = 20_000


class Leader(NamedTuple):
    """A subset that was considered at the end."""

    subset: Subset
    """Its columns."""
    score: float
    """Mean score on the folds of the search."""
    confirmed: float | None
    """Mean score on re-drawn folds; ``None`` without."""
    folds: FloatArray
    """Score on every fold, those of the search first."""

    @property
    def mean(self) -> float:
        """Mean score over all folds."""
        return self.score if self.confirmed is None else float(self.folds.mean())


def leader_of(scored: Scored) -> Leader:
    """A subset with its scores on the folds of the search."""
    return Leader(frozenset(scored.columns), scored.mean, None, scored.scores)


def leader_count(budget: int) -> int:
    """Number of subsets that are scored again."""
    return max(2, min(_MOST_LEADERS, int(_PART * budget)))


def redrawn_folds(
    cv: Any, estimator: Any, data: Any, target: Any, params: Mapping[str, Any], draws: int
) -> list[list[Any]]:
    """Folds of the same kind, drawn again; none if the splitter leaves nothing to chance.

    A number of folds is re-drawn with shuffling. A splitter is re-drawn if it shuffles; one that does not,
    such as a split in time, and given folds stay as they are.
    """
    splitter = check_cv(cv, target, classifier=is_classifier(estimator))
    counted = cv is None or isinstance(cv, (int, np.integer))
    if not counted and not (hasattr(splitter, "random_state") and getattr(splitter, "shuffle", True)):
        return []
    found = []
    for draw in range(draws):
        again = copy.copy(splitter)
        if counted:
            again.shuffle = True
        again.random_state = _SEED + draw
        try:
            found.append(list(again.split(data, target, **params)))
        except ValueError:  # such as classes with fewer rows than folds
            return []
    return found


def standard_error(difference: FloatArray, folds: int) -> float:
    """Standard error of a mean over cross-validation folds.

    The training sets of folds overlap, so that the variance of the mean does not fall with their number as
    that of independent scores does (Nadeau and Bengio, 2003).

    Parameters
    ----------
    difference : ndarray of shape (n_scores,)
        Score, or difference of two scores, on each fold of one or several draws.
    folds : int
        Number of folds of one draw.
    """
    if len(difference) < 2:
        return 0.0
    tested = 1.0 / max(folds - 1, 1)
    return float(np.sqrt((1.0 / len(difference) + tested) * difference.var(ddof=1)))


def best_leader(leaders: Sequence[Leader]) -> Leader:
    """The leader with the best mean over all folds; the first one of ties."""
    return max(leaders, key=lambda leader: leader.mean)


def within_one_error(
    chosen: Leader, others: Sequence[Leader], folds: int, simplicity: Callable[[Leader], Any]
) -> Leader | None:
    """The simplest of the others whose score is within one standard error of the chosen one's."""
    for other in sorted(others, key=lambda other: (simplicity(other), -other.mean)):
        shared = min(len(chosen.folds), len(other.folds))
        difference = chosen.folds[:shared] - other.folds[:shared]
        if difference.mean() <= standard_error(difference, folds):
            return other
    return None


# Sizes ----------------------------------------------------------------------------------------------


def smallest_good(leaders: Sequence[Leader], folds: int) -> Subset:
    """The smallest subset whose score is within one standard error of the best score."""
    best = best_leader(leaders)
    fewer = [leader for leader in leaders if len(leader.subset) < len(best.subset)]
    return (within_one_error(best, fewer, folds, lambda leader: len(leader.subset)) or best).subset


def next_smaller(
    search: Search, problem: SubsetProblem, scored: Mapping[Subset, Leader | None], folds: int
) -> Subset | None:
    """The subset to score next in order to find a smaller one that is as good.

    It lacks one feature of the smallest subset within one standard error of the best score; of such subsets
    that were not scored yet it has the highest expected score. ``None`` if there is none. ``scored`` are all
    subsets so far, those that failed without a leader.
    """
    leaders = [leader for leader in scored.values() if leader is not None]
    if not leaders:
        return None
    current = smallest_good(leaders, folds)
    left = [current - {column} for column in sorted(current)]
    open_ones = [leaf for leaf in left if leaf not in scored and can_be_chosen(leaf, problem)]
    return max(open_ones, key=lambda leaf: search.belief(leaf).g.mean, default=None)


def can_be_chosen(leaf: frozenset[int], problem: SubsetProblem) -> bool:
    """Whether a subset can be selected."""
    try:
        problem.path_to(leaf)
    except ProblemError:  # too small, without a fixed feature, or part of a group
        return False
    return True
