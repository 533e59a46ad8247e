"""Worker processes: each has its own connection, so that one that dies or hangs takes no other with it."""

import io
import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing import Pipe
from multiprocessing.util import Finalize
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any

import cloudpickle

from dagsearch.problem import Edge, Problem, State
from dagsearch.run.programs import CAN_FIND, end_programs, new_mark
from dagsearch.run.worker import BEGUN, LEAF, PROBLEM, UNUSABLE, serve

# How often an evaluation is begun if its process dies each time.
_ATTEMPTS = 3
# Seconds between two looks at whether a silent process is alive, in case its end of the pipe does not tell.
_LOOK = 1.0


class ProcessDied(RuntimeError):
    """An evaluation was started several times, and each time its process ended."""


class Evaluating(Future[Any]):
    """The future outcome of an evaluation in a worker process."""

    began: float | None = None
    """When the worker began to compute the reward, by ``time.monotonic()``; ``None`` before."""


@dataclass(eq=False)
class _Task:
    problem: bytes
    leaf: bytes
    future: Evaluating
    attempts: int
    given_up: bool = False


class _Death(Exception):
    """A process ended."""


class _Attendant(Thread):
    """Hands tasks to one worker process, which it starts when needed and again after its death."""

    def __init__(self, tasks: "SimpleQueue[_Task | None]") -> None:
        super().__init__(daemon=True, name="dagsearch worker")
        self._tasks = tasks
        self._lock = Lock()
        self._task: _Task | None = None
        self._process: Any = None
        self._mark = ""  # of the process and of the programs that it starts
        self._numbers = count()  # of messages
        self._connection: Any = None
        self._problem: bytes | None = None  # what the process was sent
        self._closed = False

    def run(self) -> None:
        while (task := self._tasks.get()) is not None:
            if task.future.set_running_or_notify_cancel():
                self._take(task)
                try:
                    self._evaluate(task)
                except BaseException as error:  # such as no memory for another process
                    task.future.set_exception(BrokenExecutor(f"{type(error).__name__}: {error}"))
                self._take(None)

    def _take(self, task: _Task | None) -> None:
        with self._lock:
            self._task = task

    def _evaluate(self, task: _Task) -> None:
        """Set the future's result: an outcome, or why there is none."""
        for _ in range(task.attempts):
            task.future.began = None
            try:
                kind, content = self._ask(task)
            except _Death as death:
                if task.given_up or self._closed:
                    task.future.set_exception(BrokenExecutor("the evaluation was given up"))
                    return
                ended = f"its worker process {death}"
                if task.attempts > 1:
                    ended += f", {task.attempts} times in a row"
                continue
            if kind == UNUSABLE:
                task.future.set_exception(BrokenExecutor(f"the problem cannot be loaded there: {content}"))
            else:
                task.future.set_result(content)
            return
        if task.future.began is None:
            task.future.set_exception(BrokenExecutor(f"{ended}, before the evaluation could begin"))
        else:
            task.future.set_exception(ProcessDied(ended))

    def _ask(self, task: _Task) -> tuple[str, Any]:
        """What the worker answers; raises if it dies."""
        self._ensure_process()
        sent = set()
        try:
            if self._problem is not task.problem:
                sent.add(self._send(PROBLEM, task.problem))
                self._problem = task.problem
            sent.add(self._send(LEAF, task.leaf))
        except OSError:
            raise self._death() from None
        kind, content = self._received(sent)
        if kind == BEGUN:
            task.future.began = time.monotonic()
            kind, content = self._received(sent)
        elif kind == UNUSABLE:
            self._kill()  # it has the leaf, too
        return kind, content

    def _send(self, kind: str, content: bytes) -> int:
        """Send a message; returns its number."""
        number = next(self._numbers)
        self._connection.send((kind, number, content))
        return number

    def _ensure_process(self) -> None:
        if self._process is not None and self._process.is_alive():
            return
        from loky.backend import get_context  # starts processes without importing the main module there

        here, there = Pipe()
        mark = new_mark()
        process = get_context("loky").Process(target=serve, args=(there, os.getpid(), mark), env={mark: "1"})
        with self._lock:
            if self._closed:
                raise _Death("was ended")
            with _flushable():
                process.start()
            self._process, self._mark, self._connection, self._problem = process, mark, here, None
        there.close()

    def _received(self, sent: "set[int]") -> tuple[str, Any]:
        """Kind and content of the next answer to one of these messages."""
        try:
            while True:
                while not self._connection.poll(_LOOK):
                    if not self._process.is_alive() and not self._connection.poll(0):
                        raise self._death()
                kind, number, content = self._connection.recv()
                if number in sent:
                    return kind, content
        except (EOFError, OSError):
            raise self._death() from None

    def _death(self) -> _Death:
        self._process.join(_LOOK)
        code = self._process.exitcode
        end_programs(self._mark)
        self._connection.close()
        self._process = None
        if code is not None and code < 0:
            with suppress(ValueError):
                return _Death(f"was killed by {signal.Signals(-code).name}")
        return _Death(f"ended with exit code {code}")

    def give_up(self, future: Evaluating) -> bool:
        """End the process that computes a future; false if this attendant does not have it or it is done."""
        with self._lock:
            task = self._task
            if task is None or task.future is not future or future.done():
                return False
            task.given_up = True
            self._kill()  # before the next task is given to it
        return True

    def _kill(self) -> None:
        """End the process, whatever it does, with the programs that it has started."""
        if self._process is None or not self._process.is_alive():
            return
        if CAN_FIND:
            end_programs(self._mark)
            with suppress(ProcessLookupError):
                os.kill(self._process.pid, signal.SIGKILL)  # even if it has changed its environment
            self._process.join()
        else:
            from loky.backend.utils import kill_process_tree

            kill_process_tree(self._process)

    def close(self) -> None:
        """Start no further process, and end the one there is."""
        with self._lock:
            self._closed = True
            self._kill()


_STARTING = Lock()


@contextmanager
def _flushable() -> Iterator[None]:
    """While entered, both standard streams can be flushed, as loky does before it starts a process.

    One that is closed or full is replaced; what other threads print there meanwhile would be lost anyway.
    """
    with _STARTING:
        before = sys.stdout, sys.stderr
        sys.stdout, sys.stderr = (io.StringIO() if _is_broken(stream) else stream for stream in before)
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


def _is_broken(stream: Any) -> bool:
    try:
        stream.flush()
    except (AttributeError, OSError, ValueError):  # none, full or closed
        return True
    return False


def _end(attendants: "list[_Attendant]", tasks: "SimpleQueue[_Task | None]") -> None:
    for attendant in attendants:
        tasks.put(None)
        attendant.close()
    for attendant in attendants:
        attendant.join(_LOOK)


class Processes:
    """A number of worker processes, started when there is work for them.

    Parameters
    ----------
    count : int
        Number of processes.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._attendants: list[_Attendant] = []
        self._problem: tuple[Problem | None, bytes] = None, b""
        # Also if nobody closes it: Python waits for child processes when it ends.
        self.close = Finalize(self, _end, (self._attendants, self._tasks), exitpriority=10)
        """End the processes, even if they are busy."""

    def submit(self, problem: Problem, leaf: State) -> Evaluating:
        """Let a worker compute the reward of a leaf; the future's result is an ``Outcome``.

        If the process dies, another one begins again, except with a costly step. If it dies every time, the
        future's error is :class:`ProcessDied`. If it dies before it can begin or cannot load the problem, it
        is a ``BrokenExecutor``.
        """
        if self._problem[0] is not problem:
            self._problem = problem, cloudpickle.dumps(problem)
        future = Evaluating()
        attempts = 1 if isinstance(leaf, Edge) else _ATTEMPTS  # no step is taken twice
        self._tasks.put(_Task(self._problem[1], cloudpickle.dumps(leaf), future, attempts))
        if len(self._attendants) < self._count:
            attendant = _Attendant(self._tasks)
            self._attendants.append(attendant)
            attendant.start()
        return future

    def give_up(self, future: Evaluating) -> bool:
        """End the process that computes a future, and no other; false if the future is done."""
        return any(attendant.give_up(future) for attendant in self._attendants)
