"""Problems that come with the package."""

from dagsearch.games.openspiel import OpenSpielGame, Position
from dagsearch.problems.pixels import DigitsPixels
from dagsearch.problems.ranges import SubsetRange
from dagsearch.problems.subsets import Subsets
from dagsearch.problems.synthetic import Synthetic
from dagsearch.problems.tictactoe import TicTacToe
from dagsearch.problems.tree import TreeState, as_tree, without_path

__all__ = [
    "DigitsPixels",
    "OpenSpielGame",
    "Position",
    "SubsetRange",
    "Subsets",
    "Synthetic",
    "TicTacToe",
    "TreeState",
    "as_tree",
    "without_path",
]
