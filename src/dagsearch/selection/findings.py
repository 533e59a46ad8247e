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

# Best subsets whose neighbours are predicted, largest number of neighbours of each, and of subsets far away.
_BEST, _NEIGHBOURS, _FAR = 15, 300, 4000
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
        "baseline_score_": run.baseline,
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
    members = [list(one) for one in problem.choices.values()]
    scored = [entry.scored for entry in record.successes()]
    subsets = np.zeros((len(scored), problem.columns), dtype=bool)
    for row, one in zip(subsets, scored, strict=True):
        row[list(one.columns)] = True
    has = subsets[:, [one[0] for one in members]]
    folds = np.array([one.scores for one in scored])
    rewards = folds.mean(axis=1)
    found = importances(has, rewards, neighbours=neighbours(has, rewards, problem), folds=folds)
    table = np.full((problem.columns, len(Importance._fields)), np.nan)
    table[:, 3] = 0.0
    table[sorted(problem.fixed), 3] = 1.0
    for columns, importance, of_choice in zip(members, found, has.T, strict=True):
        table[columns] = importance
        if np.isnan(importance.probability):
            table[columns, 3] = float(of_choice.all())
    return table


def neighbours(has: BoolArray, rewards: FloatArray, problem: ColumnSubsets) -> BoolArray:
    """Subsets that were not scored, near the best fifteen and far from them.

    Another split may prefer any of them: all swaps of one choice for another (at most 300 for each subset),
    and subsets that keep a random share of a good one and fill the rest at random, of any size allowed.
    """
    rng, count = np.random.default_rng(0), has.shape[1]
    best = has[np.argsort(-rewards, kind="stable")[:_BEST]]
    changed = [_swapped(row, rng) for row in best]
    rows = best[rng.integers(len(best), size=_FAR)]
    sizes = np.where(rng.random(_FAR) < 0.5, rows.sum(axis=1), rng.choice(problem.problem.sizes, _FAR))
    kept = rows & (rng.random(rows.shape) < rng.random((_FAR, 1)))
    places = np.argsort(np.argsort(rng.random(rows.shape) - kept, axis=1), axis=1)  # those kept come first
    changed.append(places < sizes[:, None])
    found = np.unique(np.packbits(np.concatenate(changed), axis=1), axis=0)
    known = {row.tobytes() for row in np.packbits(has, axis=1)}
    fresh = [row for row in rng.permutation(found) if row.tobytes() not in known]
    packed = np.array(fresh, dtype=np.uint8).reshape(-1, found.shape[1])
    return np.unpackbits(packed, axis=1, count=count).astype(bool)


def _swapped(row: BoolArray, rng: np.random.Generator) -> BoolArray:
    """Subsets with one choice swapped for another; a random part if there are too many."""
    old, new = (
        part.ravel() for part in np.meshgrid(np.flatnonzero(row), np.flatnonzero(~row), indexing="ij")
    )
    some = rng.permutation(old.size)[:_NEIGHBOURS]
    changed = np.repeat(row[None], some.size, axis=0)
    changed[np.arange(some.size), old[some]] = False
    changed[np.arange(some.size), new[some]] = True
    return changed


def _screened(run: SelectionRun, features: Features) -> list[str]:
    """A note if only a part of the features was searched."""
    searched = sum(map(len, run.problem.choices.values()))
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
