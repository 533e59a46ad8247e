"""``dagsearch select``: choose features of a table, compare, and write a report."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagsearch.cli.common import check_folder, failed, positive
from dagsearch.errors import DagSearchError

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands
    from dagsearch.cli.select.task import Outcome


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
            "interrupted; the results so far are still printed and written."
        ),
    )
    _add_question(select)
    _add_limits(select)
    _add_files(select)
    select.set_defaults(run=run)


def _add_question(select: argparse.ArgumentParser) -> None:
    """The table, the model, and which columns may be chosen."""
    select.add_argument("data", type=Path, metavar="DATA", help="table: .csv, .tsv or .parquet")
    select.add_argument("--target", required=True, metavar="COLUMN", help="column to predict")
    select.add_argument(
        "--k",
        type=_sizes,
        metavar="K",
        help="number of columns to choose, or a range such as 3-8 (default: half)",
    )
    select.add_argument(
        "--budget", type=positive, default=300, help="number of subsets to score (default: %(default)s)"
    )
    select.add_argument("--task", choices=("auto", "classification", "regression"), default="auto")
    select.add_argument(
        "--estimator",
        metavar="PATH",
        help=(
            "import path of an estimator class or object (default: logistic or ridge regression). For a "
            "class, columns are imputed, scaled and encoded first"
        ),
    )
    select.add_argument("--scoring", help="a scorer's name in scikit-learn (default: accuracy or r2)")
    select.add_argument("--cv", type=_folds, default=5, help="number of folds (default: %(default)s)")
    select.add_argument("--fixed", nargs="+", default=[], metavar="COLUMN", help="always chosen")
    select.add_argument("--forbidden", nargs="+", default=[], metavar="COLUMN", help="never chosen")
    select.add_argument(
        "--groups",
        nargs="+",
        default=[],
        metavar="A,B",
        help="columns that are chosen together and count as one",
    )


def _add_limits(select: argparse.ArgumentParser) -> None:
    """When to stop, which rows to hold out, and where to compute."""
    select.add_argument("--seconds", type=float, help="stop after this number of seconds")
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
    select.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="write result.json, history.csv and report.html to this folder",
    )
    select.add_argument("--quiet", action="store_true", help="show no progress bar")


def run(options: argparse.Namespace) -> int:
    """Select; returns the exit code."""
    from dagsearch.cli.select import task

    return _report(options, lambda: task.select(task.Request.of(options)))


def resume_selection(options: argparse.Namespace, noted: Mapping[str, Any]) -> int:
    """Continue a selection for ``dagsearch resume``; ``noted`` is the request in the journal."""
    from dagsearch.cli.select import task

    changed = noted if options.jobs is None else {**noted, "jobs": options.jobs}
    return _report(options, lambda: task.resume(options.journal, changed, options.budget))


def _report(options: argparse.Namespace, select: "Callable[[], Outcome]") -> int:
    """Select, then print and write the report."""
    from dagsearch.cli.select.summary import summary

    try:
        if options.out is not None:
            check_folder(options.out)
        outcome = select()
        written = [] if options.out is None else outcome.report.write(options.out)
    except (DagSearchError, ModuleNotFoundError, ValueError, OSError) as error:
        return failed(options.command, error)
    print(summary(outcome.report))
    if written:
        print("wrote", *written, sep="\n  ")
    return 130 if outcome.interrupted else 0


def _sizes(text: str) -> int | tuple[int, int]:
    least, dash, most = text.partition("-")
    if not dash:
        return positive(text)
    if positive(least) > positive(most):
        raise argparse.ArgumentTypeError(f"must be ascending, got {text!r}")
    return positive(least), positive(most)


def _folds(text: str) -> int:
    folds = positive(text)
    if folds < 2:
        raise argparse.ArgumentTypeError(f"must be at least 2, got {text!r}")
    return folds


def _part(text: str) -> float:
    try:
        part = float(text)
    except ValueError:
        part = -1.0
    if not 0.0 <= part < 1.0:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, got {text!r}")
    return part
