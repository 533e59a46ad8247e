"""The elements of a leaf as text: items of a set, places of a sequence, or named choices."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dagsearch.results import Gaussian
from dagsearch.space.chosen import REST
from dagsearch.storage.record import Attempt, Observation, Record

# Largest numbers of characters of a element, and of elements in one text.
_LONGEST, _MOST = 80, 60


class Element(NamedTuple):
    """An item of a set, the item at a position, or the value of a named choice."""

    place: str
    """The name of the choice, or the position from 1; empty in a set."""
    value: str
    """The item or value."""

    def __str__(self) -> str:
        return f"{self.place}: {self.value}" if self.place else self.value


class Shown(NamedTuple):
    """An evaluated leaf as shown on the page."""

    elements: list[Element]
    """The elements of the leaf."""
    reward: float
    """Its reward; large is good."""
    seconds: float = 0.0
    """Time of the report, in seconds from the start of the search."""
    predicted: Gaussian | None = None
    """Belief over the reward just before."""


def elements_of(one: Observation | Attempt, record: Record) -> list[Element]:
    """The elements of a leaf of a record; empty if the run does not have them."""
    if one.moves:
        return [Element(str(place), str(move)) for place, move in enumerate(one.moves, start=1)]
    return [] if one.leaf is None else leaf_elements(one.leaf, record.form, record.labels)


def leaf_elements(leaf: Any, form: str | None = None, labels: Sequence[str] | None = None) -> list[Element]:
    """The elements of a stored leaf.

    ``form`` is ``"set"``, ``"sequence"`` or ``"choices"``; by default it is guessed from the leaf. ``labels``
    are texts for the numbers in a leaf.
    """
    if isinstance(leaf, Mapping):
        tag = next((tag for tag in ("set", "tuple") if list(leaf) == [tag]), None)
        if tag is None:
            return [Element(_text(name), _text(value)) for name, value in leaf.items()]
        leaf, form = leaf[tag], "set" if tag == "set" else form or "sequence"
    if not isinstance(leaf, list):
        return [Element("", _text(leaf, labels))]
    # Names with their values, and perhaps the options.
    pairs = all(isinstance(one, list) and len(one) in (2, 3) and isinstance(one[0], str) for one in leaf)
    if form in (None, "choices") and leaf and pairs:
        chosen = [pair for pair in leaf if pair[:2] != [REST, 0]]
        return [Element(_text(pair[0]), "random" if pair[0] == REST else _text(pair[1])) for pair in chosen]
    places = [""] * len(leaf) if form == "set" else map(str, range(1, len(leaf) + 1))
    return [Element(place, _text(item, labels)) for place, item in zip(places, leaf, strict=True)]


def leaf_texts(elements: Sequence[Element]) -> list[str]:
    """The elements in the problem's terms: ``width=7`` and ``shape=round``, or items in order."""
    in_order = [one.place for one in elements] == [str(place) for place in range(1, len(elements) + 1)]
    return [one.value if in_order or not one.place else f"{one.place}={one.value}" for one in elements]


def leaf_text(elements: Sequence[Element]) -> str:
    """A leaf on one line."""
    texts = leaf_texts(elements)
    more = f" and {len(texts) - _MOST} more" if len(texts) > _MOST else ""
    return (", ".join(texts[:_MOST]) or "nothing") + more


def text_of(one: Observation | Attempt, record: Record) -> str:
    """A leaf of a record on one line."""
    return leaf_text(elements_of(one, record)) if one.moves or one.leaf is not None else "unknown"


def worker_name(worker: str) -> str:
    """The name of a process: its machine and its number."""
    machine, _, process = worker.rpartition(" ")[0].rpartition(" ")
    return f"{machine}, process {process}" if machine else worker


def _text(value: Any, labels: Sequence[str] | None = None) -> str:
    if type(value) is int:
        value = labels[value] if labels is not None and 0 <= value < len(labels) else str(value)
    elif isinstance(value, Mapping) and list(value) in (["tuple"], ["set"]):
        (inner,) = value.values()
        value = f"({', '.join(_text(element, labels) for element in inner)})"
    elif value is None or isinstance(value, bool):
        value = str(value)
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    # Undecodable text contains surrogates, which cannot be written to a file.
    text = text.encode(errors="replace").decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
