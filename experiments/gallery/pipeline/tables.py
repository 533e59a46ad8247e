"""The tables: two that come with scikit-learn, given categories and gaps, or a CSV file."""

import hashlib
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes, load_wine
from sklearn.model_selection import train_test_split

# Share of the cells that are deleted, and the grades that replace the numbers of every third column.
GAPS = 0.15
GRADES = ("very low", "low", "medium", "high", "very high")
# Largest number of different numbers that are taken for classes.
CLASSES = 20
# Share of the rows that no search sees.
HELD_OUT = 0.25


class Table(NamedTuple):
    """What a pipeline is made for."""

    name: str
    """Its name."""
    features: pd.DataFrame
    """The columns to predict from: numbers and text, with gaps."""
    target: pd.Series
    """What is predicted."""

    @property
    def is_classification(self) -> bool:
        """Whether a class is predicted, as opposed to a number: text, or few different numbers."""
        return not pd.api.types.is_numeric_dtype(self.target) or self.target.nunique() <= CLASSES

    @property
    def score_name(self) -> str:
        """What a pipeline is judged by."""
        return "balanced accuracy" if self.is_classification else "R²"

    def digest(self) -> str:
        """A digest of all cells."""
        cells = pd.util.hash_pandas_object(self.features.assign(target=self.target), index=False)
        return hashlib.sha256(cells.to_numpy().tobytes()).hexdigest()[:16]

    def split(self) -> tuple["Table", "Table"]:
        """The rows to search with, and the rows that are held out to check the answer."""
        seen, held_out = train_test_split(
            np.arange(len(self.target)),
            test_size=HELD_OUT,
            random_state=0,
            stratify=self.target if self.is_classification else None,
        )
        return self._rows(seen), self._rows(held_out)

    def _rows(self, rows: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> "Table":
        return Table(self.name, self.features.iloc[rows], self.target.iloc[rows])


def load(name: str) -> Table:
    """A table that comes with scikit-learn: ``"wine"`` or ``"diabetes"``."""
    if name == "wine":
        data = load_wine(as_frame=True)
        target = data.target.map(dict(enumerate(("first", "second", "third"))))
    else:
        data = load_diabetes(as_frame=True, scaled=False)
        data.data["sex"] = data.data["sex"].map({1.0: "one", 2.0: "other"})
        target = data.target.astype(float)
    return Table(name, with_categories_and_gaps(data.data), target)


def with_categories_and_gaps(features: pd.DataFrame) -> pd.DataFrame:
    """Every third column as one of five grades by quantile, and 15 % of all cells deleted at random.

    The tables that come with scikit-learn are complete and hold numbers; tables that people have do not.
    """
    rng = np.random.default_rng(0)
    found = features.copy()
    for column in found.columns[::3]:
        if pd.api.types.is_numeric_dtype(found[column]):
            rank = found[column].rank(pct=True, method="average")
            grade = (rank * len(GRADES)).apply(math.ceil) - 1
            found[column] = grade.map(dict(enumerate(GRADES)))
    return found.mask(rng.random(found.shape) < GAPS)


def from_csv(path: Path, target: str) -> Table:
    """A table of your own; rows without a target are left out."""
    data = pd.read_csv(path)
    if target not in data.columns:
        raise SystemExit(f"{path} has no column {target!r}; its columns are {', '.join(data.columns)}")
    data = data.dropna(subset=[target])
    return Table(path.stem, data.drop(columns=target), data[target])
