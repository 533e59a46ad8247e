"""Requests to a running search: lines of JSON in a file beside its journal, ``run.db-steer``.

Whoever may write to the folder of a journal can append a request. The search reads the file at its next step,
records in its journal what it did, and never writes to the file. A journal that was not steered has no such
file, and the file may be deleted at any time: what the search has taken is in the journal.
"""

import json
import logging
import math
import os
import secrets
from collections.abc import Iterable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from dagsearch.journal.encoding import StateCodec
from dagsearch.journal.lines import LENGTH, Event
from dagsearch.problem import Problem
from dagsearch.run.steering import ACTIONS, Request

logger = logging.getLogger(__name__)

# Longest line that is read, in bytes.
_LONGEST = 1 << 20


def requests_path(journal: str | PathLike[str]) -> Path:
    """The file that holds the requests to the search that writes a journal."""
    return Path(f"{os.path.realpath(journal)}-steer")


def begun_at(journal: str | PathLike[str]) -> float | None:
    """When the search of a journal began; ``None`` if the journal does not say."""
    try:
        with open(journal, "rb") as file:
            file.seek(LENGTH)
            return float(json.loads(file.readline())["at"])
    except (OSError, ValueError, TypeError, LookupError):
        return None


def send_request(journal: str | PathLike[str], action: str, value: Any = None) -> str:
    """Ask the search that writes a journal to do something at its next step.

    Parameters
    ----------
    journal : path
        The journal.
    action : str
        ``"pause"``, ``"continue"``, ``"stop"``, ``"budget"``, ``"forget"``, ``"propose"`` or ``"tell"``.
    value : optional
        For ``"budget"`` the total number of evaluations, for ``"forget"`` and ``"propose"`` the leaf as in
        the journal, for ``"tell"`` a mapping of ``leaf`` and ``reward``.

    Returns
    -------
    str
        Name of the request, which the journal holds once the search has taken it.
    """
    check_request(action, value)
    name = secrets.token_hex(8)
    asked = {"request": name, "begun": begun_at(journal), "action": action, "value": value}
    line = json.dumps(asked, allow_nan=False).encode() + b"\n"
    if len(line) > _LONGEST:
        raise ValueError(f"the request is longer than {_LONGEST} bytes")
    file = os.open(requests_path(journal), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(file, line)  # at once, so that two writers do not mix their lines
    finally:
        os.close(file)
    return name


def check_request(action: Any, value: Any) -> None:
    """Raise ``ValueError`` if a request lacks something."""
    if action not in ACTIONS:
        raise ValueError(f"action must be one of {', '.join(ACTIONS)}, got {action!r}")
    if action == "budget" and (type(value) is not int or value < 1):
        raise ValueError(f"the budget must be a positive whole number of evaluations, got {value!r}")
    if action in ("forget", "propose") and value is None:
        raise ValueError(f"{action} needs a leaf")
    if action == "tell":
        if not isinstance(value, dict) or value.get("leaf") is None:
            raise ValueError("tell needs a leaf and its reward")
        reward = value.get("reward")
        if isinstance(reward, bool) or not isinstance(reward, (int, float)) or not math.isfinite(reward):
            raise ValueError(f"the reward must be a finite number, got {reward!r}")


class Requests:
    """The requests to a search, each once.

    Parameters
    ----------
    journal : path
        The search's journal.
    problem : Problem
        Decodes leaves.
    events : iterable of Event
        The journal so far: requests that it holds were taken.
    """

    def __init__(self, journal: str | PathLike[str], problem: Problem, events: Iterable[Event] = ()) -> None:
        self._journal, self._path = Path(journal), requests_path(journal)
        self._problem = problem
        self._taken = {str(name) for event in events for name in _names(event)}
        self._offset, self._size = 0, -1

    def read(self) -> Sequence[Request]:
        """Requests since the last call."""
        try:
            size = os.stat(self._path).st_size
        except OSError:  # nobody steers
            return ()
        if size == self._size:
            return ()
        try:
            with self._path.open("rb") as file:
                file.seek(self._offset if size >= self._offset else 0)
                data = file.read()
                lines, start = data[: data.rfind(b"\n") + 1], file.tell() - len(data)
        except OSError as error:
            logger.warning("cannot read the requests in %s (%s): the search continues", self._path, error)
            return ()
        self._size, self._offset = size, start + len(lines)
        begun = begun_at(self._journal)
        found = [self._decoded(line, begun) for line in lines.splitlines()]
        return [request for request in found if request is not None]

    def _decoded(self, line: bytes, begun: float | None) -> Request | None:
        """The request of a line; ``None`` if it was taken, or meant for an earlier journal of this name."""
        try:
            asked = json.loads(line[:_LONGEST])
            name, action, value = str(asked["request"]), asked["action"], asked["value"]
            if name in self._taken or asked["begun"] != begun:
                return None
        except (ValueError, TypeError, LookupError, RecursionError):
            logger.warning("%s has a line that is not a request: it is ignored", self._path)
            return None
        self._taken.add(name)
        try:
            check_request(action, value)
            if action not in ("forget", "propose", "tell"):
                return Request(name, action, value)
            encoded = value["leaf"] if action == "tell" else value
            return Request(name, action, value, leaf=StateCodec(self._problem).decode(encoded))
        except Exception as error:  # a user's decode may fail in any way
            if not isinstance(error, ValueError):
                error = ValueError(f"the leaf cannot be read, write it as in the journal ({error!r})")
            return Request(name, str(action), None, error=str(error))


def _names(event: Event) -> list[Any]:
    """The requests that an event records."""
    if event.kind == "steer":
        return [event.content["request"]]
    return [event.note["steer"]] if "steer" in event.note else []
