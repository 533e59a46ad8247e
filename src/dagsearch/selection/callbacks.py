"""Callbacks of the selector."""

from collections.abc import Callable, Sequence
from typing import Any

from sklearn.utils import Bunch

from dagsearch.record import Entry
from dagsearch.selection.arguments import Features
from dagsearch.selection.run import SelectionRun


def notifier(
    callbacks: Sequence[Callable[[Bunch], Any]], run: SelectionRun, features: Features
) -> Callable[[Entry], bool]:
    """A function that calls every callback with an entry, and returns whether one of them ends the search."""

    def notify(entry: Entry) -> bool:
        if not callbacks:
            return False
        told = _bunch(run, entry, features)
        answers = [callback(told) for callback in callbacks]
        return any(bool(answer) for answer in answers)

    return notify


def _bunch(run: SelectionRun, entry: Entry, features: Features) -> Bunch:
    best = run.search.incumbent()
    return Bunch(
        step=len(run.record.entries),
        features=features.labels(entry.scored.columns),
        score=None if entry.scored.failure else entry.scored.mean,
        fold_scores=entry.scored.scores,
        failure=entry.scored.failure,
        best_features=None if best is None else features.labels(sorted(best.leaf)),
        best_score=entry.best,
    )
