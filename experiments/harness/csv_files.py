"""Compressed CSV files, the same bytes for the same rows."""

import csv
import gzip
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a ``.csv.gz`` file."""
    with (
        path.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,  # no name and no time in the header
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as text,
    ):
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(columns)
        lines.writerows(rows)


def read_csv(path: Path) -> list[dict[str, str]]:
    """The rows of a ``.csv.gz`` file, by column."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
