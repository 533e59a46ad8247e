"""Covariances of the generative scores: which states are alike."""

from typing import TYPE_CHECKING, Any

from dagsearch.covariances.base import (
    Covariance,
    FeatureMap,
    Hyperparameter,
    Rows,
    RowStore,
    SparseRows,
    as_covariance,
    check_covariance,
)
from dagsearch.covariances.discrete import Diffusion, Hamming
from dagsearch.covariances.functions import Pairwise, SharedPath
from dagsearch.covariances.overlap import Overlap, items_of
from dagsearch.covariances.vectors import Features, LinearFeatures, Nearness, SetKernel, correlation

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
    "RowStore",
    "Rows",
    "SetKernel",
    "SharedPath",
    "SparseRows",
    "as_covariance",
    "check_covariance",
    "correlation",
    "items_of",
    "learned",
    "pieces",
    "windows",
]


def __getattr__(name: str) -> Any:
    """Covariances of positions live with the games, which are built on this package."""
    if name in ("learned", "pieces", "windows"):
        from dagsearch.games import covariances

        return getattr(covariances, name)
    raise AttributeError(f"module 'dagsearch.covariances' has no attribute {name!r}")
