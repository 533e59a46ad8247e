"""``dagsearch report``: a page about searches, from their runs."""

import argparse
from pathlib import Path

from dagsearch.cli.common import Commands, add_run

# How a page begins.
_BEGINNING = b"<!doctype html>"


def add_parser(commands: Commands) -> None:
    """Add ``report``."""
    report = commands.add_parser(
        "report",
        help="write a page about a stored search",
        description=(
            "Write one HTML file that shows a search of any kind: its progress and forecast, what each item "
            "or choice is worth, the best leaves, failures. Several runs are compared. The searches may "
            "still run."
        ),
    )
    add_run(report, several=True)
    report.add_argument("--out", type=Path, required=True, metavar="PAGE", help="HTML file to write")
    report.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Write the page."""
    from dagsearch.report.report import Report

    _check_replaceable(options.out)
    print(f"wrote {Report.of_runs(*options.storages, name=options.name).write(options.out)}")


def _check_replaceable(page: Path) -> None:
    """Raise ``OSError`` if the page would replace a file that is not an earlier page."""
    if not page.parent.is_dir():
        raise FileNotFoundError(f"--out: the folder {page.parent} does not exist; make it first")
    if not page.exists():
        return
    if page.is_dir() or not page.read_bytes().lower().startswith(_BEGINNING):
        raise FileExistsError(f"--out: {page} exists and is not a page; give another name")
