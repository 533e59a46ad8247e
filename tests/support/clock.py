"""A clock that tests move."""


class Clock:
    """Stands in for ``time.perf_counter``.

    Parameters
    ----------
    tick : float
        Seconds that every look at the clock takes.
    """

    def __init__(self, tick: float = 0.0) -> None:
        self.now, self.tick = 1_000.0, tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
