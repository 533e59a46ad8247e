"""Requests to a running search: lines of JSON in a file beside its journal, ``run.db-steer``.

The run makes the file if it is to be steered, and reads it at every step; it never writes to it. A sender
appends to the file and never makes one: without it, the run takes no requests. Both use it only if it is a
regular file of their own account that nobody else may write to. So whoever may write to the folder of a
journal cannot steer its search. The file may be deleted at any time: what the search has taken is in the
journal, and the run makes the file again.
"""

import json
import logging
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any

from dagsearch._internal.checks import LARGEST_WHOLE, is_budget, is_finite
from dagsearch._internal.texts import shown
from dagsearch.journal.encoding import StateCodec
from dagsearch.journal.lines import LENGTH, Event
from dagsearch.journal.lock import lock
from dagsearch.journal.regular import open_regular
from dagsearch.posterior.units import LARGEST_REWARD
from dagsearch.problem import Problem
from dagsearch.run.steering import ACTIONS, Request

logger = logging.getLogger(__name__)

# Longest line, in bytes, and how many bytes are read at once.
_LONGEST, _CHUNK = 1 << 20, 1 << 22
# Bounds of what a leaf may hold: how deep lists are nested, and bits of whole numbers, which a float holds.
_DEEPEST, _LARGEST_BITS = 100, 1000
# Seconds for which a sender waits for the file, or for another sender.
_PATIENCE, _GLANCE = 2.0, 0.05
_NAME = re.compile(r"[0-9a-f]{16}")


def requests_path(journal: str | PathLike[str]) -> Path:
    """The file that holds the requests to the search that writes a journal."""
    return Path(f"{os.path.realpath(journal)}-steer")


def begun_at(journal: str | PathLike[str]) -> float | None:
    """When the search of a journal began; ``None`` if the journal does not say."""
    try:
        with open(open_regular(journal), "rb") as file:
            file.seek(LENGTH)
            return float(json.loads(file.readline())["at"])
    except (OSError, ValueError, TypeError, LookupError, OverflowError, RecursionError):
        return None


def open_own(path: Path, flags: int) -> int:
    """Descriptor of the file; raises ``OSError`` if someone else may have written to it."""
    descriptor = open_regular(path, flags | getattr(os, "O_NOFOLLOW", 0))
    found = os.fstat(descriptor)
    own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
    if own and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return descriptor
    os.close(descriptor)
    raise OSError("others may write to it" if own else "it belongs to another user")


def _is_at(path: Path, descriptor: int) -> bool:
    """Whether the file with this name is the one that is open."""
    try:
        return os.path.samestat(os.stat(path, follow_symlinks=False), os.fstat(descriptor))
    except OSError:
        return False


# Sending ------------------------------------------------------------------------------------------


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

    Raises
    ------
    ValueError
        If the request lacks something, or a number is too large.
    OSError
        If the request was not sent: the run takes no requests, the file is not this account's own, or the
        disk is full.
    """
    check_request(action, value)
    name, path = secrets.token_hex(8), requests_path(journal)
    asked = {"request": name, "begun": begun_at(journal), "action": action, "value": value}
    line = json.dumps(asked, allow_nan=False).encode() + b"\n"
    if len(line) > _LONGEST:
        raise ValueError(f"the request is longer than {_LONGEST} bytes")
    end = time.monotonic() + _PATIENCE
    while not _sent(path, line, last=time.monotonic() >= end):
        time.sleep(_GLANCE)
    return name


def _sent(path: Path, line: bytes, last: bool) -> bool:
    """Append a line; returns whether the run will find it, or raises ``OSError`` if this is the last try."""
    try:
        file = open_own(path, os.O_RDWR | os.O_APPEND)
    except FileNotFoundError as error:
        if not last:  # it was deleted, and the run makes it again
            return False
        raise OSError(
            f"{path} does not exist: the search was not started with steer=True, or the file was deleted and "
            "the search has not come to its next step yet"
        ) from error
    except OSError as error:
        raise OSError(f"{path} cannot be used: {error}") from error
    try:
        if not lock(file):
            if last:
                raise OSError(f"{path} is locked by another process")
            return False
        _append(file, line)
        return _is_at(path, file)  # otherwise it was deleted meanwhile, and the run may not have read it
    finally:
        os.close(file)


def _append(file: int, line: bytes) -> None:
    """Append a line to the locked file: all of it, or nothing."""
    before = os.fstat(file).st_size
    os.lseek(file, max(0, before - 1), os.SEEK_SET)
    if os.read(file, 1) not in (b"", b"\n"):  # a sender was killed amid its line
        line = b"\n" + line
    try:
        if os.write(file, line) < len(line):
            raise OSError("the disk is full")
        os.fsync(file)
    except BaseException:
        with suppress(OSError):
            os.ftruncate(file, before)
        raise


# Checks -------------------------------------------------------------------------------------------


def check_request(action: Any, value: Any) -> None:
    """Raise ``ValueError`` if a request lacks something, or holds what a journal cannot."""
    if action not in ACTIONS:
        raise ValueError(f"action must be one of {', '.join(ACTIONS)}, got {shown(action)}")
    if action == "budget" and not is_budget(value):
        raise ValueError(
            f"the budget must be a positive whole number of evaluations, at most {LARGEST_WHOLE}, got "
            f"{shown(value)}"
        )
    if action in ("forget", "propose") and value is None:
        raise ValueError(f"{action} needs a leaf")
    if action == "tell":
        if not isinstance(value, dict) or value.get("leaf") is None:
            raise ValueError("tell needs a leaf and its reward")
        reward = value.get("reward", "nothing")
        if isinstance(reward, bool) or not is_finite(reward) or abs(reward) > LARGEST_REWARD:
            raise ValueError(
                f"the reward must be a number of size {LARGEST_REWARD:g} or less, got {shown(reward)}"
            )
    _check_bounds(value)


def _check_bounds(value: Any) -> None:
    """Raise ``ValueError`` unless every reader of JSON can read the value."""
    level = [value]
    for _ in range(_DEEPEST):
        level = [part for one in level for part in _parts(one)]
        if not level:
            return
    raise ValueError(f"the leaf is nested more than {_DEEPEST} levels deep")


def _parts(value: Any) -> Iterable[Any]:
    """What a value in types of JSON consists of; raises ``ValueError`` at a number that is too large."""
    if isinstance(value, (list, tuple)):
        return value
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, int) and value.bit_length() > _LARGEST_BITS:
        raise ValueError(f"a whole number has more than {_LARGEST_BITS} bits")
    if isinstance(value, float) and not is_finite(value):
        raise ValueError("a number is not finite")
    return ()


# Reading ------------------------------------------------------------------------------------------


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
        # At once: a reward may change the working directory.
        self._path, self._begun = requests_path(journal), begun_at(journal)
        self._problem = problem
        self._taken = {str(name) for event in events for name in _names(event)}
        self._file: int | None = None
        self._offset = 0
        self._trouble: str | None = None

    def open(self) -> None:
        """Make the file, or open it if it is there. If that is impossible, the search goes on without."""
        self.close()
        try:
            self._file = open_own(self._path, os.O_RDONLY | os.O_CREAT)
            self._offset, self._trouble = 0, None
        except OSError as error:
            if self._trouble != str(error):  # not at every step
                logger.warning("the search cannot be steered: %s cannot be used (%s)", self._path, error)
            self._trouble = str(error)

    def close(self) -> None:
        """Release the file; it stays, for requests to a search that is resumed."""
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def read(self) -> Sequence[Request]:
        """Requests since the last call."""
        lines = list(self._lines())
        if self._file is None or not _is_at(self._path, self._file):  # deleted, or replaced
            self.open()
            lines += self._lines()
        found = [self._decoded(line) for line in lines if line]
        return [request for request in found if request is not None]

    def _lines(self) -> Iterator[bytes]:
        """The complete lines that the open file holds since the last call."""
        if self._file is None:
            return
        try:
            if os.fstat(self._file).st_size < self._offset:
                self._offset = 0  # it was shortened: what was taken is known by its name
            os.lseek(self._file, self._offset, os.SEEK_SET)
            data = os.read(self._file, _CHUNK)
        except OSError as error:
            logger.warning("cannot read the requests in %s (%s): the search continues", self._path, error)
            return
        end = data.rfind(b"\n") + 1
        if not end and len(data) > _LONGEST:  # no request is that long
            end = len(data)
        self._offset += end
        yield from data[:end].split(b"\n")

    def _decoded(self, line: bytes) -> Request | None:
        """The request of a line; ``None`` if it was taken, or meant for an earlier journal of this name."""
        try:
            asked = json.loads(line[:_LONGEST])
            name, action, value = asked["request"], asked["action"], asked["value"]
            if not _NAME.fullmatch(name):
                raise ValueError("it has no name")
            if name in self._taken or asked["begun"] != self._begun:
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
                error = ValueError(f"the leaf cannot be read, write it as in the journal ({shown(error)})")
            known = action if action in ACTIONS else "unknown"
            return Request(name, known, None, error=str(error))


def _names(event: Event) -> list[Any]:
    """The requests that an event records."""
    if event.kind == "steer":
        return [event.content["request"]]
    return [event.note["steer"]] if "steer" in event.note else []
