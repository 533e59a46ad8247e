"""Journals that are followed for the page, and what it shows of them now."""

import threading
import time
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from dagsearch.errors import JournalError
from dagsearch.journal.follow import Follower
from dagsearch.journal.journal import is_in_use
from dagsearch.record import Record
from dagsearch.report.html import content_json, html_page
from dagsearch.report.report import short_names
from dagsearch.report.view import Viewed

# Least time between updates of the page, in seconds, and the share of a core that showing them may take.
_LEAST, _SHARE = 1.0, 0.02


class _Run:
    """A journal that is followed."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.follower, self.viewed = path, Follower(path), Viewed(name, Record())
        self.trouble: str | None = None

    def update(self) -> None:
        try:
            news = self.follower.read()
            if news.restarted:
                self.viewed = Viewed(self.viewed.name, Record())
            self.viewed.record.add(news.events)
            self.trouble = None
        except JournalError as error:  # it may be readable again later
            self.trouble = str(error)


class Watched:
    """The journals behind a page; every method may be called from several threads.

    Parameters
    ----------
    journals : sequence of path
        The journals; they must exist.
    steer : bool
        Whether the page has buttons that steer the searches.
    clock : callable
        The time in seconds since 1970.
    """

    def __init__(
        self,
        journals: Sequence[str | PathLike[str]],
        steer: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        paths = [Path(journal) for journal in journals]
        self._runs = [_Run(path, name) for path, name in zip(paths, short_names(paths), strict=True)]
        self._steer, self._clock, self._lock = steer, clock, threading.Lock()
        self._every = _LEAST

    @property
    def journals(self) -> list[Path]:
        """The journals."""
        return [run.path for run in self._runs]

    def page(self) -> str:
        """The page as it is now; its script asks for updates."""
        with self._lock:
            version = self._update()
            return html_page(self._views(), every=self._every, steer=self._steer, version=version)

    def content(self, seen: str) -> str | None:
        """What the page shows now, as JSON; ``None`` if that is what it has seen."""
        with self._lock:
            version = self._update()
            if version == seen:
                return None
            began = time.process_time()
            views = self._views()
            # A large search is shown less often, so that watching never takes much from the run. What is
            # new must be read once, however often that is.
            self._every = max(_LEAST, (time.process_time() - began) / _SHARE)
            return content_json(views, every=self._every, steer=self._steer, version=version)

    def _update(self) -> str:
        """Read what is new; returns what identifies the content."""
        for run in self._runs:
            run.update()
        waiting = any(run.viewed.record.pending for run in self._runs)
        parts = [f"{run.viewed.record.events}{'r' if is_in_use(run.path) else ''}" for run in self._runs]
        # Ages change as time goes by.
        return "-".join([*parts, str(int(self._clock() / 5.0)) if waiting else ""])

    def _views(self) -> list[dict[str, Any]]:
        now = self._clock()
        return [
            {**run.viewed.view(now, is_in_use(run.path)), "problem_text": run.trouble} for run in self._runs
        ]
