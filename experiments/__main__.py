"""``python -m experiments COMMAND``, in a clone: the paper's experiments, benchmarks, games, the gallery.

One table lists the experiments. Each has a function ``run(quick=..., jobs=..., **options)`` that returns an
:class:`~experiments.harness.runner.Outcome`, which is written in the same way for all.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from experiments.harness.curves import summary as means
from experiments.harness.runner import ExperimentError, Outcome, commit


class Experiment(NamedTuple):
    """An experiment of a command."""

    where: str
    """Module and function to run."""
    about: str
    """Its subject and requirements."""
    takes: tuple[str, ...] = ()
    """Its options besides those of every experiment."""
    folder: str = ""
    """Folder of its results, if not the command's own."""


_NETWORK = ("data", "weights", "device")
_KEEP = ("methods", "keep")
_SUITE = (*_KEEP, "problems", "seeds")
_PAPER = {
    "max": Experiment("paper.maximum:run", "the maximum of three Gaussians"),
    "synthetic": Experiment("paper.synthetic:run", "section 4.1"),
    "tictactoe": Experiment("paper.tictactoe:run", "section 4.2"),
    "mnist": Experiment("paper.mnist:run_mnist", "section 4.3, with '.[mnist]'", (*_NETWORK, "save_weights")),
    "digits": Experiment("paper.mnist:run_digits", "section 4.3 with scikit-learn's digits"),
    "counts": Experiment("paper.counts:run", "every count in the text"),
    "moves": Experiment("paper.moves:run", "optimal moves of Tic-Tac-Toe against OpenSpiel's ('.[games]')"),
    "correlated": Experiment("paper.correlated:run", "the maximum of correlated children"),
    "steps": Experiment("paper.tictactoe:run_steps", "Tic-Tac-Toe with the Brownian step as printed"),
    "references": Experiment("paper.mnist:run_references", "accuracies of known subsets of pixels", _NETWORK),
}
_BENCHMARKS = {
    "mnist": Experiment(
        "benchmarks.beyond:mnist", "10 of 784 pixels, with '.[mnist]'", (*_NETWORK, *_KEEP), "beyond"
    ),
    "tictactoe": Experiment("benchmarks.beyond:tictactoe", "against a perfect opponent", folder="beyond"),
    "batches": Experiment("benchmarks.beyond:batches", "eight evaluations at once", folder="beyond"),
    "selection": Experiment("benchmarks.selection:run", "selectors on twelve tables", _KEEP, "beyond"),
    "general": Experiment("general:run", "every kind of choice", _SUITE, "general"),
    "noise": Experiment("general.noise:run", "recommendations under noise", _SUITE, "noise"),
    "long": Experiment("general.long:run", "thousands of evaluations", _SUITE, "long"),
    "costly": Experiment(
        "costly:run", "costly steps, against greedy, beams and climbing", ("seeds",), "costly"
    ),
    "grid": Experiment("benchmarks.grid:run", "DAGSearchCV against other searches", ("scores",), "grid"),
    "speed": Experiment("speed:run", "the cost of a step, as ratios within one run", folder="speed"),
    "flow_shop": Experiment("gallery.flow_shop:run", "the gallery's flow shop", folder="gallery"),
    "indexes": Experiment("gallery.indexes:run", "the gallery's indexes", folder="gallery"),
    "passes": Experiment("gallery.passes:run", "the gallery's compiler passes", ("llvm",), "gallery"),
    "arena": Experiment("arena:run", "players of games against each other ('.[games]')", folder="arena"),
}
_TRUTH = {
    "search": Experiment("truth.search:run", "intervals of searches, on problems not used for fitting"),
    "causes": Experiment("truth.causes:run", "whether causes come first, on ten tables with known causes"),
    "selection": Experiment("truth.selection:run", "scores of the selector on 14 real tables ('.[truth]')"),
}
_GALLERY = {
    "flow_shop": Experiment(
        "gallery.flow_shop:solve", "the order of jobs with the least makespan", ("instance", "budget", "seed")
    ),
    "indexes": Experiment("gallery.indexes:solve", "PostgreSQL's indexes for a workload", ("budget", "seed")),
    "passes": Experiment(
        "gallery.passes:solve", "LLVM's passes for a small program", ("program", "llvm", "budget", "seed")
    ),
    "pipeline": Experiment(
        "gallery.pipeline:solve", "a pipeline of scikit-learn", ("table", "budget", "seed")
    ),
}
COMMANDS = {
    "reproduce": ("run an experiment of the paper", "results", _PAPER),
    "benchmark": ("compare dagsearch with other methods, and measure its speed", "results", _BENCHMARKS),
    "truth": ("measure how often the library's statements are true", "results/truth", _TRUTH),
    "gallery": ("solve a real problem on the real system ('.[gallery]')", "gallery-run", _GALLERY),
}
"""Description, folder and experiments of each command."""

OPTIONS: dict[str, dict[str, Any]] = {
    "data": {"type": Path, "metavar": "DIR", "help": "folder with the four MNIST files"},
    "weights": {"type": Path, "metavar": "FILE", "help": "weights of a trained network (.npz)"},
    "device": {"choices": ("cuda", "cpu"), "help": "where the network runs (default: cpu)"},
    "save_weights": {"type": Path, "metavar": "FILE", "help": "write the weights of the trained network"},
    "methods": {"nargs": "+", "help": "only these (default: all)"},
    "problems": {"nargs": "+", "help": "only these (default: all)"},
    "seeds": {"type": int, "help": "runs of a method on a problem"},
    "keep": {"type": Path, "metavar": "DIR", "help": "reuse these results for everything that is not run"},
    "scores": {"type": Path, "metavar": "DIR", "help": "folder of the grids' scores, created if missing"},
    "seed": {"type": int, "help": "random seed"},
    "budget": {"type": int, "help": "number of evaluations"},
    "instance": {"type": int, "choices": range(1, 11), "metavar": "N", "help": "1 to 10: ta001 to ta010"},
    "program": {"help": "program to optimise"},
    "llvm": {"metavar": "LIBRARY", "help": "a shared library (default: the installed libLLVM)"},
    "table": {"help": "tumours, numerals or diabetes"},
}
"""Options of some experiments."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run an experiment; returns the exit code."""
    options = _parser().parse_args(arguments)
    chosen: Experiment = COMMANDS[options.command][2][options.name_of_experiment]
    given = {name: getattr(options, name) for name in chosen.takes if getattr(options, name) is not None}
    name, function = chosen.where.split(":")
    out = options.out or Path(COMMANDS[options.command][1], chosen.folder)
    commit()  # now, because the code may have changed when the run ends
    try:
        out.mkdir(parents=True, exist_ok=True)
        module = import_module(f"experiments.{name}")
        outcome: Outcome = getattr(module, function)(quick=options.quick, jobs=options.jobs, **given)
        written = outcome.write(out)
    except (ExperimentError, ModuleNotFoundError, ValueError, OSError) as error:
        print(f"python -m experiments {options.command}: error: {error}", file=sys.stderr)
        return 1
    summary = getattr(module, "summary", means)
    print(outcome.shown or summary(outcome))
    print("wrote", *written, sep="\n  ")
    return 0


def _parser() -> argparse.ArgumentParser:
    about = "Experiments with dagsearch: commands that reproduce the results in the documentation."
    parser = argparse.ArgumentParser("python -m experiments", description=about)
    commands = parser.add_subparsers(dest="command", required=True)
    for command, (purpose, folder, experiments) in COMMANDS.items():
        names = commands.add_parser(command, help=purpose, description=purpose)
        each = names.add_subparsers(dest="name_of_experiment", required=True, metavar="NAME")
        for name, experiment in experiments.items():
            one = each.add_parser(name, help=experiment.about, description=experiment.about)
            one.add_argument("--quick", action="store_true", help="a small version, which takes seconds")
            where = Path(folder, experiment.folder)
            one.add_argument("--out", type=Path, metavar="DIR", help=f"folder to write to (default: {where})")
            one.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="number of processes")
            for option in experiment.takes:
                one.add_argument(f"--{option.replace('_', '-')}", **OPTIONS[option])
    return parser


if __name__ == "__main__":
    sys.exit(main())
