"""The frozen page of a search: from its journal, or from its result."""

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from dagsearch.journal.journal import read_events
from dagsearch.record import Record
from dagsearch.report.html import html_page, snippet
from dagsearch.report.view import Viewed
from dagsearch.report.words import number
from dagsearch.results import Result


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
        records = [Record.of(read_events(journal)) for journal in journals]
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


def _facts(result: Result) -> list[list[str]]:
    """What a result says in a few words."""
    value, chance = result.value, result.probability_best
    path = "–" if result.best_path is None else ", ".join(map(str, result.best_path))
    return [
        ["best reward", number(result.best_reward)],
        ["best state", str(result.best_state)],
        ["path", path],
        ["best possible reward", f"{number(value.mean)} ± {number(value.variance**0.5)}"],
        ["probability that nothing is better", "unknown" if chance is None else f"{chance:.2f}"],
        ["evaluations", str(len(result.history))],
        ["stopped by", str(result.stopped)],
    ]


def short_names(paths: Sequence[Path]) -> list[str]:
    """File names; where two are equal, with their folders."""
    names = [path.name for path in paths]
    return [path.name if names.count(path.name) == 1 else str(path) for path in paths]
