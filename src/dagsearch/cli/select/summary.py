"""The report of a selection as text for a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from dagsearch.cli.common import printable
from dagsearch.selection.report import SelectionReport

# Largest number of features that get a line of their own.
_MOST_FEATURES = 30


def summary(report: SelectionReport) -> str:
    """What was found in one sentence, then the chosen features, comparisons, warnings and code."""
    content = report.to_dict()
    chosen = [feature for feature in content["features"] if feature["selected"]]
    lines = [content["headline"], content["question"], "", *_features(chosen), "", *_scores(content)]
    simpler = content["result"]["simpler"]
    if simpler is not None:
        count = len(simpler["features"])
        names = ", ".join(simpler["features"])
        subset = f"{count} feature{'s' if count > 1 else ''} (score {simpler['score']:.4f})"
        lines += ["", f"Simpler, and within one standard error: {subset}: {names}."]
    # The first line of each; the report has all of it.
    lines += [f"warning: {text.splitlines()[0]}" for text in content["warnings"]]
    if content["code"] is not None:
        lines += ["", "In Python:", *(f"    {line}".rstrip() for line in content["code"].splitlines())]
    return "\n".join(map(printable, lines))


def _features(chosen: list[dict[str, Any]]) -> list[str]:
    """The chosen features with the importance of each."""
    names = [printable(feature["name"]) for feature in chosen[:_MOST_FEATURES]]
    width = max(map(len, names))
    lines = [f"{'feature':{width}}  importance (90 % CI)"]
    for name, feature in zip(names, chosen, strict=False):
        interval = _interval([feature["low"], feature["high"]])
        lines.append(f"{name:{width}}  {_number(feature['worth']):>10} {interval}".rstrip())
    if len(chosen) > _MOST_FEATURES:
        lines.append(f"and {len(chosen) - _MOST_FEATURES} more")
    return lines


def _scores(content: Mapping[str, Any]) -> list[str]:
    """The score of the chosen features, then the scores they are compared with."""
    found = content["result"]
    own = {"name": "chosen", "features": len(found["features"]), "interval": found["score_interval"]}
    own |= {name: found[name] for name in ("score", "expected_score", "holdout_score", "holdout_interval")}
    rows = [own, *content["comparisons"]]
    width = max(len(row["name"]) for row in rows)
    lines = [f"{'':{width}}  features  cross-validated  {'expected (90 % CI)':25}  hold-out (90 % CI)"]
    for row in rows:
        expected = _estimate(row.get("expected_score"), row["interval"])
        held = _estimate(row["holdout_score"], row["holdout_interval"])
        scores = f"{_number(row['score']):>15}  {expected:25}  {held}"
        lines.append(f"{row['name']:{width}}  {row['features']:8}  {scores}".rstrip())
    return lines


def _estimate(value: float | None, interval: Sequence[float | None] | None) -> str:
    return f"{_number(value)} {_interval(interval)}".rstrip()


def _interval(interval: Sequence[float | None] | None) -> str:
    low, high = interval or (None, None)
    return "" if low is None or high is None else f"({low:.4f} to {high:.4f})"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
