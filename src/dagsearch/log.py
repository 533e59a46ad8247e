"""The events that a search reports while it runs, for a log."""

from contextlib import AbstractContextManager, nullcontext
from itertools import count
from typing import Any

from dagsearch.results import Proposal

_NOTHING = nullcontext()
LOST_AFTER = 60.0
"""Seconds of silence after which a process counts as dead."""


class Log:
    """A log without storage; :class:`dagsearch.storage.log.RunLog` shares a database with other processes.

    A search reports an event before it acts on it, so that an event is stored before its consequences can be
    seen.
    """

    record: Any = None
    """The state of the stored run, with the requests of its users; ``None`` without storage."""
    began = 0
    """Number of the event with which the run of this process began."""
    overtaken = False
    """Whether another process has just taken over the proposal that this one wanted."""
    broken: str | None = None
    """Why the search must not continue, because it may differ from its log."""

    learns = True
    """Whether the search learns hyperparameters when due; otherwise it uses the logged ones."""

    def __init__(self) -> None:
        self._numbers = count(1)

    def catch_up(self) -> None:
        """Update the search with the events of other processes since the last call."""

    def take_over(self) -> Proposal | None:
        """A pending proposal whose process has ended; it now belongs to this process.

        If another process took it over first, ``overtaken`` is true: less of the budget is left.
        """
        return None

    def is_elsewhere(self, proposal: Proposal) -> bool:
        """Whether another running process evaluates a pending proposal."""
        return False

    def deciding(self) -> AbstractContextManager[None]:
        """Within this context, changes of the search are logged completely or not at all."""
        return _NOTHING

    def write(self, kind: str, *about: Any, **body: Any) -> int | None:
        """Report an event; returns its number, or ``None`` if another process was faster.

        ``about`` depends on the kind. ``body`` must be JSON, except for ``note``, which may be any object. A
        ``request`` in it is the number of the user's request that the event answers.

        ==========  =================================================================================
        kind        about
        ==========  =================================================================================
        ``ask``     proposal; number of its draws, ``None`` if a user has chosen the leaf
        ``tell``    evaluation; pending proposal, if there is one; noise variance, or the costly step
        ``forget``  pending proposal; the failed leaf, if it is another one
        ``untell``  leaf whose rewards are taken back
        ==========  =================================================================================
        """
        return next(self._numbers)

    def begun(self, budget: float, lost_after: float) -> None:
        """A run begins that ends after ``budget`` evaluations in total, if not earlier."""

    def close(self) -> None:
        """No further event will be reported."""
