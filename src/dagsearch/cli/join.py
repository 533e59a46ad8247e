"""``dagsearch join``: evaluate leaves for a run of another process."""

import argparse
from pathlib import Path

from dagsearch.cli.common import Commands, failed, seconds
from dagsearch.cli.resume import PROBLEM, imported_problem
from dagsearch.errors import DagSearchError
from dagsearch.journal.joining import join


def add_parser(commands: Commands) -> None:
    """Add ``join``."""
    parser = commands.add_parser(
        "join",
        help="evaluate leaves for a run of another process",
        description=(
            "Take part in a run that was started with a journal and join=True, from another shell, or from "
            "another machine that sees the same folder. It ends with the run. It may be killed at any time: "
            "nothing that it has finished is lost."
        ),
    )
    parser.add_argument("journal", type=Path, metavar="JOURNAL", help="journal file of the run")
    parser.add_argument(
        "--problem",
        required=True,
        metavar="MODULE:NAME",
        help=PROBLEM,
    )
    parser.add_argument(
        "--patience",
        type=seconds,
        default=600.0,
        help="seconds to wait for a run to begin, or to be continued (default: %(default)g)",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Evaluate until the run is over; returns the exit code."""
    try:
        done = join(options.journal, imported_problem(options.problem), patience=options.patience)
    except (DagSearchError, ValueError, OSError) as error:
        return failed("join", error)
    print(f"{done} evaluations for {options.journal}")
    return 0
