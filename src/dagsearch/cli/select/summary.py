"""The report of a selection as text for a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas

from dagsearch.cli.common import printable
from dagsearch.selection.report import SelectionReport


def summary(report: SelectionReport) -> str:
    """The result in one sentence, then the chosen features, comparisons, warnings and code."""
    content = report.to_dict()
    features = {
        one["name"]: {"importance (90 % CI)": _estimate(one["worth"], (one["low"], one["high"]))}
        for one in content["features"]
        if one["selected"]
    }
    lines = [content["headline"], content["question"], "", *_table(features), "", *_table(_scores(content))]
    simpler = content["result"]["simpler"]
    if simpler is not None:
        names = ", ".join(simpler["features"])
        score = f"score {simpler['score']:.4f}"
        lines += ["", f"Simpler, and within one standard error ({score}): {names}."]
    # The first line of each; the report has the full text.
    lines += [f"warning: {text.splitlines()[0]}" for text in content["warnings"]]
    if content["code"] is not None:
        lines += ["", "In Python:", *(f"    {line}".rstrip() for line in content["code"].splitlines())]
    return "\n".join(map(printable, lines))


def _table(rows: Mapping[str, Mapping[str, Any]]) -> list[str]:
    frame = pandas.DataFrame(list(map(dict, rows.values())), index=[printable(name) for name in rows])
    return frame.to_string().splitlines()


def _scores(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The score of the chosen features, then the scores of the other methods."""
    found = content["result"]
    own = {"name": "chosen", **found, "features": len(found["features"]), "interval": found["score_interval"]}
    return {
        row["name"]: {
            "features": row["features"],
            "cross-validated": _estimate(row["score"]),
            "expected (90 % CI)": _estimate(row.get("expected_score"), row.get("interval")),
            "hold-out (90 % CI)": _estimate(row["holdout_score"], row["holdout_interval"]),
        }
        for row in [own, *content["comparisons"]]
    }


def _estimate(value: float | None, interval: Sequence[float | None] | None = None) -> str:
    text = "–" if value is None else f"{value:.4f}"
    low, high = interval or (None, None)
    return text if low is None or high is None else f"{text} ({low:.4f} to {high:.4f})"
