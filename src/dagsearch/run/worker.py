"""The worker: evaluates leaves, and sends back results that can always be pickled.

A worker process is sent a problem and then leaves, pickled. It answers with nothing, or with the reason why
it cannot load the problem, and then with the reward or step of each leaf and the error, one of which is
``None``.
"""

import os
import pickle
import signal
import sys
import time
import traceback
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from threading import Thread
from typing import Any, BinaryIO

import cloudpickle

from dagsearch._internal.texts import described, shortened
from dagsearch.posterior.units import checked_reward
from dagsearch.problem import Edge, Problem, State
from dagsearch.problems import FunctionProblem

# Seconds between two checks of the parent.
_CHECK = 1.0


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
    with suppress(EOFError, OSError):
        problem, unusable = _loaded(pickle.load(requests))
        _send(unusable.encode(), answers)
        while not unusable:
            _send(_outcome(problem, pickle.load(requests)), answers)
    _end()


def _send(answer: bytes, answers: BinaryIO) -> None:
    pickle.dump(answer, answers)
    answers.flush()


def _loaded(problem: bytes) -> tuple[Any, str]:
    """The problem, and why it cannot be loaded; empty if it can."""
    try:
        return pickle.loads(problem), ""
    except (Exception, SystemExit) as error:
        return None, described(error)


def _outcome(problem: Any, leaf: bytes) -> bytes:
    """What a leaf has led to, pickled by value, because it may have classes of the user's script."""
    try:
        return bytes(cloudpickle.dumps((evaluate(problem, pickle.loads(leaf)), None)))
    except Exception as error:  # of the evaluation, or of pickling
        sent = _sendable(error)
        sent.add_note(shortened("".join(traceback.format_exception(error))))
        return bytes(cloudpickle.dumps((None, sent)))


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
