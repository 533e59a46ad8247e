"""The format of a journal file: a head of fixed length, then one line per event; all lines are JSON.

The head says how far the file goes: the number of events that are safely stored, where the last of them
ends, and its digest. It is written after an event is on the disk. So a file that ends too early is noticed,
and whatever follows the stated end was being written when the process or the machine stopped.

Every event carries a digest of itself and of the digest before.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, NoReturn

from dagsearch.durable.events import Event, check_fields
from dagsearch.errors import JournalError

FORMAT = 2
"""Number of this format; 1 was an SQLite database, see :mod:`dagsearch.durable.sqlite`."""

_START = b'{"dagsearch": "journal", "format": '


class Head(NamedTuple):
    """The first line of a journal."""

    events: int
    """Number of events that are safely stored."""
    size: int
    """Length of the file up to the end of the last of them, in bytes."""
    digest: str
    """Digest of the last of them."""

    def encode(self) -> bytes:
        """The line."""
        text = (
            f'{_START.decode()}{FORMAT}, "events": {self.events:12d}, "bytes": {self.size:16d}, '
            f'"digest": "{self.digest:64s}", "check": "'
        )
        return f'{text}{hashlib.sha256(text.encode()).hexdigest()}"}}\n'.encode()


LENGTH = len(Head(0, 0, "").encode())
"""Length of the head in bytes."""


def is_journal(data: bytes) -> bool:
    """Whether a file that begins with ``data`` is a journal in this format, or was one before damage."""
    return data.startswith(_START[:20])


def is_unbegun(data: bytes) -> bool:
    """Whether nothing was recorded yet in a file that begins with ``data``: the head is written last."""
    return not data[:LENGTH].strip(b"\0")


def decode_head(path: Any, data: bytes) -> Head:
    """The head; raises :class:`dagsearch.JournalError` if it is not what was written."""
    try:
        found = json.loads(data.decode("ascii"))
        if found["format"] != FORMAT:
            raise JournalError(
                f"{path} has format {found['format']!r}, but this version of dagsearch reads format "
                f"{FORMAT}: install the version that wrote it"
            )
        head = Head(int(found["events"]), int(found["bytes"]), str(found["digest"]))
        if head.encode() == data:
            return head
    except (ValueError, TypeError, LookupError):
        pass
    raise JournalError(
        f"{path} is damaged, or not a journal: its first line is not what was written. The file was not "
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
