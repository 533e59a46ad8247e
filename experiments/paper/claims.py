"""The figures of the claims table in ``docs/reproduction.md``, from the CSV files of the full runs.

``python -m experiments.paper.claims results`` prints them; a test compares them with the page.
"""

import json
import sys
from pathlib import Path

import numpy as np

from experiments.harness.curves import Curve, best_setting
from experiments.harness.runner import read_rows

GOOD_PLAY = -0.1  # smallest mean reward of a good Tic-Tac-Toe player


def figures(folder: Path) -> dict[str, str]:
    """Figures by the name of their claim."""
    synthetic = _curves(folder / "synthetic.csv.gz")
    game = _curves(folder / "tictactoe.csv.gz")
    pixels = _curves(folder / "mnist.csv.gz")
    digits = _curves(folder / "digits.csv.gz")
    steps = _curves(folder / "steps.csv.gz")
    about = json.loads((folder / "mnist.json").read_text())
    once = about["mean_share_of_first_choices_visited_once"]
    ours, simple, tree = "probabilistic DAG", "probabilistic DAG, softmax", "probabilistic tree"
    return {
        "covariance helps, synthetic": "; ".join(
            f"{_gap(synthetic, ours, other, 50)} over {other}" for other in (tree, "UCT", "UCD")
        ),
        "tree or DAG, synthetic": _gap(synthetic, "UCD", "UCT", 50) + " for UCD over UCT",
        "simplified, synthetic": f"{_gap(synthetic, ours, simple, 50)} at 50, "
        f"{_gap(synthetic, ours, simple, 300)} at 300 for the full method",
        "lead, Tic-Tac-Toe": "; ".join(
            f"{method} {_reached(game[method])}" for method in (ours, tree, simple, "UCD", "UCT")
        ),
        "UCD over UCT, Tic-Tac-Toe": f"{_gap(game, 'UCD', 'UCT', 200)} at 200, "
        f"{_gap(game, 'UCD', 'UCT', 500)} at 500",
        "full over simplified, Tic-Tac-Toe": f"{_gap(game, ours, simple, 150)} at 150, "
        f"{_gap(game, ours, simple, 500)} at 500",
        "generalising, MNIST": "; ".join(
            f"{method} {_gap(pixels, method, 'random', 1200)}"
            for method in (ours, "UCT-RAVE", simple, tree, "UCT", "UCD")
        ),
        "head start on UCT-RAVE, MNIST": ", ".join(
            f"{_gap(pixels, ours, 'UCT-RAVE', step)} at {step}" for step in (50, 100, 200, 1200)
        ),
        "full over simplified, MNIST": _gap(pixels, ours, simple, 1200),
        "full over simplified, digits": f"{_gap(digits, ours, simple, 100)} at 100, "
        f"{_gap(digits, ours, simple, 1200)} at 1,200",
        "UCT nearly uniform, MNIST": f"{_gap(pixels, 'UCT', 'random', 1200)} over random subsets; of the "
        f"first pixels it tried, {once['UCT']:.0%} once only",
        **{
            f"steps of variance c, Tic-Tac-Toe, {step}": _gap(
                steps, f"{ours}, steps of variance c", ours, step
            )
            for step in (50, 150, 200)
        },
        # Gains from alternatives to the choices of Search.paper, in the same rounds.
        **{
            f"{method}, {name}": _gap(table, method, ours, step)
            for name, table, step in (
                ("Tic-Tac-Toe", game, 150),
                ("synthetic", synthetic, 50),
                ("MNIST", pixels, 1200),
                ("digits", digits, 1200),
            )
            for method in table
            if method.startswith(ours + ",") and method != simple
        },
        **{
            f"UCT, bonus for leaves too, {step}": _gap(game, "UCT, bonus for leaves too", "UCT", step)
            for step in (200, 500)
        },
    }


def _curves(path: Path) -> dict[str, Curve]:
    return {method: curve for method, (_, curve) in best_setting(read_rows(path)).items()}


def _gap(methods: dict[str, Curve], one: str, other: str, step: int) -> str:
    """Mean difference of two methods in the same rounds, with its standard error."""
    return methods[one].less(methods[other], step).shown(3, "+")


def _reached(curve: Curve) -> str:
    """The first step from which the mean stays good."""
    bad = np.flatnonzero(curve.mean < GOOD_PLAY)
    if bad.size == 0:
        return "from the start"
    if bad[-1] == len(curve.steps) - 1:
        return f"not within {curve.steps[-1]:.0f}"
    return f"{curve.steps[bad[-1] + 1]:.0f}"


if __name__ == "__main__":
    for claim, figure in figures(Path(sys.argv[1])).items():
        sys.stdout.write(f"{claim}: {figure}\n")
