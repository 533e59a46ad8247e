"""The whole sweep."""

import argparse
import sys
from functools import partial
from pathlib import Path

from experiments.commands.common import carry_out
from tests.durable.crashes import run, summary


def main() -> int:
    """Try every crash, and write the figures; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.durable.crashes")
    parser.add_argument("--quick", action="store_true", help="some of the points of two kinds of search")
    parser.add_argument("--out", type=Path, default=Path("results/crashes"), metavar="DIR")
    parser.set_defaults(command="crashes")
    options = parser.parse_args()
    return carry_out(options, (), partial(run, quick=options.quick), summary)


if __name__ == "__main__":
    sys.exit(main())
