"""``dagsearch select``: choose features of a table, compare, and write a report."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagsearch.cli.common import check_output, failed
from dagsearch.cli.select.options import Request, add_options
from dagsearch.errors import DagSearchError

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands

FILES = ("result.json", "history.csv", "report.html")
"""Files that ``--out`` writes."""


def add_parser(commands: "Commands") -> None:
    """Add ``select``."""
    select = commands.add_parser(
        "select",
        help="choose the features of a table with which an estimator predicts best",
        description=(
            "Choose K columns of a table from which an estimator predicts the target best, scoring subsets "
            "by cross-validation. Prints the chosen columns and compares their score with that of all "
            "columns, of the columns that are best one by one, and of forward selection if the budget "
            "covers it, also on held-out rows."
        ),
        epilog=(
            "Exit code 0: done. 1: bad input, 2: bad usage, with a message on standard error. 130: "
            "interrupted; the results so far are still printed and written, and a stored run can be resumed."
        ),
    )
    add_options(select)
    add_output(select)
    select.set_defaults(run=run)


def add_output(parser: "argparse.ArgumentParser | argparse._ArgumentGroup") -> None:
    """Add the options of the files that are written."""
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help=f"write {', '.join(FILES[:2])} and {FILES[2]} to this folder"
    )
    parser.add_argument("--force", action="store_true", help="replace files that exist in the folder")


def run(options: argparse.Namespace) -> int:
    """Select; returns the exit code."""
    return _run(options, Request.of(options))


def resume_selection(options: argparse.Namespace, noted: Mapping[str, Any]) -> int:
    """Continue a selection for ``dagsearch resume``; ``noted`` is the request in the stored run."""
    from dagsearch.cli.select.resumed import request_in

    return _run(options, request_in(noted, options))


def _run(options: argparse.Namespace, request: Request) -> int:
    """Select, print what was found, and write the report."""
    try:
        import dagsearch.sklearn  # noqa: F401 says what to install where scikit-learn is missing
        from dagsearch.cli.select import task
        from dagsearch.cli.select.summary import summary

        if options.out is not None:
            check_output(options.out, FILES, options.force)
        outcome = task.select(request)
    except KeyboardInterrupt:
        return _interrupted(request, options.out)
    except (DagSearchError, ModuleNotFoundError, ValueError, OSError) as error:
        return failed(options.command, error)
    code = 0
    written: list[Path] = []
    try:
        written = [] if options.out is None else outcome.report.write(options.out)
    except OSError as error:  # what was found is printed all the same
        code = failed(options.command, error)
    print(summary(outcome.report, outcome.notes, announced=request.progress))
    if written:
        print("", "wrote", *(f"  {path}" for path in written), sep="\n")
    return _interrupted(request, options.out) if outcome.interrupted else code


def _interrupted(request: Request, out: Path | None) -> int:
    """Say how to go on; returns the exit code."""
    from dagsearch.cli.select.resumed import resume_command

    if request.storage is None:
        advice = "with --storage RUN an interrupted selection can be resumed"
    else:
        advice = f"resume with: {resume_command(request, out)}"
        if str(request.data) == "-":
            advice += ", with the same table on standard input"
    print(f"interrupted; {advice}", file=sys.stderr)
    return 130  # the shell's code for a process that Ctrl-C ended
