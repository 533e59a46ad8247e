"""A small live view of a search in a notebook."""

import importlib
import time
from collections.abc import Callable, Iterator
from typing import Any

from dagsearch.pages.html import snippet
from dagsearch.pages.record import Record
from dagsearch.pages.view import Viewed
from dagsearch.results import Evaluation

# Share of the time that drawing may take.
_SHARE = 0.01


class NotebookProgress:
    """Shows the evaluations of a run while it is iterated over.

    Parameters
    ----------
    evaluations : iterator of Evaluation
        The run.
    history : callable
        Returns all evaluations so far.
    budget : int
        Number of evaluations at the end of the run.
    sign : int
        −1 if rewards are the negative numbers of a function that is minimised.
    """

    def __init__(
        self,
        evaluations: Iterator[Evaluation],
        history: Callable[[], list[Evaluation]],
        budget: int,
        sign: int,
    ) -> None:
        try:
            shown: Any = importlib.import_module("IPython.display")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "progress='notebook' needs IPython: pip install 'dagsearch[notebook]'"
            ) from error
        self._html, self._evaluations, self._history = shown.HTML, evaluations, history
        self._record = Record()
        self._record.budget, self._record.minimized = budget, sign < 0
        self._viewed = Viewed("search", self._record)
        self._handle = shown.display(self._html(snippet(self._viewed.view())), display_id=True)

    def __iter__(self) -> Iterator[Evaluation]:
        due = 0.0
        try:
            for evaluation in self._evaluations:
                yield evaluation
                began = time.monotonic()
                if began >= due:
                    self._show()
                    ended = time.monotonic()
                    due = ended + max(0.5, (ended - began) / _SHARE)
        finally:
            self._show()

    def _show(self) -> None:
        """Draw what is known now."""
        told = self._history()
        self._record.add_evaluations(told[len(self._record.told) :])
        if self._handle is not None:
            self._handle.update(self._html(snippet(self._viewed.view(running=True))))
