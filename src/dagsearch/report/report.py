"""Pages of searches: frozen, or live while runs are followed."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import Any

from dagsearch.errors import StorageError
from dagsearch.report.html import content_json, html_page, snippet
from dagsearch.report.view import RunView
from dagsearch.results import Result
from dagsearch.storage.database import Database, Header, database_of
from dagsearch.storage.log import at_work
from dagsearch.storage.record import Record, send_request

# The default name of a run.
_UNNAMED = "run"
# Shortest time between updates of the page, in seconds, and the share of a core that they may take.
_LEAST, _SHARE = 1.0, 0.02


class Report:
    """A self-contained page about one or several searches; a notebook displays a summary.

    Parameters
    ----------
    views : sequence of mapping
        One per search, from :meth:`dagsearch.report.view.RunView.view`.
    """

    def __init__(self, views: Sequence[Mapping[str, Any]]) -> None:
        self._views = list(views)

    @classmethod
    def of_runs(cls, *storages: str | PathLike[str], name: str | None = None) -> "Report":
        """The report of the runs in some databases, or of the runs with a name; they may be running."""
        return cls(Watched(storages, name).views())

    @classmethod
    def of_result(cls, result: Result) -> "Report":
        """The report of a result."""
        from dagsearch import __version__

        record = Record.of_result(result)
        record.version = __version__
        steps = (step for step, one in enumerate(result.history, start=1) if one.leaf is result.best_state)
        if not (result.steps or result.game) and (step := next(steps, None)) is not None:
            record.recommend([step, (-1.0 if result.minimized else 1.0) * (result.best_reward or 0.0)])
        return cls([RunView("Result", record).view()])

    def to_dict(self) -> list[dict[str, Any]]:
        """The content of the page, one dictionary per search."""
        return [dict(view) for view in self._views]

    def to_html(self) -> str:
        """The page."""
        return html_page(self._views)

    def write(self, path: str | PathLike[str]) -> Path:
        """Write the page to a file; returns its path."""
        path = Path(path)
        path.write_text(self.to_html(), encoding="utf-8")
        return path

    def _repr_html_(self) -> str:
        return "".join(map(snippet, self._views))

    def __repr__(self) -> str:
        return f"Report({'; '.join(view['sentence'] for view in self._views)})"


class _Run:
    """A run on a live page."""

    def __init__(self, storage: str | PathLike[str], where: str, header: Header) -> None:
        self.storage, self.where, self.header = storage, where, header
        self.viewed, self.running = RunView(header.name, Record(header)), False
        self.trouble: str | None = None
        """Why it can no longer be read."""

    @property
    def version(self) -> str:
        """Identifies the state of the run."""
        return f"{self.header.created}.{self.viewed.record.events}.{self.running:d}.{self.trouble is None:d}"


class Watched:
    """The runs behind a page: all runs of the databases, including later ones, or the runs with one name.

    Each database must have a run. With ``steer`` the page has buttons that steer the runs. All methods are
    thread-safe.
    """

    def __init__(
        self,
        storages: Sequence[str | PathLike[str]],
        name: str | None = None,
        steer: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._storages, self._name, self._steer, self._clock = list(storages), name, steer, clock
        # Runs are never removed: the page identifies them by their place.
        self._runs: dict[tuple[int, str], _Run] = {}
        self._lock, self._every = threading.Lock(), _LEAST

    def request(self, run: int, action: str, value: Any = None) -> int:
        """Send a request to the processes of a run; returns its number.

        Raises
        ------
        ValueError
            If there is no such run, or if the request is malformed.
        StorageError
            If no process would read the request, or if it cannot be written.
        """
        with self._lock:
            self._update()
            runs = dict(enumerate(self._runs.values()))
        if run not in runs:
            raise ValueError(f"run must be the number of a run, from 0 to {len(runs) - 1}")
        asked = runs[run]
        if asked.trouble is not None or not asked.running:
            raise StorageError(asked.trouble or f"the search at {asked.where} is no longer running")
        with closing(database_of(asked.storage, write=True)) as database:
            return send_request(database, asked.header.name, action, value)

    def views(self) -> list[dict[str, Any]]:
        """The current content of the page; raises ``StorageError`` if a database cannot be read."""
        with self._lock:
            self._update()
            return self._views()

    def page(self) -> str:
        """The current page; its script asks for updates."""
        with self._lock:
            version = self._update()
            return html_page(self._views(), self._live(version))

    def content(self, seen: str) -> str | None:
        """The current content as JSON; ``None`` if the page is up to date."""
        with self._lock:
            version = self._update()
            if version == seen:
                return None
            began = time.process_time()
            views = self._views()
            # The page of a large search is updated less often, so that watching never takes much from the
            # run. New events must be read once in any case.
            self._every = max(_LEAST, (time.process_time() - began) / _SHARE)
            return content_json(views, self._live(version))

    def _live(self, version: str) -> dict[str, Any]:
        return {"every": self._every, "steer": self._steer, "version": version}

    def _update(self) -> str:
        """Read new events; returns the version of the content."""
        for place, storage in enumerate(self._storages):
            try:
                with closing(database_of(storage)) as database:
                    self._follow(place, database)
            except StorageError as error:
                known = [run for (at, _), run in self._runs.items() if at == place]
                if not known:
                    raise
                for run in known:
                    run.trouble = str(error)
        waiting = any(run.viewed.record.pending for run in self._runs.values())
        # Ages change with time.
        clock = str(int(self._clock() / 5.0)) if waiting else ""
        return "-".join([*(run.version for run in self._runs.values()), clock])

    def _follow(self, place: int, database: Database) -> None:
        """Read new events of a database; a run that was replaced by another is read from its beginning."""
        headers = [one for one in database.runs() if self._name in (None, one.name)]
        if not headers:
            named = "" if self._name is None else f" named {self._name!r}"
            raise StorageError(f"{database.where} has no run{named}")
        for header in headers:
            known = self._runs.get((place, header.name))
            if known is None or known.header != header:
                known = _Run(self._storages[place], database.where, header)
            known.running, known.trouble = bool(at_work(database, header.name)), None
            known.viewed.record.add(database.events(header.name, known.viewed.record.events))
            self._runs[place, header.name] = known

    def _views(self) -> list[dict[str, Any]]:
        now, runs = self._clock(), list(self._runs.values())
        several = len({run.where for run in runs}) > 1
        for run in runs:  # with the file's folders if databases differ
            file, name = run.where if several else Path(run.where).name, run.header.name
            run.viewed.name = file if name == _UNNAMED else f"{file}: {name}"
        return [{**run.viewed.view(now, run.running), "problem_text": run.trouble} for run in runs]
