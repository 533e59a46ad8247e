"""Score models: the Gaussian belief over the generative scores g, given the rewards so far.

Two solvers of one protocol: the same covariance and the same rewards give the same belief.
:class:`WeightScores` takes covariances that are feature maps, at O(d²) per reward. :class:`FunctionScores`
takes any covariance, at O(n²) for a reward after n leaves; from many leaves on, :class:`InducedScores`
approximates it at a constant cost. :class:`KernelScores` is :class:`FunctionScores` for a search that reads
all nodes after every reward.
"""

from dagsearch.covariances import Covariance, FeatureMap
from dagsearch.posterior.base import JointScores, MeanFunction, Samples, Scores
from dagsearch.posterior.function import FunctionScores, KernelScores
from dagsearch.posterior.landmarks import InducedScores
from dagsearch.posterior.weights import WeightScores

__all__ = [
    "FunctionScores",
    "InducedScores",
    "JointScores",
    "KernelScores",
    "MeanFunction",
    "Samples",
    "Scores",
    "WeightScores",
    "scores_for",
]


def scores_for(
    covariance: Covariance, noise: float, mean: MeanFunction = 0.0, reads_all: bool = True
) -> JointScores:
    """The score model that suits a covariance.

    ``reads_all`` says whether the search reads all nodes after every reward, as descents do.
    """
    if isinstance(covariance, FeatureMap):
        return WeightScores(covariance, noise, mean)
    return (KernelScores if reads_all else FunctionScores)(covariance, noise, mean)
