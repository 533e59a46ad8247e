"""``python -m experiments benchmark arena``: players of games against each other, scored with intervals.

The library's GRAVE and RAVE, and OpenSpiel's Monte Carlo tree search. Every opening is played twice, with
seats exchanged.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.stats import binomtest

from dagsearch import baselines
from dagsearch.games.openspiel import load_pyspiel
from dagsearch.games.players import SearchPlayer
from dagsearch.search import Search
from experiments.harness.markdown import aligned, table
from experiments.harness.peers import import_peer
from experiments.harness.runner import Outcome, Row, run_rounds

OF_THE_LIBRARY: dict[str, Callable[..., Search]] = {
    "GRAVE": baselines.grave,
    "RAVE": partial(baselines.grave, ref=0.0),
}
PAIRS = (("GRAVE", "RAVE"), ("GRAVE", "UCT"), ("RAVE", "UCT"))
"""A player whose score counts, and the opponent."""
GAMES = {"Hex, 5 × 5": "hex(board_size=5)", "Breakthrough, 5 × 5": "breakthrough(rows=5,columns=5)"}
"""OpenSpiel's names of the games."""
COUNT, SIMULATIONS, OPENING, SEED = 40, 100, 2, 401
"""Games of a pairing; roll-outs per move; random moves at the start, the same for both games of a pair."""
UCT_C = 2.0**0.5
"""Exploration constant of OpenSpiel's player."""


def run(quick: bool = False, jobs: int = 1) -> Outcome:
    """Play all pairings in all games."""
    count, simulations = (2, 5) if quick else (COUNT, SIMULATIONS)
    tasks = [
        (name, game, player, against, number, simulations)
        for name, game in GAMES.items()
        for player, against in PAIRS
        for number in range(count)
    ]
    rows = run_rounds(_played, tasks, jobs)
    return Outcome("arena", rows, {"games": GAMES, "simulations": simulations, "opening": OPENING})


def _played(name: str, game: str, player: str, against: str, number: int, simulations: int) -> list[Row]:
    """One game; the row's step is the number of roll-outs per move."""
    value = score(game, player, against, number, simulations)
    return [Row(f"{player} against {against}", name, number, simulations, value)]


def score(
    name: str, player: str, against: str, number: int, simulations: int = SIMULATIONS, seed: int = SEED
) -> float:
    """The player's score in one game, from 0 to 1; its number determines the opening and the seat.

    ``name`` is OpenSpiel's; the players are ``GRAVE``, ``RAVE`` or ``UCT``.
    """
    game = load_pyspiel().load_game(name)
    state = random_opening(game, OPENING, np.random.default_rng([seed, number // 2]))
    seat = number % 2
    players = [_player(against, simulations, game, [seed, number, 2])] * 2
    players[seat] = _player(player, simulations, game, [seed, number, 1])
    while not state.is_terminal():
        state.apply_action(int(players[state.current_player()].step(state)))
    least, most = game.min_utility(), game.max_utility()
    return float((state.returns()[seat] - least) / (most - least))


def _player(name: str, simulations: int, game: Any, seed: Sequence[int]) -> Any:
    """A player of the library, or OpenSpiel's."""
    if name in OF_THE_LIBRARY:
        return SearchPlayer(OF_THE_LIBRARY[name], simulations, seed=np.random.default_rng(seed))
    drawn = int(np.random.default_rng(seed).integers(2**32))
    return openspiels_player(game, simulations, drawn)


def openspiels_player(game: Any, simulations: int, seed: int, solve: bool = False) -> Any:
    """OpenSpiel's Monte Carlo tree search, with or without its solver."""
    mcts = import_peer("open_spiel.python.algorithms.mcts")
    rng = np.random.RandomState(seed)
    evaluator = mcts.RandomRolloutEvaluator(1, rng)
    return mcts.MCTSBot(game, UCT_C, simulations, evaluator, solve=solve, random_state=rng)


def random_opening(game: Any, moves: int, rng: np.random.Generator) -> Any:
    """A position after ``moves`` random moves at which the game is not over."""
    while True:
        state = game.new_initial_state()
        for _ in range(moves):
            if not state.is_terminal():
                state.apply_action(int(rng.choice(state.legal_actions())))
        if not state.is_terminal():
            return state


def scores_table(rows: Sequence[Row]) -> str:
    """Score of every pairing with its interval, by game."""
    lines = []
    for game in GAMES:
        cells = [game]
        for player, against in PAIRS:
            named = f"{player} against {against}"
            found = [row.value for row in rows if (row.setting, row.method) == (game, named)]
            low, high = binomtest(round(sum(found)), len(found)).proportion_ci(method="wilson")
            cells.append(f"{np.mean(found):.2f} ({low:.2f}–{high:.2f})")
        lines.append(cells)
    return table(["game", *(f"{player} against {against}" for player, against in PAIRS)], lines)


def summary(outcome: Outcome) -> str:
    """The scores for a terminal."""
    return aligned(scores_table(outcome.rows))
