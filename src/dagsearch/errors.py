"""All errors of this package. Each message explains how to correct the error."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dagsearch.results import Result


class DagSearchError(Exception):
    """Base class of this package's errors."""

    result: "Result | None" = None
    """The result so far, if the error ended :func:`dagsearch.search` or a similar function."""


class ProblemError(DagSearchError, ValueError):
    """A problem breaks the contract of :class:`dagsearch.Problem`."""


class CovarianceError(DagSearchError, ValueError):
    """A covariance is not valid: not finite, not symmetric or not positive semi-definite."""


class RewardError(DagSearchError, ValueError):
    """A reward is not a finite number. The model is unchanged."""


class EvaluationError(DagSearchError, RuntimeError):
    """The user's ``reward`` raised an exception or did not return a finite number.

    Earlier rewards are not lost: ``error.result`` holds them, and the search can continue.
    """


class SearchExhausted(DagSearchError):
    """Every leaf has been evaluated, and the search evaluates no leaf twice."""


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C during :func:`dagsearch.search`; ``error.result`` is the result so far."""

    result: "Result"
    """The result at the time of the interruption."""


class StorageError(DagSearchError, RuntimeError):
    """A stored run cannot be created, read, continued or written."""
