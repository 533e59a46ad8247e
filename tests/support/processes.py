"""Programs under test: they end with the test, whatever happens, and hear Ctrl-C."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

TESTS = Path(__file__).parents[1]

PATIENCE = 600.0
"""Seconds after which a test gives up: more than the busiest machine needs."""


def environment(**more: str) -> dict[str, str]:
    """Variables of a process that can import ``support``."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **more}


@contextmanager
def running(command: Sequence[str | Path], **settings) -> Iterator["subprocess.Popen[bytes]"]:
    """A program in a session of its own; in the end whatever is left of the session is killed.

    For a program that is to hear Ctrl-C, the test needs the fixture ``interruptible``.
    """
    process = subprocess.Popen(list(map(str, command)), start_new_session=True, **settings)
    with process:
        try:
            yield process
        finally:
            kill_session(process)


def kill_session(process: "subprocess.Popen[bytes]") -> None:
    """Kill a program of :func:`running` and all that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def wait_until(holds: Callable[[], object], process: "subprocess.Popen[bytes] | None" = None) -> None:
    """Wait for an event; the program that is to bring it about must not end before."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert process is None or process.poll() is None or holds(), "the program ended by itself"
        assert time.monotonic() < end, "nothing happened"
        time.sleep(0.01)


def alive(process: int) -> bool:
    """Whether a process is there and not a zombie; needs ``/proc``."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"
