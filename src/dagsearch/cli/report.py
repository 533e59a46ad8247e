"""``dagsearch report``: a page about searches, from their journals."""

import argparse
from pathlib import Path

from dagsearch.cli.common import Commands, failed
from dagsearch.errors import JournalError


def add_parser(commands: Commands) -> None:
    """Add ``report``."""
    report = commands.add_parser(
        "report",
        help="write a page about a search from its journal",
        description=(
            "Write one HTML file that shows a search of any kind: its progress and forecast, what each item "
            "or choice is worth, the best leaves, failures. Several journals are compared. The searches may "
            "still run."
        ),
    )
    report.add_argument("journals", type=Path, nargs="+", metavar="JOURNAL", help="journal file of a search")
    report.add_argument("--out", type=Path, required=True, metavar="PAGE", help="HTML file to write")
    report.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the page; returns the exit code."""
    from dagsearch.report.report import Report

    try:
        path = Report.of_journals(*options.journals).write(options.out)
    except (JournalError, OSError) as error:
        return failed("report", error)
    print(f"wrote {path}")
    return 0
