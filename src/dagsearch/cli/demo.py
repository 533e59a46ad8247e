"""``dagsearch demo``: the ten pixels that best distinguish handwritten digits."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

import dagsearch as ds
from dagsearch.baselines import random_search
from dagsearch.cli.common import failed, positive
from dagsearch.problems import DigitsPixels
from dagsearch.problems.subsets import Subset
from dagsearch.results import Result

if TYPE_CHECKING:
    from dagsearch.cli.common import Commands


BUDGET = 300
"""Number of subsets that are evaluated by default."""
BEST_KNOWN = 0.89321
"""The largest accuracy that any search of ``results/digits.csv.gz`` has found."""


def add_parser(commands: "Commands") -> None:
    """Add ``demo``."""
    demo = commands.add_parser(
        "demo",
        help="choose the 10 of 64 pixels that best distinguish handwritten digits",
        description=(
            "Choose the 10 of the 64 pixels of scikit-learn's digits from which linear discriminant "
            "analysis recognises the digits best, and compare them with the best of the same number of "
            "random subsets. Writes a picture. Takes less than a minute; Ctrl-C stops with the best so far."
        ),
    )
    demo.add_argument(
        "--budget", type=positive, default=BUDGET, help="number of subsets to evaluate (default: %(default)s)"
    )
    demo.add_argument("--seed", type=int, default=0, help="random seed (default: %(default)s)")
    demo.add_argument(
        "--out",
        type=_picture,
        default=Path("dagsearch-demo.png"),
        metavar="FILE",
        help="where to write the picture (default: %(default)s)",
    )
    demo.add_argument(
        "--storage",
        metavar="RUN",
        help="store every evaluation in this file or at postgresql://…, or continue from there",
    )
    demo.set_defaults(run=run)


def _picture(text: str) -> Path:
    """The path of a picture; raises before the search if it cannot be written."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder {path.parent} does not exist; make it first")
    if path.is_dir() or path.suffix not in (".png", ".pdf", ".svg"):
        raise argparse.ArgumentTypeError(f"must be a .png, .pdf or .svg file, got {text!r}")
    return path


def run(options: argparse.Namespace) -> int:
    """Search, compare, show; returns the exit code."""
    try:
        problem = DigitsPixels()
    except ModuleNotFoundError as error:
        return failed("demo", error)
    print(f"Choosing {problem.k} of the 64 pixels of the digits with {options.budget} evaluations.")
    try:
        result = ds.search(
            problem,
            options.budget,
            seed=options.seed,
            progress=True,
            storage=options.storage,
        )
    except (ds.StorageError, ValueError) as error:
        return failed("demo", error)
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
    try:
        draw(problem, result, random, options.out)
    except ModuleNotFoundError:
        print("\nFor a picture: pip install 'dagsearch[plot]'")
    else:
        print(f"\nPicture: {options.out}")
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
    fill, empty = ("■", "·") if _prints("■·") else ("#", ".")
    cells = [fill if pixel in chosen else empty for pixel in range(problem.n)]
    rows = [" ".join(cells[width * row : width * (row + 1)]) for row in range(height)]
    return "\n".join(f"  {row}" for row in rows)


def _prints(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def draw(problem: DigitsPixels, result: Result, random: Sequence[float], out: Path) -> None:
    """The pixel map, next to the curve of the best score."""
    # Slow to import, and only the picture needs it. Figure instead of pyplot: no display, no global state.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.0), layout="constrained")
    pixels, curve = figure.subplots(1, 2, width_ratios=(1, 1.5))
    mean_image = problem.mean_image()
    pixels.imshow(mean_image, cmap="Greys", vmin=0.0, vmax=mean_image.max())
    rows, columns = np.unravel_index(sorted(result.best_state), problem.shape)
    pixels.scatter(columns, rows, marker="s", s=260, color="tab:orange", edgecolor="black")
    pixels.set(title="chosen pixels on the mean digit", xticks=[], yticks=[])
    steps = np.arange(1, len(random) + 1)
    found = [evaluation.best_reward for evaluation in result.history]
    curve.step(steps, found, where="post", label="dagsearch", color="tab:orange")
    best_random = np.maximum.accumulate(random)
    curve.step(steps, best_random, where="post", label="random search", color="tab:gray")
    curve.axhline(BEST_KNOWN, linestyle="--", color="tab:gray", label="best known")
    everything = problem.accuracy(range(problem.n))
    curve.axhline(everything, linestyle=":", color="black", label=f"all {problem.n} pixels")
    curve.set(
        xlabel="evaluations", ylabel="best accuracy so far", title=f"{problem.k} of {problem.n} pixels, LDA"
    )
    curve.legend(loc="lower right")
    figure.savefig(out, dpi=150)
