"""How often a search makes an optimal move in Tic-Tac-Toe: ours against OpenSpiel's.

All 3,191 positions in which the move matters are tested, symmetric ones separately.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from dagsearch import baselines
from dagsearch.games.openspiel import load_pyspiel
from dagsearch.games.players import SearchPlayer
from dagsearch.problems import TicTacToe
from experiments.arena import openspiels_player
from experiments.harness.runner import Outcome, Row, run_tasks
from experiments.paper.counts import states_by_paths
from experiments.paper.tictactoe import minimax

GAME = TicTacToe(symmetric=False)


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
    return sorted(
        state
        for state in states_by_paths(GAME)
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
    """The move of our UCT: a winning leaf, else the most visited child, as in OpenSpiel."""
    search = baselines.uct(From(board), c=2.0**0.5, seed=seed)
    search.run(simulations)
    assert search.explored is not None
    graph = search.explored.graph

    def key(child: int) -> tuple[float, float, float]:
        mean = float(graph.sign[0] * graph.v_mean[child])
        return (mean if graph.terminal[child] else 0.0, float(graph.visits[child]), mean)

    return int(graph.states[max(graph.children(0).tolist(), key=key)].path[-1])


def openspiels_move(board: str, simulations: int, seed: int, solve: bool = False) -> int:
    """The move of OpenSpiel's UCT, with or without its solver."""
    state = in_openspiel(board)
    return int(openspiels_player(state.get_game(), simulations, seed, solve).step(state))


def player_move(board: str, simulations: int, seed: int) -> int:
    """The move of our player."""
    return SearchPlayer(budget=simulations, seed=seed).step(in_openspiel(board))


METHODS: dict[str, tuple[Callable[[str, int, int], int], tuple[int, ...]]] = {
    "UCT": (uct_move, (50, 200)),
    "OpenSpiel's UCT": (openspiels_move, (50, 100, 200)),
    "SearchPlayer": (player_move, (50, 100)),
    "OpenSpiel's UCT with its solver": (partial(openspiels_move, solve=True), (50, 100)),
}
"""The methods and their numbers of simulations."""


def run(quick: bool, jobs: int) -> Outcome:
    """Share of optimal moves by method and number of simulations."""
    positions = positions_that_matter()[:: 400 if quick else 1]
    settings = [(method, count) for method, (_, counts) in METHODS.items() for count in counts]
    tasks = [(*setting, board, seed) for setting in settings for seed, board in enumerate(positions)]
    optimal = np.reshape(run_tasks(is_optimal, tasks, jobs), (len(settings), -1)).mean(axis=1)
    rows = [
        Row(method, "", 0, count, share) for (method, count), share in zip(settings, optimal, strict=True)
    ]
    return Outcome("moves", rows, {"positions": len(positions), "seed": "a position's number"})


def is_optimal(method: str, simulations: int, board: str, seed: int) -> bool:
    """Whether a method makes an optimal move in a position."""
    action = METHODS[method][0](board, simulations, seed)
    return minimax(GAME, GAME.step(board, action)) == minimax(GAME, board)
