"""Nominal against actual: one line per statement."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from experiments.harness import markdown


class Line(NamedTuple):
    """One line of the table."""

    quantity: str
    """The statement."""
    nominal: str
    """How often it should be true."""
    actual: float
    """How often it was."""
    error: float
    """Standard error over problems or tables: statements about the same one are not independent."""
    statements: int
    """Number of statements."""
    clusters: int
    """Number of problems or tables."""

    @property
    def cells(self) -> list[str]:
        """The line as text."""
        actual = f"{self.actual:.2f} ± {self.error:.2f}".replace("-", "−")
        return [self.quantity, self.nominal, actual, f"{self.statements:,}", str(self.clusters)]


def line(
    quantity: str, nominal: str, actual: Sequence[float], clusters: Sequence[str], share: bool = True
) -> Line:
    """The mean of what was true, with the error of a mean whose terms are correlated within clusters.

    The error of a ``share`` is at least that of independent statements with one more success and one more
    failure, so that even a share of 1 has an error.
    """
    values, names = np.asarray(actual, dtype=np.float64), np.asarray(clusters)
    mean, statements = float(values.mean()), len(values)
    sums = np.array([(values[names == name] - mean).sum() for name in np.unique(names)])
    count = len(sums)
    true = (values.sum() + 1.0) / (statements + 2.0)
    smallest = float(np.sqrt(true * (1.0 - true) / statements)) if share else 0.0
    alike = float(np.sqrt((sums**2).sum() * count / max(count - 1, 1)) / statements)
    return Line(quantity, nominal, mean, max(smallest, alike), statements, count)


def table(lines: Iterable[Line]) -> str:
    """A table in Markdown."""
    head = ["what is stated", "nominal", "actual", "statements", "problems or tables"]
    return markdown.table(head, [one.cells for one in lines])
