"""Pages of searches: frozen, live while journals are followed, or a small part of one in a notebook."""

import importlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Self

from dagsearch.errors import StorageError
from dagsearch.journal.journal import Follower, is_in_use, iter_events
from dagsearch.storage.record import Record
from dagsearch.report.html import content_json, html_page, snippet
from dagsearch.report.progress import Progress
from dagsearch.report.view import Viewed
from dagsearch.report.words import number
from dagsearch.results import Evaluation, Result

# Least time between updates of the page, in seconds, and the share of a core that showing them may take.
_LEAST, _SHARE = 1.0, 0.02
# Share of the time that drawing in a notebook may take.
_DRAWING = 0.01


class Report:
    """What is known of one or several searches, as one page without a network; a notebook shows a part of it.

    Parameters
    ----------
    views : sequence of mapping
        One for each search, as :meth:`dagsearch.report.view.Viewed.view` returns them.
    """

    def __init__(self, views: Sequence[Mapping[str, Any]]) -> None:
        self._views = list(views)

    @classmethod
    def of_journals(cls, *journals: str | PathLike[str]) -> "Report":
        """The report of the searches that wrote some journals; they may still run."""
        names = short_names([Path(journal) for journal in journals])
        records = [Record.of(iter_events(journal)) for journal in journals]
        return cls([Viewed(name, record).view() for name, record in zip(names, records, strict=True)])

    @classmethod
    def of_result(cls, result: Result) -> "Report":
        """The report of a result."""
        from dagsearch import __version__

        record = Record.of_result(result)
        record.version = __version__
        return cls([{**Viewed("Result", record).view(), "rows": _facts(result)}])

    def to_dict(self) -> list[dict[str, Any]]:
        """What the page shows, one dictionary for each search."""
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


def report_of(result: Result) -> Report:
    """The report of a result."""
    return Report.of_result(result)


def _facts(result: Result) -> list[list[str]]:
    """What a result says in a few words."""
    value, certain = result.value, result.probability_best == 1.0
    possible = "unknown" if value is None else f"{number(value.mean)} ± {number(value.variance**0.5)}"
    path = "–" if result.best_path is None else ", ".join(map(str, result.best_path))
    return [
        ["best reward", number(result.best_reward)],
        ["best state", str(result.best_state)],
        ["path", path],
        ["best possible reward", possible],
        ["every leaf evaluated", "yes" if certain else "no"],
        ["evaluations", str(len(result.history))],
        ["stopped by", str(result.stopped)],
    ]


def short_names(paths: Sequence[Path]) -> list[str]:
    """File names; where two are equal, with their folders."""
    names = [path.name for path in paths]
    return [path.name if names.count(path.name) == 1 else str(path) for path in paths]


# Live ---------------------------------------------------------------------------------------------


class _Run:
    """A journal that is followed."""

    def __init__(self, path: Path, name: str) -> None:
        self.path, self.follower, self.viewed = path, Follower(path), Viewed(name, Record())
        self.trouble: str | None = None
        self.readings = 0
        """How often the journal was read from its beginning."""
        self._damage: str | None = None
        self._shown: dict[str, Any] | None = None

    def update(self) -> None:
        while True:
            try:
                news = self.follower.read()
            except StorageError as error:  # it may be readable again later
                self.trouble = str(error)
                return
            if news.restarted:
                self.viewed, self.readings = Viewed(self.viewed.name, Record()), self.readings + 1
                self._damage = None
            try:
                self.viewed.record.add(news.events)
            except StorageError as error:  # until the file is replaced
                self._damage = str(error)
            if not news.events:
                break
        self.trouble = self._damage

    def view(self, now: float) -> dict[str, Any]:
        """What the page shows; if the journal cannot be shown any more, what it showed last."""
        try:
            self._shown = self.viewed.view(now, is_in_use(self.path))
        except StorageError as error:
            self.trouble = self.trouble or str(error)
            self._shown = self._shown or Viewed(self.viewed.name, Record()).view(now)
        return {**self._shown, "problem_text": self.trouble}


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

    def steered(self, number: Any) -> Path:
        """The journal of a run that takes requests; raises ``ValueError`` or ``OSError`` if there is none."""
        if type(number) is not int or not 0 <= number < len(self._runs):
            raise ValueError(f"run must be the number of a run, from 0 to {len(self._runs) - 1}")
        with self._lock:
            self._update()
            run = self._runs[number]
        if not run.viewed.record.steerable:
            raise OSError(
                f"{run.viewed.name} takes no requests: run the search with steer=True, or --steer on the "
                "command line"
            )
        return run.path

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
        parts = [
            f"{run.readings}.{run.viewed.record.events}{'r' if is_in_use(run.path) else ''}"
            f"{'' if run.trouble is None else 't'}"
            for run in self._runs
        ]
        # Ages change as time goes by.
        return "-".join([*parts, str(int(self._clock() / 5.0)) if waiting else ""])

    def _views(self) -> list[dict[str, Any]]:
        now = self._clock()
        return [run.view(now) for run in self._runs]


# In a notebook ------------------------------------------------------------------------------------


def shown_progress(
    shown: bool | Literal["notebook"],
    history: Sequence[Evaluation],
    budget: int,
    sign: int,
    steps: bool = False,
) -> "Progress | NotebookProgress":
    """What shows the progress of a search whose evaluations are appended to ``history``."""
    if shown == "notebook":
        return NotebookProgress(history, budget, sign, steps)
    return Progress(budget, "evaluation", shown, len(history))


class NotebookProgress:
    """Progress of a search, drawn in the output of a notebook's cell.

    Parameters
    ----------
    history : list of Evaluation
        All evaluations so far; the search appends to it.
    budget : int
        Number of evaluations at the end of the run.
    sign : int
        −1 if rewards are the negative numbers of a function that is minimised.
    steps : bool
        Whether steps are costly, so that an evaluation is a step.
    """

    def __init__(self, history: Sequence[Evaluation], budget: int, sign: int, steps: bool = False) -> None:
        try:
            shown: Any = importlib.import_module("IPython.display")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "progress='notebook' needs IPython: pip install 'dagsearch[notebook]'"
            ) from error
        self._html, self._history, self._due = shown.HTML, history, 0.0
        self._record = Record()
        self._record.budget, self._record.minimized = budget, sign < 0
        self._record.steps = steps
        self._viewed = Viewed("search", self._record)
        self._handle = shown.display(self._html(snippet(self._viewed.view())), display_id=True)

    def update(self, best: float | None) -> None:
        """One more evaluation: draw it, unless drawing would take too large a share of the time."""
        began = time.monotonic()
        if began >= self._due:
            self._show()
            ended = time.monotonic()
            self._due = ended + max(0.5, (ended - began) / _DRAWING)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._show()

    def _show(self) -> None:
        """Draw what is known now."""
        self._record.add_evaluations(self._history[self._record.evaluations :])
        if self._handle is not None:
            self._handle.update(self._html(snippet(self._viewed.view(running=True))))
