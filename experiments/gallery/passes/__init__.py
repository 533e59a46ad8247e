"""Which compiler passes, in which order? LLVM."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.stats import gmean

import dagsearch as ds
from dagsearch._internal.typing import FloatArray
from experiments.gallery.passes.compiler import LLVM, NAMES
from experiments.gallery.passes.methods import ON_A_TREE, OURS, methods
from experiments.gallery.passes.problem import PassOrder
from experiments.harness.contest import Contest, answered, compare, draw
from experiments.harness.curves import OWN_MS, Mean, by_setting, means, units
from experiments.harness.markdown import table
from experiments.harness.runner import Outcome, Row

COUNTS = (100, 250, 500, 1000, 2000)
"""Numbers of applied passes in the tables."""


def solve(
    quick: bool, jobs: int, program: str = "hash", llvm: str | None = None, budget: int = 250, seed: int = 0
) -> Outcome:
    """Find an order of passes after which one program has few instructions."""
    if program not in NAMES:
        raise ValueError(f"there is no program {program!r}; there are {', '.join(NAMES)}")
    problem = PassOrder(program, LLVM(llvm))
    result = ds.search(problem, 30 if quick else budget, seed=seed, on_error="skip", progress=True)
    sizes = {"at first": problem.start.size, "after -Oz": problem.oz, "after these": result.best_state.size}
    answer = {"program": program, "instructions": sizes, "passes": ",".join(result.best_path or ())}
    return answered("passes", result, answer)


def run(quick: bool, jobs: int, llvm: str | None = None) -> Outcome:
    """All methods on all programs: the number of instructions after -Oz over that after the method."""
    compiler, names, budget = LLVM(llvm), NAMES[4:6] if quick else NAMES, 30 if quick else COUNTS[-1]
    problems = {name: PassOrder(name, compiler) for name in names}
    contests = [
        Contest(name, methods(problem), problem.reward, budget, math.exp)
        for name, problem in problems.items()
    ]
    rows = compare(contests, 1 if quick else 5, jobs)
    o3 = {
        name: problem.oz / compiler.applied(problem.start.bitcode, "default<O3>").size
        for name, problem in problems.items()
    }
    about = {"llvm": compiler.library, "passes": compiler.passes, "budget": budget, "-O3": o3}
    about["-Oz"] = {name: problem.oz for name, problem in problems.items()}
    levels = {"-Oz": 1.0, "-O3": float(gmean(list(o3.values())))}
    title = f"LLVM's passes, {len(names)} programs"
    drawn = draw(rows, by_seed, title, "instructions of -Oz over ours", levels)
    return Outcome("passes", rows, about, {"passes": drawn}, tables(rows)["passes"])


def by_seed(values: FloatArray) -> FloatArray:
    """The geometric mean over programs for every seed."""
    return np.asarray(gmean(values, axis=0))


def tables(rows: Sequence[Row]) -> dict[str, str]:
    """Ratios of instructions after -Oz: means over all programs, each program, and the effect of merging."""
    every = units(rows, COUNTS[-1:], by_setting)
    names = dict.fromkeys(row.setting for row in rows if not row.setting.endswith(OWN_MS))
    each = table(
        [f"program, after {COUNTS[-1]}", *every],
        [[name, *(f"{every[method][n, 0]:.3f}" for method in every)] for n, name in enumerate(names)],
    )
    return {"passes": means(rows, COUNTS, 3, by_seed), "merging": merging(rows), "programs": each}


def merging(rows: Sequence[Row]) -> str:
    """The search over the same search on a tree, paired by program and seed."""
    found = units(rows, COUNTS, lambda values: np.log(values).reshape(-1, len(COUNTS)))
    ratios = found[OURS] - found[ON_A_TREE]
    logs = [Mean.of(column) for column in ratios.T]
    cells = [f"{np.exp(mean):.3f} ± {error:.3f}" for mean, error in logs]
    return table(
        [f"{OURS} over {ON_A_TREE}, {len(ratios)} pairs", *(f"after {count}" for count in COUNTS)],
        [["instructions left there over those left here", *cells]],
    )
