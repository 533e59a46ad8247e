"""Tic-Tac-Toe, section 4.2."""

from functools import cache

import numpy as np

from dagsearch.problem import MAX, MIN

_EMPTY = "."
_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
_BOARD = np.arange(9).reshape(3, 3)
_SYMMETRIES = tuple(
    tuple(np.rot90(board, turns).ravel().tolist()) for board in (_BOARD, _BOARD.T) for turns in range(4)
)


class TicTacToe:
    """Tic-Tac-Toe: MAX plays ``X`` and moves first, MIN plays ``O``.

    A state is the board as nine characters, row by row; ``"."`` is an empty cell. An action is the number
    of a cell. The reward is 1 if X wins, −1 if O does, 0 for a draw.

    Parameters
    ----------
    symmetric : bool
        Whether boards that are rotations or reflections of each other are one state, and moves that lead to
        the same state are one action. The DAG then has 765 states and the tree 58,524 nodes; otherwise they
        have 5,478 and 549,946.

    Examples
    --------
    >>> game = TicTacToe()
    >>> game.actions(game.root())
    (0, 1, 4)
    """

    depth = 9

    def __init__(self, symmetric: bool = True) -> None:
        self.symmetric = symmetric

    def root(self) -> str:
        """The empty board."""
        return _EMPTY * 9

    def actions(self, state: str) -> tuple[int, ...]:
        """Free cells; none once a player has won."""
        return _cells(state, self.symmetric)

    def step(self, state: str, action: int) -> str:
        """The board after the player whose turn it is has taken a cell."""
        return _moves(state, self.symmetric)[action]

    def player(self, state: str) -> int:
        """MAX if both have made the same number of moves."""
        return MAX if state.count("X") == state.count("O") else MIN

    def reward(self, leaf: str) -> float:
        """1, 0 or −1 for X."""
        return {"X": 1.0, "O": -1.0, None: 0.0}[_winner(leaf)]

    def branching(self, level: int) -> int:
        """Mean number of moves over the boards at a level on which the game is not over, rounded."""
        return _branching(self.symmetric)[level]

    def items(self, state: str) -> list[tuple[int, str]]:
        """The pieces on the board: pairs of cell and sign."""
        return [(cell, sign) for cell, sign in enumerate(state) if sign != _EMPTY]


@cache
def _winner(board: str) -> str | None:
    for a, b, c in _LINES:
        if board[a] != _EMPTY and board[a] == board[b] == board[c]:
            return board[a]
    return None


def _canonical(board: str) -> str:
    return min("".join(board[cell] for cell in symmetry) for symmetry in _SYMMETRIES)


@cache
def _moves(board: str, symmetric: bool) -> dict[int, str]:
    """The board after each move; of several moves to the same state, only the first is kept."""
    if _winner(board) is not None:
        return {}
    sign = "X" if board.count("X") == board.count("O") else "O"
    boards: dict[str, int] = {}
    for cell in range(9):
        if board[cell] == _EMPTY:
            child = board[:cell] + sign + board[cell + 1 :]
            boards.setdefault(_canonical(child) if symmetric else child, cell)
    return {cell: child for child, cell in boards.items()}


@cache
def _cells(board: str, symmetric: bool) -> tuple[int, ...]:
    return tuple(_moves(board, symmetric))


@cache
def _branching(symmetric: bool) -> tuple[int, ...]:
    level, widths = {_EMPTY * 9}, []
    for _ in range(9):
        moves = [_moves(board, symmetric) for board in level]
        widths.append(round(float(np.mean([len(found) for found in moves if found]))))
        level = {child for found in moves for child in found.values()}
    return tuple(widths)
