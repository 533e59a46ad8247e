"""The problems of the paper: synthetic rewards, Tic-Tac-Toe, and the pixels of digits."""

import hashlib
from functools import cache

import numpy as np

from dagsearch.covariances import Overlap
from dagsearch.problem import MAX, MIN
from dagsearch.problems.subsets import Subset, Subsets


class Synthetic(Subsets):
    """Subsets of ``m`` out of ``n`` whose rewards are drawn from the search's own model.

    The rewards of all leaves are jointly N(0, Σ) with Σ_xy = (|x ∩ y| + 1)/(m + 1): the sum of one weight per
    member and a constant, each N(0, 1/(m + 1)). So the optimum is known: the m largest weights.

    Parameters
    ----------
    n, m : int
        Size of the ground set and of the subsets.
    seed : int, numpy Generator or None
        Source of the rewards.

    Examples
    --------
    >>> problem = Synthetic(seed=0)
    >>> problem.reward(problem.best_state) == problem.best_reward
    True
    """

    def __init__(self, n: int = 15, m: int = 5, seed: int | np.random.Generator | None = None) -> None:
        super().__init__(n, m, self._sum)
        draws = np.random.default_rng(seed).normal(scale=(m + 1) ** -0.5, size=n + 1)
        self._weights, self._constant = draws[:n], float(draws[n])
        self.best_state: Subset = frozenset(np.argsort(self._weights)[-m:].tolist())
        """The leaf with the largest reward."""
        self.best_reward = self._sum(self.best_state)
        """Its reward."""

    @property
    def covariance(self) -> Overlap:
        """The covariance that the rewards were drawn from."""
        return 1.0 / (self.k + 1) * Overlap.of(self, bias=1.0, private=0.0)

    def identity(self) -> str:
        """A digest of the rewards, so that a stored run with other rewards is refused."""
        return hashlib.sha256(np.append(self._weights, self._constant).tobytes()).hexdigest()

    def _sum(self, leaf: Subset) -> float:
        return float(self._weights[sorted(leaf)].sum()) + self._constant


class DigitsPixels(Subsets):
    """Choose the pixels from which a linear classifier best recognises scikit-learn's 8×8 digits.

    The reward of a subset is the accuracy of linear discriminant analysis with these pixels alone, trained on
    one half of the 1,797 images and scored on the other. Pixel ``p`` is in row ``p // 8``, column ``p % 8``.

    Parameters
    ----------
    k : int
        Number of pixels to choose.
    split : int
        Seed of the stratified split into halves.
    """

    shape = (8, 8)

    def __init__(self, k: int = 10, split: int = 0) -> None:
        try:  # it is slow to import, and other problems do not need it
            from sklearn.datasets import load_digits
            from sklearn.model_selection import train_test_split
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "the digits come with scikit-learn: pip install 'dagsearch[sklearn]'"
            ) from error

        super().__init__(64, k, self.accuracy, positions=np.indices(self.shape).reshape(2, -1).T)
        self.split = int(split)
        images, labels = load_digits(return_X_y=True)
        halves = train_test_split(images, labels, test_size=0.5, random_state=split, stratify=labels)
        self._train, self._test, self._train_labels, self._test_labels = halves

    def identity(self) -> str:
        """The split, so that a stored run with another split is refused."""
        return f"split {self.split}"

    def accuracy(self, pixels: Subset | range) -> float:
        """Accuracy on the second half with these pixels; any number of pixels is allowed."""
        from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
        from sklearn.dummy import DummyClassifier

        columns = np.array(sorted(pixels))
        varies = np.ptp(self._train[:, columns], axis=0).any()
        # Discriminant analysis fails on pixels that are constant over all images, such as the corners.
        classifier = LinearDiscriminantAnalysis() if varies else DummyClassifier(strategy="most_frequent")
        classifier.fit(self._train[:, columns], self._train_labels)
        return float(classifier.score(self._test[:, columns], self._test_labels))


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

    def __init__(self, symmetric: bool = True) -> None:
        self.symmetric = symmetric

    def root(self) -> str:
        """The empty board."""
        return _EMPTY * 9

    def actions(self, state: str) -> tuple[int, ...]:
        """The free cells; none once a player has won."""
        return tuple(_moves(state, self.symmetric))

    def step(self, state: str, action: int) -> str:
        """The board after the player whose turn it is has taken a cell."""
        return _moves(state, self.symmetric)[action]

    def player(self, state: str) -> int:
        """MAX if both have made the same number of moves."""
        return MAX if state.count("X") == state.count("O") else MIN

    def reward(self, leaf: str) -> float:
        """1, 0 or −1 for X."""
        return {"X": 1.0, "O": -1.0, None: 0.0}[_winner(leaf)]

    @property
    def branching(self) -> tuple[int, ...]:
        """Mean number of moves over the boards at each level on which the game is not over, rounded."""
        return _branching(self.symmetric)

    def items(self, state: str) -> list[tuple[int, str]]:
        """The marks on the board: pairs of cell and sign."""
        return [(cell, sign) for cell, sign in enumerate(state) if sign != _EMPTY]


@cache
def _winner(board: str) -> str | None:
    for a, b, c in _LINES:
        if board[a] != _EMPTY and board[a] == board[b] == board[c]:
            return board[a]
    return None


@cache
def _moves(board: str, symmetric: bool) -> dict[int, str]:
    """The board after each move; only the first of several moves to the same state counts."""
    if _winner(board) is not None:
        return {}
    sign = "X" if board.count("X") == board.count("O") else "O"
    boards: dict[str, int] = {}
    for cell in range(9):
        if board[cell] == _EMPTY:
            child = board[:cell] + sign + board[cell + 1 :]
            if symmetric:
                child = min("".join(child[place] for place in symmetry) for symmetry in _SYMMETRIES)
            boards.setdefault(child, cell)
    return {cell: child for child, cell in boards.items()}


@cache
def _branching(symmetric: bool) -> tuple[int, ...]:
    level, widths = {_EMPTY * 9}, []
    for _ in range(9):
        moves = [_moves(board, symmetric) for board in level]
        widths.append(round(float(np.mean([len(found) for found in moves if found]))))
        level = {child for found in moves for child in found.values()}
    return tuple(widths)
