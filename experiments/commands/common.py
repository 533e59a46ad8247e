"""What ``reproduce`` and ``benchmark`` share."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dagsearch.cli.common import check_folder, positive, printable

if TYPE_CHECKING:
    from experiments.harness.runner import Outcome, Request


def add_options(command: argparse.ArgumentParser, out: Path) -> None:
    """Add the options of every experiment; results go to ``out`` by default."""
    command.add_argument("--quick", action="store_true", help="run a small version, which takes seconds")
    command.add_argument(
        "--out", type=Path, default=out, metavar="DIR", help="folder to write to (default: %(default)s)"
    )
    command.add_argument(
        "--jobs",
        type=positive,
        default=os.cpu_count() or 1,
        help="number of processes (default: one per core)",
    )


def add_network_options(group: "argparse._ArgumentGroup") -> None:
    """Add the options of the experiments with a network on MNIST."""
    group.add_argument("--data", type=Path, metavar="DIR", help="folder with the four MNIST files")
    group.add_argument("--weights", type=Path, metavar="FILE", help="weights of a trained network (.npz)")
    group.add_argument("--device", choices=("cuda", "cpu"), help="(default: cpu)")


def request_of(options: argparse.Namespace) -> "Request":
    """What the options ask for."""
    from experiments.harness.runner import Request

    return Request(
        quick=options.quick,
        jobs=options.jobs,
        data=options.data,
        weights=options.weights,
        device=options.device or "cpu",
    )


def failed(command: str, error: Exception) -> int:
    """Print the error; returns the exit code for bad input."""
    lines = "\n".join(map(printable, str(error).splitlines()))
    print(f"python -m experiments {command}: error:", lines, file=sys.stderr)
    return 1


def carry_out(
    options: argparse.Namespace,
    refused: Sequence[str],
    run: "Callable[[], Outcome]",
    summary: "Callable[[Outcome], str]",
) -> int:
    """Run an experiment, write and sum up its outcome; returns the exit code.

    Options in ``refused`` have no meaning for this experiment and must not be given.
    """
    from experiments.harness.runner import ExperimentError

    try:
        for name in refused:
            if getattr(options, name):
                raise ValueError(f"{options.name} does not accept --{name.replace('_', '-')}: leave it out")
        check_folder(options.out)
        outcome = run()
        written = outcome.write(options.out)
    except (ExperimentError, ModuleNotFoundError, ValueError, OSError) as error:
        return failed(options.command, error)
    print(summary(outcome))
    print("wrote", *written, sep="\n  ")
    return 0
