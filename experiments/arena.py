"""Many games between players of the library and OpenSpiel's: run in parallel, scored with intervals.

Players are GRAVE and RAVE with a solver, GRAVE that also sees moves that end the game before it tries them,
the search of the paper, and OpenSpiel's Monte Carlo tree search without and with its solver. Every opening is
played twice, with seats exchanged.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dagsearch import baselines
from dagsearch.games.openspiel import OpenSpielGame, load_pyspiel
from dagsearch.games.players import SearchPlayer
from dagsearch.search import Search
from dagsearch.values.backups import MomentMatching
from dagsearch.values.proofs import WithProofs
from experiments.harness.markdown import aligned, table
from experiments.harness.peers import import_peer
from experiments.harness.runner import Outcome, Row, run_tasks


def paper(problem: Any, *, seed: np.random.Generator) -> Search:
    """The paper's search of a game whose rewards are ±1, with proofs."""
    backup = WithProofs(MomentMatching(prior=(0.0, 1.0)), *problem.reward_range)
    return Search.paper(problem, noise=1.0, backup=backup, seed=seed)


OF_THE_LIBRARY: dict[str, Callable[..., Search]] = {
    "grave": baselines.grave,
    "grave-ahead": partial(baselines.grave, look_ahead=True),
    "paper": paper,
    "rave": partial(baselines.grave, ref=0.0),
}
PLAYERS = (*OF_THE_LIBRARY, "mcts", "mcts-solver")
UCT_C = 2.0**0.5
"""Exploration constant of OpenSpiel's players."""
_Z = 1.96  # quantile of the normal distribution for 95 % intervals


class Pairing(NamedTuple):
    """A game, two players, and the roll-outs of both per move."""

    game: str
    """OpenSpiel's name, optionally with parameters, as in ``hex(board_size=5)``."""
    player: str
    """Whose score counts: one of :data:`PLAYERS`."""
    against: str
    """The opponent."""
    simulations: int
    """Roll-outs per move."""
    opening: int = 2
    """Number of random moves at the beginning, the same for both games of a pair."""
    seed: int = 0
    """Seeds openings and players, together with the game's number."""


def run(
    quick: bool = False,
    jobs: int = 1,
    games: Sequence[str] = ("connect_four", "hex(board_size=5)"),
    player: str = "grave-ahead",
    against: Sequence[str] = ("paper", "mcts-solver"),
    simulations: int = 100,
    count: int = 200,
    opening: int = 2,
    seed: int = 0,
    name: str = "arena",
) -> Outcome:
    """``count`` games of the player against every opponent in every game."""
    for unknown in {player, *against} - {*PLAYERS}:
        raise ValueError(f"there is no player {unknown!r}; there are {', '.join(PLAYERS)}")
    for game in games:
        OpenSpielGame(game)  # refuse a bad game now, before other games are played
    count, simulations = (2, 5) if quick else (count, simulations)
    pairings = [
        Pairing(game, player, other, simulations, opening, seed) for game in games for other in against
    ]
    tasks = [(pairing, number) for pairing in pairings for number in range(count)]
    rows = run_tasks(play_game, tasks, jobs)
    about = {"first seed": seed, "player": player, "simulations": simulations, "opening": opening}
    return Outcome(name, rows, about)


def play_game(pairing: Pairing, number: int) -> Row:
    """One game; its number determines the opening and our seat. The row's step is the number of moves."""
    game = load_pyspiel().load_game(pairing.game)
    state = random_opening(game, pairing.opening, np.random.default_rng([pairing.seed, number // 2]))
    seat = number % 2
    players = [_player(pairing.against, pairing, game, [pairing.seed, number, 2])] * 2
    players[seat] = _player(pairing.player, pairing, game, [pairing.seed, number, 1])
    while not state.is_terminal():
        state.apply_action(int(players[state.current_player()].step(state)))
    least, most = game.min_utility(), game.max_utility()
    score = float((state.returns()[seat] - least) / (most - least))
    named = f"{pairing.player} against {pairing.against}"
    return Row(named, f"{pairing.game}, {pairing.simulations} roll-outs", number, state.move_number(), score)


def _player(name: str, pairing: Pairing, game: Any, seed: Sequence[int]) -> Any:
    """One of :data:`PLAYERS`."""
    if name in OF_THE_LIBRARY:
        return SearchPlayer(OF_THE_LIBRARY[name], pairing.simulations, seed=np.random.default_rng(seed))
    drawn = int(np.random.default_rng(seed).integers(2**32))
    return openspiels_player(game, pairing.simulations, drawn, solve=name == "mcts-solver")


def openspiels_player(game: Any, simulations: int, seed: int, solve: bool = False) -> Any:
    """OpenSpiel's Monte Carlo tree search, with its solver or without."""
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


def interval(scores: Sequence[float]) -> tuple[float, float]:
    """Wilson's 95 % interval of a mean score; draws make it wider than necessary, never narrower."""
    mean, count = float(np.mean(scores)), len(scores)
    centre = (mean + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
    half = _Z / (1 + _Z**2 / count) * math.sqrt(mean * (1 - mean) / count + _Z**2 / (4 * count**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def summary(outcome: Outcome) -> str:
    """Score and counts of every pairing, as a table."""
    found: dict[tuple[str, str], list[float]] = {}
    for row in outcome.rows:
        found.setdefault((row.method, row.setting), []).append(row.value)
    lines = []
    for pairing, scores in found.items():
        low, high = interval(scores)
        counts = "/".join(str(scores.count(points)) for points in (1.0, 0.5, 0.0))
        lines.append([*pairing, f"{np.mean(scores):.3f}", f"{low:.3f}–{high:.3f}", counts])
    return aligned(table(["players", "game", "score", "95 % interval", "won/drawn/lost"], lines))
