"""How far a run has got: a bar in a terminal, a few lines where there is none."""

import sys
import time
from typing import Any, Self

from tqdm import tqdm

# Lines of a whole run, where there is no terminal.
_LINES = 10


class Progress:
    """Progress on standard error.

    In a terminal it is a bar that changes in place. Elsewhere, such as in a log, it is one line after the
    first evaluation and one for every tenth of the run.

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
        terminal = sys.stderr is not None and sys.stderr.isatty()
        self._bar: Any = None
        if shown and terminal:
            self._bar = tqdm(total=total, initial=done, unit=unit)
        self._lines = shown and not terminal and sys.stderr is not None
        self._total, self._unit, self._done = total, unit, done
        self._first = done + 1
        self._began = time.perf_counter()

    def update(self, best: float | None) -> None:
        """One more evaluation; ``best`` is the best result so far, if there is one."""
        self._done += 1
        if self._bar is not None:
            if best is not None:
                self._bar.set_postfix(best=f"{best:.4g}", refresh=False)
            self._bar.update()
        elif self._lines and self._is_due():
            found = "" if best is None else f", best {best:.4g}"
            took = time.perf_counter() - self._began
            line = f"{self._done} of {self._total} {self._unit}s{found}, {took:.0f} s"
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()

    def _is_due(self) -> bool:
        if self._done == self._first:  # a sign of life
            return True
        before, now = ((done * _LINES) // max(self._total, 1) for done in (self._done - 1, self._done))
        return now > before

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()
