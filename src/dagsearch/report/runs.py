"""The runs that commands and pages show: which a database has, their short names, and who is at work."""

from collections.abc import Sequence
from pathlib import Path

from dagsearch.errors import StorageError
from dagsearch.storage.database import Database, Header

# The default name of a run.
_UNNAMED = "run"


def runs_in(database: Database, name: str | None = None) -> list[Header]:
    """The run with a name, or all runs of a database, the oldest first; ``StorageError`` if there is none."""
    runs = [one for one in database.runs() if name is None or one.name == name]
    if not runs:
        raise StorageError(f"{database.where} has no run{'' if name is None else f' named {name!r}'}")
    return runs


def short_names(runs: Sequence[tuple[str, str]]) -> list[str]:
    """Names of runs, each given by its database and its name there; with folders if databases differ."""
    several = len({database for database, _ in runs}) > 1
    files = [database if several else Path(database).name for database, _ in runs]
    return [file if run == _UNNAMED else f"{file}: {run}" for file, (_, run) in zip(files, runs, strict=True)]


def worker_name(worker: str) -> str:
    """The name of a process: its machine and its number."""
    machine, _, process = worker.rpartition(" ")[0].rpartition(" ")
    return f"{machine}, process {process}" if machine else worker
