"""``dagsearch select``: choose features of a table, compare, and write a report."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from dagsearch.cli.common import Commands, add_seed, add_storage, positive

_FILES = ("result.json", "history.csv", "report.html")


def add_parser(commands: Commands) -> None:
    """Add ``select``."""
    select = commands.add_parser(
        "select",
        help="choose the columns of a table from which an estimator predicts best",
        usage="dagsearch select DATA --target COLUMN [OPTION ...]",
        description=(
            "Choose the columns of a table from which an estimator predicts the target best, by "
            "cross-validation. Prints the chosen columns and compares their score with that of no columns, "
            "all columns, the best columns by a univariate test, and forward selection if the budget covers "
            "it, also on held-out rows."
        ),
        epilog=(
            "Exit code 0: done. 1: bad input, 2: bad usage, with a message on standard error. 130: "
            "interrupted; the results so far are still printed and written. With --storage, the same command "
            "continues a run that was interrupted."
        ),
    )
    add = select.add_argument
    add("data", metavar="DATA", help="a .csv, .csv.gz, .tsv, .xlsx or .parquet file; - for standard input")
    add("--target", required=True, metavar="COLUMN", help="column to predict")
    add(
        "--k",
        type=_sizes,
        default="auto",
        help="number of columns to choose, a range such as 3-8, or auto for up to 20 (default: auto)",
    )
    add("--budget", type=positive, default=100, help="number of subsets to score (default: %(default)s)")
    columns: dict[str, Any] = {"nargs": "+", "default": [], "metavar": "COLUMN"}
    add("--fixed", **columns, help="always chosen")
    add("--forbidden", **columns, help="never chosen")
    add("--keep", **columns, help="may be chosen although they look like identifiers, dates or free text")
    add(
        "--estimator",
        metavar="NAME",
        help=(
            "a scikit-learn estimator, also with parameters, such as 'SVC(C=3)', or the import path of an "
            "estimator class or object (default: logistic or ridge regression). For a class, columns are "
            "imputed, scaled and encoded first"
        ),
    )
    add(
        "--scoring",
        help=(
            "a scorer's name in scikit-learn (default: r2 or accuracy; roc_auc or balanced_accuracy if most "
            "rows belong to one class)"
        ),
    )
    add(
        "--cv",
        type=_folds,
        default=5,
        metavar="FOLDS",
        help="number of folds, or module:object of a splitter (default: %(default)s)",
    )
    add("--group-column", metavar="COLUMN", help="rows with the same value, such as a patient, stay together")
    add(
        "--time-column", metavar="COLUMN", help="predict later rows from earlier ones; hold out the last rows"
    )
    add("--weight-column", metavar="COLUMN", help="weights of the rows")
    add(
        "--holdout",
        type=_share,
        default=0.25,
        help="fraction of the rows to hold out; 0 for none (default: %(default)s)",
    )
    add("--jobs", type=positive, help="number of subsets to score at once (default: 1)")
    add_seed(select)
    add_storage(select)
    add("--out", type=Path, metavar="DIR", help=f"write {', '.join(_FILES)} to this folder")
    select.set_defaults(run=run)


def _sizes(text: str) -> int | tuple[int, int] | str:
    if text == "auto":
        return text
    least, dash, most = text.partition("-")
    if not dash:
        return positive(text)
    if positive(least) > positive(most):
        raise argparse.ArgumentTypeError(f"must be ascending, got {text!r}")
    return positive(least), positive(most)


def _folds(text: str) -> int | str:
    if ":" in text or "." in text:  # the import path of a splitter
        return text
    if positive(text) < 2:
        raise argparse.ArgumentTypeError(f"must be at least 2, got {text!r}")
    return positive(text)


def _share(text: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = -1.0
    if not 0.0 <= share < 1.0:
        raise argparse.ArgumentTypeError(f"must be at least 0 and less than 1, got {text!r}")
    return share


def run(options: argparse.Namespace) -> int:
    """Select, print what was found, and write the report; returns the exit code."""
    from dagsearch.cli.select.summary import summary
    from dagsearch.cli.select.task import select

    if options.out is not None:
        _check_replaceable(options.out)
    try:
        report, interrupted = select(options)
    except KeyboardInterrupt:
        return _interrupted(options)
    try:
        written = [] if options.out is None else report.write(options.out)
    finally:  # what was found is printed even if it cannot be written
        print(summary(report))
    if written:
        print("", "wrote", *(f"  {path}" for path in written), sep="\n")
    return _interrupted(options) if interrupted else 0


def _check_replaceable(folder: Path) -> None:
    """Create the folder; raise ``OSError`` if it is not writable or has such files of another origin."""
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(f"--out: no files can be written to the folder {folder}")
    there = [name for name in _FILES if (folder / name).exists()]
    try:
        ours = not there or "dagsearch" in json.loads((folder / _FILES[0]).read_bytes())
    except (OSError, ValueError):
        ours = False
    if not ours:
        raise FileExistsError(f"--out: {folder / there[0]} is not of an earlier report; give another folder")


def _interrupted(options: argparse.Namespace) -> int:
    """Say how to continue; returns the exit code."""
    advice = "run the same command again to continue"
    if options.storage is None:
        advice = "with --storage RUN, an interrupted selection can be continued"
    print(f"interrupted; {advice}", file=sys.stderr)
    return 130  # the shell's code for a process that Ctrl-C ended
