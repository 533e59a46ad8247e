"""``dagsearch select``: choose features of a table, compare, and write a report."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagsearch._internal.defaults import BUDGET
from dagsearch.cli.common import check_output, failed, positive, seconds
from dagsearch.errors import DagSearchError

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands
    from dagsearch.cli.select.task import Request

FILES = ("result.json", "history.csv", "report.html")
"""What ``--out`` gets."""


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
            "interrupted; the results so far are still printed and written, and a journal can be resumed."
        ),
    )
    _add_question(select)
    _add_model(select)
    _add_table(select)
    _add_limits(select)
    _add_files(select)
    select.set_defaults(run=run)


def _add_question(select: argparse.ArgumentParser) -> None:
    """The table, the target, and which columns may be chosen."""
    select.add_argument(
        "data",
        type=Path,
        metavar="DATA",
        help="table: .csv, .tsv, .xlsx or .parquet, .gz for compressed text; - for standard input",
    )
    select.add_argument("--target", required=True, metavar="COLUMN", help="column to predict")
    select.add_argument(
        "--k",
        type=_sizes,
        metavar="K",
        help=(
            "number of columns to choose, a range such as 3-8, or auto for the smallest number within one "
            "standard error of the best score (default: half)"
        ),
    )
    select.add_argument(
        "--budget", type=positive, default=BUDGET, help="number of subsets to score (default: %(default)s)"
    )
    select.add_argument("--fixed", nargs="+", default=[], metavar="COLUMN", help="always chosen")
    select.add_argument("--forbidden", nargs="+", default=[], metavar="COLUMN", help="never chosen")
    select.add_argument(
        "--groups",
        nargs="+",
        default=[],
        metavar="A,B",
        help="columns that are chosen together and count as one",
    )
    select.add_argument(
        "--keep",
        nargs="+",
        default=[],
        metavar="COLUMN",
        help="may be chosen although they look like identifiers, dates or free text",
    )


def _add_model(select: argparse.ArgumentParser) -> None:
    """The estimator, its score and the folds."""
    select.add_argument("--task", choices=("auto", "classification", "regression"), default="auto")
    select.add_argument(
        "--positive", metavar="CLASS", help="the class that counts as positive, of two (default: told)"
    )
    select.add_argument(
        "--estimator",
        metavar="NAME",
        help=(
            "name of a scikit-learn estimator, or import path of an estimator class or object (default: "
            "logistic or ridge regression). For a class, columns are imputed, scaled and encoded first"
        ),
    )
    select.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="parameters of the estimator, such as n_estimators=300",
    )
    select.add_argument("--scoring", help="a scorer's name in scikit-learn (default: accuracy or r2)")
    select.add_argument(
        "--cv",
        type=folds,
        default=5,
        metavar="FOLDS",
        help="number of folds, or module:object of a splitter (default: %(default)s)",
    )
    select.add_argument(
        "--group-column",
        metavar="COLUMN",
        help="rows with the same value are never split up, such as a patient's",
    )
    select.add_argument(
        "--time-column",
        metavar="COLUMN",
        help="predict later rows from earlier ones; the last rows are held out",
    )
    select.add_argument("--weight-column", metavar="COLUMN", help="weights of the rows")


def _add_table(select: argparse.ArgumentParser) -> None:
    """How a text file is written; found out by default."""
    table = select.add_argument_group("how the table is written, if it is not found out")
    table.add_argument("--sep", type=_separator, metavar="TEXT", help="what separates columns, such as ';'")
    table.add_argument("--decimal", choices=(".", ","), help="decimal mark")
    table.add_argument("--encoding", metavar="NAME", help="encoding, such as latin-1")


def _add_limits(select: argparse.ArgumentParser) -> None:
    """When to stop, which rows to hold out, and where to compute."""
    select.add_argument("--seconds", type=seconds, help="stop after this number of seconds")
    select.add_argument(
        "--patience", type=positive, help="stop after this number of subsets without a better one"
    )
    select.add_argument(
        "--holdout",
        type=_part,
        default=0.25,
        help="fraction of the rows to hold out; 0 for none (default: %(default)s)",
    )
    select.add_argument(
        "--honest",
        action="store_true",
        help=(
            "also estimate the score on new rows by nested cross-validation: the whole selection is "
            "repeated inside every fold, which takes as many times as long"
        ),
    )
    where = select.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=positive, help="number of subsets to score at once (default: 1)")
    where.add_argument(
        "--cluster",
        metavar="ADDRESS",
        help="score on the workers of a Dask scheduler, such as tcp://host:8786",
    )


def _add_files(select: argparse.ArgumentParser) -> None:
    """What is written, and the seed."""
    select.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help="write every scored subset to this file, or continue from it if it exists",
    )
    select.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    add_output(select)
    select.add_argument("--quiet", action="store_true", help="print only the result: no progress")


def add_output(parser: "argparse.ArgumentParser | argparse._ArgumentGroup") -> None:
    """Add the options of the files that are written."""
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help=f"write {', '.join(FILES[:2])} and {FILES[2]} to this folder"
    )
    parser.add_argument("--force", action="store_true", help="replace files that exist in the folder")


def run(options: argparse.Namespace) -> int:
    """Select; returns the exit code."""
    from dagsearch.cli.select.task import Request

    return _run(options, Request.of(options))


def resume_selection(options: argparse.Namespace, noted: Mapping[str, Any]) -> int:
    """Continue a selection for ``dagsearch resume``; ``noted`` is the request in the journal."""
    from dagsearch.cli.select.resumed import request_in

    return _run(options, request_in(options.journal, noted, options))


def _run(options: argparse.Namespace, request: "Request") -> int:
    """Select, print what was found, and write the report."""
    from dagsearch.cli.select import task
    from dagsearch.cli.select.summary import summary

    try:
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


def _interrupted(request: "Request", out: Path | None) -> int:
    """Say how to go on; returns the exit code."""
    from dagsearch.cli.select.resumed import resume_command

    if request.journal is None:
        advice = "with --journal FILE an interrupted selection can be resumed"
    else:
        advice = f"resume with: {resume_command(request, out)}"
        if str(request.data) == "-":
            advice += ", with the same table on standard input"
    print(f"interrupted; {advice}", file=sys.stderr)
    return 130  # the shell's code for a process that Ctrl-C ended


def _sizes(text: str) -> int | tuple[int, int] | str:
    if text == "auto":
        return text
    least, dash, most = text.partition("-")
    if not dash:
        return positive(text)
    if positive(least) > positive(most):
        raise argparse.ArgumentTypeError(f"must be ascending, got {text!r}")
    return positive(least), positive(most)


def folds(text: str) -> int | str:
    """A number of folds, or the import path of a splitter."""
    if ":" in text or "." in text:
        return text
    number = positive(text)
    if number < 2:
        raise argparse.ArgumentTypeError(f"must be at least 2, got {text!r}")
    return number


def _separator(text: str) -> str:
    return {"\\t": "\t", "tab": "\t"}.get(text, text)


def _part(text: str) -> float:
    try:
        part = float(text)
    except ValueError:
        part = -1.0
    if not 0.0 <= part < 1.0:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, got {text!r}")
    return part
