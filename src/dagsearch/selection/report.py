"""The report of a feature selection: the content of ``result.json``, of the page and of the figures."""

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from sklearn.utils import get_tags

from dagsearch.report.html import html_page, snippet
from dagsearch.selection.arguments import Features
from dagsearch.selection.estimate import NOTHING, best_of, is_better, standard_error
from dagsearch.selection.page import number, selection_view
from dagsearch.selection.run import SelectionRun
from dagsearch.selection.scoring import Scored

if TYPE_CHECKING:
    from dagsearch.selection.selector import DAGSearchSelector

SCHEMA = 2
# Smallest number of subsets of a size for which this size counts as searched.
_SEARCHED = 5


@dataclass(frozen=True)
class Comparison:
    """The result of another method of feature selection."""

    name: str
    """Name of the method."""
    features: int
    """Number of selected features."""
    subsets: int
    """Number of scored subsets."""
    score: float | None
    """Cross-validated score on the same folds; ``None`` if scoring failed."""
    holdout_score: float | None = None
    """Score on the hold-out rows, which no method has used for selection."""
    holdout_interval: tuple[float, float] | None = None
    """Central 90 % interval of this score on new rows, if it is known."""


class Holdout(NamedTuple):
    """Rows that were not used for the selection."""

    rows: int
    """Number of rows."""
    score: float | None
    """Score of the selected features on them, after fitting all other rows; ``None`` if scoring failed."""
    interval: tuple[float, float] | None = None
    """Central 90 % interval of the score on new rows, if it is known."""


class SelectionReport:
    """The result of a selection, as tables, figures and a page.

    The fields of the dictionary are documented in ``docs/feature-selection.md``.
    """

    def __init__(self, content: dict[str, Any]) -> None:
        self._content = content

    @classmethod
    def of(
        cls,
        selector: "DAGSearchSelector",
        settings: Mapping[str, Any] | None = None,
        comparisons: Sequence[Comparison] = (),
        holdout: Holdout | None = None,
        notes: Sequence[str] = (),
        leaks: Sequence[str] = (),
        warnings: Sequence[str] = (),
    ) -> Self:
        """The report of a fitted selector, with the results of other methods and a hold-out score.

        By default the ``settings`` are the selector's parameters. ``notes`` list changes to the data,
        ``leaks`` are features that alone determine the target; the headline begins with them.
        """
        from dagsearch import __version__

        run, features = selector._run, selector._features()
        names = features.texts(range(features.count))
        chosen, failures = best_of(run.successes()), run.failure_message(names)
        simpler, own = selector.simpler_, [names[column] for column in chosen.columns]
        content: dict[str, Any] = {
            "schema": SCHEMA,
            "dagsearch": __version__,
            "settings": {name: str(value) for name, value in (settings or shown_settings(selector)).items()},
            "data": {
                "rows": run.rows,
                "columns": run.problem.allowed,
                "holdout_rows": None if holdout is None else holdout.rows,
            },
            "leaks": list(leaks),
            "result": {
                "features": own,
                "score": selector.best_score_,
                "expected_score": selector.expected_score_,
                "score_interval": selector.score_interval_,
                "optimism": selector.optimism_,
                "extra_fits": (0 if run.repeated is None else run.repeated.fits)
                + len(run.without) * run.folds,
                "baseline": selector.baseline_score_,
                "bounds": [_known(end) for end in run.bounds],
                "simpler": simpler and {**simpler, "features": list(map(str, simpler["features"]))},
                "stopped": run.stopped,
                "evaluations": len(run.scored),
                "failed": len(run.scored) - len(run.successes()),
                "seconds": max(one.told for one in run.scored.values()),
                "holdout_score": None if holdout is None else holdout.score,
                "holdout_interval": None if holdout is None else holdout.interval,
            },
            "features": _features(run, names, chosen, selector),
            "comparisons": [asdict(comparison) for comparison in comparisons],
            "by_size": _by_size(run, names),
            "history": _history(run, features),
            "notes": list(notes),
            "warnings": [*warnings, *([] if failures is None else [failures]), *selector.notes_],
            "code": f"features = {own!r}\nX[features]",
        }
        content["result"]["signal"] = _signal(content)
        if content["result"]["signal"] is False:  # then the best subset is best by chance
            content["result"] |= {"simpler": None}
            content["code"] = None
            unknown = dict.fromkeys(("worth", "low", "high", "inclusion", "essential"))
            content["features"] = [{**feature, **unknown} for feature in content["features"]]
        content = {"headline": headline(content), "question": question(content), **content}
        # Through JSON and back, so that the dictionary has the same plain types as the file.
        return cls(json.loads(json.dumps(content, allow_nan=False)))

    def to_dict(self) -> dict[str, Any]:
        """The report in plain types, as in ``result.json``."""
        return self._content

    def to_html(self) -> str:
        """The report as one self-contained page."""
        return html_page([selection_view(self._content)])

    def write(self, folder: str | PathLike[str]) -> list[Path]:
        """Write ``result.json``, ``history.csv`` and ``report.html``; return their paths."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        written = [folder / name for name in ("result.json", "history.csv", "report.html")]
        written[0].write_text(json.dumps(self._content, indent=2) + "\n", encoding="utf-8")
        with written[1].open("w", encoding="utf-8", newline="") as file:
            columns = ["step", "score", "best", "deviation", "seconds", "failure", "features"]
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            for entry in self._content["history"]:
                writer.writerow({**entry, "features": json.dumps(entry["features"], ensure_ascii=False)})
        written[2].write_text(self.to_html(), encoding="utf-8")
        return written

    def _repr_html_(self) -> str:
        return snippet(selection_view(self._content))

    def __repr__(self) -> str:
        found = self._content["result"]
        return f"SelectionReport({found['features']!r}, score={found['score']:.4g})"


def _features(
    run: SelectionRun, names: Sequence[str], chosen: Scored, selector: "DAGSearchSelector"
) -> list[dict[str, Any]]:
    scored_in = Counter(column for one in run.scored.values() for column in one.columns)
    error = standard_error(chosen.scores)
    worth, ends = selector.importances_, selector.importance_intervals_
    scores = {one.columns: one.mean for one in run.successes()} | run.without | {(): run.baseline}
    stays = set[int]()  # features without which the chosen subset scores about the same
    for columns in run.problem.choices.values():
        score = scores.get(tuple(sorted(set(chosen.columns).difference(columns))))
        if score is not None and chosen.mean - score <= error:
            stays.update(columns)
    return [
        {
            "name": names[column],
            "selected": column in chosen.columns,
            "worth": _known(worth[column]),
            "low": _known(ends[column, 0]),
            "high": _known(ends[column, 1]),
            "inclusion": float(selector.inclusion_probability_[column]),
            "essential": bool(worth[column] > error and ends[column, 0] > 0.0 and column not in stays),
            "evaluated_in": scored_in[column],
        }
        for column in np.argsort(selector.ranking_).tolist()
    ]


def _by_size(run: SelectionRun, names: Sequence[str]) -> list[dict[str, Any]]:
    """The best score for each searched number of features; empty if there is only one."""
    scored = run.successes()
    counts = Counter(len(one.columns) for one in scored)
    sizes = sorted(size for size, count in counts.items() if count >= _SEARCHED)
    best = [best_of(one for one in scored if len(one.columns) == size) for size in sizes]
    return [
        {
            "features": [names[column] for column in one.columns],
            "score": one.mean,
            "error": float(np.std(one.scores, ddof=1)) / run.folds**0.5 if run.folds > 1 else None,
            "subsets": counts[len(one.columns)],
        }
        for one in (best if len(best) > 1 else [])
    ]


def _known(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def _history(run: SelectionRun, features: Features) -> list[dict[str, Any]]:
    beliefs = {told.leaf: told.predicted for told in reversed(run.search.history)}
    best = np.fmax.accumulate([one.mean for one in run.scored.values()])
    return [
        {
            "step": step,
            "score": _known(one.mean),
            "best": _known(best[step - 1]),
            "deviation": _known(one.scores.std()),
            "predicted": None if belief is None or one.failure else [belief.mean, belief.variance**0.5],
            "features": features.texts(one.columns),
            "seconds": one.told,
            "failure": one.failure,
        }
        for step, (leaf, one) in enumerate(run.scored.items(), start=1)
        for belief in [beliefs.get(leaf)]
    ]


# Words ----------------------------------------------------------------------------------------------


# Names of scores that are not words.
_METRICS = {"r2": "R²", "f1": "F1", "roc_auc": "ROC AUC"}
# Largest number of features that the headline names.
_MAX_ESSENTIAL = 3


def shown_settings(selector: Any) -> dict[str, Any]:
    """The parameters set on a selector, and the task."""
    kinds = {"classifier": "classification", "regressor": "regression"}
    task = kinds.get(str(get_tags(selector.estimator).estimator_type))
    settings = {"task": task, **selector.get_params(deep=False)}
    return {name: value for name, value in settings.items() if value is not None}


def metric_of(settings: Mapping[str, Any]) -> str:
    """The name of the score, for a sentence."""
    name = str(settings.get("scoring") or "score")
    if not name.replace("_", "").isalnum():  # a callable
        return "score"
    return _METRICS.get(name, name.replace("neg_", "negative ").replace("_", " "))


def _signal(content: Mapping[str, Any]) -> bool | None:
    """Whether the chosen features predict better than none, by the folds and the held-out rows together."""
    result = content["result"]
    found = [(result["expected_score"], result["score_interval"], result["baseline"])]
    none = _compared(content, _NONE)
    if none is not None:
        found.append((result["holdout_score"], result["holdout_interval"], none["holdout_score"]))
    better = is_better(
        [(score, interval[0], none) for score, interval, none in found if None not in (interval, none)]
    )
    task, scoring = (content["settings"].get(name) for name in ("task", "scoring"))
    by_accuracy = task == "classification" and scoring in (None, "accuracy")  # a classifier's own score
    if scoring == "balanced_accuracy" or (by_accuracy and (result["baseline"] or 0.0) > MAJORITY):
        return better or None  # a model that always predicts the largest class may still have learnt more
    return better


MAJORITY = 0.8
"""Share of the most frequent class above which accuracy cannot tell that nothing predicts the target."""
# Names of comparisons.
_NONE, _ALL, _RANKED = "no features", "all features", "by univariate score"


def _compared(content: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    return next((one for one in content["comparisons"] if name in one["name"]), None)


def headline(content: Mapping[str, Any]) -> str:
    """The result, compared with no features, all features and a ranking; a suspected leak comes first."""
    result, data, settings = content["result"], content["data"], content["settings"]
    metric, held = metric_of(settings), result["holdout_score"] is not None
    count = f"{len(result['features'])} of {data['columns']} features"
    score = number(result["holdout_score"] if held else result["expected_score"], 3)
    interval = result["holdout_interval"] if held else result["score_interval"]
    where = f"on {data['holdout_rows']} held-out rows" if held else "expected on new data"
    others = _others(content, "holdout_score" if held else "score")
    first = ""
    if content["leaks"]:
        names = ", ".join(map(repr, content["leaks"]))
        first = (
            f"Suspected leak: {names} alone predicts the target almost perfectly; forbid it if it is known "
            "only after the target. "
        )
    if result["signal"] is False or (result["signal"] is None and result["baseline"] is not None):
        rows = data["rows"] + (data["holdout_rows"] or 0)
        verdict = NOTHING if result["signal"] is False else f"{metric} shows no advantage over no features"
        return f"{first}In {rows} rows, {verdict}: {metric} {score} with {count} {where}{others}."
    if interval is not None:
        score += f" ({number(interval[0], 3)} to {number(interval[1], 3)})"
    verb = "predicting " + repr(settings["target"]) if settings.get("target") else "the estimator"
    return f"{first}With {count}, {verb} reaches {metric} {score} {where}{others}; {_essential(content)}."


def _others(content: Mapping[str, Any], score: str) -> str:
    """The scores of the other methods."""
    rows = [(words, _compared(content, name)) for name, words in ((_NONE, "no"), (_ALL, "all"))]
    found = [
        f"{number(row[score], 3)} with {words} features"
        for words, row in rows
        if row and row[score] is not None
    ]
    ranked = _compared(content, _RANKED)
    if ranked is not None and ranked[score] is not None:
        found.append(f"{number(ranked[score], 3)} with the top {ranked['features']} by univariate score")
    if not found and content["result"]["baseline"] is not None:
        found = [f"{number(content['result']['baseline'], 3)} with no features"]
    return ", against " + ", ".join(found) if found else ""


def _essential(content: Mapping[str, Any]) -> str:
    """The selected features on which the score depends."""
    selected = [feature for feature in content["features"] if feature["selected"]]
    names = [repr(feature["name"]) for feature in selected if feature["essential"]]
    if not names:
        return "no single feature is essential: other subsets score about the same"
    rest = "" if len(names) == len(selected) else "; the others are interchangeable"
    if len(names) > _MAX_ESSENTIAL:
        return f"{len(names)} features are essential{rest}"
    listed = names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
    return f"{listed} {'is' if len(names) == 1 else 'are'} essential{rest}"


def question(content: Mapping[str, Any]) -> str:
    """Task, metric, estimator and data on one line."""
    settings, data = content["settings"], content["data"]
    parts = [
        settings.get("task"),
        f"scored by {metric_of(settings)}",
        settings.get("estimator"),
        f"{data['rows']} rows",
    ]
    return " · ".join(str(part) for part in parts if part)
