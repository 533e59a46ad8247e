"""Feature selection for scikit-learn: the parts of :class:`dagsearch.sklearn.DAGSearchSelector`."""

try:
    import sklearn  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "feature selection needs scikit-learn: pip install 'dagsearch[sklearn]'"
    ) from error

from dagsearch.selection.report import Comparison, Holdout, SelectionReport
from dagsearch.selection.run import SelectionRun
from dagsearch.selection.scoring import Scored, SubsetScorer

__all__ = ["Comparison", "Holdout", "Scored", "SelectionReport", "SelectionRun", "SubsetScorer"]
