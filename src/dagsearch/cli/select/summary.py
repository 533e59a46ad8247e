"""The report of a selection as text for a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

from dagsearch.cli.common import printable
from dagsearch.selection.report import SelectionReport

# Largest number of features that get a line of their own.
_MOST_FEATURES = 30


def summary(report: SelectionReport, notes: Sequence[str] = (), announced: bool = False) -> str:
    """What was found in one sentence, then the chosen features, comparisons, warnings and code.

    ``notes`` are what was said of the table; they are left out if they were ``announced`` before.
    """
    content = report.to_dict()
    chosen = [feature for feature in content["features"] if feature["selected"]]
    lines = [printable(content["headline"]), printable(content["question"]), ""]
    lines += [*_features(chosen, content["code"] is not None), "", *_scores(content, len(chosen)), ""]
    if content["by_size"]:
        lines += [*_sizes(content["by_size"], len(chosen)), ""]
    if content["result"]["signal"] is not False:  # else there is nothing to recommend
        lines += [*_simpler(content), *_optimism(content["result"]), *_disagreement(content["result"])]
    for text in [*content["notes"], *content["warnings"]]:  # the first line of each; the report has all of it
        if text not in notes or not announced:
            lines.append(f"{'note' if text in notes else 'warning'}: {printable(text.splitlines()[0])}")
    if content["code"] is not None:
        code = content["code"].splitlines()
        lines += ["", "In Python:", *(f"    {printable(line)}".rstrip() for line in code)]
    return "\n".join(lines)


def _features(chosen: list[dict[str, Any]], in_code: bool) -> list[str]:
    """The chosen features with the importance of each."""
    names = [printable(feature["name"]) for feature in chosen[:_MOST_FEATURES]]
    width = max(map(len, names))
    lines = [f"{'feature':{width}}  importance (90% CI)"]
    for name, feature in zip(names, chosen[:_MOST_FEATURES], strict=True):
        lines.append(f"{name:{width}}  {_worth(feature)}")
    if len(chosen) > _MOST_FEATURES:
        where = ", listed in the code below" if in_code else ""
        lines.append(f"and {len(chosen) - _MOST_FEATURES} more{where}")
    return lines


def _worth(feature: Mapping[str, Any]) -> str:
    if feature["worth"] is None:
        return "–"
    return f"{feature['worth']:.4f}  ({feature['low']:.4f} to {feature['high']:.4f})"


def _simpler(content: Mapping[str, Any]) -> list[str]:
    simpler = content["result"]["simpler"]
    if simpler is None:
        return []
    names = ", ".join(printable(name) for name in simpler["features"])
    count = len(simpler["features"])
    return [
        f"A simpler choice is within one standard error of the difference, fold by fold: {count} "
        f"feature{'s' if count > 1 else ''} (score {simpler['score']:.4f}): {names}."
    ]


def _optimism(result: Mapping[str, Any]) -> list[str]:
    if result["optimism"] is None:
        return ["Cross-validated scores are too high: they were used to choose. Held-out scores are not."]
    if f"{result['optimism']:.4f}" == "0.0000":
        return []
    return [
        f"On new rows, {result['expected_score']:.4f} is expected: the cross-validated score is about "
        f"{result['optimism']:.4f} too high, because it was used to choose ({result['nested_fits']} further "
        "fits estimate that)."
    ]


def _disagreement(result: Mapping[str, Any]) -> list[str]:
    """Which score to believe if the held-out one is not what was expected."""
    held, (low, high) = result["holdout_score"], result["score_interval"]
    if None in (held, low, high) or low <= held <= high:
        return []
    return [
        f"The held-out score {held:.4f} is outside the 90% interval for new rows, {low:.4f} to {high:.4f}: "
        "believe the held-out score, because its rows took no part in the selection."
    ]


def _scores(content: Mapping[str, Any], chosen: int) -> list[str]:
    """The score of the chosen features, then the scores they are compared with."""
    found = content["result"]
    own = {"name": "chosen", "features": chosen, "subsets": found["evaluations"], "score": found["score"]}
    own |= {"interval": found["score_interval"]}
    own |= {name: found[name] for name in ("holdout_score", "holdout_interval")}
    rows = [own, *content["comparisons"]]
    width = max(len(row["name"]) for row in rows)
    lines = [f"{'':{width}}  features  subsets  cross-validated  new rows, 90%     held out  its 90%"]
    for row in rows:
        counts = f"{row['features']:8}  {row['subsets']:7}"
        score, held = _number(row["score"]), _number(row["holdout_score"])
        new, its = _interval(row["interval"]), _interval(row["holdout_interval"])
        line = f"{row['name']:{width}}  {counts}  {score:>15}  {new:16}  {held:>8}  {its}"
        lines.append(line.rstrip())
    return lines


def _sizes(by_size: Sequence[Mapping[str, Any]], chosen: int) -> list[str]:
    """The best cross-validated score by number of features."""
    lines = ["features  best cross-validated  standard error  subsets"]
    for size in by_size:
        count = len(size["features"])
        error = _number(size["error"])
        mark = "  chosen" if count == chosen else ""
        lines.append(f"{count:8}  {_number(size['score']):>20}  {error:>14}  {size['subsets']:7}{mark}")
    return lines


def _interval(interval: Sequence[float | None] | None) -> str:
    low, high = interval or (None, None)
    return "–" if low is None or high is None else f"{low:.4f} to {high:.4f}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"
