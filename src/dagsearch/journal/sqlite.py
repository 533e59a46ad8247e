"""Journals in format 1, an SQLite database with a write-ahead log: they are read, and converted to continue.

The database is copied before SQLite opens it, because SQLite may change a file that it only reads from.
"""

import hashlib
import shutil
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

from dagsearch.errors import JournalError
from dagsearch.journal.lines import Content, content_of

# "dags": marks the database as a journal of dagsearch.
_APPLICATION = 0x64616773
_FORMAT = 1
_MAGIC = b"SQLite format 3\0"


def is_database(data: bytes) -> bool:
    """Whether a file that begins with ``data`` is an SQLite database."""
    return data.startswith(_MAGIC)


def read(path: Path) -> Content:
    """The events of a journal in format 1, as lines of the present format."""
    rows = _rows(path)
    before = ""
    for expected, (number, kind, at, content, digest) in enumerate(rows):
        if number != expected or digest != _digest(before, number, kind, at, content):
            raise JournalError(
                f"{path} was changed or damaged: event {expected} is not what was written. The file was not "
                "changed; restore an earlier copy of it"
            )
        before = digest
    if not rows:
        raise JournalError(
            f"{path} has no settings: its search never began, or {path.name}-wal, which belongs to it, is "
            "missing. Restore that file, or delete both and start again"
        )
    return content_of(path, [(kind, at, content) for _, kind, at, content, _ in rows])


def _digest(before: str, number: int, kind: str, at: float, content: str) -> str:
    return hashlib.sha256(f"{before}\n{number}\n{kind}\n{at!r}\n{content}".encode()).hexdigest()


def _rows(path: Path) -> list[Any]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "copy.db")
        shutil.copyfile(path, copy)
        log = Path(f"{path}-wal")
        if log.exists():
            shutil.copyfile(log, f"{copy}-wal")
        try:
            with closing(sqlite3.connect(copy)) as connection:
                return _selected(path, connection)
        except sqlite3.Error as error:
            raise JournalError(
                f"{path} is damaged, or not a journal ({error}); the file was not changed"
            ) from error


def _selected(path: Path, connection: sqlite3.Connection) -> list[Any]:
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    if not tables:
        return []
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != _APPLICATION:
        raise JournalError(f"{path} is not a journal of dagsearch: check the path")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version != _FORMAT:
        raise JournalError(f"{path} has format {version}: install the version of dagsearch that wrote it")
    return connection.execute(
        "SELECT number, kind, at, content, digest FROM event ORDER BY number"
    ).fetchall()


def check_not_in_use(path: Path) -> None:
    """Raise if an earlier version of dagsearch is writing to the database; it locked a file beside it."""
    lock_file = Path(f"{path}-lock")
    if not lock_file.exists():
        return
    try:
        with closing(sqlite3.connect(lock_file, isolation_level=None, timeout=0.0)) as connection:
            connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.Error as error:
        raise JournalError(
            f"{path} is in use by another search, of an earlier version of dagsearch ({error}): end that "
            "search first"
        ) from error
