"""``dagsearch watch``: a live page about searches, from their journals."""

import argparse
import errno
import os
import sys
import time
from pathlib import Path

from dagsearch.cli.common import Commands, failed, printable
from dagsearch.errors import StorageError
from dagsearch.journal.journal import check_is_journal, has_begun

# How much the page's server lowers its priority, so that a search on the same cores is not slower.
_NICE = 10
# Seconds between two looks for a journal that does not exist yet.
_GLANCE = 0.25


def add_parser(commands: Commands) -> None:
    """Add ``watch``."""
    watch = commands.add_parser(
        "watch",
        help="show a running search on a live local page",
        description=(
            "Serve a page that shows searches while they run, from their journals alone; several are "
            "compared. Only this machine can reach it, by the address that is printed. The searches are not "
            "disturbed: the journals are neither locked nor written. A journal that does not exist yet is "
            "waited for. Needs pip install 'dagsearch[watch]'."
        ),
    )
    watch.add_argument("journals", type=Path, nargs="+", metavar="JOURNAL", help="journal file of a search")
    watch.add_argument(
        "--steer",
        action="store_true",
        help=(
            "let the page pause and stop the search, change its budget, forget an evaluation, propose a leaf "
            "and tell a reward. The search must have been started with --steer, or steer=True in Python; "
            "requests are written to JOURNAL-steer"
        ),
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
    if hasattr(os, "nice"):  # not on Windows
        os.nice(_NICE)
    try:
        for journal in options.journals:
            _wait_for(journal)
        watched = Watched(options.journals, options.steer)
        serve(watched, options.port, options.steer, lambda address: print(address, flush=True))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            return failed("watch", error)
        taken = f"--port: {options.port} is in use; give another one, or none for any that is free"
        return failed("watch", ValueError(taken))
    except StorageError as error:
        return failed("watch", error)
    return 0


def _wait_for(journal: Path) -> None:
    """Wait until a search has begun the journal; raises ``StorageError`` if the file is something else."""
    told = False
    while not has_begun(journal):
        if not told:
            path = printable(str(journal))
            print(f"waiting for {path}, which no search has begun yet; Ctrl-C ends this", file=sys.stderr)
            told = True
        time.sleep(_GLANCE)
    check_is_journal(journal)
