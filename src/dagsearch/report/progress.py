"""Progress of a run, as a bar."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self, TextIO

# Seconds between updates of a bar in a log file, where each update is a line.
_SELDOM = 30.0


class Progress:
    """A bar on standard error that counts ``unit``; not shown if standard error cannot be written to.

    ``done`` is the number of evaluations of an earlier run.
    """

    def __init__(self, total: int, unit: str, shown: bool, done: int = 0) -> None:
        self._bar: Any = None
        self._shown = shown and sys.stderr is not None
        self._try(lambda: self._begin(total, unit, done))

    def update(self, best: float | None) -> None:
        """One more evaluation; ``best`` is the best result so far, if there is one."""
        self._try(lambda: self._show(best))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._try(lambda: self._bar.close())

    def _try(self, show: Callable[[], object]) -> None:
        """Call ``show``; output errors must not end the run."""
        try:
            if self._shown:
                show()
        except (OSError, ValueError):
            self._shown = False
            if self._bar is not None:
                self._bar.disable = True  # or it would write once more when it is deleted
            flush(sys.stderr)

    def _begin(self, total: int, unit: str, done: int) -> None:
        from tqdm.auto import tqdm  # slow to import

        seen = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._bar = tqdm(total=total, initial=done, unit=unit, mininterval=0.1 if seen else _SELDOM)

    def _show(self, best: float | None) -> None:
        if best is not None:
            self._bar.set_postfix(best=f"{best:.4g}", refresh=False)
        self._bar.update()


def flush(stream: TextIO | None) -> None:
    """Flush a stream; on failure, drop its content, which Python would write again at exit."""
    if stream is None:  # the shell has closed it
        return
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
