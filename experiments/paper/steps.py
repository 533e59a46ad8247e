"""Tic-Tac-Toe with the Brownian step as the paper prints it, ξ ~ N(0, c), beside that of the covariance.

A canonical board need not contain its canonical parent, so the covariance's own step is larger than c.
"""

from dagsearch.problems import TicTacToe
from experiments.harness.runner import Outcome, run_rounds
from experiments.paper import tictactoe

METHODS = ("probabilistic DAG", "probabilistic DAG, steps of variance c")


def run(quick: bool, jobs: int, progress: bool = True) -> Outcome:
    """Mean reward of the MAX player after every step, one search in every round."""
    rounds, steps = (2, 5) if quick else (100, 200)
    tasks = [(method, number, 1, steps) for method in METHODS for number in range(rounds)]
    rows = run_rounds(tictactoe.one_repetition, tasks, jobs, progress)
    explored = tictactoe.METHODS[METHODS[0]](TicTacToe(), 0).explored
    assert explored is not None
    measured = explored.increments.step_variance
    about = {"rounds": rounds, "c": tictactoe.C, "measured": [round(step, 3) for step in measured.tolist()]}
    return Outcome("steps", rows, about)
