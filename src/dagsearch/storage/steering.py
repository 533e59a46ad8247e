"""What users ask a run to do: events that its processes read between two evaluations.

Whoever may write to the database may steer its runs.
"""

import os
import platform
from dataclasses import dataclass, field
from typing import Any, cast

from dagsearch._internal.checks import LARGEST_WHOLE, is_budget
from dagsearch._internal.texts import shown
from dagsearch.storage.database import Database, Event

ACTIONS = ("pause", "continue", "stop", "budget", "propose")
"""What can be asked for."""
# Longest request, in characters of its representation.
_LONGEST = 1 << 20


@dataclass
class Steering:
    """What users have asked a run to do."""

    paused: bool = False
    """Whether no evaluation is started until the user says so."""
    total: int | None = None
    """Number of evaluations at which the run ends, as a script or a request has said last."""
    began: int = 0
    """Number of the event with which the run of this process began."""
    stopped: int = 0
    """Number of the last event that asks the run to stop."""
    wanted: dict[int, Any] = field(default_factory=dict)
    """Leaves to evaluate next, as they are stored, by the number of the request."""
    _script: int | None = None  # what a script has said: it says the same when it runs again

    def add(self, event: Event, spent: float) -> None:
        """Take an event; ``spent`` is what the evaluations so far have taken of the budget."""
        body = event.body
        if event.kind == "run":
            if body["budget"] != self._script:
                self.total = self._script = body["budget"]
        elif event.kind == "request":
            action, value = body["action"], cast(Any, body.get("value"))
            if action in ("pause", "continue"):
                self.paused = action == "pause"
            elif action == "stop":
                self.stopped = event.number
            elif action == "budget" and is_budget(value) and value >= spent:
                self.total = value
            elif action == "propose":
                self.wanted[event.number] = value
        elif event.kind == "answer":
            self.wanted.pop(body["request"], None)


def send_request(database: Database, run: str, action: Any, value: Any = None, spent: int = 0) -> int:
    """Ask the processes of a run to do something; returns the number of the request's event.

    Parameters
    ----------
    database : Database
        The database, open for writing.
    run : str
        Name of the run.
    action : str
        ``"pause"``, ``"continue"``, ``"stop"``, ``"budget"`` or ``"propose"``, to evaluate a leaf next.
    value : optional
        For ``"budget"`` the total number of evaluations, for ``"propose"`` the leaf as it is stored.
    spent : int
        Number of evaluations so far, below which no budget may be.
    """
    if action not in ACTIONS:
        raise ValueError(f"action must be one of {', '.join(ACTIONS)}, got {shown(action)}")
    if action == "budget" and not is_budget(value):
        raise ValueError(
            f"the budget must be a positive whole number of evaluations, at most {LARGEST_WHOLE}, got "
            f"{shown(value)}"
        )
    if action == "budget" and value < spent:
        raise ValueError(f"the budget cannot be {value}: {spent} evaluations are done already")
    if action == "propose" and value is None:
        raise ValueError("propose needs a leaf")
    if len(repr(value)) > _LONGEST:
        raise ValueError("the leaf is too long")
    body = {"action": action, "value": value if action in ("budget", "propose") else None}
    number = database.append(run, f"{platform.node()} {os.getpid()} page", "request", body)
    assert number is not None, "a request claims nothing"
    return number
