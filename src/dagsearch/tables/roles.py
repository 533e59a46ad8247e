"""Tables prepared for feature selection: target, features and the roles of other columns."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dagsearch._internal.hints import did_you_mean
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.tables.clean import is_text, listed
from dagsearch.tables.inspection import leaks, suspicion
from dagsearch.tables.read import TableError, read_table

if TYPE_CHECKING:
    import pandas

# A target of whole numbers counts as classes if it has at most this number of distinct values.
_MAX_CLASSES = 20


@dataclass(frozen=True)
class Table:
    """Features and target."""

    features: "pandas.DataFrame"
    """One column per feature."""
    target: "pandas.Series"
    """The column to predict; classes are numbered from 0."""
    classes: tuple[str, ...]
    """Names of the classes in the order of their numbers; empty if the target consists of numbers."""
    groups: "pandas.Series | None"
    """Group of each row; rows of one group belong together."""
    weights: "pandas.Series | None"
    """Weights of the rows."""
    notes: list[str]
    """Conversions and exclusions."""
    excluded: dict[str, str]
    """Columns that cannot be features, each with the reason, such as ``constant``."""
    leaking: dict[str, float]
    """Columns that alone predict the target almost perfectly, with their R² or AUC."""

    def rows(self, positions: IntArray) -> Self:
        """Some of the rows, by position."""
        by_row = {name: getattr(self, name) for name in ("features", "target", "groups", "weights")}
        return replace(self, **{name: one.iloc[positions] for name, one in by_row.items() if one is not None})


def load_table(
    path: str | PathLike[str],
    target: str,
    *,
    classification: bool | None = None,
    group: str | None = None,
    time: str | None = None,
    weight: str | None = None,
    keep: Collection[str] = (),
    forbidden: Collection[str] = (),
) -> Table:
    """Read a table and prepare it as ``dagsearch select`` does.

    Columns that are constant, that hold neither numbers nor text, or that look like identifiers, dates or
    free text are excluded from the features.

    Parameters
    ----------
    path : path
        A ``.csv``, ``.tsv``, ``.xlsx`` or ``.parquet`` file, or compressed text.
    target : str
        Name of the column to predict.
    classification : bool, optional
        Whether the target consists of classes; detected by default.
    group, time, weight : str, optional
        Names of the columns with the rows' groups, times and weights.
    keep : collection of str
        Columns that stay features even if they look like identifiers, dates or free text.
    forbidden : collection of str
        Columns that will not be chosen and are therefore not checked for leaks.

    Returns
    -------
    Table
        Features and target.
    """
    whole, notes = read_table(Path(path))
    given = {"target": target, "group": group, "time": time, "weight": weight}
    roles = {role: name for role, name in given.items() if name is not None}
    _check_names(list(whole.columns), roles, keep)
    frame = _complete_rows(whole, roles, notes)
    values, classes = _target(frame[target], classification, notes)
    candidates = [name for name in frame.columns if name not in roles.values()]
    excluded = _excluded(whole[candidates], frame, keep, notes)
    features = frame[[name for name in candidates if name not in excluded]]
    if features.shape[1] < 2:
        reasons = [note for note in notes if note.startswith("excluded")]
        few = f"too few columns to choose from besides the target: {features.shape[1]}"
        raise TableError("; ".join([few, *reasons]))
    allowed = features.drop(columns=[name for name in forbidden if name in features])
    leaking = leaks(allowed, values, bool(classes))
    if leaking:
        score = "AUC" if classes else "R²"
        shown = listed([f"{name!r} ({score} {value:.4f})" for name, value in leaking.items()], str)
        notes.insert(
            0,
            f"suspected leak: one column alone predicts the target almost perfectly: {shown}. If it is known "
            "only after the target, forbid it (--forbidden)",
        )
    groups = None if group is None else frame[group]
    weights = None if weight is None else _weights(frame[weight])
    return Table(features, values, classes, groups, weights, notes, excluded, leaking)


def _check_names(names: Sequence[str], roles: Mapping[str, str], keep: Collection[str]) -> None:
    """Raise if the table lacks one of the names."""
    given = [("--target" if role == "target" else f"--{role}-column", name) for role, name in roles.items()]
    for option, name in [*given, *(("--keep or --fixed", name) for name in keep)]:
        if name not in names:
            advice = did_you_mean(name, names, f"columns are {listed(names)}")
            raise TableError(f"{option}: there is no column {name!r}; {advice}")


def _complete_rows(
    frame: "pandas.DataFrame", roles: Mapping[str, str], notes: list[str]
) -> "pandas.DataFrame":
    """The rows with a value in every column with a role, in the order of time."""
    for role, name in roles.items():
        if (missing := frame[name].isna()).any():
            notes.append(f"{int(missing.sum())} rows without a {role} were excluded")
            frame = frame[~missing]
    if len(frame) < 4:
        raise TableError(f"too few rows with a target: {len(frame)}; at least 4 are needed")
    if "time" in roles:
        frame = frame.iloc[np.argsort(_times(frame[roles["time"]]), kind="stable")]
    return frame


def _times(column: "pandas.Series") -> Any:
    import pandas

    if column.dtype.kind in "iufM":
        return column.to_numpy()
    text = column.astype(str)
    dotted = bool(text.str.fullmatch(r"\d{1,2}\.\d{1,2}\.\d{2,4}.*").any())  # 31.1.2024
    times = pandas.to_datetime(text, errors="coerce", format="mixed", dayfirst=dotted)
    if times.isna().any():
        wrong = text[times.isna()].iloc[0]
        raise TableError(f"--time-column: {wrong!r} in {column.name!r} is neither a date nor a number")
    return times.to_numpy()


def _weights(column: "pandas.Series") -> "pandas.Series":
    values = np.asarray(column)
    if not _is_numeric(column) or not np.all(np.isfinite(values) & (values >= 0.0)) or not values.any():
        raise TableError(f"--weight-column: {column.name!r} must hold numbers of at least 0")
    return column.astype(np.float64)


def _target(
    values: "pandas.Series", classification: bool | None, notes: list[str]
) -> tuple["pandas.Series", tuple[str, ...]]:
    """The target as numbers, and the names of its classes if it has any."""
    name, distinct = values.name, values.nunique()
    if distinct < 2:
        raise TableError(f"the target {name!r} is always {values.tolist()[0]!r}: there is nothing to predict")
    if is_text(values) and suspicion(values) is not None:
        raise TableError(
            f"the target {name!r} has {distinct} different texts in {len(values)} rows, such as "
            f"{str(values.iloc[0])[:60]!r}: it is text, not classes"
        )
    if classification is False and not _is_numeric(values):
        raise TableError(f"the target {name!r} is not numeric: use a classifier")
    if classification or (classification is None and _are_classes(values)):
        return _numbered(values, notes)
    return values.astype(np.float64), ()


def _are_classes(values: "pandas.Series") -> bool:
    if not _is_numeric(values):
        return True
    numbers: Any = np.asarray(values)
    return bool(np.all(numbers == np.round(numbers)) and len(np.unique(numbers)) <= _MAX_CLASSES)


def _is_numeric(values: "pandas.Series") -> bool:
    return bool(np.issubdtype(np.asarray(values).dtype, np.number))


def _numbered(values: "pandas.Series", notes: list[str]) -> tuple["pandas.Series", tuple[str, ...]]:
    """The classes as numbers from 0, and their names; as in scikit-learn, the second of two is positive."""
    import pandas

    codes, found = pandas.factorize(values, sort=True)
    labels = [
        str(int(value)) if isinstance(value, float) and value.is_integer() else str(value) for value in found
    ]
    if list(found) != list(range(len(found))):
        shown = [f"{label!r} is {code}" for code, label in enumerate(labels)]
        positive = ", the positive class" if len(labels) == 2 else ""
        notes.append(f"the classes of {values.name!r} are numbered: {listed(shown, str)}{positive}")
    return pandas.Series(codes, index=values.index, name=values.name), tuple(labels)


def _excluded(
    whole: "pandas.DataFrame", complete: "pandas.DataFrame", keep: Collection[str], notes: list[str]
) -> dict[str, str]:
    """Columns that cannot be features, each with the reason.

    ``complete`` has the rows to use. Row numbers are recognised in the ``whole`` table only.
    """
    measured = _measured(complete)
    doubtful = [name for name in whole.columns if name not in measured]
    reasons = {name: _reason(whole[name], complete[name], name in keep) for name in doubtful}
    excluded = {name: reason for name, reason in reasons.items() if reason is not None}
    for reason in dict.fromkeys(excluded.values()):
        names = [name for name in excluded if excluded[name] == reason]
        remedy = " (--keep to use)" if reason.startswith("likely") else ""
        notes.append(f"excluded as {reason}: {listed(names)}{remedy}")
    return excluded


def _reason(whole: "pandas.Series", column: "pandas.Series", kept: bool) -> str | None:
    """Why a column cannot be a feature."""
    looks = None if kept else suspicion(whole)
    if looks is None and column.dtype.kind in "mMcV":
        return "neither numbers nor text"
    if column.nunique(dropna=False) < 2:
        return "constant"
    return None if looks is None else f"likely {looks}"


def _measured(frame: "pandas.DataFrame") -> set[str]:
    """Numeric columns that vary and have fractions: most columns of wide tables, found quickly."""
    floats = frame.select_dtypes(np.float64)
    values: FloatArray = floats.to_numpy()
    fractions = (np.abs(values - np.round(values)) > 0.0).any(axis=0)
    vary = np.fmin.reduce(values, axis=0) < np.fmax.reduce(values, axis=0)
    return {str(name) for name in floats.columns[fractions & vary]}
