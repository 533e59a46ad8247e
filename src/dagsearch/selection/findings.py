"""What a selection has found: the attributes of a fitted selector."""

from typing import Any

import numpy as np
from scipy.stats import rankdata

from dagsearch._internal.typing import BoolArray, FloatArray
from dagsearch.report.importance import Importance, importances
from dagsearch.selection.arguments import MOST_CANDIDATES, Features
from dagsearch.selection.columns import ColumnSubsets
from dagsearch.selection.leaders import Choice
from dagsearch.selection.record import SelectionRecord
from dagsearch.selection.run import SelectionRun
from dagsearch.selection.scoring import fold_noise

# Best subsets whose neighbours are predicted, and largest number of neighbours of each.
_BEST, _NEIGHBOURS = 15, 300
_MAX_RUNNERS_UP = 5


def findings_of(run: SelectionRun, choice: Choice, features: Features) -> dict[str, Any]:
    """The attributes of a fitted selector.

    Parameters
    ----------
    run : SelectionRun
        The run, after its end.
    choice : Choice
        The chosen subset.
    features : Features
        The features of the data.
    """
    record, chosen, simpler = run.record, choice.chosen, choice.simpler
    expected = run.estimate(chosen)
    support = np.zeros(features.count, dtype=bool)
    support[list(chosen.columns)] = True
    found = feature_importances(run)
    worth, probability = found[:, 0], found[:, 3]
    # Features that all subsets have come first, those of none last. Ties: chosen features, then by position.
    known = np.where(np.isnan(worth), np.where(probability > 0.5, np.inf, -np.inf), worth)
    order = np.lexsort((np.arange(len(support)), ~support, -known))
    return {
        "search_": run.search,
        "stopped_": run.stopped,
        "support_": support,
        "n_features_to_select_": int(support.sum()),
        "best_score_": chosen.mean,
        "expected_score_": expected.score,
        "score_interval_": expected.interval,
        "optimism_": expected.optimism,
        "baseline_score_": expected.baseline,
        "importances_": worth,
        "importance_intervals_": found[:, 1:3],
        "inclusion_probability_": probability,
        "ranking_": rankdata(np.argsort(order), method="ordinal").astype(np.int64),
        "simpler_": None
        if simpler is None
        else {"features": features.labels(simpler.columns), "score": simpler.mean},
        "notes_": _screened(run, features),
        "history_": history(record, features),
        "runners_up_": runners_up(run, chosen.columns, features),
    }


def feature_importances(run: SelectionRun) -> FloatArray:
    """Importance of every feature, a row each; see :class:`dagsearch.report.importance.Importance`.

    Features that every subset has, or none, have no importance, and the inclusion probability 1 or 0. The
    features of a group have that of the group.
    """
    problem, record = run.problem, run.record
    members = [sorted(one) for one in problem.choices.values()]
    scored = [entry.scored for entry in record.successes()]
    subsets = np.zeros((len(scored), problem.columns), dtype=bool)
    for row, one in zip(subsets, scored, strict=True):
        row[list(one.columns)] = True
    has = subsets[:, [one[0] for one in members]]
    folds = np.array([one.scores for one in scored])
    # Training sets of folds overlap; see standard_error.
    overlap = 1.0 + record.folds / max(record.folds - 1, 1)
    rewards = folds.mean(axis=1)
    found = importances(has, rewards, overlap * fold_noise(folds), neighbours(has, rewards, problem))
    table = np.full((problem.columns, len(Importance._fields)), np.nan)
    table[:, 3] = 0.0
    table[sorted(problem.fixed), 3] = 1.0
    for columns, importance, of_choice in zip(members, found, has.T, strict=True):
        table[columns] = importance
        if np.isnan(importance.probability):
            table[columns, 3] = float(of_choice.all())
    return table


def neighbours(has: BoolArray, rewards: FloatArray, problem: ColumnSubsets) -> BoolArray:
    """Subsets one change from the best fifteen that were not scored: a swap, or one choice more or less."""
    rng, count = np.random.default_rng(0), has.shape[1]
    changes = []
    for place, row in enumerate(has[np.argsort(-rewards, kind="stable")[:_BEST]]):
        inside, outside = np.flatnonzero(row), np.flatnonzero(~row)
        pairs = [(old, new) for old in inside for new in outside]
        if len(pairs) > _NEIGHBOURS:
            pairs = [pairs[i] for i in rng.permutation(len(pairs))[:_NEIGHBOURS]]
        if place == 0:  # each choice once at least
            pairs += [(rng.choice(inside), new) for new in outside if inside.size]
        ones = [(i, i) for i in range(count) if (len(inside) + (1 if not row[i] else -1)) in problem.sizes]
        for old, new in pairs + ones:
            other = row.copy()
            other[old] ^= True
            if old != new:
                other[new] ^= True
            changes.append(other)
    if not changes:
        return np.zeros((0, count), dtype=bool)
    found = np.unique(np.packbits(changes, axis=1), axis=0)
    known = {row.tobytes() for row in np.packbits(has, axis=1)}
    fresh = np.array([row for row in found if row.tobytes() not in known], dtype=np.uint8)
    return np.unpackbits(fresh.reshape(-1, found.shape[1]), axis=1, count=count).astype(bool)


def _screened(run: SelectionRun, features: Features) -> list[str]:
    """A note if only a part of the features was searched."""
    searched = len(frozenset[int]().union(*run.problem.choices.values()))
    if features.count <= MOST_CANDIDATES or searched > MOST_CANDIDATES:
        return []
    return [f"only the {searched:,} most relevant of {features.count:,} features were searched"]


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


def runners_up(run: SelectionRun, best: tuple[int, ...], features: Features) -> list[dict[str, Any]]:
    """The scored subsets with the highest scores after the best one."""
    scored = [entry.scored for entry in run.record.successes() if entry.scored.columns != best]
    return [
        {"features": features.labels(one.columns), "score": one.mean, "interval": run.estimate(one).interval}
        for one in sorted(scored, key=lambda one: -one.mean)[:_MAX_RUNNERS_UP]
    ]
