"""Covariances for positions on a board."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from dagsearch.covariances.base import FeatureMap
from dagsearch.covariances.discrete import Index, Overlap
from dagsearch.covariances.rows import SparseRows
from dagsearch.problem import Children
from dagsearch.space import Space

if TYPE_CHECKING:
    from dagsearch.games.openspiel import OpenSpielGame
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
            made = sorted(state.moves[self._root :])  # the order must not show in the last digits
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
    return _PIECE * Overlap(problem.items, bias=_SHARED / _PIECE, private=_OWN / _PIECE)
