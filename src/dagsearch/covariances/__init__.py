"""Covariances of the generative scores: which states are alike."""

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from dagsearch.covariances.base import Covariance, FeatureMap, Hyperparameter
from dagsearch.covariances.checks import check_covariance
from dagsearch.covariances.discrete import Diffusion, Hamming
from dagsearch.covariances.features import Features, LinearFeatures
from dagsearch.covariances.functions import Pairwise, SharedPath
from dagsearch.covariances.items import Nearness, Relevance, correlation
from dagsearch.covariances.overlap import Overlap
from dagsearch.covariances.sets import SetKernel
from dagsearch.covariances.views import Views

if TYPE_CHECKING:
    from dagsearch.games.covariances import learned, pieces, windows

__all__ = [
    "Covariance",
    "Diffusion",
    "FeatureMap",
    "Features",
    "Hamming",
    "Hyperparameter",
    "LinearFeatures",
    "Nearness",
    "Overlap",
    "Pairwise",
    "Relevance",
    "SetKernel",
    "SharedPath",
    "Views",
    "check_covariance",
    "correlation",
    "learned",
    "pieces",
    "windows",
]

# Names that have moved: old name, new module and name.
_MOVED = {
    "RowStore": ("dagsearch.covariances.rows", "RowStore"),
    "Rows": ("dagsearch.covariances.rows", "Rows"),
    "SparseRows": ("dagsearch.covariances.rows", "SparseRows"),
    "checked_kind": ("dagsearch.covariances.checks", "as_covariance"),
    "items_of": ("dagsearch.covariances.overlap", "items_of"),
}


def __getattr__(name: str) -> Any:
    """Covariances of game positions, imported only when needed, and names that have moved."""
    if name in ("learned", "pieces", "windows"):
        return getattr(importlib.import_module("dagsearch.games.covariances"), name)
    if name in _MOVED:
        module, now = _MOVED[name]
        warnings.warn(
            f"dagsearch.covariances.{name} has moved to {module}.{now}", DeprecationWarning, stacklevel=2
        )
        return getattr(importlib.import_module(module), now)
    raise AttributeError(f"module 'dagsearch.covariances' has no attribute {name!r}")
