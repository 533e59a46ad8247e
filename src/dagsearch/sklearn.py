"""Feature selection as a scikit-learn transformer."""

from dagsearch.selection.selector import DAGSearchSelector, FailedSubsetsWarning, SelectionError

__all__ = ["DAGSearchSelector", "FailedSubsetsWarning", "SelectionError"]
