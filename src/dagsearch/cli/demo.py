"""``dagsearch demo``: the ten pixels that best distinguish handwritten digits."""

import argparse
import sys
from collections.abc import Sequence

import dagsearch as ds
from dagsearch.baselines import random_search
from dagsearch.cli.common import Commands, add_seed, add_storage, positive
from dagsearch.problems import DigitsPixels
from dagsearch.problems.subsets import Subset
from dagsearch.results import Result

BUDGET = 300
"""Number of subsets that are evaluated by default."""
BEST_KNOWN = 0.89321
"""The largest accuracy that any search of ``results/digits.csv.gz`` has found."""


def add_parser(commands: Commands) -> None:
    """Add ``demo``."""
    demo = commands.add_parser(
        "demo",
        help="choose the 10 of 64 pixels that best distinguish handwritten digits",
        description=(
            "Choose the 10 of the 64 pixels of scikit-learn's digits from which linear discriminant "
            "analysis recognises the digits best, and compare them with the best of the same number of "
            "random subsets. Takes less than a minute; Ctrl-C stops with the best so far. 'dagsearch example "
            "digits' writes the same images as a table."
        ),
    )
    demo.add_argument(
        "--budget", type=positive, default=BUDGET, help="number of subsets to evaluate (default: %(default)s)"
    )
    add_seed(demo)
    add_storage(demo)
    demo.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Search, compare, show; returns the exit code."""
    problem = DigitsPixels()
    print(f"Choosing {problem.k} of the 64 pixels of the digits with {options.budget} evaluations.")
    try:
        stored = {"storage": options.storage, "name": options.name}
        result = ds.search(problem, options.budget, seed=options.seed, progress=True, **stored)
    except ds.SearchInterrupted as interruption:
        result = interruption.result
        print(f"\nStopped after {len(result.history)} evaluations.", file=sys.stderr)
        if not result.history:
            return 130
    evaluations = random_search(problem, seed=options.seed).steps(len(result.history))
    random = [evaluation.reward for evaluation in evaluations]
    print(table(problem, result, random))
    print()
    print(pixel_map(problem, result.best_state))
    return 0


def table(problem: DigitsPixels, result: Result, random: Sequence[float]) -> str:
    """The search compared with random search and with all pixels, as text."""
    count = len(result.history)
    rows = [
        ("dagsearch", count, problem.k, f"{result.best_reward:.3f}"),
        ("random search", count, problem.k, f"{max(random):.3f}"),
        ("best known", "", problem.k, f"{BEST_KNOWN:.3f}"),
        ("all pixels", 1, problem.n, f"{problem.accuracy(range(problem.n)):.3f}"),
    ]
    lines = [f"{'':14}{'evaluations':>12}{'pixels':>8}{'accuracy':>10}"]
    lines += [f"{name:14}{n:>12}{k:>8}{accuracy:>10}" for name, n, k, accuracy in rows]
    return "\n".join(lines)


def pixel_map(problem: DigitsPixels, chosen: Subset) -> str:
    """The image's grid, chosen pixels filled."""
    height, width = problem.shape
    cells = ["#" if pixel in chosen else "." for pixel in range(problem.n)]
    rows = [" ".join(cells[width * row : width * (row + 1)]) for row in range(height)]
    return "\n".join(f"  {row}" for row in rows)
