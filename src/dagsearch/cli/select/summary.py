"""The report of a selection as text for a terminal."""

from collections.abc import Mapping
from typing import Any

from dagsearch.selection.report import SelectionReport


def summary(report: SelectionReport) -> str:
    """Chosen features, comparisons and warnings."""
    content = report.to_dict()
    chosen = [feature for feature in content["features"] if feature["selected"]]
    lines = [*_features(chosen), "", *_scores(content, len(chosen)), ""]
    if content["model"]["trust"] > 0.0:  # otherwise a warning says so
        lines.append(f"{content['model']['sentence']}.")
    lines += [*_simpler(content), *_honest(content)]
    lines.append(
        "Cross-validated scores are too optimistic: they were used to choose. Held-out scores are not."
    )
    # Only the first line of a message; the report has all of it.
    lines += [f"warning: {_printable(text.splitlines()[0])}" for text in content["warnings"]]
    return "\n".join(lines)


def _features(chosen: list[dict[str, Any]]) -> list[str]:
    """The chosen features with the probability that each is in the best subset."""
    names = [_printable(feature["name"]) for feature in chosen]
    width = max(map(len, names))
    lines = [f"{'feature':{width}}  in the best subset with probability"]
    for name, feature in zip(names, chosen, strict=True):
        if feature["inclusion"] is None:
            lines.append(f"{name:{width}}  not known")
            continue
        low, high = feature["interval"]
        lines.append(f"{name:{width}}  {feature['inclusion']:.2f}  ({low:.2f} to {high:.2f})")
    return lines


def _simpler(content: Mapping[str, Any]) -> list[str]:
    simpler = content["result"]["simpler"]
    if simpler is None:
        return []
    names = ", ".join(_printable(name) for name in simpler["features"])
    return [f"A simpler choice is within one standard error: {names} (score {simpler['score']:.4f})."]


def _honest(content: Mapping[str, Any]) -> list[str]:
    honest = content["honest"]
    if honest is None:
        return []
    low, high = honest["interval"]
    baseline = "" if honest["baseline"] is None else f"; without any feature {honest['baseline']:.4f}"
    return [
        f"Honest score of the whole selection, by nested cross-validation: {honest['score']:.4f} "
        f"({low:.4f} to {high:.4f}){baseline}. Selections in two folds overlap by {honest['stability']:.0%}."
    ]


def _scores(content: Mapping[str, Any], chosen: int) -> list[str]:
    """The score of the chosen features, then the scores they are compared with."""
    found = content["result"]
    rows = [
        (
            "chosen",
            chosen,
            found["evaluations"],
            found["score"],
            found["score_interval"],
            found["holdout_score"],
        )
    ]
    rows += [
        (
            other["name"],
            other["features"],
            other["subsets"],
            other["score"],
            other["interval"],
            other["holdout_score"],
        )
        for other in content["comparisons"]
    ]
    width = max(len(row[0]) for row in rows)
    lines = [f"{'':{width}}  features  subsets  cross-validated  90% interval      held out"]
    for name, features, subsets, score, interval, held in rows:
        shown = "–" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}"
        counts = f"{features:8}  {subsets:7}"
        lines.append(f"{name:{width}}  {counts}  {_number(score):>15}  {shown:16}  {_number(held):>8}")
    return lines


def _printable(text: str) -> str:
    """Without characters that move a terminal's cursor or change its colours."""
    return "".join(character if character.isprintable() else "�" for character in text)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
