"""What a search and its result offer but do not know: running, recording and reporting.

``dagsearch.__init__`` knows all rooms and connects them here when the package is imported, so that the centre
imports nothing that is built around it.
"""

from collections.abc import Callable
from typing import Any


class Wiring:
    """Functions of the outer rooms, by what the centre needs them for."""

    steps: Callable[..., Any]
    """Runs a search: :func:`dagsearch.run.runner.steps`."""
    join: Callable[..., Any]
    """Lets other processes join a run: :func:`dagsearch.journal.joining.joined_pool`."""
    record: Callable[..., Any]
    """Begins a journal: :func:`dagsearch.journal.resume.start_journal`."""
    resume: Callable[..., Any]
    """Continues a journal: :func:`dagsearch.journal.resume.resume_search`."""
    forecast: Callable[..., Any]
    """Forecasts the best reward: :func:`dagsearch.run.forecasts.after`."""
    report: Callable[..., Any]
    """Makes a page about a result."""
    plot: Callable[..., Any]
    """Draws a result."""
    rows: Callable[..., Any]
    """The history of a result as dictionaries."""
    frame: Callable[..., Any]
    """The history of a result as a data frame."""


wiring = Wiring()
