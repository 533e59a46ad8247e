"""The deadline of a run, for the parts of a search that may take long."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager


class OutOfTime(Exception):
    """The time of a run is up while the search decides; no reported reward is lost."""


class Deadline:
    """The time at which a run must end; never, unless it is set."""

    def __init__(self) -> None:
        self._at = math.inf

    @contextmanager
    def until(self, at: float = math.inf) -> Iterator[None]:
        """Within this context, the time is up at ``at`` by ``time.perf_counter()``; never by default."""
        before, self._at = self._at, at
        try:
            yield
        finally:
            self._at = before

    def check(self) -> None:
        """Raise :class:`OutOfTime` if the time is up."""
        if self._at < math.inf and time.perf_counter() >= self._at:
            raise OutOfTime
