"""Problems that come with the package."""

from dagsearch.problems.choices import Choices
from dagsearch.problems.functions import Choose, FunctionProblem
from dagsearch.problems.options import END
from dagsearch.problems.orders import Orders
from dagsearch.problems.paper import DigitsPixels, Synthetic, TicTacToe
from dagsearch.problems.sequences import Prefix, Sequences
from dagsearch.problems.subsets import Partial, Size, Subsets
from dagsearch.space.chosen import Chosen, Decision

__all__ = [
    "END",
    "Choices",
    "Choose",
    "Chosen",
    "Decision",
    "DigitsPixels",
    "FunctionProblem",
    "Orders",
    "Partial",
    "Prefix",
    "Sequences",
    "Size",
    "Subsets",
    "Synthetic",
    "TicTacToe",
]
