"""Keeping away what estimators print and warn of while they are fitted."""

import os
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path

_lock = threading.Lock()
_entered = 0
_redirected = ExitStack()


@contextmanager
def quiet() -> Iterator[None]:
    """While entered, standard output, standard error and warnings of this process go nowhere.

    That includes what compiled code prints. Threads may enter at the same time; the last one to leave
    restores everything.
    """
    global _entered
    with _lock:
        _entered += 1
        if _entered == 1:
            _redirect(_redirected)
    try:
        yield
    finally:
        with _lock:
            _entered -= 1
            if _entered == 0:
                _redirected.close()


def _redirect(stack: ExitStack) -> None:
    nowhere = stack.enter_context(Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with suppress(ValueError, OSError):  # closed, or full
                stream.flush()
    for descriptor in (1, 2):
        with suppress(OSError):  # a process without standard output
            kept = os.dup(descriptor)
            stack.callback(os.close, kept)
            stack.callback(os.dup2, kept, descriptor)
            os.dup2(nowhere.fileno(), descriptor)
    stack.enter_context(redirect_stdout(nowhere))
    stack.enter_context(redirect_stderr(nowhere))
    stack.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")
