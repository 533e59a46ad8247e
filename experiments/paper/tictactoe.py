"""Section 4.2: Tic-Tac-Toe against a perfect player."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from dagsearch import baselines
from dagsearch.methods import PRESETS
from dagsearch.problem import MAX
from dagsearch.problems import TicTacToe
from dagsearch.search import Search
from dagsearch.values.backups import MomentMatching, Softmax
from experiments.harness.drawing import curves_figure
from experiments.harness.runner import Outcome, Row, run_rounds
from experiments.paper.ablations import with_leaf_bonus

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SETTINGS = PRESETS["tictactoe"]
C, NOISE, BETA = _SETTINGS["c"], _SETTINGS["noise"], _SETTINGS["beta"]
SOFTMAX_NOISE = 0.001


def _paper(game: TicTacToe, seed: int, **settings: Any) -> Search:
    return Search.paper(game, preset="tictactoe", seed=seed, **settings)


Methods = dict[str, Callable[[TicTacToe, int], Search]]

METHODS: Methods = {
    "probabilistic DAG": _paper,
    "probabilistic DAG, softmax": lambda game, seed: _paper(
        game, seed, noise=SOFTMAX_NOISE, backup=Softmax()
    ),
    "probabilistic tree": lambda game, seed: baselines.probabilistic_tree(
        game, c=C, noise=NOISE, beta=BETA, seed=seed
    ),
    "UCT": lambda game, seed: baselines.uct(game, c=BETA, seed=seed),
    "UCD": lambda game, seed: baselines.ucd(game, c=BETA, seed=seed),
    "UCT, bonus for leaves too": lambda game, seed: with_leaf_bonus(baselines.uct(game, c=BETA, seed=seed)),
    "UCD, bonus for leaves too": lambda game, seed: with_leaf_bonus(baselines.ucd(game, c=BETA, seed=seed)),
    "probabilistic DAG, no prior": lambda game, seed: _paper(game, seed, backup=MomentMatching()),
    "probabilistic DAG, prior on increments too": lambda game, seed: _paper(
        game, seed, increment_prior=(0.0, 1.0)
    ),
    "probabilistic DAG, steps of variance c": lambda game, seed: _paper(game, seed, step_variance=C),
}
SHOWN = tuple(METHODS)[:5]


@dataclass(frozen=True)
class Settings:
    """Size of the experiment: ``repetitions`` of the mean over ``runs``."""

    repetitions: int = 25
    runs: int = 20
    steps: int = 500


QUICK = Settings(repetitions=2, runs=2, steps=60)


def run(quick: bool, jobs: int) -> Outcome:
    """Mean reward of the MAX player after every step."""
    settings = QUICK if quick else Settings()
    tasks = [
        (method, number, settings.runs, settings.steps)
        for method in METHODS
        for number in range(settings.repetitions)
    ]
    rows = run_rounds(one_repetition, tasks, jobs)
    about = {
        "settings": asdict(settings),
        "c": C,
        "noise": NOISE,
        "softmax_noise": SOFTMAX_NOISE,
        "beta": BETA,
    }
    return Outcome("tictactoe", rows, about, {"tictactoe": draw(rows)})


def one_repetition(method: str, number: int, runs: int, steps: int, methods: Methods = METHODS) -> list[Row]:
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
    """One game of MAX against a perfect MIN, which picks at random among its best replies.

    MAX makes the move with the best mean value; outside the explored part, a random move.
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


def minimax(game: TicTacToe, board: str) -> float:
    """Value of a board if both players play perfectly."""
    return _minimax(game.symmetric, board)


@cache
def _minimax(symmetric: bool, board: str) -> float:
    game = TicTacToe(symmetric)
    values = [_minimax(symmetric, game.step(board, action)) for action in game.actions(board)]
    if not values:
        return game.reward(board)
    return max(values) if game.player(board) == MAX else min(values)


def draw(rows: list[Row]) -> "Figure":
    """Mean reward against steps; the band is the deviation between repetitions."""
    shown = (row for row in rows if row.method in SHOWN)
    drawn = curves_figure(shown, "reward against a perfect opponent", "Tic-Tac-Toe", band=True)
    drawn.axes[0].axhline(0.0, color="black", linestyle=":", linewidth=1.0)
    return drawn
