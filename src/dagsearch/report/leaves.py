"""The parts of a leaf: what it consists of, as text, whatever the kind of problem."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

# Number of characters of a part that are shown, and of parts of a leaf that is written as one text.
_LONGEST, _MOST_PARTS = 80, 60


class Part(NamedTuple):
    """An item of a set, the item at a position, or the value of a named choice."""

    place: str
    """The name of the choice, or the position from 1; empty in a set."""
    value: str
    """The item or value."""

    def __str__(self) -> str:
        return f"{self.place}: {self.value}" if self.place else self.value


def parts_of(leaf: Any, form: str | None = None, labels: Sequence[str] | None = None) -> list[Part]:
    """The parts of a leaf as a journal holds it.

    Parameters
    ----------
    leaf : JSON types
        The leaf.
    form : str, optional
        ``"set"``, ``"sequence"`` or ``"choices"``; by default it is guessed from the leaf.
    labels : sequence of str, optional
        Text for each number in the leaf.
    """
    if isinstance(leaf, Mapping):
        tagged = next(((tag, leaf[tag]) for tag in ("set", "tuple") if list(leaf) == [tag]), None)
        if tagged is None:
            return [Part(_text(name), _text(value)) for name, value in leaf.items()]
        leaf, form = tagged[1], "set" if tagged[0] == "set" else form or "sequence"
    if not isinstance(leaf, list):
        return [Part("", _text(leaf, labels))]
    if form is None:
        form = "choices" if leaf and all(map(_is_pair, leaf)) else "sequence"
    if form == "choices" and all(map(_is_pair, leaf)):
        return [Part(_text(name), _text(value)) for name, value in leaf]
    if form == "set":
        return [Part("", _text(item, labels)) for item in leaf]
    return [Part(str(place), _text(item, labels)) for place, item in enumerate(leaf, start=1)]


def leaf_text(parts: Sequence[Part]) -> str:
    """A leaf on one line."""
    shown = ", ".join(map(str, parts[:_MOST_PARTS])) or "nothing"
    return shown if len(parts) <= _MOST_PARTS else f"{shown} and {len(parts) - _MOST_PARTS} more"


def _is_pair(part: Any) -> bool:
    return isinstance(part, list) and len(part) == 2 and isinstance(part[0], str)


def _text(value: Any, labels: Sequence[str] | None = None) -> str:
    if labels is not None and type(value) is int and 0 <= value < len(labels):
        value = labels[value]
    if type(value) is int:
        return str(value)
    if isinstance(value, Mapping) and len(value) == 1:
        ((tag, inner),) = value.items()
        if tag in ("tuple", "set") and isinstance(inner, list):
            value = "(" + ", ".join(_text(part, labels) for part in inner) + ")"
        elif tag == "option":
            value = f"option {_text(inner)}"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    # What could not be decoded contains surrogates, which cannot be written to a file.
    text = text.encode(errors="replace").decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
