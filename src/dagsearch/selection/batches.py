"""Runs that score leaves in batches and store the results of this and other processes."""

import math
from abc import abstractmethod
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Generic, TypeVar, cast

import joblib
import numpy as np

from dagsearch.errors import StorageError
from dagsearch.problem import Problem, State
from dagsearch.results import Proposal
from dagsearch.run.pools import Pool
from dagsearch.run.runner import Runner, Stop
from dagsearch.search import Search
from dagsearch.storage.database import Event
from dagsearch.storage.log import RunLog

T = TypeVar("T")


class BatchRun(Pool, Generic[T]):
    """Scores the leaves that a search asks for in batches of ``size``.

    The result of a leaf is stored as the note of its reward, so that a continued run has it, and so do other
    processes that take part in the run.
    """

    def __init__(self, search: Search, size: int) -> None:
        self.search, self._size = search, size
        self.scored: dict[Any, T] = {}
        """The results of all leaves, including failures, in the order in which they were reported."""
        if isinstance(log := search.log, RunLog):
            for event in log.database.events(log.name):
                self.hear(event)
            log.listeners.append(self.hear)
        self._batch: dict[Future[T], Any] = {}
        self._left = size - len(self.scored) % size  # an interrupted batch is completed

    @abstractmethod
    def score(self, leaves: list[Any]) -> list[T]:
        """Score a batch."""

    @abstractmethod
    def judged(self, found: T) -> tuple[float, float | None]:
        """The score and its noise variance, if known; NaN for a failure."""

    @abstractmethod
    def to_note(self, found: T) -> dict[str, Any]:
        """The note to store."""

    @abstractmethod
    def from_note(self, note: Mapping[str, Any]) -> T | None:
        """The result in a note; ``None`` if the note is of another kind."""

    def hear(self, event: Event) -> None:
        """Add a result of another or an earlier process."""
        leaf = event.body.get("leaf" if event.kind == "tell" else "failed")
        if event.kind in ("tell", "forget") and leaf is not None:
            found = self.from_note(event.note)
            if found is not None:
                self.scored.setdefault(cast(RunLog, self.search.log).decoded(leaf), found)

    def steps(self, budget: int, first: Sequence[Proposal] = ()) -> Generator[T]:
        """Score until the run has ``budget`` leaves."""
        self.search.data.offered += first
        return Runner(self.search, self, self.take, Stop()).steps(budget)

    def take(self, proposal: Proposal, future: "Future[T]", ending: bool) -> T | None:
        """Tell the search a leaf's score; ``None`` if another process took the leaf over and was faster.

        A failure counts as the worst score so far, with the variance of all scores as its noise. Among the
        first two leaves, a failure does not count.
        """
        leaf, found = proposal.leaf, future.result()
        self.search.log.catch_up()
        if leaf not in self.scored:
            note, (score, noise) = self.to_note(found), self.judged(found)
            rewards = [evaluation.reward for evaluation in self.search.history]
            if math.isfinite(score):
                self.search.tell(proposal, score, noise, note=note)
            elif len(rewards) > 1:
                self.search.tell(proposal, min(rewards), float(np.var(rewards)) or None, note=note)
            else:
                self.search.forget(proposal, again=False, leaf=leaf, note=note)
        if leaf in self.scored:
            return None
        self.scored[leaf] = found
        return found

    # The pool -------------------------------------------------------------------------------------------

    def workers(self) -> int:
        """Number of leaves in the batch."""
        return self._left

    def start(self, problem: Problem, leaf: State) -> "Future[T]":
        """Add a leaf to the batch."""
        future = Future[T]()
        self._batch[future] = leaf
        return future

    def finished(self, running: Sequence["Future[T]"], patience: float) -> Sequence["Future[T]"]:
        """Score the batch."""
        found = self.score([self._batch.pop(future) for future in running])
        for future, one in zip(running, found, strict=True):
            future.set_result(one)
        self._left = self._size
        return running


def identity_of(*things: Any) -> str:
    """A digest of objects by value; functions and classes count by their names.

    Raises
    ------
    StorageError
        If something cannot be pickled and therefore cannot be identified.
    """
    try:
        return str(joblib.hash(things))
    except Exception as error:  # pickle raises many kinds
        raise StorageError(
            "storage: a part of the estimator or the scoring cannot be identified, so a run might mix scores "
            f"({error}). Use functions and objects that can be pickled, or no storage"
        ) from error
