"""Columns that are poor features for any estimator: identifiers, free text, leaks of the target."""

import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.tables.clean import is_text

if TYPE_CHECKING:
    import pandas

# With fewer rows the kind of a column is unclear, with fewer rows of a class a leak.
_MIN_ROWS, _MIN_OF_CLASS = 20, 10
# Share of the values up to the largest that identifiers cover; share of distinct texts beyond categories.
_WITHOUT_GAPS, _DISTINCT_TEXTS = 0.95, 0.5
# Smallest score of one column, R² or AUC, that counts as a suspected leak.
_LEAK = 0.99
# Smallest squared rank correlation of such a column; a single outlier can make R² large.
_ORDERED = 0.9
_ID_NAME = re.compile(
    r"(?i:(.*[_\s.-])?(id|uuid|guid|key|index|idx|no|nr|number|rownames?)|unnamed: \d+)|.*[a-z]I[dD]"
)


def suspicion(column: "pandas.Series") -> str | None:
    """Why a column of all rows is a doubtful feature; ``None`` if it is a good one."""
    values = column.dropna()
    if len(values) < _MIN_ROWS:
        return None
    if is_text(column) or str(column.dtype) == "category":
        differ = values.nunique() >= _DISTINCT_TEXTS * len(values)
        return "identifiers, dates or free text" if differ else None
    return "identifiers" if _are_identifiers(column) else None


def _are_identifiers(column: "pandas.Series") -> bool:
    """Whether whole numbers are all different and named like identifiers, or count the rows in any order."""
    if column.isna().any() or column.dtype.kind not in "iuf":
        return False
    values = column.to_numpy(dtype=np.float64)
    if not np.all(values == np.round(values)) or len(np.unique(values)) < len(values):
        return False
    counts = len(values) >= _WITHOUT_GAPS * (np.ptp(values) + 1.0) or len(set(np.diff(values))) == 1
    return counts or _ID_NAME.fullmatch(str(column.name)) is not None


def leaks(features: "pandas.DataFrame", target: "pandas.Series", classification: bool) -> dict[str, float]:
    """Columns that alone predict the target almost perfectly, each with its score.

    For numbers the score is R². For classes it is the AUC of neighbouring classes in the order of the
    column's values, or the balanced accuracy of the most frequent class for each value. A missing value
    counts as a value.
    """
    if len(target) < _MIN_ROWS:
        return {}
    found = _class_scores(features, target) if classification else _r_squared(features, target)
    return {name: one for name, one in sorted(found.items(), key=lambda item: -item[1]) if one >= _LEAK}


def _r_squared(features: "pandas.DataFrame", target: "pandas.Series") -> dict[str, float]:
    """R² of the numeric columns, by value or by rank."""
    numbers = features.select_dtypes("number")
    numbers = numbers.loc[:, numbers.count() >= max(_MIN_ROWS, len(numbers) / 2)]
    by_value = numbers.corrwith(target) ** 2
    by_value = by_value[by_value >= _ORDERED - 0.2]  # few columns, whose ranks are then compared
    by_rank = numbers[by_value.index].rank().corrwith(target.rank()) ** 2
    best = by_value.where(by_value > by_rank, by_rank)[by_rank >= _ORDERED]
    return {str(name): float(one) for name, one in best.items()}


def _class_scores(features: "pandas.DataFrame", target: "pandas.Series") -> dict[str, float]:
    counts = target.map(target.value_counts())
    features, classes = features[counts >= _MIN_OF_CLASS], target[counts >= _MIN_OF_CLASS].to_numpy()
    if len(np.unique(classes)) < 2:
        return {}
    return {str(name): _class_score(column, classes) for name, column in features.items()}


def _class_score(column: "pandas.Series", classes: IntArray) -> float:
    keys, by_value = _keys(column), 0.0
    kinds, codes = np.unique(classes, return_inverse=True)
    distinct, of_value = np.unique(keys, return_inverse=True)
    if len(distinct) <= len(keys) / 3:
        counts = np.zeros((len(distinct), len(kinds)))
        np.add.at(counts, (of_value, codes), 1.0)
        right = counts.argmax(axis=1)[of_value] == codes
        by_value = float(np.mean([right[codes == code].mean() for code in range(len(kinds))]))
    if is_text(column):
        return by_value
    parts = sorted((np.sort(keys[codes == code]) for code in range(len(kinds))), key=np.median)
    return max(by_value, min(_auc(low, high) for low, high in pairwise(parts)))


def _auc(low: FloatArray, high: FloatArray) -> float:
    """Probability that a value of ``high`` is larger than one of ``low``, both sorted."""
    below: IntArray = np.searchsorted(low, high, "left") + np.searchsorted(low, high, "right")
    return float(below.mean()) / (2 * len(low))


def _keys(column: "pandas.Series") -> FloatArray:
    """Numbers in the order of the column's values; missing values come last."""
    import pandas

    if column.dtype.kind in "biuf":
        keys: FloatArray = column.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.where(np.isnan(keys), np.inf, keys)
    codes = pandas.factorize(column)[0].astype(np.float64)
    return np.where(codes < 0, np.inf, codes)
