"""``dagsearch select``: choose features of a table, compare, and write a report."""

import argparse
import sys
from pathlib import Path
from typing import Any

from dagsearch.cli.common import Commands, add_name, add_seed, positive


def add_parser(commands: Commands) -> None:
    """Add ``select``."""
    select = commands.add_parser(
        "select",
        help="choose the columns of a table from which an estimator predicts best",
        usage="dagsearch select DATA --target COLUMN [OPTION ...]",
        description=(
            "Choose the columns of a table from which an estimator best predicts the target, by "
            "cross-validation. Prints the chosen columns and compares their score with no columns, all "
            "columns, and the best columns by a univariate test, also on hold-out rows."
        ),
        epilog=(
            "Exit code 0: done, 1: bad input, 2: bad usage, 130: interrupted; the results so far are still "
            "printed and written. With --storage, the same command continues an interrupted run."
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
    add("--keep", **columns, help="may be chosen even if they look like identifiers, dates or free text")
    add(
        "--estimator",
        metavar="NAME",
        help=(
            "a scikit-learn estimator such as 'SVC' or 'SVC(C=3)', or the import path of an "
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
        default="5",
        metavar="FOLDS",
        help="number of folds, or module:object of a splitter (default: %(default)s)",
    )
    either = select.add_mutually_exclusive_group().add_argument
    either(
        "--group-column", metavar="COLUMN", help="keep rows with the same value, such as a patient, together"
    )
    either("--time-column", metavar="COLUMN", help="predict later rows from earlier ones, hold out the last")
    add("--weight-column", metavar="COLUMN", help="weights of the rows")
    add(
        "--holdout",
        type=float,
        default=0.25,
        help="fraction of the rows to hold out; 0 for none (default: %(default)s)",
    )
    add("--jobs", type=positive, help="number of subsets to score at once (default: 1)")
    add_seed(select)
    where = "store every evaluation in this file or at postgresql://…, or continue the run there"
    add("--storage", metavar="RUN", help=where)
    add_name(select)
    add(
        "--out",
        type=Path,
        metavar="DIR",
        help="write result.json, history.csv and report.html to this folder",
    )
    select.set_defaults(run=run)


def _sizes(text: str) -> int | tuple[int, int] | str:
    if text == "auto":
        return text
    least, dash, most = text.partition("-")
    if not (least.strip().isdecimal() and (most.strip().isdecimal() or not dash)):
        raise argparse.ArgumentTypeError(
            f"must be a number such as 5, a range such as 3-8, or auto, got {text!r}"
        )
    if not dash:
        return positive(text)
    if positive(least) > positive(most):
        raise argparse.ArgumentTypeError(f"must be ascending, got {text!r}")
    return positive(least), positive(most)


def run(options: argparse.Namespace) -> int:
    """Select, print the result, and write the report; returns the exit code."""
    from dagsearch.cli.select.summary import summary
    from dagsearch.cli.select.task import select

    if options.out is not None:
        options.out.mkdir(parents=True, exist_ok=True)
    report, interrupted = select(options)
    try:
        written = [] if options.out is None else report.write(options.out)
    finally:  # the result is printed even if it cannot be written
        print(summary(report))
    if written:
        print("", "wrote", *(f"  {path}" for path in written), sep="\n")
    if interrupted:
        again = "run the same command again" if options.storage else "use --storage RUN next time"
        print(f"interrupted; {again} to continue", file=sys.stderr)
        return 130  # the shell's code after Ctrl-C
    return 0
