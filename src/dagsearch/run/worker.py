"""What a worker does: it evaluates leaves, and sends back something that can always be sent.

A worker process is sent pairs of a problem and a leaf, both pickled; the problem is ``None`` if it has not
changed. It answers with :data:`BEGUN`, then :data:`ENDED` and an :class:`Outcome`; or with :data:`UNUSABLE`
and the reason why it cannot load the problem.
"""

import os
import pickle
import signal
import sys
import traceback
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

import cloudpickle

from dagsearch._internal.texts import described, shortened
from dagsearch.posterior.units import checked_reward
from dagsearch.problem import Edge, Problem, State
from dagsearch.problems import FunctionProblem

BEGUN, ENDED, UNUSABLE = "begun", "ended", "unusable"

# Seconds between two checks of the parent, whose end of the pipe may stay open in a process that it forked.
_CHECK = 5.0


class RemoteError(Exception):
    """An error of an evaluation in another process that cannot be sent here; the message names its class."""


class RemoteTraceback(Exception):
    """The traceback of an error in another process, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Outcome(NamedTuple):
    """A reward or a step, or an error, made of numbers, text and bytes."""

    reward: Any
    """The reward or step; 0 if there is an error."""
    error: bytes | None = None
    """The error, pickled, which may fail to unpickle; ``None`` if there is none."""
    described: str = ""
    """Class and message of the error."""
    traceback: str = ""
    """Its traceback."""

    @classmethod
    def of(cls, error: BaseException) -> "Outcome":
        """The outcome of an evaluation that raised an error."""
        try:
            sent = cloudpickle.dumps(error)
        except Exception:
            sent = b""
        return cls(0.0, sent, described(error), shortened("".join(traceback.format_exception(error))))

    def get(self) -> Any:
        """The reward or step; raises the error if there is one."""
        if self.error is None:
            return self.reward
        try:
            error = pickle.loads(self.error)
        except Exception:
            error = None
        if not isinstance(error, Exception):
            error = RemoteError(self.described)
        raise error from RemoteTraceback(self.traceback)


def evaluated(problem: Any, leaf: State) -> Any:
    """The expensive call: the reward of a leaf, with the leaf if only now it is known, or a costly step.

    Raises if it is a reward that a search cannot learn from.
    """
    if isinstance(leaf, Edge):
        return problem.expand(*leaf)
    if isinstance(problem, FunctionProblem):
        leaf, reward = problem.evaluate(leaf)
        return leaf, checked_reward(reward, leaf)
    return checked_reward(problem.reward(leaf), leaf)


def evaluate(problem: Problem, leaf: State) -> Outcome:
    """Make the expensive call in another thread or process. Whatever is wrong is in the outcome."""
    try:
        return Outcome(evaluated(problem, leaf))
    except (Exception, SystemExit) as error:
        return Outcome.of(error)


def serve() -> None:
    """Evaluate what comes through standard input, which is a connection to the parent process."""
    connection = _connection()
    messages: SimpleQueue[tuple[bytes | None, bytes]] = SimpleQueue()
    Thread(target=_receive, args=(connection, messages), daemon=True).start()
    problem: Any = None
    while True:
        content, leaf = messages.get()
        try:
            problem = problem if content is None else pickle.loads(content)
        except (Exception, SystemExit) as error:
            connection.send((UNUSABLE, described(error)))
            return
        connection.send((BEGUN, None))
        connection.send_bytes(_answer(problem, leaf))


def _answer(problem: Any, leaf: bytes) -> bytes:
    """The outcome of a leaf, pickled by value, because it may have classes of the user's script."""
    try:
        return bytes(cloudpickle.dumps((ENDED, evaluate(problem, pickle.loads(leaf)))))
    except Exception as error:  # of pickling
        return pickle.dumps((ENDED, Outcome.of(error)))


def _connection() -> Any:
    """The connection to the parent. Standard input is empty from now on, for programs of evaluations too."""
    if sys.platform == "win32":
        import msvcrt
        from multiprocessing import connection, reduction

        parent = connection.PipeConnection(reduction.duplicate(msvcrt.get_osfhandle(0)))
    else:
        parent = Connection(os.dup(0))
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    return parent


def _receive(connection: Any, messages: "SimpleQueue[tuple[bytes | None, bytes]]") -> None:
    """Queue messages. Once the parent is gone, end this process and its programs, even in an evaluation."""
    parent = os.getppid()
    with suppress(EOFError, OSError):
        while connection.poll(_CHECK) or os.getppid() == parent:
            if connection.poll():
                messages.put(connection.recv())
    if sys.platform != "win32":
        os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)
