"""``python -m experiments.gallery.passes``: an order of passes for a small program, or the comparison."""

import argparse
import math
import sys
from collections.abc import Sequence

import dagsearch as ds
from experiments.gallery import frame
from experiments.gallery.passes import COUNTS, RUNS_PER_PROGRAM, by_seed, table
from experiments.gallery.passes.compiler import EMBEDDED, LLVM
from experiments.gallery.passes.methods import methods
from experiments.gallery.passes.problem import Applications, PassOrder
from experiments.gallery.passes.programs import NAMES


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns the exit code."""
    about = "Find an order of LLVM's passes after which a program has few instructions."
    parser = frame.parser("passes", about, 250, small=30)
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
    options = frame.parsed(parser, arguments)
    return (_compare if options.action == "compare" else _run)(options)


def _run(options: argparse.Namespace) -> int:
    llvm = LLVM(options.llvm)
    problem = PassOrder(options.program, llvm)
    print(
        f"{problem.name}: {problem.start.size} instructions, {problem.oz} after -Oz; "
        f"{len(llvm.passes)} passes can be applied"
    )
    result = frame.solve(ds.search, problem, options, on_error="skip")
    if result is None or result.best_reward is None:
        return 130
    module, order = result.best_state, list(result.best_path or ())
    print(f"{module.size} instructions after {len(order)} passes; {len(result.history)} were tried:")
    print(",".join(order))
    (options.out / "passes.txt").write_text(",".join(order) + "\n")
    (options.out / f"{problem.name}.bc").write_bytes(module.bitcode)
    print(f"wrote {options.out / 'passes.txt'} and {options.out / problem.name}.bc; it prints what it must")
    return 0


def _compare(options: argparse.Namespace) -> int:
    budget = options.small_budget if options.small else COUNTS[-1]
    names = options.programs[:2] if options.small else options.programs
    llvm = LLVM(options.llvm)
    problems = {name: PassOrder(name, llvm) for name in names}
    contests = [
        frame.Contest(
            methods(problem), Applications(problem), budget, math.exp, RUNS_PER_PROGRAM * NAMES.index(name)
        )
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
