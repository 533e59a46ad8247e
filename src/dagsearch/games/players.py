"""Players for OpenSpiel's games that choose moves by search."""

import math
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.checks import check, is_budget, is_positive
from dagsearch._internal.deadline import OutOfTime
from dagsearch.baselines import grave
from dagsearch.errors import SearchExhausted
from dagsearch.games.openspiel import OpenSpielGame, load_pyspiel
from dagsearch.proposers.descent import follow
from dagsearch.results import Gaussian
from dagsearch.search import Search


@dataclass(frozen=True)
class Opinion:
    """The belief of a search about a move, from the point of view of the player who moves."""

    action: int
    """The move, by OpenSpiel's number."""
    value: Gaussian
    """Belief over its reward with best play from there on."""
    visits: int
    """Number of descents through the move."""
    at_least: float
    """Proven lower bound of its reward."""
    at_most: float
    """Proven upper bound of its reward."""

    @property
    def proven(self) -> bool:
        """Whether its reward is certain."""
        return self.at_least == self.at_most


def opinions(search: Search) -> list[Opinion]:
    """The beliefs of a search about the moves at its root, in the order of the problem's actions."""
    explored, descent = search.explored, search.portfolio.descent
    assert explored is not None, "a player descends"
    assert descent is not None
    graph = explored.graph
    descent.expansion.expand(explored, explored.root)
    explored.outdated()
    options = descent.expansion.options(search.values, explored.root)
    if options is None:
        return []
    sign = options.sign
    lowest, highest = getattr(search.problem, "reward_range", (-math.inf, math.inf))
    known = options.children >= 0
    lower = np.where(known, np.maximum(graph.lower[options.children], lowest), lowest)
    upper = np.where(known, np.minimum(graph.upper[options.children], highest), highest)
    least, most = (lower, upper) if sign > 0 else (-upper, -lower)
    mean = np.clip(options.mean, least, most)
    variance = np.where(least == most, 0.0, options.variance)
    visits = np.where(known, graph.visits[options.children], 0)
    return [
        Opinion(
            action=options.action(option),
            value=Gaussian(float(mean[option]), float(variance[option])),
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
    - If the best lower bound is a move's exact reward, the candidate is chosen only if its mean is larger.
    """
    certain = max(known, key=lambda move: (move.at_least, move.value.mean))
    better = [move for move in known if move.at_most > certain.at_least]
    if not better:
        return certain
    favourite = max(better, key=lambda move: (move.visits, move.value.mean))
    return certain if certain.proven and certain.at_least >= favourite.value.mean else favourite


class SearchPlayer(load_pyspiel().Bot):  # type: ignore[misc]
    """An OpenSpiel bot that chooses every move by search; by default GRAVE, the best method for games.

    It plays any game that :class:`dagsearch.games.OpenSpielGame` accepts. Every move has its own search,
    which starts with the random games of the previous move that passed through its position.

    Parameters
    ----------
    make : callable, optional
        ``make(problem, seed=rng)`` returns a new search of an :class:`dagsearch.games.OpenSpielGame`, as the
        baselines do. By default :func:`dagsearch.baselines.grave` with ``look_ahead``.
    budget : int, optional
        Maximum number of random games per move; 100 by default without ``seconds``. Fewer if the position is
        solved.
    seconds : float, optional
        Maximum time per move, in seconds.
    seed : int, numpy Generator or None
        Source of all randomness.

    Examples
    --------
    >>> import pyspiel
    >>> state = pyspiel.load_game("tic_tac_toe").new_initial_state()
    >>> for move in (0, 3, 1, 4):
    ...     state.apply_action(move)
    >>> SearchPlayer(budget=20, seed=0).step(state)
    2
    """

    def __init__(
        self,
        make: Callable[..., Search] | None = None,
        budget: int | None = None,
        seconds: float | None = None,
        *,
        seed: int | np.random.Generator | None = None,
    ) -> None:
        super().__init__()
        whole = "a positive whole number of random games"
        check(budget is None or is_budget(budget), "budget", whole, budget)
        check(seconds is None or is_positive(seconds), "seconds", "positive and finite", seconds)
        self._make = partial(grave, look_ahead=True) if make is None else make
        self.budget = 100 if budget is None and seconds is None else budget
        self.seconds = seconds
        self.rng = np.random.default_rng(seed)
        self._game: OpenSpielGame | None = None
        self._root: list[int] = []
        self._played: list[_Game] = []
        self.search: Search | None = None
        """The search of the latest position."""
        self.rollouts = 0
        """Number of random games played so far, over all moves."""

    # Called by OpenSpiel ----------------------------------------------------------------------------

    def step(self, state: Any) -> int:
        """The move to make at a ``pyspiel.State``."""
        return best_move(self.think(state)).action

    def restart(self) -> None:
        """Forget everything: a new game begins."""
        self.search, self._played = None, []

    def restart_at(self, state: Any) -> None:
        """Forget everything: a new game begins at ``state``."""
        self.restart()

    # Searching --------------------------------------------------------------------------------------

    def think(self, state: Any) -> list[Opinion]:
        """Search from a position; returns the beliefs about its moves."""
        if state.is_terminal():
            raise ValueError(f"the game is over, so there is no move to choose:\n{state}")
        end = math.inf if self.seconds is None else time.perf_counter() + self.seconds
        self._played, self._root = self._games_through(state), state.history()
        assert self._game is not None
        search = self.search = self._make(self._game.from_state(state), seed=self.rng)
        for game in self._played:
            _replay(search, game)
        # It ends early if the position is solved.
        with suppress(SearchExhausted, OutOfTime), search.deadline.until(end):
            for _ in count() if self.budget is None else range(self.budget):
                search.deadline.check()
                proposal = search.ask()
                reward = search.problem.reward(proposal.leaf)
                search.tell(proposal, reward)
                self.rollouts += 1
                self._played.append(_Game(tuple(proposal.actions), len(proposal.path) - 1, reward))
        return opinions(search)

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
    """Number of moves made by the descent; the others were random."""
    reward: float
    """Its reward."""


def _replay(search: Search, game: _Game) -> None:
    """Repeat a descent of another search, with its reward."""
    explored, descent = search.explored, search.portfolio.descent
    assert explored is not None, "a player descends"
    assert descent is not None
    leaf, chosen = search.space.replayed(game.actions), game.actions[: game.descended]
    path = follow(explored, descent.expansion, chosen)
    descent.expansion.expand(explored, path[-1])
    made = explored.visited(path, chosen, (leaf, game.actions[game.descended :]))
    search.tell(search.add_pending(made), game.reward)
