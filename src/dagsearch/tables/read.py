"""Tables from files: encoding, separator and decimal mark are detected."""

import csv
import gzip
import io
import itertools
import re
import sys
import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dagsearch.tables.clean import clean, decimal_mark

if TYPE_CHECKING:
    import pandas

INPUT = "-"
"""The path that stands for standard input."""
MAX_BYTES = 1_000_000_000
"""Largest size of a file after decompression."""
MAX_CELLS = 100_000_000
"""Largest number of rows times columns."""
_TEXT = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
# Marks of missing values that need no note.
_MISSING = ["", "NA", "NaN", "nan", "NULL", "null"]
_SEPARATORS = (",", ";", "\t", "|")
# Number of lines from which the format is detected.
_SAMPLE_LINES = 100


class TableError(ValueError):
    """The table cannot be used."""


def read_table(path: Path) -> tuple["pandas.DataFrame", list[str]]:
    """Read a table from a CSV, TSV, Excel or Parquet file, or from standard input; text may be compressed.

    Formatted numbers become numbers, and marks of missing values become missing.

    Parameters
    ----------
    path : Path
        The file; ``-`` for standard input.

    Returns
    -------
    frame : pandas.DataFrame
        The table.
    notes : list of str
        Detections and conversions.
    """
    import pandas

    notes: list[str] = []
    name = "standard input" if str(path) == INPUT else str(path)
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() != ".gz"]
    kind = ".csv" if str(path) == INPUT else suffixes[-1] if suffixes else ""
    if kind not in (*_TEXT, ".parquet", ".xlsx", ".xlsm"):
        raise TableError(f"{name}: a table must be a .csv, .csv.gz, .tsv, .xlsx or .parquet file")
    content = _content(path, name)
    try:
        frame, header = _parsed(content, kind, notes)
        if frame.size > MAX_CELLS:
            raise ValueError(f"it has more than {MAX_CELLS:,} cells: reduce its rows or columns")
        names = [
            own.strip() if isinstance(own, str) and own.strip() else str(column)
            for own, column in zip(header, frame.columns, strict=True)
        ]
        frame.columns = pandas.Index(names)
        if not frame.columns.is_unique:
            repeated = frame.columns[frame.columns.duplicated()][0]
            raise ValueError(f"several columns are named {repeated!r}; rename all but one")
        frame, converted = clean(frame)
    except (ImportError, MemoryError):
        raise
    except Exception as error:  # a damaged file may fail anywhere in pandas, openpyxl or pyarrow
        reason = str(error).strip() or type(error).__name__
        raise TableError(f"{name} cannot be read as {kind[1:]}: {reason}") from error
    return frame, notes + converted


def _content(path: Path, name: str) -> bytes:
    """The bytes of a file, decompressed; raises if there are too many."""
    opened: Any = gzip.open if path.suffix.lower() == ".gz" else open
    try:
        with nullcontext(sys.stdin.buffer) if str(path) == INPUT else opened(path, "rb") as file:
            content: bytes = file.read(MAX_BYTES + 1)
    except (OSError, EOFError) as error:
        raise TableError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(content) > MAX_BYTES:
        raise TableError(f"{name} has more than {MAX_BYTES:,} bytes: reduce its rows or columns")
    return content


def _parsed(content: bytes, kind: str, notes: list[str]) -> tuple["pandas.DataFrame", Sequence[Any]]:
    """The table, or the first sheet of an Excel workbook, and its header as in the file."""
    import pandas

    if kind == ".parquet":
        frame = pandas.read_parquet(io.BytesIO(content))
        return frame, list(frame.columns)
    if kind not in (".xlsx", ".xlsm"):
        return _text(_decoded(content, notes), notes)
    with warnings.catch_warnings(), pandas.ExcelFile(io.BytesIO(content), engine="openpyxl") as book:
        warnings.simplefilter("ignore")  # parts of a workbook without values
        if len(book.sheet_names) > 1:
            notes.append(f"read the first of {len(book.sheet_names)} sheets, {book.sheet_names[0]!r}")
        frame, header = book.parse(0), pandas.read_excel(book, header=None, nrows=1)
    return frame, header.iloc[0].tolist() if len(header) else list(frame.columns)


def _decoded(content: bytes, notes: list[str]) -> str:
    """The text: UTF-8, or UTF-16 with a byte order mark, otherwise cp1252."""
    if not content.strip():
        raise ValueError("it is empty")
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    if not marked and b"\0" in content[:100_000]:
        raise ValueError("it is not text")
    try:
        return content.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeError:
        notes.append("the text is not UTF-8 and was read as cp1252; if letters are wrong, save it as UTF-8")
        return content.decode("cp1252", errors="replace")


def _text(text: str, notes: list[str]) -> tuple["pandas.DataFrame", Sequence[Any]]:
    lines = [line for line in itertools.islice(io.StringIO(text), _SAMPLE_LINES) if line.strip()]
    names = re.sub('"[^"]*"', "", lines[0])
    sep = max(_SEPARATORS, key=names.count)
    frame = _read_csv(text, lines, sep, ".")
    if sep != "," and decimal_mark(frame) == ",":
        notes.append("numbers are written with a decimal comma")
        frame = _read_csv(text, lines, sep, ",")
    if not hasattr(frame.index, "step"):  # R writes no name for the column of row names
        notes.append("rows have one field more than the header: the first field is used as the row's name")
        frame = frame.reset_index(drop=True)
    header = next(csv.reader(lines, delimiter=sep, skipinitialspace=True))
    return frame, header if len(header) == frame.shape[1] else list(frame.columns)


def _read_csv(text: str, lines: list[str], sep: str, decimal: str) -> "pandas.DataFrame":
    import pandas

    settings: dict[str, Any] = {"sep": sep, "decimal": decimal, "skipinitialspace": True}
    settings |= {"keep_default_na": False, "na_values": _MISSING, "low_memory": False}
    ends = [line.rstrip("\r\n").endswith(sep) for line in lines]
    if len(ends) > 1 and all(ends[1:]) and not ends[0]:  # an extra separator at the end of each row
        settings["index_col"] = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pandas.errors.ParserWarning)
        frame: pandas.DataFrame = pandas.read_csv(io.StringIO(text), **settings)
        return frame
