"""Games of OpenSpiel as problems."""

import difflib
import importlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch._internal.walks import step_by_step
from dagsearch.errors import ProblemError
from dagsearch.problem import MAX, MIN

# Options of a game that make its observation a plain picture of the board.
_PLAIN: dict[str, dict[str, Any]] = {"hex": {"plain_obs_tensor": True}}
# Random games that tell which features of an observation say nothing.
_GAMES_LOOKED_AT = 8


class Position:
    """A position of a game: immutable, and equal to any other one with the same board, turn and move number.

    It is copied and pickled as the moves that led to it.
    """

    __slots__ = ("_key", "game", "state")

    def __init__(self, game: Any, state: Any) -> None:
        self.game = game
        """The ``pyspiel.Game``."""
        self.state = state
        """The ``pyspiel.State``; not to be changed, clone it."""
        self._key: tuple[int, int, str] | None = None

    @property
    def key(self) -> tuple[int, int, str]:
        """Number of moves made, whose turn it is, and the board. The first excludes cycles."""
        if self._key is None:
            self._key = (self.state.move_number(), self.state.current_player(), str(self.state))
        return self._key

    @property
    def history(self) -> tuple[int, ...]:
        """The moves that led here; of several ways there, the one taken when the position was made."""
        return tuple(self.state.history())

    def after(self, action: int) -> "Position":
        """The position after a move."""
        state = self.state.clone()
        state.apply_action(action)
        return Position(self.game, state)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Position) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __reduce__(self) -> tuple[Callable[..., "Position"], tuple[str, tuple[int, ...]]]:
        return _replayed, (str(self.game), self.history)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Position":
        return self

    def __str__(self) -> str:
        return str(self.state)

    def __repr__(self) -> str:
        return f"Position({str(self.game)!r}, moves={list(self.history)})"


def _replayed(game: str, moves: Sequence[int]) -> Position:
    loaded = load_pyspiel().load_game(game)
    return Position(loaded, _play(loaded, moves))


def _play(game: Any, moves: Sequence[int]) -> Any:
    state = game.new_initial_state()
    for action in moves:
        state.apply_action(action)
    return state


def load_pyspiel() -> Any:
    """OpenSpiel, or an error that says how to get it."""
    try:
        return importlib.import_module("pyspiel")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("games need OpenSpiel: pip install 'dagsearch[games]'") from error


class OpenSpielGame:
    """A deterministic two-player game of OpenSpiel with perfect information, taken in turns, zero-sum.

    MAX is the player who moves first in OpenSpiel's counting (player 0); the reward is what that
    player gets in the end. A state is a :class:`Position`: equal boards with the same player to move after
    the same number of moves are one. (OpenSpiel's ``str(state)`` is taken for the board. In games with rules
    about repetition it does not tell everything.)

    Parameters
    ----------
    game : str or pyspiel.Game
        Its name, with parameters if wanted: ``"hex(board_size=5)"``.
    canonical : callable, optional
        Which of the positions that are alike by symmetry stands for all of them: ``canonical(state)`` gives
        the moves that lead there instead of to ``state``, a ``pyspiel.State``. Moves after it are its own.
    sooner : float
        Part of the reward that is lost in the longest game: with 0.1, a win at once is worth 1 and at the
        last possible move 0.9, a loss likewise. 0: wins are wins.
    start : sequence of int
        Moves that lead to the root; see also :meth:`from_state`.
    **parameters
        Parameters of the game: ``OpenSpielGame("hex", board_size=5)``.

    Examples
    --------
    >>> game = OpenSpielGame("tic_tac_toe")
    >>> position = game.step(game.root(), 4)
    >>> str(position).split()
    ['...', '.x.', '...']
    >>> game.from_state(position).root() == position
    True
    """

    def __init__(
        self,
        game: Any,
        *,
        canonical: Callable[[Any], Sequence[int]] | None = None,
        sooner: float = 0.0,
        start: Sequence[int] = (),
        **parameters: Any,
    ) -> None:
        self.game = _loaded(game, parameters)
        _check_kind(self.game)
        if not 0.0 <= sooner < 1.0:
            raise ValueError(f"sooner must be at least 0 and less than 1, got {sooner!r}")
        self.sooner = float(sooner)
        self._canonical = canonical
        self._root = self.as_position(self.position(start))

    # What a problem must have ---------------------------------------------------------------------

    def root(self) -> Position:
        """The position to search from."""
        return self._root

    def actions(self, state: Position) -> list[int]:
        """Legal moves, by OpenSpiel's numbers."""
        return state.state.legal_actions()  # type: ignore[no-any-return]

    def step(self, state: Position, action: int) -> Position:
        """The position after a move."""
        return self.as_position(state.after(action))

    def player(self, state: Position) -> int:
        """MAX if it is player 0's turn."""
        return MIN if state.state.current_player() == 1 else MAX

    def reward(self, leaf: Position) -> float:
        """What player 0 gets."""
        utility = float(leaf.state.returns()[0])
        if self.sooner == 0.0:
            return utility
        return utility * (1.0 - self.sooner * float(leaf.state.move_number() / self.game.max_game_length()))

    # What it may have -----------------------------------------------------------------------------

    def random_leaf(self, state: Position, rng: np.random.Generator) -> tuple[Position, list[int]]:
        """The end of a random game, and its moves; positions on the way are not made."""
        if self._canonical is not None:  # moves are those of the positions that stand for others
            return step_by_step(self, state, rng)
        live, moves = state.state.clone(), []
        while legal := live.legal_actions():
            moves.append(legal[int(rng.random() * len(legal))])
            live.apply_action(moves[-1])
        return Position(self.game, live), moves

    @property
    def reward_range(self) -> tuple[float, float]:
        """The least and the most that player 0 can get."""
        return self.game.min_utility(), self.game.max_utility()

    def items(self, state: Position) -> list[int]:
        """Which of the :meth:`features` are not zero: on most boards the pieces and where they are."""
        return np.flatnonzero(self.features(state)).tolist()

    def features(self, state: Position) -> FloatArray:
        """OpenSpiel's observation of the position without what says nothing, as a flat array.

        What says nothing is the plane of empty cells, where every cell has one piece or none, and all
        features that never change. Useful are those that stand for a piece somewhere, as in most games. In
        others (counters, clocks, whole histories) better write your own, from ``state.state``.
        """
        return np.array(state.state.observation_tensor(0))[self._telling]

    def board(self, state: Position) -> IntArray:
        """Number of the piece on every cell, 0 where there is none; shape ``(rows, columns)``."""
        if self._empty_plane is None:
            raise ProblemError(
                f"the observation of {self.game} is no board with one piece or none on each cell"
            )
        planes = np.array(state.state.observation_tensor(0)).reshape(self.game.observation_tensor_shape())
        pieces = np.delete(planes, self._empty_plane, axis=0)
        return np.asarray(np.tensordot(np.arange(1, len(pieces) + 1), pieces, 1).astype(np.int64))

    # Other positions --------------------------------------------------------------------------------

    def position(self, moves: Sequence[int]) -> Position:
        """The position after some moves from the beginning of the game."""
        state = self.game.new_initial_state()
        for number, action in enumerate(moves, start=1):
            if action not in state.legal_actions():
                raise ProblemError(
                    f"move {number} of {list(moves)}, {action!r}, is not possible in {self.game}: "
                    f"choose from {state.legal_actions()}"
                )
            state.apply_action(action)
        return Position(self.game, state)

    def encode(self, state: Position) -> list[int]:
        """The moves that led to a position, for a journal."""
        return list(state.history)

    def decode(self, encoded: Sequence[int]) -> Position:
        """The position that :meth:`encode` was given."""
        return self.position(encoded)

    def from_state(self, state: Any) -> "OpenSpielGame":
        """The same game from another position, a :class:`Position` or a ``pyspiel.State``."""
        other = object.__new__(OpenSpielGame)
        other.__dict__.update(self.__dict__)
        other._root = self.as_position(state)
        return other

    def as_position(self, state: Any) -> Position:
        """A :class:`Position` or ``pyspiel.State`` as the position that stands for it."""
        if self._canonical is not None:
            live = state.state if isinstance(state, Position) else state
            moves = self._canonical(live)
            return state if list(moves) == live.history() else self.position(moves)
        return state if isinstance(state, Position) else self.position(state.history())

    def __deepcopy__(self, memo: dict[int, Any]) -> "OpenSpielGame":
        return self.from_state(self._root)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "game": str(self.game)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "game": load_pyspiel().load_game(state["game"])})

    def __repr__(self) -> str:
        return f"OpenSpielGame({str(self.game)!r})"

    # What the observation is made of ----------------------------------------------------------------

    @cached_property
    def _observations(self) -> FloatArray:
        """Observations in some random games, one per row."""
        rng = np.random.default_rng(0)
        seen = []
        for _ in range(_GAMES_LOOKED_AT):
            state = self.game.new_initial_state()
            while not state.is_terminal():
                seen.append(state.observation_tensor(0))
                state.apply_action(int(rng.choice(state.legal_actions())))
            seen.append(state.observation_tensor(0))
        return np.array(seen)

    @cached_property
    def _empty_plane(self) -> int | None:
        """Number of the plane that marks empty cells: the fullest at first, if planes exclude each other."""
        shape = self.game.observation_tensor_shape()
        if len(shape) != 3:
            return None
        planes = self._observations.reshape(-1, *shape)
        if not np.all(planes.sum(axis=1) == 1.0):
            return None
        return int(np.argmax(planes[0].sum(axis=(1, 2))))

    @cached_property
    def _telling(self) -> IntArray:
        seen = self._observations
        telling = np.ptp(seen, axis=0) > 0.0
        if self._empty_plane is not None:
            telling.reshape(self.game.observation_tensor_shape())[self._empty_plane] = False
        return np.flatnonzero(telling)


def _loaded(game: Any, parameters: dict[str, Any]) -> Any:
    pyspiel = load_pyspiel()
    name = str(game).partition("(")[0]
    known = pyspiel.registered_names()
    if name not in known:
        alike = difflib.get_close_matches(name, known, n=3)
        hint = f"; did you mean {' or '.join(alike)}?" if alike else ""
        raise ProblemError(f"OpenSpiel has no game {name!r}{hint}")
    try:
        given = {**_PLAIN.get(name, {}), **pyspiel.game_parameters_from_string(str(game)), **parameters}
        given.pop("name")
        return pyspiel.load_game(name, given)
    except (pyspiel.SpielError, RuntimeError, TypeError) as error:
        raise ProblemError(f"OpenSpiel cannot load the game {game}: {error}") from error


def _check_kind(game: Any) -> None:
    """Raise unless a search for one best line makes sense in the game."""
    pyspiel, kind = load_pyspiel(), game.get_type()
    kinds = pyspiel.GameType
    wanted = (
        (game.num_players() == 2, f"it has {game.num_players()} players instead of 2"),
        (kind.chance_mode == kinds.ChanceMode.DETERMINISTIC, "chance has moves in it"),
        (kind.dynamics == kinds.Dynamics.SEQUENTIAL, "players move simultaneously"),
        (kind.information == kinds.Information.PERFECT_INFORMATION, "players do not see everything"),
        (kind.utility == kinds.Utility.ZERO_SUM, "one player's gain is not the other's loss"),
    )
    reasons = [reason for fulfilled, reason in wanted if not fulfilled]
    if reasons:
        raise ProblemError(f"cannot search the game {game}: {', and '.join(reasons)}")
