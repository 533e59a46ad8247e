"""Journals as dagsearch 0.1.0 wrote them: SQLite databases with a write-ahead log."""

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing

from dagsearch.journal.journal import read_events

_SCHEMA = (
    "number INTEGER PRIMARY KEY, kind TEXT NOT NULL, at REAL NOT NULL, content TEXT NOT NULL, digest TEXT"
)


def as_database(journal, database, *, closed=True):
    """The events of a journal in a database. If it was not closed, most of it is in its log."""
    working = database.with_name("working.db")
    with closing(sqlite3.connect(working, isolation_level=None)) as connection:
        connection.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA application_id=0x64616773; PRAGMA user_version=1; "
            f"CREATE TABLE event ({_SCHEMA});"
        )
        before = ""
        for number, kind, at, content in read_events(journal):
            text = json.dumps(content)
            before = hashlib.sha256(f"{before}\n{number}\n{kind}\n{at!r}\n{text}".encode()).hexdigest()
            connection.execute("INSERT INTO event VALUES (?, ?, ?, ?, ?)", (number, kind, at, text, before))
        if not closed:
            shutil.copy(working, database)
            shutil.copy(f"{working}-wal", f"{database}-wal")
    if closed:
        shutil.copy(working, database)
    working.unlink()
    return database
