"""The record of a feature selection: every subset in the order of scoring, and how the belief changed."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from dagsearch.selection.scoring import Scored
from dagsearch.values.gaussians import Gaussian


class Entry(NamedTuple):
    """A subset that was scored, or whose scoring failed."""

    scored: Scored
    """The subset and its scores."""
    best: float | None
    """Best score so far, including this one; ``None`` if there is no score yet."""
    seconds: float
    """When the subset was recorded, in seconds since the start of the selection."""


class SelectionRecord:
    """Everything that a selection has scored.

    Parameters
    ----------
    rows : int
        Number of rows of the data.
    folds : int
        Number of folds that every subset is scored on.

    Attributes
    ----------
    entries : list of Entry
        The scored and the failed subsets, in order.
    beliefs : list of (int, Gaussian)
        Number of entries, and the belief about the best possible score at that time.
    """

    def __init__(self, rows: int, folds: int) -> None:
        self.rows, self.folds = rows, folds
        self.entries: list[Entry] = []
        self.beliefs: list[tuple[int, Gaussian]] = []

    def successes(self) -> Sequence[Entry]:
        """The entries with a score."""
        return [entry for entry in self.entries if entry.scored.failure is None]

    def failures(self) -> Sequence[Entry]:
        """The entries without a score."""
        return [entry for entry in self.entries if entry.scored.failure is not None]

    def failure_message(self, names: Sequence[Any]) -> str | None:
        """How many subsets could not be scored, and why the first one could not; ``None`` if all could."""
        failed = self.failures()
        if not failed:
            return None
        scored, count = failed[0].scored, len(self.entries)
        message = f"{len(failed)} of {count} subsets could not be scored"
        if len(failed) == count:
            message = f"none of the {count} subsets could be scored"
        return f"{message}; the first, {[names[column] for column in scored.columns]}: {scored.failure}"
