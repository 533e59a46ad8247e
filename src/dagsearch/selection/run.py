"""The run of a feature selection: ask for subsets, score them, tell the scores, until it is time to stop."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from dagsearch.errors import StorageError
from dagsearch.problems.subsets import Subset
from dagsearch.report.progress import Progress
from dagsearch.results import Proposal
from dagsearch.run.pools import Running
from dagsearch.run.runner import Runner
from dagsearch.run.stopping import Stop
from dagsearch.search import Search
from dagsearch.selection.arguments import Features, WarmStart
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.estimate import Estimate, Nested, estimate, nested_candidates, score_deviation
from dagsearch.selection.leaders import can_be_chosen, next_smaller
from dagsearch.selection.record import Entry, Scored, SelectionRecord
from dagsearch.selection.samples import Samples, sample_leaves
from dagsearch.selection.scoring import BatchPool, FoldNoise
from dagsearch.storage.database import Event, database_of
from dagsearch.storage.encoding import note_to_json
from dagsearch.storage.log import RunLog, is_alive
from dagsearch.storage.opening import Storage

# A belief is recorded from this number of scores on, and then whenever their number has grown by this factor.
_FIRST_BELIEF, _BELIEF_GROWTH = 20, 1.3
# Share of the budget after which smaller subsets are looked for, if the smallest good one is wanted.
_THIN_FROM = 0.5
# Samples and leaves that a belief during the run is computed from: few, to cost less than the search.
_BELIEF_SAMPLES, _BELIEF_LEAVES = 64, 200


def recorded(storage: Storage | None, name: str | None, digest: str | None) -> SelectionRecord:
    """What a stored run holds; an empty record, without :attr:`SelectionRecord.begun`, if there is none yet.

    Raises
    ------
    StorageError
        If its scores are not those of the data with this digest.
    """
    if storage is None:
        return SelectionRecord()
    with closing(database_of(storage, write=True)) as database:
        header = database.find(name)
        record = SelectionRecord() if header is None else SelectionRecord.of(database, header)
    _check_digest(record, digest, database.where)
    return record


def _check_digest(record: SelectionRecord, digest: str | None, where: str) -> None:
    if record.events and record.digest != digest:
        raise StorageError(
            f"storage: {where} holds scores of other data, folds, estimator or scoring; it was left "
            "unchanged. Give another file, or another name, to start a new run"
        )


class SelectionRun:
    """A search over subsets of features, with a record of all scores.

    Parameters
    ----------
    problem : ColumnSubsets
        The subsets to choose from.
    search : Search
        Search over the problem; new, or of a stored run.
    record : SelectionRecord
        What the stored run holds; empty if the search is new.
    about : mapping
        Note that says whose scores these are, for the run's first event; ``data`` is their digest.

    Attributes
    ----------
    record : SelectionRecord
        Everything scored so far, by other processes of a stored run, too.
    stopped : str
        Why the run ended.
    smallest : bool
        Whether smaller subsets that are as good are looked for in the second half of the budget.
    bounds : tuple of (float, float)
        Smallest and largest value that a score can have.
    tested : int
        Number of rows that test a subset.
    baseline : float or None
        Cross-validated score of predictions that use no feature; ``None`` if unknown.
    nested : Nested or None
        A selection that is repeated inside the folds, if there is one.
    """

    def __init__(
        self, problem: ColumnSubsets, search: Search, record: SelectionRecord, about: Mapping[str, Any]
    ) -> None:
        self.problem, self.search, self.record = problem, search, record
        self.stopped = "budget"
        self.smallest = False
        self.bounds = (-math.inf, math.inf)
        self.tested = record.rows
        self.baseline: float | None = None
        self.nested: Nested | None = None
        self._noise = FoldNoise()
        self._scored: dict[Subset, Scored] = {}
        self._began_here = False  # whether the stored run begins in this process
        if isinstance(search.log, RunLog):
            database, run, note = search.log.database, search.log.name, {"note": note_to_json(about)}
            if not record.selection:
                number = database.append(run, search.log.worker, "note", note, "selection")
                self._began_here = number is not None
            record.add(database.events(run, record.events))
            _check_digest(record, about["data"], database.where)
            search.log.listeners.append(self._hear)
        else:
            record.note(about)
        self._read = record.events  # number of the last event that the record has
        self._add(record.entries)
        self._began = time.perf_counter() - (record.entries[-1].seconds if record.entries else 0.0)

    def _hear(self, event: Event) -> None:
        """Record what another process has done."""
        if event.number > self._read:
            known = len(self.record.entries)
            self.record.add([event])
            self._add(self.record.entries[known:])

    def _add(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            self._scored[frozenset(entry.scored.columns)] = entry.scored
            if entry.scored.failure is None:
                self._noise.add(entry.scored.scores)

    def note(self, content: dict[str, Any]) -> None:
        """Write a note to the stored run, if there is one, and to the record."""
        self.search.note(content)
        self.record.note(content)

    def run(
        self,
        pool: BatchPool,
        warm_start: WarmStart,
        budget: int,
        stop: Stop,
        after_each: Callable[[Entry], bool],
        progress: bool = False,
    ) -> None:
        """Score subsets until the record has ``budget`` entries or a rule of ``stop`` holds.

        Parameters
        ----------
        pool : BatchPool
            Scores a batch of subsets at a time.
        warm_start : WarmStart
            Subsets to begin with.
        budget : int
            Number of subsets to score, including those that the stored run has.
        stop : Stop
            Rules for stopping before the budget is spent; checked after every batch.
        after_each : callable
            Called with every new entry. If it returns true, the run ends after the batch.
        progress : bool
            Whether to show a progress bar.
        """
        pool.begin_within_batch(len(self.record.entries))
        runner = Runner(self.search, pool, self._take, stop, self.begin(warm_start), self._began)
        entries = runner.steps(budget + self.search.data.known)
        self._thin_out(runner, budget)
        with closing(entries), Progress(budget, "subset", progress, len(self.record.entries)) as bar:
            for entry in entries:
                bar.update(entry.best)
                if after_each(entry):
                    runner.end("callback")
                steering = self.search.log.steering
                self._thin_out(runner, budget if steering is None else steering.budget)
        self.stopped = runner.stopped

    def _thin_out(self, runner: Runner[Entry], budget: int) -> None:
        """Let a smaller subset be scored next, if one is wanted and the first part of the budget is spent."""
        scored, log = len(self.record.entries), self.search.log
        if not self.smallest or not _THIN_FROM * budget <= scored < budget or not self._chooses():
            return
        if all(isinstance(log, RunLog) and log.is_elsewhere(one) for one in self.search.pending):
            leaf = next_smaller(self.search, self.problem, self._scored, self.record.folds)
            if leaf is not None and self.search.data.find(leaf) is None:
                runner.put_first(self._propose(leaf))

    def _chooses(self) -> bool:
        """Whether this process adds to what the search proposes: of several at work, only one does."""
        log = self.search.log
        if self._began_here or not isinstance(log, RunLog):
            return True
        silence = log.database.silence(log.name)
        return not any(is_alive(name, silence) for name in silence if name != log.worker)

    def _take(self, ended: Running, closing: bool) -> Entry | None:
        return self.tell(ended.proposal, ended.future.result())

    def begin(self, warm_start: WarmStart) -> list[Proposal]:
        """Tell the known scores, and propose the subsets to score first.

        A resumed search goes on as if it had not been interrupted: what it has told is left out, and what it
        had proposed comes in the same order. Of several processes one does so, for all.
        """
        if not self._chooses():
            return []
        done = {evaluation.leaf for evaluation in self.search.history} | set(self._scored)
        for leaf, score in warm_start.known.items():
            if leaf not in done:
                self._learn(Proposal(leaf, tuple(self.problem.path_to(leaf))), score, known=True)
        again = list(iter(self.search.log.take_over, None))
        done |= {*warm_start.known, *(proposal.leaf for proposal in self.search.pending)}
        return again + [self._propose(leaf) for leaf in dict.fromkeys(warm_start.first) if leaf not in done]

    def _propose(self, leaf: frozenset[int]) -> Proposal:
        return self.search.propose(leaf, self.problem.path_to(leaf))

    def tell(self, proposal: Proposal, scored: Scored) -> Entry | None:
        """Tell the search the result of scoring a subset, and record it.

        ``None`` if another process has taken the subset over, and was faster.
        """
        if not self._tell_search(proposal, scored):
            return None
        self._scored[frozenset(scored.columns)] = scored
        entry, beliefs = self.record.entries[-1], self.record.beliefs
        last = beliefs[-1][0] if beliefs else 0
        if len(self.search.history) >= max(_FIRST_BELIEF, round(_BELIEF_GROWTH * last)):
            self.record_belief(sample_leaves(self.search, _BELIEF_SAMPLES, _BELIEF_LEAVES))
        return entry

    def _tell_search(self, proposal: Proposal, scored: Scored) -> bool:
        """A failure counts as the worst score so far, with the variance of all scores as its noise."""
        note = scored.note(self._seconds())
        if scored.failure is None:
            return self._learn(proposal, scored.mean, self._noise.add(scored.scores), note=note)
        if len(self.search.history) > 1:
            rewards = np.array([evaluation.reward for evaluation in self.search.history])
            return self._learn(proposal, float(rewards.min()), float(rewards.var()) or None, note=note)
        self.search.log.catch_up()
        if proposal.leaf in self._scored:
            return False
        self.search.forget(proposal, again=False, note=note)
        self.record.note(note)
        return True

    def _learn(self, proposal: Proposal, score: float, noise: float | None = None, **about: Any) -> bool:
        """Tell the search a score, and record it as a stored run would; false if another process has."""
        evaluation = self.search.tell(proposal, score, noise, **about)
        if proposal.leaf in self._scored:
            return False
        self.record.add_evaluations([evaluation])
        self.record.note(about.get("note", {}))
        return True

    def repeat_inside(self, budget: int, nested: Callable[[int], Nested | None]) -> None:
        """Repeat the selection inside the folds, unless the stored run says what came of it.

        Scores that the user gave may be those of other folds: the nested selection says nothing about them.
        """
        candidates = nested_candidates(budget)
        if any(told.leaf not in self._scored for told in self.search.history):
            return
        if candidates in self.record.nested:
            self.nested = Nested(*self.record.nested[candidates])
            return
        self.nested = nested(candidates)
        if self.nested is not None:
            self.note({"nested": [candidates, *self.nested]})

    def estimate(self, scored: Scored, searched: bool = True) -> Estimate:
        """What a subset will score on new rows; ``searched`` says whether a search has found it."""
        others = np.array([entry.scored.scores for entry in self.record.successes()])
        deviation = score_deviation(scored.scores, others, self.tested, self.bounds)
        if len(scored.scores) < 2:  # one fold tells nothing about deviations, but the belief may
            subset = frozenset(scored.columns)
            believed = self.search.belief(subset).g.variance if self.allows(subset) else 0.0
            deviation = max(deviation, believed**0.5)
        nested = None if self.nested is None else self.nested.score
        if not searched:
            nested = scored.mean
        return estimate(scored.mean, deviation, nested, self.bounds, self.baseline)

    def allows(self, subset: frozenset[int]) -> bool:
        """Whether a subset can be selected."""
        return can_be_chosen(subset, self.problem)

    def learn_of(self, scored: Scored) -> None:
        """Tell the search the score of a subset that another method has found."""
        subset = frozenset(scored.columns)
        if subset not in {told.leaf for told in self.search.history}:
            self._learn(self._propose(subset), scored.mean, self._noise.add(scored.scores))

    def record_belief(self, optimum: Samples | None) -> None:
        """Record the belief about the best possible score, unless it is known for the last entry already."""
        entries, beliefs = len(self.record.entries), self.record.beliefs
        if optimum is None or (beliefs and beliefs[-1][0] >= entries):
            return
        self.note({"belief": [entries, float(optimum.best.mean()), float(optimum.best.var())]})

    def _seconds(self) -> float:
        """Seconds since the start of the selection, including those of an earlier process."""
        return time.perf_counter() - self._began


# Callbacks ------------------------------------------------------------------------------------------


def notifier(
    callbacks: Sequence[Callable[[Bunch], Any]], run: SelectionRun, features: Features
) -> Callable[[Entry], bool]:
    """A function that calls every callback with an entry, and returns whether one of them ends the search."""

    def notify(entry: Entry) -> bool:
        if not callbacks:
            return False
        best = run.search.incumbent()
        told = Bunch(
            step=len(run.record.entries),
            features=features.labels(entry.scored.columns),
            score=None if entry.scored.failure else entry.scored.mean,
            fold_scores=entry.scored.scores,
            failure=entry.scored.failure,
            best_features=None if best is None else features.labels(sorted(best.leaf)),
            best_score=entry.best,
        )
        answers = [callback(told) for callback in callbacks]
        return any(bool(answer) for answer in answers)

    return notify
