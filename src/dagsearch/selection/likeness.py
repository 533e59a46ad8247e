"""How alike features are, from the data alone."""

from typing import Any

import numpy as np
from scipy.sparse import issparse

from dagsearch._internal.typing import FloatArray
from dagsearch.covariances import correlation


def likeness(data: Any) -> FloatArray:
    """Squared correlations of the columns of an array, a sparse matrix or a data frame.

    Missing values count as the column's mean, text as the numbers of its values, and a column that does not
    vary is like no other.
    """
    if issparse(data):
        return _sparse_likeness(data)
    frame = hasattr(data, "iloc")
    columns = [numbers(data.iloc[:, i] if frame else data[:, i]) for i in range(data.shape[1])]
    return correlation(np.column_stack(columns))


def numbers(column: Any) -> FloatArray:
    """A column of an array or a data frame as finite numbers."""
    try:
        if hasattr(column, "to_numpy"):  # where a missing whole number is no float
            values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            values = np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.unique([str(value) for value in column], return_inverse=True)[1].astype(np.float64)
    finite = np.isfinite(values)
    mean = float(values[finite].mean()) if finite.any() else 0.0
    return np.where(finite, values, mean)


def _sparse_likeness(data: Any) -> FloatArray:
    """The same without making the data dense; only the result is, and missing values count as zero."""
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
