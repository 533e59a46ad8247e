"""A small live view of a search in a notebook."""

import importlib
import time
from collections.abc import Sequence
from typing import Any, Literal, Self

from dagsearch._internal.progress import Progress
from dagsearch.record import Record
from dagsearch.report.html import snippet
from dagsearch.report.view import Viewed
from dagsearch.results import Evaluation

# Share of the time that drawing may take.
_SHARE = 0.01


def shown_progress(
    shown: bool | Literal["notebook"], history: Sequence[Evaluation], budget: int, sign: int
) -> "Progress | NotebookProgress":
    """What shows the progress of a search whose evaluations are appended to ``history``."""
    if shown == "notebook":
        return NotebookProgress(history, budget, sign)
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
    """

    def __init__(self, history: Sequence[Evaluation], budget: int, sign: int) -> None:
        try:
            shown: Any = importlib.import_module("IPython.display")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "progress='notebook' needs IPython: pip install 'dagsearch[notebook]'"
            ) from error
        self._html, self._history, self._due = shown.HTML, history, 0.0
        self._record = Record()
        self._record.budget, self._record.minimized = budget, sign < 0
        self._viewed = Viewed("search", self._record)
        self._handle = shown.display(self._html(snippet(self._viewed.view())), display_id=True)

    def update(self, best: float | None) -> None:
        """One more evaluation: draw it, unless drawing would take too large a share of the time."""
        began = time.monotonic()
        if began >= self._due:
            self._show()
            ended = time.monotonic()
            self._due = ended + max(0.5, (ended - began) / _SHARE)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._show()

    def _show(self) -> None:
        """Draw what is known now."""
        self._record.add_evaluations(self._history[len(self._record.told) :])
        if self._handle is not None:
            self._handle.update(self._html(snippet(self._viewed.view(running=True))))
