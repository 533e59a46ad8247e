"""Tables prepared for feature selection: which column is the target, which can be features."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dagsearch._internal.hints import did_you_mean
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.tables.clean import is_text, listed
from dagsearch.tables.inspection import leaks, suspicion
from dagsearch.tables.read import Limits, TableError, TextFormat, read_table

if TYPE_CHECKING:
    import pandas

# A target of whole numbers counts as classes if it has at most this number of different values.
_MAX_CLASSES = 20
# Texts that differ in at least this share of the rows are no classes; fewer rows say nothing about it.
_MOST_DISTINCT, _MIN_ROWS = 0.5, 20
# The second of two classes is the positive one, whatever their alphabetical order.
_PAIRS = [("no", "yes"), ("n", "y"), ("false", "true"), ("f", "t"), ("negative", "positive"), ("neg", "pos")]
_PAIRS += [
    ("nein", "ja"),
    ("nee", "ja"),
    ("nej", "ja"),
    ("non", "oui"),
    ("no", "si"),
    ("no", "sí"),
    ("não", "sim"),
]
_PAIRS += [
    ("falsch", "wahr"),
    ("negativ", "positiv"),
    ("off", "on"),
    ("absent", "present"),
    ("benign", "malignant"),
    ("b", "m"),
    ("control", "case"),
]


@dataclass(frozen=True)
class Roles:
    """Names of the columns that are not features."""

    target: str
    """To predict."""
    group: str | None = None
    """Rows with the same value stay together, in a fold and when rows are held out."""
    time: str | None = None
    """Rows are sorted by it."""
    weight: str | None = None
    """Weights of the rows."""


@dataclass(frozen=True)
class Table:
    """Features and target."""

    features: "pandas.DataFrame"
    """One column per feature."""
    target: "pandas.Series"
    """The column to predict; classes are numbered from 0."""
    classification: bool
    """Whether the target consists of classes."""
    classes: tuple[str, ...] = ()
    """Names of the classes in the order of their numbers; none for numbers."""
    groups: "pandas.Series | None" = None
    """Which rows belong together."""
    weights: "pandas.Series | None" = None
    """Weights of the rows."""
    notes: list[str] = field(default_factory=list)
    """Messages about what was converted or left out."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Columns that cannot be features, each with the reason, such as ``one value only``."""
    leaking: list[str] = field(default_factory=list)
    """Columns that determine the target by themselves."""

    def rows(self, positions: IntArray) -> Self:
        """Some of the rows, by position."""
        return replace(
            self,
            features=self.features.iloc[positions],
            target=self.target.iloc[positions],
            groups=None if self.groups is None else self.groups.iloc[positions],
            weights=None if self.weights is None else self.weights.iloc[positions],
        )


def load_table(
    path: str | PathLike[str],
    target: str,
    *,
    task: str = "auto",
    positive: str | None = None,
    weight: str | None = None,
    keep: Collection[str] = (),
    sep: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    max_bytes: int = Limits().bytes,
    max_cells: int = Limits().cells,
    max_columns: int = Limits().columns,
) -> Table:
    """Read a table and prepare it as ``dagsearch select`` does.

    Parameters
    ----------
    path : path
        A ``.csv``, ``.tsv``, ``.xlsx`` or ``.parquet`` file, or compressed text.
    target : str
        Name of the column to predict.
    task : {"auto", "classification", "regression"}
        What the target is.
    positive : str, optional
        The class that counts as positive, of two.
    weight : str, optional
        Name of the column with the weights of the rows.
    keep : collection of str
        Columns that stay features although they look like identifiers, dates or free text.
    sep, decimal, encoding : str, optional
        How the text is written, if it should not be detected.
    max_bytes, max_cells, max_columns : int
        How large the table may be; a larger one is refused.

    Returns
    -------
    Table
        Features and target.
    """
    limits = Limits(max_bytes, max_cells, max_columns)
    read = read_table(Path(path), TextFormat(sep, decimal, encoding), limits)
    table = split_target(read.frame, Roles(target, weight=weight), task, positive, keep)
    return replace(table, notes=read.notes + table.notes)


def split_target(
    frame: "pandas.DataFrame",
    roles: Roles,
    task: str = "auto",
    positive: str | None = None,
    keep: Collection[str] = (),
    forbidden: Collection[str] = (),
) -> Table:
    """Separate the target and columns with other roles from the columns that can be features.

    Columns that are constant, empty, or neither numbers nor text are left out, and those that look like
    identifiers, dates or free text, unless ``keep`` names them. ``forbidden`` columns are not searched for
    leaks.
    """
    _check_names(frame, roles, keep)
    notes: list[str] = []
    frame = _complete_rows(frame, roles, notes)
    values = frame[roles.target]
    if values.nunique() < 2:
        (only,) = values.iloc[:1].tolist()  # as Python writes it, not NumPy
        raise TableError(f"the target {roles.target!r} is always {only!r}: there is nothing to predict")
    classification = _are_classes(values) if task == "auto" else task == "classification"
    if not classification and not _is_numeric(values):
        raise TableError(f"the target {roles.target!r} is not numeric: use --task classification")
    classes: tuple[str, ...] = ()
    distinct = values.nunique()
    if is_text(values) and len(values) >= _MIN_ROWS and distinct >= _MOST_DISTINCT * len(values):
        raise TableError(
            f"the target {roles.target!r} has {distinct} different texts in {len(values)} rows, such as "
            f"{str(values.iloc[0])[:60]!r}: that is text, not classes"
        )
    if classification:
        values, classes = _numbered(values, positive, roles.target, notes)
    elif positive is not None:
        raise TableError(f"--positive {positive}: the target {roles.target!r} has no classes")
    features, left_out = _features(frame, roles, keep, forbidden, notes)
    allowed = features.drop(columns=[name for name in forbidden if name in features])
    leaking = leaks(allowed, values, classification)
    if leaking:
        notes.insert(0, leak_note(leaking))
    return Table(
        features,
        values,
        classification,
        classes,
        None if roles.group is None else frame[roles.group],
        None if roles.weight is None else _weights(frame[roles.weight], roles.weight),
        notes,
        left_out,
        leaking,
    )


def leak_note(leaking: Sequence[str]) -> str:
    """What is said of columns that determine the target by themselves."""
    return (
        f"one column alone determines the target (score 1.0000): {listed(leaking)}. If its value is "
        "known only after the target, it is a leak: forbid it (--forbidden)"
    )


def _check_names(frame: "pandas.DataFrame", roles: Roles, keep: Collection[str]) -> None:
    """Refuse names that the table does not have, and columns with two roles."""
    names, used = list(frame.columns), dict[str, str]()
    given = [("--target", roles.target), ("--group-column", roles.group), ("--time-column", roles.time)]
    given += [("--weight-column", roles.weight), *(("--keep", name) for name in keep)]
    for option, name in given:
        if name is None:
            continue
        if name not in names:
            where = "" if option == "--target" else f"{option}: "
            advice = did_you_mean(name, names, f"columns are {listed(names)}")
            raise TableError(f"{where}there is no column {name!r}; {advice}")
        if name in used and option != "--keep":
            raise TableError(f"{option}: the column {name!r} is used by {used[name]} already")
        used[name] = option


def _complete_rows(frame: "pandas.DataFrame", roles: Roles, notes: list[str]) -> "pandas.DataFrame":
    """The rows with a value in every column that has a role, in the order of time."""
    named = {"target": roles.target, "group": roles.group, "time": roles.time, "weight": roles.weight}
    for role, name in named.items():
        if name is not None and (missing := frame[name].isna()).any():
            notes.append(f"{int(missing.sum())} rows without a {role} were left out")
            frame = frame[~missing]
    if len(frame) < 4:
        raise TableError(f"the table has {len(frame)} rows with a target: too few to select features")
    if roles.time is not None:
        frame = frame.iloc[np.argsort(_times(frame[roles.time], roles.time), kind="stable")]
    return frame


def _times(column: "pandas.Series", name: str) -> Any:
    import pandas

    if column.dtype.kind in "iufM":
        return column.to_numpy()
    text = column.astype(str)
    dotted = bool(text.str.fullmatch(r"\d{1,2}\.\d{1,2}\.\d{2,4}.*").any())  # 31.1.2024
    times = pandas.to_datetime(text, errors="coerce", format="mixed", dayfirst=dotted)
    if times.isna().any():
        raise TableError(
            f"--time-column: {text[times.isna()].iloc[0]!r} in {name!r} is neither a date nor a number"
        )
    return times.to_numpy()


def _weights(column: "pandas.Series", name: str) -> "pandas.Series":
    values = np.asarray(column)
    if not _is_numeric(column) or not np.all(np.isfinite(values) & (values >= 0.0)) or not values.any():
        raise TableError(f"--weight-column: {name!r} must hold numbers of at least 0")
    return column.astype(np.float64)


def _numbered(
    values: "pandas.Series", positive: str | None, name: str, notes: list[str]
) -> tuple["pandas.Series", tuple[str, ...]]:
    """The classes as numbers from 0, and their names; the positive one of two classes is 1."""
    import pandas

    found = list(values.unique())
    found.sort(key=None if _is_numeric(values) else str)
    labels = [_label(value) for value in found]
    if positive is not None:
        if positive not in labels or len(labels) != 2:
            raise TableError(
                f"--positive {positive}: it must be one of two classes; {name!r} has {listed(labels)}"
            )
        swap = positive == labels[0]
    else:
        swap = tuple(label.strip().lower() for label in reversed(labels)) in _PAIRS
    if swap:
        found, labels = found[::-1], labels[::-1]
    if found != list(range(len(found))):
        notes.append(f"the classes of {name!r} are numbered: {_numbering(labels)}")
    codes = values.map({value: code for code, value in enumerate(found)})
    return pandas.Series(codes.to_numpy(dtype=np.int64), index=values.index, name=values.name), tuple(labels)


def _label(value: Any) -> str:
    whole = isinstance(value, (float, np.floating)) and value == round(value)
    return str(int(value)) if whole else str(value)


def _numbering(labels: Sequence[str]) -> str:
    if len(labels) == 2:
        return f"{labels[0]!r} is 0, {labels[1]!r} is 1 and counts as positive (--positive)"
    return listed([f"{label!r} is {code}" for code, label in enumerate(labels)], str)


def _features(
    frame: "pandas.DataFrame",
    roles: Roles,
    keep: Collection[str],
    forbidden: Collection[str],
    notes: list[str],
) -> tuple["pandas.DataFrame", dict[str, str]]:
    """The columns that can be features, and the others with the reason."""
    taken = {roles.target, roles.group, roles.time, roles.weight}
    features = frame.drop(columns=[name for name in taken if name is not None])
    reasons: dict[str, list[str]] = {}
    for name in features.columns:
        reason = _reason(features[name], name in keep)
        if reason is not None:
            reasons.setdefault(reason, []).append(name)
    dropped = {name for names in reasons.values() for name in names}
    allowed = features.drop(columns=[name for name in features if name in dropped or name in forbidden])
    for name, first in _duplicates(allowed).items():
        if name not in keep:
            reasons.setdefault(f"the same values as {first!r}", []).append(name)
    for what, names in reasons.items():
        doubtful = what.startswith(("what looks like", "the same values"))
        notes.append(f"left out, with {what}: {listed(names)}{' (--keep to use)' if doubtful else ''}")
    left_out = {name: what for what, names in reasons.items() for name in names}
    features = features.drop(columns=list(left_out))
    if features.shape[1] < 2:
        raise TableError(
            f"the table has {features.shape[1]} columns to choose from besides the target"
            + (f"; {notes[-1]}" if left_out else "")
        )
    return features, left_out


def _duplicates(features: "pandas.DataFrame") -> dict[str, str]:
    """Columns that repeat an earlier one, each with the name of the first."""
    import pandas

    firsts: dict[bytes, str] = {}
    repeated: dict[str, str] = {}
    for name in features.columns:
        column = features[name]
        plain = column.to_numpy() if column.dtype.kind in "biuf" and column.dtype != object else None
        hashed = pandas.util.hash_pandas_object(column, index=False).to_numpy() if plain is None else plain
        first = firsts.setdefault(hashlib.sha256(np.ascontiguousarray(hashed).tobytes()).digest(), name)
        if first != name and column.equals(features[first]):
            repeated[name] = first
    return repeated


def _reason(column: "pandas.Series", kept: bool) -> str | None:
    """Why a column is left out."""
    if column.dtype == np.float64 and _is_measured(column.to_numpy()):
        return None
    if column.isna().all():
        return "no values"
    looks = None if kept or not _is_hashable(column) else suspicion(column)
    if looks is None and not _is_usable(column):
        return "neither numbers nor text"
    if column.nunique(dropna=False) < 2:
        return "one value only"
    return None if looks is None else f"what looks like {looks}"


def _is_measured(values: FloatArray) -> bool:
    """Whether numbers have fractions and vary: most columns of wide tables, for which this is quick."""
    finite = values[np.isfinite(values)]
    return len(finite) > 1 and bool(finite.min() < finite.max()) and bool(np.any(finite != np.round(finite)))


def _is_hashable(values: "pandas.Series") -> bool:
    try:
        hash(values.dropna().iloc[0])
    except TypeError:
        return False
    return True


def _is_usable(values: "pandas.Series") -> bool:
    """Whether the values are numbers, text or classes, not times or lists."""
    return _is_hashable(values) and values.dtype.kind not in "mMcV"


def _is_numeric(values: "pandas.Series") -> bool:
    return bool(np.issubdtype(np.asarray(values).dtype, np.number))


def _are_classes(values: "pandas.Series") -> bool:
    if not _is_numeric(values):
        return True
    numbers: Any = np.asarray(values)
    return bool(np.all(numbers == np.round(numbers)) and len(np.unique(numbers)) <= _MAX_CLASSES)
