"""How much higher scores are than they should be, because features were chosen on the rows that test them.

In a table with few rows for its columns, some columns go with the target by chance, in all folds alike. A
search finds them, and cross-validation cannot tell: the columns were chosen with the test rows in view. A
ranking is cheap enough to be repeated inside every fold, without its test rows. How far its score then falls
shows how much to deduct from scores that were found by optimisation.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import _safe_indexing

from dagsearch._internal.typing import FloatArray
from dagsearch.problems.ground import SubsetProblem
from dagsearch.record import Scored
from dagsearch.selection.confirm import Leader, leader_of, standard_error
from dagsearch.selection.firsts import best_of
from dagsearch.selection.glance import Glance, glance
from dagsearch.selection.scoring import SubsetScorer

# Columns per row from which on rankings are repeated inside the folds.
_CROWDED = 0.5
# A search optimises more thoroughly than linear forward selection: its scores are too high by more.
_MORE = 1.25
# The ranking that optimises, and those that only compare columns.
_GREEDY, _SIMPLE = "forward", ("linear", "mean", "trees")


class Honest(NamedTuple):
    """A ranking's choice, and its score if the ranking is repeated inside the folds."""

    subset: frozenset[int]
    """The choice with all rows."""
    folds: FloatArray
    """Score on each fold of what the ranking chooses without the fold's test rows."""


def is_crowded(problem: SubsetProblem, rows: int) -> bool:
    """Whether the table has so many columns that some go with the target by chance."""
    return len(problem.choices) > _CROWDED * rows


def honest_rankings(
    seen: Glance | None,
    problem: SubsetProblem,
    data: Any,
    target: Any,
    classification: bool,
    scorer: SubsetScorer,
) -> dict[str, Honest]:
    """The score of every ranking that is repeated inside the folds; rankings that fail are left out."""
    if seen is None:
        return {}
    size = int(problem.sizes[-1])
    found: dict[str, list[float]] = {name: [] for name in (_GREEDY, *_SIMPLE)}
    for fold, train in enumerate(scorer.training_rows):
        inside = glance(_safe_indexing(data, train), _safe_indexing(target, train), classification, size)
        if inside is None:
            return {}
        for name, order in _orders(inside).items():
            scored = scorer.on_fold(sorted(best_of(order, problem, size)), fold)
            found[name].append(np.nan if scored is None else scored)
    whole = _orders(seen)
    return {
        name: Honest(best_of(whole[name], problem, size), np.array(scores))
        for name, scores in found.items()
        if np.all(np.isfinite(scores))
    }


def _orders(seen: Glance) -> dict[str, Any]:
    scores = {name: seen.rankings[name] for name in _SIMPLE if name in seen.rankings}
    scores |= {_GREEDY: seen.ahead + 1e-6 * seen.relevance, "mean": seen.relevance}
    return {name: np.argsort(-score, kind="stable") for name, score in scores.items()}


def excess(honest: Mapping[str, Honest], score: Callable[[frozenset[int]], Scored]) -> float:
    """How much too high the scores are that a search finds; 0 if it is not known.

    ``score`` returns the scores of a subset on the folds of the search.
    """
    if _GREEDY not in honest:
        return 0.0
    greedy = score(honest[_GREEDY].subset)
    if greedy.failure is not None:
        return 0.0
    return _MORE * max(0.0, float((greedy.scores - honest[_GREEDY].folds).mean()))


def simple_instead(
    leader: Leader,
    honest: Mapping[str, Honest],
    score: Callable[[frozenset[int]], Scored],
    too_high: float,
) -> tuple[Leader, str] | None:
    """A ranking's choice, if it is to be expected to do better on new rows; with the reason in words.

    ``too_high`` is deducted from the leader's score before it is compared with the rankings' honest ones.
    """
    simple = [honest[name] for name in _SIMPLE if name in honest]
    if too_high == 0.0 or not simple:
        return None
    best = max(simple, key=lambda one: float(one.folds.mean()))
    folds = len(best.folds)
    ahead = best.folds - (leader.folds[:folds] - too_high)
    if ahead.mean() <= standard_error(ahead, folds):
        return None
    # Nothing is taken that the test of each feature by itself beats on the same folds.
    options = [score(one.subset) for one in (best, honest.get("linear", best))]
    taken = max((one for one in options if one.failure is None), key=lambda one: one.mean, default=None)
    if taken is None:
        return None
    words = (
        f"the search found a subset with the score {leader.score:.4g}, but scores found by optimisation are "
        f"about {too_high:.2g} too high in this table, which has few rows for its columns; a simple ranking, "
        f"repeated inside the folds, has {best.folds.mean():.4g}, and its choice was taken"
    )
    return leader_of(taken), words
