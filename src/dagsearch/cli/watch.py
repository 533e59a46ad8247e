"""``dagsearch watch``: a live page about searches, from their runs."""

import argparse
import errno
import os
import sys
import time
from contextlib import closing

from dagsearch.cli.common import Commands, add_run, failed, printable
from dagsearch.errors import StorageError

# Bytes of the smallest SQLite database; what has fewer looks empty to SQLite.
_SMALLEST = 512
# Seconds between two looks for a run that does not exist yet.
_GLANCE = 0.25


def add_parser(commands: Commands) -> None:
    """Add ``watch``."""
    watch = commands.add_parser(
        "watch",
        help="show a running search on a live local page",
        description=(
            "Serve a page that shows searches while they run, from storage alone; several runs are compared. "
            "Only this machine can reach it, by the address that is printed. The searches are not disturbed: "
            "nothing is locked, and only requests are written. A run that does not exist yet is waited for. "
            "Needs pip install 'dagsearch[watch]'."
        ),
    )
    add_run(watch, several=True)
    watch.add_argument(
        "--steer",
        action="store_true",
        help="let the page pause and stop the search, change its budget, and propose a leaf to evaluate next",
    )
    watch.add_argument("--port", type=_port, default=0, help="port of the page (default: any that is free)")
    watch.set_defaults(run=run)


def _port(text: str) -> int:
    if not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 65535, got {text!r}")
    return int(text)


def run(options: argparse.Namespace) -> int:
    """Serve the page until Ctrl-C; returns the exit code."""
    try:
        from dagsearch.report.report import Watched
        from dagsearch.report.server import serve
    except ModuleNotFoundError as error:
        missing = ModuleNotFoundError(f"{error.name} is missing: pip install 'dagsearch[watch]'")
        return failed("watch", missing)
    try:
        for storage in options.storages:
            _wait_for(storage, options.name)
        watched = Watched(options.storages, options.name, options.steer)
        serve(watched, options.port, options.steer, lambda address: print(address, flush=True))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return failed("watch", error)
        taken = f"--port: {options.port} is in use; give another one, or none for any that is free"
        return failed("watch", ValueError(taken))
    except StorageError as error:
        return failed("watch", error)
    return 0


def _wait_for(storage: str, name: str | None) -> None:
    """Wait until a search has begun the run; raises ``StorageError`` if the file is something else."""
    told = False
    while not _has_begun(storage, name):
        if not told:
            path = printable(storage)
            print(f"waiting for {path}, which no search has begun yet; Ctrl-C ends this", file=sys.stderr)
            told = True
        time.sleep(_GLANCE)


def _has_begun(storage: str, name: str | None) -> bool:
    from dagsearch.report.runs import runs_in
    from dagsearch.storage.database import database_of

    is_file = "://" not in storage
    if is_file and not os.path.lexists(storage):
        return False
    with closing(database_of(storage)) as database:
        found = runs_in(database, name, needed=False)
    if is_file and 0 < os.path.getsize(storage) < _SMALLEST:
        raise StorageError(f"{storage} is not a database of dagsearch")
    return bool(found)
