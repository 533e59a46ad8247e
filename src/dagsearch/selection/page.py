"""The report of a feature selection as HTML: one self-contained page, or a snippet for a notebook."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from dagsearch.results import Result

# An HTML parser looks for these inside <script>; in JSON they occur only in strings.
_ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&"})


def html_page(report: Mapping[str, Any]) -> str:
    """One page with all figures and tables, which loads no other files.

    The page's content security policy allows only its own script, by hash. No other script can run, even if
    the name of a feature contains one.

    Parameters
    ----------
    report : mapping
        The report in JSON types. Unknown numbers are ``None``; NaN raises ``ValueError``.
    """
    page = files("dagsearch.selection").joinpath("page.html").read_text(encoding="utf-8")
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    # ASCII only, so that U+2028, U+2029 and surrogates of undecodable names are escaped as well.
    data = json.dumps(dict(report), ensure_ascii=True, allow_nan=False).translate(_ESCAPES)
    parts = {"script hash": f"sha256-{digest}", "fallback": fragment(report), "report": data}
    # In one pass, so that a name which looks like a placeholder is not replaced.
    return re.sub(r"\{\{([a-z ]+)\}\}", lambda found: parts[found[1]], page)


def fragment(report: Mapping[str, Any]) -> str:
    """A snippet for ``_repr_html_`` with the headline, the selected features and the curve of scores.

    It has no script, and the colours of the page that shows it.
    """
    result = report["result"]
    chosen = f"{len(result['features'])} of {_text(report['data']['columns'])} features chosen"
    score = f"cross-validated score <b>{_number(result['score'])}</b>{_interval(result['score_interval'])}"
    if result["holdout_score"] is not None:
        score += f", hold-out score <b>{_number(result['holdout_score'])}</b>"
    return (
        '<div style="max-width: 640px">'
        f"<p>{_text(report['headline'])}</p>"
        f"<p><b>{chosen}</b>, {score}, {_text(result['evaluations'])} subsets scored</p>"
        f"{_curve(report['history'])}{_chosen(report)}</div>"
    )


def result_fragment(result: Result) -> str:
    """A snippet for ``_repr_html_`` with the result of a search and the curve of rewards."""
    history = [
        {"step": evaluation.step, "score": evaluation.reward, "best": evaluation.best_reward}
        for evaluation in result.history
    ]
    rows = {
        "best reward": _number(result.best_reward),
        "best state": _text(result.best_state),
        "path": _text(None if result.best_path is None else ", ".join(map(str, result.best_path))),
        "best possible reward": f"{_number(result.value.mean)} ± {_number(result.value.variance**0.5)}",
        "probability that nothing is better": _number(result.probability_best, ".2f"),
        "evaluations": str(len(history)),
        "stopped by": _text(result.stopped),
    }
    left = 'style="text-align: left"'
    table = "".join(
        f'<tr><th scope="row" {left}>{name}</th><td {left}>{cell}</td></tr>' for name, cell in rows.items()
    )
    return f'<div style="max-width: 640px">{_curve(history)}<table><tbody>{table}</tbody></table></div>'


def _chosen(report: Mapping[str, Any]) -> str:
    """Table of the selected features, in the order of their columns."""
    known = {feature["name"]: feature for feature in report["features"]}
    rows = []
    for name in report["result"]["features"]:
        feature = known.get(name, {"inclusion": None, "interval": None})
        cells = f"{_number(feature['inclusion'], '.2f')}{_interval(feature['interval'], '.2f')}"
        rows.append(f'<tr><th scope="row" style="text-align: left">{_text(name)}</th><td>{cells}</td></tr>')
    head = '<tr><th style="text-align: left">feature</th><th>inclusion probability</th></tr>'
    return f"<table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _curve(history: list[dict[str, Any]], width: int = 320, height: int = 72) -> str:
    """A small drawing of the score of each subset and the best score so far."""
    scored = [entry for entry in history if entry["score"] is not None]
    if not scored:
        return ""
    low = min(entry["score"] for entry in scored)
    span = max(entry["score"] for entry in scored) - low or 1.0
    last = max(scored[-1]["step"] - 1, 1)

    def place(entry: dict[str, Any], value: float) -> str:
        x = 4 + (width - 8) * (entry["step"] - 1) / last
        return f"{x:.1f} {height - 4 - (height - 8) * (value - low) / span:.1f}"

    points = "".join(f"M{place(entry, entry['score'])}h0" for entry in scored)
    steps = ""
    best = None
    for entry in scored:
        if best is not None:
            steps += f"L{place(entry, best)}"
        if entry["best"] is not None and entry["best"] != best:
            steps += f"{'M' if best is None else 'L'}{place(entry, entry['best'])}"
            best = entry["best"]
    return (
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" fill="none" '
        'aria-label="score of each subset and the best so far">'
        f'<path d="{points}" stroke="currentColor" stroke-opacity="0.3" stroke-width="4" '
        'stroke-linecap="round"/>'
        f'<path d="{steps}" stroke="#0072b2" stroke-width="2"/></svg>'
    )


def _text(value: object) -> str:
    # A name that could not be decoded contains surrogates, which cannot be written to a file.
    return "–" if value is None else html.escape(str(value)).encode(errors="replace").decode()


def _number(value: float | None, form: str = ".4g") -> str:
    return "–" if value is None else format(value, form)


def _interval(interval: list[float | None] | None, form: str = ".4g") -> str:
    if interval is None or None in interval:
        return ""
    return f" ({_number(interval[0], form)} to {_number(interval[1], form)})"
