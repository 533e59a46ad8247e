"""Worker processes: each has its own connection, so that one that dies or hangs takes no other with it."""

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
from dagsearch.run.worker import BEGUN, UNUSABLE

# How often an evaluation is begun if its process dies each time.
_ATTEMPTS = 3
# Seconds to wait for the thread of a worker process that was killed.
_JOIN_TIMEOUT = 1.0
# Seconds between two checks of a silent process, whose end of the pipe may stay open in one that it forked.
_CHECK = 1.0


class ProcessDied(RuntimeError):
    """An evaluation was started several times, and each time its process ended."""


class Evaluating(Future[Any]):
    """The future :class:`~dagsearch.run.worker.Outcome` of an evaluation in a worker process.

    Parameters
    ----------
    problem, leaf : bytes
        The problem and what to evaluate, pickled.
    attempts : int
        How often the evaluation is begun if its process dies each time.
    """

    def __init__(self, problem: bytes, leaf: bytes, attempts: int) -> None:
        super().__init__()
        self.problem, self.leaf, self.attempts = problem, leaf, attempts
        self.began: float | None = None
        """When the worker began to compute the reward, by ``time.monotonic()``; ``None`` before."""
        self.given_up = False
        """Whether nobody waits for it any more."""


class _Process:
    """A worker process in a session of its own, with the programs that it starts.

    The main module is not imported there, so a script needs no ``if __name__ == "__main__"``. The process
    ends when its connection closes, as it does if this process is killed.
    """

    def __init__(self) -> None:
        setup = f"import sys; sys.path[:] = {[*map(str, sys.path)]}; del sys.argv[0]"
        serve = "from dagsearch.run.worker import serve; serve()"
        self._connection, there = Pipe()
        stdin = _descriptor(there)
        self._process = subprocess.Popen(
            [sys.executable, "-u", "-c", f"{setup}; {serve}", *sys.argv],
            stdin=stdin,
            start_new_session=True,  # Ctrl-C in a terminal is for the parent
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
        )
        os.close(stdin)
        there.close()
        self._problem = b""

    def outcome(self, future: Evaluating) -> Any:
        """What the process answers; raises ``EOFError`` or ``OSError`` if it dies."""
        future.began = None
        self._connection.send((None if future.problem is self._problem else future.problem, future.leaf))
        self._problem = future.problem
        kind, content = self._receive()
        if kind == BEGUN:
            future.began = time.monotonic()
            kind, content = self._receive()
        if kind == UNUSABLE:
            raise BrokenExecutor(f"the problem cannot be loaded there: {content}")
        return content

    def _receive(self) -> Any:
        while not self._connection.poll(_CHECK):
            if not self.is_alive() and not self._connection.poll():
                raise EOFError
        return self._connection.recv()

    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.poll() is None

    def kill(self) -> None:
        """End the process, whatever it does, and its programs."""
        if sys.platform == "win32":
            self._process.kill()
        else:
            with suppress(ProcessLookupError, PermissionError):  # at most a zombie is left
                os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> str:
        """End what is left of the process and its programs; returns how it ended."""
        self.kill()
        code = self._process.wait()
        self._connection.close()
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _descriptor(connection: Any) -> int:
    """A file descriptor of one end of a pipe, to be closed."""
    if sys.platform == "win32":
        import msvcrt
        from multiprocessing.reduction import duplicate

        return msvcrt.open_osfhandle(duplicate(connection.fileno()), 0)
    return os.dup(connection.fileno())


class Supervisor(Thread):
    """Hands evaluations to one worker process, which it starts when needed and again after its death.

    Parameters
    ----------
    waiting : SimpleQueue
        Evaluations that wait for a worker; ``None`` ends the thread.
    """

    def __init__(self, waiting: "SimpleQueue[Evaluating | None]") -> None:
        super().__init__(daemon=True, name="dagsearch worker")
        self._waiting = waiting
        self._lock = Lock()
        self._current: Evaluating | None = None
        self._process: _Process | None = None

    def run(self) -> None:
        """Evaluate until there is nothing left to wait for."""
        while (future := self._waiting.get()) is not None:
            with self._lock:
                self._current = future if future.set_running_or_notify_cancel() else None
            if self._current is not None:
                try:
                    future.set_result(self._outcome(future))
                except Exception as error:
                    future.set_exception(error)
        self._end_process()

    def _outcome(self, future: Evaluating) -> Any:
        """The outcome of an evaluation, which is begun again if its process dies."""
        for _ in range(future.attempts):
            process = self._living_process(future)
            try:
                return process.outcome(future)
            except (EOFError, OSError):
                death = self._end_process()
        if future.attempts > 1:
            death += f", {future.attempts} times in a row"
        if future.began is None:
            raise BrokenExecutor(f"its worker process {death}, before the evaluation could begin")
        raise ProcessDied(f"its worker process {death}")

    def _living_process(self, future: Evaluating) -> _Process:
        if self._process is not None and not self._process.is_alive():
            self._end_process()
        with self._lock:
            if future.given_up:
                raise BrokenExecutor("the evaluation was given up")
            try:
                self._process = self._process or _Process()
            except OSError as error:
                raise BrokenExecutor(f"no worker process can be started: {error}") from error
            return self._process

    def _end_process(self) -> str:
        with self._lock:
            process, self._process = self._process, None
        return "" if process is None else process.end()

    def give_up(self, future: "Future[Any]") -> bool:
        """End the process that computes a future; false if this worker does not have it or it is done."""
        with self._lock:
            if self._current is not future or future.done():
                return False
            self._kill()  # before the next evaluation is given to it
        return True

    def close(self) -> None:
        """End the process, even if it is busy."""
        with self._lock:
            self._kill()

    def _kill(self) -> None:
        if self._current is not None:
            self._current.given_up = True
        if self._process is not None:
            self._process.kill()


class Processes(Executor):
    """Worker processes that are started when there is work for them, and again if they die or hang.

    Parameters
    ----------
    jobs : int
        Number of processes.
    """

    def __init__(self, jobs: int) -> None:
        self._max_workers = jobs
        self._waiting: SimpleQueue[Evaluating | None] = SimpleQueue()
        self._supervisors: list[Supervisor] = []
        self._problem: tuple[Any, bytes] = None, b""

    def submit(self, call: Any, /, problem: Any, leaf: Any) -> Evaluating:  # type: ignore[override]
        """Evaluate a leaf; ``call`` is what the workers do anyway."""
        if self._problem[0] is not problem:
            self._problem = problem, cloudpickle.dumps(problem)
        attempts = 1 if isinstance(leaf, Edge) else _ATTEMPTS  # no step is taken twice
        future = Evaluating(self._problem[1], cloudpickle.dumps(leaf), attempts)
        self._waiting.put(future)
        if len(self._supervisors) < self._max_workers:
            self._supervisors.append(Supervisor(self._waiting))
            self._supervisors[-1].start()
        return future

    def give_up(self, future: "Future[Any]") -> bool:
        """End the process that computes a future; false if none does any more."""
        return any(supervisor.give_up(future) for supervisor in self._supervisors)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """End all processes, even busy ones."""
        for supervisor in self._supervisors:
            self._waiting.put(None)
            supervisor.close()
        for supervisor in self._supervisors:
            supervisor.join(_JOIN_TIMEOUT)
