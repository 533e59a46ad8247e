"""Progress of a run: a bar in a terminal or notebook, a few lines elsewhere."""

import os
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Self, TextIO

# Lines of a whole run, where there is no terminal.
_LINES = 10


class Progress:
    """Progress on standard error; if it cannot be written to, nothing is shown.

    In a terminal or notebook it is a bar that changes in place. Elsewhere, such as in a log, it is one line
    after the first evaluation and one for every tenth of the run.

    Parameters
    ----------
    total : int
        Number of evaluations.
    unit : str
        What is counted.
    shown : bool
        Whether anything is shown.
    done : int
        Number of evaluations of an earlier run.
    """

    def __init__(self, total: int, unit: str, shown: bool, done: int = 0) -> None:
        self._total, self._unit, self._done, self._first = total, unit, done, done + 1
        self._bar: Any = None
        self._shown = shown and sys.stderr is not None
        self._began = time.perf_counter()
        self._try(self._begin)

    def update(self, best: float | None) -> None:
        """One more evaluation; ``best`` is the best result so far, if there is one."""
        self._done += 1
        self._try(lambda: self._show(best))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._try(self._bar.close)

    def _try(self, show: Callable[[], object]) -> None:
        """Show something; errors of the output must not end the run."""
        try:
            if self._shown:
                show()
        except (OSError, ValueError):
            self._shown = False
            if self._bar is not None:
                self._bar.disable = True  # or it would write once more when it is deleted
            flush(sys.stderr)

    def _begin(self) -> None:
        if sys.stderr.isatty() or "ipykernel" in sys.modules:
            from tqdm.auto import tqdm  # slow to import

            self._bar = tqdm(total=self._total, initial=self._done, unit=self._unit)

    def _show(self, best: float | None) -> None:
        if self._bar is not None:
            if best is not None:
                self._bar.set_postfix(best=f"{best:.4g}", refresh=False)
            self._bar.update()
        elif self._is_due():
            found = "" if best is None else f", best {best:.4g}"
            took = f"{time.perf_counter() - self._began:.0f} s"
            sys.stderr.write(f"{self._done} of {self._total} {self._unit}s{found}, {took}\n")
            sys.stderr.flush()

    def _is_due(self) -> bool:
        before, now = ((done * _LINES) // max(self._total, 1) for done in (self._done - 1, self._done))
        return now > before or self._done == self._first  # shows that the run works


def flush(stream: TextIO | None) -> None:
    """Flush a stream; if that fails, let it lose what Python would write once more, and fail, at its end."""
    if stream is None:  # the shell has closed it
        return
    try:
        stream.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
