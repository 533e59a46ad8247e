"""How often a search makes an optimal move of Tic-Tac-Toe: ours beside OpenSpiel's.

All 3,191 positions are looked at in which the move matters, symmetric ones counted separately.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from dagsearch import baselines
from dagsearch.games.openspiel import load_pyspiel
from dagsearch.games.players import SearchPlayer
from dagsearch.problems import TicTacToe
from experiments.harness.runner import Outcome, Row, run_rounds
from experiments.paper.tictactoe import minimax

GAME = TicTacToe(symmetric=False)
# Number of positions that one task looks at.
_TOGETHER = 64


class From(TicTacToe):
    """Tic-Tac-Toe from a position."""

    def __init__(self, board: str) -> None:
        super().__init__(symmetric=False)
        self._board = board

    def root(self) -> str:
        """The position."""
        return self._board


def positions_that_matter() -> list[str]:
    """All positions in which some move is better than another, sorted."""
    states: set[str] = set()
    level = {GAME.root()}
    while level:
        states |= level
        level = {GAME.step(state, action) for state in level for action in GAME.actions(state)}
    return sorted(
        state
        for state in states
        if len({minimax(GAME, GAME.step(state, action)) for action in GAME.actions(state)}) > 1
    )


def in_openspiel(board: str) -> Any:
    """The position as a ``pyspiel.State``."""
    state = load_pyspiel().load_game("tic_tac_toe").new_initial_state()
    crosses, noughts = ([i for i in range(9) if board[i] == sign] for sign in "XO")
    for turn in range(len(crosses) + len(noughts)):
        state.apply_action((crosses if turn % 2 == 0 else noughts)[turn // 2])
    return state


def uct_move(board: str, simulations: int, seed: int) -> int:
    """Of our UCT: a leaf that wins, else the most visited, as OpenSpiel decides."""
    search = baselines.uct(From(board), c=2.0**0.5, seed=seed)
    search.run(simulations)
    assert search.explored is not None
    graph = search.explored.graph

    def key(child: int) -> tuple[float, float, float]:
        mean = float(graph.sign[0] * graph.v_mean[child])
        return (mean if graph.terminal[child] else 0.0, float(graph.visits[child]), mean)

    return int(graph.states[max(graph.children(0).tolist(), key=key)].path[-1])


def openspiels_move(board: str, simulations: int, seed: int, solve: bool = False) -> int:
    """Of OpenSpiel's UCT, with its solver or without."""
    from open_spiel.python.algorithms import mcts

    rng = np.random.RandomState(seed)
    evaluator = mcts.RandomRolloutEvaluator(1, rng)
    game = load_pyspiel().load_game("tic_tac_toe")
    bot = mcts.MCTSBot(game, 2.0**0.5, simulations, evaluator, solve=solve, random_state=rng)
    return int(bot.step(in_openspiel(board)))


def player_move(board: str, simulations: int, seed: int) -> int:
    """Of our player."""
    return SearchPlayer(budget=simulations, seed=seed).step(in_openspiel(board))


METHODS: dict[str, Callable[[str, int, int], int]] = {
    "UCT": uct_move,
    "OpenSpiel's UCT": openspiels_move,
    "SearchPlayer": player_move,
    "OpenSpiel's UCT with its solver": lambda board, simulations, seed: openspiels_move(
        board, simulations, seed, solve=True
    ),
}
SIMULATIONS = {
    "UCT": (50, 200),
    "OpenSpiel's UCT": (50, 100, 200),
    "SearchPlayer": (50, 100),
    "OpenSpiel's UCT with its solver": (50, 100),
}


def run(quick: bool, jobs: int, progress: bool = True) -> Outcome:
    """Share of optimal moves by method and number of simulations."""
    positions = positions_that_matter()
    sample = positions[::64] if quick else positions
    tasks = [
        (method, simulations, sample[first : first + _TOGETHER], first)
        for method, budgets in SIMULATIONS.items()
        for simulations in budgets
        for first in range(0, len(sample), _TOGETHER)
    ]
    counted = run_rounds(some_positions, tasks, jobs, progress)
    rows = []
    for method, budgets in SIMULATIONS.items():
        for simulations in budgets:
            optimal = sum(row.value for row in counted if (row.method, row.step) == (method, simulations))
            rows.append(Row(method, "", 0, simulations, optimal / len(sample)))
    return Outcome("moves", rows, {"positions": len(sample), "c": 2.0**0.5, "seed": "a position's number"})


def some_positions(method: str, simulations: int, boards: list[str], first: int) -> list[Row]:
    """Number of optimal moves in some positions, of which the first has this number."""
    optimal = 0
    for seed, board in enumerate(boards, start=first):
        action = METHODS[method](board, simulations, seed)
        optimal += minimax(GAME, GAME.step(board, action)) == minimax(GAME, board)
    return [Row(method, "", 0, simulations, float(optimal))]
