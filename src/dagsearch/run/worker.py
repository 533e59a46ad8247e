"""The worker: evaluates leaves, and sends back results that can always be pickled.

A worker process is sent pairs of a problem and a leaf, both pickled; the problem is ``None`` if it has not
changed. It answers with ``None``, or with the reason why it cannot load the problem, and then with the reward
or step and the error, one of which is ``None``.
"""

import os
import pickle
import signal
import sys
import traceback
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any

import cloudpickle

from dagsearch._internal.texts import described, shortened
from dagsearch.posterior.units import checked_reward
from dagsearch.problem import Edge, Problem, State
from dagsearch.problems import FunctionProblem

# Seconds between two checks of the parent, whose end of the pipe may stay open in a process that it forked.
_CHECK = 5.0


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
            connection.send(described(error))
            return
        connection.send(None)
        connection.send_bytes(_answer(problem, leaf))


def _answer(problem: Any, leaf: bytes) -> bytes:
    """What a leaf has led to, pickled by value, because it may have classes of the user's script."""
    try:
        return bytes(cloudpickle.dumps((evaluate(problem, pickle.loads(leaf)), None)))
    except Exception as error:  # of the evaluation, or of pickling
        sent = _sendable(error)
        sent.add_note(shortened("".join(traceback.format_exception(error))))
        return bytes(cloudpickle.dumps((None, sent)))


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
