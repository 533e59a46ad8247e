"""Score models: the Gaussian belief over the generative scores g, given the rewards so far.

Two solvers of one protocol: the same covariance and the same rewards give the same belief.
:class:`WeightScores` takes covariances that are feature maps, at O(d²) per reward. :class:`KernelScores`
takes any covariance, at O(n · nodes) for the n-th reward; from many rewards on, :class:`InducedScores`
approximates it at a constant cost. :class:`Capability` lists what only some models can do.
"""

from dagsearch.covariances import Covariance, FeatureMap
from dagsearch.posterior.base import (
    Capability,
    JointScores,
    MeanFunction,
    SampledScores,
    Samples,
    Scores,
    SimpleScores,
)
from dagsearch.posterior.function import KernelScores
from dagsearch.posterior.landmarks import InducedScores
from dagsearch.posterior.weights import WeightScores

__all__ = [
    "Capability",
    "InducedScores",
    "JointScores",
    "KernelScores",
    "MeanFunction",
    "SampledScores",
    "Samples",
    "Scores",
    "SimpleScores",
    "WeightScores",
    "scores_for",
]


def scores_for(covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> Scores:
    """The score model that suits a covariance."""
    if isinstance(covariance, FeatureMap):
        return WeightScores(covariance, noise, mean)
    return KernelScores(covariance, noise, mean)
