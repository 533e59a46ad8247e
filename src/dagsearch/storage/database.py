"""Runs in a database: two tables that are only appended to, and one with the processes at work.

Event numbers have no gaps. A ``claim`` is unique within a run: if two processes claim the same thing,
such as the next proposal, the database refuses one of them. A transaction is one short write; none is open
while a model computes or an evaluation runs. Rows are read as JSON and never executed, and their checksums
detect damage.
"""

import hashlib
import json
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from dagsearch._internal.texts import described, shown
from dagsearch.errors import StorageError

# Seconds that a statement waits for other processes.
_BUSY = 20.0
# Number of events read at a time.
_CHUNK = 2_000
# Network file systems, on which SQLite does not lock reliably.
_NETWORK = frozenset(
    ["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "gpfs", "beegfs", "fuse.sshfs"]
)
# What the settings of a run must have.
_SETTINGS = {"made_by", "arguments", "parts", "leaves", "seed"}

_TABLES = (
    """CREATE TABLE IF NOT EXISTS run (
        name TEXT PRIMARY KEY, created DOUBLE PRECISION NOT NULL, version TEXT NOT NULL,
        problem TEXT NOT NULL, settings TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS event (
        run TEXT NOT NULL, number INTEGER NOT NULL, time DOUBLE PRECISION NOT NULL, worker TEXT NOT NULL,
        kind TEXT NOT NULL, body TEXT NOT NULL, claim TEXT, checksum TEXT NOT NULL,
        PRIMARY KEY (run, number), UNIQUE (run, claim))""",
    """CREATE TABLE IF NOT EXISTS worker (
        run TEXT NOT NULL, name TEXT NOT NULL, beat DOUBLE PRECISION NOT NULL, PRIMARY KEY (run, name))""",
)


class Event(NamedTuple):
    """Something that happened in a run.

    ``number`` counts from 1 without gaps, ``time`` is in seconds since 1970, ``worker`` is the process that
    wrote it, and ``body`` has types that JSON has. No other event of the run has the same ``claim``.
    """

    number: int
    time: float
    worker: str
    kind: str
    body: dict[str, Any]
    claim: str | None = None

    @property
    def note(self) -> Mapping[str, Any]:
        """The event's note if it is a mapping, otherwise an empty one."""
        note = self.body.get("note")
        return note if isinstance(note, dict) else {}

    def row(self, run: str) -> tuple[Any, ...]:
        """The event as it is stored, with its checksum; raises ``ValueError`` if JSON has no such body."""
        body = json.dumps(self.body, separators=(",", ":"), allow_nan=False)
        row = run, *self[:4], body, self.claim
        return *row, _checksum(row)


class Header(NamedTuple):
    """A run: ``created`` at a time in seconds since 1970, the problem's fingerprint, how it is searched."""

    name: str
    created: float
    version: str
    problem: dict[str, Any]
    settings: dict[str, Any]

    def digest(self) -> str:
        """A checksum of all but name and time; raises ``ValueError`` if the settings have another one."""
        settings = {name: value for name, value in self.settings.items() if name != "digest"}
        found = _checksum((self.version, self.problem, settings))
        if not settings.keys() >= _SETTINGS or self.settings.get("digest", found) != found:
            raise ValueError("the settings were changed")
        return found


def database_of(storage: str | PathLike[str], write: bool = False) -> "Database":
    """The database at a path (SQLite) or at ``postgresql://…``; it is made if it is to be written to."""
    where = os.fspath(storage) if isinstance(storage, str | PathLike) else ""
    if where.startswith(("postgresql://", "postgres://")):
        return PostgreSQL(where, write)
    if where in ("", ":memory:") or "\0" in where or "://" in where:
        raise StorageError(f"storage must be the path of a file or postgresql://…, got {shown(storage)}")
    return SQLite(Path(where), write)


class Database:
    """A connection that is opened when needed; every thread needs its own.

    ``where`` names it in messages; ``write`` says whether tables are made.
    """

    is_on_network = False
    """Whether the file is on another machine, so that only one process may use it."""
    _begin, _mark = "BEGIN", "?"  # what begins a transaction, and what stands for a value in a statement
    _errors: tuple[type[Exception], ...] = ()
    tries = 4  # of a statement outside a transaction

    def __init__(self, where: str, write: bool) -> None:
        self.where, self._is_writing = where, False
        self._connection: Any = None
        if write:
            with self._writing():
                for table in _TABLES:
                    self._execute(table)

    def _connect(self) -> Any:
        raise NotImplementedError

    def _enter(self, run: str) -> None:
        """Called at the start of a transaction, which no other writer of the run may be in."""
        raise NotImplementedError

    def _now(self) -> float:
        """Seconds since 1970, by a clock that all processes of a run share."""
        return time.time()

    def _execute(self, statement: str, *values: Any, tried: int = 1) -> list[tuple[Any, ...]]:
        """The rows of a statement; if it fails outside a transaction, it is repeated on a new connection."""
        try:
            if self._connection is None:
                self._connection = self._connect()
            cursor = self._connection.execute(statement.replace("?", self._mark), values)
            return list(cursor.fetchall()) if cursor.description else []
        except self._errors as error:
            self.close()
            if self._is_writing or tried >= self.tries:
                raise StorageError(f"{self.where}: {' '.join(str(error).split())}") from error
        time.sleep(0.1 * tried)
        return self._execute(statement, *values, tried=tried + 1)

    @contextmanager
    def _writing(self, run: str = "") -> Iterator[None]:
        """Within this context a transaction is open: everything is written, or nothing."""
        try:
            self._execute(self._begin)
            self._is_writing = True
            self._enter(run)
            yield
            self._execute("COMMIT")
        except BaseException:
            self.close()  # which undoes what was written
            raise
        finally:
            self._is_writing = False

    def close(self) -> None:
        """Close the connection; it is opened again if it is needed."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*self._errors):
                connection.close()

    # Runs --------------------------------------------------------------------------------------------

    def runs(self) -> list[Header]:
        """All runs, the oldest first."""
        found = list[Header]()
        for row in self._execute("SELECT * FROM run ORDER BY created, name"):
            try:
                found.append(Header(row[0], row[1], row[2], *map(json.loads, row[3:])))
                found[-1].digest()
            except (AttributeError, TypeError, ValueError) as error:
                raise StorageError(f"{self.where} is damaged: run {row[0]!r} was changed") from error
        return found

    def run(self, name: str | None = None) -> Header:
        """The run with a name, or the only one; raises :class:`StorageError` if there is none."""
        if (found := self.find(name)) is None:
            raise StorageError(f"{self.where} has no run{'' if name is None else f' named {name!r}'}")
        return found

    def find(self, name: str | None = None) -> Header | None:
        """The run with a name, or the only one; ``None`` if there is none."""
        runs = self.runs()
        if name is None and len(runs) > 1:
            names = ", ".join(repr(one.name) for one in runs[:10])
            raise StorageError(f"{self.where} has several runs: give the name of one of them ({names})")
        return next((one for one in runs if name is None or one.name == name), None)

    def begin(self, name: str | None, header: Header, events: Iterable[Event] | None = None) -> Header:
        """Begin a run, unless there is one with this name; without a name, unless there is any.

        ``events`` are those of an imported run, which must not exist yet.
        """
        if name is not None and not (isinstance(name, str) and name.isprintable() and name):
            raise StorageError(f"name must be text that can be printed, got {shown(name)}")
        with self._writing():
            found = self.find(name)
            if found is not None and events is not None:
                raise StorageError(f"{self.where} has a run named {found.name!r} already: give another name")
            if found is None:
                found = header._replace(name=name or "run", created=header.created or self._now())
                texts = json.dumps(header.problem), json.dumps({"digest": header.digest(), **header.settings})
                self._execute("INSERT INTO run VALUES (?, ?, ?, ?, ?)", *found[:3], *texts)
                for event in events or ():
                    self._insert(found.name, event)
        return found

    # Events ------------------------------------------------------------------------------------------

    def append(
        self, run: str, worker: str, kind: str, body: dict[str, Any], claim: str | None = None
    ) -> int | None:
        """Store an event; returns its number, or ``None`` if another event has the same claim."""
        with self._writing(run):
            ((last,),) = self._execute("SELECT max(number) FROM event WHERE run = ?", run)
            event = Event((last or 0) + 1, self._now(), worker, kind, body, claim)
            return event.number if self._insert(run, event) else None

    def _insert(self, run: str, event: Event) -> bool:
        """Whether an event was written, because no other has its claim."""
        unless = "ON CONFLICT (run, claim) DO NOTHING RETURNING number"
        return bool(
            self._execute(f"INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, ?) {unless}", *event.row(run))
        )

    def events(self, run: str, after: int = 0) -> Iterator[Event]:
        """The events after a number, in order; raises :class:`StorageError` at the first damaged one."""
        select = "SELECT * FROM event WHERE run = ? AND number > ? ORDER BY number LIMIT ?"
        while True:
            rows = self._execute(select, run, after, _CHUNK)
            for *row, checksum in rows:
                after += 1
                if row[1] != after or _checksum(row) != checksum:
                    raise StorageError(f"{self.where} is damaged: event {after} of run {run!r} was changed")
                _, number, at, worker, kind, body, claim = row
                yield Event(number, at, worker, kind, json.loads(body), claim)
            if len(rows) < _CHUNK:
                return

    # Processes at work -------------------------------------------------------------------------------

    def beat(self, run: str, worker: str) -> None:
        """Record a heartbeat, with one statement that does not wait for those of other processes."""
        new = "INSERT INTO worker VALUES (?, ?, ?)"
        insert = f"{new} ON CONFLICT (run, name) DO UPDATE SET beat = excluded.beat"
        self._execute(insert, run, worker, self._now())

    def leave(self, run: str, worker: str) -> None:
        """Record that a process has left."""
        self._execute("DELETE FROM worker WHERE run = ? AND name = ?", run, worker)

    def beating(self, run: str, within: float) -> list[str]:
        """The processes with a heartbeat in the last seconds."""
        since = self._now() - within
        rows = self._execute("SELECT name FROM worker WHERE run = ? AND beat >= ?", run, since)
        return [name for (name,) in rows]


def _checksum(row: Sequence[Any]) -> str:
    return hashlib.sha256(json.dumps(row, default=repr).encode()).hexdigest()[:32]


class SQLite(Database):
    """A file, for the processes of one machine."""

    _begin = "BEGIN IMMEDIATE"
    _errors = (sqlite3.Error,)

    def __init__(self, path: Path, write: bool) -> None:
        self._path, self._makes = path.absolute(), write  # a reward may change the working directory
        if not (self._path.parent.is_dir() if write else self._path.is_file()):
            what = f"folder {path.parent}" if write else f"file {path}"
            raise StorageError(f"there is no {what}: check the path")
        super().__init__(str(path), write)

    def _connect(self) -> Any:
        connection = sqlite3.connect(self._path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
        try:
            tables = {*connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if not {("run",), ("event",), ("worker",)} <= tables and (tables or not self._makes):
                raise StorageError(f"{self.where} is not a database of dagsearch; it was not changed")
            # Readers and the writer do not wait for each other.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            self._file = self._path.stat().st_ino
        except BaseException:
            connection.close()
            raise
        return connection

    def _enter(self, run: str) -> None:
        if not self._path.exists() or self._path.stat().st_ino != self._file:
            raise StorageError(f"{self.where}: the file was deleted or replaced while it was in use")

    @property
    def is_on_network(self) -> bool:  # type: ignore[override]
        """Whether the file is on another machine, as far as the system says so."""
        with suppress(OSError):
            mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
            kinds = {Path(folder.encode().decode("unicode_escape")): kind for folder, kind in mounts}
            return next(kinds[one] for one in self._path.resolve().parents if one in kinds) in _NETWORK
        return False


class PostgreSQL(Database):
    """A server, for several machines."""

    _mark, tries = "%s", 20  # within 19 seconds a server may be started again

    def __init__(self, url: str, write: bool) -> None:
        try:
            import psycopg
        except ModuleNotFoundError as error:
            raise StorageError("PostgreSQL needs psycopg: pip install 'dagsearch[postgres]'") from error
        self._url, self._errors = url, (psycopg.Error,)
        try:
            known = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error:  # whose text may hold a password
            raise StorageError("storage must be like postgresql://user@host/database") from None
        super().__init__(f"postgresql://{known.get('host', '')}/{known.get('dbname', '')}", write)

    def _connect(self) -> Any:
        import psycopg

        return psycopg.connect(self._url, autocommit=True, connect_timeout=int(_BUSY))

    def _enter(self, run: str) -> None:
        # One writer of a run at a time, and new tables are made once. The lock ends with the transaction.
        self._execute("SELECT pg_advisory_xact_lock(hashtext(?))", f"dagsearch {run}")

    def _now(self) -> float:
        return float(self._execute("SELECT extract(epoch FROM clock_timestamp())")[0][0])


# Export and import --------------------------------------------------------------------------------------


def exported(database: Database, header: Header) -> Iterator[str]:
    """A run, one line for its header and one for each event; every event is checked."""
    yield json.dumps({"run": header._asdict()})
    for event in database.events(header.name):
        yield json.dumps(event._asdict())


def imported(
    storage: str | PathLike[str], lines: Iterable[str], name: str | None = None
) -> tuple[Header, int, str]:
    """Store exported lines as a new run, under the exported name or under ``name``.

    Returns the run, its number of events, and the name of its database. Nothing is written, and no database
    created, unless all lines are well-formed.
    """
    try:
        rows = [json.loads(line) for line in lines if line.strip()]
        header, events = Header(**rows[0]["run"]), [Event(**row) for row in rows[1:]]
        header.digest()
        for event in events:
            event.row(header.name)
        if any(event.number != number for number, event in enumerate(events, start=1)):
            raise ValueError("events are missing, or in another order")
    except (AttributeError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise StorageError(f"this is not an exported run ({described(error)})") from error
    with closing(database_of(storage, write=True)) as database:
        header = database.begin(header.name if name is None else name, header, events)
    return header, len(events), database.where
