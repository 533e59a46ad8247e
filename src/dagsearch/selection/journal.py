"""The journal of a feature selection: whose scores it holds, and what an earlier run has recorded."""

from os import PathLike
from typing import Any

import joblib

from dagsearch.journal.journal import StorageError, has_begun, iter_events
from dagsearch.storage.record import Record
from dagsearch.selection.identity import identity_of


def data_digest(data: Any, target: Any, splits: Any, estimator: Any, scoring: Any) -> str:
    """Identifies what scores depend on: two selections with the same digest give a subset the same score."""
    return f"{joblib.hash((data, target, splits))} {identity_of(estimator, scoring)}"


def recorded(journal: str | PathLike[str], digest: str) -> Record:
    """What a journal that exists already holds; an empty record if it does not.

    Raises
    ------
    StorageError
        If its scores are not those of the data with this digest.
    """
    record = Record.of(iter_events(journal) if has_begun(journal) else ())
    # With nothing but the settings, it ended before the digest was noted.
    if record.events > 1 and record.digest != digest:
        raise StorageError(
            f"journal: {journal} holds scores of other data, folds, estimator or scoring; it was left "
            "unchanged. Give the file another name to start a new journal"
        )
    return record
