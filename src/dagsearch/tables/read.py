"""Tables from files: the format, encoding, separator and decimal mark are detected unless they are given."""

import bz2
import codecs
import csv
import gzip
import importlib
import io
import itertools
import lzma
import re
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dagsearch.tables.clean import clean, decimal_mark, listed

if TYPE_CHECKING:
    import pandas

INPUT = "-"
"""The path that stands for standard input."""
_TEXT = (".csv", ".tsv", ".tab", ".txt", ".dat", ".data")
_COMPRESSED: dict[bytes, Callable[[io.BytesIO], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
}
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
# Missing without a note; other marks of missing values are noted.
_MISSING = ["", "NA", "NaN", "nan", "NULL", "null"]
_SEPARATORS = (",", ";", "\t", "|")
# Lines that the separator is detected from.
_SAMPLE_LINES = 100
# Number of bytes of a line for each column that a table may have.
_LINE = 100
# Number of bytes that are decompressed at once, and those in which a part of a workbook may define entities.
_CHUNK, _START = 1 << 20, 1 << 16


class TableError(ValueError):
    """The table cannot be used."""


class TextFormat(NamedTuple):
    """How a text file is written; what is ``None`` is detected."""

    sep: str | None = None
    """What separates the columns."""
    decimal: str | None = None
    """Decimal mark: a point or a comma."""
    encoding: str | None = None
    """Encoding of the text."""


class Limits(NamedTuple):
    """How large a table may be. A larger one is refused before it fills the memory."""

    bytes: int = 1_000_000_000
    """Largest size of the file, and of what it holds if it is compressed."""
    cells: int = 100_000_000
    """Largest number of rows times columns."""
    columns: int = 100_000
    """Largest number of columns; a line of text may have 100 bytes for each."""

    def check(self, name: str, size: int = 0, rows: int = 0, columns: int = 0) -> None:
        """Raise if a table is larger; ``size`` is its number of bytes."""
        found = {"bytes": size, "cells": rows * columns, "columns": columns}
        for what, limit in self._asdict().items():
            if found[what] > limit:
                raise TableError(f"{name} has more than {limit:,} {what}; --max-{what} raises this limit")

    def check_line(self, name: str, length: int) -> None:
        """Raise if a line of text is longer."""
        if length > _LINE * self.columns:
            raise TableError(
                f"{name} has a line of more than {_LINE * self.columns:,} bytes: it is not a table, or "
                "--max-columns must raise this limit"
            )


class ReadTable(NamedTuple):
    """A table as it was read."""

    frame: "pandas.DataFrame"
    """Its columns."""
    notes: list[str]
    """What was detected or converted."""


def read_table(path: Path, text: TextFormat | None = None, limits: Limits | None = None) -> ReadTable:
    """Read a table from a CSV, TSV, Excel or Parquet file, compressed or not, or from standard input.

    Text that is written like a number becomes a number, and marks of missing values become missing.

    Parameters
    ----------
    path : Path
        The file; ``-`` for standard input.
    text : TextFormat, optional
        How the text is written, if it should not be detected.
    limits : Limits, optional
        How large the table may be.
    """
    try:
        import pandas
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("reading tables needs pandas: pip install 'dagsearch[select]'") from error
    name = "standard input" if str(path) == INPUT else str(path)
    limits = limits or Limits()
    notes: list[str] = []
    try:
        content = _content(path, name, limits)
        if content.startswith(b"PAR1"):
            frame = _parquet(content, name, limits)
        elif content.startswith(b"PK\x03\x04"):
            frame = _workbook(content, name, notes, limits)
        else:
            _check_is_text(path, content, name)
            frame = _text_table(content, name, text or TextFormat(), notes, limits)
    except MemoryError as error:
        raise TableError(f"{name} needs more memory than there is") from error
    frame.columns = pandas.Index(_distinct([str(column).strip() for column in frame.columns]))
    try:
        frame, converted = clean(frame, text.decimal if text and text.decimal else None)
    except ValueError as error:
        raise TableError(f"{name}: {error}") from error
    return ReadTable(frame, notes + converted)


def _distinct(names: list[str]) -> list[str]:
    """The names, with a number after those that were there before, as pandas does.

    >>> _distinct(["a", "a", "a.1", "b"])
    ['a', 'a.1', 'a.1.1', 'b']
    """
    found: dict[str, None] = {}
    for name in names:
        candidates = (f"{name}.{number}" if number else name for number in itertools.count())
        found[next(candidate for candidate in candidates if candidate not in found)] = None
    return list(found)


def _content(path: Path, name: str, limits: Limits) -> bytes:
    """The bytes of a file, decompressed."""
    if str(path) == INPUT:
        content = sys.stdin.buffer.read(limits.bytes + 1)
        limits.check(name, len(content))
    else:
        compressed = path.suffix.lower() in (".gz", ".bz2", ".xz")
        suffix = (path.with_suffix("") if compressed else path).suffix.lower()
        if suffix not in (*_TEXT, ".parquet", ".xlsx", ".xlsm", ".zip"):
            raise TableError(f"{name}: a table must be a .csv, .csv.gz, .tsv, .xlsx or .parquet file")
        if not path.is_file():
            raise TableError(f"{name}: there is no such file")
        limits.check(name, path.stat().st_size)
        content = path.read_bytes()
    for mark, opened in _COMPRESSED.items():
        if content.startswith(mark):
            try:
                with opened(io.BytesIO(content)) as file:  # it may hold a thousand times as much
                    size = 0
                    while chunk := file.read(_CHUNK):
                        size += len(chunk)
                        limits.check(f"{name}, decompressed,", size)
                    file.seek(0)
                    whole: bytes = file.read()
                    return whole
            except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
                raise TableError(f"{name} cannot be decompressed: {error}") from error
    if content.startswith(b"PK\x03\x04"):
        return _unzipped(content, name, limits)
    return content


def _unzipped(content: bytes, name: str, limits: Limits) -> bytes:
    """The only file of an archive; an Excel workbook is an archive, too, and stays as it is."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            limits.check(f"{name}, unpacked,", sum(file.file_size for file in archive.infolist()))
            files = [file for file in archive.namelist() if not file.endswith("/")]
            if "[Content_Types].xml" in files:
                return content
            if len(files) != 1:
                raise TableError(f"{name} holds {len(files)} files: unpack it, and name the table")
            return archive.read(files[0])
    except (zipfile.BadZipFile, zlib.error, RuntimeError, OSError, EOFError) as error:
        raise TableError(f"{name} cannot be unpacked: {error}") from error


def _check_is_text(path: Path, content: bytes, name: str) -> None:
    suffix = path.suffix.lower()
    if content.startswith(b"\xd0\xcf\x11\xe0"):
        raise TableError(f"{name} is a workbook of an old version of Excel: save it as .xlsx or .csv")
    if suffix in (".parquet", ".xlsx", ".xlsm"):
        raise TableError(f"{name} cannot be read as {suffix[1:]}: it is another kind of file")
    if not content.strip():
        raise TableError(f"{name} cannot be read as csv: it is empty")


def _parquet(content: bytes, name: str, limits: Limits) -> "pandas.DataFrame":
    import pandas

    try:
        parquet = importlib.import_module("pyarrow.parquet")
        about = parquet.ParquetFile(io.BytesIO(content)).metadata
        groups = range(about.num_row_groups)
        size = sum(about.row_group(group).total_byte_size for group in groups)
        limits.check(name, size, about.num_rows, about.num_columns)
        return pandas.read_parquet(io.BytesIO(content))
    except ImportError as error:
        raise ModuleNotFoundError("reading Parquet needs pyarrow: pip install 'dagsearch[select]'") from error
    except (ValueError, OSError) as error:
        raise TableError(f"{name} cannot be read as parquet: {error}") from error


def _workbook(content: bytes, name: str, notes: list[str], limits: Limits) -> "pandas.DataFrame":
    """The first sheet of an Excel workbook."""
    import pandas

    try:
        with warnings.catch_warnings():  # of parts of a workbook that have no values
            warnings.simplefilter("ignore")
            _check_entities(content, name)
            book = pandas.ExcelFile(io.BytesIO(content), engine="openpyxl")
            _check_sheet(book.book.worksheets[0], name, limits)
            if len(book.sheet_names) > 1:
                notes.append(f"read the first of {len(book.sheet_names)} sheets, {book.sheet_names[0]!r}")
            return book.parse(book.sheet_names[0])
    except ImportError as error:
        raise ModuleNotFoundError("reading .xlsx needs openpyxl: pip install 'dagsearch[select]'") from error
    except (TableError, MemoryError):
        raise
    except Exception as error:  # a damaged workbook may fail anywhere in openpyxl
        raise TableError(f"{name} cannot be read as xlsx: {str(error) or type(error).__name__}") from error


def _check_entities(content: bytes, name: str) -> None:
    """Raise if a part of a workbook defines entities, which may name other files or grow without end."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for file in archive.namelist():
            with archive.open(file) as part:
                start = part.read(_START).replace(b"\0", b"").upper()  # without those of UTF-16
            if b"<!DOCTYPE" in start or b"<!ENTITY" in start:
                raise TableError(f"{name} cannot be read as xlsx: {file} defines entities, as no table does")


def _check_sheet(sheet: Any, name: str, limits: Limits) -> None:
    """Raise if a sheet is too large; a single cell in the last corner makes it so."""
    if hasattr(sheet, "reset_dimensions"):
        sheet.reset_dimensions()  # what the file states may be wrong
    width = 0
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        width = max(width, len(row))
        limits.check(name, 0, number, width)


def _text_table(
    content: bytes, name: str, text: TextFormat, notes: list[str], limits: Limits
) -> "pandas.DataFrame":
    limits.check_line(name, _longest_line(content))
    decoded = _decoded(content, name, text.encoding, notes)
    first, _, rest = decoded.partition("\n")
    sep = text.sep
    if first.strip().lower().startswith("sep=") and len(first.strip()) == 5:  # written by Excel
        sep, decoded = sep or first.strip()[-1], rest
    decoded = _without_comments(decoded, sep, notes)
    lines = [line for line in decoded.splitlines() if line.strip()][:_SAMPLE_LINES]
    sep = separator(lines) if sep is None else sep
    widest = max(map(partial(_fields, sep=sep), lines), default=0)
    limits.check(name, 0, decoded.count("\n"), widest)
    frame = _parsed(decoded, lines, name, sep, text.decimal or ".")
    if text.decimal is None and sep != "," and decimal_mark(frame) == ",":
        notes.append("numbers are written with a decimal comma")
        frame = _parsed(decoded, lines, name, sep, ",")
    if not hasattr(frame.index, "step"):  # R writes no name for the column of row names
        notes.append("lines have one field more than the header: the first field is taken as the row's name")
        frame = frame.reset_index(drop=True)
    if all(_is_number(str(column)) for column in frame.columns):
        notes.append(
            "the first line consists of numbers, which were taken as names: does the table lack a header?"
        )
    return frame


def _longest_line(content: bytes) -> int:
    """Length of the longest line, up to its end or that of the file."""
    longest = start = 0
    while start < len(content):
        end = content.find(b"\n", start)
        end = len(content) if end < 0 else end
        longest, start = max(longest, end - start), end + 1
    return longest


def _fields(line: str, sep: str) -> int:
    return len(line.split()) if len(sep) > 1 else line.count(sep) + 1


def _decoded(content: bytes, name: str, encoding: str | None, notes: list[str]) -> str:
    marked = next((code for mark, code in _BYTE_ORDER_MARKS.items() if content.startswith(mark)), None)
    if encoding is not None:
        try:
            return content.decode(marked if marked and marked.startswith(encoding.lower()) else encoding)
        except (LookupError, UnicodeError) as error:
            raise TableError(f"--encoding {encoding}: {name} cannot be read ({error})") from error
    if marked is None and b"\0" in content[:100_000]:
        raise TableError(f"{name} cannot be read as csv: it is not text; if it is, give its --encoding")
    try:
        return content.decode(marked or "utf-8")
    except UnicodeError:
        pass
    try:
        decoded = content.decode("cp1252")
    except UnicodeError as error:
        raise TableError(f"{name}: its encoding is unknown; give --encoding, such as cp1251") from error
    notes.append("the text is not UTF-8 and was read as cp1252; if letters are wrong, give --encoding")
    return decoded


def _without_comments(text: str, sep: str | None, notes: list[str]) -> str:
    """The text from its header on: lines above it that begin with ``#`` are comments.

    The last of them is the header itself if it has as many fields as the line below, and that has numbers.
    """
    lines = text.splitlines(keepends=True)
    count = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    if count == 0:
        return text
    sep = separator(lines[count : count + _SAMPLE_LINES]) if sep is None else sep
    mark = sep if len(sep) > 1 else re.escape(sep)
    above, below = (re.split(mark, line.strip()) for line in lines[count - 1 : count + 1])
    if len(above) == len(below) > 1 and any(_is_number(field) for field in below):
        count -= 1
    comments = [line for line in lines[:count] if line.strip()]
    if comments:
        notes.append(f"comments above the header were skipped: {listed([line.strip() for line in comments])}")
    return "".join(lines[count:])


def separator(lines: list[str]) -> str:
    """What separates the columns: by it, most lines have as many fields as the first.

    >>> separator(["name;size", "a, b;1,5", "c;2,0"])
    ';'
    """
    ratings = []
    for candidate in _SEPARATORS:
        try:
            widths = [len(row) for row in csv.reader(lines, delimiter=candidate)]
        except csv.Error:  # by another separator, a line of a wide table is one field that is too long
            continue
        if widths and widths[0] > 1:
            same = sum(width in (widths[0], widths[0] + 1) for width in widths) / len(widths)
            ratings.append((round(same, 2), widths[0], candidate))
    if ratings:
        return max(ratings)[2]
    spaced = {len(line.split()) for line in lines}
    return r"\s+" if len(spaced) == 1 and spaced.pop() > 1 else ","


def _parsed(text: str, lines: list[str], name: str, sep: str, decimal: str) -> "pandas.DataFrame":
    import pandas

    ends = [line.rstrip("\r").endswith(sep) for line in lines]
    settings: dict[str, Any] = {"sep": sep, "decimal": decimal, "skipinitialspace": True, "low_memory": False}
    settings |= {"keep_default_na": False, "na_values": _MISSING}
    if len(ends) > 1 and all(ends[1:]) and not ends[0]:  # a separator too many at the end of each row
        settings["index_col"] = False
    if len(sep) > 1:
        settings = {**settings, "engine": "python"}
        del settings["low_memory"]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pandas.errors.ParserWarning)
            frame: pandas.DataFrame = pandas.read_csv(io.StringIO(text), **settings)
            return frame
    except (ValueError, csv.Error) as error:
        raise TableError(
            f"{name} cannot be read as csv: {str(error).strip()} (read with the separator {sep!r}; give "
            "--sep for another)"
        ) from error


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
