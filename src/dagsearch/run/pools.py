"""Pools that compute rewards: in this thread, in processes, or on an executor."""

import os
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from threading import TIMEOUT_MAX
from typing import Any, cast

from dagsearch._internal.checks import check, is_budget, is_positive, is_whole
from dagsearch._internal.texts import shown
from dagsearch.errors import DagSearchError
from dagsearch.problem import Problem, State
from dagsearch.run.processes import Processes, evaluate, evaluated

# Seconds in which Dask's scheduler must answer.
_SCHEDULER_TIMEOUT = 30.0


class PoolError(DagSearchError, RuntimeError):
    """The workers have stopped working. No reported reward is lost: run again to continue."""

    @classmethod
    def of(cls, error: BaseException) -> "PoolError":
        """The error of a run whose workers have failed with this one."""
        return cls(
            f"the workers have stopped working ({type(error).__name__}: {error}). No reported reward is "
            "lost: run again with a working executor to continue"
        )


class Serial(Executor):
    """Evaluates in the calling thread, at once. Ctrl-C is raised there, in :meth:`submit`."""

    _max_workers = 1

    def submit(self, call: Any, /, problem: Any, leaf: Any) -> "Future[Any]":  # type: ignore[override]
        future = Future[Any]()
        try:
            future.set_result(evaluated(problem, leaf))
        except Exception as error:
            future.set_exception(error)
        return future


class Pool:
    """Computes rewards on an executor of :mod:`concurrent.futures`: in this thread, others, or a cluster.

    If it is ``deterministic``, results are taken in the order in which evaluations began.
    """

    _executor: Executor | None = None

    def __init__(self, executor: Executor, deterministic: bool) -> None:
        self._executor, self._deterministic = executor, deterministic
        self._client: Any = getattr(executor, "_client", None)  # of Dask
        # By default Dask returns the cached reward if a leaf is evaluated again.
        self._settings = {} if self._client is None else {"pure": False}

    def workers(self) -> int:
        """Maximum number of evaluations at a time."""
        if self._client is None:
            return int(getattr(self._executor, "_max_workers", None) or os.cpu_count() or 1)
        try:  # a scheduler that is gone would be awaited forever
            return sum(self._client.nthreads(callback_timeout=_SCHEDULER_TIMEOUT).values()) or 1
        except OSError as error:
            raise PoolError.of(error) from error

    def start(self, problem: Problem, leaf: State) -> "Future[Any]":
        """Begin an evaluation."""
        try:
            return cast(Executor, self._executor).submit(evaluate, problem, leaf, **self._settings)
        except (BrokenExecutor, RuntimeError, OSError) as error:
            raise PoolError.of(error) from error

    def finished(
        self, running: Sequence["Future[Any]"], patience: float | None = None
    ) -> Sequence["Future[Any]"]:
        """Wait until evaluations have ended; returns these, in the order in which they began.

        After ``patience`` seconds, if it is a number, none may have ended.
        """
        awaited = running[:1] if self._deterministic else running
        wait(awaited, patience, FIRST_COMPLETED)
        ended = [one for one in awaited if one.done()]
        for one in ended:
            if (broken := breakdown(one)) is not None and not isinstance(self._executor, Serial):
                raise PoolError.of(broken) from broken
        return ended

    def close(self) -> None:
        """Release the resources of this run."""
        if isinstance(self._executor, Processes):
            self._executor.shutdown()


def make_pool(
    problem: Problem, executor: Any, n_jobs: int | None, timeout: float | None, deterministic: bool
) -> Pool:
    """The pool that the arguments of :meth:`dagsearch.Search.run` ask for."""
    if executor is not None and n_jobs is not None:
        raise ValueError("executor and n_jobs are both given: give only one of them")
    check(timeout is None or is_positive(timeout), "timeout", "a positive number of seconds", timeout)
    if n_jobs is not None:
        sound = is_budget(n_jobs) or (is_whole(n_jobs) and n_jobs == -1)
        check(sound, "n_jobs", "a positive whole number, or -1 for all cores", n_jobs)
        jobs = (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs)
        return Pool(Processes(problem, jobs, min(timeout or TIMEOUT_MAX, TIMEOUT_MAX)), deterministic)
    if timeout is not None:
        raise ValueError("timeout needs n_jobs: only a process of its own can be ended, with its evaluation")
    if executor is None:
        return Pool(Serial(), deterministic)
    if hasattr(executor, "get_executor"):  # a client of Dask
        executor = executor.get_executor()
    if not callable(getattr(executor, "submit", None)):
        raise ValueError(f"executor must have a submit method, got {shown(executor)}")
    return Pool(executor, deterministic)


def breakdown(future: "Future[Any]") -> BaseException | None:
    """The error if a future ended because its worker did, not its evaluation; otherwise ``None``."""
    if future.cancelled():
        return BrokenExecutor("the evaluation was cancelled")
    error = future.exception()
    # Dask's KilledWorker is not among these: it means that this evaluation crashes every worker.
    return error if isinstance(error, BrokenExecutor) else None
