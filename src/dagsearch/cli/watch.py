"""``dagsearch watch``: a live page about searches, from their runs."""

import argparse

from dagsearch.cli.common import Commands, add_run


def add_parser(commands: Commands) -> None:
    """Add ``watch``."""
    watch = commands.add_parser(
        "watch",
        help="show a running search on a live local page",
        description=(
            "Serve a page that shows searches while they run, from storage alone; several runs are compared. "
            "Only this machine can reach it, by the address that is printed. The searches are not disturbed: "
            "nothing is locked, and only requests are written. Needs pip install 'dagsearch[watch]'."
        ),
    )
    add_run(watch, several=True)
    watch.add_argument(
        "--steer",
        action="store_true",
        help="let the page pause and stop the search, change its budget, and propose a leaf to evaluate next",
    )
    watch.add_argument("--port", type=int, default=0, help="port of the page (default: any that is free)")
    watch.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C."""
    from dagsearch.report.report import Watched
    from dagsearch.report.server import serve

    watched = Watched(options.storages, options.name, options.steer)
    watched.views()  # or an error, before the address is announced
    serve(watched, options.port, options.steer, lambda address: print(address, flush=True))
