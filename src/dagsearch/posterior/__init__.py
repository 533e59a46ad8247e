"""Score models: the Gaussian belief over the generative scores g, given the rewards so far.

Two solvers of one protocol: the same covariance and the same rewards give the same belief.
:class:`WeightScores` takes an overlap, at O(d²) per reward. :class:`FunctionScores`
takes any covariance, at O(n²) for a reward after n leaves.
"""

from dagsearch.covariances import Covariance, Overlap
from dagsearch.posterior.base import JointScores, Scores
from dagsearch.posterior.function import FunctionScores
from dagsearch.posterior.weights import WeightScores

__all__ = ["FunctionScores", "JointScores", "Scores", "WeightScores", "scores_for"]


# Number of features from which weights, of which there is a matrix, cost more than functions.
_MOST_FEATURES = 2000


def scores_for(covariance: Covariance, noise: float, mean: float = 0.0, options: int = 0) -> JointScores:
    """The score model that suits a covariance.

    ``options`` is the number of children of the root, each of which may have features of its own.
    """
    if isinstance(covariance, Overlap) and max(covariance.dimension, options) <= _MOST_FEATURES:
        return WeightScores(covariance, noise, mean)
    return FunctionScores(covariance, noise, mean)
