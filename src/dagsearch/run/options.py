"""Where and how rewards are computed, as keywords."""

from concurrent.futures import Executor
from typing import TypedDict

from dagsearch.run.runner import OnError


class Execution(TypedDict, total=False):
    """Where and how rewards are computed: the keywords of :meth:`Search.steps`."""

    executor: Executor | None
    """Executor that evaluates leaves; by default the calling thread does."""
    n_jobs: int | None
    """Number of processes to evaluate in; -1 for one per core."""
    timeout: float | None
    """Seconds after which an evaluation counts as failed."""
    on_error: OnError
    """What to do about a failed evaluation: ``"raise"`` an error, ``"skip"`` it, or tell this reward."""
    deterministic: bool
    """Whether rewards are learnt in the order in which they were asked for."""
