"""Games of OpenSpiel as problems."""

import importlib
from collections.abc import Callable, Hashable, Sequence
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dagsearch._internal.hints import did_you_mean
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.errors import ProblemError
from dagsearch.problem import MAX, MIN
from dagsearch.space.walks import step_by_step

# Options that make the observation of a game a plain image of its board.
_PLAIN: dict[str, dict[str, Any]] = {"hex": {"plain_obs_tensor": True}}
# Number of random games from which features of an observation that never change are found.
_SAMPLE_GAMES = 8
# Number of pairs of exchanged moves by which a description of positions is judged, the largest number of
# moves up to their end, and of moves after them.
_EXCHANGES, _LONGEST_START, _LONGEST_PLAY = 24, 24, 40


class Position:
    """A position of a game: immutable, and equal to others from which the game goes on in the same way.

    It is copied and pickled as the moves that led to it.
    """

    __slots__ = ("_actions", "_description", "_hash", "_key", "game", "moves", "state")

    def __init__(self, description: "Description", state: Any, moves: tuple[int, ...]) -> None:
        self.game = description.game
        """The ``pyspiel.Game``."""
        self.state = state
        """The ``pyspiel.State``; clone it instead of changing it."""
        self.moves = moves
        """The moves that led here with who made them: the player's number times the number of actions of the
        game, plus the action."""
        self._description = description
        self._key: Hashable = None
        self._hash: int | None = None
        self._actions: list[int] | None = None

    @property
    def key(self) -> Hashable:
        """What identifies the position: see :class:`Description`."""
        if self._key is None:
            self._key = self._description.key(self.state, self.actions)
        return self._key

    @property
    def actions(self) -> list[int]:
        """Legal moves, by OpenSpiel's numbers."""
        if self._actions is None:
            self._actions = self.state.legal_actions()
        return self._actions

    @property
    def history(self) -> tuple[int, ...]:
        """The moves that led here; if there are several ways, those by which this object was made."""
        return tuple(self.state.history())

    def after(self, action: int) -> "Position":
        """The position after a move."""
        state, move = self.state.clone(), self._description.move(self.state, action)
        state.apply_action(action)
        return Position(self._description, state, (*self.moves, move))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Position) and self.key == other.key

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self.key)
        return self._hash

    def __reduce__(self) -> tuple[Callable[..., "Position"], tuple[str, tuple[int, ...]]]:
        return _replayed, (str(self.game), self.history)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Position":
        return self

    def __str__(self) -> str:
        return str(self.state)

    def __repr__(self) -> str:
        return f"Position({str(self.game)!r}, moves={list(self.history)})"


class Description:
    """What identifies a position of one game.

    Always the number of moves, which excludes cycles, the player to move, the legal moves, and the reward of
    a final position. In addition the observation, because OpenSpiel's text of a board may mark the last move.
    Exchanged moves are tried in random games: if equal observations are followed by different play, the text
    is taken instead, and if that does not suffice either, all moves so far.
    """

    def __init__(self, game: Any) -> None:
        self.game = game
        self.distinct = game.num_distinct_actions()
        self._observation: Any = None
        self._buffer: NDArray[np.float32] = np.zeros(0, dtype=np.float32)
        if game.get_type().provides_observation_tensor:
            pyspiel = load_pyspiel()
            kind = pyspiel.IIGObservationType(
                perfect_recall=False, public_info=True, private_info=pyspiel.PrivateInfoType.SINGLE_PLAYER
            )
            self._observation = pyspiel._Observation(game, game.make_observer(kind, {}))
            self._buffer = np.frombuffer(self._observation, np.float32)
        kinds: dict[str, Callable[[Any], Hashable]] = {"text": str, "moves": lambda s: tuple(s.history())}
        if self._observation is not None:
            kinds = {"observation": self._observed, **kinds}
        for self.kind, self._board in kinds.items():
            if self.kind == "moves" or self._suffices():
                break

    def start(self) -> Position:
        """The position at the beginning of the game."""
        return Position(self, self.game.new_initial_state(), ())

    def move(self, state: Any, action: int) -> int:
        """The number of a move of the player whose turn it is, see :attr:`Position.moves`."""
        return int(state.current_player() * self.distinct + action)

    def key(self, state: Any, actions: Sequence[int]) -> Hashable:
        """What identifies a ``pyspiel.State`` with these legal moves."""
        end = None if actions else state.returns()[0]
        return state.move_number(), state.current_player(), end, tuple(actions), self._board(state)

    def observed(self, state: Any) -> NDArray[np.float32]:
        """OpenSpiel's observation of player 0; overwritten by the next call."""
        self._observation.set_from(state, 0)
        return self._buffer

    def _observed(self, state: Any) -> bytes:
        return self.observed(state).tobytes()

    def _suffices(self) -> bool:
        """Whether play goes on in the same way from positions with the same key."""
        rng = np.random.default_rng(0)
        pairs = (exchanged(self.game, rng) for _ in range(_EXCHANGES))
        return all(
            self.key(one, one.legal_actions()) != self.key(other, other.legal_actions())
            or _same_play(one, other, rng)
            for one, other in (pair for pair in pairs if pair is not None)
        )


@lru_cache(maxsize=64)
def description_of(game: str) -> Description:
    """The description of positions of a game, by its name with parameters."""
    return Description(load_pyspiel().load_game(game))


def exchanged(game: Any, rng: np.random.Generator) -> tuple[Any, Any] | None:
    """Two states of a random game that differ in the order of two moves of one player, if possible."""
    state = game.new_initial_state()
    played = [_random_move(state, rng) for _ in range(_LONGEST_START)]
    before = int(rng.integers(max(1, state.move_number() - 2)))
    one, other = game.new_initial_state(), game.new_initial_state()
    for action in played[:before]:
        one.apply_action(action)
        other.apply_action(action)
    moves = [_random_move(one, rng) for _ in range(3)]
    for action in reversed(moves):
        if action is None or action not in other.legal_actions():
            return None
        other.apply_action(action)
    return one, other


def _same_play(one: Any, other: Any, rng: np.random.Generator) -> bool:
    """Whether the same random moves are possible from two states, and lead to the same result."""
    one, other = one.clone(), other.clone()
    for _ in range(_LONGEST_PLAY):
        if one.legal_actions() != other.legal_actions() or one.current_player() != other.current_player():
            return False
        if one.is_terminal():
            return bool(one.returns() == other.returns())
        other.apply_action(_random_move(one, rng))
    return True


def _random_move(state: Any, rng: np.random.Generator) -> int | None:
    """Make a random move, unless the game is over; returns the move."""
    legal = state.legal_actions()
    if not legal:
        return None
    action = int(legal[int(rng.integers(len(legal)))])
    state.apply_action(action)
    return action


def _replayed(game: str, moves: Sequence[int]) -> Position:
    position = description_of(game).start()
    for action in moves:
        position = position.after(action)
    return position


def load_pyspiel() -> Any:
    """The module ``pyspiel``, or an error that says how to install it."""
    try:
        return importlib.import_module("pyspiel")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("games need OpenSpiel: pip install 'dagsearch[games]'") from error


class OpenSpielGame:
    """A game of OpenSpiel: two players in turns, zero-sum, deterministic, with perfect information.

    MAX is OpenSpiel's player 0; the reward is that player's final utility. A state is a :class:`Position`:
    equal boards with the same player to move after the same number of moves are one state. (Rules about
    repetition depend on earlier positions as well; states that differ in these only are one.)

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
        loaded = _loaded(game, parameters)
        _check_kind(loaded)
        if not 0.0 <= sooner < 1.0:
            raise ValueError(f"sooner must be at least 0 and less than 1, got {sooner!r}")
        self.sooner = float(sooner)
        self._description = description_of(str(loaded))
        self._canonical = canonical
        self._root = self.as_position(self.position(start))

    @property
    def game(self) -> Any:
        """The ``pyspiel.Game``."""
        return self._description.game

    # What every problem has -----------------------------------------------------------------------

    def root(self) -> Position:
        """The position to search from."""
        return self._root

    def actions(self, state: Position) -> list[int]:
        """Legal moves, by OpenSpiel's numbers."""
        return state.actions

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
        live, random, taken, moves = state.state.clone(), rng.random, [], list(state.moves)
        legal_actions, player, distinct = live.legal_actions, live.current_player, self._description.distinct
        while legal := legal_actions():
            action = legal[int(random() * len(legal))]
            taken.append(action)
            moves.append(player() * distinct + action)
            live.apply_action(action)
        return Position(self._description, live, tuple(moves)), taken

    def final_actions(self, state: Position) -> list[int]:
        """Indices of the moves that end the game; positions after other moves are not created."""
        found, clone = [], state.state.clone
        for number, action in enumerate(state.actions):
            live = clone()
            live.apply_action(action)
            if live.is_terminal():
                found.append(number)
        return found

    def moves(self, state: Position) -> tuple[int, ...]:
        """The moves that led to a position, from the beginning of the game, with who made them."""
        return state.moves

    def move_numbers(self, state: Position) -> IntArray:
        """The legal moves as :meth:`moves` of the positions that they lead to has them."""
        return np.array(state.actions, dtype=np.int64) + self._description.move(state.state, 0)

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
        informative = self._informative  # first: finding out overwrites the observation
        return self._description.observed(state.state)[informative].astype(np.float64)

    # Other positions --------------------------------------------------------------------------------

    def position(self, moves: Sequence[int]) -> Position:
        """The position after some moves from the beginning of the game."""
        position = self._description.start()
        for number, action in enumerate(moves, start=1):
            if action not in position.actions:
                raise ProblemError(
                    f"move {number} of {list(moves)}, {action!r}, is not possible in {self.game}: "
                    f"choose from {position.actions}"
                )
            position = position.after(action)
        return position

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
        return {**self.__dict__, "_description": str(self.game)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update({**state, "_description": description_of(state["_description"])})

    def __repr__(self) -> str:
        return f"OpenSpielGame({str(self.game)!r})"

    # Structure of the observation -------------------------------------------------------------------

    @cached_property
    def _observations(self) -> list[tuple[FloatArray, IntArray]]:
        """Random games: observations, one row per position, and who made the moves between them."""
        rng = np.random.default_rng(0)
        games = []
        for _ in range(_SAMPLE_GAMES):
            state, seen, movers = self.game.new_initial_state(), [], []
            while True:
                seen.append(self._description.observed(state).astype(np.float64))
                mover = state.current_player()
                if _random_move(state, rng) is None:
                    break
                movers.append(mover)
            games.append((np.array(seen), np.array(movers)))
        return games

    @cached_property
    def _empty_plane(self) -> int | None:
        """Index of the plane of empty cells; ``None`` unless each cell of the board is in one plane only.

        The moves of both players fill empty cells, or clear cells: the number of cells in this plane changes
        in the same direction whoever moves. If that holds of several planes or of none, it is the fullest.
        """
        shape = self.game.observation_tensor_shape()
        if len(shape) != 3:
            return None
        games = [(seen.reshape(-1, *shape), movers) for seen, movers in self._observations]
        held = np.concatenate([seen.sum(axis=1) for seen, _ in games])
        if not np.all(np.isin(held[0], (0.0, 1.0)) & (held == held[0])):
            return None
        sizes = np.concatenate([seen.sum(axis=(2, 3)) for seen, _ in games])
        changes = np.concatenate([np.diff(seen.sum(axis=(2, 3)), axis=0) for seen, _ in games])
        movers = np.concatenate([movers for _, movers in games])
        alike = changes[movers == 0].mean(axis=0) * changes[movers == 1].mean(axis=0)
        likely = alike > 0.5 * alike.max() if alike.max() > 0.0 else np.ones(alike.size, dtype=np.bool_)
        return int(np.argmax(np.where(likely, sizes.mean(axis=0), -1.0)))

    @cached_property
    def moves_add_several(self) -> bool:
        """Whether a move may add several :meth:`items` at once, as seen in random games."""
        informative = self._informative
        steps = [np.diff(seen[:, informative], axis=0) for seen, _ in self._observations]
        return any(bool(np.any((step > 0.0).sum(axis=1) > 1)) for step in steps)

    @cached_property
    def _informative(self) -> IntArray:
        """Indices of the entries of an observation that change, without the plane of empty cells."""
        changes = np.ptp(np.concatenate([seen for seen, _ in self._observations]), axis=0) > 0.0
        if self._empty_plane is not None:
            changes.reshape(self.game.observation_tensor_shape())[self._empty_plane] = False
        return np.flatnonzero(changes)


def _loaded(game: Any, parameters: dict[str, Any]) -> Any:
    pyspiel = load_pyspiel()
    name = str(game).partition("(")[0]
    known = pyspiel.registered_names()
    if name not in known:
        hint = did_you_mean(name, known, "pyspiel.registered_names() lists them")
        raise ProblemError(f"OpenSpiel has no game {name!r}; {hint}")
    try:
        given = {**_PLAIN.get(name, {}), **pyspiel.game_parameters_from_string(str(game)), **parameters}
        given.pop("name")
        return pyspiel.load_game(name, given)
    except (pyspiel.SpielError, RuntimeError, TypeError, IndexError) as error:
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
