"""``dagsearch demo``: the ten pixels that best distinguish handwritten digits."""

import argparse

import dagsearch as ds
from dagsearch.baselines import random_search
from dagsearch.cli.common import Commands, add_seed, positive
from dagsearch.problems import DigitsPixels
from dagsearch.problems.subsets import Subset
from dagsearch.results import Result


def add_parser(commands: Commands) -> None:
    """Add ``demo``."""
    demo = commands.add_parser(
        "demo",
        help="choose the 10 of 64 pixels that best distinguish handwritten digits",
        description=(
            "Choose the 10 of the 64 pixels of scikit-learn's digits from which linear discriminant "
            "analysis best recognises the digits, and compare them with random search with the same "
            "budget. Takes less than a minute."
        ),
    )
    demo.add_argument(
        "--budget", type=positive, default=300, help="number of subsets to evaluate (default: %(default)s)"
    )
    add_seed(demo)
    demo.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Search, compare, show."""
    problem = DigitsPixels()
    print(f"Choosing {problem.k} of the 64 pixels of the digits with {options.budget} evaluations.")
    result = ds.search(problem, options.budget, seed=options.seed, progress=True)
    random = random_search(problem, seed=options.seed).run(len(result.history))
    print(table(problem, result, random), pixel_map(problem, result.best_state), sep="\n\n")


def table(problem: DigitsPixels, result: Result, random: Result) -> str:
    """A comparison of the search with random search and with all pixels, as text."""
    rows = [
        ("dagsearch", len(result.history), problem.k, result.best_reward),
        ("random search", len(random.history), problem.k, random.best_reward),
        ("all pixels", 1, problem.n, problem.accuracy(range(problem.n))),
    ]
    lines = [f"{name:14}{n:>12}{k:>8}{accuracy:>10.3f}" for name, n, k, accuracy in rows]
    return "\n".join([f"{'':14}{'evaluations':>12}{'pixels':>8}{'accuracy':>10}", *lines])


def pixel_map(problem: DigitsPixels, chosen: Subset) -> str:
    """The image's grid, chosen pixels filled."""
    height, width = problem.shape
    cells = ["#" if pixel in chosen else "." for pixel in range(problem.n)]
    rows = [" ".join(cells[width * row : width * (row + 1)]) for row in range(height)]
    return "\n".join(f"  {row}" for row in rows)
