"""``dagsearch report``: a page about searches, from their runs."""

import argparse
from pathlib import Path

from dagsearch.cli.common import Commands, add_run, failed
from dagsearch.errors import StorageError

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


def run(options: argparse.Namespace) -> int:
    """Write the page; returns the exit code."""
    from dagsearch.report.report import Report

    try:
        _check_replaceable(options.out)
        path = Report.of_runs(*options.storages, name=options.name).write(options.out)
    except (StorageError, OSError) as error:
        return failed("report", error)
    print(f"wrote {path}")
    return 0


def _check_replaceable(page: Path) -> None:
    """Raise ``OSError`` if the page would replace a file that is not an earlier page."""
    if not page.parent.is_dir():
        raise FileNotFoundError(f"--out: the folder {page.parent} does not exist; make it first")
    if page.is_dir():
        raise IsADirectoryError(f"--out: {page} is a folder; name a file in it, such as {page / 'page.html'}")
    if not page.exists():
        return
    with page.open("rb") as file:
        is_page = file.read(len(_BEGINNING)).lower() == _BEGINNING
    if not is_page:
        raise FileExistsError(f"--out: {page} exists and is not a page; give another name")
