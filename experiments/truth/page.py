"""The table of ``docs/truth.md``."""

from collections.abc import Mapping
from pathlib import Path

from experiments.harness.runner import read_rows
from experiments.truth import search, selection
from experiments.truth.measures import table


def tables(folder: Path) -> Mapping[str, str]:
    """The parts of the page."""
    return {
        "search": table(search.lines(read_rows(folder / "search.csv.gz"))),
        "selection": table(selection.read(folder)),
    }
