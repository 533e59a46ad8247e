"""The long campaign; ``--page docs/durability.md`` fills that page from what ``--out`` has instead."""

import argparse
import sys
from functools import partial
from pathlib import Path

from dagsearch.cli.common import positive, seconds
from experiments.commands.common import add_options, carry_out
from tests.durable.attacks import OPERATIONS, QUICK, report, run, summary


def main() -> int:
    """Attack searches, and add the figures to those of earlier runs; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.durable.attacks", description=__doc__)
    add_options(parser, Path("results/attacks"))
    parser.add_argument("--operations", type=positive, metavar="N", help=f"(default: {OPERATIONS:,})")
    parser.add_argument(
        "--seconds", type=seconds, metavar="S", help="begin no further sequence of operations after S seconds"
    )
    parser.add_argument(
        "--seed", type=positive, help="the first seed (default: the first one that --out does not have)"
    )
    parser.add_argument("--only", nargs="+", metavar="KIND", help="only these kinds of search, such as noisy")
    parser.add_argument("--page", type=Path, help="fill the tables of this page, and attack nothing")
    parser.set_defaults(command="attacks")
    options = parser.parse_args()
    if options.page is not None:
        options.page.write_text(report.filled(options.page.read_text(), options.out))
        return 0
    attack = partial(
        run,
        operations=options.operations or (QUICK if options.quick else OPERATIONS),
        seconds=options.seconds,
        jobs=options.jobs,
        seed=options.seed,
        kinds=options.only or (),
        out=options.out,
    )
    return carry_out(options, (), attack, summary)


if __name__ == "__main__":  # workers may import it, too
    sys.exit(main())
