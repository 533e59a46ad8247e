"""What another process does: it evaluates leaves, and sends back something that can always be sent.

A worker evaluates the leaves that its parent sends, until the parent is gone.

A message is a tuple of its kind, a number and its content. To the worker the kinds are :data:`PROBLEM` and
:data:`LEAF`, with the pickled object. To the parent they are :data:`BEGUN`, :data:`ENDED` and
:data:`UNUSABLE`, with the number of the message that they answer. Only the worker itself answers, not a
process that an evaluation has forked.
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

from dagsearch._internal.texts import described, shortened
from dagsearch.posterior.units import checked_reward
from dagsearch.problem import Edge, Problem, State
from dagsearch.problems import FunctionProblem
from dagsearch.run.forks import only_here
from dagsearch.run.programs import end_programs

PROBLEM, LEAF = "problem", "leaf"
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
    """The expensive call: the reward of a leaf, with the leaf if only now it is known, or a costly step."""
    if isinstance(leaf, Edge):
        return problem.expand(*leaf)
    return problem.evaluate(leaf) if isinstance(problem, FunctionProblem) else problem.reward(leaf)


def checked_outcome(found: Any, leaf: State) -> Any:
    """What :func:`evaluated` has returned; raises if it is a reward that a search cannot learn from."""
    if isinstance(leaf, Edge):
        return found
    return (
        (found[0], checked_reward(found[1], found[0]))
        if isinstance(found, tuple)
        else checked_reward(found, leaf)
    )


def evaluate(problem: Problem, leaf: State) -> Outcome:
    """Make the expensive call in another thread or process. Whatever is wrong is in the outcome."""
    try:
        with only_here():
            return Outcome(checked_outcome(evaluated(problem, leaf), leaf))
    except (Exception, SystemExit) as error:
        return Outcome.of(error)


def serve(connection: Connection, parent: int, mark: str) -> None:
    """Evaluate what comes through a connection.

    Parameters
    ----------
    connection : Connection
        This end of the connection.
    parent : int
        The process at its other end.
    mark : str
        The mark of this process and of the programs that evaluations start, which end with the parent.
    """
    # Ctrl-C in a terminal reaches the workers, too. The parent decides what it means. SIG_IGN would be passed
    # on to programs that an evaluation starts.
    signal.signal(signal.SIGINT, lambda *_: None)
    messages: SimpleQueue[tuple[str, int, bytes]] = SimpleQueue()
    Thread(target=_receive, args=(connection, parent, mark, messages), daemon=True).start()
    problem: Any = None
    while True:
        kind, number, content = messages.get()
        try:
            with only_here():
                loaded = pickle.loads(content)
        except BaseException as error:
            failed = (UNUSABLE, described(error)) if kind == PROBLEM else (ENDED, Outcome.of(error))
            connection.send((failed[0], number, failed[1]))
            continue
        if kind == PROBLEM:
            problem = loaded
        else:
            connection.send((BEGUN, number, None))
            connection.send((ENDED, number, evaluate(problem, loaded)))


def _receive(
    connection: Connection, parent: int, mark: str, messages: "SimpleQueue[tuple[str, int, bytes]]"
) -> None:
    """Queue messages; end the process once nobody is left who could send one, even during an evaluation."""
    try:
        while True:
            if connection.poll(_LOOK):
                messages.put(connection.recv())
            elif os.getppid() != parent:
                break
    except (EOFError, OSError):
        pass
    end_programs(mark)
    os._exit(1)
