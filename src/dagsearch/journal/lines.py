"""The format of a journal: two heads of fixed length, then one line per event; all lines are JSON.

A head says how far the file goes: the number of events that are safely stored, where the last of them ends,
and its digest. It is written after these events are on the disk. So a file that ends too early is noticed,
and whatever follows the stated end was being written when the process or the machine stopped.

Heads are written in turn. If one was being written at that time, the other one is right.

Every event carries a digest of itself and of the digest before.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from os import SEEK_END
from typing import Any, BinaryIO, NamedTuple, NoReturn

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
        "seed": int,
        "leaves": dict,
    },
    # With costly steps, "ask" also has an "edge", and what was "drawn" and "exhausted"; "tell" has an "edge"
    # and a "step", and its reward may be missing.
    "ask": {"leaf": _ANYTHING, "actions": list, "turn": list},
    "propose": {"actions": list},
    "tell": {
        "leaf": _ANYTHING,
        "actions": (list, _NOTHING),
        "pending": (int, _NOTHING),
        "reward": (*_NUMBER, _NOTHING),
        "noise": (*_NUMBER, _NOTHING),
        "seconds": (*_NUMBER, _NOTHING),
        "predicted": (list, _NOTHING),
        "expected": list,
    },
    "forget": {"pending": int, "again": bool},
    "untell": {"leaf": _ANYTHING, "again": bool},
    "settle": {},
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
    if isinstance(content["seed"], bool) or content["seed"] < 0:
        raise _not_an_event(path, event, "the seed")


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

_UNBEGUN_START = b'["dagsearch", '
UNBEGUN = (_UNBEGUN_START + b'"a journal that was never begun"]').ljust(SLOT - 1) + b"\n"
"""First line of a new file until everything else is on the disk; no part of it is the beginning of a head."""


class Head(NamedTuple):
    """How far a journal goes."""

    events: int = 0
    """Number of events that are safely stored."""
    size: int = LENGTH
    """Length of the file up to the end of the last of them, in bytes."""
    digest: str = ""
    """Digest of the last of them."""

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


def is_unbegun(first: bytes) -> bool:
    """Whether a file that begins with ``first`` may become a journal.

    It is empty, or left by a process that ended before its journal began. Anything else may be worth
    something: zeros, too, may be what a file system has left of a journal.
    """
    return not first or (first.startswith(_UNBEGUN_START) and UNBEGUN.startswith(first[:SLOT]))


def last_head(path: Any, first: bytes) -> tuple[Head, int]:
    """The later head of a file that begins with ``first``, and its position."""
    if is_unbegun(first):
        raise JournalError(
            f"{path} is {'not a journal yet' if first else 'empty'}: it is damaged, or never was begun. "
            "Start the search again, or restore an earlier copy of the file"
        )
    found = [(decode_head(first[at : at + SLOT]), at) for at in (0, SLOT)]
    heads = [(head, at) for head, at in found if head is not None]
    if heads:
        return max(heads)
    if not first.strip(b"\0"):
        raise JournalError(
            f"{path} begins with zeros: it is damaged, or not a journal of dagsearch. The file was not "
            "changed; restore an earlier copy of it, or choose another file name"
        )
    start = first[: len(_START) + 8].removeprefix(_START).partition(b",")[0]
    if start.isdigit() and int(start) != FORMAT:
        raise JournalError(
            f"{path} has format {int(start)}, but this version of dagsearch reads format {FORMAT}: install "
            "the version that wrote it"
        )
    if not first.startswith(_START):
        raise JournalError(
            f"{path} is not a journal of dagsearch, or its beginning is damaged. The file was not changed; "
            "give that of journal= or --journal ('dagsearch select' takes tables), or restore a copy of it"
        )
    raise JournalError(
        f"{path} is damaged, or not a journal of dagsearch: its first lines are not what was written. The "
        "file was not changed; check the path, or restore an earlier copy of it"
    )


_DIGEST = ',"digest":"'
# Length of the digest's part of a line.
_DIGEST_LENGTH = len(_DIGEST) + 64 + len('"}\n')
# How the line of an event begins.
_FIRST = b'{"number":'


def encode_event(before: str, number: int, kind: str, at: float, content: str) -> tuple[bytes, str]:
    """The line of an event whose content is JSON already, and its digest; ``before`` is the digest before."""
    text = f'{{"number":{number},"kind":{json.dumps(kind)},"at":{at!r},"content":{content}'
    digest = _chained(before, text.encode())
    return f'{text}{_DIGEST}{digest}"}}\n'.encode(), digest


def _chained(before: str, text: bytes) -> str:
    return hashlib.sha256(before.encode() + b"\n" + text).hexdigest()


class Chain:
    """Takes the lines of a journal in order, and checks that each is what was written after the one before.

    Parameters
    ----------
    path : path
        The file, for errors.
    end : Head
        What is known: up to where the lines were taken before.
    """

    def __init__(self, path: Any, end: Head | None = None) -> None:
        self.path = path
        self.end = end or Head()
        """Up to where the events go that were taken."""
        self.rest: bytes | None = None
        """The first line that is not what was written; ``None`` if there is none."""

    def events(self, lines: Iterable[bytes]) -> Iterator[Event]:
        """The events, up to the first line that does not continue what is known.

        What follows such a line must look like events that were being written when the machine stopped: parts
        of them may be on the disk, in any order, and zeros in place of the others.
        """
        for line in lines:
            digest = _digest_of(line, self.end.digest) if self.rest is None else None
            if digest is None:
                self.rest = line if self.rest is None else self.rest
                if not _FIRST.startswith(line[: len(_FIRST)].partition(b"\0")[0]):
                    _refuse(self.path, self.end.events)
                continue
            event = _decode_event(self.path, self.end.events, line)
            if event.number == 0 and event.kind != "settings":
                raise JournalError(f"{self.path} has no settings: delete the file and start the search again")
            self.end = Head(event.number + 1, self.end.size + len(line), digest)
            yield event


def decode(chain: Chain, file: BinaryIO) -> Iterator[Event]:
    """The events of a file that is open at its beginning, one after the other; ``chain`` is a new one.

    Events behind the end that the head states are accepted. They were being written when the process or the
    machine stopped; of the last ones, only a part may be there.

    Raises
    ------
    JournalError
        As soon as it is clear that the file is damaged: perhaps after the last event.
    """
    path = chain.path
    head, _ = last_head(path, file.read(LENGTH))
    # The length is read after the head, so that all that the head counts is there.
    size = file.seek(0, SEEK_END)
    file.seek(LENGTH)
    if size < head.size:
        raise JournalError(
            f"{path} is damaged: {size} of at least {head.size} bytes are left. The file was not changed; "
            "restore an earlier copy of it"
        )
    for event in chain.events(file):
        if chain.end.events == head.events and chain.end != head:
            _refuse(path, event.number)
        yield event
    if chain.end.events < max(1, head.events):
        _refuse(path, chain.end.events)


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
