"""What a leaf consists of, so that a reader of the journal can show it without the problem."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dagsearch.problem import Action, Problem
from dagsearch.problems.choices import NamedChoices
from dagsearch.problems.functions import FunctionProblem
from dagsearch.problems.sequences import TupleProblem
from dagsearch.space import Space

# Largest number of labels that a journal holds, of characters of a label or part, and of parts in one text.
_MOST_LABELS, _LONGEST, _MOST_PARTS = 2000, 80, 60


# Writing ------------------------------------------------------------------------------------------


def moves_to(leaf: Any, actions: Sequence[Action]) -> list[str] | None:
    """The actions to an encoded leaf that says nothing of them itself, as text; ``None`` if it does."""
    return None if isinstance(leaf, (list, dict)) else [str(action)[:_LONGEST] for action in actions]


def leaf_form(problem: Problem) -> dict[str, Any]:
    """How encoded leaves of a problem are to be read.

    Returns
    -------
    dict
        ``"form"``: ``"set"`` of items, ``"sequence"``, ``"choices"`` as pairs of name and value, or ``None``
        if it is not known. ``"labels"``: text for each number in a leaf, or ``None``. ``"minimize"``: whether
        rewards are the negative numbers of a function that is minimised. ``"game"``: whether there are two
        players.
    """
    labels = None
    if isinstance(problem, NamedChoices):
        form: str | None = "choices"
    elif isinstance(problem, TupleProblem):
        form, labels = "sequence", [str(letter)[:_LONGEST] for letter in problem.labels[:_MOST_LABELS]]
    else:
        form = "set" if Space(problem).inclusion is not None else None
    minimize = isinstance(problem, FunctionProblem) and problem.minimize
    game = Space(problem).has_players
    return {"form": form, "labels": labels, "minimize": minimize, "game": game}


# Reading ------------------------------------------------------------------------------------------


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


def moved_parts(moves: Sequence[Any]) -> list[Part]:
    """The parts of a leaf that is shown by the moves to it."""
    return [Part(str(place), str(move)) for place, move in enumerate(moves, start=1)]


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
