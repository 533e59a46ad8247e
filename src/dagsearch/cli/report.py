"""``dagsearch report``: a page about searches, from their journals."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from dagsearch.cli.common import Commands, failed
from dagsearch.errors import StorageError

# How a page begins.
_BEGINNING = b"<!doctype html>"


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
    report.add_argument("--force", action="store_true", help="replace a file that is not such a page")
    report.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the page; returns the exit code."""
    from dagsearch.report.report import Report

    try:
        _check_replaceable(options.out, options.journals, options.force)
        path = Report.of_journals(*options.journals).write(options.out)
    except (StorageError, OSError) as error:
        return failed("report", error)
    print(f"wrote {path}")
    return 0


def _check_replaceable(page: Path, journals: Sequence[Path], force: bool) -> None:
    """Raise ``OSError`` if the page would replace a journal, or a file that is not an earlier page."""
    if not page.parent.is_dir():
        raise FileNotFoundError(f"--out: the folder {page.parent} does not exist; make it first")
    if page.is_dir():
        raise IsADirectoryError(f"--out: {page} is a folder; name a file in it, such as {page / 'page.html'}")
    if not page.exists():
        return
    if any(journal.exists() and page.samefile(journal) for journal in journals):
        raise FileExistsError(f"--out: {page} is the journal itself; give the page another name")
    with page.open("rb") as file:
        is_page = file.read(len(_BEGINNING)).lower() == _BEGINNING
    if not is_page and not force:
        raise FileExistsError(f"--out: {page} exists and is not a page; give another name, or --force")
