"""Single games between our player and others."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dagsearch import baselines
from dagsearch.games.openspiel import load_pyspiel
from dagsearch.games.players import SearchPlayer
from dagsearch.search import Search
from dagsearch.values.backups import MomentMatching
from dagsearch.values.proofs import WithProofs


def paper(problem: Any, *, seed: np.random.Generator) -> Search:
    """The paper's search of a game whose rewards are ±1, with proofs."""
    backup = WithProofs(MomentMatching(prior=(0.0, 1.0)), *problem.reward_range)
    return Search.paper(problem, noise=1.0, backup=backup, seed=seed)


PLAYERS = ("grave", "grave-ahead", "rave", "paper", "mcts", "mcts-solver")
"""GRAVE and RAVE with a solver, GRAVE that also sees moves that end the game before it tries them, the search
of the paper, and OpenSpiel's Monte Carlo tree search without and with its solver."""
_OF_THE_LIBRARY: dict[str, Callable[..., Search]] = {
    "grave": baselines.grave,
    "grave-ahead": partial(baselines.grave, look_ahead=True),
    "paper": paper,
    "rave": partial(baselines.grave, ref=0.0),
}
# Simulations of its first move, from which an opponent with a time limit measures its speed.
_FIRST_SIMULATIONS = 20


class Record(NamedTuple):
    """One game: a line of the arena's CSV file."""

    game: str
    """OpenSpiel's name, with parameters."""
    against: str
    """One of :data:`PLAYERS`."""
    budget: str
    """Budget of both players per move: ``100 roll-outs`` or ``0.05 s``."""
    number: int
    """Number of the game; games 2 i and 2 i + 1 have the same opening and seats exchanged."""
    seat: int
    """Our seat; 0 moves first."""
    opening: str
    """The random moves at the beginning."""
    score: float
    """Our score: 1 for a win, 0.5 for a draw."""
    moves: int
    """Number of moves of the game."""
    our_rollouts: float
    """Our roll-outs per move; not a number if OpenSpiel's player plays for us."""
    our_seconds: float
    """Our seconds per move."""
    their_seconds: float
    """The opponent's seconds per move."""


@dataclass(frozen=True)
class Pairing:
    """A game, an opponent, and the budget of both players."""

    game: str
    """OpenSpiel's name, optionally with parameters, as in ``hex(board_size=5)``."""
    against: str
    """One of :data:`PLAYERS`."""
    simulations: int | None
    """Roll-outs per move of both players; ``None`` if ``seconds`` limits them."""
    seconds: float | None
    """Seconds per move of both players; ``None`` if ``simulations`` limits them."""
    opening: int
    """Number of random moves at the beginning, the same for both games of a pair."""
    uct_c: float
    """The opponent's exploration constant."""
    seed: int
    """Seeds openings and players, together with the game's number."""
    player: str = "grave-ahead"
    """Who plays against them: one of :data:`PLAYERS`."""

    @property
    def budget(self) -> str:
        """Budget of both players per move."""
        return f"{self.seconds:g} s" if self.seconds is not None else f"{self.simulations} roll-outs"


class _Clocked:
    """A player whose moves are timed."""

    def __init__(self, player: Any) -> None:
        self.player = player
        self.seconds = 0.0
        self.moves = 0

    def step(self, state: Any) -> int:
        began = time.perf_counter()
        action = int(self.player.step(state))
        self.seconds += time.perf_counter() - began
        self.moves += 1
        return action

    def mean_seconds(self) -> float:
        return self.seconds / max(1, self.moves)


class _TimedMCTS:
    """OpenSpiel's search with a time limit: simulations by the speed of the previous move."""

    def __init__(self, bot: Any, seconds: float) -> None:
        self._bot = bot
        self._seconds = seconds
        self._bot.max_simulations = _FIRST_SIMULATIONS

    def step(self, state: Any) -> int:
        if self._bot.max_simulations == _FIRST_SIMULATIONS:
            self._timed(state)
        return self._timed(state)

    def _timed(self, state: Any) -> int:
        began = time.perf_counter()
        action = self._bot.step(state)
        spent = max(time.perf_counter() - began, 1e-6)
        self._bot.max_simulations = max(1, round(self._bot.max_simulations * self._seconds / spent))
        return int(action)


def _player(name: str, pairing: Pairing, game: Any, seed: Sequence[int]) -> Any:
    """One of :data:`PLAYERS`."""
    limits = pairing.simulations, pairing.seconds
    if name in _OF_THE_LIBRARY:
        return SearchPlayer(_OF_THE_LIBRARY[name], *limits, seed=np.random.default_rng(seed))
    from open_spiel.python.algorithms import mcts

    random_state = np.random.RandomState(np.random.default_rng(seed).integers(2**32))
    bot = mcts.MCTSBot(
        game,
        pairing.uct_c,
        pairing.simulations or _FIRST_SIMULATIONS,
        mcts.RandomRolloutEvaluator(1, random_state),
        solve=name == "mcts-solver",
        random_state=random_state,
    )
    return bot if pairing.seconds is None else _TimedMCTS(bot, pairing.seconds)


def random_opening(game: Any, moves: int, rng: np.random.Generator) -> Any:
    """A position after ``moves`` random moves at which the game is not over."""
    while True:
        state = game.new_initial_state()
        for _ in range(moves):
            if not state.is_terminal():
                state.apply_action(int(rng.choice(state.legal_actions())))
        if not state.is_terminal():
            return state


def play_game(pairing: Pairing, number: int) -> Record:
    """One game; its number determines the opening and our seat."""
    game = load_pyspiel().load_game(pairing.game)
    state = random_opening(game, pairing.opening, np.random.default_rng([pairing.seed, number // 2]))
    opening, seat = state.history(), number % 2
    ours = _player(pairing.player, pairing, game, [pairing.seed, number, 1])
    us, them = _Clocked(ours), _Clocked(_player(pairing.against, pairing, game, [pairing.seed, number, 2]))
    while not state.is_terminal():
        state.apply_action((us if state.current_player() == seat else them).step(state))
    return Record(
        game=pairing.game,
        against=pairing.against,
        budget=pairing.budget,
        number=number,
        seat=seat,
        opening=" ".join(map(str, opening)),
        score=_score(state, game, seat),
        moves=state.move_number(),
        our_rollouts=getattr(ours, "rollouts", math.nan) / max(1, us.moves),
        our_seconds=us.mean_seconds(),
        their_seconds=them.mean_seconds(),
    )


def _score(state: Any, game: Any, seat: int) -> float:
    """Our return, scaled to 0 for the worst and 1 for the best."""
    return float((state.returns()[seat] - game.min_utility()) / (game.max_utility() - game.min_utility()))
