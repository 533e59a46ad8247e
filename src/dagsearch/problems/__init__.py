"""Problems that come with the package."""

from dagsearch.games.openspiel import OpenSpielGame, Position
from dagsearch.problems.choices import Choices
from dagsearch.problems.functions import Choose, FunctionProblem
from dagsearch.problems.knapsack import Knapsack
from dagsearch.problems.options import END
from dagsearch.problems.pixels import DigitsPixels
from dagsearch.problems.sequences import Orders, Prefix, Sequences
from dagsearch.problems.subsets import SubsetRange, Subsets
from dagsearch.problems.survey import Chosen, Decision
from dagsearch.problems.synthetic import Synthetic
from dagsearch.problems.tictactoe import TicTacToe

__all__ = [
    "END",
    "Choices",
    "Choose",
    "Chosen",
    "Decision",
    "DigitsPixels",
    "FunctionProblem",
    "Knapsack",
    "OpenSpielGame",
    "Orders",
    "Position",
    "Prefix",
    "Sequences",
    "SubsetRange",
    "Subsets",
    "Synthetic",
    "TicTacToe",
]
