"""The command line."""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from dagsearch import __version__

if TYPE_CHECKING:
    from dagsearch.experiments.runner import Outcome


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``dagsearch``; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130  # as the shell has it for a process that Ctrl-C ended


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dagsearch",
        description="Find the best sequence of discrete choices when looking at one outcome is expensive.",
        epilog="Run 'dagsearch COMMAND --help' for a command's options.",
    )
    parser.add_argument("--version", action="version", version=f"dagsearch {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    _add_demo(commands)
    _add_reproduce(commands)
    _add_benchmark(commands)
    return parser


def _add_demo(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    demo = commands.add_parser(
        "demo",
        help="choose the 10 of 64 pixels that tell handwritten digits apart best",
        description=(
            "Choose the 10 of the 64 pixels of scikit-learn's digits from which linear discriminant "
            "analysis tells the digits best, and compare with as many random subsets. Writes a picture. "
            "Takes under a minute; Ctrl-C stops early with the best so far."
        ),
    )
    demo.add_argument(
        "--budget", type=_positive, default=300, help="subsets to evaluate (default: %(default)s)"
    )
    demo.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    demo.add_argument(
        "--out",
        type=_writable,
        default=Path("dagsearch-demo.png"),
        metavar="FILE",
        help="where to write the picture (default: %(default)s)",
    )
    demo.set_defaults(run=_run_demo)


def _add_reproduce(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    reproduce = commands.add_parser(
        "reproduce",
        help="run an experiment of the paper and draw its figure",
        description=(
            "Run an experiment of Grosse, Zhang and Hennig (2021). Writes the measurements as CSV, the "
            "settings as JSON, and the figures as PNG and PDF."
        ),
        epilog=(
            "max: the maximum of three Gaussians. synthetic: section 4.1. tictactoe: section 4.2. mnist: "
            "section 4.3, needs PyTorch ('dagsearch[mnist]') unless --dataset digits. counts: every count "
            "in the text."
        ),
    )
    reproduce.add_argument("name", choices=("max", "synthetic", "tictactoe", "mnist", "counts"))
    _add_experiment_options(reproduce, Path("results"))
    mnist = reproduce.add_argument_group("options of mnist")
    mnist.add_argument("--dataset", choices=("mnist", "digits"), help="(default: mnist)")
    mnist.add_argument("--data", type=Path, metavar="DIR", help="folder with the four MNIST files")
    mnist.add_argument("--weights", type=Path, metavar="FILE", help="use a trained network (.npz)")
    mnist.add_argument("--save-weights", type=Path, metavar="FILE", help="keep the trained network (.npz)")
    mnist.add_argument("--device", choices=("cuda", "cpu"), help="(default: cpu)")
    reproduce.set_defaults(run=_run_reproduce)


def _add_experiment_options(command: argparse.ArgumentParser, out: Path) -> None:
    command.add_argument("--quick", action="store_true", help="a small version, in seconds")
    command.add_argument("--out", type=Path, default=out, metavar="DIR", help="(default: %(default)s)")
    command.add_argument(
        "--jobs", type=_positive, default=os.cpu_count() or 1, help="processes (default: one per core)"
    )


def _add_benchmark(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    benchmark = commands.add_parser(
        "benchmark",
        help="compare dagsearch with the paper's method, with other packages and with parts of itself",
        description=(
            "Run what docs/beyond.md reports. Writes the measurements as CSV, the settings as JSON, and the "
            "figures as PNG and PDF."
        ),
        epilog=(
            "synthetic: 15 choose 5. digits: 10 of 64 pixels, with the peers of 'dagsearch[benchmark]' "
            "(about 25 minutes on two cores, 5 without peers). mnist: 10 of 784 pixels, needs PyTorch "
            "('dagsearch[mnist]'). tictactoe: against a perfect opponent. calibration: does the belief over "
            "the best reward hold the truth as often as it says?"
        ),
    )
    benchmark.add_argument("name", choices=("synthetic", "digits", "mnist", "tictactoe", "calibration"))
    _add_experiment_options(benchmark, Path("results/beyond"))
    benchmark.add_argument("--no-peers", action="store_true", help="digits: other packages are left out")
    mnist = benchmark.add_argument_group("options of mnist")
    mnist.add_argument("--data", type=Path, metavar="DIR", help="folder with the four MNIST files")
    mnist.add_argument("--weights", type=Path, metavar="FILE", help="use a trained network (.npz)")
    mnist.add_argument("--device", choices=("cuda", "cpu"), help="(default: cpu)")
    benchmark.set_defaults(run=_run_benchmark)


def _run_benchmark(options: argparse.Namespace) -> int:
    from dagsearch.experiments import benchmark

    mnist_only = [] if options.name == "mnist" else ["data", "weights", "device"]
    refused = mnist_only + ([] if options.name == "digits" else ["no_peers"])
    return _run_experiment(
        options,
        refused,
        lambda: benchmark.run(
            options.name,
            quick=options.quick,
            jobs=options.jobs,
            peers=not options.no_peers,
            data=options.data,
            weights=options.weights,
            device=options.device or "cpu",
        ),
        benchmark.summary,
    )


def _run_reproduce(options: argparse.Namespace) -> int:
    from dagsearch.experiments import reproduce

    dataset = options.dataset or "mnist"
    refused = [] if options.name == "mnist" else ["dataset"]
    if (options.name, dataset) != ("mnist", "mnist"):
        refused += ["data", "weights", "save_weights", "device"]
    return _run_experiment(
        options,
        refused,
        lambda: reproduce.run(
            options.name,
            quick=options.quick,
            jobs=options.jobs,
            dataset=dataset,
            data=options.data,
            weights=options.weights,
            save_weights=options.save_weights,
            device=options.device or "cpu",
        ),
        reproduce.summary,
    )


def _run_experiment(
    options: argparse.Namespace,
    refused: Sequence[str],
    run: Callable[[], "Outcome"],
    summary: Callable[["Outcome"], str],
) -> int:
    """Run, write and sum up; options in ``refused`` have no meaning here."""
    from dagsearch.experiments.runner import ExperimentError

    try:
        for name in refused:
            if getattr(options, name):
                raise ValueError(f"{options.name} takes no --{name.replace('_', '-')}")
        _check_folder(options.out)
        outcome = run()
        written = outcome.write(options.out)
    except (ExperimentError, ModuleNotFoundError, ValueError, OSError) as error:
        print(f"dagsearch {options.command}: error: {error}", file=sys.stderr)
        return 1
    print(summary(outcome))
    print("wrote", *written, sep="\n  ")
    return 0


def _check_folder(folder: Path) -> None:
    """Make the folder, and find out before the work whether files can be written there."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a positive whole number, got {text!r}")
    return number


def _writable(text: str) -> Path:
    """A file's path, refused now rather than after the work if its folder is not there."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder {path.parent} does not exist")
    if path.is_dir() or path.suffix not in (".png", ".pdf", ".svg"):
        raise argparse.ArgumentTypeError(f"must be a .png, .pdf or .svg file, got {text!r}")
    return path


def _run_demo(options: argparse.Namespace) -> int:
    # Imported only when asked for, so that --help is quick.
    from dagsearch import demo

    return demo.run(budget=options.budget, seed=options.seed, out=options.out)
