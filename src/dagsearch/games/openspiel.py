"""Games of OpenSpiel as problems."""

import importlib
from collections.abc import Hashable, Sequence
from copy import copy
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagsearch._internal.hints import did_you_mean
from dagsearch._internal.typing import IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import MAX, MIN


class Position:
    """A position of a game: immutable, and equal to positions from which the game continues alike."""

    def __init__(self, state: Any) -> None:
        self.state = state
        """The ``pyspiel.State``; clone it instead of changing it."""

    @cached_property
    def key(self) -> Hashable:
        """The identity of the position.

        The observation, or OpenSpiel's text if a game has no observation; the number of moves, which
        excludes cycles; the player to move; the legal moves; and the reward of a final position.
        """
        state, end = self.state, None if self.actions else self.state.returns()[0]
        observed = _observed(state)
        # The text may mark the last move, which would separate equal positions.
        board = str(state) if observed is None else observed.tobytes()
        return state.move_number(), state.current_player(), end, tuple(self.actions), board

    @cached_property
    def actions(self) -> list[int]:
        """Legal moves, by OpenSpiel's numbers."""
        found: list[int] = self.state.legal_actions()
        return found

    @property
    def history(self) -> tuple[int, ...]:
        """The moves that led here; if there are several paths, the one by which this object was made."""
        return tuple(self.state.history())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Position) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        return str(self.state)

    def __repr__(self) -> str:
        return f"Position({str(self.state.get_game())!r}, moves={list(self.history)})"


def _observed(state: Any) -> NDArray[np.float32] | None:
    """OpenSpiel's observation of player 0, overwritten by the next call; ``None`` if a game has none."""
    game = state.get_game()
    if not game.get_type().provides_observation_tensor:
        return None
    observation, buffer = _observation_of(str(game))
    observation.set_from(state, 0)
    return buffer


@lru_cache(maxsize=64)
def _observation_of(game: str) -> tuple[Any, NDArray[np.float32]]:
    pyspiel = load_pyspiel()
    kind = pyspiel.IIGObservationType(
        perfect_recall=False, public_info=True, private_info=pyspiel.PrivateInfoType.SINGLE_PLAYER
    )
    loaded = pyspiel.load_game(game)
    observation = pyspiel._Observation(loaded, loaded.make_observer(kind, {}))
    return observation, np.frombuffer(observation, np.float32)


def load_pyspiel() -> Any:
    """The module ``pyspiel``, or an error that explains how to install it."""
    try:
        return importlib.import_module("pyspiel")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("games need OpenSpiel: pip install 'dagsearch[games]'") from error


class OpenSpielGame:
    """A game of OpenSpiel: two players in turns, zero-sum, deterministic, with perfect information.

    MAX is OpenSpiel's player 0; the reward is that player's final utility. A state is a :class:`Position`:
    equal boards with the same player to move after the same number of moves are one state. (Rules about
    repetition depend on earlier positions; states that differ only in these are merged, too.) To merge
    symmetric positions, override ``step`` in a subclass to return one representative.

    Parameters
    ----------
    game : str or pyspiel.Game
        The game, or its name, which may include parameters: ``"hex(board_size=5)"``.

    Examples
    --------
    >>> game = OpenSpielGame("tic_tac_toe")
    >>> position = game.step(game.root(), 4)
    >>> str(position).split()
    ['...', '.x.', '...']
    >>> game.from_state(position).root() == position
    True
    """

    def __init__(self, game: Any) -> None:
        pyspiel, name = load_pyspiel(), str(game).partition("(")[0]
        known = pyspiel.registered_names()
        if name not in known:
            hint = did_you_mean(name, known, "pyspiel.registered_names() lists them")
            raise ProblemError(f"OpenSpiel has no game {name!r}; {hint}")
        try:
            self.game = pyspiel.load_game(str(game))
            """The ``pyspiel.Game``."""
        except (pyspiel.SpielError, RuntimeError) as error:
            raise ProblemError(f"OpenSpiel cannot load the game {game}: {error}") from error
        _check_kind(self.game)
        self._root = self.position(())

    # Methods of every problem ---------------------------------------------------------------------

    def root(self) -> Position:
        """The position to search from."""
        return self._root

    def actions(self, state: Position) -> list[int]:
        """Legal moves, by OpenSpiel's numbers."""
        return state.actions

    def step(self, state: Position, action: int) -> Position:
        """The position after a move."""
        return Position(state.state.child(action))

    def player(self, state: Position) -> int:
        """MAX if it is player 0's turn."""
        return MIN if state.state.current_player() == 1 else MAX

    def reward(self, leaf: Position) -> float:
        """Final utility of player 0."""
        return float(leaf.state.returns()[0])

    # Optional members of a problem ----------------------------------------------------------------

    def random_leaf(self, state: Position, rng: np.random.Generator) -> tuple[Position, list[int]]:
        """The end of a random game, and its moves; positions in between are not created."""
        live, random, taken = state.state.clone(), rng.random, []
        legal_actions = live.legal_actions
        while legal := legal_actions():
            taken.append(legal[int(random() * len(legal))])
            live.apply_action(taken[-1])
        return Position(live), taken

    def moves(self, state: Position) -> tuple[int, ...]:
        """The moves that led to a position from the beginning of the game, with their players.

        Each is the player's number times the number of actions of the game, plus the action.
        """
        distinct = self.game.num_distinct_actions()
        return tuple([made.player * distinct + made.action for made in state.state.full_history()])

    def move_numbers(self, state: Position) -> IntArray:
        """The legal moves, numbered as in :meth:`moves`."""
        first = int(state.state.current_player() * self.game.num_distinct_actions())
        return np.array(state.actions, dtype=np.int64) + first

    @property
    def reward_range(self) -> tuple[float, float]:
        """Smallest and largest utility of player 0."""
        return self.game.min_utility(), self.game.max_utility()

    def items(self, state: Position) -> list[int]:
        """Indices of the entries of OpenSpiel's observation that are not zero.

        Most observations mark the pieces on each cell, and empty cells. For others (counters, clocks, whole
        histories), write your own covariance based on ``state.state``.
        """
        if (observed := _observed(state.state)) is None:
            raise ProblemError(f"{self.game} has no observation: pass your own covariance to the search")
        return np.flatnonzero(observed).tolist()

    def encode(self, state: Position) -> list[int]:
        """The moves that led to a position, for storage."""
        return list(state.history)

    def decode(self, encoded: Sequence[int]) -> Position:
        """The inverse of :meth:`encode`."""
        return self.position(encoded)

    # Other positions --------------------------------------------------------------------------------

    def position(self, moves: Sequence[int]) -> Position:
        """The position after some moves from the beginning of the game."""
        position = Position(self.game.new_initial_state())
        for number, action in enumerate(moves, start=1):
            if action not in position.actions:
                raise ProblemError(
                    f"move {number} of {list(moves)}, {action!r}, is not possible in {self.game}: "
                    f"choose one of {position.actions}"
                )
            position = Position(position.state.child(action))
        return position

    def from_state(self, state: Any) -> "OpenSpielGame":
        """The same game from another position, a :class:`Position` or a ``pyspiel.State``."""
        other = copy(self)
        other._root = state if isinstance(state, Position) else self.position(state.history())
        return other

    def __repr__(self) -> str:
        return f"OpenSpielGame({str(self.game)!r})"


def _check_kind(game: Any) -> None:
    """Raise unless the game can be searched for a best line of play."""
    pyspiel, kind = load_pyspiel(), game.get_type()
    kinds = pyspiel.GameType
    wanted = (
        (game.num_players() == 2, f"it has {game.num_players()} players instead of 2"),
        (kind.chance_mode == kinds.ChanceMode.DETERMINISTIC, "it has chance moves"),
        (kind.dynamics == kinds.Dynamics.SEQUENTIAL, "players move simultaneously"),
        (kind.information == kinds.Information.PERFECT_INFORMATION, "players do not see everything"),
        (kind.utility == kinds.Utility.ZERO_SUM, "one player's gain is not the other's loss"),
    )
    reasons = [reason for fulfilled, reason in wanted if not fulfilled]
    if reasons:
        raise ProblemError(f"cannot search the game {game}: {', and '.join(reasons)}")
