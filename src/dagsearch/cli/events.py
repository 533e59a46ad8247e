"""What ``show`` and ``resume`` both read from a journal's events."""

from collections.abc import Sequence
from typing import Any

from dagsearch.journal.events import Event
from dagsearch.run.steered import Steered


def budget_of(events: Sequence[Event]) -> int | None:
    """Number of rewards at which the last run was to end; ``None`` if the journal does not state it."""
    budgets = [event.content["budget"] for event in events if event.kind == "run"]
    if not budgets:
        return None
    steered = Steered()
    for event in events:
        if event.kind == "steer" and event.content["refused"] is None:
            steered.take(event.content["action"], event.content["value"])
    return steered.total(int(budgets[-1]))


def features_of(events: Sequence[Event]) -> list[str] | None:
    """Names of the features in a journal of a feature selection; ``None`` in other journals."""
    for note in (event.note for event in events):
        names = note.get("features")
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            return names
    return None


def selection_of(events: Sequence[Event]) -> dict[str, Any] | None:
    """The request of the ``dagsearch select`` that wrote the journal; ``None`` if another program did."""
    found = (event.note.get("select") for event in events)
    return next((request for request in found if isinstance(request, dict)), None)
