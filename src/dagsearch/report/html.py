"""The page as HTML: one self-contained document, or a snippet for a notebook."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

# An HTML parser looks for these inside <script>; in JSON they occur only in strings.
_ESCAPES = str.maketrans({character: f"\\u{ord(character):04x}" for character in "<>&"})
# The parts of the page's script, in order: later ones use names from earlier ones.
_SCRIPTS = ("figures.js", "selection.js", "sections.js", "live.js")


def html_page(views: Sequence[Mapping[str, Any]], live: Mapping[str, Any] | None = None) -> str:
    """One page that loads no other file.

    Its content security policy allows only its own script and style, by hash. No other script can run, even
    if the name of an item contains one.

    ``views`` come from :meth:`dagsearch.report.view.RunView.view`, one per search. ``live`` configures a page
    that its server updates: seconds between updates, ``every``; whether there are buttons that ``steer``; and
    a ``version`` of the content. Without it the page is frozen.
    """
    content = content_json(views, live)
    parts = {
        "policy": policy(live is not None),
        "fallback": "".join(f"<h1>{_text(view['name'])}</h1>{snippet(view)}" for view in views),
        "content": content.translate(_ESCAPES),
    }
    # In one pass, so that a name that looks like a placeholder is not replaced.
    return re.sub(r"\{\{([a-z]+)\}\}", lambda found: parts[found[1]], _template())


def content_json(views: Sequence[Mapping[str, Any]], live: Mapping[str, Any] | None = None) -> str:
    """The input of the page's script: JSON in ASCII, so that line separators and surrogates are escaped."""
    return json.dumps({"runs": list(views), "live": live}, ensure_ascii=True, allow_nan=False)


@cache
def policy(live: bool) -> str:
    """The content security policy of the page; only a live page may ask its server for updates."""
    allowed = ["connect-src 'self'"] if live else []
    for tag in ("script", "style"):
        text = _template().partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        allowed.insert(0, f"{tag}-src 'sha256-{digest}'")
    return "; ".join(["default-src 'none'", *allowed, "base-uri 'none'", "form-action 'none'"])


@cache
def _template() -> str:
    """The page with its style and its script, but without its content."""
    page, style, *scripts = (
        files("dagsearch.report").joinpath(name).read_text(encoding="utf-8")
        for name in ("page.html", "style.css", *_SCRIPTS)
    )
    return page.replace("{{style}}", style).replace("{{script}}", "\n".join(scripts))


def snippet(view: Mapping[str, Any]) -> str:
    """The headline and some facts, without a script or colours."""
    facts = [(name, f"{value} ({remark})" if remark else value) for name, value, remark in view["tiles"]]
    if view["best_leaf"]:
        facts.append((view["words"]["best"].capitalize(), ", ".join(view["best_leaf"])))
    left = 'style="text-align: left"'
    rows = "".join(
        f'<tr><th scope="row" {left}>{_text(name)}</th><td {left}>{_text(value)}</td></tr>'
        for name, value in facts
    )
    sentence = f"<p><strong>{_text(view['sentence'])}</strong></p>"
    return f'<div style="max-width: 640px">{sentence}<table><tbody>{rows}</tbody></table></div>'


def _text(value: object) -> str:
    return html.escape(str(value)).encode(errors="replace").decode()
