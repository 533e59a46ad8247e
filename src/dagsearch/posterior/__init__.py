"""Score models: the Gaussian belief over the generative scores g, given the rewards so far.

Two solvers give the same belief: :class:`WeightScores` takes an overlap, at O(d²) per reward, and
:class:`FunctionScores` any covariance, at O(n²) for a reward after n leaves.
"""

from dagsearch.covariances import Covariance, Overlap
from dagsearch.posterior.base import JointScores, Scores
from dagsearch.posterior.function import FunctionScores
from dagsearch.posterior.weights import WeightScores

__all__ = ["FunctionScores", "JointScores", "Scores", "WeightScores", "scores_for"]


# With more features, the matrix of weights costs more than functions.
_MOST_FEATURES = 2000


def scores_for(covariance: Covariance, noise: float, mean: float = 0.0, options: int = 0) -> JointScores:
    """The score model that suits a covariance.

    ``options`` is the number of the root's children, since each may have its own features.
    """
    if isinstance(covariance, Overlap) and max(covariance.dimension, options) <= _MOST_FEATURES:
        return WeightScores(covariance, noise, mean)
    return FunctionScores(covariance, noise, mean)
