"""What users ask a run to do: events that its processes read between two evaluations.

Whoever may write to the database may steer its runs.
"""

import os
import platform
from typing import Any, NamedTuple

from dagsearch._internal.checks import LARGEST_WHOLE, is_budget, is_finite
from dagsearch._internal.texts import shown
from dagsearch.storage.database import Database, Event

ACTIONS = ("pause", "continue", "stop", "budget", "propose")
"""What can be asked for."""
# Longest request, in characters of its representation.
_LONGEST = 1 << 20


class Request(NamedTuple):
    """What a user has asked a run to do, and what became of it."""

    at: float
    """When it was asked for, in seconds since 1970."""
    action: str
    """One of :data:`ACTIONS`."""
    value: Any
    """The budget, or the leaf to evaluate next as it is stored."""
    answer: str | None
    """What became of it; ``None`` if no process has carried it out yet."""
    refused: bool = False
    """Whether it was refused."""


class Steering:
    """What users have asked a run to do, as its events say."""

    paused = False
    """Whether no evaluation is started until the user says so."""
    budget: int | None = None
    """Number of evaluations at which the run ends, as a script or a request has said last."""
    run_began: float | None = None
    """When the last process began to run, in seconds since 1970."""
    last_run = last_stop = 0
    """Numbers of the last event with which a process began to run, and of the last that asks it to stop."""
    _script: int | None = None  # what a script has said: it says the same when it runs again

    def __init__(self) -> None:
        self.rules: dict[str, float] = {}
        """Other rules for stopping, by name."""
        self.requests: dict[int, Request] = {}
        """Requests of users, by the number of their event."""

    @property
    def wanted(self) -> dict[int, Any]:
        """Leaves to evaluate next, as they are stored, by the number of the request."""
        asked = {number: one for number, one in self.requests.items() if one.action == "propose"}
        return {number: one.value for number, one in asked.items() if one.answer is None}

    def steer(self, event: Event, spent: float) -> None:
        """Take an event; ``spent`` is what the evaluations so far have taken of the budget."""
        body = event.body
        if event.kind == "run":
            if body["budget"] != self._script and is_budget(body["budget"]):
                self.budget = self._script = body["budget"]
            self.run_began, self.last_run = event.time, event.number
            self.rules = {name: value for name, value in body["stop"].items() if is_finite(value)}
        elif event.kind == "request":
            self._take(event, body["action"], body.get("value"), spent)
        elif (
            event.kind in ("answer", "ask")
            and (asked := self.requests.get(body.get("request", 0))) is not None
        ):
            refused = body.get("refused")
            answer = "done" if refused is None else str(refused)
            self.requests[body["request"]] = asked._replace(answer=answer, refused=refused is not None)

    def _take(self, event: Event, action: Any, value: Any, spent: float) -> None:
        answer, refused = None if action == "propose" else "done", False
        if action in ("pause", "continue"):
            self.paused = action == "pause"
        elif action == "stop":
            self.last_stop = event.number
        elif action == "budget" and is_budget(value) and value >= spent:
            self.budget = value
        elif action == "budget":
            answer, refused = f"{spent} evaluations are done already", True
        self.requests[event.number] = Request(event.time, str(action), value, answer, refused)


def send_request(database: Database, run: str, action: Any, value: Any = None) -> int:
    """Ask the processes of a run to do something; returns the number of the request's event.

    They refuse a budget below what was evaluated, and a leaf that the problem does not have.

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
    """
    if action not in ACTIONS:
        raise ValueError(f"action must be one of {', '.join(ACTIONS)}, got {shown(action)}")
    if action == "budget" and not is_budget(value):
        raise ValueError(
            f"the budget must be a positive whole number of evaluations, at most {LARGEST_WHOLE}, got "
            f"{shown(value)}"
        )
    if action == "propose" and value is None:
        raise ValueError("propose needs a leaf")
    if len(repr(value)) > _LONGEST:
        raise ValueError("the leaf is too long")
    body = {"action": action, "value": value if action in ("budget", "propose") else None}
    number = database.append(run, f"{platform.node()} {os.getpid()} page", "request", body)
    assert number is not None, "a request claims nothing"
    return number
