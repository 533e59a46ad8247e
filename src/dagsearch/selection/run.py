"""The loop of a feature selection: ask, score, tell, until there is a reason to stop."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from tqdm import tqdm

from dagsearch.durable.journal import Event
from dagsearch.errors import SearchExhausted
from dagsearch.execution.stopping import Stop
from dagsearch.gaussians import Gaussian
from dagsearch.problems.ground import SubsetProblem
from dagsearch.refinements.optimum import Optimum
from dagsearch.results import Proposal
from dagsearch.search import Search
from dagsearch.selection.noise import FoldNoise
from dagsearch.selection.scoring import Scored, SubsetScorer

# The belief over the best score there is, is noted whenever there are so many times as many subsets.
_BELIEF_GROWTH = 1.3
# From so many samples and leaves, as it must not cost more than the search.
_ROUGHLY = 64, 200


class Entry(NamedTuple):
    """A subset that was scored, or failed to be."""

    scored: Scored
    """The subset and its scores."""
    best: float | None
    """The best score so far, this one included."""
    seconds: float
    """When, from the start."""


class SelectionRun:
    """Scores subsets until the budget is spent or there is a reason to stop.

    Parameters
    ----------
    problem : SubsetProblem
        What to choose from.
    search : Search
        Proposes subsets of the problem; fresh.
    budget : int
        How many.
    stop : Stop
        Reasons to stop before.
    n_jobs : int, optional
        How many at once.
    progress : bool
        Whether to show a bar.
    """

    def __init__(
        self,
        problem: SubsetProblem,
        search: Search,
        budget: int,
        stop: Stop,
        n_jobs: int | None = None,
        progress: bool = False,
    ) -> None:
        self.problem, self.search = problem, search
        self.rows = self.folds = 0  # of the data
        self.entries: list[Entry] = []
        self.beliefs: list[tuple[int, Gaussian]] = []
        self.stopped = "budget"
        self._budget, self._stop = budget, stop
        self._n_jobs, self._progress = n_jobs, progress
        self._noise = FoldNoise()
        self._began = time.perf_counter()

    def go(
        self,
        scorer: SubsetScorer,
        known: Mapping[frozenset[int], float],
        first: Iterable[frozenset[int]],
        after_each: Callable[[Entry], bool],
    ) -> None:
        """Tell the known scores, score the ``first`` subsets, then search.

        ``after_each`` is called with every entry; if it returns true, the search ends.
        """
        self.rows, self.folds = scorer.rows, scorer.folds
        # After a crash some of them are known already.
        begun = {evaluation.leaf for evaluation in self.search.history}
        begun |= {proposal.leaf for proposal in self.search.pending}
        for leaf, score in known.items():
            if leaf not in begun:
                self.search.tell(self.search.propose(leaf, self.problem.path_to(leaf)), score)
        waiting = [
            self.search.propose(leaf, self.problem.path_to(leaf))
            for leaf in dict.fromkeys(first)
            if leaf not in begun
        ]
        at_once = effective_n_jobs(self._n_jobs)
        with (
            Parallel(n_jobs=self._n_jobs) as parallel,
            tqdm(total=self._budget, disable=not self._progress, unit="subset") as bar,
        ):
            while (left := self._budget - len(self.entries)) > 0:
                batch = self._next(waiting, min(at_once, left))
                if not batch:
                    self.stopped = "exhausted"
                    return
                leaves = [sorted(proposal.leaf) for proposal in batch]
                if at_once == 1:
                    found = [scorer(leaf) for leaf in leaves]
                else:
                    found = parallel(delayed(scorer)(leaf) for leaf in leaves)
                for proposal, scored in zip(batch, found, strict=True):
                    self._take(proposal, scored)
                    bar.update()
                    if self.entries[-1].best is not None:
                        bar.set_postfix(best=f"{self.entries[-1].best:.4g}", refresh=False)
                    if after_each(self.entries[-1]):
                        self.stopped = "callback"
                if self.stopped == "callback":
                    return
                reason = self._reason_to_stop()
                if reason is not None:
                    self.stopped = reason
                    return

    def _reason_to_stop(self) -> str | None:
        from dagsearch.execution.runner import Runner

        return Runner(self.search, None, None, self._stop, began=self._began)._reason_to_stop()  # type: ignore

    def _next(self, waiting: list[Proposal], count: int) -> list[Proposal]:
        """What to score at once."""
        batch: list[Proposal] = []
        while len(batch) < count:
            try:
                batch.append(waiting.pop(0) if waiting else self.search.ask())
            except SearchExhausted:
                break
        return batch

    def _take(self, proposal: Proposal, scored: Scored) -> None:
        """Learn a subset's score; a failure counts as the worst score so far, and as uncertain as that."""
        told = self.search.history
        seconds = time.perf_counter() - self._began
        note = {
            "columns": scored.columns,
            "scores": None if scored.failure else scored.scores.tolist(),
            "score_time": scored.seconds,
            "failure": scored.failure,
            "seconds": seconds,
        }
        if scored.failure is None:
            self.search.tell(proposal, scored.mean, self._noise.add(scored.scores), note=note)
        elif len(told) > 1:
            rewards = np.array([evaluation.reward for evaluation in told])
            self.search.tell(proposal, float(rewards.min()), float(rewards.var()) or None, note=note)
        else:
            self.search.forget(proposal, again=False, note=note)
        best = max((evaluation.reward for evaluation in told), default=None)
        self.entries.append(Entry(scored, best, seconds))
        noted = self.beliefs[-1][0] if self.beliefs else 0
        if len(told) >= max(20, round(_BELIEF_GROWTH * noted)):
            self.note_belief(self.search.sample_optimum(*_ROUGHLY))

    def note_belief(self, optimum: Optimum | None) -> None:
        """Keep what is believed of the best score there is, for the report."""
        if optimum is not None and (not self.beliefs or self.beliefs[-1][0] < len(self.entries)):
            value = Gaussian(float(optimum.best.mean()), float(optimum.best.var()))
            self.beliefs.append((len(self.entries), value))
            self.search.note({"belief": [len(self.entries), *value]})

    def restore(self, events: Iterable[Event], folds: int) -> None:
        """Know again what a journal says was scored; the search itself was resumed from it."""
        best: float | None = None
        for event in events:
            note = event.content.get("note") or {}
            if event.kind == "tell":
                reward = event.content["reward"]
                best = reward if best is None else max(best, reward)
            if "belief" in note:
                entries, mean, variance = note["belief"]
                self.beliefs.append((entries, Gaussian(mean, variance)))
            if "columns" in note:
                scores = np.full(folds, np.nan) if note["scores"] is None else np.array(note["scores"])
                if note["failure"] is None:
                    self._noise.add(scores)
                scored = Scored(tuple(note["columns"]), scores, note["score_time"], note["failure"])
                self.entries.append(Entry(scored, best, note["seconds"]))
        if self.entries:
            self._began = time.perf_counter() - self.entries[-1].seconds

    def successes(self) -> Sequence[Entry]:
        """The entries with a score."""
        return [entry for entry in self.entries if entry.scored.failure is None]

    def failures(self) -> Sequence[Entry]:
        """The entries without."""
        return [entry for entry in self.entries if entry.scored.failure is not None]

    def failures_in_words(self, names: Sequence[Any]) -> str | None:
        """How many subsets could not be scored, and why the first could not; ``None`` if all could."""
        failed = self.failures()
        if not failed:
            return None
        scored, count = failed[0].scored, len(self.entries)
        what = f"{len(failed)} of {count} subsets could not be scored"
        if len(failed) == count:
            what = f"none of the {count} subsets could be scored"
        return f"{what}; the first, {[names[column] for column in scored.columns]}: {scored.failure}"
