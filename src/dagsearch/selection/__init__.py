"""Which of the features, for this estimator, within so many fits: the parts of the selector."""

from dagsearch.selection.likeness import likeness
from dagsearch.selection.report import Comparison, Holdout, SelectionReport
from dagsearch.selection.run import Entry, SelectionRun
from dagsearch.selection.scoring import Scored, SubsetScorer

__all__ = [
    "Comparison",
    "Entry",
    "Holdout",
    "Scored",
    "SelectionReport",
    "SelectionRun",
    "SubsetScorer",
    "likeness",
]
