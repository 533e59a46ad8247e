"""The format of a journal: two heads of fixed length, then one line per event; all lines are JSON.

A head says how far the file goes: the number of events that are safely stored, where the last of them ends,
and its digest. It is written after an event is on the disk. So a file that ends too early is noticed, and
whatever follows the stated end was being written when the process or the machine stopped.

Heads are written in turn. If one was being written at that time, the other one is right, and at most one
event behind.

Every event carries a digest of itself and of the digest before.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NoReturn

from dagsearch._internal.checks import is_finite
from dagsearch.errors import JournalError

# Events -------------------------------------------------------------------------------------------


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


def _checked(path: Any, event: Event) -> Event:
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
    return isinstance(value, _NUMBER) and not isinstance(value, bool) and is_finite(value)


def _not_an_event(path: Any, event: Event, what: str) -> JournalError:
    return JournalError(
        f"{path} was not written by dagsearch, or by another version: event {event.number} ({event.kind!r}) "
        f"lacks {what}, or it has another type. The file was not changed"
    )


# The file -----------------------------------------------------------------------------------------

FORMAT = 2
"""Number of this format."""

SLOT = 512
"""Length of a head in bytes: a disk writes this many at once."""
LENGTH = 2 * SLOT
"""Length of both heads in bytes."""
_START = b'{"dagsearch": "journal", "format": '


class Head(NamedTuple):
    """How far a journal goes."""

    events: int
    """Number of events that are safely stored."""
    size: int
    """Length of the file up to the end of the last of them, in bytes."""
    digest: str
    """Digest of the last of them."""

    @property
    def position(self) -> int:
        """Where the head is written."""
        return SLOT * (self.events % 2)

    def encode(self) -> bytes:
        """The line."""
        text = (
            f'{_START.decode()}{FORMAT}, "events": {self.events}, "bytes": {self.size}, '
            f'"digest": "{self.digest}", "check": "'
        )
        line = f'{text}{hashlib.sha256(text.encode()).hexdigest()}"}}'
        return line.ljust(SLOT - 1).encode() + b"\n"


def decode_head(data: bytes) -> Head | None:
    """The head that a line holds; ``None`` if it is not what was written."""
    try:
        found = json.loads(data)
        head = Head(found["events"], found["bytes"], found["digest"])
        return head if head.encode() == data else None
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def is_journal(data: bytes) -> bool:
    """Whether a file that begins with ``data`` is a journal in a format like this one, perhaps damaged."""
    return data.startswith(_START) or data[SLOT:].startswith(_START)


def is_unbegun(data: bytes) -> bool:
    """Whether a file with the content ``data`` was left by a process that ended before its journal began.

    The first head of a new journal is written last, when everything else is on the disk.
    """
    return (
        not data[:SLOT].strip(b"\0")
        and decode_head(data[SLOT:LENGTH]) is None
        and b"\n" not in data[LENGTH:-1]
    )


def last_head(path: Any, data: bytes) -> Head:
    """The later head of a file that begins with ``data``."""
    heads = [head for head in map(decode_head, (data[:SLOT], data[SLOT:LENGTH])) if head is not None]
    if heads:
        return max(heads)
    start = data[: len(_START) + 8].removeprefix(_START).partition(b",")[0]
    if start.isdigit() and int(start) != FORMAT:
        raise JournalError(
            f"{path} has format {int(start)}, but this version of dagsearch reads format {FORMAT}: install "
            "the version that wrote it"
        )
    raise JournalError(
        f"{path} is damaged, or not a journal: its first lines are not what was written. The file was not "
        "changed; restore an earlier copy of it"
    )


class Content(NamedTuple):
    """What a journal holds, or a part of it."""

    events: list[Event]
    """The events, in order."""
    data: bytes
    """Their lines, as in the file."""
    digest: str
    """Digest of the last event that is known."""
    rest: bytes = b""
    """What follows and is not an event: its first line is not what was written."""

    @property
    def head(self) -> Head:
        """The head of a file that holds this and no more."""
        return Head(len(self.events), LENGTH + len(self.data), self.digest)

    def encode(self) -> bytes:
        """The file."""
        return 2 * self.head.encode() + self.data

    @property
    def ends_well(self) -> bool:
        """Whether at most one line is left, which may be incomplete: it was being written."""
        return b"\n" not in self.rest[:-1]


_DIGEST = ',"digest":"'
# Length of the digest's part of a line.
_DIGEST_LENGTH = len(_DIGEST) + 64 + len('"}\n')


def encode_event(before: str, number: int, kind: str, at: float, content: str) -> tuple[bytes, str]:
    """The line of an event whose content is JSON already, and its digest; ``before`` is the digest before."""
    text = f'{{"number":{number},"kind":{json.dumps(kind)},"at":{at!r},"content":{content}'
    digest = _chained(before, text.encode())
    return f'{text}{_DIGEST}{digest}"}}\n'.encode(), digest


def _chained(before: str, text: bytes) -> str:
    return hashlib.sha256(before.encode() + b"\n" + text).hexdigest()


def content_of(path: Any, events: Iterable[tuple[str, float, str]]) -> Content:
    """The content that consists of events, each given by its kind, time and content as JSON."""
    lines, digest = list[bytes](), ""
    for number, (kind, at, content) in enumerate(events):
        line, digest = encode_event(digest, number, kind, at, content)
        lines.append(line)
    return _begun(path, decode_more(path, 0, "", b"".join(lines)))


def decode(path: Any, head: Head, data: bytes) -> Content:
    """The events of a file; ``data`` is what follows its head.

    Events behind the end that the head states are accepted. The last line may be incomplete there: it was
    being written when the process or the machine stopped, so nobody was told that it is safe.
    """
    size = head.size - LENGTH
    if len(data) < size:
        raise JournalError(
            f"{path} is damaged: {len(data) + LENGTH} of at least {head.size} bytes are left. The file was "
            "not changed; restore an earlier copy of it"
        )
    stored = decode_more(path, 0, "", data[:size])
    if stored.rest or (len(stored.events), stored.digest) != (head.events, head.digest):
        _refuse(path, len(stored.events))
    more = decode_more(path, head.events, head.digest, data[size:])
    events = [*stored.events, *more.events]
    if not more.ends_well:
        _refuse(path, len(events))
    return _begun(path, Content(events, stored.data + more.data, more.digest))


def decode_more(path: Any, number: int, before: str, data: bytes) -> Content:
    """The events that ``data`` begins with, up to the first line that does not continue what is known.

    Parameters
    ----------
    path : path
        The file, for errors.
    number : int
        Number of events that are known.
    before : str
        Digest of the last of them; empty if there is none.
    data : bytes
        What follows them in the file.
    """
    events: list[Event] = []
    size = 0
    for line in data.splitlines(keepends=True):
        digest = _digest_of(line, before)
        if digest is None:
            break
        events.append(_decode_event(path, number + len(events), line))
        size, before = size + len(line), digest
    return Content(events, data[:size], before, data[size:])


def _begun(path: Any, content: Content) -> Content:
    if not content.events or content.events[0].kind != "settings":
        raise JournalError(f"{path} has no settings: its search never began. Delete the file and start again")
    return content


def _digest_of(line: bytes, before: str) -> str | None:
    """The digest of a line; ``None`` if the line is not what was written after the digest ``before``."""
    digest = _chained(before, line[:-_DIGEST_LENGTH])
    return digest if line.endswith(f'{_DIGEST}{digest}"}}\n'.encode()) else None


def _decode_event(path: Any, number: int, line: bytes) -> Event:
    try:
        found = json.loads(line, parse_constant=_not_json)
        event = Event(found["number"], found["kind"], found["at"], found["content"])
        if event.number != number or isinstance(event.number, bool):
            _refuse(path, number)
        return _checked(path, event)
    except (ValueError, TypeError, LookupError, RecursionError) as error:
        raise JournalError(
            f"{path} was not written by dagsearch: event {number} is not an event ({error}). The file was "
            "not changed"
        ) from error


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def _refuse(path: Any, number: int) -> NoReturn:
    raise JournalError(
        f"{path} was changed or damaged: event {number} is not what was written. The file was not changed; "
        "restore an earlier copy of it"
    )
