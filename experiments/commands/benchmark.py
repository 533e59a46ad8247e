"""``python -m experiments benchmark``: comparisons beyond the paper, and speed."""

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dagsearch.cli.common import positive
from experiments.commands.common import add_network_options, add_options, carry_out, request_of

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands

_NAMES = (
    "synthetic",
    "digits",
    "mnist",
    "tictactoe",
    "calibration",
    "selection",
    "batches",
    "portfolio",
    "grid",
    "general",
    "speed",
    "forecast",
)
_OUT = Path("results/beyond")
_GENERAL = ("methods", "problems", "seeds", "keep")
_OWN_FOLDER = ("grid", "general", "speed", "forecast")

_ABOUT = (
    "synthetic: 15 choose 5. digits: 10 of 64 pixels, with the peers of '.[benchmark]' "
    "(about 25 minutes on two cores, 5 without peers). mnist: 10 of 784 pixels, needs PyTorch "
    "('.[mnist]'). tictactoe: against a perfect opponent. calibration: do intervals of "
    "the best reward contain the truth as often as they should? selection: feature selectors on "
    "held-out rows of twelve tables (five minutes on 16 cores). batches: eight evaluations at once, "
    "on digits. portfolio: how many leaves "
    "descents should propose, on the general problems, digits and synthetic (ten minutes on 16 cores). "
    "grid: DAGSearchCV and other searches of a parameter grid, for docs/from-gridsearchcv.md (three minutes; "
    "if --out has no scores of the grids, ten more on 16 cores; into results/grid). "
    "general: every kind of choice against other methods, for docs/general.md (ten minutes on 16 "
    "cores, into results/general). "
    "speed: what a step costs, for docs/speed.md (ten minutes on one core, into results/speed). "
    "forecast: how often the intervals of "
    "Search.forecast hold, for docs/watching.md (two minutes on one core, into results/forecast)."
)


def add_parser(commands: "Commands") -> None:
    """Add ``benchmark``."""
    benchmark = commands.add_parser(
        "benchmark",
        help="compare dagsearch with the paper's method, with other packages and with parts of itself",
        description=(
            "Run what docs/beyond.md reports. Writes the measurements as compressed CSV, the settings as "
            "JSON, and the figures as PNG and PDF."
        ),
        epilog=_ABOUT,
    )
    benchmark.add_argument("name", choices=_NAMES)
    add_options(benchmark, _OUT)
    benchmark.add_argument(
        "--only",
        nargs="+",
        metavar="MEASUREMENT",
        help="speed: run only these measurements, such as growth and memory",
    )
    benchmark.add_argument("--no-peers", action="store_true", help="digits: leave out other packages")
    general = benchmark.add_argument_group("options of general")
    general.add_argument("--methods", nargs="+", metavar="METHOD", help="(default: all)")
    general.add_argument("--problems", nargs="+", metavar="PROBLEM", help="(default: all)")
    general.add_argument("--seeds", type=positive, help="runs of a method on a problem (default: 8)")
    general.add_argument(
        "--keep", action="store_true", help="take what is not run now from the results that --out has"
    )
    add_network_options(benchmark.add_argument_group("options of mnist"))
    benchmark.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run one benchmark; returns the exit code."""
    from experiments import benchmarks, general, speed
    from experiments.benchmarks import forecast, grid

    refused = [] if options.name == "mnist" else ["data", "weights", "device"]
    refused += [] if options.name == "digits" else ["no_peers"]
    refused += [] if options.name == "general" else _GENERAL
    if options.name in _OWN_FOLDER and options.out == _OUT:
        options.out = Path("results") / options.name
    if options.name == "general":
        return carry_out(
            options,
            [*refused, "only"],
            lambda: general.run(
                methods=options.methods or (),
                problems=options.problems or (),
                seeds=options.seeds,
                jobs=options.jobs,
                quick=options.quick,
                keep=options.out if options.keep else None,
            ),
            general.summary,
        )
    if options.name == "grid":
        compared = partial(grid.run, options.out, jobs=options.jobs, quick=options.quick)
        return carry_out(options, [*refused, "only"], compared, grid.summary)
    if options.name == "speed":
        measure = partial(speed.run, options.only or (), quick=options.quick)
        return carry_out(options, refused, measure, speed.summary)
    if options.name == "forecast":
        measured = partial(forecast.run, jobs=options.jobs, quick=options.quick)
        return carry_out(options, [*refused, "only"], measured, forecast.summary)
    return carry_out(
        options,
        [*refused, "only"],
        lambda: benchmarks.run(options.name, request_of(options), peers=not options.no_peers),
        benchmarks.summary,
    )
