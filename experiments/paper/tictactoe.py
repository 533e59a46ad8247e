"""Section 4.2: Tic-Tac-Toe against a perfect player."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dagsearch.methods import PRESETS
from dagsearch.problem import MAX
from dagsearch.problems import TicTacToe
from dagsearch.search import Search
from experiments.harness.drawing import curves_figure
from experiments.harness.runner import Outcome, Row, run_rounds
from experiments.paper.methods import OURS, SHOWN, SOFTMAX_NOISE, TICTACTOE, Make

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(quick: bool, jobs: int) -> Outcome:
    """Mean reward of the MAX player after every step: repetitions of the mean over some runs."""
    repetitions, runs, steps = (2, 2, 60) if quick else (25, 20, 500)
    tasks = [(method, number, runs, steps) for method in TICTACTOE for number in range(repetitions)]
    rows = run_rounds(one_repetition, tasks, jobs)
    settings = {"repetitions": repetitions, "runs": runs, "steps": steps}
    about = {"settings": settings, "softmax_noise": SOFTMAX_NOISE, **PRESETS["tictactoe"]}
    return Outcome("tictactoe", rows, about, {"tictactoe": draw(rows)})


def run_steps(quick: bool, jobs: int) -> Outcome:
    """The Brownian step as printed in the paper, ξ ~ N(0, c), compared with the covariance's own.

    A canonical board need not contain its canonical parent, so the covariance's own step is larger than c.
    """
    rounds, steps = (2, 5) if quick else (100, 200)
    compared = (OURS, f"{OURS}, steps of variance c")
    tasks = [(method, number, 1, steps) for method in compared for number in range(rounds)]
    explored = TICTACTOE[OURS](TicTacToe(), 0).explored
    assert explored is not None
    measured = [round(step, 3) for step in explored.increments.step_variance.tolist()]
    about = {"rounds": rounds, "c": PRESETS["tictactoe"]["c"], "measured": measured}
    return Outcome("steps", run_rounds(one_repetition, tasks, jobs), about)


def one_repetition(
    method: str, number: int, runs: int, steps: int, methods: Mapping[str, Make] = TICTACTOE
) -> list[Row]:
    """The mean over ``runs`` searches, one game each after every step."""
    game = TicTacToe()
    total = np.zeros(steps)
    for run_number in range(runs):
        seed = runs * number + run_number
        search, rng = methods[method](game, seed), np.random.default_rng([seed, 1])
        total += [play(search, game, rng) for _ in search.steps(steps)]
    return [
        Row(method, "", number, step, value) for step, value in enumerate((total / runs).tolist(), start=1)
    ]


def play(search: Search, game: TicTacToe, rng: np.random.Generator) -> float:
    """One game of MAX against a perfect MIN, which chooses at random among its best replies.

    MAX makes the move with the best mean value; outside the explored DAG, a random move.
    """
    problem = search.problem
    state = problem.root()
    while len(actions := problem.actions(state)) > 0:
        board = getattr(state, "state", state)
        if game.player(board) == MAX:
            action = search.best_action(state)
            candidates = actions if action is None else [action]
        else:
            value = minimax(game, board)
            candidates = [move for move in actions if minimax(game, game.step(board, move)) == value]
        state = problem.step(state, candidates[int(rng.integers(len(candidates)))])
    return float(problem.reward(state))


@cache
def minimax(game: TicTacToe, board: str) -> float:
    """Value of a board if both players play perfectly."""
    values = [minimax(game, game.step(board, action)) for action in game.actions(board)]
    if not values:
        return game.reward(board)
    return max(values) if game.player(board) == MAX else min(values)


def draw(rows: list[Row]) -> "Figure":
    """Mean reward against steps; the band is the deviation between repetitions."""
    shown = (row for row in rows if row.method in SHOWN)
    drawn = curves_figure(shown, "reward against a perfect opponent", "Tic-Tac-Toe")
    drawn.axes[0].axhline(0.0, color="black", linestyle=":", linewidth=1.0)
    return drawn
