"""The report of a feature selection: the page of every search, with sections of its own; or a snippet."""

from collections.abc import Mapping
from typing import Any

from dagsearch.report import html
from dagsearch.report.view import SELECTION_WORDS, Viewed
from dagsearch.results import Gaussian
from dagsearch.storage.record import Failure, Record, Told

# What the page has elsewhere, or computes from the history.
_ELSEWHERE = ("history", "runners_up")


def html_page(report: Mapping[str, Any]) -> str:
    """One page with all figures and tables, which loads no other files.

    Parameters
    ----------
    report : mapping
        The report in JSON types, as in ``result.json``. Unknown numbers are ``None``; NaN raises
        ``ValueError``.
    """
    return html.html_page([selection_view(report)])


def fragment(report: Mapping[str, Any]) -> str:
    """A snippet for ``_repr_html_``: what was found, the curve of scores and the selected features.

    It has no script, and the colours of the page that shows it.
    """
    return html.snippet(selection_view(report))


def selection_view(report: Mapping[str, Any]) -> dict[str, Any]:
    """What the page shows of a report: as of any search, and under ``"selection"`` what only this one has."""
    result, settings = report["result"], report["settings"]
    record = _record(report)
    view = Viewed("Feature selection", record).view()
    data = " → ".join(str(settings[name]) for name in ("data", "target") if settings.get(name) is not None)
    return {
        **view,
        **_numbered(view, report),
        "source": [part for part in ("Feature selection", data, report["question"]) if part],
        "sentence": report["headline"],
        "words": {**SELECTION_WORDS, "best": "chosen subset"},
        "rows": _facts(report),
        "bounds": result["bounds"],
        "best": result["score"],
        "best_leaf": result["features"],
        "state": "ended",
        "rules": [{"rule": "stopped by", "text": str(result["stopped"]), "share": None}],
        "leaves": _leaves(report),
        "dag": None,
        "effects": None if result["signal"] is False else _effects(report),
        "dagsearch": report["dagsearch"],
        "evaluations": result["evaluations"],
        "selection": {name: value for name, value in report.items() if name not in _ELSEWHERE},
    }


def _record(report: Mapping[str, Any]) -> Record:
    """What ``result.json`` tells: scores and failures."""
    record, result = Record(), report["result"]
    record.form, record.settled = "set", result["stopped"] == "exhausted"
    if result["bounds"][1] is not None:
        record.largest = result["bounds"][1]
    for entry in report["history"]:
        leaf = entry["features"]
        if entry["score"] is None:
            record.failures.append(Failure(leaf, None, None, str(entry.get("failure")), entry["step"]))
            continue
        predicted = entry.get("predicted")
        belief = None if predicted is None else Gaussian(predicted[0], predicted[1] ** 2)
        record.add_told(Told(leaf, None, entry["score"], entry["seconds"], belief))
    return record


def _numbered(view: Mapping[str, Any], report: Mapping[str, Any]) -> dict[str, Any]:
    """The points of the curve by number of the subset: failures count, too."""
    told = [entry for entry in report["history"] if entry["score"] is not None]
    failed = len(report["history"]) - len(told)
    return {
        "history": [
            {
                **point,
                "step": told[point["step"] - 1]["step"],
                "deviation": told[point["step"] - 1]["deviation"],
            }
            for point in view["history"]
        ],
        "forecast": [{**point, "step": point["step"] + failed} for point in view["forecast"]],
    }


def _effects(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The features in order of their importance."""
    return [
        {
            "label": feature["name"],
            "effect": feature["worth"],
            "low": feature["low"],
            "high": feature["high"],
            "leaves": feature["evaluated_in"],
            "chosen": feature["selected"],
        }
        for feature in report["features"]
        if feature["worth"] is not None
    ]


def _leaves(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The chosen subset and the runners-up; what differs from the chosen one is marked."""
    result = report["result"]
    chosen = result["features"]
    steps = {frozenset(entry["features"]): entry["step"] for entry in reversed(report["history"])}
    own = {"features": chosen, "score": result["score"], "interval": result["score_interval"]}
    return [
        {
            "reward": subset["score"],
            "interval": subset["interval"],
            "step": steps.get(frozenset(subset["features"])),
            "parts": [[name, name not in chosen] for name in subset["features"]],
            "lacks": [name for name in chosen if name not in subset["features"]],
        }
        for subset in (own, *report["runners_up"])
    ]


def _facts(report: Mapping[str, Any]) -> list[list[str]]:
    """The rows of the snippet's table."""
    result = report["result"]
    rows = [
        ["features", f"{len(result['features'])} of {report['data']['columns']} features chosen"],
        ["cross-validated score", _number(result["score"])],
    ]
    if result["signal"] is not False:
        score = _number(result["expected_score"]) + _interval(result["score_interval"])
        rows.append(["expected on new data", score])
    if result["holdout_score"] is not None:
        score = _number(result["holdout_score"]) + _interval(result.get("holdout_interval"))
        rows.append(["hold-out score", score])
    rows.append(["subsets scored", str(result["evaluations"])])
    known = {feature["name"]: feature for feature in report["features"]}
    for name in result["features"]:
        feature = known[name]
        if feature["worth"] is not None:
            interval = _interval([feature["low"], feature["high"]], ".3f")
            rows.append([name, f"importance {_number(feature['worth'], '.3f')}{interval}"])
    return rows


def _number(value: float | None, form: str = ".4g") -> str:
    return "–" if value is None else format(value, form)


def _interval(interval: list[float | None] | None, form: str = ".4g") -> str:
    if interval is None or None in interval:
        return ""
    return f" ({_number(interval[0], form)} to {_number(interval[1], form)})"
