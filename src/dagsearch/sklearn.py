"""Feature selection and hyperparameter search with the interfaces of scikit-learn."""

from dagsearch.selection.grid import DAGSearchCV
from dagsearch.selection.selector import DAGSearchSelector, FailedSubsetsWarning, SelectionError

__all__ = ["DAGSearchCV", "DAGSearchSelector", "FailedSubsetsWarning", "SelectionError"]
