"""What an evaluation in another process sends back: always something that can be sent."""

import pickle
import traceback
from typing import Any, NamedTuple

import cloudpickle

from dagsearch.posterior.units import checked_reward
from dagsearch.problem import Problem, State


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
