"""Which of the scored subsets is chosen, and why."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from joblib import Parallel, delayed

from dagsearch.record import Scored
from dagsearch.selection.confirm import Leader, best_leader, leader_count, leader_of, within_one_error
from dagsearch.selection.optimism import Honest, excess, simple_instead
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
        Scores subsets on folds that were drawn anew, one scorer for each draw; none by default.
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
