"""``dagsearch report`` and ``dagsearch watch``: a page about stored searches, frozen or live."""

import argparse
from pathlib import Path

from dagsearch.cli.common import Commands, add_run


def add_parser(commands: Commands) -> None:
    """Add ``watch`` and ``report``."""
    watch = commands.add_parser(
        "watch",
        help="show a running search on a live local page",
        description=(
            "Serve a page that shows searches while they run, from storage alone; several runs are compared. "
            "Only this machine can reach it, at the printed address. The searches are not disturbed: nothing "
            "is locked, and only requests are written. Needs pip install 'dagsearch[watch]'."
        ),
    )
    add_run(watch, several=True)
    watch.add_argument(
        "--steer",
        action="store_true",
        help="let the page pause and stop the search, change its budget, and propose a leaf to evaluate next",
    )
    watch.add_argument("--port", type=int, default=0, help="port of the page (default: any that is free)")
    watch.set_defaults(run=run_watch)
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
    report.set_defaults(run=run_report)


def _page(text: str) -> Path:
    if Path(text).suffix != ".html":  # it may be a database, which would be overwritten
        raise argparse.ArgumentTypeError(f"must be a name that ends in .html, got {text!r}")
    return Path(text)


def run_report(options: argparse.Namespace) -> None:
    """Write the page."""
    from dagsearch.report.report import Report

    print(f"wrote {Report.of_runs(*options.storages, name=options.name).write(options.out)}")


def run_watch(options: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C."""
    from dagsearch.report.report import Watched
    from dagsearch.report.server import serve

    watched = Watched(options.storages, options.name, options.steer)
    watched.views()  # or an error, before the address is announced
    serve(watched, options.port, options.steer, lambda address: print(address, flush=True))
