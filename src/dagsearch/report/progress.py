"""How far a run has got: a bar in a terminal, a few lines where there is none."""

import os
import sys
import time
from typing import Any, Self

from tqdm import tqdm

# Lines of a whole run, where there is no terminal.
_LINES = 10


class _Stderr:
    """Standard error, as long as it can be written to: to show progress must not end what is shown."""

    def __init__(self) -> None:
        self._stream: Any = sys.stderr
        self._encoding = getattr(self._stream, "encoding", None) or "utf-8"
        self._descriptor: int | None = None
        original: Any = sys.__stderr__
        try:
            self.is_terminal = self._stream is not None and bool(self._stream.isatty())
            if self._stream is not None and self._stream is original:
                # What cannot be written would stay in Python's buffer, and change the exit code in the end.
                self._stream.flush()
                self._descriptor = self._stream.fileno()
        except (OSError, ValueError):
            self.is_terminal, self._stream = False, None

    def write(self, text: str) -> int:
        """Write, unless an earlier attempt has failed."""
        try:
            if self._stream is None:
                pass
            elif self._descriptor is None:
                self._stream.write(text)
                self._stream.flush()
            else:
                left = text.encode(self._encoding, "backslashreplace")
                while left:
                    left = left[os.write(self._descriptor, left) :]
        except (OSError, ValueError):
            self._stream = None
        return len(text)

    def flush(self) -> None:
        """Do nothing: every text is written at once."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)  # such as the encoding and the width of the terminal


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
        self._stderr = _Stderr()
        self._bar: Any = None
        if shown and self._stderr.is_terminal:
            self._bar = tqdm(total=total, initial=done, unit=unit, file=self._stderr)
        self._lines = shown and not self._stderr.is_terminal
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
            self._stderr.write(f"{line}\n")

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
