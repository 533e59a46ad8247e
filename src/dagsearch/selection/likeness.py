"""Similarity of features, computed from the data."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from dagsearch._internal.typing import FloatArray
from dagsearch.covariances import correlation


def likeness(data: Any) -> FloatArray:
    """Squared correlations between the columns of the data.

    Missing values are replaced by the column's mean and text by the number of its value in sorted order.
    Columns that do not vary are similar to no other column.

    Parameters
    ----------
    data : {ndarray, sparse matrix, data frame} of shape (n_samples, n_features)
        The features.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Similarity of each pair of features, between 0 and 1.
    """
    if issparse(data):
        return _sparse_likeness(data)
    frame = hasattr(data, "iloc")
    columns = [numbers(data.iloc[:, i] if frame else data[:, i]) for i in range(data.shape[1])]
    return correlation(np.column_stack(columns))


def numbers(column: Any) -> FloatArray:
    """A column of an array or of a data frame as finite numbers; see :func:`likeness` for the others."""
    try:
        if hasattr(column, "to_numpy"):  # pandas, where a missing integer cannot be converted to a float
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.unique([str(value) for value in column], return_inverse=True)[1].astype(np.float64)
    finite = np.isfinite(values)
    mean = float(values[finite].mean()) if finite.any() else 0.0
    return np.where(finite, values, mean)


def _sparse_likeness(data: Any) -> FloatArray:
    """The same for sparse data, which stay sparse; missing values count as zero."""
    rows = data.shape[0]
    table = data.astype(np.float64).tocsc()
    table.data[~np.isfinite(table.data)] = 0.0
    mean = np.asarray(table.mean(axis=0)).ravel()
    inner = (table.T @ table).toarray()
    inner -= rows * np.outer(mean, mean)
    sizes = np.sqrt(np.maximum(inner.diagonal(), 0.0))
    varies = sizes > 1e-12 * np.sqrt(rows) * max(float(np.abs(mean).max(initial=0.0)), 1.0)
    inner /= np.where(varies, sizes, np.inf)[:, None]
    inner /= np.where(varies, sizes, np.inf)
    np.square(inner, out=inner)
    np.fill_diagonal(inner, 1.0)
    return np.asarray(inner)
