"""A quick ranking of the columns by relevance for the target: scikit-learn's F test.

It does not fit the user's estimator. Its first columns are the first scored subsets, and the belief about
single features starts from it. The lasso, extremely randomised trees and the mean of all three were tried as
well: on the twelve tables of the benchmark the choices were no better on held-out rows.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.feature_selection import f_classif, f_regression
from sklearn.utils import _safe_indexing

from dagsearch._internal.typing import FloatArray
from dagsearch.problems.subsets import Subset
from dagsearch.selection.columns import ColumnSubsets

# Number of columns tested at a time.
_BLOCK = 1000
# Largest number of sizes to try.
_MOST_SIZES = 4


def ranked(data: Any, target: Any, classification: bool) -> FloatArray | None:
    """Relevance of the columns: the share of variance that each has in common with the target.

    It is adjusted for its degrees of freedom and scaled so that the largest is 1; ``None`` without a usable
    target. ``classification`` is whether the target consists of classes.
    """
    aims = _target_columns(target, classification)
    if aims is None:
        return None
    count = int(data.shape[1])
    found = np.zeros(count)
    for start in range(0, count, _BLOCK):  # the whole table need not fit into memory as numbers
        block = slice(start, min(start + _BLOCK, count))
        found[block] = _shares(numeric_table(data, range(block.start, block.stop)), aims, classification)
    return np.asarray(found / max(float(found.max(initial=0.0)), 1e-300))


def numeric_table(data: Any, columns: Sequence[int]) -> FloatArray:
    """Some columns as finite numbers: gaps become the column's mean, text becomes the number of its value."""
    part = _safe_indexing(data.tocsc() if issparse(data) else data, list(columns), axis=1)
    part = part.toarray() if issparse(part) else part
    kinds = part.dtypes if hasattr(part, "iloc") else [part.dtype]
    if all(isinstance(kind, np.dtype) and kind.kind in "biuf" for kind in kinds):
        part = np.asarray(part, dtype=np.float64)  # at once: with 30,000 columns, one by one takes a minute
        if np.isfinite(part).all():
            return part
    each = [column for _, column in part.items()] if hasattr(part, "iloc") else part.T
    return np.column_stack([numbers(column) for column in each])


def numbers(column: Any) -> FloatArray:
    """A column of an array or of a data frame as finite numbers."""
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


def standardised(table: FloatArray) -> FloatArray:
    """Columns with mean 0 and standard deviation 1; constant ones become 0."""
    centred = table - table.mean(axis=0)
    deviation = centred.std(axis=0)
    varies = deviation > 1e-12 * np.maximum(np.abs(table).max(axis=0, initial=0.0), 1e-300)
    return np.asarray(np.where(varies, centred / np.where(varies, deviation, 1.0), 0.0))


def _target_columns(target: Any, classification: bool) -> FloatArray | None:
    """The target as numbers, a column for every output, classes by code; ``None`` if it is unusable."""
    if target is None:
        return None
    values = np.asarray(target)
    try:
        if classification and values.ndim == 1:
            values = np.unique(values.astype(str), return_inverse=True)[1]
        columns = values.astype(np.float64).reshape(len(values), -1)
    except (TypeError, ValueError):
        return None
    tells = len(columns) >= 4 and np.all(np.isfinite(columns)) and np.any(np.ptp(columns, axis=0))
    return columns if tells else None


def _shares(table: FloatArray, aims: FloatArray, classification: bool) -> FloatArray:
    """Shared variance by the F test, adjusted for its degrees of freedom; the largest over the aims."""
    rows, table = len(table), standardised(table)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # constant columns
        if classification and aims.shape[1] == 1:
            spent, tests = len(np.unique(aims)) - 1.0, [f_classif(table, aims[:, 0])[0]]
        else:
            spent, tests = 1.0, [f_regression(table, aim)[0] for aim in aims.T if np.ptp(aim)]
        left = max(rows - 1.0 - spent, 1.0)
        odds = np.max(tests, axis=0) * spent / left
        share = np.where(np.isposinf(odds) | (odds < 0.0), 1.0, odds / (1.0 + odds))
        return np.nan_to_num(np.maximum(1.0 - (1.0 - share) * (rows - 1.0) / left, 0.0))


# First subsets --------------------------------------------------------------------------------------


def suggestions(relevance: FloatArray, problem: ColumnSubsets) -> list[Subset]:
    """The ranking's choices, as leaves of the problem.

    The first is the choice of ``SelectKBest``. If several sizes are allowed, the largest, the smallest and
    some in between are tried, evenly spaced on a logarithmic scale. A group has the rank of its first column.
    """
    owner = {column: name for name, members in problem.choices.items() for column in members}
    order = np.argsort(-relevance, kind="stable").tolist()
    choices = list(dict.fromkeys(owner[column] for column in order if column in owner))
    allowed = problem.problem.sizes
    least = max(allowed[0], 1)
    spread = np.geomspace(least, allowed[-1], min(_MOST_SIZES, allowed[-1] - least + 1))
    sizes = sorted({round(float(size)) for size in spread}, reverse=True)
    return [frozenset(choices[:size]) for size in sizes]
