"""A call into the user's code returns in the process that made it, and in no other."""

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def only_here() -> Iterator[None]:
    """While entered, the code may fork; a child process that comes back ends instead of going on.

    It would answer for its parent, or continue the search a second time.
    """
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != process:
            _end()


def _end() -> None:
    """End as a script ends: an error is printed, and the exit code says whether there was one."""
    error, code = sys.exception(), 0
    with suppress(BaseException):
        if isinstance(error, SystemExit):
            code = error.code if isinstance(error.code, int) else int(error.code is not None)
        elif error is not None:
            code = 1
            traceback.print_exception(error)
    os._exit(code & 0xFF)
