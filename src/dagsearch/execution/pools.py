"""Pools that compute rewards: in this thread, in processes, or on an executor."""

import os
import pickle
import time
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any, Protocol

from dagsearch._internal.checks import is_finite, is_whole
from dagsearch.errors import DagSearchError
from dagsearch.problem import Problem, State
from dagsearch.results import Proposal

# With at most this number of workers, no evaluation is submitted in advance.
_FEW = 2
# Seconds in which Dask's scheduler must answer.
_SCHEDULER_TIMEOUT = 30.0
# Maximum number of restarts of the processes in a row without a reward.
_MOST_RESTARTS = 3


class PoolError(DagSearchError, RuntimeError):
    """The workers have stopped working. Nothing that was told is lost: run again to continue."""


@dataclass(eq=False)
class Running:
    """An evaluation that has begun."""

    proposal: Proposal
    """What is evaluated."""
    future: "Future[Any]"
    """The future reward."""
    started: float = field(default_factory=time.monotonic)
    """When it began, by ``time.monotonic()``."""
    late: bool = False
    """Whether it took longer than the timeout."""


class Pool(Protocol):
    """Computes rewards."""

    def workers(self) -> int:
        """Maximum number of evaluations that may run now, including those submitted in advance."""

    def start(self, problem: Problem, proposal: Proposal) -> Running:
        """Begin an evaluation."""

    def finished(
        self, running: Sequence[Running], problem: Problem, patience: float | None = None
    ) -> list[Running]:
        """Wait until evaluations have ended or are late; returns these, in the order in which they began.

        After ``patience`` seconds, if it is a number, none may have ended.
        """

    def abandon(self, one: Running, others: Sequence[Running], problem: Problem) -> None:
        """Wait no longer for an evaluation that may hang; ``others`` are to go on."""

    def close(self) -> None:
        """Release the resources of this run."""


class _Ended(Future[Any]):
    """A future that is done from the start. It has no locks, which would take longer than a cheap search."""

    def __init__(self, reward: Any, error: Exception | None) -> None:
        self._reward, self._error = reward, error

    def done(self) -> bool:
        return True

    def cancel(self) -> bool:
        return False

    def cancelled(self) -> bool:
        return False

    def running(self) -> bool:
        return False

    def add_done_callback(self, fn: Callable[[Future[Any]], object]) -> None:
        fn(self)

    def __repr__(self) -> str:
        return f"<ended with {self._reward if self._error is None else self._error!r}>"

    def result(self, timeout: float | None = None) -> Any:
        if self._error is not None:
            raise self._error
        return self._reward

    def exception(self, timeout: float | None = None) -> Exception | None:
        return self._error


class SerialPool:
    """One evaluation at a time, in the calling thread."""

    def workers(self) -> int:
        """One."""
        return 1

    def start(self, problem: Problem, proposal: Proposal) -> Running:
        """Evaluate. Ctrl-C is raised at once; any other error is kept in the future."""
        try:
            return Running(proposal, _Ended(problem.reward(proposal.leaf), None))
        except Exception as error:
            return Running(proposal, _Ended(None, error))

    def finished(
        self, running: Sequence[Running], problem: Problem, patience: float | None = None
    ) -> list[Running]:
        """All are."""
        return list(running)

    def abandon(self, one: Running, others: Sequence[Running], problem: Problem) -> None:
        """Do nothing: it has ended."""

    def close(self) -> None:
        """Nothing."""


class ExecutorPool:
    """Evaluations on an executor: threads, processes, a cluster.

    Parameters
    ----------
    executor : Executor
        An executor as in :mod:`concurrent.futures`, such as ``dask.distributed.Client(...).get_executor()``.
    timeout : float, optional
        Seconds after which an evaluation counts as failed.
    deterministic : bool
        Whether results are taken in the order in which evaluations began.
    """

    def __init__(self, executor: Executor, timeout: float | None, deterministic: bool) -> None:
        self._executor, self._timeout, self._deterministic = executor, timeout, deterministic
        self._stuck: list[Future[Any]] = []  # late evaluations that still occupy a worker

    def workers(self) -> int:
        """Number of workers of the executor now, plus one evaluation in advance if there are many."""
        self._stuck = [future for future in self._stuck if not future.done()]
        left = self._size() - len(self._stuck)
        if left < 1 and self._stuck:
            raise PoolError(_broken(TimeoutError("all workers hang in evaluations that are late")))
        # One evaluation in advance lets a free worker start without waiting for the search. With a timeout
        # its time would start too early, and with few workers it would be decided with too few rewards.
        waiting = 1 if self._timeout is None and left > _FEW else 0
        return max(1, left) + waiting

    def _size(self) -> int:
        own = getattr(self._executor, "_max_workers", None)
        if own is not None:
            return int(own)
        client = getattr(self._executor, "_client", None)  # an executor of Dask
        if client is not None:
            try:
                # A scheduler that has gone away would be waited for without end.
                threads = client.nthreads(callback_timeout=_SCHEDULER_TIMEOUT)
                return int(sum(threads.values()))
            except OSError as error:
                raise PoolError(_broken(error)) from error
        return os.cpu_count() or 1

    def start(self, problem: Problem, proposal: Proposal) -> Running:
        """Submit an evaluation to the executor."""
        try:
            # By default Dask returns the cached reward if a leaf is evaluated again.
            options = {"pure": False} if hasattr(self._executor, "_client") else {}
            return Running(proposal, self._executor.submit(_reward, problem, proposal.leaf, **options))
        except (BrokenExecutor, RuntimeError) as error:
            raise PoolError(_broken(error)) from error

    def finished(
        self, running: Sequence[Running], problem: Problem, patience: float | None = None
    ) -> list[Running]:
        """Wait."""
        awaited = running[:1] if self._deterministic else running
        left = patience
        if self._timeout is not None:
            until = max(0.0, min(one.started for one in awaited) + self._timeout - time.monotonic())
            left = until if patience is None else min(until, patience)
        wait([one.future for one in awaited], left, FIRST_COMPLETED)
        now = time.monotonic()
        for one in awaited:
            if not one.future.done() and self._timeout is not None and now - one.started >= self._timeout:
                one.late = True
                if not one.future.cancel():
                    self._stuck.append(one.future)
        ended = [one for one in awaited if one.late or one.future.done()]
        for one in ended:
            if not one.late and (broken := breakdown(one.future)) is not None:
                raise PoolError(_broken(broken)) from broken
        return ended

    def abandon(self, one: Running, others: Sequence[Running], problem: Problem) -> None:
        """Cancel it; if it has begun, it occupies its worker until it ends."""
        if not one.future.cancel():
            self._stuck.append(one.future)

    def close(self) -> None:
        """Do nothing: the caller owns the executor."""


class ProcessPool(ExecutorPool):
    """Evaluations in processes that this pool starts, and restarts if they die or hang.

    Parameters
    ----------
    jobs : int
        Number of processes.
    timeout, deterministic
        As for :class:`ExecutorPool`.
    """

    def __init__(self, jobs: int, timeout: float | None, deterministic: bool) -> None:
        self._jobs, self._restarts = jobs, 0
        super().__init__(self._new_executor(), timeout, deterministic)

    def _new_executor(self) -> Executor:
        from loky import ProcessPoolExecutor as Loky

        return Loky(max_workers=self._jobs)  # type: ignore[no-any-return]

    def finished(
        self, running: Sequence[Running], problem: Problem, patience: float | None = None
    ) -> list[Running]:
        """Wait; evaluations of a process that died are started again."""
        while True:
            try:
                ended = super().finished(running, problem, patience)
            except PoolError:
                self._restarts += 1
                if self._restarts > _MOST_RESTARTS:
                    raise
                self._begin_again(running, problem)
                continue
            if ended:
                self._restarts = 0
            if any(one.late for one in ended):  # they still occupy their processes
                self._begin_again([one for one in running if one not in ended], problem)
            return ended

    def abandon(self, one: Running, others: Sequence[Running], problem: Problem) -> None:
        """End its process; the other evaluations begin again."""
        if not one.future.cancel():
            self._begin_again(others, problem)

    def _begin_again(self, running: Sequence[Running], problem: Problem) -> None:
        lost = [one for one in running if not one.future.done() or breakdown(one.future) is not None]
        self.close()
        self._executor, self._stuck = self._new_executor(), []
        for one in lost:
            again = self.start(problem, one.proposal)
            one.future, one.started = again.future, again.started

    def close(self) -> None:
        """End the processes, even if they are busy."""
        self._executor.shutdown(wait=False, kill_workers=True)  # type: ignore[call-arg]


def make_pool(
    problem: Problem,
    executor: Executor | None,
    n_jobs: int | None,
    timeout: float | None,
    deterministic: bool,
) -> Pool:
    """The pool that the arguments of :meth:`dagsearch.Search.run` ask for."""
    if executor is not None and n_jobs is not None:
        raise ValueError("executor and n_jobs are both given: give only one of them")
    if timeout is not None and (not is_finite(timeout) or timeout <= 0.0):
        raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}")
    if executor is None and n_jobs is None:
        if timeout is not None:
            raise ValueError(
                "timeout needs an executor or n_jobs: an evaluation in the calling thread cannot be ended"
            )
        return SerialPool()
    if executor is None:
        if not is_whole(n_jobs) or (n_jobs is not None and n_jobs < 1 and n_jobs != -1):
            raise ValueError(f"n_jobs must be a positive whole number, or -1 for all cores, got {n_jobs!r}")
        jobs = (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs or 1)
        _check_picklable(problem, by_value=True)
        return ProcessPool(jobs, timeout, deterministic)
    if not callable(getattr(executor, "submit", None)):
        raise ValueError(f"executor must have a submit method, got {executor!r}")
    if isinstance(executor, ProcessPoolExecutor):
        _check_picklable(problem, by_value=False)
    elif hasattr(executor, "_client"):  # Dask can send lambdas, too
        _check_picklable(problem, by_value=True)
    return ExecutorPool(executor, timeout, deterministic)


def _check_picklable(problem: Problem, by_value: bool) -> None:
    """Raise, before anything runs, if the problem cannot be sent to another process."""
    try:
        if by_value:
            import cloudpickle

            cloudpickle.dumps(problem)
        else:
            pickle.dumps(problem)
    except Exception as error:
        raise ValueError(
            f"{type(problem).__name__} cannot be sent to another process ({type(error).__name__}: {error}). "
            "Define it and its reward in a module, without open files, locks or lambdas; or use threads"
        ) from error


def _reward(problem: Problem, leaf: State) -> float:
    return problem.reward(leaf)


def breakdown(future: "Future[Any]") -> BaseException | None:
    """The error if a future ended because its worker did, not its evaluation; otherwise ``None``."""
    if future.cancelled():
        return BrokenExecutor("the evaluation was cancelled")
    error = future.exception()
    ended = type(error).__name__ in ("KilledWorker", "ShutdownExecutorError")  # of Dask and loky
    return error if isinstance(error, BrokenExecutor) or ended else None


def _broken(error: BaseException) -> str:
    return (
        f"the workers have stopped working ({type(error).__name__}: {error}). Nothing that was told is lost: "
        "run again with an executor that works to continue"
    )
