"""What a fitted selector has found, in the form of its attributes."""

from typing import Any

import numpy as np
from scipy.stats import beta, rankdata

from dagsearch._internal.typing import BoolArray
from dagsearch.refinements.optimum import Optimum
from dagsearch.search import Search
from dagsearch.selection.arguments import Features
from dagsearch.selection.record import SelectionRecord
from dagsearch.selection.report import CENTRAL, Inclusion, central_interval

_MAX_RUNNERS_UP = 5


def support_mask(chosen: frozenset[int], count: int) -> BoolArray:
    """Whether each of ``count`` features belongs to the chosen subset."""
    support = np.zeros(count, dtype=bool)
    support[sorted(chosen)] = True
    return support


def inclusion(optimum: Optimum | None, support: BoolArray) -> Inclusion:
    """How probable it is that each feature belongs to the best subset.

    Probabilities are shares of joint samples; their intervals are Jeffreys intervals. Without samples
    (``None``), the chosen features have probability 1, and intervals are those of a single sample.
    """
    if optimum is None:
        counts, samples = support.astype(np.float64), 1
    else:
        members = np.array([support_mask(leaf, len(support)) for leaf in optimum.leaves], dtype=np.float64)
        counts, samples = members[optimum.winners].sum(axis=0), optimum.samples.shape[1]
    probability = counts / samples
    tail = (1.0 - CENTRAL) / 2.0
    bounds = [beta.ppf(q, counts + 0.5, samples - counts + 0.5) for q in (tail, 1.0 - tail)]
    # Ties are broken in favour of chosen features, then by position.
    order = np.lexsort((np.arange(len(support)), ~support, -probability))
    ranking = np.empty(len(support), dtype=np.int64)
    ranking[order] = np.arange(1, len(support) + 1)
    return Inclusion(probability, np.column_stack(bounds), ranking)


def history(record: SelectionRecord, features: Features) -> dict[str, Any]:
    """One entry per subset in every array, as in ``cv_results_``."""
    entries = record.entries
    folds = np.array([entry.scored.scores for entry in entries]).reshape(len(entries), record.folds)
    mean = folds.mean(axis=1)
    subsets = np.empty(len(entries), dtype=object)
    subsets[:] = [features.labels(entry.scored.columns) for entry in entries]
    ranks = rankdata(np.where(np.isnan(mean), np.inf, -mean), method="min").astype(np.int64)
    return {
        "features": subsets,
        "mean_test_score": mean,
        "std_test_score": folds.std(axis=1),
        "rank_test_score": ranks,
        **{f"split{number}_test_score": folds[:, number] for number in range(record.folds)},
        "best_score": np.array([np.nan if entry.best is None else entry.best for entry in entries]),
        "score_time": np.array([entry.scored.seconds for entry in entries]),
        "seconds": np.array([entry.seconds for entry in entries]),
        "failure": np.array([entry.scored.failure for entry in entries], dtype=object),
    }


def runners_up(
    search: Search, record: SelectionRecord, best: frozenset[int], features: Features
) -> list[dict[str, Any]]:
    """The scored subsets with the highest scores after the best one."""
    others = [entry.scored for entry in record.successes() if frozenset(entry.scored.columns) != best]
    others.sort(key=lambda scored: -scored.mean)
    return [
        {
            "features": features.labels(scored.columns),
            "score": scored.mean,
            "interval": central_interval(search.belief(frozenset(scored.columns)).g),
        }
        for scored in others[:_MAX_RUNNERS_UP]
    ]
