"""Which of the scored subsets is chosen, and why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import _safe_indexing

from dagsearch._internal.typing import FloatArray
from dagsearch.problems.ground import SubsetProblem
from dagsearch.record import Scored
from dagsearch.selection.leaders import (
    Leader,
    best_leader,
    leader_count,
    leader_of,
    standard_error,
    within_one_error,
)
from dagsearch.selection.rankings import Glance, best_of, glance
from dagsearch.selection.run import SelectionRun
from dagsearch.selection.scoring import SubsetScorer

Subset = frozenset[int]

# The poorest scores, that of random subsets among them, are up to this quantile.
_POOR = 0.05


@dataclass(frozen=True)
class Choice:
    """The chosen subset, and what it was compared with at the end."""

    chosen: Leader
    """The choice."""
    leaders: Sequence[Leader]
    """The subsets that were scored on all folds, the chosen one included."""
    simpler: Leader | None
    """A simpler subset within one standard error of the chosen one: with fewer features, or a ranking's."""
    notes: Sequence[str] = field(default=())
    """What the user should know about the choice."""
    optimism: float = 0.0
    """The part of the best score's lead over the poorest scores that comes from choosing features on the rows
    that test them, from 0 to 1; measured in tables with few rows for their columns."""


class Chooser:
    """Chooses among the subsets that a run has scored.

    The leaders are the subsets with the best expected score given all scores: the belief averages over
    similar subsets and so discounts luck. They are scored again on re-drawn folds. The one with the best mean
    over all folds is chosen.

    Parameters
    ----------
    run : SelectionRun
        The run, after its last score.
    scorer : SubsetScorer
        Scores subsets on the folds of the run.
    rival : frozenset of int or None
        What a test of each feature by itself would choose: nothing worse on the same folds is chosen.
    n_jobs : int or None
        Number of subsets to score in parallel.

    Attributes
    ----------
    redrawn : sequence of SubsetScorer
        Scores subsets on re-drawn folds, one scorer for each draw; none by default.
    honest : callable or None
        Returns the scores of rankings that are repeated inside the folds, for tables with few rows.
    """

    def __init__(
        self, run: SelectionRun, scorer: SubsetScorer, rival: Subset | None, n_jobs: int | None
    ) -> None:
        self._run, self._scorer, self._rival, self._n_jobs = run, scorer, rival, n_jobs
        self.redrawn: Sequence[SubsetScorer] = ()
        self.honest: Callable[[], Mapping[str, Honest]] | None = None
        self._rankings: Mapping[str, Honest] = {}
        self._scored: dict[Subset, Scored] = {}

    def score_again(self, budget: int) -> None:
        """Score the leaders on the re-drawn folds, and rankings inside the folds, for :meth:`choose`."""
        self._collect()
        if not self._scored:
            return
        columns = [tuple(sorted(leader.subset)) for leader in self._leaders(leader_count(budget))]
        if self.redrawn:
            pairs = [(draw, one) for one in columns for draw in range(len(self.redrawn))]
            missing = [pair for pair in pairs if pair not in self._run.confirmed]
            scored = Parallel(n_jobs=self._n_jobs)(delayed(self.redrawn[draw])(one) for draw, one in missing)
            for (draw, _), one in zip(missing, scored, strict=True):
                self._run.confirm(draw, one)
        if self.honest is not None:
            self._rankings = self.honest()

    def choose(self, budget: int, parsimonious: bool) -> Choice:
        """Choose by what is known."""
        self._collect()
        leaders = self._confirmed(self._leaders(leader_count(budget)))
        chosen = best_leader(leaders)
        notes = []
        too_high = excess(self._rankings, self._score)
        instead = simple_instead(chosen, self._rankings, self._score, too_high)
        if instead is not None:
            chosen = instead[0]
            leaders, notes = [*leaders, chosen], [instead[1]]
        simpler = self._simpler(chosen)
        if simpler is not None and parsimonious:
            chosen, simpler = simpler, None
        return Choice(chosen, leaders, simpler, notes, self._share(too_high))

    def _share(self, too_high: float) -> float:
        """The part of the best score's lead over the poorest scores that is not real."""
        means = [scored.mean for scored in self._scored.values()]
        lead = max(means) - float(np.quantile(means, _POOR))
        return min(1.0, too_high / lead) if lead > 0.0 else 0.0

    def _collect(self) -> None:
        record = self._run.record
        for entry in record.successes():
            self._scored[frozenset(entry.scored.columns)] = entry.scored
        failed = {frozenset(entry.scored.columns) for entry in record.failed()}
        for told in self._run.search.history:  # scores that the user gave are known without their folds
            if told.leaf not in self._scored and told.leaf not in failed:
                self._scored[told.leaf] = Scored(tuple(sorted(told.leaf)), np.array([told.reward]), 0.0, None)
                self.redrawn = ()
        self._ranked = None if self._rival is None else self._scored.get(self._rival)

    def _leaders(self, count: int) -> list[Leader]:
        """The subsets with the best expected scores, and the one with the best score."""
        found = list(self._scored.values())
        if self._ranked is not None:  # what it beats on the same folds must not be chosen
            found = [scored for scored in found if scored.mean >= self._ranked.mean]
        expected = [self._run.search.belief(frozenset(scored.columns)).g.mean for scored in found]
        first = [found[place] for place in np.argsort(-np.array(expected), kind="stable")[:count]]
        best = max(found, key=lambda scored: scored.mean)
        taken = {scored.columns: scored for scored in [best, *first]}
        return [leader_of(scored) for scored in taken.values()]

    def _confirmed(self, leaders: list[Leader]) -> list[Leader]:
        """The leaders with their scores on re-drawn folds; as they are unless all have been scored there."""
        found = []
        for leader in leaders:
            columns = tuple(sorted(leader.subset))
            again = [self._run.confirmed.get((draw, columns)) for draw in range(len(self.redrawn))]
            known = [scores for scores in again if scores is not None and np.all(np.isfinite(scores))]
            if not known or len(known) < len(again):
                return leaders
            more = np.concatenate(known)
            found.append(
                leader._replace(confirmed=float(more.mean()), folds=np.concatenate([leader.folds, more]))
            )
        return found

    def _simpler(self, chosen: Leader) -> Leader | None:
        """The subset with the fewest features within one standard error, else the ranking's choice."""
        fewer = [
            leader_of(scored) for scored in self._scored.values() if len(scored.columns) < len(chosen.subset)
        ]
        folds = self._run.record.folds
        found = within_one_error(chosen, fewer, folds, lambda leader: len(leader.subset))
        if found is None and self._ranked is not None and self._rival != chosen.subset:
            found = within_one_error(chosen, [leader_of(self._ranked)], folds, lambda leader: 0)
        return found

    def _score(self, subset: Subset) -> Scored:
        if subset not in self._scored:
            self._scored[subset] = self._scorer(sorted(subset))
        return self._scored[subset]


# Optimism -------------------------------------------------------------------------------------------

# In a table with few rows for its columns, some columns go with the target by chance, in all folds alike. A
# search finds them, and cross-validation cannot tell: the columns were chosen with the test rows in view. A
# ranking is cheap enough to be repeated inside every fold, without its test rows. How far its score then
# falls shows how much to deduct from scores that were found by optimisation.

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
    """Whether the table has so many columns that some agree with the target by chance."""
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
    """By how much the scores that a search finds are too high; 0 if unknown.

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
    """A ranking's choice, if it is expected to do better on new rows; with the reason in words.

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
        f"repeated inside the folds, scores {best.folds.mean():.4g}, so its choice was taken"
    )
    return leader_of(taken), words
