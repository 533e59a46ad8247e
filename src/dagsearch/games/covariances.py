"""Covariances for positions on a board."""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances.base import FeatureMap
from dagsearch.covariances.discrete import Index, Overlap
from dagsearch.covariances.given import LinearFeatures
from dagsearch.covariances.rows import SparseRows
from dagsearch.problem import Children
from dagsearch.space import Space
from dagsearch.space.walks import shape_rng

if TYPE_CHECKING:
    from dagsearch.games.openspiel import OpenSpielGame, Position
    from dagsearch.problem import State

# Total variance of the worth of a random game's moves, in squared units of the reward.
_TOTAL = 0.7
# Variances in squared units of the reward: of the worth of one piece, of the constant that positions share,
# and of the independent offset of each position.
_PIECE, _SHARED, _OWN = 0.1, 1.0, 0.05


def suitable(problem: "OpenSpielGame") -> FeatureMap:
    """:func:`moves`, or :func:`pieces` where a move may add several pieces to the board.

    Boxes that a move closes, or stones that it turns, are not told by the move itself.
    """
    return pieces(problem) if problem.moves_add_several else moves(problem)


def moves(problem: "OpenSpielGame", total: float = _TOTAL) -> "Moves":
    """Positions are alike by the moves that led there since the root: see :class:`Moves`.

    ``total`` is the variance that the moves of a random game have together.
    """
    length = float(np.mean([len(leaf.moves) for leaf in Space(problem).random_leaves]))
    return Moves(problem, total / max(1.0, length - len(problem.root().moves)))


class Moves(FeatureMap):
    """Positions are alike by the moves that led there since the root.

    The score of a position is a sum over the moves since the root. A move of MAX adds an unknown worth, and
    the same move of MIN subtracts it: a cell that is good for one player is good for the other. Because a
    random game is known by all its moves, every move teaches, not only those of the descent.

    Parameters
    ----------
    problem : OpenSpielGame
        The game, from its root.
    move : float
        Variance of the worth of a move.
    """

    rates_children = True
    private = 0.0

    def __init__(self, problem: "OpenSpielGame", move: float) -> None:
        self.move = move
        self._root = len(problem.root().moves)
        self._distinct = problem.game.num_distinct_actions()
        self._index = Index({None: 0})
        self._common, self._worth = math.sqrt(_SHARED), math.sqrt(move)

    def at(self, problem: "OpenSpielGame") -> "Moves":
        """The same covariance for the game from another root."""
        return Moves(problem, self.move)

    @property
    def dimension(self) -> int:
        return len(self._index)

    def features(self, states: Sequence["State"]) -> SparseRows:
        index, distinct, worth = self._index, self._distinct, self._worth
        starts, columns, values = [0], list[int](), list[float]()
        for state in states:
            made = state.moves[self._root :]
            columns += [0, *[index[move % distinct] for move in made]]
            values += [self._common, *[worth if move < distinct else -worth for move in made]]
            starts.append(len(columns))
        return SparseRows(np.array(starts), np.array(columns), np.array(values))

    def added_features(self, children: Children) -> SparseRows:
        index, actions = self._index, children.actions
        worth = self._worth if children.parent.state.current_player() == 0 else -self._worth
        columns = np.array([index[action] for action in actions], dtype=np.int64)
        return SparseRows(np.arange(columns.size + 1), columns, np.full(columns.size, worth))


def pieces(problem: "OpenSpielGame") -> FeatureMap:
    """Positions are alike by the pieces they share: the paper's covariance, scaled for rewards of ±1."""
    return _scaled_overlap(problem, problem.items)


def windows(problem: "OpenSpielGame", length: int = 3) -> FeatureMap:
    """Positions are alike by the pieces they share, and by lines of cells with the same content.

    Lines are rows, columns and diagonals of ``length`` cells; lines with fewer than two pieces do not count.
    """
    return _scaled_overlap(problem, _Windows(problem, length))


def learned(problem: "OpenSpielGame", count: int = 8, length: int = 3, games: int = 300) -> FeatureMap:
    """Positions are alike by ``count`` linear features that predict how random games end.

    They are combinations of the items of :func:`windows`, found by partial least squares in ``games`` random
    games from the root before the search begins.
    """
    each = _variance_of_pieces(problem) / count
    return each * LinearFeatures(_Directions(problem, count, length, games), private=_OWN / each)


def _scaled_overlap(problem: "OpenSpielGame", items: Callable[["State"], list[int]]) -> FeatureMap:
    """The overlap of items, scaled so that they have the total variance of a final position's pieces."""
    count = float(np.mean([len(items(leaf)) for leaf in Space(problem).random_leaves]))
    item = _variance_of_pieces(problem) / max(1.0, count)
    return item * Overlap(items, bias=_SHARED / item, private=_OWN / item)


def _variance_of_pieces(problem: "OpenSpielGame") -> float:
    """Variance of the total worth of a final position's pieces."""
    count = float(np.mean([len(problem.items(leaf)) for leaf in Space(problem).random_leaves]))
    return _PIECE * max(1.0, count)


class _Windows:
    """Pieces, and contents of lines, as numbers."""

    def __init__(self, problem: "OpenSpielGame", length: int) -> None:
        self._board = problem.board
        rows, columns = problem.board(problem.root()).shape
        self._cells = _lines(rows, columns, length)
        self._kinds = int(problem.game.observation_tensor_shape()[0])
        self._digits = self._kinds ** np.arange(length)
        self._contents = self._kinds**length
        self._first = self._kinds * rows * columns  # smaller numbers are pieces

    def __call__(self, state: "State") -> list[int]:
        board = self._board(state).ravel()
        occupied = np.flatnonzero(board)
        content = board[self._cells]
        telling = np.flatnonzero((content > 0).sum(axis=1) >= 2)
        lines = self._first + telling * self._contents + content[telling] @ self._digits
        return [*(self._kinds * occupied + board[occupied]).tolist(), *lines.tolist()]


class _Directions:
    """Combinations of pieces and lines that correlate with the reward of random games, and a constant 1."""

    def __init__(self, problem: "OpenSpielGame", count: int, length: int, games: int) -> None:
        from sklearn.cross_decomposition import PLSRegression

        self._overlap = Overlap(_Windows(problem, length))
        positions, rewards = _random_positions(problem, games)
        rows = self._overlap.represent(positions)
        directions = PLSRegression(n_components=count, scale=False).fit(rows, rewards).x_rotations_
        self._directions = directions / (rows @ directions).std(axis=0)

    def __call__(self, state: "State") -> list[float]:
        row = self._overlap.represent([state])[0, : len(self._directions)]
        return [*(row @ self._directions).tolist(), 1.0]


def _lines(rows: int, columns: int, length: int) -> IntArray:
    """Cells of every straight line of ``length``, shape ``(lines, length)``."""
    steps = np.arange(length)
    found = [
        (row + down * steps) * columns + column + right * steps
        for row in range(rows)
        for column in range(columns)
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1))
        if row + down * (length - 1) < rows and 0 <= column + right * (length - 1) < columns
    ]
    return np.array(found, dtype=np.int64).reshape(-1, length)


def _random_positions(problem: "OpenSpielGame", games: int) -> tuple[list["State"], FloatArray]:
    """One random position from each of ``games`` random games, and the rewards of the games."""
    rng = shape_rng()
    positions, rewards = [], []
    for _ in range(games):
        path = [problem.root()]
        while actions := problem.actions(path[-1]):
            path.append(problem.step(path[-1], actions[int(rng.integers(len(actions)))]))
        positions.append(path[int(rng.integers(len(path)))])
        rewards.append(problem.reward(path[-1]))
    return positions, np.array(rewards)
