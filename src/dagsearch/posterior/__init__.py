"""Score models: the Gaussian belief over the generative scores g, given the rewards so far.

Two solvers of one protocol: the same covariance and the same rewards give the same belief.
:class:`WeightScores` takes covariances that are feature maps, at O(d²) per reward. :class:`FunctionScores`
takes any covariance, at O(n²) for a reward after n leaves; from many leaves on, :class:`InducedScores`
approximates it at a constant cost.
"""

from dagsearch.covariances import Covariance, FeatureMap
from dagsearch.posterior.base import JointScores, MeanFunction, Scores
from dagsearch.posterior.function import FunctionScores
from dagsearch.posterior.landmarks import InducedScores
from dagsearch.posterior.weights import WeightScores

__all__ = [
    "FunctionScores",
    "InducedScores",
    "JointScores",
    "MeanFunction",
    "Scores",
    "WeightScores",
    "scores_for",
]


def scores_for(covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> JointScores:
    """The score model that suits a covariance."""
    if isinstance(covariance, FeatureMap):
        return WeightScores(covariance, noise, mean)
    return FunctionScores(covariance, noise, mean)
