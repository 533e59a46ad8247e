"""Pools that compute rewards: in this thread, in processes, or on an executor."""

import math
import os
import pickle
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import suppress
from dataclasses import dataclass, field
from threading import TIMEOUT_MAX
from typing import Any, Protocol, cast

import cloudpickle

from dagsearch._internal.checks import is_finite, is_whole
from dagsearch._internal.texts import shown
from dagsearch.errors import DagSearchError
from dagsearch.problem import Problem
from dagsearch.results import Proposal
from dagsearch.run.forks import only_here
from dagsearch.run.processes import Evaluating, Processes
from dagsearch.run.programs import Watch
from dagsearch.run.worker import evaluate, evaluated

# With at most this number of workers, no evaluation is submitted in advance.
_FEW = 2
# Seconds in which Dask's scheduler must answer.
_SCHEDULER_TIMEOUT = 30.0
# Seconds between two attempts to end an evaluation that is neither waiting nor begun.
_MOMENT = 0.001


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
    """When it was submitted, by ``time.monotonic()``."""
    late: bool = False
    """Whether it took longer than the timeout."""
    note: dict[str, str] | None = None
    """What the journal is to say about where its reward comes from."""


class Pool(Protocol):
    """Computes rewards."""

    def workers(self) -> int:
        """Maximum number of evaluations that may run now, including those submitted in advance."""

    def start(self, problem: Problem, proposal: Proposal) -> Running:
        """Begin an evaluation."""

    def finished(self, running: Sequence[Running], patience: float | None = None) -> list[Running]:
        """Wait until evaluations have ended or are late; returns these, in the order in which they began.

        After ``patience`` seconds, if it is a number, none may have ended.
        """

    def abandon(self, one: Running) -> None:
        """Wait no longer for an evaluation that may hang."""

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

    def __init__(self) -> None:
        self._watch = Watch()

    def workers(self) -> int:
        """One."""
        return 1

    def start(self, problem: Problem, proposal: Proposal) -> Running:
        """Evaluate. Ctrl-C is raised at once; any other error is kept in the future."""
        self._watch.open()
        try:
            with only_here():
                return Running(proposal, _Ended(evaluated(problem, proposal.leaf), None))
        except Exception as error:
            return Running(proposal, _Ended(None, error))

    def finished(self, running: Sequence[Running], patience: float | None = None) -> list[Running]:
        """All are."""
        return list(running)

    def abandon(self, one: Running) -> None:
        """Do nothing: it has ended."""

    def close(self) -> None:
        """Watch no longer over the programs of evaluations."""
        self._watch.close()


class _WaitingPool:
    """What pools have in common that wait for futures, with or without a timeout."""

    def __init__(self, timeout: float | None, deterministic: bool) -> None:
        self._timeout, self._deterministic = timeout, deterministic

    def _in_advance(self, workers: int) -> int:
        """Number of evaluations to submit beyond the number of workers.

        One evaluation in advance lets a free worker start without waiting for the search. With a timeout its
        time would start too early, and with few workers it would be decided with too few rewards.
        """
        return 1 if self._timeout is None and workers > _FEW else 0

    def _began(self, one: Running) -> float | None:
        """When the time of an evaluation began; ``None`` if it has not."""
        return one.started

    def _give_up(self, one: Running) -> bool:
        """Stop waiting for an evaluation; false if it has ended meanwhile."""
        raise NotImplementedError

    def finished(self, running: Sequence[Running], patience: float | None = None) -> list[Running]:
        """Wait until evaluations have ended or are late; returns these, in the order in which they began."""
        awaited = running[:1] if self._deterministic else running
        ended: list[Running] = []
        until = math.inf if patience is None else time.monotonic() + patience
        while not ended:
            left = min(self._time_left(awaited), until - time.monotonic())
            timeout = None if left > TIMEOUT_MAX else max(0.0, left)
            wait([one.future for one in awaited], timeout, FIRST_COMPLETED)
            for one in awaited:
                one.late = not one.future.done() and self._is_over(one) and self._give_up(one)
            ended = [one for one in awaited if one.late or one.future.done()]
            if time.monotonic() >= until:
                break
        for one in ended:
            if not one.late and (broken := breakdown(one.future)) is not None:
                raise PoolError(_broken(broken)) from broken
        return ended

    def abandon(self, one: Running) -> None:
        """Wait no longer for an evaluation that may hang."""
        while not (one.future.cancel() or one.future.done() or self._give_up(one)):
            time.sleep(_MOMENT)  # a worker is about to begin it

    def _time_left(self, awaited: Sequence[Running]) -> float:
        """Seconds until the first evaluation is late, as far as is known now; infinite if none ever is."""
        if self._timeout is None:
            return math.inf
        now = time.monotonic()
        began = [self._began(one) for one in awaited]
        return max(0.0, min(now if when is None else when for when in began) + self._timeout - now)

    def _is_over(self, one: Running) -> bool:
        began = self._began(one)
        over = self._timeout is not None and began is not None
        return over and time.monotonic() - began >= self._timeout  # type: ignore[operator]


class _Cluster:
    """A Dask cluster.

    Parameters
    ----------
    executor : distributed.cfexecutor.ClientExecutor
        The executor of a client of the cluster.
    """

    def __init__(self, executor: Any) -> None:
        self._client = executor._client
        self._loaded: tuple[Problem | None, str] = None, ""

    def size(self) -> int:
        """Number of evaluations that the workers can run now. Raises ``OSError`` without a scheduler."""
        # A scheduler that has gone away would be waited for without end.
        threads = self._client.nthreads(callback_timeout=_SCHEDULER_TIMEOUT)
        return int(sum(threads.values()))

    def load(self, problem: Problem) -> None:
        """Let the scheduler and all workers, later ones included, load the problem before an evaluation.

        The first time may take long, if modules are imported. It must not count as time of an evaluation.
        """
        if self._loaded[0] is problem:
            return
        self.close()
        from distributed import WorkerPlugin

        class Load(WorkerPlugin):
            def __init__(self, content: bytes) -> None:
                self._content = content

            def setup(self, worker: Any) -> None:
                with suppress(Exception):  # evaluations will say what is wrong
                    pickle.loads(self._content)

        name = f"dagsearch-{uuid.uuid4()}"
        self._client.register_plugin(Load(cloudpickle.dumps(problem)), name=name)
        self._loaded = problem, name
        if self.size() > 0:
            with suppress(Exception):
                self._client.submit(id, problem, pure=False).result()  # the scheduler loads it, too

    def close(self) -> None:
        """Forget the problem."""
        name, self._loaded = self._loaded[1], (None, "")
        if name and self._client.status == "running":  # otherwise the scheduler has gone away
            with suppress(Exception):
                forget = self._client._unregister_worker_plugin
                self._client.sync(forget, name, callback_timeout=_SCHEDULER_TIMEOUT)


class ExecutorPool(_WaitingPool):
    """Evaluations on an executor: threads, processes, a cluster.

    Parameters
    ----------
    executor : Executor
        An executor as in :mod:`concurrent.futures`, such as ``dask.distributed.Client(...).get_executor()``.
    timeout : float, optional
        Seconds after which an evaluation counts as failed, from the time when it was submitted. On a Dask
        cluster, workers have loaded the problem by then.
    deterministic : bool
        Whether results are taken in the order in which evaluations began.
    """

    def __init__(self, executor: Executor, timeout: float | None, deterministic: bool) -> None:
        super().__init__(timeout, deterministic)
        self._executor = executor
        self._stuck: list[Future[Any]] = []  # late evaluations that still occupy a worker
        self._cluster = _Cluster(executor) if hasattr(executor, "_client") else None
        self._watch = Watch()

    def workers(self) -> int:
        """Number of workers of the executor now, plus one evaluation in advance if there are many."""
        self._stuck = [future for future in self._stuck if not future.done()]
        left = self._size() - len(self._stuck)
        if left < 1 and self._stuck:
            raise PoolError(_broken(TimeoutError("all workers hang in evaluations that are late")))
        return max(1, left) + self._in_advance(left)

    def _size(self) -> int:
        own = getattr(self._executor, "_max_workers", None)
        if own is not None:
            return int(own)
        if self._cluster is not None:
            try:
                return self._cluster.size()
            except OSError as error:
                raise PoolError(_broken(error)) from error
        return os.cpu_count() or 1

    def start(self, problem: Problem, proposal: Proposal) -> Running:
        """Submit an evaluation to the executor."""
        if isinstance(self._executor, ThreadPoolExecutor):
            self._watch.open()
        try:
            if self._cluster is None:
                return Running(proposal, self._executor.submit(evaluate, problem, proposal.leaf))
            if self._timeout is not None:
                self._cluster.load(problem)
            # By default Dask returns the cached reward if a leaf is evaluated again.
            return Running(proposal, self._executor.submit(evaluate, problem, proposal.leaf, pure=False))  # type: ignore[call-arg]
        except (BrokenExecutor, RuntimeError, OSError) as error:
            raise PoolError(_broken(error)) from error

    def _give_up(self, one: Running) -> bool:
        if not one.future.cancel():
            self._stuck.append(one.future)
        return True

    def close(self) -> None:
        """Leave the executor as it was: the caller owns it."""
        self._watch.close()
        if self._cluster is not None:
            self._cluster.close()


class ProcessPool(_WaitingPool):
    """Evaluations in processes that this pool starts, and starts again if they die or hang.

    Parameters
    ----------
    jobs : int
        Number of processes.
    timeout : float, optional
        Seconds after which an evaluation counts as failed, from the time when its process has loaded the
        problem and begins to compute the reward.
    deterministic : bool
        Whether results are taken in the order in which evaluations began.
    """

    def __init__(self, jobs: int, timeout: float | None, deterministic: bool) -> None:
        super().__init__(timeout, deterministic)
        self._jobs, self._processes = jobs, Processes(jobs)

    def workers(self) -> int:
        """Number of processes, plus one evaluation in advance if there are many."""
        return self._jobs + self._in_advance(self._jobs)

    def start(self, problem: Problem, proposal: Proposal) -> Running:
        """Give an evaluation to the next process that is free."""
        return Running(proposal, self._processes.submit(problem, proposal.leaf))

    def _began(self, one: Running) -> float | None:
        return cast(Evaluating, one.future).began

    def _give_up(self, one: Running) -> bool:
        return self._processes.give_up(cast(Evaluating, one.future))

    def close(self) -> None:
        """End the processes, even if they are busy."""
        self._processes.close()


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
        raise ValueError(f"timeout must be a positive number of seconds, got {shown(timeout)}")
    if executor is None and n_jobs is None:
        if timeout is not None:
            raise ValueError(
                "timeout needs an executor or n_jobs: an evaluation in the calling thread cannot be ended"
            )
        return SerialPool()
    if executor is None:
        if not is_whole(n_jobs) or (n_jobs is not None and n_jobs < 1 and n_jobs != -1):
            raise ValueError(
                f"n_jobs must be a positive whole number, or -1 for all cores, got {shown(n_jobs)}"
            )
        jobs = (os.cpu_count() or 1) if n_jobs == -1 else int(n_jobs or 1)
        _check_picklable(problem, by_value=True)
        return ProcessPool(jobs, timeout, deterministic)
    if not callable(getattr(executor, "submit", None)):
        raise ValueError(f"executor must have a submit method, got {shown(executor)}")
    if isinstance(executor, ProcessPoolExecutor):
        _check_picklable(problem, by_value=False)
    elif hasattr(executor, "_client"):  # Dask can send lambdas, too
        _check_picklable(problem, by_value=True)
    return ExecutorPool(executor, timeout, deterministic)


def _check_picklable(problem: Problem, by_value: bool) -> None:
    """Raise, before anything runs, if the problem cannot be sent to another process."""
    try:
        if by_value:
            cloudpickle.dumps(problem)
        else:
            pickle.dumps(problem)
    except Exception as error:
        raise ValueError(
            f"{type(problem).__name__} cannot be sent to another process ({type(error).__name__}: {error}). "
            "Define it and its reward in a module, without open files, locks or lambdas; or use threads"
        ) from error


def breakdown(future: "Future[Any]") -> BaseException | None:
    """The error if a future ended because its worker did, not its evaluation; otherwise ``None``."""
    if future.cancelled():
        return BrokenExecutor("the evaluation was cancelled")
    error = future.exception()
    # Dask's KilledWorker is not among these: it means that this evaluation ends every worker that tries it.
    ended = type(error).__name__ == "ShutdownExecutorError"  # of loky
    return error if isinstance(error, BrokenExecutor) or ended else None


def _broken(error: BaseException) -> str:
    return (
        f"the workers have stopped working ({type(error).__name__}: {error}). Nothing that was told is lost: "
        "run again with an executor that works to continue"
    )
