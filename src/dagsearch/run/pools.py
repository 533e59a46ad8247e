"""Pools that compute rewards: in this thread, in processes, or on an executor.

Each worker process has pipes of its own, so that one that dies or hangs takes no other with it. It is sent a
problem and then leaves, pickled, and answers each with a pair of the reward or step and the error, one of
which is ``None``.
"""

import os
import pickle
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from threading import TIMEOUT_MAX, Thread, Timer, local
from typing import Any, TypeAlias, cast

import cloudpickle

from dagsearch._internal.texts import described, shortened, shown
from dagsearch.errors import DagSearchError
from dagsearch.posterior.units import checked_reward
from dagsearch.problem import Edge, Problem, State
from dagsearch.problems import FunctionProblem

Process: TypeAlias = "subprocess.Popen[bytes]"
# Number of attempts at an evaluation whose process dies each time.
_ATTEMPTS = 3
# Seconds between two checks of the parent.
_CHECK = 1.0
# Raised when a process has died.
_DEATH = (EOFError, OSError, pickle.UnpicklingError)
# Seconds in which Dask's scheduler must answer.
_SCHEDULER_TIMEOUT = 30.0
# The message of a PoolError.
_STOPPED = "the workers have stopped working (%s): run again to continue; no reported reward is lost"


class PoolError(DagSearchError, RuntimeError):
    """The workers have stopped working. No reported reward is lost: run again to continue."""


class Pool:
    """Computes rewards on an executor of :mod:`concurrent.futures`, or without one in the calling thread.

    If it is ``deterministic``, results are taken in the order in which evaluations began.
    """

    _executor: Executor | None = None

    def __init__(
        self, problem: Any, executor: Any, n_jobs: int | None, timeout: float | None, deterministic: bool
    ) -> None:
        if n_jobs is not None:
            jobs = (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs)
            executor = Processes(problem, jobs, min(timeout or TIMEOUT_MAX, TIMEOUT_MAX))
        elif hasattr(executor, "get_executor"):  # a client of Dask
            executor = executor.get_executor()
        elif executor is not None and not callable(getattr(executor, "submit", None)):
            raise ValueError(f"executor must have a submit method, got {shown(executor)}")
        self._executor, self._deterministic = executor, deterministic
        self._client: Any = getattr(executor, "_client", None)  # of Dask
        # By default Dask returns the cached reward if a leaf is evaluated again.
        self._settings = {} if self._client is None else {"pure": False}

    def workers(self) -> int:
        """Maximum number of evaluations at a time."""
        if self._executor is None:
            return 1
        if self._client is None:
            return int(getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1)
        try:  # a scheduler that is gone would be awaited forever
            return sum(self._client.nthreads(callback_timeout=_SCHEDULER_TIMEOUT).values()) or 1
        except OSError as error:
            raise PoolError(_STOPPED % described(error)) from error

    def start(self, problem: Problem, leaf: State) -> "Future[Any]":
        """Start an evaluation; in the calling thread, it has ended on return, and Ctrl-C is raised here."""
        if self._executor is None:
            future = Future[Any]()
            try:
                future.set_result(evaluated(problem, leaf))
            except Exception as error:
                future.set_exception(error)
            return future
        try:
            return self._executor.submit(evaluate, problem, leaf, **self._settings)
        except (BrokenExecutor, RuntimeError, OSError) as error:
            raise PoolError(_STOPPED % described(error)) from error

    def finished(self, running: Sequence["Future[Any]"], patience: float) -> Sequence["Future[Any]"]:
        """Wait up to ``patience`` seconds; returns ended evaluations, in the order in which they began."""
        awaited = running[:1] if self._deterministic else running
        wait(awaited, patience, FIRST_COMPLETED)
        ended = [one for one in awaited if one.done()]
        for one in ended:
            if self._executor is not None and (broken := breakdown(one)) is not None:
                raise PoolError(_STOPPED % described(broken)) from broken
        return ended

    def close(self) -> None:
        """Release the resources of this run."""
        if isinstance(self._executor, Processes):
            self._executor.shutdown()


def breakdown(future: "Future[Any]") -> BaseException | None:
    """The error if a future ended because its worker did, not its evaluation; otherwise ``None``."""
    if future.cancelled():
        return BrokenExecutor("the evaluation was cancelled")
    error = future.exception()
    # Dask's KilledWorker is not among these: it means that this evaluation crashes every worker.
    return error if isinstance(error, BrokenExecutor) else None


# Worker processes --------------------------------------------------------------------------------------


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
            what = f"{type(problem).__name__} cannot be sent to another process ({described(error)})"
            raise ValueError(f"{what}: keep open files and locks out of it, or use threads") from error
        self._own = local()  # the process of a thread
        self._started, self._over = set[Process](), False

    def submit(self, call: Any, /, problem: Any, leaf: Any) -> "Future[Any]":  # type: ignore[override]
        """Evaluate a leaf of the problem that the processes have loaded."""
        attempts = 1 if isinstance(leaf, Edge) else _ATTEMPTS  # no step is taken twice
        return super().submit(self._evaluated, cloudpickle.dumps(leaf), attempts)

    def _evaluated(self, leaf: bytes, attempts: int) -> Any:
        """The outcome of an evaluation, which is started again if its process dies."""
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
                found, error = pickle.loads(answer)
                if error is not None:
                    raise error
                return found
            finally:
                timer.cancel()
        raise ProcessDied(f"its worker process {how}")

    def _ready(self) -> Process:
        """A process that has loaded the problem and waits for a leaf."""
        if (known := getattr(self._own, "process", None)) in self._started and known.poll() is None:
            return known  # type: ignore[no-any-return]
        code = f"import sys; sys.path[:] = {[*map(str, sys.path)]}; del sys.argv[0]; "
        try:
            process = subprocess.Popen(
                [sys.executable, "-u", "-c", f"{code}from {__name__} import serve; serve()", *sys.argv],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,  # Ctrl-C in a terminal is for the parent
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # the same on Windows
            )
        except OSError as error:
            raise BrokenExecutor(f"no worker process can be started: {error}") from error
        self._started.add(process)
        self._own.process = process
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
            raise BrokenExecutor(f"a worker process cannot load the problem: {described(unusable)}")
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
    """Make the expensive call in another thread or process; every error that it raises can be sent back."""
    try:
        return evaluated(problem, leaf)
    except (Exception, SystemExit) as error:
        raise _sendable(error) from error


def _sendable(error: BaseException) -> Exception:
    """A copy of an error as another process receives it, or a :class:`RemoteError`."""
    with suppress(Exception):
        copy = pickle.loads(cloudpickle.dumps(error))
        # An executor that raises BrokenExecutor is broken itself.
        if isinstance(copy, Exception) and not isinstance(copy, BrokenExecutor):
            return copy
    return RemoteError(described(error))


def serve() -> None:
    """Answer requests from standard input until the parent is gone."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with open(os.devnull) as empty:
        os.dup2(empty.fileno(), 0)  # also for programs that evaluations start
    os.dup2(2, 1)  # what they print is no answer
    Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    problem, own = cast(Any, None), os.getpid()
    with suppress(EOFError, OSError):
        while True:
            message = pickle.load(requests)
            try:
                given = pickle.loads(message)
                found, problem = (None, given) if problem is None else (evaluated(problem, given), problem)
                answer = cloudpickle.dumps((found, None))  # by value: it may have classes of the script
            except BaseException as error:  # of the evaluation, or of pickling
                sent = _sendable(error)
                sent.add_note(shortened("".join(traceback.format_exception(error))))
                answer = cloudpickle.dumps((None, sent))
            if os.getpid() != own:  # a child that the evaluation has forked must not answer, too
                os._exit(1)
            pickle.dump(answer, answers)
            answers.flush()
    _end()


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
