"""Games of OpenSpiel as problems."""

import difflib
import importlib
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import MAX, MIN
from dagsearch.space.walks import step_by_step

# Options that make the observation of a game a plain image of its board.
_PLAIN: dict[str, dict[str, Any]] = {"hex": {"plain_obs_tensor": True}}
# Number of random games from which features of an observation that never change are found.
_SAMPLE_GAMES = 8


class Position:
    """A position of a game: immutable, and equal to others with the same board, turn and move number.

    It is copied and pickled as the moves that led to it.
    """

    __slots__ = ("_key", "game", "state")

    def __init__(self, game: Any, state: Any) -> None:
        self.game = game
        """The ``pyspiel.Game``."""
        self.state = state
        """The ``pyspiel.State``; clone it instead of changing it."""
        self._key: tuple[int, int, str] | None = None

    @property
    def key(self) -> tuple[int, int, str]:
        """Number of moves made, whose turn it is, and the board. The number of moves excludes cycles."""
        if self._key is None:
            self._key = (self.state.move_number(), self.state.current_player(), str(self.state))
        return self._key

    @property
    def history(self) -> tuple[int, ...]:
        """The moves that led here; if there are several ways, those by which this object was made."""
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
    """The module ``pyspiel``, or an error that says how to install it."""
    try:
        return importlib.import_module("pyspiel")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("games need OpenSpiel: pip install 'dagsearch[games]'") from error


class OpenSpielGame:
    """A game of OpenSpiel: two players in turns, zero-sum, deterministic, with perfect information.

    MAX is OpenSpiel's player 0; the reward is that player's final utility. A state is a :class:`Position`:
    equal boards with the same player to move after the same number of moves are one state. (The board is
    OpenSpiel's ``str(state)``, which is not a full description in games with rules about repetition.)

    Parameters
    ----------
    game : str or pyspiel.Game
        The game, or its name, which may include parameters: ``"hex(board_size=5)"``.
    canonical : callable, optional
        Merges positions that are equal by symmetry: ``canonical(state)``, of a ``pyspiel.State``, returns the
        moves that lead to the position which represents it. Later moves are those of the representative.
    sooner : float
        Fraction of the reward that is lost in the longest game: with 0.1, an immediate win earns 1 and a
        win at the last possible move 0.9; losses shrink in the same way. With 0, length does not matter.
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

    # What every problem has -----------------------------------------------------------------------

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
        """Final utility of player 0."""
        utility = float(leaf.state.returns()[0])
        if self.sooner == 0.0:
            return utility
        return utility * (1.0 - self.sooner * float(leaf.state.move_number() / self.game.max_game_length()))

    # Optional members of a problem ----------------------------------------------------------------

    def random_leaf(self, state: Position, rng: np.random.Generator) -> tuple[Position, list[int]]:
        """The end of a random game, and its moves; positions in between are not created."""
        if self._canonical is not None:  # moves are those of the representatives
            return step_by_step(self, state, rng)
        live, moves = state.state.clone(), []
        while legal := live.legal_actions():
            moves.append(legal[int(rng.random() * len(legal))])
            live.apply_action(moves[-1])
        return Position(self.game, live), moves

    @property
    def reward_range(self) -> tuple[float, float]:
        """Smallest and largest utility of player 0."""
        return self.game.min_utility(), self.game.max_utility()

    def items(self, state: Position) -> list[int]:
        """Indices of the :meth:`features` that are not zero: on most boards, the pieces with their cells."""
        return np.flatnonzero(self.features(state)).tolist()

    def features(self, state: Position) -> FloatArray:
        """OpenSpiel's observation of the position without uninformative entries, as a flat array.

        Left out are entries that never change and, where every cell has at most one piece, the plane of empty
        cells. The result is useful in games whose observation marks pieces on cells, as most do. In others
        (counters, clocks, whole histories), write your own features of ``state.state``.
        """
        return np.array(state.state.observation_tensor(0))[self._informative]

    def board(self, state: Position) -> IntArray:
        """Number of the piece on every cell, 0 where there is none; shape ``(rows, columns)``."""
        if self._empty_plane is None:
            raise ProblemError(
                f"the observation of {self.game} is not a board with at most one piece on each cell; "
                "use a covariance that does not need board(state)"
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
        """The position that represents a :class:`Position` or ``pyspiel.State``."""
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

    # Structure of the observation -------------------------------------------------------------------

    @cached_property
    def _observations(self) -> FloatArray:
        """Observations from random games, one per row."""
        rng = np.random.default_rng(0)
        seen = []
        for _ in range(_SAMPLE_GAMES):
            state = self.game.new_initial_state()
            while not state.is_terminal():
                seen.append(state.observation_tensor(0))
                state.apply_action(int(rng.choice(state.legal_actions())))
            seen.append(state.observation_tensor(0))
        return np.array(seen)

    @cached_property
    def _empty_plane(self) -> int | None:
        """Index of the plane of empty cells: the fullest at the start, if each cell is in one plane only."""
        shape = self.game.observation_tensor_shape()
        if len(shape) != 3:
            return None
        planes = self._observations.reshape(-1, *shape)
        if not np.all(planes.sum(axis=1) == 1.0):
            return None
        return int(np.argmax(planes[0].sum(axis=(1, 2))))

    @cached_property
    def _informative(self) -> IntArray:
        """Indices of the entries of an observation that change, without the plane of empty cells."""
        changes = np.ptp(self._observations, axis=0) > 0.0
        if self._empty_plane is not None:
            changes.reshape(self.game.observation_tensor_shape())[self._empty_plane] = False
        return np.flatnonzero(changes)


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
    """Raise unless the game is of a kind that can be searched for a best line of play."""
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
