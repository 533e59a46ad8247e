"""The command line."""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dagsearch import __version__
from dagsearch.cli.games import add_commands as add_game_commands

if TYPE_CHECKING:
    from dagsearch.cli.select import Outcome as SelectionOutcome
    from dagsearch_experiments.runner import Outcome


_BENCHMARKS = (
    "synthetic",
    "digits",
    "mnist",
    "tictactoe",
    "calibration",
    "selection",
    "batches",
    "freshness",
    "speed",
)


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
    _add_select(commands)
    _add_show(commands)
    _add_resume(commands)
    _add_reproduce(commands)
    _add_benchmark(commands)
    add_game_commands(commands, _positive)
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


def _add_select(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    select = commands.add_parser(
        "select",
        help="choose the features of a table with which an estimator predicts best",
        description=(
            "Choose K columns of a table from which an estimator predicts the target best, scoring subsets "
            "by cross-validation. Prints what was chosen beside all features, the best ones one by one, and "
            "forward selection if the budget covers it; and how they do on rows that were kept aside."
        ),
        epilog=(
            "Exit code 0: done. 1: bad input, 2: bad usage, with a message on the standard error. 130: "
            "interrupted; what was found by then is printed and written all the same."
        ),
    )
    select.add_argument("data", type=Path, metavar="DATA", help="table: .csv, .tsv or .parquet")
    select.add_argument("--target", required=True, metavar="COLUMN", help="what to predict")
    select.add_argument(
        "--k", type=_sizes, metavar="K", help="how many, or from-to as in 3-8 (default: half)"
    )
    select.add_argument(
        "--budget", type=_positive, default=300, help="subsets to score (default: %(default)s)"
    )
    select.add_argument("--task", choices=("auto", "classification", "regression"), default="auto")
    select.add_argument(
        "--estimator",
        metavar="PATH",
        help=(
            "import path of a class, or of a ready-made estimator (default: logistic or ridge regression). "
            "A class gets its columns imputed, scaled and encoded"
        ),
    )
    select.add_argument("--scoring", help="a scorer's name in scikit-learn (default: accuracy or r2)")
    select.add_argument("--cv", type=_folds, default=5, help="folds (default: %(default)s)")
    select.add_argument("--fixed", nargs="+", default=[], metavar="COLUMN", help="always chosen")
    select.add_argument("--forbidden", nargs="+", default=[], metavar="COLUMN", help="never chosen")
    select.add_argument(
        "--groups",
        nargs="+",
        default=[],
        metavar="A,B",
        help="columns that are chosen together, and count as one",
    )
    select.add_argument("--seconds", type=float, help="stop after so long")
    select.add_argument("--patience", type=_positive, help="stop after so many subsets without a better one")
    select.add_argument(
        "--holdout",
        type=_part,
        default=0.25,
        help="part of the rows kept aside; 0 for none (default: %(default)s)",
    )
    where = select.add_mutually_exclusive_group()
    where.add_argument("--jobs", type=_positive, help="subsets scored at once (default: 1)")
    where.add_argument(
        "--cluster", metavar="ADDRESS", help="score on the workers of a Dask scheduler, as tcp://host:8786"
    )
    select.add_argument(
        "--journal",
        type=Path,
        metavar="FILE",
        help="keep every scored subset there; if it exists, go on from it. See 'dagsearch resume'",
    )
    select.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    select.add_argument(
        "--out", type=Path, metavar="DIR", help="write result.json, history.csv and report.html there"
    )
    select.add_argument("--quiet", action="store_true", help="no bar")
    select.set_defaults(run=_run_select)


def _run_select(options: argparse.Namespace) -> int:
    from dagsearch.cli import select as command

    def run() -> command.Outcome:
        names = [field.name for field in fields(command.Request) if field.name != "progress"]
        wanted = {name: getattr(options, name) for name in names}
        return command.run(command.Request(**wanted, progress=not options.quiet))

    return _tell_selection(options, run)


def _tell_selection(options: argparse.Namespace, run: "Callable[[], SelectionOutcome]") -> int:
    """Select, and print and write what was found."""
    from dagsearch.cli import select as command
    from dagsearch.errors import DagSearchError

    try:
        if options.out is not None:
            _check_folder(options.out)
        outcome = run()
        written = [] if options.out is None else outcome.report.write(options.out)
    except (DagSearchError, ModuleNotFoundError, ValueError, OSError) as error:
        print(f"dagsearch {options.command}: error: {error}", file=sys.stderr)
        return 1
    print(command.summary(outcome.report))
    if written:
        print("wrote", *written, sep="\n  ")
    return 130 if outcome.interrupted else 0


def _add_show(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    show = commands.add_parser(
        "show",
        help="what a journal says of its search",
        description="Print what a journal says of its search, which may be running meanwhile.",
    )
    show.add_argument("journal", type=Path, metavar="JOURNAL", help="file that a search keeps")
    show.add_argument("--json", action="store_true", help="as JSON")
    show.set_defaults(run=_run_show)


def _run_show(options: argparse.Namespace) -> int:
    from dagsearch.cli import journal as journal_command
    from dagsearch.durable.journal import JournalError

    try:
        found = journal_command.summary(options.journal)
    except JournalError as error:
        print(f"dagsearch show: error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(found, indent=2) if options.json else journal_command.text(found))
    return 0


def _add_resume(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    resume = commands.add_parser(
        "resume",
        help="go on with a search from its journal",
        description=(
            "Go on with a search from its journal, exactly where it was cut off. Journals of 'dagsearch "
            "select' know their data; for others name the problem."
        ),
    )
    resume.add_argument("journal", type=Path, metavar="JOURNAL", help="file that a search keeps")
    resume.add_argument(
        "--problem",
        metavar="MODULE:NAME",
        help="import path of the problem, or of a class or function without arguments that makes it",
    )
    resume.add_argument(
        "--budget",
        type=_positive,
        help="evaluations in all, those so far included (default: as begun)",
    )
    resume.add_argument("--jobs", type=_positive, help="evaluations at once (default: 1; select: as begun)")
    resume.add_argument(
        "--out", type=Path, metavar="DIR", help="select only: write result.json, history.csv and report.html"
    )
    resume.set_defaults(run=_run_resume)


def _run_resume(options: argparse.Namespace) -> int:
    from dagsearch.cli import journal as journal_command
    from dagsearch.durable.journal import read_events
    from dagsearch.errors import DagSearchError

    try:
        selection = journal_command.selection_of(read_events(options.journal))
        if selection is not None:
            from dagsearch.cli import select as command

            noted = selection if options.jobs is None else {**selection, "jobs": options.jobs}
            return _tell_selection(options, lambda: command.resumed(options.journal, noted, options.budget))
        if options.problem is None:
            raise ValueError("the journal does not know its problem: give --problem module:name")
        problem = journal_command.imported_problem(options.problem)
        result = journal_command.resume(options.journal, problem, options.budget, options.jobs)
    except (DagSearchError, ValueError, OSError) as error:
        print(f"dagsearch resume: error: {error}", file=sys.stderr)
        return 1
    print(f"best reward {result.best_reward:.6g} after {len(result.history)} evaluations")
    print(f"at {result.best_state!r}")
    return 0


def _sizes(text: str) -> int | tuple[int, int]:
    least, dash, most = text.partition("-")
    if not dash:
        return _positive(text)
    if _positive(least) > _positive(most):
        raise argparse.ArgumentTypeError(f"must be ascending, got {text!r}")
    return _positive(least), _positive(most)


def _folds(text: str) -> int:
    folds = _positive(text)
    if folds < 2:
        raise argparse.ArgumentTypeError(f"must be at least 2, got {text!r}")
    return folds


def _part(text: str) -> float:
    try:
        part = float(text)
    except ValueError:
        part = -1.0
    if not 0.0 <= part < 1.0:
        raise argparse.ArgumentTypeError(f"must be between 0 and 1, got {text!r}")
    return part


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
            "the best reward hold the truth as often as it says? selection: feature selectors (ten minutes "
            "on two cores). batches: eight evaluations at once, on digits. freshness: all nodes brought "
            "up to date every time, or those that are looked at. speed: what a step costs, for "
            "docs/speed.md (ten minutes on one core, into results/speed)."
        ),
    )
    benchmark.add_argument("name", choices=_BENCHMARKS)
    _add_experiment_options(benchmark, Path("results/beyond"))
    benchmark.add_argument(
        "--only", nargs="+", metavar="MEASUREMENT", help="speed: some of growth, memory, uct and so on"
    )
    benchmark.add_argument("--no-peers", action="store_true", help="digits: other packages are left out")
    mnist = benchmark.add_argument_group("options of mnist")
    mnist.add_argument("--data", type=Path, metavar="DIR", help="folder with the four MNIST files")
    mnist.add_argument("--weights", type=Path, metavar="FILE", help="use a trained network (.npz)")
    mnist.add_argument("--device", choices=("cuda", "cpu"), help="(default: cpu)")
    benchmark.set_defaults(run=_run_benchmark)


def _run_benchmark(options: argparse.Namespace) -> int:
    from dagsearch_experiments import benchmark, speed

    mnist_only = [] if options.name == "mnist" else ["data", "weights", "device"]
    refused = mnist_only + ([] if options.name == "digits" else ["no_peers"])
    if options.name == "speed":
        if options.out == Path("results/beyond"):
            options.out = Path("results/speed")
        measure = partial(speed.run, options.only or (), quick=options.quick)
        return _run_experiment(options, refused, measure, speed.summary)
    refused.append("only")
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
    from dagsearch_experiments import reproduce

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
    from dagsearch_experiments.runner import ExperimentError

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
    from dagsearch.cli import demo

    return demo.run(budget=options.budget, seed=options.seed, out=options.out)
