"""Feature selection for scikit-learn: the parts of :class:`dagsearch.sklearn.DAGSearchSelector`."""

from dagsearch.record import Entry, Scored
from dagsearch.selection.likeness import likeness
from dagsearch.selection.preparation import prepared
from dagsearch.selection.report import Comparison, Holdout, SelectionReport
from dagsearch.selection.run import SelectionRun
from dagsearch.selection.scoring import SubsetScorer
from dagsearch.selection.table import Table, load_table

__all__ = [
    "Comparison",
    "Entry",
    "Holdout",
    "Scored",
    "SelectionReport",
    "SelectionRun",
    "SubsetScorer",
    "Table",
    "likeness",
    "load_table",
    "prepared",
]
