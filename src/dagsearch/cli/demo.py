"""``dagsearch demo``: the ten pixels that tell handwritten digits apart best."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import dagsearch as ds
from dagsearch.baselines import random_search
from dagsearch.problems import DigitsPixels
from dagsearch.problems.ground import Subset
from dagsearch.results import Result


def run(budget: int, seed: int, out: Path) -> int:
    """Search, compare, show; returns the exit code."""
    problem = DigitsPixels()
    print(f"Choosing {problem.k} of the 64 pixels of the digits with {budget} evaluations.")
    try:
        result = ds.search(problem, budget, seed=seed, progress=True)
    except ds.SearchInterrupted as interruption:
        result = interruption.result
        print(f"\nStopped after {len(result.history)} evaluations.", file=sys.stderr)
        if not result.history:
            return 130
    evaluations = random_search(problem, seed=seed).steps(len(result.history))
    random = [evaluation.reward for evaluation in evaluations]
    print(table(problem, result, random))
    print()
    print(pixel_map(problem, result.best_state))
    draw(problem, result, random, out)
    print(f"\nPicture: {out}")
    return 0


def table(problem: DigitsPixels, result: Result, random: Sequence[float]) -> str:
    """What was found beside what else there is."""
    count = len(result.history)
    rows = [
        ("dagsearch", count, problem.k, f"{result.best_reward:.3f}"),
        ("random search", count, problem.k, f"{max(random):.3f}"),
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
    """The pixel map beside the curve of the best score."""
    # Slow to import, and only the picture needs it; Figure, not pyplot: no display, no global state.
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
    everything = problem.accuracy(range(problem.n))
    curve.axhline(everything, linestyle=":", color="black", label=f"all {problem.n} pixels")
    curve.set(
        xlabel="evaluations", ylabel="best accuracy so far", title=f"{problem.k} of {problem.n} pixels, LDA"
    )
    curve.legend(loc="lower right")
    figure.savefig(out, dpi=150)
