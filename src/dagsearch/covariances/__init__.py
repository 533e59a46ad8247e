"""Covariances of the generative scores: which states are alike."""

from dagsearch.covariances.base import (
    Covariance,
    FeatureMap,
    Hyperparameter,
    Rows,
    RowStore,
    SparseRows,
    check_covariance,
    checked_kind,
)
from dagsearch.covariances.boards import learned, pieces, windows
from dagsearch.covariances.discrete import Diffusion, Hamming
from dagsearch.covariances.functions import Pairwise, SharedPath
from dagsearch.covariances.overlap import Overlap, items_of
from dagsearch.covariances.vectors import Features, LinearFeatures, Nearness, SetKernel, correlation

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
    "check_covariance",
    "checked_kind",
    "correlation",
    "items_of",
    "learned",
    "pieces",
    "windows",
]
