"""The page's content for a feature selection: that of every search, and additional sections."""

from collections.abc import Mapping
from typing import Any

from dagsearch.report.importance import Importance
from dagsearch.report.leaves import Element
from dagsearch.report.view import SELECTION_WORDS, RunView
from dagsearch.results import Gaussian
from dagsearch.storage.record import Attempt, Observation, Record

# Fields of the history for a point of the curve.
_POINT = ("step", "best", "deviation", "seconds", "predicted")


def selection_view(report: Mapping[str, Any]) -> dict[str, Any]:
    """The page's content for a report: that of any search, and the report under ``"selection"``.

    The report is in JSON types, as in ``result.json``; unknown numbers are ``None``.
    """
    result, settings = report["result"], report["settings"]
    effects = [
        (
            Element("", one["name"]),
            Importance(one["worth"], one["low"], one["high"], one["inclusion"]),
            one["evaluated_in"],
        )
        for one in report["features"]
        if one["worth"] is not None
    ]
    view = RunView("Feature selection", _record(report), effects).view()
    data = " → ".join(str(settings[name]) for name in ("data", "target") if settings.get(name) is not None)
    return {
        **view,
        "history": [  # by number of the subset: failures count, too
            {"reward": entry["score"], "leaf": entry["features"], **{name: entry[name] for name in _POINT}}
            for entry in report["history"]
            if entry["score"] is not None
        ],
        "forecast": [{**point, "step": point["step"] + result["failed"]} for point in view["forecast"]],
        "source": [part for part in ("Feature selection", data, report["question"]) if part],
        "sentence": report["headline"],
        "words": {**SELECTION_WORDS, "best": "chosen subset"},
        "tiles": _tiles(report),
        "bounds": result["bounds"],
        "effects": None if result["signal"] is False else view["effects"],
        "evaluations": result["evaluations"],
        "selection": {name: value for name, value in report.items() if name != "history"},
    }


def _record(report: Mapping[str, Any]) -> Record:
    """The record of a report: scores and failures."""
    record, result = Record(), report["result"]
    record.form, record.version, record.settled = "set", report["dagsearch"], result["stopped"] == "exhausted"
    if result["bounds"][1] is not None:
        record.largest = result["bounds"][1]
    for entry in report["history"]:
        leaf = entry["features"]
        if entry["score"] is None:
            text = str(entry.get("failure"))
            record.failures.append(Attempt(leaf, None, None, text=text, step=entry["step"]))
            continue
        predicted = entry.get("predicted")
        belief = None if predicted is None else Gaussian(predicted[0], predicted[1] ** 2)
        record.add_told(Observation(leaf, None, entry["score"], entry["seconds"], belief))
    record.best = next(place for place, one in enumerate(record.told) if one.leaf == result["features"])
    return record


def _tiles(report: Mapping[str, Any]) -> list[list[str | None]]:
    """Name, value and remark of each tile below the headline."""
    result, data = report["result"], report["data"]
    optimism = result["optimism"]
    about = f"about {number(optimism)} too high: it was " if optimism and optimism >= 5e-5 else ""
    tiles: list[list[str | None]] = [
        ["Features", f"{len(result['features'])} of {data['columns']}", None],
        ["Cross-validated score", number(result["score"]), f"{about}used to choose"],
    ]
    if result["signal"] is not False:
        expected = number(result["expected_score"])
        tiles.insert(1, ["Expected on new data", expected, _interval(result["score_interval"])])
    if result["holdout_score"] is not None:
        interval = _interval(result.get("holdout_interval"))
        tiles.append(["Hold-out score", number(result["holdout_score"]), interval])
    failed = f"{result['failed']} failed" if result["failed"] else None
    tiles.append(["Subsets scored", f"{result['evaluations']:,}", failed])
    return [*tiles, ["Stop reason", result["stopped"], None]]


def number(value: float | None, places: int = 4) -> str:
    """A score with a number of decimal places."""
    return "–" if value is None else f"{value:.{places}f}" if abs(value) < 10.0 else f"{value:.4g}"


def _interval(interval: list[float | None] | None) -> str | None:
    if interval is None or None in interval:
        return None
    return f"90 % interval {number(interval[0])} to {number(interval[1])}"
