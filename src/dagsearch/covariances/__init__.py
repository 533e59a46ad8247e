"""Covariances of the generative scores: which states are alike."""

import importlib
from typing import TYPE_CHECKING, Any

from dagsearch.covariances.base import Covariance, FeatureMap, check_covariance
from dagsearch.covariances.discrete import Overlap
from dagsearch.covariances.given import Pairwise
from dagsearch.covariances.items import Nearness, Relevance, correlation
from dagsearch.covariances.parameters import Hyperparameter
from dagsearch.covariances.sets import SetKernel
from dagsearch.covariances.views import Views

if TYPE_CHECKING:
    from dagsearch.games.covariances import moves, pieces, suitable

__all__ = [
    "Covariance",
    "FeatureMap",
    "Hyperparameter",
    "Nearness",
    "Overlap",
    "Pairwise",
    "Relevance",
    "SetKernel",
    "Views",
    "check_covariance",
    "correlation",
    "moves",
    "pieces",
    "suitable",
]


def __getattr__(name: str) -> Any:
    """Covariances of game positions, imported only when needed."""
    if name in ("moves", "pieces", "suitable"):
        return getattr(importlib.import_module("dagsearch.games.covariances"), name)
    raise AttributeError(f"module 'dagsearch.covariances' has no attribute {name!r}")
