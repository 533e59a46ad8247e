"""``dagsearch backup``: copy a journal, even while its search runs."""

import argparse
from pathlib import Path

from dagsearch.cli.common import Commands, failed, printable
from dagsearch.journal.journal import StorageError, backup_journal


def add_parser(commands: Commands) -> None:
    """Add ``backup``."""
    backup = commands.add_parser(
        "backup",
        help="copy the journal of a search, even while it runs",
        description=(
            "Check a journal and copy it to a new file, even while its search runs. The search is not "
            "disturbed, and the copy can be resumed like the journal itself."
        ),
    )
    backup.add_argument("journal", type=Path, metavar="JOURNAL", help="journal file of a search")
    backup.add_argument("copy", type=Path, metavar="COPY", help="new file")
    backup.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Copy the journal; returns the exit code."""
    try:
        events = backup_journal(options.journal, options.copy)
    except StorageError as error:
        return failed("backup", error)
    print(f"copied {events} events to {printable(str(options.copy))}")
    return 0
