"""Columns that are poor features for any estimator: identifiers, dates, free text, leaks of the target."""

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from dagsearch._internal.typing import IntArray
from dagsearch.tables.clean import is_text

if TYPE_CHECKING:
    import pandas

# Fewer rows say nothing about what a column is.
_MIN_ROWS = 20
# Values of a column that are looked at.
_SAMPLE = 1000
# Share of the values that must look like a date, or be unlike all others.
_NEARLY_ALL = 0.95
# Free text: mean number of words, and share of the rows whose text is unlike all others.
_WORDS, _DISTINCT_TEXTS = 4, 0.5
# Rank correlation with the target from which on a column counts as a leak.
_LEAK = 0.99999
_ID_NAME = re.compile(
    r"(?i:(.*[_\s.-])?(id|uuid|guid|key|index|idx|no|nr|number|rownames?)|unnamed: \d+)|.*[a-z]I[dD]"
)
_DATE = re.compile(
    r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T ].*)?"  # 2024-01-31T12:00, 31.1.2024
    r"|\d{1,2}[ -][A-Za-z]{3,9}[ ,-]+\d{2,4}.*"  # 31 January 2024
    r"|[A-Za-z]{3,9} \d{1,2},? \d{4}.*"  # January 31, 2024
)


def suspicion(column: "pandas.Series") -> str | None:
    """Why a column is left out of the features: ``dates``, ``free text``, ``identifiers``, or ``None``.

    Parameters
    ----------
    column : pandas.Series
        Numbers or text.
    """
    values = column.dropna()
    if looks_like_dates(values):
        return "dates"
    if len(values) < _MIN_ROWS:
        return None
    if is_text(column) or str(column.dtype) == "category":
        return _text_suspicion(values)
    return "identifiers" if _are_identifiers(column, str(column.name)) else None


def looks_like_dates(values: "pandas.Series") -> bool:
    """Whether values are times, or text that is written like dates."""
    import pandas

    if values.dtype.kind == "M":
        return True
    if not len(values):
        return False
    sample = values.iloc[:_SAMPLE]
    if values.dtype.kind in "iu":
        return bool(((sample >= 19000101) & (sample <= 21001231)).all()) and _share(
            pandas.to_datetime(sample.astype(str), format="%Y%m%d", errors="coerce").notna()
        )
    if not is_text(values):
        return False
    return _share(
        sample.map(lambda value: isinstance(value, str) and _DATE.fullmatch(value.strip()) is not None)
    )


def _share(holds: "pandas.Series") -> bool:
    return bool(holds.mean() >= _NEARLY_ALL)


def _text_suspicion(values: "pandas.Series") -> str | None:
    distinct = values.nunique() / len(values)
    words = values.iloc[:_SAMPLE].map(lambda value: len(str(value).split())).mean()
    if words >= _WORDS and distinct >= _DISTINCT_TEXTS:
        return "free text"
    return "identifiers" if distinct >= _NEARLY_ALL else None


def _are_identifiers(column: "pandas.Series", name: str) -> bool:
    """Whether whole numbers are all different and either count the rows or are named like identifiers."""
    if column.isna().any() or column.dtype.kind not in "iuf":
        return False
    values = column.to_numpy(dtype=np.float64)
    if not np.all(values == np.round(values)) or len(np.unique(values)) < len(values):
        return False
    steps = np.diff(values)
    return _ID_NAME.fullmatch(name) is not None or bool(np.all(steps == steps[0]))


def leaks(features: "pandas.DataFrame", target: "pandas.Series", classification: bool) -> list[str]:
    """Names of the columns that determine the target by themselves.

    For classes: every value goes with one class, or the classes are apart in the order of the values. Missing
    is a value, too. For numbers: the ranks are those of the target.
    """
    if len(target) < _MIN_ROWS:
        return []
    if classification:
        codes = np.unique(np.asarray(target), return_inverse=True)[1]
        if np.bincount(codes).min() < 5:
            return []
        return [str(name) for name in features.columns if _separates(features[name], codes)]
    ranks = _ranks(target)
    return [str(name) for name in features.columns if abs(_rank_correlation(features[name], ranks)) > _LEAK]


def _separates(column: "pandas.Series", codes: IntArray) -> bool:
    keys = _keys(column)
    order = np.argsort(keys, kind="stable")
    keys, classes = keys[order], codes[order]
    new_value = np.concatenate([[True], keys[1:] != keys[:-1]])
    new_class = np.concatenate([[True], classes[1:] != classes[:-1]])
    if np.any(new_class & ~new_value):  # one value with two classes
        return False
    few_values = int(new_value.sum()) <= len(codes) / 3
    ordered = not is_text(column) and int(new_class.sum()) == int(codes.max()) + 1
    return few_values or ordered


def _keys(column: "pandas.Series") -> Any:
    """Numbers with the same order as the column's values; what is missing is largest."""
    import pandas

    if column.dtype == np.float64:  # quicker, for wide tables
        values = column.to_numpy()
        return np.where(np.isnan(values), np.inf, values)
    if column.dtype.kind in "biuf":
        return np.nan_to_num(column.to_numpy(dtype=np.float64, na_value=np.nan), nan=np.inf)
    keys = pandas.factorize(column, use_na_sentinel=True)[0].astype(np.float64)
    return np.where(keys < 0, np.inf, keys)


def _ranks(column: "pandas.Series") -> Any:
    ranks = column.rank().to_numpy(dtype=np.float64, na_value=np.nan)
    return ranks - np.nanmean(ranks)


def _rank_correlation(column: "pandas.Series", ranks: Any) -> float:
    if column.dtype.kind not in "iuf" or column.isna().any():
        return 0.0
    own = _ranks(column)
    scale = float(np.sqrt((own**2).sum() * (ranks**2).sum()))
    return float(own @ ranks) / scale if scale > 0.0 else 0.0
