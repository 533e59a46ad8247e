"""How certain the findings are: the model's probabilities, tempered by how far scores hold on other rows."""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta, rankdata
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _check_method_params

from dagsearch._internal.typing import BoolArray, FloatArray
from dagsearch.selection.arguments import MOST_CANDIDATES, Features, routed_metadata
from dagsearch.selection.estimate import Estimate, baseline_score, estimate, score_deviation
from dagsearch.selection.leaders import Choice
from dagsearch.selection.record import SelectionRecord
from dagsearch.selection.run import SelectionRun
from dagsearch.selection.samples import Samples, sample_leaves
from dagsearch.selection.scoring import TAILS, quiet, score_bounds

# Models with other plausible hyperparameters that samples come from, samples in all, and leaves.
MODELS, SAMPLES, LEAVES = 8, 512, 600
# Below this share of predicted variance, probabilities are not stated.
LEAST_SKILL = 0.5


class Fit(NamedTuple):
    """How far the model is believed."""

    skill: float | None
    """Share of the variance of the latter half of the scores that was predicted; ``None`` with too few."""
    coverage: float | None
    """Share of the same scores inside the 90% intervals that were predicted for them."""
    trust: float
    """Weight of the model's probabilities, from 0 to 1; 0 if they are not stated."""
    reason: str | None = None
    """Why probabilities are not stated; ``None`` if they are."""

    @property
    def known(self) -> bool:
        """Whether probabilities can be stated."""
        return self.trust > 0.0

    def sentence(self) -> str:
        """The same in words."""
        if self.reason is not None:
            return f"The probabilities are unknown: {self.reason}"
        if self.skill is None:
            return "Every subset was scored, so that no score had to be predicted"
        return (
            f"The model predicted {max(self.skill, 0.0):.0%} of the variance of the latter half of the "
            f"scores beforehand; {self.coverage:.0%} of these were inside its 90% intervals"
        )


def model_fit(run: SelectionRun, expected: Estimate) -> Fit:
    """How far the model is believed: as far as its scores hold on rows that did not choose.

    The best score leads the median score; on rows that took no part in a selection it falls. On 23 tables,
    inclusion probabilities were right most nearly with the weight lead / (lead + fall). The model's skill,
    and how early features entered the best subset, added nothing to it.
    """
    search = run.search
    skill, coverage = search.data.foresight.skill, search.data.foresight.covered()
    reason = _unknown(run, expected, skill)
    if reason is not None:
        return Fit(skill, coverage, 0.0, reason)
    assert run.nested is not None
    assert run.nested.score is not None
    scores = [told.reward for told in search.history]
    lead, fall = max(scores) - float(np.median(scores)), max(0.0, max(scores) - run.nested.score)
    return Fit(skill, coverage, lead / (lead + fall) if lead > 0.0 else 1.0)


def _unknown(run: SelectionRun, expected: Estimate, skill: float | None) -> str | None:
    """Why probabilities are not stated."""
    space = run.search.space
    scored = {space.key(evaluation.leaf) for evaluation in run.search.history}
    exhausted = bool(space.few_leaves) and all(space.key(leaf) in scored for leaf in space.few_leaves)
    if expected.signal is False:
        return "the score expected on new rows is not clearly above that of no features"
    if skill is None and not exhausted:
        return "too few subsets were scored to tell how well the model predicts"
    if not exhausted and skill is not None and skill < LEAST_SKILL:
        return (
            f"the model predicted {max(skill, 0.0):.0%} of the variance of scores beforehand, which is too "
            "little"
        )
    if expected.optimism is None:
        return "by how much the best score is too high was not estimated"
    return None


def tempered_inclusion(
    optimum: Samples | None, fit: Fit, free: BoolArray, support: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Probability that each feature belongs to the best subset, its interval, and the model's own view.

    The model's probabilities are shares of joint samples. With the weight of its trust they are mixed with
    what is known without a model, the share of features that are chosen. Intervals allow for any probability
    with the weight that the model lacks.

    Parameters
    ----------
    optimum : Samples or None
        Joint samples; ``None`` if there are none.
    fit : Fit
        How far the model is believed.
    free : ndarray of shape (n_features,)
        Whether each feature may be chosen or not; others belong to all subsets or to none.
    support : ndarray of shape (n_features,)
        The chosen features.
    """
    if optimum is None:
        own, samples = support.astype(np.float64), 1
    else:
        samples = optimum.values.shape[1]
        counts = np.zeros(support.size)
        for winner in optimum.winners.tolist():
            counts[list(optimum.leaves[winner])] += 1.0
        own = counts / samples
    if not fit.known or optimum is None:
        unknown = np.where(free, np.nan, own)
        return unknown, np.stack([unknown, unknown], axis=1), own
    low, high = (beta.ppf(q, own * samples + 0.5, (1.0 - own) * samples + 0.5) for q in TAILS)
    trust = np.where(free, fit.trust, 1.0)
    base = own[free].mean() if free.any() else 0.0
    probability = trust * own + (1.0 - trust) * base
    low, high = trust * np.minimum(low, own), trust * np.maximum(high, own) + (1.0 - trust)
    return probability, np.stack([low, high], axis=1), own


# Fitted attributes ----------------------------------------------------------------------------------


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
    search, record, chosen = run.search, run.record, choice.chosen
    optimum = sample_leaves(search, SAMPLES, LEAVES, MODELS)
    run.record_belief(optimum)
    expected = run.estimate(chosen)
    fit = model_fit(run, expected)
    subset = frozenset(chosen.columns)
    support = support_mask(subset, features.count)
    choices = run.problem.choices
    open_choices = choices if run.problem.sizes[0] < len(choices) else {}  # else there is only one subset
    free = support_mask(frozenset().union(*open_choices.values()), features.count)
    probability, interval, own = tempered_inclusion(optimum, fit, free, support)
    # Ties are broken in favour of chosen features, then by position.
    order = np.lexsort((np.arange(len(support)), ~support, -own))
    simpler = choice.simpler
    return {
        "search_": search,
        "stopped_": run.stopped,
        "support_": support,
        "n_features_to_select_": int(support.sum()),
        "best_score_": chosen.mean,
        "expected_score_": expected.score,
        "score_interval_": expected.interval,
        "optimism_": expected.optimism,
        "baseline_score_": expected.baseline,
        "inclusion_probability_": probability,
        "inclusion_interval_": interval,
        "ranking_": rankdata(np.argsort(order), method="ordinal").astype(np.int64),
        "model_fit_": fit,
        "simpler_": None
        if simpler is None
        else {"features": features.labels(simpler.columns), "score": simpler.mean},
        "notes_": [
            *_screened(run, features),
            *([] if fit.known or not free.any() else [fit.sentence()]),
        ],
        "history_": history(record, features),
        "runners_up_": runners_up(run, subset, features),
    }


def _screened(run: SelectionRun, features: Features) -> list[str]:
    """A note if only a part of the features was searched."""
    searched = len(frozenset[int]().union(*run.problem.choices.values()))
    if features.count <= MOST_CANDIDATES or searched > MOST_CANDIDATES:
        return []
    return [
        f"of {features.count:,} features, the {searched:,} most relevant ones by quick rankings were searched"
    ]


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


def runners_up(run: SelectionRun, best: frozenset[int], features: Features) -> list[dict[str, Any]]:
    """The scored subsets with the highest scores after the best one."""
    scored = [entry.scored for entry in run.record.successes() if frozenset(entry.scored.columns) != best]
    first = sorted(scored, key=lambda one: -one.mean)[:_MAX_RUNNERS_UP]
    return [
        {
            "features": features.labels(one.columns),
            "score": one.mean,
            "interval": run.estimate(one).interval,
        }
        for one in first
    ]


# Nested cross-validation ----------------------------------------------------------------------------


class HonestScore(NamedTuple):
    """The score of the whole selection on rows that it has not seen, by nested cross-validation."""

    score: float
    """Mean score over the outer folds."""
    interval: tuple[float, float]
    """Its central 90% interval."""
    scores: FloatArray
    """Score on each outer fold, shape ``(n_folds,)``."""
    frequency: FloatArray
    """Share of the outer folds in which each feature was selected, shape ``(n_features,)``."""
    stability: float
    """Mean overlap (intersection over union) of the features selected in two outer folds."""
    baseline: float | None
    """Mean score of predictions that use no feature; ``None`` if there is none to compare with."""

    def to_dict(self) -> dict[str, Any]:
        """The same in plain types, without the frequencies."""
        kept = {name: value for name, value in self._asdict().items() if name != "frequency"}
        return {**kept, "interval": list(self.interval), "scores": self.scores.tolist()}


def nested_score(selector: Any, data: Any, target: Any, cv: Any, params: Mapping[str, Any]) -> HonestScore:
    """Repeat a selection inside every outer fold, and score it on the fold's test rows.

    Parameters
    ----------
    selector : DAGSearchSelector
        Its settings are used; it stays as it is.
    data, target
        All rows.
    cv : int, cross-validation generator or iterable
        The outer folds.
    params : mapping
        As in ``fit``. Values with one entry per row are cut to the fold's rows.
    """
    estimator, scorer = selector.estimator, check_scoring(selector.estimator, scoring=selector.scoring)
    routed = routed_metadata(selector, scorer, params)
    groups = {} if params.get("groups") is None else {"groups": params["groups"]}
    splits = list(check_cv(cv, target, classifier=is_classifier(estimator)).split(data, target, **groups))
    scores, supports, dull = [], [], []
    for train, test in splits:

        def of(rows: Any, of_rows: Mapping[str, Any]) -> dict[str, Any]:
            return dict(_check_method_params(data, params=of_rows, indices=rows))

        inner = clone(selector).set_params(storage=None, name=None, callbacks=None, verbose=0)
        inner._silent = selector._silent
        seen = _safe_indexing(data, train), _safe_indexing(target, train)
        inner.fit(*seen, **of(train, params))
        supports.append(inner.support_)
        columns = np.flatnonzero(inner.support_).tolist()
        unseen = _safe_indexing(data, test), _safe_indexing(target, test)
        known, new = (_safe_indexing(part[0], columns, axis=1) for part in (seen, unseen))
        fitting, judging = of(train, routed.estimator.fit), of(test, routed.scorer.score)
        with quiet() if selector._silent else nullcontext():
            fitted = clone(estimator).fit(known, seen[1], **fitting)
            scores.append(float(scorer(fitted, new, unseen[1], **judging)))
            weights = [value for name, value in fitting.items() if name.endswith("sample_weight")]
            dull.append(baseline_score(estimator, scorer, seen[1], unseen[1], *weights[:1], **judging))
    rows = int(np.unique(np.concatenate([test for _, test in splits])).size)
    return _summary(np.array(scores), np.array(supports), dull, rows, score_bounds(scorer, estimator))


def _summary(
    scores: FloatArray, supports: Any, dull: list[float | None], rows: int, bounds: tuple[float, float]
) -> HonestScore:
    mean = float(scores.mean())
    pairs = [(a, b) for i, a in enumerate(supports) for b in supports[:i]]
    overlaps = [float((a & b).sum() / (a | b).sum()) for a, b in pairs]
    known = [score for score in dull if score is not None]
    return HonestScore(
        mean,
        estimate(mean, score_deviation(scores, None, rows, bounds), None, bounds).interval,
        scores,
        supports.mean(axis=0),
        float(np.mean(overlaps)) if overlaps else 1.0,
        float(np.mean(known)) if len(known) == len(dull) else None,
    )
