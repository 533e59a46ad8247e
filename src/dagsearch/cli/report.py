"""``dagsearch report``: a page about searches, from their runs."""

import argparse
from pathlib import Path

from dagsearch.cli.common import Commands, add_run


def add_parser(commands: Commands) -> None:
    """Add ``report``."""
    report = commands.add_parser(
        "report",
        help="write a page about a stored search",
        description=(
            "Write one HTML file that shows a search of any kind: its progress and forecast, the "
            "importance of items and choices, the best leaves, failures. Several runs are compared. They may "
            "be running."
        ),
    )
    add_run(report, several=True)
    report.add_argument("--out", type=_page, required=True, metavar="PAGE", help="HTML file to write")
    report.set_defaults(run=run)


def _page(text: str) -> Path:
    if Path(text).suffix != ".html":  # such as a database, which would be lost
        raise argparse.ArgumentTypeError(f"must be a name that ends in .html, got {text!r}")
    return Path(text)


def run(options: argparse.Namespace) -> None:
    """Write the page."""
    from dagsearch.report.report import Report

    print(f"wrote {Report.of_runs(*options.storages, name=options.name).write(options.out)}")
