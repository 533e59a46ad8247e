"""Players for OpenSpiel's games that choose their moves by probabilistic DAG search."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.checks import is_finite, is_whole
from dagsearch._internal.deadline import OutOfTime
from dagsearch.covariances import Covariance
from dagsearch.errors import SearchExhausted
from dagsearch.games.covariances import Moves, suitable
from dagsearch.games.openspiel import OpenSpielGame, load_pyspiel
from dagsearch.games.policy import MoveBounds, MoveValues
from dagsearch.methods import Parts
from dagsearch.posterior import scores_for
from dagsearch.posterior.weights import WeightScores
from dagsearch.proposers.descent import Descent
from dagsearch.proposers.expansions import AllChildren, ChildAndLeaves
from dagsearch.proposers.policies import UpperConfidence
from dagsearch.proposers.rollouts import RandomGame
from dagsearch.results import Gaussian
from dagsearch.search import Search
from dagsearch.values.backups import MomentMatching
from dagsearch.values.increments import Increments
from dagsearch.values.proofs import WithProofs

# Variance of a random game's reward around the model's score of its last position: rewards of ±1 are far from
# linear in the pieces.
_NOISE = 1.0
# Exploration constants for values without and with a maximum.
_BETA, _BETA_OF_MAXIMA = 0.4, 1.0


def game_search(
    problem: OpenSpielGame,
    *,
    covariance: Covariance | None = None,
    noise: float = _NOISE,
    beta: float | None = None,
    seed: int | np.random.Generator | None = None,
) -> Search:
    """The search that :class:`DAGSearchPlayer` uses.

    Every evaluation is one random game to the end. Moves that end the game are known before they are tried,
    and moves whose outcome is proven are not searched again. Where positions are alike by their moves, a game
    adds one position to the DAG, and values are those of :mod:`dagsearch.games.policy`: there is no maximum
    and no Δ, which overestimate what is uncertain. With other covariances, values are the paper's, and
    positions enter the DAG with all their moves.

    Parameters
    ----------
    problem : OpenSpielGame
        The game to search, from its root.
    covariance : Covariance, optional
        Which positions are alike; by default those with the same moves since the root, see
        :class:`dagsearch.games.covariances.Moves`, or with the same pieces where moves may add several.
    noise : float
        Variance of a random game's reward.
    beta : float, optional
        Exploration constant; by default 0.4 for values without and 1 for values with a maximum.
    seed : int, numpy Generator or None
        Source of all randomness.
    """
    return Search(problem, seed=seed, **game_parts(problem, covariance, noise, beta))


def game_parts(
    problem: OpenSpielGame,
    covariance: Covariance | None = None,
    noise: float = _NOISE,
    beta: float | None = None,
) -> Parts:
    """The parts of :func:`game_search`, which documents the arguments.

    A search with a journal needs them a second time: ``Search(problem, journal="run.db",
    **game_parts(problem))`` is resumed by ``Search.resume("run.db", problem, **game_parts(problem))``.
    """
    covariance = suitable(problem) if covariance is None else covariance
    if isinstance(covariance, Moves):
        scores = WeightScores(covariance, noise)
        values = MoveValues(scores, problem.moves, problem.move_numbers)
        backup = WithProofs(values, *problem.reward_range)
        bounds_of_moves = MoveBounds(values, backup, _BETA if beta is None else beta)
        return {
            "scores": scores,
            "proposers": Descent(bounds_of_moves, RandomGame(), ChildAndLeaves()),
            "backup": backup,
            "increments": Increments([], 0.0),
        }
    bounds = UpperConfidence(_BETA_OF_MAXIMA if beta is None else beta)
    return {
        "scores": scores_for(covariance, noise),
        "proposers": Descent(bounds, RandomGame(), AllChildren()),
        "backup": WithProofs(MomentMatching(prior=(0.0, 1.0)), *problem.reward_range),
        "increments": Increments.of(problem, covariance),
    }


@dataclass(frozen=True)
class Opinion:
    """What a search believes about a move, from the point of view of the player who moves."""

    action: int
    """The move, by OpenSpiel's number."""
    value: Gaussian
    """Belief over its reward with best play from there on."""
    visits: int
    """Number of descents that took it."""
    at_least: float
    """Proven lower bound of its reward."""
    at_most: float
    """Proven upper bound of its reward."""

    @property
    def proven(self) -> bool:
        """Whether its reward is certain."""
        return self.at_least == self.at_most


def opinions(search: Search) -> list[Opinion]:
    """What a search believes about each move at its root, in the order of the problem's actions."""
    explored, graph, descent = search.explored, search.explored.graph, search.portfolio.descent
    assert descent is not None, "a player descends"
    descent.expansion.expand(explored, explored.root)
    search.values.outdated()
    search.values.current()
    options = descent.expansion.options(explored, explored.root)
    if options is None:
        return []
    sign, (lowest, highest) = options.sign, search.space.reward_range or (-math.inf, math.inf)
    known = options.children >= 0
    mean = np.clip(sign * options.mean, lowest, highest)  # what no game can earn is not shown
    lower = np.where(known, graph.lower[options.children], lowest)
    upper = np.where(known, graph.upper[options.children], highest)
    visits = np.where(known, graph.visits[options.children], 0)
    least, most = (lower, upper) if sign > 0 else (-upper, -lower)
    return [
        Opinion(
            action=options.action(option),
            value=Gaussian(float(sign * mean[option]), float(options.variance[option])),
            visits=int(visits[option]),
            at_least=float(least[option]),
            at_most=float(most[option]),
        )
        for option in range(known.size)
    ]


def best_move(known: Sequence[Opinion]) -> Opinion:
    """The move to make.

    - A proven reward is never given away: moves that cannot beat the best proven lower bound are ignored.
    - Among the moves that can beat it, the most visited is the candidate; ties go to the larger mean.
    - If the best lower bound is a move's exact reward, the candidate is made only if its mean is larger.
    """
    certain = max(known, key=lambda move: (move.at_least, move.value.mean))
    better = [move for move in known if move.at_most > certain.at_least]
    if not better:
        return certain
    favourite = max(better, key=lambda move: (move.visits, move.value.mean))
    return certain if certain.proven and certain.at_least >= favourite.value.mean else favourite


class SearchPlayer(load_pyspiel().Bot):  # type: ignore[misc]
    """A bot of OpenSpiel that makes every move by a search, such as one of :mod:`dagsearch.baselines`.

    Every move has a search of its own, which begins with the random games through its position that were
    played for the move before. The others are dropped: they say less about the rest of the game.

    Parameters
    ----------
    make : callable
        ``make(problem, seed=rng)`` returns a new search of an :class:`dagsearch.problems.OpenSpielGame`.
    budget : int, optional
        Maximum number of random games per move; 100 if ``seconds`` is not given either. No more are played
        once the position is solved.
    seconds : float, optional
        Maximum time per move, in seconds.
    seed : int, numpy Generator or None
        Source of all randomness.

    Examples
    --------
    >>> import pyspiel
    >>> from dagsearch import baselines
    >>> state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    >>> for move in (0, 3, 1, 4):
    ...     state.apply_action(move)
    >>> SearchPlayer(baselines.grave, budget=20, seed=0).step(state)
    2
    """

    def __init__(
        self,
        make: Callable[..., Search],
        budget: int | None = None,
        seconds: float | None = None,
        *,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__()
        if budget is not None and (not is_whole(budget) or budget < 1):
            raise ValueError(f"budget must be a positive whole number of random games, got {budget!r}")
        if seconds is not None and (not is_finite(seconds) or seconds <= 0.0):
            raise ValueError(f"seconds must be positive and finite, got {seconds!r}")
        self._make = make
        self.budget = 100 if budget is None and seconds is None else budget
        self.seconds = seconds
        self.rng = np.random.default_rng(seed)
        self._game: OpenSpielGame | None = None
        self._root: list[int] = []
        self._played: list[_Game] = []
        self.search: Search | None = None
        """The search from the last position it was asked about."""
        self.rollouts = 0
        """Random games played so far, over all moves."""

    # Called by OpenSpiel ----------------------------------------------------------------------------

    def step(self, state: Any) -> int:
        """The move to make at a ``pyspiel.State``."""
        return best_move(self.think(state)).action

    def step_with_policy(self, state: Any) -> tuple[list[tuple[int, float]], int]:
        """All moves with the probability of making them, and the move to make."""
        chosen = self.step(state)
        return [(action, float(action == chosen)) for action in state.legal_actions()], chosen

    def restart(self) -> None:
        """Forget everything: a new game begins."""
        self.search, self._played = None, []

    def restart_at(self, state: Any) -> None:
        """Forget everything: a new game begins at ``state``."""
        self.restart()

    def inform_action(self, state: Any, player_id: int, action: int) -> None:
        """Do nothing: the next position says which action was taken."""

    def provides_policy(self) -> bool:
        """True: :meth:`step_with_policy` is implemented."""
        return True

    # Searching --------------------------------------------------------------------------------------

    def think(self, state: Any) -> list[Opinion]:
        """Search from a position; returns what is then believed about each move there."""
        if state.is_terminal():
            raise ValueError(f"the game is over, there is no move to choose:\n{state}")
        end = math.inf if self.seconds is None else time.perf_counter() + self.seconds
        search = self.search = self._search_from(state)
        # It ends early where the position is solved.
        with suppress(SearchExhausted, OutOfTime), search.deadline.until(end):
            for _ in count() if self.budget is None else range(self.budget):
                search.deadline.check()
                proposal = search.ask()
                reward = search.problem.reward(proposal.leaf)
                search.tell(proposal, reward)
                self.rollouts += 1
                self._played.append(_Game(tuple(proposal.actions), len(proposal.path) - 1, reward))
        return opinions(search)

    def _search_from(self, state: Any) -> Search:
        """A search from a position that already knows the random games that passed through it."""
        kept, self._root = self._games_through(state), state.history()
        assert self._game is not None
        search = self._make(self._game.from_state(state), seed=self.rng)
        for game in kept:
            _replay(search, game)
        self._played = kept
        return search

    def _games_through(self, state: Any) -> list["_Game"]:
        """Random games through a position, from that position on; none if another game has begun."""
        name, now, before = str(state.get_game()), state.history(), len(self._root)
        if self._game is None or str(self._game.game) != name:
            self._game, self._played = OpenSpielGame(name), []
        if now[:before] != self._root:
            return []
        made = tuple(now[before:])
        return [
            _Game(game.actions[len(made) :], game.descended - len(made), game.reward)
            for game in self._played
            if game.actions[: len(made)] == made and game.descended >= len(made)
        ]


class _Game(NamedTuple):
    """A random game."""

    actions: tuple[int, ...]
    """Its moves."""
    descended: int
    """Number of moves that the descent has made; the others were random."""
    reward: float
    """Its reward."""


def _replay(search: Search, game: _Game) -> None:
    """Let a search repeat a descent of another search, and tell it the reward."""
    explored, descent = search.explored, search.portfolio.descent
    assert descent is not None, "a player descends"
    leaf, chosen = search.space.replayed(game.actions), game.actions[: game.descended]
    path = descent.expansion.adopt(explored, chosen)
    descent.expansion.expand(explored, path[-1])
    search.tell(explored.visited(path, chosen, (leaf, game.actions[game.descended :])), game.reward)


class DAGSearchPlayer(SearchPlayer):
    """A bot of OpenSpiel that plays any game that :class:`dagsearch.problems.OpenSpielGame` accepts.

    It plays by :func:`game_search`.

    Parameters
    ----------
    budget, seconds, seed
        As for :class:`SearchPlayer`.

    Examples
    --------
    >>> import pyspiel
    >>> state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    >>> for move in (0, 3, 1, 4):
    ...     state.apply_action(move)
    >>> DAGSearchPlayer(budget=20, seed=0).step(state)
    2
    """

    def __init__(
        self,
        budget: int | None = None,
        seconds: float | None = None,
        *,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__(game_search, budget, seconds, seed=seed)
