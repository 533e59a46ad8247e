"""A durable record of a search: one file, to which every event is appended.

The file holds what happened (``docs/durability.md`` says what each event holds), as JSON; nothing in it is
executable. :mod:`dagsearch.journal.lines` describes the format.
"""

import json
import logging
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from dagsearch._internal.texts import shown
from dagsearch.errors import JournalError
from dagsearch.journal.file import LockedFile, sync_folder
from dagsearch.journal.file import is_in_use as file_in_use
from dagsearch.journal.lines import (
    LENGTH,
    SLOT,
    UNBEGUN,
    Chain,
    Event,
    Head,
    decode,
    encode_event,
    is_unbegun,
    last_head,
)
from dagsearch.journal.regular import open_regular

__all__ = [
    "Event",
    "Journal",
    "JournalError",
    "backup_journal",
    "has_begun",
    "is_in_use",
    "iter_events",
    "read_events",
]

logger = logging.getLogger(__name__)


# Number of bytes that are read at once.
_CHUNK = 1 << 18
# Kinds of events that a resumed search repeats by itself, as nothing has happened in between: it asks for the
# same leaf and learns the same hyperparameters. They do not wait for the disk, so a power cut may lose them.
_REPEATABLE = ("ask", "learn")


class Journal:
    """A journal that is open for writing; it cannot be opened for writing a second time.

    :meth:`create` starts a new journal, :meth:`resume` continues an existing one.

    Parameters
    ----------
    path : Path
        The journal.
    file : LockedFile
        The same, open.
    end : Head
        Up to where the events of the file go.
    head : Head
        The last head in the file.
    free : int
        Position of the other head, which the next one replaces.
    """

    def __init__(self, path: Path, file: LockedFile, end: Head, head: Head, free: int) -> None:
        self.path = path
        self._file = file
        self._end, self._head, self._free = end, head, free
        self._failure: str | None = None

    @classmethod
    def create(cls, path: str | PathLike[str], settings: dict[str, Any]) -> "Journal":
        """A new journal whose first event is ``settings``."""
        path = _checked_path(path)
        if has_begun(path):
            raise JournalError(f"{path} exists already: resume it, or choose another file name")
        if not path.parent.is_dir():
            raise JournalError(f"the folder {path.parent} does not exist; make it first")
        if path.exists():
            logger.warning("%s is empty: a new search begins there", path)
        file = LockedFile(path, os.O_CREAT)
        try:
            if has_begun(path):  # by another process, just before this one locked the file
                raise JournalError(f"{path} exists already: resume it, or choose another file name")
            line, digest = encode_event("", 0, "settings", time.time(), _as_json(settings))
            head = Head(1, LENGTH + len(line), digest)
            _fill(file, head, [line])
        except (OSError, TypeError, ValueError, JournalError) as error:
            file.close()
            raise JournalError(f"cannot begin the journal {path} ({error})") from error
        return cls(path, file, head, head, SLOT)

    @classmethod
    def resume(cls, path: str | PathLike[str]) -> tuple["Journal", list[Event]]:
        """A journal that exists, and all its events."""
        path = check_is_file(path)
        file = LockedFile(Path(os.path.realpath(path)))
        try:
            head, position = last_head(path, file.read(0, LENGTH))
            chain = Chain(path)
            events = list(_events(chain))
            if chain.end != head:
                # The process that wrote these events may have been killed before they were on the disk.
                file.sync()
        except OSError as error:
            file.close()
            raise JournalError(f"cannot read {path} ({error})") from error
        except BaseException:
            file.close()
            raise
        return cls(path, file, chain.end, head, SLOT - position), events

    def append(self, kind: str, content: dict[str, Any]) -> None:
        """Store an event safely. If that fails, this journal accepts no further event."""
        if self._failure is not None:
            raise JournalError(self._failure)
        try:
            self._store(kind, _as_json(content))
        except (OSError, TypeError, ValueError) as error:
            self._fail(kind, content, error)
        except BaseException as error:
            self.abandon(error)
            raise

    def _store(self, kind: str, content: str) -> None:
        before = self._end
        if self._file.size > before.size:
            self._file.check_unchanged()
            self._file.truncate(before.size)  # events that were never completed
        line, digest = encode_event(before.digest, before.events, kind, time.time(), content)
        end = Head(before.events + 1, before.size + len(line), digest)
        self._file.append(line, wait=kind not in _REPEATABLE)
        if kind not in _REPEATABLE:
            try:
                self._write_head(end)
            except OSError:
                with suppress(OSError):
                    self._remove_last_event(end)
                raise
        self._end = end

    def _write_head(self, head: Head) -> None:
        """State that all events up to now are on the disk, as they must be.

        The head itself is on the disk with the next event. If the machine stops before, the other head is
        there, and a reader sees that the file goes on behind its stated end.
        """
        self._file.write(self._free, head.encode())
        self._head, self._free = head, SLOT - self._free

    def _remove_last_event(self, head: Head) -> None:
        """Let an event count as not written, because its head could not be written, or not without an error.

        If the head is in the file, it must go first: a head that counts a missing event looks like damage.
        """
        if self._file.read(self._free, SLOT) == head.encode():
            self._file.write(self._free, self._head.encode())
            self._file.sync()
        self._file.truncate(self._end.size)

    def abandon(self, error: BaseException) -> None:
        """Accept no further event, because the search and the file may differ after ``error``."""
        if self._failure is None:
            self._failure = (
                f"the search was stopped halfway ({type(error).__name__}: {error}) and may differ from its "
                f"journal {self.path}. The journal is correct: its {self._end.events} events are safe. "
                "Resume from the file"
            )

    def _fail(self, kind: str, content: dict[str, Any], error: Exception) -> NoReturn:
        lost = f"the next event ({kind}) was not written"
        if kind == "tell":
            reward = f"the reward {content['reward']!r} of {content['leaf']}"
            lost = f"{reward} was not written: tell it after resuming"
        self._failure = (
            f"cannot write to the journal {self.path} ({error}). {self._end.events} events were written to "
            f"the file before; {lost}. Make the disk writable again, then resume the search from the file"
        )
        raise JournalError(self._failure) from error

    @property
    def broken(self) -> bool:
        """Whether an event could not be written."""
        return self._failure is not None

    def close(self) -> None:
        """Release the file, so that another search can resume it."""
        try:
            with suppress(OSError):
                if self._failure is None and self._end != self._head:
                    self._file.check_unchanged()
                    self._file.sync()
                    self._write_head(self._end)
                self._file.sync()
        finally:
            self._file.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError("a search that keeps a journal cannot be copied or pickled: resume it from its file")


def _as_json(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":"), allow_nan=False)


def _checked_path(path: str | PathLike[str]) -> Path:
    if not isinstance(path, str | PathLike):
        raise JournalError(f"journal must be the path of a file, got {shown(path)}")
    if os.fspath(path) in ("", ":memory:"):
        raise JournalError(f"journal={path!r} names no file: give a file name, or leave the journal out")
    return Path(path)


def check_is_file(path: str | PathLike[str]) -> Path:
    """The path of a journal; raises :class:`JournalError` if there is no such file."""
    path = _checked_path(path)
    try:
        if path.is_file():
            return path
        what = "it is not a file" if path.exists() else "it does not exist"
    except OSError as error:  # a folder that may not be read
        what = str(error)
    raise JournalError(f"there is no journal {path} ({what}): check the path")


def _fill(file: LockedFile, head: Head, chunks: Iterable[bytes]) -> None:
    """Write a whole journal; it has begun as soon as its first head is there, and not before."""
    file.truncate(0)
    file.write(0, UNBEGUN)
    file.sync()
    file.write(SLOT, head.encode())
    for chunk in chunks:
        file.write(file.size, chunk)
    if file.size != head.size:
        raise OSError("the journal was changed by another program")
    file.sync()
    file.write(0, head.encode())
    file.sync()
    sync_folder(file.path)


# Reading --------------------------------------------------------------------------------------------


def read_events(path: str | PathLike[str]) -> list[Event]:
    """All events of a journal, even while a search writes to it. The file is neither locked nor changed."""
    return list(iter_events(path))


def iter_events(path: str | PathLike[str]) -> Iterator[Event]:
    """The same, one event after the other, so that a long journal need not be in memory.

    If the file is damaged, :class:`JournalError` is raised as soon as that is clear: perhaps after the last
    event.
    """
    return _events(Chain(check_is_file(path)))


def _events(chain: Chain) -> Iterator[Event]:
    try:
        with open(open_regular(chain.path), "rb") as file:
            yield from decode(chain, file)
    except OSError as error:
        raise JournalError(f"cannot read {chain.path} ({error})") from error


def check_is_journal(path: str | PathLike[str]) -> None:
    """Raise :class:`JournalError` unless a file begins as a journal does; the rest of it is not read."""
    path = check_is_file(path)
    try:
        with open(open_regular(path), "rb") as file:
            first = file.read(LENGTH)
    except OSError as error:
        raise JournalError(f"cannot read {path} ({error})") from error
    last_head(path, first)


def has_begun(path: str | PathLike[str]) -> bool:
    """Whether the file must not be overwritten: it exists, and is not the beginning of a new journal."""
    path = _checked_path(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening it might wait forever
            return True
        with path.open("rb") as file:
            return not is_unbegun(file.read(SLOT))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def is_in_use(path: str | PathLike[str]) -> bool:
    """Whether a search has the journal open for writing; the search is not disturbed."""
    return file_in_use(_checked_path(path))


def backup_journal(journal: str | PathLike[str], copy: str | PathLike[str]) -> int:
    """Copy a journal to a new file, even while a search writes to it.

    The journal is checked first, and not locked or changed. The copy holds all events up to now, and can be
    resumed like the journal itself.

    Parameters
    ----------
    journal : path
        The journal.
    copy : path
        The new file, which must not exist yet.

    Returns
    -------
    int
        Number of events in the copy.
    """
    journal, copy = check_is_file(journal), _checked_path(copy)
    chain = Chain(journal)
    for _ in _events(chain):
        pass
    file = LockedFile(copy, os.O_CREAT | os.O_EXCL, stat.S_IMODE(journal.stat().st_mode))
    try:
        _fill(file, chain.end, _chunks(journal, LENGTH, chain.end.size))
    except OSError as error:
        copy.unlink(missing_ok=True)
        raise JournalError(f"cannot write the copy {copy} ({error})") from error
    finally:
        file.close()
    return chain.end.events


def _chunks(path: Path, begin: int, end: int) -> Iterator[bytes]:
    """The bytes of a part of a file."""
    with path.open("rb") as file:
        file.seek(begin)
        while begin < end and (chunk := file.read(min(_CHUNK, end - begin))):
            begin += len(chunk)
            yield chunk


# Following ----------------------------------------------------------------------------------------


class News(NamedTuple):
    """What a journal holds that was not known before."""

    events: list[Event]
    """The next events, in order; none if all are known."""
    restarted: bool
    """Whether the file is another one than before, so that these are the first of its events."""


# Number of bytes at the end of an event that tell it from those of any other journal.
_ENDING = 80


class Follower:
    """Reads the events that are appended to a journal.

    It takes no lock and writes nothing, so that the search is not disturbed. Every event is checked by its
    digest. A line that is being written is read next time.

    Parameters
    ----------
    path : path
        The journal.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = check_is_file(path)
        self._forget()

    def _forget(self) -> None:
        self._file: tuple[int, int] | None = None
        self._end = Head()
        self._rest: bytes | None = None
        self._ending = b""  # the last bytes that were read: they hold the digest of the last event

    def read(self) -> News:
        """The events since the last call, but no more than some: call it until there are none.

        Raises
        ------
        JournalError
            If the file is missing, damaged or not a journal.
        """
        news = self._read_on()
        if news is None:  # the file was shortened or replaced
            self._forget()
            news = self._read_on()
        if news is None or (not news.events and self._end.events == 0):
            for _ in iter_events(self.path):  # says what is wrong with the file
                break
            return News([], True)  # it has begun just now
        return news

    def _read_on(self) -> News | None:
        """The events behind the last known one; ``None`` if that one is no longer there."""
        try:
            with open(open_regular(self.path), "rb") as file:
                found = os.fstat(file.fileno())
                identity = (found.st_dev, found.st_ino)
                if self._file not in (None, identity) or (
                    self._end.events and found.st_size < self._end.size
                ):
                    return None
                # A new file may have got the number and even the length of the one before.
                file.seek(self._end.size - len(self._ending))
                if file.read(len(self._ending)) != self._ending:
                    return None
                lines = file.readlines(_CHUNK)
        except OSError as error:
            raise JournalError(f"cannot read {self.path} ({error})") from error
        chain = Chain(self.path, self._end)
        try:
            events = list(chain.events(lines))
        except JournalError:
            if self._file is None:
                raise
            return None
        restarted = self._file is None
        if not restarted and chain.rest not in (None, self._rest) and chain.rest.endswith(b"\n"):
            return None  # a whole line that does not continue what is known: the file was written anew
        taken = b"".join(lines)[: chain.end.size - self._end.size]
        self._ending = (self._ending + taken)[-_ENDING:]
        self._file, self._end, self._rest = identity, chain.end, chain.rest
        return News(events, restarted)
