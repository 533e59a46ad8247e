"""The run of a feature selection: ask for subsets, score them, tell the scores, until it is time to stop."""

import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import Any

import numpy as np

from dagsearch.errors import StorageError
from dagsearch.problems.subsets import Subset
from dagsearch.report.progress import Progress
from dagsearch.results import Proposal
from dagsearch.run.pools import Running
from dagsearch.run.runner import Runner
from dagsearch.run.stopping import Stop
from dagsearch.search import Search
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.estimate import (
    Columns,
    Estimate,
    Repeated,
    estimate,
    optimism_of_choice,
    optimism_of_rankings,
    score_deviation,
)
from dagsearch.selection.plan import Plan
from dagsearch.selection.record import Entry, Scored, SelectionRecord
from dagsearch.selection.scoring import BatchPool, SubsetScorer, fold_noise
from dagsearch.storage.database import Event, database_of
from dagsearch.storage.encoding import note_to_json
from dagsearch.storage.log import RunLog, at_work
from dagsearch.storage.opening import Storage


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
    score : SubsetScorer
        What scores the subsets; the run does not keep it, because it has the data.

    Attributes
    ----------
    record : SelectionRecord
        Everything scored so far, by other processes of a stored run, too.
    stopped : str
        Why the run ended.
    bounds : tuple of (float, float)
        Smallest and largest value that a score can have.
    baseline : float or None
        Cross-validated score of predictions that use no feature; ``None`` if unknown.
    repeated : Repeated or None
        What came of repeating the rankings inside the folds, if they were.
    """

    def __init__(
        self,
        problem: ColumnSubsets,
        search: Search,
        record: SelectionRecord,
        about: Mapping[str, Any],
        score: SubsetScorer,
    ) -> None:
        self.problem, self.search, self.record = problem, search, record
        self.stopped = "budget"
        self.bounds, self.baseline, self._tested = score.bounds, score.baseline(), score.tested
        self.repeated: Repeated | None = None
        self.scored: dict[Columns, Scored] = {}
        """Every subset with its scores, those that failed included."""
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
        self.scored |= {entry.scored.columns: entry.scored for entry in entries}

    def run(
        self, pool: BatchPool, first: Iterable[Subset], budget: int, stop: Stop, progress: bool = False
    ) -> None:
        """Score subsets until the record has ``budget`` entries or a rule of ``stop`` holds.

        Parameters
        ----------
        pool : BatchPool
            Scores a batch of subsets at a time.
        first : iterable of subsets
            Subsets to begin with.
        budget : int
            Number of subsets to score, including those that the stored run has.
        stop : Stop
            Rules for stopping before the budget is spent; checked after every batch.
        progress : bool
            Whether to show a progress bar.
        """
        pool.begin_within_batch(len(self.record.entries))
        runner = Runner(self.search, pool, self._take, stop, self._begin(first), self._began)
        entries = runner.steps(budget)
        with closing(entries), Progress(budget, "subset", progress, len(self.record.entries)) as bar:
            for entry in entries:
                bar.update(entry.best)
        self.stopped = runner.stopped

    def _take(self, ended: Running, closing: bool) -> Entry | None:
        return self.tell(ended.proposal, ended.future.result())

    def _begin(self, first: Iterable[Subset]) -> list[Proposal]:
        """Propose the subsets to score first.

        A resumed search goes on as if it had not been interrupted: what it has told is left out, and what it
        had proposed comes in the same order. Of several processes one does so, for all.
        """
        log, problem = self.search.log, self.problem
        if (
            isinstance(log, RunLog)
            and not self._began_here
            and at_work(log.database, log.name) - {log.worker}
        ):
            return []
        again = list(iter(log.take_over, None))
        pending = {proposal.leaf for proposal in self.search.pending}
        fresh = [
            leaf for leaf in first if leaf not in pending and problem.columns_of(leaf) not in self.scored
        ]
        return again + [self.search.propose(leaf) for leaf in fresh]

    def tell(self, proposal: Proposal, scored: Scored) -> Entry | None:
        """Tell the search the result of scoring a subset, and record it.

        A failure counts as the worst score so far, with the variance of all scores as its noise. ``None`` if
        another process has taken the subset over, and was faster.
        """
        note = scored.note(self._seconds())
        known = [entry.scored.scores for entry in self.record.successes()]
        if scored.failure is None:
            noise = float(fold_noise(np.array([*known, scored.scores]))[-1])
            evaluation = self.search.tell(proposal, scored.mean, noise or None, note=note)
        elif len(known) > 1:
            means = np.mean(known, axis=1)
            evaluation = self.search.tell(proposal, float(means.min()), float(means.var()) or None, note=note)
        else:
            evaluation = None
            self.search.log.catch_up()
        if scored.columns in self.scored:
            return None
        if evaluation is None:
            self.search.forget(proposal, again=False, note=note)
        else:
            self.record.add_evaluations([evaluation])
        self.record.note(note)
        self._add(self.record.entries[-1:])
        return self.record.entries[-1]

    def repeat_rankings(self, plan: Plan, n_jobs: int | None) -> None:
        """Repeat the rankings inside the folds, unless the stored run says what came of as many subsets."""
        first = len(plan.first)
        if first in self.record.repeated:
            self.repeated = Repeated(*self.record.repeated[first])
            return
        scores = {columns: one.scores for columns, one in self.scored.items()}
        self.repeated = optimism_of_rankings(plan.score, plan.suggest, scores, n_jobs)
        if self.repeated is not None:
            note = {"repeated": [first, *self.repeated]}
            self.search.note(note)
            self.record.note(note)

    def estimate(self, scored: Scored) -> Estimate:
        """The expected score of a subset on new data."""
        scores = np.array([entry.scored.scores for entry in self.record.successes()])
        deviation = score_deviation(scored.scores, scores, self._tested, self.bounds)
        optimism = None
        if self.repeated is not None and self.repeated.optimism is not None:
            optimism = optimism_of_choice(scores) + self.repeated.optimism
        return estimate(scored.mean, deviation, optimism, self.bounds)

    def _seconds(self) -> float:
        """Seconds since the start of the selection, including those of an earlier process."""
        return time.perf_counter() - self._began
