"""Cleaning: text columns that are numbers written for people, marks of missing values, what models need."""

import math
import re
import sys
from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

if TYPE_CHECKING:
    import pandas

# Never a value that somebody meant: missing in every column.
_MISSING = {"", "?", "??", "???", "-", "--", "---", "–", "—", ".", "..", "n/a", "na", "#n/a", "n.a.", "nan"}
_MISSING |= {"null", "<na>", "#value!", "#div/0!", "#ref!", "#name?", "#num!"}
# A category among texts, and missing among numbers.
_MISSING_NUMBERS = {"none", "nil", "missing", "unknown", "not available", "n.d.", "nd", "tbd", "x"}
# A text column becomes numbers if at least this share of its values can be read as such.
_SHARE = 0.9
_CURRENCIES = "$€£¥₹₽₩"
_CURRENCY = rf"(?:[{_CURRENCIES}]|USD|EUR|GBP|CHF|JPY|INR|CNY|CAD|AUD|SEK|NOK|DKK|PLN)"
_AMOUNT = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[-+−]?)\s*({_CURRENCY}\s*(?P<sign2>[-+−]?))?\s*"
    rf"(?P<digits>[\d.,'’\s\u00a0\u202f]*\d[.,]?(?:[eE][-+]?\d+)?)\s*{_CURRENCY}?\s*%?\s*(?P<close>\))?",
    re.IGNORECASE,
)
# Whole numbers with marks between thousands, by the decimal mark.
_GROUPED = {
    decimal: re.compile(rf"\d{{1,3}}(?P<mark>[{thousands}\s\u00a0\u202f'’])\d{{3}}((?P=mark)\d{{3}})*")
    for decimal, thousands in ((".", ","), (",", "."))
}
# Groups of three digits throughout: as likely a telephone number or a code.
_CODE = re.compile(r"\d{3}( \d{3}){2,}")
_PLAIN = re.compile(r"(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_EXAMPLES = 5
# Number of digits of the largest number.
_DIGITS = 308


def is_text(column: "pandas.Series") -> bool:
    """Whether a column holds text, or a mixture of types."""
    return _holds_text(column.dtype)


def _holds_text(dtype: Any) -> bool:
    return dtype.kind not in "biufcmMV" and str(dtype) != "category"


def is_hashable(value: object) -> bool:
    """Whether a value can be counted, as lists cannot."""
    return isinstance(value, Hashable) and not isinstance(value, np.ndarray)


def number_of(text: str, decimal: str = ".", spaced: bool = False) -> float | None:
    """The number that a text stands for, ``None`` if it stands for none.

    ``555 123 456`` is a number only if thousands are known to be ``spaced`` in its column.

    >>> number_of("$12,345.00"), number_of("(1 234,5 €)", ","), number_of("12%"), number_of("12a")
    (12345.0, -1234.5, 12.0, None)
    """
    text = text.strip()
    found = _AMOUNT.fullmatch(text)
    if found is None or bool(found["open"]) != bool(found["close"]) or (_CODE.fullmatch(text) and not spaced):
        return None
    whole, mark, rest = found["digits"].partition(decimal)
    if _GROUPED[decimal].fullmatch(whole):
        whole = re.sub(r"\D", "", whole)
    digits = f"{whole}{mark and '.'}{rest}"
    if _PLAIN.fullmatch(digits) is None:
        return None
    sign = found["sign"] or found["sign2"] or found["open"]
    negative = sign in ("-", "−", "(")
    return -float(digits) if negative else float(digits)


def decimal_mark(frame: "pandas.DataFrame", most: int = 1000) -> str:
    """The decimal mark of the numbers in a table's text columns: a comma if only a comma can be meant.

    At most ``most`` values of each column are looked at.
    """
    comma, point = 0, 0
    for column in _text_columns(frame).values():
        for value in column.dropna().unique()[:most]:
            mark = _mark(value) if isinstance(value, str) else None
            comma, point = comma + (mark == ","), point + (mark == ".")
    return "," if comma > point else "."


def _mark(text: str) -> str | None:
    """The decimal mark of a number, ``None`` if the text is not a number or may be read with either mark."""
    with_comma, with_point = number_of(text, ","), number_of(text, ".")
    if with_comma is None and with_point is not None:
        return "." if "." in text else None
    if with_point is None and with_comma is not None:
        return "," if "," in text else None
    # "0,123" can be a thousand only with a decimal point, and nobody writes a leading zero there.
    return "," if re.match(r"\D*0,", text) else "." if re.match(r"\D*0\.", text) else None


def clean(frame: "pandas.DataFrame", decimal: str | None = None) -> tuple["pandas.DataFrame", list[str]]:
    """Text that is a number as a number, and marks such as ``?`` as missing values.

    Parameters
    ----------
    frame : pandas.DataFrame
        The table, which is left as it is.
    decimal : str, optional
        The decimal mark; ``None`` to detect it.

    Returns
    -------
    frame : pandas.DataFrame
        The table with converted columns.
    notes : list of str
        What was converted.
    """
    import pandas

    decimal = decimal_mark(frame) if decimal is None else decimal
    changed: dict[Any, pandas.Series] = {}
    missing: dict[str, list[str]] = {}
    converted: list[str] = []
    notes: list[str] = []
    for name, column in _text_columns(frame).items():
        column, marks = _without_marks(column)
        numbers, others = _numbers(column, decimal)
        if marks:
            missing.setdefault(", ".join(map(repr, marks)), []).append(name)
            changed[name] = column
        if numbers is not None:
            if np.isinf(numbers).any():
                raise ValueError(
                    f"column {name!r} holds a number that is too large, with more than {_DIGITS} digits: "
                    "remove it, or let the cell be empty"
                )
            changed[name] = numbers
            written = (value for value in column.dropna() if value not in others and not _is_plain(value))
            if (example := next(written, None)) is not None:
                converted.append(f"{name!r} (such as {example!r})")
            if others:
                notes.append(
                    f"{name!r} is nearly all numbers: {int(column.isin(others).sum())} other values count as "
                    f"missing, such as {others[0]!r}"
                )
    notes += [f"{marks} counts as missing in {listed(names)}" for marks, names in missing.items()]
    if converted:
        notes.append(f"converted from text to numbers: {listed(converted, str)}")
    return (frame.assign(**changed) if changed else frame), notes


def _text_columns(frame: "pandas.DataFrame") -> dict[Any, "pandas.Series"]:
    """The columns of text, without those that hold lists."""
    texts = {name: frame[name] for name, dtype in frame.dtypes.items() if _holds_text(dtype)}
    return {
        name: column
        for name, column in texts.items()
        if column.dtype != object or column.map(is_hashable).all()
    }


def _without_marks(column: "pandas.Series") -> tuple["pandas.Series", list[str]]:
    """The column without marks of missing values, and the marks that it had."""
    texts = [value for value in column.dropna().unique() if isinstance(value, str)]
    marks = [value for value in texts if value.strip().lower() in _MISSING]
    shown = [mark.strip() for mark in marks if mark.strip()]
    return (column.mask(column.isin(marks)) if marks else column), list(dict.fromkeys(shown))


def _numbers(column: "pandas.Series", decimal: str) -> tuple["pandas.Series | None", list[Any]]:
    """The column as numbers, ``None`` if it is not one of numbers; and the values that are not numbers."""
    import pandas

    values = column.dropna()
    texts = [value for value in values.unique() if isinstance(value, str)]
    spaced = any(_GROUPED[decimal].match(text) and not _CODE.fullmatch(text) for text in texts)
    known = {value: _number(value, decimal, spaced) for value in values.unique()}
    others = [value for value, number in known.items() if number is None]
    marks = [
        value for value in others if isinstance(value, str) and value.strip().lower() in _MISSING_NUMBERS
    ]
    readable = len(values) - int(values.isin(others).sum())
    if readable == 0 or readable < _SHARE * (len(values) - int(values.isin(marks).sum())):
        return None, []
    numbers = {value: np.nan if number is None else number for value, number in known.items()}
    return pandas.to_numeric(column.map(numbers)).astype(np.float64), others


def _is_plain(value: Any) -> bool:
    """Whether a number is written as a program writes it."""
    return not isinstance(value, str) or _PLAIN.fullmatch(value.strip().lstrip("+-")) is not None


def _number(value: Any, decimal: str, spaced: bool) -> float | None:
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, float, np.number)):
        return math.inf if isinstance(value, int) and abs(value) > sys.float_info.max else float(value)
    return number_of(value, decimal, spaced) if isinstance(value, str) else None


def listed(names: Sequence[Any], form: Any = repr) -> str:
    """A few of the names, and how many more there are."""
    shown: Iterable[str] = (form(name) for name in names[:_EXAMPLES])
    return ", ".join(shown) + (f" and {len(names) - _EXAMPLES} more" if len(names) > _EXAMPLES else "")


# Preparation for a model ----------------------------------------------------------------------------


def prepared(model: Any) -> Pipeline:
    """The model after a preparation of its columns.

    Numbers are imputed by their median and scaled, other columns imputed by their most frequent value and
    encoded.
    """
    numeric = make_column_selector(dtype_include=["number", "bool"])
    other = make_column_selector(dtype_exclude=["number", "bool"])
    preparation = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), numeric),
        (
            make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")),
            other,
        ),
    )
    return make_pipeline(preparation, model)


def is_prepared(estimator: Any) -> bool:
    """Whether an estimator was made by :func:`prepared`."""
    steps = getattr(estimator, "steps", [])
    return len(steps) == 2 and isinstance(steps[0][1], ColumnTransformer)
