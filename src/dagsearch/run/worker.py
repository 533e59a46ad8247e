"""What another process does: it evaluates leaves, and sends back something that can always be sent.

A worker evaluates the leaves that its parent sends, until the parent is gone.

A message to the worker is one of the kinds :data:`PROBLEM` and :data:`LEAF` with the pickled object; to the
parent it is one of the kinds :data:`BEGUN`, :data:`ENDED` and :data:`UNUSABLE` with its content.
"""

import os
import pickle
import signal
import traceback
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

import cloudpickle

from dagsearch.posterior.units import checked_reward
from dagsearch.problem import Problem, State

PROBLEM, LEAF = b"P", b"L"
BEGUN, ENDED, UNUSABLE = "begun", "ended", "unusable"

# Seconds between two looks at whether the parent still exists, in case its end of the pipe does not tell.
_LOOK = 5.0


class RemoteError(Exception):
    """An error of an evaluation in another process that cannot be sent here; the message names its class."""


class RemoteTraceback(Exception):
    """The traceback of an error in another process, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class Outcome(NamedTuple):
    """A reward or an error, made of numbers, text and bytes."""

    reward: float
    """The reward; 0 if there is an error."""
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
        return cls(0.0, sent, described(error), "".join(traceback.format_exception(error)))

    def get(self) -> float:
        """The reward; raises the error if there is one."""
        if self.error is None:
            return self.reward
        try:
            error = pickle.loads(self.error)
        except Exception:
            error = None
        if not isinstance(error, Exception):
            error = RemoteError(self.described)
        raise error from RemoteTraceback(self.traceback)


def evaluate(problem: Problem, leaf: State) -> Outcome:
    """Compute a reward in another thread or process. Whatever is wrong is in the outcome."""
    try:
        return Outcome(checked_reward(problem.reward(leaf), leaf))
    except (Exception, SystemExit) as error:
        return Outcome.of(error)


def described(error: Any) -> str:
    """Class and message of an error, even if the message cannot be made."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return type(error).__name__


def serve(connection: Connection, parent: int) -> None:
    """Evaluate what comes through a connection; ``parent`` is the process at its other end."""
    # Ctrl-C in a terminal reaches the workers, too. The parent decides what it means. SIG_IGN would be passed
    # on to programs that an evaluation starts.
    signal.signal(signal.SIGINT, lambda *_: None)
    messages: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(connection, parent, messages), daemon=True).start()
    problem: Any = None
    while True:
        message = messages.get()
        kind, content = message[:1], message[1:]
        if kind == PROBLEM:
            try:
                problem = pickle.loads(content)
            except BaseException as error:
                connection.send((UNUSABLE, described(error)))
        else:
            connection.send((ENDED, _evaluated(connection, problem, content)))


def _evaluated(connection: Connection, problem: Any, content: bytes) -> Outcome:
    try:
        leaf = pickle.loads(content)
    except Exception as error:
        return Outcome.of(error)
    connection.send((BEGUN, None))
    return evaluate(problem, leaf)


def _receive(connection: Connection, parent: int, messages: "SimpleQueue[bytes]") -> None:
    """Queue messages; end the process once nobody is left who could send one, even during an evaluation."""
    try:
        while True:
            if connection.poll(_LOOK):
                messages.put(connection.recv_bytes())
            elif os.getppid() != parent:
                break
    except (EOFError, OSError):
        pass
    os._exit(1)
