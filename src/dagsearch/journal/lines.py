"""The format of a journal file: two heads of fixed length, then one line per event; all lines are JSON.

A head says how far the file goes: the number of events that are safely stored, where the last of them ends,
and its digest. It is written after an event is on the disk. So a file that ends too early is noticed, and
whatever follows the stated end was being written when the process or the machine stopped.

Heads are written in turns. If one was being written at that time, the other one is right, and at most one
event behind.

Every event carries a digest of itself and of the digest before.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from dagsearch.errors import JournalError
from dagsearch.journal.events import Event, check_fields

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
    """What a journal holds."""

    lines: list[bytes]
    """Every event as it is in the file, with its end of line."""
    events: list[Event]
    """The events."""
    digest: str
    """Digest of the last one."""

    @property
    def head(self) -> Head:
        """The head of a file that holds this and no more."""
        return Head(len(self.lines), LENGTH + sum(map(len, self.lines)), self.digest)

    def encode(self) -> bytes:
        """The file."""
        return 2 * self.head.encode() + b"".join(self.lines)


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
    lines, digest = [], ""
    for number, (kind, at, content) in enumerate(events):
        line, digest = encode_event(digest, number, kind, at, content)
        lines.append(line)
    return _begun(path, _extended(path, Content([], [], ""), lines))


def decode(path: Any, head: Head, data: bytes) -> Content:
    """The events of a file; ``data`` is what follows its head.

    Events behind the end that the head states are accepted. The last line may be incomplete there: it was
    being written when the process or the machine stopped, so nobody was told that it is safe.
    """
    stored, rest = data[: head.size - LENGTH], data[head.size - LENGTH :]
    if len(stored) < head.size - LENGTH:
        raise JournalError(
            f"{path} is damaged: {len(data) + LENGTH} of at least {head.size} bytes are left. The file was "
            "not changed; restore an earlier copy of it"
        )
    content = _extended(path, Content([], [], ""), _lines(stored))
    if (len(content.events), content.digest) != (head.events, head.digest):
        _refuse(path, len(content.events))
    lines = _lines(rest)
    last = lines.pop() if lines else b""
    content = _extended(path, content, lines)
    if _digest_of(last, content.digest) is not None:
        content = _extended(path, content, [last])
    return _begun(path, content)


class More(NamedTuple):
    """What a journal holds behind an event that is known."""

    events: list[Event]
    """The events, in order."""
    size: int
    """Length of their lines in bytes."""
    digest: str
    """Digest of the last event that is known now."""


def decode_more(path: Any, number: int, before: str, data: bytes) -> More | None:
    """The events that ``data`` begins with; ``None`` if these do not continue what is known.

    Parameters
    ----------
    path : path
        The file, for errors.
    number : int
        Number of events that are known.
    before : str
        Digest of the last of them; empty if there is none.
    data : bytes
        What follows them in the file. The last line may be incomplete, or about to be replaced.
    """
    events: list[Event] = []
    size = 0
    lines = _lines(data)
    for place, line in enumerate(lines):
        digest = _digest_of(line, before)
        if digest is None:
            return More(events, size, before) if place == len(lines) - 1 else None
        events.append(_decode_event(path, number + len(events), line))
        size, before = size + len(line), digest
    return More(events, size, before)


def _begun(path: Any, content: Content) -> Content:
    if not content.events or content.events[0].kind != "settings":
        raise JournalError(f"{path} has no settings: its search never began. Delete the file and start again")
    return content


def _lines(data: bytes) -> list[bytes]:
    *complete, last = data.split(b"\n")
    lines = [line + b"\n" for line in complete]
    return [*lines, last] if last else lines


def _extended(path: Any, content: Content, lines: Sequence[bytes]) -> Content:
    """The content with more lines, which must be what was written."""
    events, digest = list(content.events), content.digest
    for line in lines:
        found = _digest_of(line, digest)
        if found is None:
            _refuse(path, len(events))
        events.append(_decode_event(path, len(events), line))
        digest = found
    return Content([*content.lines, *lines], events, digest)


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
        return check_fields(path, event)
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
