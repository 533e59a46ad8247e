"""Everything that can go wrong by name. Each message says what to do about it."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dagsearch.results import Result


class DagSearchError(Exception):
    """Base of this package's own errors."""


class ProblemError(DagSearchError, ValueError):
    """A problem breaks the contract of :class:`dagsearch.Problem`."""


class CovarianceError(DagSearchError, ValueError):
    """A covariance is not one: not finite, not symmetric or not positive semi-definite."""


class RewardError(DagSearchError, ValueError):
    """A reward is not a finite number. The model is unchanged."""


class EvaluationError(DagSearchError, RuntimeError):
    """The user's ``reward`` raised an exception, or returned something that is no reward.

    Nothing told before is lost: ``error.result`` holds it, and the search itself can go on.
    """

    result: "Result | None" = None
    """What the search knew when the evaluation failed."""


class SearchExhausted(DagSearchError):
    """Every leaf has been evaluated, and the search was told not to evaluate one twice."""


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C during :func:`dagsearch.search`; ``error.result`` holds what was found until then."""

    result: "Result"
    """The search's result at the interruption."""
