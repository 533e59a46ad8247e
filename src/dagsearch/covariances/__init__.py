"""Covariances of the generative scores: which states are alike."""

from dagsearch.covariances.base import Covariance, Pairwise, check_covariance
from dagsearch.covariances.discrete import Overlap
from dagsearch.covariances.items import Nearness, Relevance, correlation
from dagsearch.covariances.parameters import Hyperparameter
from dagsearch.covariances.sets import SetKernel
from dagsearch.covariances.views import Views

__all__ = [
    "Covariance",
    "Hyperparameter",
    "Nearness",
    "Overlap",
    "Pairwise",
    "Relevance",
    "SetKernel",
    "Views",
    "check_covariance",
    "correlation",
]
