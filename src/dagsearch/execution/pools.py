"""Where rewards are computed: here, in other processes, or wherever an executor takes them."""

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

# Up to so many workers get no more evaluations than they can begin.
_FEW = 2
# So often processes are started anew without a reward in between before that is an error.
_MOST_RESTARTS = 3


class PoolError(DagSearchError, RuntimeError):
    """What computes rewards has stopped working. Nothing that was told is lost: run again to go on."""


@dataclass(eq=False)
class Running:
    """An evaluation that has begun."""

    proposal: Proposal
    """What is evaluated."""
    future: "Future[Any]"
    """Its reward, some day."""
    started: float = field(default_factory=time.monotonic)
    """When."""
    late: bool = False
    """Whether it took longer than it may."""


class Pool(Protocol):
    """Computes rewards."""

    def workers(self) -> int:
        """How many evaluations may have begun and not ended, as of now."""

    def start(self, problem: Problem, proposal: Proposal) -> Running:
        """Begin an evaluation."""

    def finished(self, running: Sequence[Running], problem: Problem) -> list[Running]:
        """Wait until at least one of them has ended, or is late, in the order of their beginning."""

    def close(self) -> None:
        """Let go of what was made for this run."""


class _Ended(Future[Any]):
    """A future that nobody has had to wait for, and so without the locks, which cost more than the search."""

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
    """One evaluation at a time, in this very thread."""

    def workers(self) -> int:
        """One."""
        return 1

    def start(self, problem: Problem, proposal: Proposal) -> Running:
        """Evaluate. Ctrl-C comes through; any other error waits to be asked for."""
        try:
            return Running(proposal, _Ended(problem.reward(proposal.leaf), None))
        except Exception as error:
            return Running(proposal, _Ended(None, error))

    def finished(self, running: Sequence[Running], problem: Problem) -> list[Running]:
        """All are."""
        return list(running)

    def close(self) -> None:
        """Nothing."""


class ExecutorPool:
    """Evaluations on an executor: threads, processes, a cluster.

    Parameters
    ----------
    executor : Executor
        Any of :mod:`concurrent.futures`' kind, such as ``dask.distributed.Client(...).get_executor()``.
    timeout : float, optional
        Seconds after which an evaluation counts as failed.
    deterministic : bool
        Whether results are taken in the order in which evaluations began.
    """

    def __init__(self, executor: Executor, timeout: float | None, deterministic: bool) -> None:
        self._executor, self._timeout, self._deterministic = executor, timeout, deterministic
        self._stuck: list[Future[Any]] = []  # late, and still holding a worker

    def workers(self) -> int:
        """Of the executor; a cluster may gain and lose some at any time."""
        self._stuck = [future for future in self._stuck if not future.done()]
        left = self._size() - len(self._stuck)
        if left < 1 and self._stuck:
            raise PoolError(_broken(TimeoutError("all workers hang in evaluations that are late")))
        # One more waits for the first that is free, so that it need not wait for the search. With a timeout
        # its clock would start too soon, and of few workers one is too much.
        waiting = 1 if self._timeout is None and left > _FEW else 0
        return max(1, left) + waiting

    def _size(self) -> int:
        own = getattr(self._executor, "_max_workers", None)
        if own is not None:
            return int(own)
        client = getattr(self._executor, "_client", None)  # Dask's
        if client is not None:
            try:
                return int(sum(client.nthreads().values()))
            except OSError as error:
                raise PoolError(_broken(error)) from error
        return os.cpu_count() or 1

    def start(self, problem: Problem, proposal: Proposal) -> Running:
        """Hand an evaluation over."""
        try:
            # Dask would take a leaf's last reward for its next one.
            anew = {"pure": False} if hasattr(self._executor, "_client") else {}
            return Running(proposal, self._executor.submit(_reward, problem, proposal.leaf, **anew))
        except (BrokenExecutor, RuntimeError) as error:
            raise PoolError(_broken(error)) from error

    def finished(self, running: Sequence[Running], problem: Problem) -> list[Running]:
        """Wait."""
        awaited = running[:1] if self._deterministic else running
        left = None
        if self._timeout is not None:
            left = max(0.0, min(one.started for one in awaited) + self._timeout - time.monotonic())
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

    def close(self) -> None:
        """Nothing: the executor belongs to somebody else."""


class ProcessPool(ExecutorPool):
    """Evaluations in processes of our own, which are started anew if they die or hang.

    Parameters
    ----------
    jobs : int
        How many.
    timeout, deterministic
        As for :class:`ExecutorPool`.
    """

    def __init__(self, jobs: int, timeout: float | None, deterministic: bool) -> None:
        self._jobs, self._restarts = jobs, 0
        super().__init__(self._made(), timeout, deterministic)

    def _made(self) -> Executor:
        from loky import ProcessPoolExecutor as Loky

        return Loky(max_workers=self._jobs)  # type: ignore[no-any-return]

    def finished(self, running: Sequence[Running], problem: Problem) -> list[Running]:
        """Wait; what was running in a process that died is begun again."""
        while True:
            try:
                ended = super().finished(running, problem)
            except PoolError:
                self._restarts += 1
                if self._restarts > _MOST_RESTARTS:
                    raise
                self._begin_again(running, problem)
                continue
            self._restarts = 0
            if any(one.late for one in ended):  # it still holds its process
                self._begin_again([one for one in running if one not in ended], problem)
            return ended

    def _begin_again(self, running: Sequence[Running], problem: Problem) -> None:
        lost = [one for one in running if not one.future.done() or breakdown(one.future) is not None]
        self.close()
        self._executor, self._stuck = self._made(), []
        for one in lost:
            again = self.start(problem, one.proposal)
            one.future, one.started = again.future, again.started

    def close(self) -> None:
        """End the processes, whatever they do."""
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
        raise ValueError("give an executor or n_jobs, not both")
    if timeout is not None and (not is_finite(timeout) or timeout <= 0.0):
        raise ValueError(f"timeout must be a positive number of seconds, got {timeout!r}")
    if executor is None and n_jobs is None:
        if timeout is not None:
            raise ValueError("timeout needs an executor or n_jobs: what runs here cannot be ended")
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
    elif hasattr(executor, "_client"):  # Dask takes lambdas, too
        _check_picklable(problem, by_value=True)
    return ExecutorPool(executor, timeout, deterministic)


def _check_picklable(problem: Problem, by_value: bool) -> None:
    """Find out before anything runs whether the problem can travel."""
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
    """Why a finished future says nothing of its evaluation, if it does not."""
    if future.cancelled():
        return BrokenExecutor("the evaluation was cancelled")
    error = future.exception()
    ended = type(error).__name__ in ("KilledWorker", "ShutdownExecutorError")  # Dask's and loky's
    return error if isinstance(error, BrokenExecutor) or ended else None


def _broken(error: BaseException) -> str:
    return (
        f"what computes rewards has stopped working ({type(error).__name__}: {error}). Nothing that was told "
        "is lost: run again to go on, with an executor that works"
    )
