"""Which compiler passes, in which order? LLVM."""

import argparse
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from scipy.stats import gmean

import dagsearch as ds
from experiments.gallery import frame
from experiments.gallery.passes.compiler import EMBEDDED, LLVM
from experiments.gallery.passes.methods import ON_A_TREE, OURS, methods
from experiments.gallery.passes.problem import Applications, PassOrder
from experiments.gallery.passes.programs import NAMES
from experiments.harness import markdown

ABOUT, BUDGET, SMALL = "Find an order of LLVM's passes after which a program has few instructions.", 250, 30
COUNTS = (100, 250, 500, 1000, 2000)
"""Numbers of applied passes in the table of the README."""


def options(parser: argparse.ArgumentParser) -> None:
    """The application's own options."""
    parser.add_argument(
        "--program", choices=NAMES, default="hash", help="what to optimise (default: %(default)s)"
    )
    parser.add_argument(
        "--programs",
        nargs="+",
        choices=NAMES,
        default=NAMES,
        metavar="NAME",
        help="what to compare on (default: all)",
    )
    parser.add_argument(
        "--llvm",
        metavar="LIBRARY",
        help=f"{EMBEDDED}, or a shared library (default: libLLVM if it is installed, else {EMBEDDED})",
    )


def run(options: argparse.Namespace) -> None:
    """Search, print the order and write the program."""
    llvm = LLVM(options.llvm)
    problem = PassOrder(options.program, llvm)
    print(
        f"{problem.name}: {problem.start.size} instructions, {problem.oz} after -Oz; "
        f"{len(llvm.passes)} passes can be applied"
    )
    result = frame.solve(ds.search, problem, options, on_error="skip")
    if result is None or result.best_reward is None:
        return
    module, order = result.best_state, list(result.best_path or ())
    print(f"{module.size} instructions after {len(order)} passes; {len(result.history)} were tried:")
    print(",".join(order))
    (options.out / "passes.txt").write_text(",".join(order) + "\n")
    (options.out / f"{problem.name}.bc").write_bytes(module.bitcode)
    print(f"wrote {options.out / 'passes.txt'} and {options.out / problem.name}.bc; it prints what it must")


def compare(options: argparse.Namespace) -> None:
    """All methods on all programs; writes the files of the comparison and the table in the README."""
    budget = SMALL if options.small else COUNTS[-1]
    names = options.programs[:2] if options.small else options.programs
    llvm = LLVM(options.llvm)
    problems = {name: PassOrder(name, llvm) for name in names}
    contests = [
        frame.Contest(methods(problem), Applications(problem), budget, math.exp, NAMES.index(name))
        for name, problem in problems.items()
    ]
    runs = frame.compare(contests, options.seeds, options.jobs)
    o3 = {
        name: problem.oz / llvm.applied(problem.start.bitcode, "default<O3>").size
        for name, problem in problems.items()
    }
    about = {
        "what": "instructions of -Oz over those that are left; number of a run = 100 × program + seed",
        "programs": dict(enumerate(NAMES)),
        "llvm": llvm.library,
        "passes": llvm.passes,
        "budget": budget,
        "-Oz": {name: problem.oz for name, problem in problems.items()},
        "-O3": o3,
    }
    mean = math.exp(sum(map(math.log, o3.values())) / len(o3))
    panel = frame.Panel(
        f"LLVM's passes, {len(names)} programs",
        "instructions of -Oz over ours",
        by_seed(runs),
        {"-Oz": 1.0, "-O3": mean},
    )
    frame.report(options.out, runs, table(runs), [panel], about)
    print(f"-O3 alone: {mean:.3f}")


def by_seed(runs: Sequence[frame.Run]) -> list[frame.Run]:
    """One run per method and seed: the geometric mean over the programs."""
    return frame.averaged(runs, lambda run: run.seed % frame.TOGETHER, gmean)


def table(runs: Sequence[frame.Run]) -> str:
    """How many times as many instructions -Oz leaves, over all programs and for each of them."""
    methods = list(dict.fromkeys(run.method for run in runs))
    numbers = sorted({run.seed // frame.TOGETHER for run in runs})
    rows = []
    for number in numbers:
        own = [run for run in runs if run.seed // frame.TOGETHER == number]
        rows.append([NAMES[number], *(f"{frame.at(own, method, COUNTS[-1])[0]:.3f}" for method in methods)])
    each = markdown.table([f"program, after {COUNTS[-1]}", *methods], rows)
    return "\n\n".join(filter(None, (means(runs), merging(runs), each)))


def means(runs: Sequence[frame.Run]) -> str:
    """The geometric means over all programs, with the number of seeds of every method."""
    found = by_seed(runs)
    seeds = Counter(run.method for run in found)
    named = [run._replace(method=f"{run.method}, {_counted(seeds[run.method])}") for run in found]
    return frame.table(named, COUNTS, digits=3)


def merging(runs: Sequence[frame.Run]) -> str:
    """The search over the same one on a tree, run by run with the same program and seed."""
    ours, tree = ({run.seed: run.best for run in runs if run.method == name} for name in (OURS, ON_A_TREE))
    both = sorted(ours.keys() & tree.keys())
    if len(both) < 2:
        return ""
    cells = []
    for count in COUNTS:
        ratios = [np.log(_at(ours[seed], count) / _at(tree[seed], count)) for seed in both]
        mean, error = np.mean(ratios), np.std(ratios, ddof=1) / np.sqrt(len(ratios))
        cells.append(f"{np.exp(mean):.3f} ± {error:.3f}")
    return markdown.table(
        [f"{OURS} over {ON_A_TREE}, {len(both)} pairs", *(f"after {count}" for count in COUNTS)],
        [["instructions left there over those left here", *cells]],
    )


def _at(best: Sequence[float], count: int) -> float:
    return best[min(count, len(best)) - 1]


def _counted(seeds: int) -> str:
    return "1 seed" if seeds == 1 else f"{seeds} seeds"
