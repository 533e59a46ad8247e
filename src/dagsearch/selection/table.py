"""Tables from files, prepared for feature selection: which column is the target, which can be features."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas

# A target of whole numbers counts as classes if it has at most this number of different values.
_MAX_CLASSES = 20


class TableError(ValueError):
    """The table cannot be used."""


@dataclass
class Table:
    """Features and target."""

    features: "pandas.DataFrame"
    """One column per feature."""
    target: "pandas.Series"
    """The column to predict."""
    classification: bool
    """Whether the target consists of classes."""
    notes: list[str] = field(default_factory=list)
    """Messages about rows and columns that were left out."""
    left_out: dict[str, str] = field(default_factory=dict)
    """Columns that cannot be features, each with the reason, such as ``one value only``."""


def read_table(path: Path) -> "pandas.DataFrame":
    """Read a table from a CSV, TSV or Parquet file."""
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("reading tables needs pandas: pip install 'dagsearch[select]'") from error
    readers: dict[str, Callable[[Path], pandas.DataFrame]] = {
        ".csv": pandas.read_csv,
        ".tsv": lambda file: pandas.read_csv(file, sep="\t"),
        ".parquet": pandas.read_parquet,
    }
    if path.suffix.lower() not in readers:
        raise TableError(f"{path}: a table must be a .csv, .tsv or .parquet file")
    if not path.is_file():
        raise TableError(f"{path}: there is no such file")
    try:
        table = readers[path.suffix.lower()](path)
    except ImportError as error:
        raise ModuleNotFoundError("reading Parquet needs pyarrow: pip install 'dagsearch[select]'") from error
    except (ValueError, OSError) as error:
        raise TableError(f"{path} cannot be read as {path.suffix[1:]}: {error}") from error
    table.columns = [str(name) for name in table.columns]
    return table


def split_target(table: "pandas.DataFrame", target: str, task: str = "auto") -> Table:
    """Separate the target from the columns that can be features.

    Columns that are constant, empty, or neither numbers nor text are left out.
    """
    names = list(table.columns)
    if target not in names:
        close = difflib.get_close_matches(target, names, 1)
        advice = f"did you mean {close[0]!r}?" if close else f"columns are {', '.join(map(repr, names[:10]))}"
        raise TableError(f"there is no column {target!r}; {advice}")
    notes: list[str] = []
    missing = table[target].isna()
    if missing.any():
        notes.append(f"{int(missing.sum())} rows without a target were left out")
        table = table[~missing]
    if len(table) < 4:
        raise TableError(f"the table has {len(table)} rows with a target: too few to select features")
    values = table[target]
    classification = _are_classes(values) if task == "auto" else task == "classification"
    if values.nunique() < 2:
        raise TableError(f"the target {target!r} is always {values.iloc[0]!r}: there is nothing to predict")
    if not classification and not _is_numeric(values):
        raise TableError(f"the target {target!r} is not numeric: use --task classification")
    features = table.drop(columns=[target])
    candidates = [name for name in names if name != target]
    empty = [name for name in candidates if features[name].isna().all()]
    strange = [name for name in candidates if name not in empty and not _is_usable(features[name])]
    others = [name for name in candidates if name not in {*empty, *strange}]
    constant = [name for name in others if features[name].nunique(dropna=False) < 2]
    reasons = {"no values": empty, "neither numbers nor text": strange, "one value only": constant}
    for what, all_such in reasons.items():
        if all_such:
            notes.append(f"left out, with {what}: {_listed(all_such)}")
    left_out = {name: what for what, all_such in reasons.items() for name in all_such}
    features = features.drop(columns=list(left_out))
    if features.shape[1] < 2:
        raise TableError(f"the table has {features.shape[1]} columns to choose from besides the target")
    return Table(features, values, classification, notes, left_out)


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return shown + (f" and {len(names) - 5} more" if len(names) > 5 else "")


def _is_usable(values: "pandas.Series") -> bool:
    """Whether the values are numbers, text or classes, not times or lists."""
    try:
        hash(values.dropna().iloc[0])
    except TypeError:
        return False
    return values.dtype.kind not in "mMcV"


def _is_numeric(values: "pandas.Series") -> bool:
    return bool(np.issubdtype(np.asarray(values).dtype, np.number))


def _are_classes(values: "pandas.Series") -> bool:
    if not _is_numeric(values):
        return True
    numbers: Any = np.asarray(values)
    return bool(np.all(numbers == np.round(numbers)) and len(np.unique(numbers)) <= _MAX_CLASSES)
