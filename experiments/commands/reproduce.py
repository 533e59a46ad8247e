"""``python -m experiments reproduce``: the experiments of the paper."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from experiments.commands.common import add_network_options, add_options, carry_out, request_of

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands


def add_parser(commands: "Commands") -> None:
    """Add ``reproduce``."""
    reproduce = commands.add_parser(
        "reproduce",
        help="run an experiment of the paper and draw its figure",
        description=(
            "Run an experiment of Grosse, Zhang and Hennig (2021). Writes the measurements as compressed "
            "CSV, the settings as JSON, and the figures as PNG and PDF."
        ),
        epilog=(
            "max: the maximum of three Gaussians. synthetic: section 4.1. tictactoe: section 4.2. mnist: "
            "section 4.3, needs PyTorch ('.[mnist]') unless --dataset digits. counts: every count "
            "in the text. moves: optimal moves of Tic-Tac-Toe beside OpenSpiel's ('.[games]'). correlated: "
            "the maximum of correlated children beside that of independent ones. steps: Tic-Tac-Toe with the "
            "Brownian step as printed. references: "
            "accuracies of known subsets of pixels by the network of --weights."
        ),
    )
    names = ("max", "synthetic", "tictactoe", "mnist", "counts", "moves", "correlated", "steps", "references")
    reproduce.add_argument("name", choices=names)
    add_options(reproduce, Path("results"))
    mnist = reproduce.add_argument_group("options of mnist")
    mnist.add_argument("--dataset", choices=("mnist", "digits"), help="(default: mnist)")
    add_network_options(mnist)
    mnist.add_argument(
        "--save-weights", type=Path, metavar="FILE", help="write the weights of the trained network (.npz)"
    )
    reproduce.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run one experiment; returns the exit code."""
    from experiments import paper

    dataset = options.dataset or "mnist"
    refused = [] if options.name == "mnist" else ["dataset"]
    if options.name == "references":
        refused += ["save_weights"]
    elif (options.name, dataset) != ("mnist", "mnist"):
        refused += ["data", "weights", "save_weights", "device"]
    return carry_out(
        options,
        refused,
        lambda: paper.run(options.name, request_of(options), dataset, options.save_weights),
        paper.summary,
    )
