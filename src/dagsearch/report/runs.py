"""The runs that commands and pages show: which a database has, their short names, and who is at work."""

from collections.abc import Sequence
from pathlib import Path

from dagsearch.errors import StorageError
from dagsearch.storage.database import Database, Header
from dagsearch.storage.log import at_work

# The default name of a run.
_UNNAMED = "run"


def runs_in(database: Database, name: str | None = None) -> list[Header]:
    """The run with a name, or all runs of a database, the oldest first; ``StorageError`` if there is none."""
    runs = [one for one in database.runs() if name is None or one.name == name]
    if not runs:
        raise StorageError(f"{database.where} has no run{'' if name is None else f' named {name!r}'}")
    return runs


def short_names(runs: Sequence[tuple[str, str]]) -> list[str]:
    """Names of runs, each given by its database and its name there; with folders where two would be equal."""

    def named(database: str, run: str) -> str:
        return database if run == _UNNAMED else f"{database}: {run}"

    names = [named(Path(database).name, run) for database, run in runs]
    return [name if names.count(name) == 1 else named(*run) for name, run in zip(names, runs, strict=True)]


def is_running(database: Database, run: str) -> bool:
    """Whether a process is at work on a run."""
    return bool(at_work(database, run))


def worker_name(worker: str) -> str:
    """The name of a process: its machine and its number."""
    machine, _, process = worker.rpartition(" ")[0].rpartition(" ")
    return f"{machine}, process {process}" if machine else worker
