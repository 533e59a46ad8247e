"""What it costs to store an event safely: the journal of dagsearch, and SQLite in several modes.

``python -m experiments.speed.journal`` prints microseconds of an event, and evaluations per second with and
without a journal. All ways are measured in turns, because the time of a disk varies; medians over the rounds.
"""

import json
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from dagsearch._internal.threads import one_thread
from dagsearch.journal.file import LockedFile
from dagsearch.journal.journal import Journal
from dagsearch.journal.recorder import JournalRecorder
from dagsearch.problems import Subsets
from dagsearch.search import Search

ROUNDS, EVENTS = 7, 300
CONTENT = {"text": "x" * 600}


def in_sqlite(path: Path, mode: str, checkpoint: bool = False) -> float:
    """Seconds of an event in a database that is safe against power cuts."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE event (number INTEGER PRIMARY KEY, content TEXT, digest TEXT)")
        began = time.perf_counter()
        for number in range(EVENTS):
            row = (number, CONTENT["text"], "d" * 64)
            connection.execute("INSERT INTO event VALUES (?, ?, ?)", row)
            if checkpoint:
                connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
        return (time.perf_counter() - began) / EVENTS


def bare(path: Path) -> float:
    """Seconds of writing as many bytes and waiting for the disk: what no way can avoid."""
    file = LockedFile(path, os.O_CREAT)
    data = f"{CONTENT}{'d' * 64}".encode()
    began = time.perf_counter()
    for _ in range(EVENTS):
        file.write(file.size, data)
        file.sync()
    seconds = (time.perf_counter() - began) / EVENTS
    file.close()
    return seconds


def in_journal(path: Path) -> float:
    """Seconds of an event of our journal."""
    problem = Subsets(6, 2, reward=sum)
    search = Search.paper(problem, seed=0, journal=path)
    journal: Journal = search.recorder.journal  # type: ignore[attr-defined]
    began = time.perf_counter()
    for _ in range(EVENTS):
        journal.append("note", {"note": CONTENT})
    seconds = (time.perf_counter() - began) / EVENTS
    search.close()
    return seconds


WAYS: dict[str, Callable[[Path], float]] = {
    "write and sync, nothing else": bare,
    "journal of dagsearch": in_journal,
    "SQLite, write-ahead log": partial(in_sqlite, mode="WAL"),
    "SQLite, write-ahead log, checkpoint after every event": partial(in_sqlite, mode="WAL", checkpoint=True),
    "SQLite, rollback journal, PERSIST": partial(in_sqlite, mode="PERSIST"),
    "SQLite, rollback journal, TRUNCATE": partial(in_sqlite, mode="TRUNCATE"),
    "SQLite, rollback journal, DELETE": partial(in_sqlite, mode="DELETE"),
}
SEARCHES: dict[str, tuple[Callable[..., Search], int]] = {
    "paper": (Search.paper, 400),
    "default": (Search.default, 150),
}


class SQLiteJournal:
    """Stores the events of a search in a write-ahead log: for comparison, it cannot be resumed."""

    broken = False

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = sqlite3.connect(path, isolation_level=None)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("CREATE TABLE event (number INTEGER PRIMARY KEY, kind TEXT, content TEXT)")

    def append(self, kind: str, content: dict[str, Any]) -> None:
        """Store an event in a transaction of its own."""
        row = kind, json.dumps(content, separators=(",", ":"))
        self._connection.execute("INSERT INTO event (kind, content) VALUES (?, ?)", row)

    def abandon(self, error: BaseException) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        """End."""
        self._connection.close()


def rate(make: Callable[..., Search], evaluations: int, journal: Path | None, sqlite: bool = False) -> float:
    """Evaluations per second, the reward almost free; ``sqlite`` for events in a write-ahead log."""
    weights = np.random.default_rng(0).normal(size=20)
    search = make(
        Subsets(20, 5, lambda s: float(weights[sorted(s)].sum())), seed=0, journal=None if sqlite else journal
    )
    if sqlite and journal is not None:
        search.record_with(JournalRecorder(cast(Journal, SQLiteJournal(journal)), search))
    search.run(20)
    began = time.perf_counter()
    search.run(evaluations)
    seconds = time.perf_counter() - began
    search.close()
    return evaluations / seconds


def main() -> None:
    """Measure and print."""
    took: dict[str, list[float]] = {way: [] for way in WAYS}
    rates: dict[str, list[tuple[float, float, float]]] = {name: [] for name in SEARCHES}
    with one_thread():
        for number in range(ROUNDS):
            with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
                for way, measure in WAYS.items():
                    took[way].append(measure(Path(folder, f"{len(way)}.db")))
                for name, (make, evaluations) in SEARCHES.items():
                    journal = Path(folder, f"{name}{number}.db")
                    log = journal.with_suffix(".sqlite")
                    without, kept = rate(make, evaluations, None), rate(make, evaluations, journal)
                    rates[name].append((without, kept, rate(make, evaluations, log, sqlite=True)))
    for way, seconds in took.items():
        print(f"{way:54s} {1e6 * statistics.median(seconds):6.0f} µs an event")
    for name, found in rates.items():
        without, kept, log = (statistics.median(column) for column in zip(*found, strict=True))
        print(
            f"{name}: {without:.0f} evaluations a second without a journal, {kept:.0f} with one, {log:.0f} "
            "with SQLite's write-ahead log"
        )


if __name__ == "__main__":
    main()
