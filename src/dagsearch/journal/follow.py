"""Following a journal while a search writes to it: without a lock, and without reading anything twice."""

import os
from os import PathLike
from typing import NamedTuple

from dagsearch.errors import JournalError
from dagsearch.journal.events import Event
from dagsearch.journal.journal import check_is_file, read_events
from dagsearch.journal.lines import LENGTH, decode_more


class News(NamedTuple):
    """What a journal holds that was not known before."""

    events: list[Event]
    """The events, in order."""
    restarted: bool
    """Whether the file is another one than before, so that these are all of its events."""


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
            with self.path.open("rb", buffering=0) as file:
                found = os.fstat(file.fileno())
                identity = (found.st_dev, found.st_ino)
                if self._file not in (None, identity) or (self._number and found.st_size < self._offset):
                    return None
                file.seek(self._offset)
                data = file.readall()
        except OSError as error:
            raise JournalError(f"cannot read {self.path} ({error})") from error
        more = decode_more(self.path, self._number, self._digest, data)
        if more is None:
            return None
        restarted = self._file is None
        self._file = identity
        self._offset, self._number, self._digest = (
            self._offset + more.size,
            self._number + len(more.events),
            more.digest,
        )
        return News(more.events, restarted)
