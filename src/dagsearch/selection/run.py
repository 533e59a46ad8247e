"""The run of a feature selection, which scores subsets and stores every score."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import Any, cast

import numpy as np
from joblib import Parallel, delayed

from dagsearch.errors import StorageError
from dagsearch.problems.subsets import Subset
from dagsearch.report.progress import Progress
from dagsearch.results import Proposal
from dagsearch.search import Search
from dagsearch.selection.batches import BatchRun
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.estimate import (
    Columns,
    Repeated,
    Suggest,
    best_of,
    optimism_of_choice,
    optimism_of_ranking,
    score_deviation,
)
from dagsearch.selection.scoring import Scored, SubsetScorer, fold_noise, score_interval, undivided
from dagsearch.storage.database import Event
from dagsearch.storage.events import note_to_json
from dagsearch.storage.log import RunLog, at_work


class SelectionRun(BatchRun[Scored]):
    """A new or stored search over subsets of features, with all scores.

    The note ``about`` describes the selection for pages about the stored run; scores of other ``data`` raise
    a ``StorageError``. The run does not keep ``score``, because it holds the data. ``jobs`` subsets are
    scored at a time.
    """

    def __init__(
        self, problem: ColumnSubsets, search: Search, about: Mapping[str, Any], score: SubsetScorer, jobs: int
    ) -> None:
        self.problem, self.rows, self.folds, self._tested = problem, score.rows, score.folds, score.tested
        self._digest = about["data"]
        self.bounds = score.bounds
        """Smallest and largest possible score."""
        self.baseline = score.baseline()
        """Cross-validated score of predictions that use no feature; ``None`` if unknown."""
        self.stopped = "budget"
        """Why the run ended."""
        self.repeated: Repeated | None = None
        """The result of repeating the ranking inside the folds, if any."""
        self.without: dict[Columns, float] = {}
        """Scores of subsets that lack one feature of the chosen one, where the search has none."""
        self._repeated = dict[tuple[int, int], Repeated]()
        """That of earlier calls, by the numbers of first subsets and of chosen columns."""
        self._score: Callable[[Sequence[Sequence[int]]], list[Scored]] | None = None
        self._began_here = True  # whether the stored run begins in this process
        if isinstance(log := search.log, RunLog):
            note = {"note": note_to_json(about)}
            self._began_here = (
                log.database.append(log.name, log.worker, "note", note, "selection") is not None
            )
        super().__init__(search, jobs)
        self._began = time.perf_counter() - max((one.told for one in self.scored.values()), default=0.0)

    # Storage --------------------------------------------------------------------------------------------

    def hear(self, event: Event) -> None:
        super().hear(event)
        if event.note.get("data", self._digest) != self._digest:
            raise StorageError(
                f"storage: {cast(RunLog, self.search.log).database.where} holds scores of other data, folds, "
                "estimator or scoring; it was left unchanged. Pass another file, or another name, to start a "
                "new run"
            )
        if "ranking" in event.note:
            first, size, *found = event.note["ranking"]
            self._repeated[first, size] = Repeated(*found)
        if "without" in event.note:
            columns, score = event.note["without"]
            self.without[tuple(columns)] = float(score)  # NaN is text in JSON

    def to_note(self, found: Scored) -> dict[str, Any]:
        scores = None if found.failure else found.scores.tolist()
        times = {"score_time": found.seconds, "seconds": found.told}
        return {"columns": found.columns, "scores": scores, "failure": found.failure, **times}

    def from_note(self, note: Mapping[str, Any]) -> Scored | None:
        if "columns" not in note:
            return None
        scores = np.full(self.folds, np.nan) if note["scores"] is None else np.array(note["scores"])
        return Scored(tuple(note["columns"]), scores, note["score_time"], note["failure"], note["seconds"])

    # Scoring --------------------------------------------------------------------------------------------

    def select(
        self,
        score: Callable[[Sequence[Sequence[int]]], list[Scored]],
        first: Iterable[Subset],
        budget: int,
        progress: bool,
    ) -> None:
        """Score the subsets in ``first``, then others, up to ``budget`` in total."""
        self._score = score
        steps = self.steps(budget, self._begin(first))
        try:
            with closing(steps), Progress(budget, "subset", progress, len(self.scored)) as bar:
                for _ in steps:
                    best = self.search.data.best
                    bar.update(None if best is None else best.reward)
        finally:
            self._score = None
        self.stopped = self.search.data.stopped or "budget"

    def score(self, leaves: list[Subset]) -> list[Scored]:
        assert self._score is not None, "it is set while subsets are scored"
        found = self._score([self.problem.columns_of(leaf) for leaf in leaves])
        return [one._replace(told=time.perf_counter() - self._began) for one in found]

    def repeat_ranking(self, score: SubsetScorer, suggest: Suggest, first: int, n_jobs: int | None) -> None:
        """Repeat the ranking inside the folds, unless the stored run has the result."""
        scored = {one.columns: one.scores for one in self.successes()}
        size = len(best_of(self.successes()).columns)
        self.repeated = self._repeated.get((first, size))
        if self.repeated is None:
            self.repeated = optimism_of_ranking(score, suggest, scored, size, n_jobs)
            if self.repeated is not None:
                self.search.note({"ranking": [first, size, *self.repeated]})

    def leave_out(self, score: SubsetScorer, subsets: Iterable[Columns], n_jobs: int | None) -> None:
        """Score subsets that lack one feature of the chosen one, unless the run has their scores."""
        known = {one.columns for one in self.scored.values()} | self.without.keys()
        new = [one for one in subsets if one not in known]
        for found in Parallel(n_jobs=n_jobs)(delayed(undivided)(score, one) for one in new):
            self.without[found.columns] = found.mean
            self.search.note({"without": [found.columns, found.mean]})

    def judged(self, found: Scored) -> tuple[float, float | None]:
        noise = float(fold_noise(np.array([*(one.scores for one in self.successes()), found.scores]))[-1])
        return found.mean, noise or None

    def _begin(self, first: Iterable[Subset]) -> list[Proposal]:
        """Propose the subsets to score first.

        A resumed search continues as if it had not been interrupted: scored subsets are left out, and pending
        ones come in the same order. With several processes, one of them does this for all.
        """
        log = self.search.log
        others = at_work(log.database, log.name) - {log.worker} if isinstance(log, RunLog) else set()
        if others and not self._began_here:
            return []
        again = list(iter(log.take_over, None))
        known = {*self.scored, *(proposal.leaf for proposal in self.search.pending)}
        return again + [self.search.propose(leaf) for leaf in first if leaf not in known]

    # Results --------------------------------------------------------------------------------------------

    def successes(self) -> list[Scored]:
        """Every subset with a score."""
        return [one for one in self.scored.values() if one.failure is None]

    def failure_message(self, names: Sequence[Any]) -> str | None:
        """A message about subsets that could not be scored, with the first reason; ``None`` if all could."""
        failed, count = [one for one in self.scored.values() if one.failure is not None], len(self.scored)
        if not failed:
            return None
        how_many = f"none of the {count}" if len(failed) == count else f"{len(failed)} of {count}"
        could = "could" if len(failed) == count else "could not"
        columns = [names[column] for column in failed[0].columns]
        return f"{how_many} subsets {could} be scored; the first, {columns}: {failed[0].failure}"

    def estimate(self, scored: Scored) -> dict[str, Any]:
        """The expected score of a subset on new data, as attributes of a fitted selector."""
        scores = np.array([one.scores for one in self.successes()])
        optimism, unstable = None, np.zeros(self.folds)
        if self.repeated is not None:
            optimism = optimism_of_choice(scores) + self.repeated.optimism
            unstable = np.subtract(self.repeated.losses, np.mean(self.repeated.losses))
        expected = scored.mean - (optimism or 0.0)
        corrected = scored.scores - (optimism or 0.0) - unstable
        deviation = score_deviation(corrected, scores - unstable, self._tested, self.bounds)
        interval = score_interval(expected, deviation, self.bounds)
        return {"expected_score_": expected, "score_interval_": interval, "optimism_": optimism}
