"""What a fitted selector has found, in the form of its attributes."""

from typing import Any

import numpy as np
from scipy.stats import rankdata

from dagsearch._internal.typing import BoolArray
from dagsearch.data import REACH
from dagsearch.optimum import Optimum
from dagsearch.search import Search
from dagsearch.selection.arguments import Features, searched_columns
from dagsearch.selection.bounds import within
from dagsearch.selection.certainty import LEAVES, MODELS, SAMPLES, Fit, model_fit, tempered_inclusion
from dagsearch.selection.choice import Choice
from dagsearch.selection.confirm import standard_error
from dagsearch.selection.record import SelectionRecord
from dagsearch.selection.report import central_interval
from dagsearch.selection.run import SelectionRun

_MAX_RUNNERS_UP = 5


def support_mask(chosen: frozenset[int], count: int) -> BoolArray:
    """Whether each of ``count`` features belongs to the chosen subset."""
    support = np.zeros(count, dtype=bool)
    support[sorted(chosen)] = True
    return support


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
    search, record, chosen, bounds = run.search, run.record, choice.chosen, run.bounds
    optimum = search.sample_optimum(SAMPLES, LEAVES, MODELS)
    run.record_belief(optimum)
    fit = model_fit(search, choice.optimism)
    support = support_mask(chosen.subset, features.count)
    choices = run.problem.choices
    open_choices = choices if run.problem.sizes[0] < len(choices) else {}  # else there is only one subset
    free = support_mask(frozenset().union(*open_choices.values()), features.count)
    probability, interval, own = tempered_inclusion(optimum, fit, record, free, support)
    # Ties are broken in favour of chosen features, then by position.
    order = np.lexsort((np.arange(len(support)), ~support, -own))
    reach = REACH * standard_error(chosen.folds, record.folds)
    central = (chosen.mean - reach, chosen.mean + reach)
    if len(chosen.folds) < 2:
        central = central_interval(search.belief(chosen.subset).g)
    simpler = choice.simpler
    spread = float(np.std([told.reward for told in search.history]))
    return {
        "search_": search,
        "stopped_": run.stopped,
        "support_": support,
        "n_features_to_select_": int(support.sum()),
        "best_score_": chosen.score,
        "confirmed_score_": chosen.confirmed,
        "score_interval_": within(central, bounds, chosen.score),
        "probability_best_": _probability_best(optimum, chosen.subset, spread, fit),
        "inclusion_probability_": probability,
        "inclusion_interval_": interval,
        "ranking_": rankdata(np.argsort(order), method="ordinal").astype(np.int64),
        "model_fit_": fit,
        "simpler_": None
        if simpler is None
        else {"features": features.labels(sorted(simpler.subset)), "score": simpler.score},
        "notes_": [*choice.notes, *_screened(run, features), *([] if fit.known else [fit.sentence()])],
        "history_": history(record, features),
        "runners_up_": runners_up(search, record, chosen.subset, features, bounds),
    }


def _screened(run: SelectionRun, features: Features) -> list[str]:
    """A note if only a part of the features was searched."""
    searched = len(searched_columns(run.problem))
    if searched == features.count:
        return []
    return [f"of {features.count:,} features, the {searched:,} most relevant ones at a glance were searched"]


def _probability_best(
    optimum: Optimum | None, chosen: frozenset[int], spread: float, fit: Fit
) -> float | None:
    """Probability that no other subset is better, tempered by how well the model predicts.

    ``spread`` is the standard deviation of all scores.
    """
    if optimum is None or not fit.known or chosen not in optimum.leaves:
        return None
    return fit.trust * optimum.probability(optimum.leaves.index(chosen), spread)


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
    search: Search,
    record: SelectionRecord,
    best: frozenset[int],
    features: Features,
    bounds: tuple[float, float],
) -> list[dict[str, Any]]:
    """The scored subsets with the highest scores after the best one."""
    others = [entry.scored for entry in record.successes() if frozenset(entry.scored.columns) != best]
    others.sort(key=lambda scored: -scored.mean)
    return [
        {
            "features": features.labels(scored.columns),
            "score": scored.mean,
            "interval": within(
                central_interval(search.belief(frozenset(scored.columns)).g), bounds, scored.mean
            ),
        }
        for scored in others[:_MAX_RUNNERS_UP]
    ]
