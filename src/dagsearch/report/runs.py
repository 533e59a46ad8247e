"""The runs that commands and pages show: which a database has, their short names, and who is at work."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from dagsearch.errors import StorageError
from dagsearch.storage.database import Database, Header
from dagsearch.storage.log import is_alive

# The name of a run that was given none.
_UNNAMED = "run"
# What databases answer if no search has used them yet.
_NO_TABLES = ("no such table: run", 'relation "run" does not exist')


def runs_in(database: Database, name: str | None = None, needed: bool = True) -> list[Header]:
    """The run with a name, or all runs of a database, the oldest first.

    Raises
    ------
    StorageError
        If this is not a database, or if it has no such run and one is ``needed``.
    """
    try:
        runs = [one for one in database.runs() if name is None or one.name == name]
    except StorageError as error:
        if not any(answer in str(error.__cause__) for answer in _NO_TABLES):
            raise
        runs = []
    if needed and not runs:
        raise StorageError(f"{database.where} has no run{'' if name is None else f' named {name!r}'}")
    return runs


def short_names(runs: Sequence[tuple[str, str]]) -> list[str]:
    """Short names of runs, each given by its database and its name there.

    The database's name will do for its only run, and the run's where all of them are in one database.
    """
    databases = Counter(database for database, _ in dict.fromkeys(runs))
    shorts = Counter(Path(database).name for database in databases)

    def named(database: str, run: str) -> str:
        short = Path(database).name if shorts[Path(database).name] == 1 else database
        if databases[database] == 1 and run == _UNNAMED:
            return short
        return run if databases[database] > 1 and len(databases) == 1 else f"{short}: {run}"

    return [named(*run) for run in runs]


def is_running(database: Database, run: str) -> bool:
    """Whether a process is at work on a run."""
    silence = database.silence(run)
    return any(is_alive(worker, silence) for worker in silence)


def worker_name(worker: str) -> str:
    """How a process is called: by its machine and its number."""
    machine, _, process = worker.rpartition(" ")[0].rpartition(" ")
    return f"{machine}, process {process}" if machine else worker
