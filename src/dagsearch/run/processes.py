"""Worker processes: each has pipes of its own, so that one that dies or hangs takes no other with it.

A worker process is sent a problem and then leaves, pickled. It answers each with a pair of the reward or step
and the error, one of which is ``None``.
"""

import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future, ThreadPoolExecutor
from contextlib import suppress
from queue import LifoQueue
from threading import TIMEOUT_MAX, Thread, Timer
from typing import Any, BinaryIO, TypeAlias

import cloudpickle

from dagsearch._internal.texts import described, shortened
from dagsearch.posterior.units import checked_reward
from dagsearch.problem import Edge, Problem, State
from dagsearch.problems import FunctionProblem

Process: TypeAlias = "subprocess.Popen[bytes]"
# Number of attempts at an evaluation whose process dies each time.
_ATTEMPTS = 3
# Seconds between two checks of the parent.
_CHECK = 1.0
# What is raised if a process has died.
_DEATH = (EOFError, OSError, pickle.UnpicklingError)


class ProcessDied(RuntimeError):
    """An evaluation was started several times, and each time its process ended."""


class Processes(ThreadPoolExecutor):
    """Threads that hand leaves to processes, which are started when needed, and again after a death.

    A process and the programs that it starts have a session of their own. The main module is not imported
    there, so a script needs no ``if __name__ == "__main__"``. The process ends if this one does. The timeout
    begins once a process has loaded the problem. ``pebble`` is no substitute: it imports the main module,
    ends a process without its programs, and all its workers share one pipe and its lock.
    """

    def __init__(self, problem: Any, jobs: int, timeout: float = TIMEOUT_MAX) -> None:
        super().__init__(jobs, "dagsearch worker")
        self._timeout = timeout
        try:
            self._problem = cloudpickle.dumps(problem)
        except Exception as error:
            raise ValueError(
                f"{type(problem).__name__} cannot be sent to another process ({type(error).__name__}: "
                f"{error}): keep open files and locks out of it, or use threads"
            ) from error
        self._idle: LifoQueue[Process] = LifoQueue()
        self._started, self._over = set[Process](), False

    def submit(self, call: Any, /, problem: Any, leaf: Any) -> "Future[Any]":  # type: ignore[override]
        """Evaluate a leaf; the processes know how, and of which problem."""
        attempts = 1 if isinstance(leaf, Edge) else _ATTEMPTS  # no step is taken twice
        return super().submit(self._evaluated, cloudpickle.dumps(leaf), attempts)

    def _evaluated(self, leaf: bytes, attempts: int) -> Any:
        """The outcome of an evaluation, which is begun again if its process dies."""
        for attempt in range(1, attempts + 1):
            process = self._ready()
            began, timer = time.monotonic(), Timer(self._timeout, _kill, (process,))
            timer.start()
            try:
                answer = _ask(process, leaf)
            except _DEATH:
                how = self._end(process) + (f", {attempt} times in a row" if attempt > 1 else "")
                if time.monotonic() - began >= self._timeout:
                    raise TimeoutError("it took longer than the timeout") from None
            else:
                self._idle.put(process)
                found, error = pickle.loads(answer)
                if error is not None:
                    raise error
                return found
            finally:
                timer.cancel()
        raise ProcessDied(f"its worker process {how}")

    def _ready(self) -> Process:
        """A process that has loaded the problem and waits for a leaf."""
        while not self._idle.empty():
            process = self._idle.get()
            if process.poll() is None:
                return process
            self._end(process)
        try:
            process = _new_process()
        except OSError as error:
            raise BrokenExecutor(f"no worker process can be started: {error}") from error
        self._started.add(process)
        Thread(target=_watch, args=(process,), daemon=True, name="dagsearch watch").start()
        if self._over:
            raise BrokenExecutor("the evaluation was given up")
        try:
            _, unusable = pickle.loads(_ask(process, self._problem))
        except _DEATH as error:
            how = self._end(process)
            raise BrokenExecutor(f"its worker process {how}, before the evaluation could begin") from error
        if unusable is not None:
            self._end(process)
            raise BrokenExecutor(f"the problem cannot be loaded there: {described(unusable)}")
        return process

    def _end(self, process: Process) -> str:
        """End what is left of a process and its programs; returns how it ended."""
        _kill(process)
        code = process.wait()
        self._started.discard(process)
        with suppress(OSError), process:  # closes the pipes
            pass
        return f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = True) -> None:
        """End all processes, even busy ones."""
        self._over = True
        for process in list(self._started):
            _kill(process)
        super().shutdown(wait, cancel_futures=cancel_futures)
        for process in list(self._started):
            self._end(process)


def _ask(process: Process, message: bytes) -> bytes:
    """What a process answers: a pickled pair of what it has found and its error."""
    assert process.stdin is not None
    assert process.stdout is not None
    pickle.dump(message, process.stdin)
    process.stdin.flush()
    return bytes(pickle.load(process.stdout))


def _new_process() -> Process:
    serve = f"import sys; sys.path[:] = {[*map(str, sys.path)]}; del sys.argv[0]"
    return subprocess.Popen(
        [
            sys.executable,
            "-u",
            "-c",
            f"{serve}; from dagsearch.run.processes import serve; serve()",
            *sys.argv,
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C in a terminal is for the parent
        creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
    )


def _watch(process: Process) -> None:
    """Once a process has ended, end its programs, which may keep its end of the pipe open."""
    process.wait()
    _kill(process)


def _kill(process: Process) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        with suppress(ProcessLookupError, PermissionError):  # at most a zombie is left
            os.killpg(process.pid, signal.SIGKILL)


# In the worker process --------------------------------------------------------------------------------


class RemoteError(Exception):
    """An error of an evaluation in another process that cannot be sent here; the message names its class."""


def evaluated(problem: Any, leaf: State) -> Any:
    """The expensive call: the reward of a leaf (with the leaf if it is known only now), or a costly step.

    Raises if it is a reward that a search cannot learn from.
    """
    if isinstance(leaf, Edge):
        return problem.expand(*leaf)
    if isinstance(problem, FunctionProblem):
        leaf, reward = problem.evaluate(leaf)
        return leaf, checked_reward(reward, leaf)
    return checked_reward(problem.reward(leaf), leaf)


def evaluate(problem: Problem, leaf: State) -> Any:
    """Make the expensive call in another thread or process. Every error that it raises can be sent back."""
    try:
        return evaluated(problem, leaf)
    except (Exception, SystemExit) as error:
        raise _sendable(error) from error


def _sendable(error: BaseException) -> Exception:
    """A copy of an error as it arrives elsewhere, or :class:`RemoteError`."""
    with suppress(Exception):
        copy = pickle.loads(cloudpickle.dumps(error))
        # An executor that raises BrokenExecutor is broken itself.
        if isinstance(copy, Exception) and not isinstance(copy, BrokenExecutor):
            return copy
    return RemoteError(described(error))


def serve() -> None:
    """Answer what comes through standard input, until the parent is gone."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as empty:
        os.dup2(empty.fileno(), 0)  # also for programs that evaluations start
    os.dup2(2, 1)  # what they print is no answer
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    problem = list[Any]()
    with suppress(EOFError, OSError):
        _answer(requests, answers, problem.append)
        while True:
            _answer(requests, answers, lambda leaf: evaluated(problem[0], leaf))
    _end()


def _answer(requests: BinaryIO, answers: BinaryIO, call: Callable[[Any], Any]) -> None:
    """Send the outcome of a call, pickled by value, because it may have classes of the user's script."""
    message = pickle.load(requests)
    try:
        answer = cloudpickle.dumps((call(pickle.loads(message)), None))
    except (Exception, SystemExit) as error:  # of the call, or of pickling
        sent = _sendable(error)
        sent.add_note(shortened("".join(traceback.format_exception(error))))
        answer = cloudpickle.dumps((None, sent))
    pickle.dump(answer, answers)
    answers.flush()


def _end_with(parent: int) -> None:
    """End this process once its parent is gone, even in an evaluation."""
    while os.getppid() == parent:
        time.sleep(_CHECK)
    _end()


def _end() -> None:
    """End this process and the programs that it has started."""
    if sys.platform != "win32":
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
