"""``dagsearch watch``: a live page about searches, from their runs."""

import argparse
import os
import sys
import time
from contextlib import closing

from dagsearch.cli.common import Commands, add_run, printable

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


def run(options: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C."""
    from dagsearch.report.report import Watched
    from dagsearch.report.server import serve

    for storage in options.storages:
        if not _has_begun(storage, options.name):
            path = printable(storage)
            print(f"waiting for {path}, which no search has begun yet; Ctrl-C ends this", file=sys.stderr)
        while not _has_begun(storage, options.name):
            time.sleep(_GLANCE)
    watched = Watched(options.storages, options.name, options.steer)
    serve(watched, options.port, options.steer, lambda address: print(address, flush=True))


def _has_begun(storage: str, name: str | None) -> bool:
    """Whether there is such a run; raises ``StorageError`` if the file is something else."""
    from dagsearch.report.runs import runs_in
    from dagsearch.storage.database import database_of

    if "://" not in storage and not os.path.lexists(storage):
        return False
    with closing(database_of(storage)) as database:
        return bool(runs_in(database, name, needed=False))
