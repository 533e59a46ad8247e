"""Cleaning: formatted numbers, marks of missing values, and preprocessing for models."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

if TYPE_CHECKING:
    import pandas

# Never an intended value: missing in every column.
_MISSING = {"", "?", "??", "???", "-", "--", "---", "–", "—", ".", "..", "n/a", "na", "#n/a", "n.a.", "nan"}
_MISSING |= {"null", "<na>", "inf", "-inf", "#value!", "#div/0!", "#ref!", "#name?", "#num!"}
# A text column becomes numbers if at least this share of its values can be read as numbers.
_SHARE = 0.9
_CURRENCY = r"(?:[$€£¥₹₽₩]|USD|EUR|GBP|CHF|JPY|INR|CNY|CAD|AUD|SEK|NOK|DKK|PLN)?"
# Thousands may be grouped, but only in numbers without a leading zero.
_NUMBER = re.compile(
    rf"\s*([-+]?)\s*{_CURRENCY}\s*([-+]?(?:[1-9]\d{{0,2}}(?:,\d{{3}})+|[1-9]\d{{0,2}}(?:[\s'’]\d{{3}})+|\d*)"
    rf"(?:(?<=\d)\.\d*|\.\d+|(?<=\d))(?:e[-+]?\d+)?)\s*{_CURRENCY}\s*%?\s*",
    re.IGNORECASE,
)
_SWAPPED = str.maketrans(",.", ".,")
# Number of values of a column from which the decimal mark is detected.
_SAMPLE = 1000
_EXAMPLES = 5


def is_text(column: "pandas.Series") -> bool:
    """Whether a column holds text, or a mixture of types."""
    return column.dtype.kind not in "biufcmMV" and str(column.dtype) != "category"


def number_of(text: str, decimal: str = ".") -> float | None:
    """The number that a text stands for, or ``None``.

    >>> number_of("$12,345.00"), number_of("1 234,5 €", ","), number_of("12%"), number_of("12a")
    (12345.0, 1234.5, 12.0, None)
    """
    text = text.replace("−", "-")
    found = _NUMBER.fullmatch(text if decimal == "." else text.translate(_SWAPPED))
    if found is None or (found[1] and found[2][0] in "+-"):
        return None
    return float(found[1] + re.sub(r"[,'’\s]", "", found[2]))


def decimal_mark(frame: "pandas.DataFrame") -> str:
    """The decimal mark with which more values of a table's text columns are numbers."""
    values = [value for column in _texts(frame).values() for value in column.dropna().unique()[:_SAMPLE]]
    texts = [value for value in values if isinstance(value, str)]
    readable = {mark: sum(number_of(text, mark) is not None for text in texts) for mark in ".,"}
    return max(readable, key=lambda mark: readable[mark])


def clean(frame: "pandas.DataFrame") -> tuple["pandas.DataFrame", list[str]]:
    """Convert text to numbers where possible; marks such as ``?`` and infinite numbers become missing.

    The frame is a copy, and the notes list the conversions.
    """
    decimal = decimal_mark(frame)
    changed: dict[Any, pandas.Series] = {}
    missing: dict[str, list[str]] = {}
    converted: list[str] = []
    notes: list[str] = []
    for name, original in _texts(frame).items():
        column, marks = _without_marks(original)
        if marks:
            missing.setdefault(", ".join(map(repr, marks)), []).append(name)
        numbers, others = _numbers(column, decimal)
        if numbers is not None:
            written = column[~column.isin(others)].dropna()
            converted.append(f"{name!r} (such as {written.iloc[0]!r})")
            if others:
                count = f"{int(column.isin(others).sum())} other values, such as {others[0]!r},"
                notes.append(f"{name!r} is nearly all numbers: {count} count as missing")
        changed[name] = column if numbers is None else numbers
    notes += [f"{marks} counts as missing in {listed(names)}" for marks, names in missing.items()]
    if converted:
        notes.append(f"converted from text to numbers: {listed(converted, str)}")
    frame = frame.assign(**changed)
    infinite = frame.select_dtypes("float").isin([np.inf, -np.inf]).sum()
    shown = [f"{name!r} ({count} rows)" for name, count in infinite[infinite > 0].items()]
    if shown:  # no model accepts them
        notes.append(f"infinite or too large numbers count as missing in {listed(shown, str)}")
        frame = frame.replace([np.inf, -np.inf], np.nan)
    return frame, notes


def _texts(frame: "pandas.DataFrame") -> dict[Any, "pandas.Series"]:
    """The text columns."""
    return {name: column for name, column in frame.items() if is_text(column)}


def _without_marks(column: "pandas.Series") -> tuple["pandas.Series", list[str]]:
    """The column without marks of missing values, and its marks."""
    texts = [value for value in column.dropna().unique() if isinstance(value, str)]
    marks = [value for value in texts if value.strip().lower() in _MISSING]
    shown = [mark.strip() for mark in marks if mark.strip()]
    return (column.mask(column.isin(marks)) if marks else column), list(dict.fromkeys(shown))


def _numbers(column: "pandas.Series", decimal: str) -> tuple["pandas.Series | None", list[Any]]:
    """The column as numbers, or ``None`` if it is not numeric, and the values that are not numbers."""
    values = column.dropna()
    known = {value: _number(value, decimal) for value in values.unique()}
    others = [value for value, number in known.items() if number is None]
    if not known or values.isin(others).mean() > 1.0 - _SHARE:
        return None, []
    numbers = {value: np.nan if number is None else number for value, number in known.items()}
    return column.map(numbers).astype(np.float64), others


def _number(value: Any, decimal: str) -> float | None:
    if isinstance(value, str):
        return number_of(value, decimal)
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        return float(str(value))  # infinite if it is too large
    return None


def listed(names: Sequence[Any], form: Callable[[Any], str] = repr) -> str:
    """A few of the names, and the number of others."""
    more = f" and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else ""
    return ", ".join(form(name) for name in names[:_EXAMPLES]) + more


def prepared(model: Any) -> Pipeline:
    """The model in a pipeline that prepares its columns.

    Numbers are imputed by their median and scaled, other columns imputed by their most frequent value and
    encoded.
    """
    numeric = make_column_selector(dtype_include=["number", "bool"])
    other = make_column_selector(dtype_exclude=["number", "bool"])
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    texts = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    return make_pipeline(make_column_transformer((numbers, numeric), (texts, other)), model)


def is_prepared(estimator: Any) -> bool:
    """Whether an estimator was made by :func:`prepared`."""
    steps = getattr(estimator, "steps", [])
    return len(steps) == 2 and isinstance(steps[0][1], ColumnTransformer)
