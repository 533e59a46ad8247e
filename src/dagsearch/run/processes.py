"""Worker processes: each has its own connection, so that one that dies or hangs takes no other with it."""

import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import suppress
from multiprocessing import Pipe
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import cloudpickle

from dagsearch.problem import Edge

# Number of attempts at an evaluation whose process dies each time.
_ATTEMPTS = 3
# Seconds to wait for the thread of a worker process that was killed.
_JOIN_TIMEOUT = 1.0
# Seconds between two checks of a silent process, whose end of the pipe may stay open in one that it forked.
_CHECK = 1.0


# The future outcome of an evaluation, the problem and the leaf, pickled, and the number of attempts.
_Task = tuple["Future[Any]", bytes, bytes, int]


class ProcessDied(RuntimeError):
    """An evaluation was started several times, and each time its process ended."""


class _Worker(Thread):
    """Hands evaluations to one process, which it starts when needed, and again after its death.

    The process and the programs that it starts have a session of their own. The main module is not imported
    there, so a script needs no ``if __name__ == "__main__"``. The process ends when its connection closes, as
    it does if this process is killed.
    """

    def __init__(self, waiting: "SimpleQueue[_Task | None]", timeout: float) -> None:
        super().__init__(daemon=True, name="dagsearch worker")
        self._waiting, self._timeout = waiting, timeout
        self._lock, self._over = Lock(), False
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Any = None
        self._problem = b""  # what the process has

    def run(self) -> None:
        """Evaluate until there is nothing left to wait for."""
        while (task := self._waiting.get()) is not None:
            future, problem, leaf, attempts = task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._evaluated(problem, leaf, attempts))
                except Exception as error:
                    future.set_exception(error)
        self._end()

    def _evaluated(self, problem: bytes, leaf: bytes, attempts: int) -> Any:
        """The outcome of an evaluation, which is restarted if its process dies."""
        for attempt in range(1, attempts + 1):
            begun = False
            try:
                self._start()
                self._connection.send((None if problem is self._problem else problem, leaf))
                self._problem = problem
                if (unusable := self._answer()) is not None:
                    raise BrokenExecutor(f"the problem cannot be loaded there: {unusable}")
                begun = True
                found, error = self._answer(self._timeout)
            except TimeoutError:
                self._end()
                raise
            except (EOFError, OSError):
                died = self._end() + (f", {attempt} times in a row" if attempt > 1 else "")
            else:
                if error is not None:
                    raise error
                return found
        if not begun:
            raise BrokenExecutor(f"its worker process {died}, before the evaluation could begin")
        raise ProcessDied(f"its worker process {died}")

    def _start(self) -> None:
        """Start the process unless it is there."""
        if self._process is not None and self._process.poll() is not None:
            self._end()
        with self._lock:
            if self._over:
                raise BrokenExecutor("the evaluation was given up")
            if self._process is None:
                try:
                    self._process, self._connection = _started()
                except OSError as error:
                    raise BrokenExecutor(f"no worker process can be started: {error}") from error
                self._problem = b""

    def _answer(self, timeout: float = math.inf) -> Any:
        """What the process sends next; raises ``EOFError`` or ``OSError`` if it dies."""
        until = time.monotonic() + timeout
        while not self._connection.poll(max(0.0, min(_CHECK, until - time.monotonic()))):
            if self._process is None or (self._process.poll() is not None and not self._connection.poll()):
                raise EOFError
            if time.monotonic() >= until:
                raise TimeoutError("it took longer than the timeout")
        return self._connection.recv()

    def _end(self) -> str:
        """End what is left of the process and its programs; returns how it ended."""
        with self._lock:
            process, self._process = self._process, None
        if process is None:
            return ""
        _kill(process)
        code = process.wait()
        self._connection.close()
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    def close(self) -> None:
        """End the process, even if it is busy, and start no other."""
        with self._lock:
            self._over = True
            if self._process is not None:
                _kill(self._process)


def _started() -> tuple["subprocess.Popen[bytes]", Any]:
    """A new worker process, and the connection to it."""
    setup = f"import sys; sys.path[:] = {[*map(str, sys.path)]}; del sys.argv[0]"
    serve = "from dagsearch.run.worker import serve; serve()"
    connection, there = Pipe()
    stdin = _descriptor(there)
    process = subprocess.Popen(
        [sys.executable, "-u", "-c", f"{setup}; {serve}", *sys.argv],
        stdin=stdin,
        start_new_session=True,  # Ctrl-C in a terminal is for the parent
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
    )
    os.close(stdin)
    there.close()
    return process, connection


def _kill(process: "subprocess.Popen[bytes]") -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError, PermissionError):  # at most a zombie is left
            os.killpg(process.pid, signal.SIGKILL)


def _descriptor(connection: Any) -> int:
    """A file descriptor of one end of a pipe, to be closed."""
    if sys.platform == "win32":
        import msvcrt
        from multiprocessing.reduction import duplicate

        return msvcrt.open_osfhandle(duplicate(connection.fileno()), 0)
    return os.dup(connection.fileno())


class Processes(Executor):
    """Worker processes that are started when there is work for them, and again if they die or hang.

    Parameters
    ----------
    jobs : int
        Number of processes.
    timeout : float
        Seconds that an evaluation may take once its process has loaded the problem.
    """

    def __init__(self, jobs: int, timeout: float = math.inf) -> None:
        self._max_workers, self._timeout = jobs, timeout
        self._waiting: SimpleQueue[_Task | None] = SimpleQueue()
        self._workers: list[_Worker] = []
        self._problem: tuple[Any, bytes] = None, b""

    def submit(self, call: Any, /, problem: Any, leaf: Any) -> "Future[Any]":  # type: ignore[override]
        """Evaluate a leaf; ``call`` is what the workers do anyway."""
        if self._problem[0] is not problem:
            self._problem = problem, cloudpickle.dumps(problem)
        attempts = 1 if isinstance(leaf, Edge) else _ATTEMPTS  # no step is taken twice
        future = Future[Any]()
        self._waiting.put((future, self._problem[1], cloudpickle.dumps(leaf), attempts))
        if len(self._workers) < self._max_workers:
            self._workers.append(_Worker(self._waiting, self._timeout))
            self._workers[-1].start()
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """End all processes, even busy ones."""
        for worker in self._workers:
            self._waiting.put(None)
            worker.close()
        for worker in self._workers:
            worker.join(_JOIN_TIMEOUT)
