"""What has happened in a feature selection: the record of its search, with the scores on the folds."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.storage.record import Record


class Scored(NamedTuple):
    """The result of scoring a subset of features."""

    columns: tuple[int, ...]
    """Column numbers of the features, ascending."""
    scores: FloatArray
    """Score on each fold, shape ``(n_folds,)``; NaN if scoring failed."""
    seconds: float
    """Time that fitting and scoring took."""
    failure: str | None
    """Why there is no score; ``None`` if there is one."""

    @property
    def mean(self) -> float:
        """The subset's score: the mean over the folds."""
        return float(np.mean(self.scores))

    def note(self, seconds: float) -> dict[str, Any]:
        """The note of the subset's reward, told ``seconds`` after the start."""
        return {
            "columns": self.columns,
            "scores": None if self.failure else self.scores.tolist(),
            "score_time": self.seconds,
            "failure": self.failure,
            "seconds": seconds,
        }


class Entry(NamedTuple):
    """A subset that was scored, or whose scoring failed."""

    scored: Scored
    """The subset and its scores."""
    best: float | None
    """Best score so far, including this one; ``None`` if there is no score yet."""
    seconds: float
    """When the subset was recorded, in seconds since the start of the selection."""


class SelectionRecord(Record):
    """The record of a selection; the notes of its events hold what a search does not know."""

    digest: str | None = None
    """Identifies what the scores depend on."""
    rows = folds = 0
    """Number of rows of the data, and of folds that every subset is scored on."""

    def __init__(self) -> None:
        super().__init__()
        self.entries: list[Entry] = []
        """The scored and the failed subsets, in order."""
        self.repeated: dict[int, tuple[float | None, int]] = {}
        """Optimism of rankings that were repeated inside the folds, and its fits, by number of subsets."""

    def note(self, note: Mapping[str, Any]) -> None:
        """Take the note of an event: the scores of a subset, or a nested selection."""
        super().note(note)
        if not self.about:
            return
        self.digest, self.rows, self.folds = (self.about[name] for name in ("data", "rows", "folds"))
        if "columns" in note:
            scores = np.array([np.nan] * self.folds if note["scores"] is None else note["scores"], float)
            best = None if self.best is None else self.told[self.best].reward
            scored = Scored(tuple(note["columns"]), scores, note["score_time"], note["failure"])
            self.entries.append(Entry(scored, best, note["seconds"]))
        if "repeated" in note:
            first, optimism, fits = note["repeated"]
            self.repeated[first] = None if optimism is None else float(optimism), int(fits)

    def successes(self) -> Sequence[Entry]:
        """The entries with a score."""
        return [entry for entry in self.entries if entry.scored.failure is None]

    def failed(self) -> Sequence[Entry]:
        """The entries without a score."""
        return [entry for entry in self.entries if entry.scored.failure is not None]

    def failure_message(self, names: Sequence[Any]) -> str | None:
        """How many subsets could not be scored, and why the first one could not; ``None`` if all could."""
        failed = self.failed()
        if not failed:
            return None
        scored, count = failed[0].scored, len(self.entries)
        message = f"{len(failed)} of {count} subsets could not be scored"
        if len(failed) == count:
            message = f"none of the {count} subsets could be scored"
        return f"{message}; the first, {[names[column] for column in scored.columns]}: {scored.failure}"
