"""``python -m experiments truth``: how often what the library states is true."""

import argparse
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.commands.common import add_options, carry_out

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands

# What is measured, and the module that does it.
_MEASURED = {
    "search": "experiments.truth.search",
    "selection": "experiments.truth.selection",
}

_ABOUT = (
    "search: intervals of searches, on problems that nothing was fitted on (two minutes on 16 cores). "
    "selection: scores and probabilities of the feature selector on 14 real tables in "
    "packages from PyPI ('.[truth]'; ten minutes on one core)."
)


def add_parser(commands: "Commands") -> None:
    """Add ``truth``."""
    truth = commands.add_parser(
        "truth",
        help="measure how often what the library states is true",
        description="Run what docs/truth.md reports. Writes the measurements as compressed CSV and JSON.",
        epilog=_ABOUT,
    )
    truth.add_argument("name", choices=tuple(_MEASURED))
    add_options(truth, Path("results/truth"))
    truth.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Measure one quantity; returns the exit code."""
    module = import_module(_MEASURED[options.name])
    return carry_out(options, [], partial(module.run, jobs=options.jobs, quick=options.quick), module.summary)
