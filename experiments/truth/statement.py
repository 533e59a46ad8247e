"""A quantity that the library states, beside what is true."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np


class Statement(NamedTuple):
    """A line of the table in ``docs/truth.md``."""

    quantity: str
    """What is stated."""
    nominal: float
    """The value that it should have."""
    actual: float
    """The value that it has."""
    error: float
    """Standard error of the actual value."""
    n: int
    """Number of cases."""


def over_groups(quantity: str, nominal: float, groups: Mapping[str, Sequence[float]]) -> Statement:
    """The mean over all cases; cases of one group, such as a table, are not independent."""
    values = np.concatenate([np.asarray(cases, dtype=np.float64) for cases in groups.values()])
    mean, count = float(values.mean()), len(groups)
    sums = [float(np.sum(np.asarray(cases) - mean)) for cases in groups.values()]
    error = float(np.sqrt(count / max(count - 1, 1) * np.sum(np.square(sums)))) / len(values)
    return Statement(quantity, nominal, mean, error, len(values))
