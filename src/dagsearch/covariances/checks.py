"""Checks of covariances and of their parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dagsearch._internal import linalg
from dagsearch._internal.checks import is_finite
from dagsearch.covariances.base import Covariance
from dagsearch.errors import CovarianceError
from dagsearch.problem import State

# Relative to the largest entry: asymmetry, and negative eigenvalue per state, that count as rounding errors.
_ROUNDING = 1e-8


def checked_variance(name: str, value: float) -> float:
    """``value`` as a float; :class:`CovarianceError` unless it is finite and not negative."""
    if not is_finite(value) or value < 0.0:
        raise CovarianceError(f"{name} must be finite and not negative, got {value!r}")
    return float(value)


def checked_positive(name: str, value: float) -> float:
    """``value`` as a float; :class:`CovarianceError` unless it is finite and positive."""
    if not is_finite(value) or value <= 0.0:
        raise CovarianceError(f"{name} must be positive and finite, got {value!r}")
    return float(value)


def checked_factor(factor: float) -> float:
    """``factor`` as a float; :class:`CovarianceError` unless a covariance can be scaled by it."""
    if not is_finite(factor) or factor <= 0.0:
        raise CovarianceError(f"a covariance can be scaled by a positive number only, got {factor!r}")
    return float(factor)


def as_covariance(covariance: Any) -> Covariance:
    """``covariance`` itself; :class:`CovarianceError` unless it is a :class:`Covariance`."""
    if not isinstance(covariance, Covariance):
        advice = "wrap a function in Pairwise, give items to Overlap, or subclass Covariance"
        raise CovarianceError(f"covariance must be a dagsearch covariance, got {covariance!r}: {advice}")
    return covariance


def check_covariance(covariance: Covariance, states: Sequence[State]) -> None:
    """Raise :class:`CovarianceError` unless the matrix over ``states`` is a covariance matrix."""
    matrix = covariance(states)
    if not np.all(np.isfinite(matrix)):
        i, j = (int(index) for index in np.argwhere(~np.isfinite(matrix))[0])
        raise CovarianceError(
            f"the covariance {covariance!r} of {states[i]!r} and {states[j]!r} is {matrix[i, j]}, "
            "not a finite number"
        )
    scale = max(float(np.abs(matrix).max()), np.finfo(np.float64).tiny)
    asymmetry = np.abs(matrix - matrix.T)
    if asymmetry.max() > _ROUNDING * scale:
        i, j = divmod(int(asymmetry.argmax()), len(states))
        raise CovarianceError(
            f"the covariance {covariance!r} is not symmetric: {matrix[i, j]} for ({states[i]!r}, "
            f"{states[j]!r}) but {matrix[j, i]} the other way round"
        )
    smallest = float(linalg.eigvalsh(matrix)[0])
    if smallest < -_ROUNDING * scale * len(states):
        raise CovarianceError(
            f"the covariance {covariance!r} is not positive semi-definite: over {len(states)} sampled "
            f"states its matrix has the eigenvalue {smallest:.3g}. Use a valid kernel (sums and products "
            "of kernels are), or add private variance of at least that size"
        )
