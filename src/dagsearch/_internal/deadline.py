"""When a run must end, for the parts of a search that may take long."""

import math
import time


class OutOfTime(Exception):
    """The time of a run is over while the search decides; nothing that was told is lost."""


class Deadline:
    """The time at which a run must end; never, unless it is set."""

    def __init__(self) -> None:
        self.at = math.inf
        """When it is over, by ``time.perf_counter()``."""

    def passed(self) -> bool:
        """Whether the time is over."""
        return self.at < math.inf and time.perf_counter() >= self.at

    def check(self) -> None:
        """Raise :class:`OutOfTime` if the time is over."""
        if self.passed():
            raise OutOfTime
