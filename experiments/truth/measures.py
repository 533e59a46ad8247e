"""Nominal against actual: one line for everything that is stated."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dagsearch._internal.typing import FloatArray
from dagsearch.answers import IN_A_ROW
from experiments.harness import markdown
from experiments.harness.runner import Row

BINS = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
"""Limits between which probabilities are counted together."""
LEVELS = (0.8, 0.9)
"""Values of ``confidence``."""


class Line(NamedTuple):
    """One line of the table."""

    quantity: str
    """What is stated."""
    nominal: str
    """How often it should be true."""
    actual: float
    """How often it was."""
    error: float
    """Standard error, over problems or tables: statements about the same one are not independent."""
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
    """The mean of what was true, with the error of a mean whose terms are alike within clusters.

    The error of a ``share`` is at least that of independent statements of which one more was true and one
    more was not: if all were true, this does not make it certain.
    """
    values, names = np.asarray(actual, dtype=np.float64), np.asarray(clusters)
    mean, statements = float(values.mean()), len(values)
    sums = np.array([(values[names == name] - mean).sum() for name in np.unique(names)])
    count = len(sums)
    true = (values.sum() + 1.0) / (statements + 2.0)
    smallest = float(np.sqrt(true * (1.0 - true) / statements)) if share else 0.0
    alike = float(np.sqrt((sums**2).sum() * count / max(count - 1, 1)) / statements)
    return Line(quantity, nominal, mean, max(smallest, alike), statements, count)


HEAD = ["what is stated", "nominal", "actual", "statements", "problems or tables"]


def table(lines: Iterable[Line]) -> str:
    """A table in Markdown."""
    return markdown.table(HEAD, [one.cells for one in lines])


class Stops(NamedTuple):
    """What searches said at some time, and whether their best leaf was the best of all."""

    problem: Sequence[str]
    round: Sequence[int]
    said: dict[str, FloatArray]
    """By name."""


def stops(rows: Iterable[Row], names: Sequence[str]) -> Stops:
    """The rows with some names, one entry for every problem, round and step that has all of them."""
    at: dict[tuple[str, int, int], dict[str, float]] = defaultdict(dict)
    for row in rows:
        if row.method in names:
            at[row.setting, row.round, row.step][row.method] = row.value
    whole = {key: values for key, values in sorted(at.items()) if len(values) == len(names)}
    said = {name: np.array([values[name] for values in whole.values()]) for name in names}
    return Stops([key[0] for key in whole], [key[1] for key in whole], said)


def brier(said: FloatArray, true: FloatArray) -> float:
    """Mean squared difference of probabilities from what was true."""
    return float(((said - true) ** 2).mean())


def probability_lines(asked: Stops, said: str, true: str) -> list[Line]:
    """Probabilities by bins."""
    found = []
    problem, probability, truth = np.asarray(asked.problem), asked.said[said], asked.said[true]
    for low, high in pairwise(BINS):
        inside = (probability >= low) & ((probability < high) | (high == BINS[-1]))
        if inside.any():
            nominal = f"{probability[inside].mean():.2f}"
            quantity = f"`probability_best` from {low:g} to {high:g}"
            found.append(line(quantity, nominal, truth[inside].tolist(), problem[inside].tolist()))
    return found


def confidence_lines(asked: Stops, cautious: str, true: str) -> list[Line]:
    """How often the rule ``confidence`` stops with the best leaf of all: at the first time that it holds."""
    found = []
    for level in LEVELS:
        first: dict[tuple[str, int], float] = {}
        recent: dict[tuple[str, int], deque[float]] = defaultdict(lambda: deque(maxlen=IN_A_ROW))
        runs = zip(asked.problem, asked.round, asked.said[cautious], asked.said[true], strict=True)
        for problem, number, certainty, truth in runs:
            certainties = recent[problem, number]
            certainties.append(certainty)
            if len(certainties) == IN_A_ROW and min(certainties) >= level:
                first.setdefault((problem, number), truth)
        if first:
            names = [problem for problem, _ in first]
            found.append(line(f"stop by `confidence={level:g}`", f"{level:g}", list(first.values()), names))
    return found
