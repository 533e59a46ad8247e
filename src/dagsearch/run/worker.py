"""The worker: evaluates leaves, and sends back results that can always be pickled.

A worker process is sent a problem and then leaves, pickled. It answers each with a pair of the reward or step
and the error, one of which is ``None``.
"""

import os
import pickle
import signal
import sys
import time
import traceback
from collections.abc import Callable
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
