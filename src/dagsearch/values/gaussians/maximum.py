"""Mean and variance of maxima, with checked and broadcast arguments."""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.typing import FloatArray
from dagsearch.values.gaussians.exact import exact_maximum
from dagsearch.values.gaussians.moments import fold_maxima, pair_maxima

# A prior variance up to this counts as 0, because ratios to it would overflow.
_CERTAIN = 1e-200


def _checked(name: str, values: ArrayLike, *, variance: bool = False) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got {values!r}")
    if variance and np.any(array < 0.0):
        raise ValueError(f"{name} must not be negative, got {values!r}")
    return array


def checked_prior(prior: Sequence[float] | None) -> tuple[float, float]:
    """``prior`` as ``(mean, variance)``; ``None``, no prior, becomes ``(0, inf)``."""
    if prior is None:
        return 0.0, math.inf
    try:
        mean, var = (float(value) for value in prior)
    except (TypeError, ValueError):
        mean = var = math.nan
    if not math.isfinite(mean) or math.isnan(var) or var < 0.0:
        raise ValueError(f"prior must be None or (finite mean, variance of at least 0), got {prior!r}")
    return mean, var if var > _CERTAIN else 0.0


def max_of_two(
    mean1: ArrayLike,
    var1: ArrayLike,
    mean2: ArrayLike,
    var2: ArrayLike,
    correlation: ArrayLike = 0.0,
    prior: Sequence[float] | None = None,
) -> tuple[FloatArray | float, FloatArray | float]:
    """Mean and variance of the maximum of two jointly Gaussian variables.

    The moments are exact, although the maximum itself is not Gaussian. The minimum is the negated maximum of
    the negated variables.

    Parameters
    ----------
    mean1, var1, mean2, var2 : array_like
        Moments of the two variables; broadcast against each other.
    correlation : array_like
        Their correlation, in ``[-1, 1]``.
    prior : (mean, variance), optional
        Gaussian prior on the maximum itself.

    Returns
    -------
    mean, var : float or array of the broadcast shape

    Examples
    --------
    >>> mean, var = max_of_two(0.0, 1.0, 0.0, 1.0)
    >>> round(mean, 4), round(var, 4)
    (0.5642, 0.6817)
    """
    corr = _checked("correlation", correlation)
    if np.any(np.abs(corr) > 1.0):
        raise ValueError(f"correlation must lie in [-1, 1], got {correlation!r}")
    columns = np.broadcast_arrays(
        _checked("mean1", mean1),
        _checked("var1", var1, variance=True),
        _checked("mean2", mean2),
        _checked("var2", var2, variance=True),
        corr,
    )
    shape = columns[0].shape
    moments = pair_maxima(np.stack([column.ravel() for column in columns]), *checked_prior(prior))
    return _shaped(moments, shape)


def max_of_many(
    means: ArrayLike,
    variances: ArrayLike,
    prior: Sequence[float] | None = None,
    method: Literal["pairwise", "exact"] = "pairwise",
) -> tuple[FloatArray | float, FloatArray | float]:
    """Mean and variance of the maximum of independent Gaussian variables.

    Parameters
    ----------
    means, variances : array_like, shape ``(..., n)``
        The variables along the last axis.
    prior : (mean, variance), optional
        Gaussian prior on the maximum.
    method : {"pairwise", "exact"}
        ``"pairwise"`` merges the variables one by one, as the paper does, and treats every intermediate
        maximum as Gaussian: O(n), but the variance is too small (784 standard normals: mean 3.150, variance
        0.089). ``"exact"`` integrates the density of the maximum by one-dimensional quadrature (3.171,
        0.128).

    Returns
    -------
    mean, var : float or array of shape ``(...)``

    Examples
    --------
    >>> mean, var = max_of_many([0.0] * 10, [1.0] * 10, method="exact")
    >>> round(mean, 4), round(var, 4)
    (1.5388, 0.3443)
    """
    mean_rows, var_rows = np.broadcast_arrays(
        _checked("means", means), _checked("variances", variances, variance=True)
    )
    if mean_rows.ndim == 0 or mean_rows.shape[-1] == 0:
        raise ValueError("means must hold at least one variable along its last axis")
    shape = mean_rows.shape[:-1]
    mean_rows = np.ascontiguousarray(mean_rows.reshape(-1, mean_rows.shape[-1]))
    var_rows = np.ascontiguousarray(var_rows.reshape(mean_rows.shape))
    prior_moments = checked_prior(prior)
    if method == "pairwise":
        moments = fold_maxima(mean_rows, var_rows, *prior_moments)
    elif method == "exact":
        pairs = zip(mean_rows, var_rows, strict=True)
        moments = np.array([exact_maximum(mean, var, *prior_moments) for mean, var in pairs]).reshape(-1, 2).T
    else:
        raise ValueError(f'method must be "pairwise" or "exact", got {method!r}')
    return _shaped(moments, shape)


def _shaped(moments: FloatArray, shape: tuple[int, ...]) -> tuple[FloatArray | float, FloatArray | float]:
    """Means and variances, shape ``(2, n)``, in the shape of the arguments; scalars for shape ``()``."""
    if shape == ():
        return float(moments[0, 0]), float(moments[1, 0])
    return moments[0].reshape(shape), moments[1].reshape(shape)
