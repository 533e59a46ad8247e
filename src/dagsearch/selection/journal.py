"""What a feature selection writes to the journal of its search, and reads again when it is resumed."""

from collections.abc import Iterable
from os import PathLike
from typing import Any

import joblib
import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.journal.journal import Event, JournalError, has_begun, read_events
from dagsearch.selection.identity import identity_of
from dagsearch.selection.record import Entry
from dagsearch.selection.scoring import Scored
from dagsearch.values.gaussians import Gaussian


def data_digest(data: Any, target: Any, splits: Any, estimator: Any, scoring: Any) -> str:
    """Identifies what scores depend on: two selections with the same digest give a subset the same score."""
    return f"{joblib.hash((data, target, splits))} {identity_of(estimator, scoring)}"


def recorded_events(journal: str | PathLike[str], digest: str) -> list[Event]:
    """The events of a journal that exists already; none if it does not.

    Raises
    ------
    JournalError
        If its scores are not those of the data with this digest.
    """
    if not has_begun(journal):
        return []
    events = read_events(journal)
    if all(event.kind == "settings" for event in events):
        return events  # it ended before the digest was noted
    if digest not in [event.note.get("data") for event in events]:
        raise JournalError(
            f"journal: {journal} holds scores of other data, folds, estimator or scoring; it was left "
            "unchanged. Give the file another name to start a new journal"
        )
    return events


def entry_note(scored: Scored, seconds: float) -> dict[str, Any]:
    """The note that goes with the reward of a subset."""
    return {
        "columns": scored.columns,
        "scores": None if scored.failure else scored.scores.tolist(),
        "score_time": scored.seconds,
        "failure": scored.failure,
        "seconds": seconds,
    }


def recorded_entries(events: Iterable[Event], folds: int) -> list[Entry]:
    """The entries in the notes of a journal."""
    entries: list[Entry] = []
    best: float | None = None
    for event in events:
        if event.kind == "tell":
            reward = event.content["reward"]
            best = reward if best is None else max(best, reward)
        note = event.note
        if "columns" in note:
            scores = np.full(folds, np.nan) if note["scores"] is None else np.array(note["scores"])
            scored = Scored(tuple(note["columns"]), scores, note["score_time"], note["failure"])
            entries.append(Entry(scored, best, note["seconds"]))
    return entries


def belief_note(entries: int, belief: Gaussian) -> dict[str, Any]:
    """The note of a belief about the best possible score, after a number of entries."""
    return {"belief": [entries, *belief]}


def recorded_beliefs(events: Iterable[Event]) -> list[tuple[int, Gaussian]]:
    """The beliefs in the notes of a journal, each with the number of entries at that time."""
    noted = (event.note["belief"] for event in events if "belief" in event.note)
    return [(entries, Gaussian(mean, variance)) for entries, mean, variance in noted]


def confirmation_note(draw: int, scored: Scored) -> dict[str, Any]:
    """The note of a subset's scores on re-drawn folds."""
    scores = None if scored.failure else scored.scores.tolist()
    return {"confirmed": {"draw": draw, "columns": scored.columns, "scores": scores}}


def recorded_confirmations(events: Iterable[Event]) -> dict[tuple[int, tuple[int, ...]], FloatArray]:
    """The scores on re-drawn folds in the notes of a journal."""
    noted = [event.note["confirmed"] for event in events if "confirmed" in event.note]
    return {
        (one["draw"], tuple(one["columns"])): np.array([np.nan] if one["scores"] is None else one["scores"])
        for one in noted
    }
