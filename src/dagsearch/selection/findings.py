"""The results of a selection: the attributes of a fitted selector."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from dagsearch._internal.typing import BoolArray, FloatArray
from dagsearch.report.importance import Importance, importances
from dagsearch.selection.arguments import MOST_CANDIDATES, Features
from dagsearch.selection.estimate import Columns, best_of, simpler_than, standard_error
from dagsearch.selection.run import SelectionRun
from dagsearch.selection.scoring import Scored

# Numbers of best subsets whose neighbours are predicted, of neighbours of each, and of subsets far away.
_BEST, _NEIGHBOURS, _FAR = 15, 300, 4000
# Largest number of features that are left out, one at a time, to see whether they are essential.
_LEFT_OUT = 10


def findings_of(run: SelectionRun, features: Features) -> dict[str, Any]:
    """The attributes of a fitted selector, from a run that has ended."""
    scored = run.successes()
    chosen = best_of(scored)
    simpler = simpler_than(chosen, scored)
    support = np.zeros(features.count, dtype=bool)
    support[list(chosen.columns)] = True
    found = feature_importances(run)
    worth, probability = found[:, 0], found[:, 3]
    # Features of all subsets come first, features of none last. Ties: chosen features, then by position.
    known = np.where(np.isnan(worth), np.where(probability > 0.5, np.inf, -np.inf), worth)
    order = np.lexsort((np.arange(len(support)), ~support, -known))
    searched, notes = sum(map(len, run.problem.choices.values())), list[str]()
    if features.count > MOST_CANDIDATES >= searched:
        notes = [f"only the {searched:,} most relevant of {features.count:,} features were searched"]
    return {
        "search_": run.search,
        "stopped_": run.stopped,
        "support_": support,
        "n_features_to_select_": int(support.sum()),
        "best_score_": chosen.mean,
        **run.estimate(chosen),
        "baseline_score_": run.baseline,
        "importances_": worth,
        "importance_intervals_": found[:, 1:3],
        "inclusion_probability_": probability,
        "ranking_": np.argsort(order) + 1,
        "simpler_": None
        if simpler is None
        else {"features": features.labels(simpler.columns), "score": simpler.mean},
        "notes_": notes,
        "history_": history(list(run.scored.values()), features),
    }


def one_left_out(run: SelectionRun) -> list[Columns]:
    """The chosen subset without each of the features, at most ten, whose importance says that they matter."""
    chosen, found = best_of(run.successes()), feature_importances(run)
    error = standard_error(chosen.scores)
    matter = [
        one
        for one in run.problem.choices.values()
        if one[0] in chosen.columns and found[one[0], 0] > error and found[one[0], 1] > 0.0
    ]
    first = sorted(matter, key=lambda one: -found[one[0], 0])[:_LEFT_OUT]
    return [left for one in first if (left := tuple(sorted(set(chosen.columns).difference(one))))]


def feature_importances(run: SelectionRun) -> FloatArray:
    """Importance of every feature, a row each; see :class:`dagsearch.report.importance.Importance`.

    Features of all subsets, or of none, have no importance, and the inclusion probability 1 or 0. The
    features of a group share its importance.
    """
    problem, scored = run.problem, run.successes()
    members = [list(one) for one in problem.choices.values()]
    has = np.array([[one[0] in subset.columns for one in members] for subset in scored])
    folds = np.array([one.scores for one in scored])
    rewards = folds.mean(axis=1)
    found = importances(has, rewards, neighbours(has, rewards, problem.problem.sizes), folds)
    table = np.full((problem.columns, len(Importance._fields)), np.nan)
    table[:, 3] = 0.0
    table[sorted(problem.fixed), 3] = 1.0
    for columns, importance, of_choice in zip(members, found, has.T, strict=True):
        table[columns] = importance
        if np.isnan(importance.probability):
            table[columns, 3] = float(of_choice.all())
    return table


def neighbours(has: BoolArray, rewards: FloatArray, sizes: Sequence[int]) -> BoolArray:
    """Unscored subsets near the best fifteen and far from them; another split may prefer any of them.

    The near ones swap one choice (a random sample of swaps if there are very many). The far ones keep a
    random share of a good subset and choose the rest at random, in any allowed size.
    """
    rng, changed = np.random.default_rng(0), [has]
    best = has[np.argsort(-rewards, kind="stable")[:_BEST]]
    for row in best:
        pairs = np.stack(np.meshgrid(np.flatnonzero(row), np.flatnonzero(~row)), axis=-1).reshape(-1, 2)
        pairs = rng.permutation(pairs)[:_NEIGHBOURS]
        swapped = np.repeat(row[None], len(pairs), axis=0)
        np.put_along_axis(swapped, pairs, np.array([False, True]), axis=1)
        changed.append(swapped)
    rows = best[rng.integers(len(best), size=_FAR)]
    counts = np.where(rng.random(_FAR) < 0.5, rows.sum(axis=1), rng.choice(sizes, _FAR))
    kept = rows & (rng.random(rows.shape) < rng.random((_FAR, 1)))
    places = np.argsort(np.argsort(rng.random(rows.shape) - kept, axis=1), axis=1)  # kept ones come first
    changed.append(places < counts[:, None])
    found, first = np.unique(np.concatenate(changed), axis=0, return_index=True)
    return rng.permutation(np.asarray(found[first >= len(has)]))


def history(scored: list[Scored], features: Features) -> dict[str, Any]:
    """One entry per subset in every array, as in ``cv_results_``."""
    folds = np.array([one.scores for one in scored])
    mean = folds.mean(axis=1)
    subsets = np.empty(len(scored), dtype=object)
    subsets[:] = [features.labels(one.columns) for one in scored]
    return {
        "features": subsets,
        "mean_test_score": mean,
        "std_test_score": folds.std(axis=1),
        "rank_test_score": rankdata(np.nan_to_num(-mean, nan=np.inf), method="min").astype(np.int64),
        **{f"split{number}_test_score": scores for number, scores in enumerate(folds.T)},
        "best_score": np.fmax.accumulate(mean),
        "score_time": np.array([one.seconds for one in scored]),
        "seconds": np.array([one.told for one in scored]),
        "failure": np.array([one.failure for one in scored], dtype=object),
    }
