"""Other subsets that the chosen one is compared with, scored on the same folds."""

import math
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_selection import f_classif, f_regression

from dagsearch.selection.estimate import Estimate
from dagsearch.selection.rankings import numbers
from dagsearch.selection.record import Scored
from dagsearch.selection.report import Comparison
from dagsearch.tables.roles import Table

Chosen = tuple[Comparison, Sequence[int]]
"""A comparison and its columns."""
Score = Callable[[Sequence[int]], Scored]
"""Cross-validated score of some columns."""
Estimates = Callable[[Scored], Estimate]
"""The expected score of a subset on new data."""


class Budget(NamedTuple):
    """What comparisons may cost."""

    subsets: int
    """Number of subsets that one comparison may score."""
    until: float
    """When the time is over, by ``time.perf_counter()``."""


def comparisons(
    score: Score, new: Estimates, table: Table, forbidden: Collection[str], count: int, budget: Budget
) -> Iterator[Chosen]:
    """All features, those that are best one by one, and forward selection if the budget covers it."""
    columns = [i for i, name in enumerate(table.features.columns) if name not in forbidden]
    yield _compared("all features", score(columns), columns, 1, new)
    test = f_classif if table.classification else f_regression
    data = np.column_stack([numbers(table.features.iloc[:, i]) for i in columns])
    with np.errstate(divide="ignore", invalid="ignore"):
        strength = np.nan_to_num(test(data, _target_numbers(table))[0], nan=0.0, posinf=np.inf)
    strength[strength < 0.0] = np.inf  # a correlation of 1 was rounded up
    best = sorted(columns[i] for i in np.argsort(-strength, kind="stable")[:count])
    yield _compared(f"top {count} by univariate score ({test.__name__})", score(best), best, 1, new)
    needed = sum(len(columns) - taken for taken in range(count))
    if needed <= budget.subsets:
        found = forward_selection(score, columns, count, new, budget.until)
        if found is not None:
            yield found


def _target_numbers(table: Table) -> Any:
    return numbers(table.target) if not table.classification else table.target.to_numpy()


def forward_selection(
    score: Score, columns: Sequence[int], count: int, new: Estimates, until: float = math.inf
) -> Chosen | None:
    """Add the column that helps most, ``count`` times; ``None`` if the time is over before the end."""
    taken: list[int] = []
    tried = 0
    last: Scored | None = None
    for _ in range(count):
        options = []
        for column in columns:
            if column in taken:
                continue
            if time.perf_counter() >= until:
                return None
            options.append(score([*taken, column]))
        tried += len(options)
        valid = [option for option in options if option.failure is None]
        if not valid:
            break
        last = max(valid, key=lambda option: option.mean)
        taken = list(last.columns)
    if last is None:
        return Comparison("forward selection", 0, tried, None), taken
    return _compared("forward selection", last, taken, tried, new)


def _compared(name: str, scored: Scored, columns: Sequence[int], tried: int, new: Estimates) -> Chosen:
    if scored.failure is not None:
        return Comparison(name, len(columns), tried, None), columns
    return Comparison(name, len(columns), tried, scored.mean, new(scored).interval), columns
