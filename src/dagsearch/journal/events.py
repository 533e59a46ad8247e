"""The events of a journal, and what each must hold."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from dagsearch.errors import JournalError


class Event(NamedTuple):
    """An entry of a journal."""

    number: int
    """Number of the event, from 0 without gaps."""
    kind: str
    """Kind of the event, such as ``"tell"``."""
    at: float
    """Time of the event in seconds since 1970."""
    content: dict[str, Any]
    """Details of the event."""

    @property
    def note(self) -> Mapping[str, Any]:
        """The note if it is a mapping, as the notes of this package are; otherwise an empty one."""
        note = self.content.get("note")
        return note if isinstance(note, dict) else {}


_NUMBER, _NOTHING, _ANYTHING = (int, float), type(None), object
_FIELDS: dict[str, dict[str, type | tuple[type, ...]]] = {
    "settings": {
        "dagsearch": str,
        "versions": dict,
        "problem": dict,
        "made_by": str,
        "arguments": dict,
        "given": list,
        "parts": dict,
        "covariance": list,
        "generators": list,
        "leaves": dict,
    },
    "ask": {"leaf": _ANYTHING, "actions": list, "path": list, "turn": list},
    "propose": {"actions": list},
    "tell": {
        "leaf": _ANYTHING,
        "actions": (list, _NOTHING),
        "path": list,
        "pending": (int, _NOTHING),
        "reward": _NUMBER,
        "noise": (*_NUMBER, _NOTHING),
        "seconds": (*_NUMBER, _NOTHING),
        "predicted": (list, _NOTHING),
        "expected": list,
        "generators": list,
    },
    "forget": {"pending": int, "again": bool},
    "reroot": {"state": _ANYTHING},
    "settle": {"generators": list},
    "run": {"budget": int, "stop": dict, "by": str},
    "learn": {"values": list, "noise": (*_NUMBER, _NOTHING)},
    "note": {},
    "steer": {"request": str, "action": str, "value": _ANYTHING, "refused": (str, _NOTHING)},
}
"""Types of the fields that an event of a kind must have."""


def check_fields(path: Any, event: Event) -> Event:
    """The event; raises :class:`dagsearch.JournalError` if a field is missing or of the wrong type."""
    if not isinstance(event.content, dict) or event.kind not in _FIELDS or not _is_number(event.at):
        raise _not_an_event(path, event, f"the kind {event.kind!r}, its time or its content")
    for name, kind in _FIELDS[event.kind].items():
        value = event.content.get(name, _FIELDS)
        wrong = value is _FIELDS or not isinstance(value, kind)
        if wrong or (kind is _NUMBER and not _is_number(value)):
            raise _not_an_event(path, event, f"the field {name!r}")
    if event.kind == "settings":
        _check_settings(path, event)
    return event


def _check_settings(path: Any, event: Event) -> None:
    content = event.content
    if not isinstance(content["problem"].get("type"), str):
        raise _not_an_event(path, event, "the type of the problem")
    if not all(isinstance(name, str) for name in content["given"]):
        raise _not_an_event(path, event, "a name of an argument")
    if not content["generators"] or not all(isinstance(state, dict) for state in content["generators"]):
        raise _not_an_event(path, event, "a random generator")


def _is_number(value: Any) -> bool:
    return isinstance(value, _NUMBER) and not isinstance(value, bool) and math.isfinite(value)


def _not_an_event(path: Any, event: Event, what: str) -> JournalError:
    return JournalError(
        f"{path} was not written by dagsearch, or by another version: event {event.number} ({event.kind!r}) "
        f"lacks {what}, or it has another type. The file was not changed"
    )
