"""States as JSON and back, without anything executable; and what a leaf consists of, to be shown as text.

JSON has neither tuples nor sets, of which states are made: both become objects with one tagged entry. A
reader of a run does not have the problem: how leaves are to be read is written with the settings.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.order import in_order
from dagsearch._internal.plain import from_json, to_json
from dagsearch.errors import ProblemError
from dagsearch.problem import Action, Problem, State, Step, has_costly_steps
from dagsearch.problems.choices import NamedChoices
from dagsearch.problems.functions import FunctionProblem
from dagsearch.problems.sequences import TupleProblem
from dagsearch.problems.subsets import Subsets
from dagsearch.space import Space

# Python neither writes nor reads whole numbers of many thousand digits, other readers none beyond floats.
_LARGEST_BITS = 1024
# Largest number of labels that are stored, of characters of a label or part, and of parts in one text.
_MOST_LABELS, _LONGEST, _MOST_PARTS = 2000, 80, 60


def note_to_json(value: Any) -> Any:
    """A note in types that JSON has; never fails, because a reward may come with the note.

    NumPy's numbers and arrays become numbers and lists, tuples and sets become lists, and keys become text.
    Whole numbers of more than 1,024 bits become hexadecimal text. Everything else, such as numbers that are
    not finite, becomes its ``repr``.
    """
    try:
        return _plain(value)
    except Exception as error:
        return f"a note of type {type(value).__name__} that cannot be written ({type(error).__name__})"


def _plain(value: Any) -> Any:
    if isinstance(value, (np.generic, np.ndarray)):
        value = value.tolist()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return int(value) if value.bit_length() <= _LARGEST_BITS else hex(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(part) for part in in_order(value)]
    return repr(value)


class StateCodec:
    """The problem's ``encode`` and ``decode``, or :func:`to_json` and :func:`from_json`.

    The constructor raises :class:`dagsearch.errors.ProblemError` if encoding and decoding changes the root or
    a leaf; where steps are costly, only the root is tried.
    """

    def __init__(self, problem: Problem | Space) -> None:
        space = Space.of(problem)
        self._encode: Callable[[State], Any] = space.encode or to_json
        self.decode: Callable[[Any], State] = space.decode or from_json
        key = space.key
        for state in known_states(space):
            if key(self.decode(self.encode(state))) != key(state):
                raise ProblemError(
                    f"decode(encode(state)) is a state other than {state!r}: correct one of the two methods"
                )

    def encode(self, state: State) -> Any:
        """The state as JSON."""
        try:
            encoded = self._encode(state)
            json.dumps(encoded, allow_nan=False)
            return encoded
        except (TypeError, ValueError) as error:
            raise ProblemError(
                f"the state {state!r} cannot be stored ({error}): use numbers, text, None or "
                "tuples, or give the problem encode(state), which returns JSON's types, and decode(encoded)"
            ) from error


def known_states(space: Space) -> list[State]:
    """States that are known before any evaluation."""
    root: Any = space.problem.root()
    if has_costly_steps(space.problem):
        return [root.state if isinstance(root, Step) else root]
    return [root] if space.by_run is not None else [root, space.random_leaves[0]]


# What a leaf consists of --------------------------------------------------------------------------


def moves_to(leaf: Any, actions: Sequence[Action]) -> list[str] | None:
    """The actions to an encoded leaf that does not show them itself, as text; ``None`` if it does."""
    return None if isinstance(leaf, (list, dict)) else [str(action)[:_LONGEST] for action in actions]


def leaf_form(problem: Problem) -> dict[str, Any]:
    """How encoded leaves of a problem are to be read.

    Returns
    -------
    dict
        ``"form"``: ``"set"`` of items, ``"sequence"``, ``"choices"`` as pairs of name and value, or ``None``
        if it is unknown. ``"labels"``: text for each number in a leaf, or ``None``. ``"minimize"``: whether
        rewards are the negative numbers of a function that is minimised. ``"game"``: whether there are two
        players. ``"steps"``: whether steps are costly, so that an evaluation is a step.
    """
    labels = None
    if isinstance(problem, NamedChoices):
        form: str | None = "choices"
    elif isinstance(problem, TupleProblem):
        form, labels = "sequence", [str(letter)[:_LONGEST] for letter in problem.labels[:_MOST_LABELS]]
    else:
        form = "set" if isinstance(problem, Subsets) else None
        names = problem.labels if isinstance(problem, Subsets) else None
        labels = None if names is None else [str(name)[:_LONGEST] for name in names[:_MOST_LABELS]]
    minimize = isinstance(problem, FunctionProblem) and problem.minimize
    game = Space(problem).has_players
    steps = has_costly_steps(problem)
    return {"form": form, "labels": labels, "minimize": minimize, "game": game, "steps": steps}


class Part(NamedTuple):
    """An item of a set, the item at a position, or the value of a named choice."""

    place: str
    """The name of the choice, or the position from 1; empty in a set."""
    value: str
    """The item or value."""

    def __str__(self) -> str:
        return f"{self.place}: {self.value}" if self.place else self.value


def parts_of(leaf: Any, form: str | None = None, labels: Sequence[str] | None = None) -> list[Part]:
    """The parts of a leaf as it is stored.

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
            return [Part(_shown(name), _shown(value)) for name, value in leaf.items()]
        leaf, form = tagged[1], "set" if tagged[0] == "set" else form or "sequence"
    if not isinstance(leaf, list):
        return [Part("", _shown(leaf, labels))]
    if form is None:
        form = "choices" if leaf and all(map(_is_pair, leaf)) else "sequence"
    if form == "choices" and all(map(_is_pair, leaf)):
        return [Part(_shown(part[0]), _shown(part[1])) for part in leaf]
    if form == "set":
        return [Part("", _shown(item, labels)) for item in leaf]
    return [Part(str(place), _shown(item, labels)) for place, item in enumerate(leaf, start=1)]


def moved_parts(moves: Sequence[Any]) -> list[Part]:
    """The parts of a leaf that is shown by the moves to it."""
    return [Part(str(place), str(move)) for place, move in enumerate(moves, start=1)]


def leaf_text(parts: Sequence[Part]) -> str:
    """A leaf on one line."""
    return _on_one_line(list(map(str, parts)))


def written(parts: Sequence[Part]) -> str:
    """A leaf on one line as its problem is written: ``width=7, shape=round``, or items in their order."""
    if [part.place for part in parts] == [str(place) for place in range(1, len(parts) + 1)]:
        return _on_one_line([part.value for part in parts])
    return _on_one_line([f"{part.place}={part.value}" if part.place else part.value for part in parts])


def _on_one_line(texts: Sequence[str]) -> str:
    shown = ", ".join(texts[:_MOST_PARTS]) or "nothing"
    return shown if len(texts) <= _MOST_PARTS else f"{shown} and {len(texts) - _MOST_PARTS} more"


def _is_pair(part: Any) -> bool:
    """Whether a part is a name with its value, and perhaps the options."""
    return isinstance(part, list) and len(part) in (2, 3) and isinstance(part[0], str)


def _shown(value: Any, labels: Sequence[str] | None = None) -> str:
    if labels is not None and type(value) is int and 0 <= value < len(labels):
        value = labels[value]
    if type(value) is int:
        return str(value)
    if isinstance(value, Mapping) and len(value) == 1:
        ((tag, inner),) = value.items()
        if tag in ("tuple", "set") and isinstance(inner, list):
            value = "(" + ", ".join(_shown(part, labels) for part in inner) + ")"
    if value is None or isinstance(value, bool):
        return str(value)
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    # What could not be decoded contains surrogates, which cannot be written to a file.
    text = text.encode(errors="replace").decode()
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
