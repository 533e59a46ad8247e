"""A durable record of a search: one committed row per event, in an SQLite file.

The file holds what happened (``docs/durability.md`` says what each event holds), as JSON; nothing in it is
executable. Every row carries a digest of itself and all rows before it.
"""

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from dagsearch.errors import DagSearchError

# "dags": marks the file as a journal of dagsearch.
_APPLICATION = 0x64616773
_FORMAT = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS event (
    number INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    at REAL NOT NULL,
    content TEXT NOT NULL,
    digest TEXT NOT NULL
)
"""


class JournalError(DagSearchError, RuntimeError):
    """A journal cannot be made, read, continued or written to."""


class Event(NamedTuple):
    """A row of a journal."""

    number: int
    """Number of the event, from 0 without gaps."""
    kind: str
    """Kind of the event, such as ``"tell"``."""
    at: float
    """Time of the event in seconds since 1970."""
    content: dict[str, Any]
    """Details of the event."""


def _digest(before: str, number: int, kind: str, at: float, content: str) -> str:
    return hashlib.sha256(f"{before}\n{number}\n{kind}\n{at!r}\n{content}".encode()).hexdigest()


class Journal:
    """A journal that is open for writing; it cannot be opened for writing a second time.

    :meth:`create` starts a new journal, :meth:`resume` continues an existing one.
    """

    def __init__(self, path: Path, lock: sqlite3.Connection, connection: sqlite3.Connection) -> None:
        self.path = path
        self._lock, self._connection = lock, connection
        self._next, self._last_digest = 0, ""
        self._failure: str | None = None

    @classmethod
    def create(cls, path: str | PathLike[str], settings: dict[str, Any]) -> "Journal":
        """A new journal whose first event is ``settings``."""
        path = Path(path)
        if has_begun(path):
            raise JournalError(f"{path} exists already: resume it, or choose another file name")
        if not path.parent.is_dir():
            raise JournalError(f"the folder {path.parent} does not exist; make it first")
        lock = _locked(path)
        journal = cls(path, lock, _connected(path))
        try:
            # FULL survives a power cut, not only the end of the process; a lost evaluation costs more.
            journal._connection.executescript(
                f"PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA application_id={_APPLICATION}; "
                f"PRAGMA user_version={_FORMAT};"
            )
            journal._connection.execute(_SCHEMA)
            journal.append("settings", settings)
        except (sqlite3.Error, JournalError) as error:
            journal.close()
            raise JournalError(f"cannot begin the journal {path} ({error})") from error
        return journal

    @classmethod
    def resume(cls, path: str | PathLike[str]) -> tuple["Journal", list[Event]]:
        """A journal that exists, and all its events."""
        path = Path(path)
        read_events(path)  # refuse a bad file before anything is changed
        lock = _locked(path)
        journal = cls(path, lock, _connected(path))
        try:
            journal._connection.execute("PRAGMA synchronous=FULL")
            events, journal._last_digest = _checked_events(path, journal._connection)
        except BaseException:
            journal.close()
            raise
        journal._next = len(events)
        return journal, events

    def append(self, kind: str, content: dict[str, Any]) -> None:
        """Commit an event. If that fails, this journal accepts no further event."""
        if self._failure is not None:
            raise JournalError(self._failure)
        try:
            text = json.dumps(content, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError) as error:
            self._fail(kind, content, error)
        at = time.time()
        digest = _digest(self._last_digest, self._next, kind, at, text)
        try:
            self._connection.execute(
                "INSERT INTO event VALUES (?, ?, ?, ?, ?)", (self._next, kind, at, text, digest)
            )
        except sqlite3.Error as error:
            self._fail(kind, content, error)
        self._next, self._last_digest = self._next + 1, digest

    def abandon(self, error: BaseException) -> None:
        """Accept no further event, because the search and the file may differ after ``error``."""
        if self._failure is None:
            self._failure = (
                f"the search was stopped half way ({type(error).__name__}: {error}) and may differ from its "
                f"journal {self.path}. The journal is correct: its {self._next} events are safe. "
                "Resume from the file"
            )

    def _fail(self, kind: str, content: dict[str, Any], error: Exception) -> NoReturn:
        lost = f"the next event ({kind}) was not written"
        if kind == "tell":
            reward = f"the reward {content['reward']!r} of {content['leaf']}"
            lost = f"{reward} was not written: tell it after resuming"
        self._failure = (
            f"cannot write to the journal {self.path} ({error}). The first {self._next} events are safe in "
            f"the file; {lost}. Make the disk writable again, then resume the search from the file"
        )
        raise JournalError(self._failure) from error

    @property
    def broken(self) -> bool:
        """Whether an event could not be written."""
        return self._failure is not None

    def close(self) -> None:
        """Release the file, so that another search can resume it."""
        for connection in (self._connection, self._lock):
            with suppress(sqlite3.Error):
                connection.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a search that keeps a journal cannot be copied or pickled: resume it from its file")


def read_events(path: str | PathLike[str]) -> list[Event]:
    """All events of a journal, even while a search is writing to it; the file is not changed."""
    path = Path(path)
    if not path.is_file():
        raise JournalError(f"there is no journal {path}: check the path")
    try:
        connection = _reading(path)
    except sqlite3.Error as error:
        raise JournalError(f"cannot open {path} ({error})") from error
    with closing(connection):
        return _checked_events(path, connection)[0]


def _reading(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)


def _checked_events(path: Path, connection: sqlite3.Connection) -> tuple[list[Event], str]:
    """All events and the last digest, after all checks of the file."""
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if application != _APPLICATION:
            raise JournalError(f"{path} is not a journal of dagsearch: check the path")
        if version != _FORMAT:
            raise JournalError(
                f"{path} has format {version}, but this version of dagsearch reads format {_FORMAT}: "
                "install the version that wrote it"
            )
        rows = connection.execute(
            "SELECT number, kind, at, content, digest FROM event ORDER BY number"
        ).fetchall()
    except sqlite3.Error as error:
        raise JournalError(
            f"{path} is damaged, or not a journal ({error}); the file was not changed"
        ) from error
    events = list(_verified(path, rows))
    if not events or events[0].kind != "settings":
        raise JournalError(f"{path} has no settings: its search never began. Delete the file and start again")
    return events, rows[-1][4]


def _verified(path: Path, rows: list[Any]) -> Iterator[Event]:
    before = ""
    for expected, (number, kind, at, content, digest) in enumerate(rows):
        if number != expected or digest != _digest(before, number, kind, at, content):
            raise JournalError(
                f"{path} was changed or damaged: event {expected} is not what was written. The file was not "
                "changed; restore an earlier copy of it"
            )
        before = digest
        yield Event(number, kind, at, json.loads(content))


def has_begun(path: str | PathLike[str]) -> bool:
    """Whether the file exists and has content; a search that ends early may leave an empty journal."""
    path = Path(path)
    if not path.exists():
        return False
    try:
        with closing(_reading(path)) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
            if tables == ["event"]:
                tables = connection.execute("SELECT number FROM event LIMIT 1").fetchall()
            return len(tables) > 0
    except sqlite3.Error:
        return True  # not a journal: must not be overwritten


def is_in_use(path: str | PathLike[str]) -> bool:
    """Whether a search has the journal open for writing."""
    if not Path(f"{os.fspath(path)}-lock").exists():
        return False
    try:
        _locked(Path(path)).close()
    except JournalError:
        return True
    return False


def _connected(path: Path) -> sqlite3.Connection:
    try:
        # Without an isolation level, every statement is its own transaction.
        return sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)
    except sqlite3.Error as error:
        raise JournalError(f"cannot open {path} ({error})") from error


def _locked(path: Path) -> sqlite3.Connection:
    """A lock that is released when the process ends, even if it is killed.

    The lock is a transaction on a second file next to the journal, so that readers of the journal need not
    wait.
    """
    lock_file = Path(f"{path}-lock")
    try:
        lock = sqlite3.connect(lock_file, isolation_level=None, check_same_thread=False, timeout=0.0)
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        if "locked" not in str(error):
            raise JournalError(
                f"cannot write the lock file {lock_file} ({error}): make its folder writable"
            ) from error
        raise JournalError(
            f"{path} is in use by another search, in this process ({os.getpid()}) or another one: end that "
            "search or close() it first. 'dagsearch show' can read the journal meanwhile"
        ) from error
    return lock
