"""Score models: the Gaussian belief over the generative scores g, given the rewards so far.

Two solvers of one protocol: the same covariance and the same rewards give the same belief.
:class:`WeightScores` takes covariances that are feature maps, at O(d²) per reward. :class:`KernelScores`
takes any covariance, at O(n · nodes) for the n-th reward; from many rewards on, :class:`InducedScores`
approximates it at a constant cost. :class:`Capability` lists what only some models can do.
"""

from dagsearch.covariances import Covariance, FeatureMap
from dagsearch.scores.base import (
    Capability,
    JointScores,
    MeanFunction,
    SampledScores,
    Samples,
    Scores,
    SimpleScores,
)
from dagsearch.scores.induced import InducedScores
from dagsearch.scores.kernel import KernelScores
from dagsearch.scores.none import NoScores
from dagsearch.scores.tree import TreeScores
from dagsearch.scores.weights import WeightScores

__all__ = [
    "Capability",
    "InducedScores",
    "JointScores",
    "KernelScores",
    "MeanFunction",
    "NoScores",
    "SampledScores",
    "Samples",
    "Scores",
    "SimpleScores",
    "TreeScores",
    "WeightScores",
    "scores_for",
]


def scores_for(covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> Scores:
    """The score model that suits a covariance."""
    if isinstance(covariance, FeatureMap):
        return WeightScores(covariance, noise, mean)
    return KernelScores(covariance, noise, mean)
