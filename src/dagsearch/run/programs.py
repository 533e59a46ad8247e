"""The programs that evaluations start: they end with the search, however it ends.

A program inherits the environment of the process that starts it, even if it leaves that process's group and
session. So a variable with a name of its own marks all programs of an evaluation, and Linux tells which
processes have it. Elsewhere no program is found this way.

A worker process ends its programs when the search is gone, and the search ends those of a worker that died.
Where evaluations run in the process of the search itself, :class:`Watch` leaves this to a watchdog: this file
as a program. So it imports nothing but the standard library.
"""

import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from typing import Any

CAN_FIND = os.path.exists("/proc/self/environ")
"""Whether this system tells which environment a process was started with."""

# Seconds between two looks of the watchdog at whether the search still exists.
_LOOK = 0.2
# What Python reports before it starts a process.
_STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"}


def new_mark() -> str:
    """The name of a variable that no process has yet."""
    return f"DAGSEARCH_{uuid.uuid4().hex}"


def end_programs(mark: str) -> None:
    """End every process whose environment has a mark, except this one."""
    stopped = set[int]()
    while fresh := _marked(mark) - stopped:
        # Whatever waits for one of them must not wake up and start another one: all are stopped first.
        _send(fresh, signal.SIGSTOP)
        stopped |= fresh
    _send(stopped, signal.SIGKILL)


def _marked(mark: str) -> set[int]:
    """Processes whose environment has a mark, except this one."""
    found = set[int]()
    variable = f"{mark}=".encode()
    for name in os.listdir("/proc") if CAN_FIND else ():
        if name.isdigit() and int(name) != os.getpid():
            with suppress(OSError), open(f"/proc/{name}/environ", "rb") as environment:
                if variable in environment.read():
                    found.add(int(name))
    return found


def _send(processes: set[int], number: signal.Signals) -> None:
    for process in processes:
        with suppress(OSError):
            os.kill(process, number)


class Watch:
    """While it is open, programs that this process starts end with it.

    The watchdog begins when Python reports that the first program is about to start: a search whose
    evaluations start none does not pay for it.
    """

    def __init__(self) -> None:
        self._mark, self._process = "", 0
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._begun = False

    def open(self) -> None:
        """Mark programs from now on, if it is closed and this system can find them."""
        if not self._mark and CAN_FIND and sys.executable and not getattr(sys, "frozen", False):
            self._mark, self._process, self._begun = new_mark(), os.getpid(), False
            os.environ[self._mark] = "1"
            _WATCHES.append(self)
            _report_starts()

    def begin(self) -> None:
        """Start the watchdog, unless it has begun or this is another process."""
        if self._begun or os.getpid() != self._process:
            return
        self._begun = True  # before it starts, because it is a program, too
        with suppress(OSError):  # the evaluation can do without
            self._watchdog = subprocess.Popen(
                [sys.executable, "-I", "-S", __file__, self._mark, str(self._process)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                start_new_session=True,  # a signal to the group of the search must not reach it
            )

    def close(self) -> None:
        """Let programs that still run go on, whatever happens to this process."""
        if self._mark and os.getpid() == self._process:
            _WATCHES.remove(self)
            os.environ.pop(self._mark, None)
            if self._watchdog is not None:
                self._watchdog.kill()
                self._watchdog.wait()
            self._mark, self._watchdog = "", None


_WATCHES: list[Watch] = []
_reporting = False


def _report_starts() -> None:
    global _reporting  # a hook cannot be removed
    if not _reporting:
        _reporting = True
        sys.addaudithook(_hear)


def _hear(event: str, _: tuple[Any, ...]) -> None:
    if event in _STARTS:
        for watch in _WATCHES.copy():  # another thread may close one
            watch.begin()


def _keep_watch(mark: str, process: int) -> None:
    """Wait until the parent process is gone, and end its programs."""
    while os.getppid() == process:
        time.sleep(_LOOK)
    end_programs(mark)


if __name__ == "__main__":
    _keep_watch(sys.argv[1], int(sys.argv[2]))
