"""The command line."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dagsearch import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run ``dagsearch``; returns the exit code."""
    options = _parser().parse_args(arguments)
    return int(options.run(options))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="dagsearch",
        description="Find the best sequence of discrete choices when looking at one outcome is expensive.",
        epilog="Run 'dagsearch COMMAND --help' for a command's options.",
    )
    parser.add_argument("--version", action="version", version=f"dagsearch {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_demo(commands)
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
    return path


def _run_demo(options: argparse.Namespace) -> int:
    # Imported only when asked for, so that --help is quick.
    from dagsearch import demo

    return demo.run(budget=options.budget, seed=options.seed, out=options.out)


if __name__ == "__main__":
    sys.exit(main())
