"""A durable record of a search: one file, to which every event is appended.

The file holds what happened (``docs/durability.md`` says what each event holds), as JSON; nothing in it is
executable. :mod:`dagsearch.journal.lines` describes the format.
"""

import json
import logging
import os
import stat
import time
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
    Content,
    Event,
    Head,
    content_of,
    decode,
    decode_more,
    encode_event,
    is_journal,
    is_unbegun,
    last_head,
)
from dagsearch.journal.regular import open_regular

__all__ = ["Event", "Journal", "JournalError", "backup_journal", "has_begun", "is_in_use", "read_events"]

logger = logging.getLogger(__name__)


class Journal:
    """A journal that is open for writing; it cannot be opened for writing a second time.

    :meth:`create` starts a new journal, :meth:`resume` continues an existing one.
    """

    def __init__(self, path: Path, file: LockedFile, content: Content) -> None:
        self.path = path
        self._file = file
        self._head = content.head
        self._head_is_missing = False
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
            content = content_of(path, [("settings", time.time(), _as_json(settings))])
            _fill(file, content)
        except (OSError, TypeError, ValueError, JournalError) as error:
            file.close()
            raise JournalError(f"cannot begin the journal {path} ({error})") from error
        return cls(path, file, content)

    @classmethod
    def resume(cls, path: str | PathLike[str]) -> tuple["Journal", list[Event]]:
        """A journal that exists, and all its events."""
        path = check_is_file(path)
        file = LockedFile(Path(os.path.realpath(path)))
        try:
            content = _read(path)
            journal = cls(path, file, content)
            journal._head_is_missing = file.read(content.head.position, SLOT) != content.head.encode()
        except BaseException:
            file.close()
            raise
        return journal, content.events

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
        if self._file.size > self._head.size:
            self._file.check_unchanged()
            self._file.truncate(self._head.size)  # an event that was never completed
        if self._head_is_missing:
            # The machine stopped before it was on the disk. The next head takes the place of the one before,
            # which would be the only one.
            self._file.write(self._head.position, self._head.encode())
            self._head_is_missing = False
        line, digest = encode_event(self._head.digest, self._head.events, kind, time.time(), content)
        head = Head(self._head.events + 1, self._head.size + len(line), digest)
        self._file.append(line)
        # The head is on the disk with the next event; if the machine stops before, a reader sees that the
        # file goes on behind its stated end.
        try:
            self._file.write(head.position, head.encode())
        except OSError:
            with suppress(OSError):
                self._remove_last_event(head)
            raise
        self._head = head

    def _remove_last_event(self, head: Head) -> None:
        """Let an event count as not written, because its head could not be written, or not without an error.

        If the head is in the file, it must go first: a head that counts a missing event looks like damage.
        """
        if self._file.read(head.position, SLOT) == head.encode():
            self._file.write(head.position, self._head.encode())
            self._file.sync()
        self._file.truncate(self._head.size)

    def abandon(self, error: BaseException) -> None:
        """Accept no further event, because the search and the file may differ after ``error``."""
        if self._failure is None:
            self._failure = (
                f"the search was stopped halfway ({type(error).__name__}: {error}) and may differ from its "
                f"journal {self.path}. The journal is correct: its {self._head.events} events are safe. "
                "Resume from the file"
            )

    def _fail(self, kind: str, content: dict[str, Any], error: Exception) -> NoReturn:
        lost = f"the next event ({kind}) was not written"
        if kind == "tell":
            reward = f"the reward {content['reward']!r} of {content['leaf']}"
            lost = f"{reward} was not written: tell it after resuming"
        self._failure = (
            f"cannot write to the journal {self.path} ({error}). {self._head.events} events were written to "
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
                self._file.sync()  # the head
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


def _fill(file: LockedFile, content: Content) -> None:
    """Write a whole journal, from its end to its beginning: if this is interrupted, it has not begun."""
    whole = content.encode()
    file.truncate(0)
    for start, end in ((LENGTH, len(whole)), (SLOT, LENGTH), (0, SLOT)):
        file.write(start, whole[start:end])
        file.sync()
    sync_folder(file.path)


# Reading --------------------------------------------------------------------------------------------


def read_events(path: str | PathLike[str]) -> list[Event]:
    """All events of a journal, even while a search writes to it. The file is neither locked nor changed."""
    return _read(check_is_file(path)).events


def _read(path: Path) -> Content:
    try:
        with open(open_regular(path), "rb", buffering=0) as file:
            first = file.read(LENGTH)
            # Read after the head, so that all that the head counts is there.
            rest = file.readall()
    except OSError as error:
        raise JournalError(f"cannot read {path} ({error})") from error
    if is_unbegun(first + rest):
        raise JournalError(
            f"{path} is empty: it is damaged, or not a journal yet. Restore an earlier copy of it, "
            "or delete it and start again"
        )
    if not is_journal(first):
        raise JournalError(f"{path} is damaged, or not a journal of dagsearch: check the path")
    return decode(path, last_head(path, first), rest)


def check_is_journal(path: str | PathLike[str]) -> None:
    """Raise :class:`JournalError` unless a file begins as a journal does; the rest of it is not read."""
    path = check_is_file(path)
    try:
        with open(open_regular(path), "rb") as file:
            first = file.read(LENGTH)
    except OSError as error:
        raise JournalError(f"cannot read {path} ({error})") from error
    if not is_journal(first):
        raise JournalError(f"{path} is damaged, or not a journal of dagsearch: check the path")
    last_head(path, first)


def has_begun(path: str | PathLike[str]) -> bool:
    """Whether the file must not be overwritten: it exists, and is more than the beginning of a journal."""
    path = _checked_path(path)
    try:
        if not stat.S_ISREG(path.stat().st_mode):  # opening it might wait forever
            return True
        with path.open("rb") as file:
            first = file.read(1)
            return first not in (b"", b"\0") or not is_unbegun(first + file.read())
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
    content, copy = _read(check_is_file(journal)), _checked_path(copy)
    file = LockedFile(copy, os.O_CREAT | os.O_EXCL)
    try:
        _fill(file, content)
    except OSError as error:
        copy.unlink(missing_ok=True)
        raise JournalError(f"cannot write the copy {copy} ({error})") from error
    finally:
        file.close()
    return len(content.events)


# Following ----------------------------------------------------------------------------------------


class News(NamedTuple):
    """What a journal holds that was not known before."""

    events: list[Event]
    """The events, in order."""
    restarted: bool
    """Whether the file is another one than before, so that these are all of its events."""


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
        self._offset, self._number, self._digest = LENGTH, 0, ""
        self._ending = b""  # the last bytes that were read: they hold the digest of the last event

    def read(self) -> News:
        """The events since the last call; all of them at the first call.

        Raises
        ------
        JournalError
            If the file is missing, damaged or not a journal.
        """
        news = self._read_on()
        if news is None:  # the file was shortened or replaced
            self._forget()
            news = self._read_on()
        if news is None or (not news.events and self._number == 0):
            # Says what is wrong with the file; if nothing is, it has begun just now.
            return News(read_events(self.path)[:0], True)
        return news

    def _read_on(self) -> News | None:
        """The events behind the last known one; ``None`` if that one is no longer there."""
        try:
            with open(open_regular(self.path), "rb", buffering=0) as file:
                found = os.fstat(file.fileno())
                identity = (found.st_dev, found.st_ino)
                if self._file not in (None, identity) or (self._number and found.st_size < self._offset):
                    return None
                # A new file may have got the number and even the length of the one before.
                file.seek(self._offset - len(self._ending))
                if file.read(len(self._ending)) != self._ending:
                    return None
                data = file.readall()
        except OSError as error:
            raise JournalError(f"cannot read {self.path} ({error})") from error
        more = decode_more(self.path, self._number, self._digest, data)
        if not more.ends_well:
            return None
        restarted = self._file is None
        self._file, self._offset = identity, self._offset + len(more.data)
        self._number, self._digest = self._number + len(more.events), more.digest
        self._ending = (self._ending + more.data)[-_ENDING:]
        return News(more.events, restarted)
