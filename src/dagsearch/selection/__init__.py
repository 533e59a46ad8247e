"""Feature selection for scikit-learn: the parts of :class:`dagsearch.sklearn.DAGSearchSelector`."""

from dagsearch.selection.record import Entry, Scored
from dagsearch.selection.report import Comparison, Holdout, SelectionReport
from dagsearch.selection.run import SelectionRun
from dagsearch.selection.scoring import SubsetScorer

__all__ = ["Comparison", "Entry", "Holdout", "Scored", "SelectionReport", "SelectionRun", "SubsetScorer"]
