"""Score against number of features."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dagsearch.selection.record import SelectionRecord


class SizeScore(NamedTuple):
    """The best of the scored subsets with some number of features."""

    columns: tuple[int, ...]
    """The subset."""
    score: float
    """Its mean score over the folds."""
    error: float | None
    """Standard error of this mean; ``None`` with a single fold."""
    subsets: int
    """Number of scored subsets of this size."""


def best_by_size(record: SelectionRecord) -> list[SizeScore]:
    """The best subset of every size that was scored, in the order of sizes."""
    found: dict[int, SizeScore] = {}
    for entry in record.successes():
        scored = entry.scored
        known = found.get(len(scored.columns))
        count = 1 if known is None else known.subsets + 1
        if known is None or scored.mean > known.score:
            folds = len(scored.scores)
            error = float(np.std(scored.scores, ddof=1)) / folds**0.5 if folds > 1 else None
            found[len(scored.columns)] = SizeScore(scored.columns, scored.mean, error, count)
        else:
            found[len(scored.columns)] = known._replace(subsets=count)
    return [found[size] for size in sorted(found)]


def smallest_within_error(sizes: Sequence[SizeScore]) -> SizeScore:
    """The smallest subset whose score is at most one standard error below the best score."""
    best = max(sizes, key=lambda size: size.score)
    least = best.score - (best.error or 0.0)
    return next(size for size in sizes if size.score >= least)
