"""The run loop: ask, evaluate, tell, until the budget is spent or there is a reason to stop."""

import logging
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, Unpack

import numpy as np

from dagsearch._internal.checks import LARGEST_WHOLE, checked_flag, is_budget, is_finite
from dagsearch._internal.deadline import OutOfTime
from dagsearch._internal.hints import did_you_mean
from dagsearch._internal.texts import described, shortened, shown
from dagsearch._internal.wiring import wiring
from dagsearch.errors import DagSearchError, EvaluationError, JournalError, ProblemError, SearchExhausted
from dagsearch.posterior.units import LARGEST_REWARD
from dagsearch.problem import Edge, State, has_costly_steps, takes
from dagsearch.problems import FunctionProblem
from dagsearch.results import Evaluation, Proposal, Result
from dagsearch.run.pools import Pool, Running, breakdown, make_pool
from dagsearch.run.steering import Request, Steered
from dagsearch.run.stopping import Stop
from dagsearch.run.worker import Outcome, checked_outcome

if TYPE_CHECKING:
    from dagsearch.search import Search

logger = logging.getLogger(__name__)

# Seconds between two looks for requests of the user while nothing ends.
_GLANCE = 0.25
# Half the length of the longest refused value that the journal holds, in characters.
_LONGEST_VALUE = 500
# Skill of a model below which the search logs that it hardly predicts.
_POOR = 0.1

OnError = Literal["raise", "skip"] | float
"""What to do about a failed evaluation: raise an error, skip it, or tell this reward."""

Callback = Callable[[Evaluation], object]
"""Called with every evaluation; the run ends if it returns ``True``."""


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
    steer: bool
    """Whether the run takes requests from ``dagsearch watch --steer``."""
    join: bool
    """Whether other processes may join the run by :func:`dagsearch.join`."""
    callback: Callback | None
    """Called with every evaluation once its reward is told; the run ends if it returns ``True``."""


T = TypeVar("T")
Take = Callable[[Running, bool], T | None]
"""Called with an evaluation that has ended; tells its reward to the search. It returns ``None`` if the
evaluation does not count. The second argument is true if the run is ending: a failure must not raise then."""


class Runner(Generic[T]):
    """Keeps the workers of a pool busy with the leaves that a search asks for.

    Parameters
    ----------
    search : Search
        Proposes the leaves; ``take`` tells it the rewards.
    pool : Pool
        Computes rewards; it is closed at the end.
    take : callable
        Called with every evaluation that has ended.
    stop : Stop
        Rules for stopping before the budget is spent.
    first : sequence of Proposal
        Pending proposals to evaluate before the search is asked.
    began : float, optional
        When the run began, by ``time.perf_counter()``; now by default.
    steer : bool
        Whether the user's requests are taken.
    """

    def __init__(
        self,
        search: "Search",
        pool: Pool,
        take: Take[T],
        stop: Stop,
        first: Sequence[Proposal] = (),
        began: float | None = None,
        steer: bool = False,
    ) -> None:
        self._search, self._pool, self._take, self._steer = search, pool, take, steer
        self._steered = search.recorder.steering or Steered()
        self._stop = None if stop == Stop() else stop  # without rules there is nothing to check
        self._first = list(first)
        self._began = time.perf_counter() if began is None else began
        self._running: list[Running] = []
        self._left, self._total = 0.0, 0  # in the unit of the budget

    def steps(self, budget: int, total: int) -> Generator[T]:
        """Evaluate ``budget`` leaves, to have ``total``, and yield what ``take`` returns for each."""
        self._total = total
        self.end("budget", left=budget)
        steered = self._steered
        if steered.paused and not self._steer:
            logger.warning("the search was paused, but this run takes no requests: it continues")
        steered.begin(self._steer)
        seconds = math.inf if self._stop is None or self._stop.seconds is None else self._stop.seconds
        try:
            with self._search.deadline.until(self._began + seconds):
                yield from self._until_the_end()
        finally:
            try:
                self._finish()
            finally:
                self._pool.close()

    def _until_the_end(self) -> Generator[T]:
        # Only a run that is steered has to look for requests while it waits.
        patience = _GLANCE if self._steer else None
        self._end_if_due(0.0)  # what an earlier run has found may be enough
        while self._go_on():
            for ended in self._pool.finished(self._running, patience):
                self._running.remove(ended)
                taken = self._take(ended, False)
                if taken is not None:
                    yield taken
            self._end_if_due(time.perf_counter() - self._began)

    def _end_if_due(self, seconds: float) -> None:
        """End the run if one of its rules for stopping holds after so many seconds."""
        if self._stop is not None and self.stopped == "budget":
            reason = self._reason_to_stop(self._stop, seconds)
            if reason is not None:
                self.end(reason)

    def _go_on(self) -> bool:
        """Take requests and start evaluations; returns whether any evaluation is running."""
        self._take_requests()
        if self._steered.paused and self._left > 0 and not self._running:
            logger.warning("the search is paused: 'dagsearch watch --steer' lets it continue")
            while self._steered.paused and self._left > 0:
                time.sleep(_GLANCE)
                self._take_requests()
                if self._search.deadline.passed():
                    self.end("seconds")
        return bool(self._running) if self._steered.paused else self._start_evaluations()

    def put_first(self, proposal: Proposal) -> None:
        """Evaluate a pending proposal before the search is asked for others."""
        self._first.append(proposal)

    @property
    def stopped(self) -> str:
        """Why the run ended, or ``"budget"`` while it continues."""
        return self._search.data.stopped or "budget"

    def end(self, reason: str, left: float = 0.0) -> None:
        """Start no further evaluation, for this reason; those that are running are awaited."""
        self._search.data.stopped, self._left = reason, left

    def _start_evaluations(self) -> bool:
        """Start evaluations until all workers are busy; returns whether any evaluation is running."""
        while self._left > 0 and len(self._running) < self._pool.workers():
            try:
                if self._running:  # something is evaluated, however little time there is
                    self._search.deadline.check()
                proposal = self._first.pop(0) if self._first else self._search.ask()
            except OutOfTime:
                self.end("seconds")
                break
            except SearchExhausted:
                rewards = len(self._search.history)
                logger.info("every leaf has been evaluated or is being evaluated, after %d rewards", rewards)
                self.end("exhausted")
                break
            self._left -= proposal.cost
            try:
                self._running.append(self._pool.start(self._search.problem, proposal))
            except BaseException:
                self._postpone(proposal)
                raise
        return bool(self._running)

    def _postpone(self, proposal: Proposal) -> None:
        """Let a proposal be asked for again, because its evaluation was interrupted."""
        search = self._search
        if search.recorder.keeps_pending:
            search.data.offered.append(proposal)
        elif any(proposal is one for one in search.pending):
            search.forget(proposal, again=True)

    def _reason_to_stop(self, stop: Stop, seconds: float) -> str | None:
        data, best = self._search.data, self._search.data.best
        if best is None:  # only the time can be judged
            return stop.reason(-math.inf, 0, seconds, None)
        return stop.reason(best.reward, data.since_best, seconds, self._most_to_gain)

    def _most_to_gain(self) -> float | None:
        """Upper limit of the forecast for the rest of the budget, less the best reward."""
        ahead, best = self._search.forecast(max(1, round(self._left))), self._search.data.best
        return None if ahead is None or best is None else ahead.high - best.reward

    def _finish(self) -> None:
        """Take the evaluations that have ended; let the other leaves be asked for again."""
        for one in self._running:
            one.future.cancel()
            if self._search.recorder.broken:
                continue  # the search must not know more than its record
            if one.future.done() and breakdown(one.future) is None:
                self._take(one, True)  # its cost has been paid
            else:
                self._postpone(one.proposal)

    # What the user asks for while it runs ------------------------------------------------------------

    def _take_requests(self) -> None:
        """Carry out the requests that have come since the last call; each becomes an event of the journal."""
        for request in self._search.recorder.requests() if self._steer else ():
            try:
                if request.error is not None:
                    raise ValueError(request.error)
                self._carry_out(request)
            except JournalError:
                raise
            except (DagSearchError, ValueError, TypeError, LookupError) as error:
                reason = shortened(str(error))
                logger.warning("the request to %s was refused: %s", request.action, ascii(reason)[1:-1])
                small = len(shown(request.value, _LONGEST_VALUE)) <= 2 * _LONGEST_VALUE
                self._record(request, request.value if small else None, reason)

    def _record(self, request: Request, value: Any = None, refused: str | None = None) -> None:
        self._search.recorder.steered(request.action, value, request.name, refused)
        if refused is None:
            self._steered.take(request.action, value, self._search.data.known)

    def _carry_out(self, request: Request) -> None:
        search = self._search
        if request.action in ("pause", "continue"):
            self._record(request)
            logger.warning("the search was asked to %s", request.action)
        elif request.action == "stop":
            self._record(request)
            self.end("steered")
        elif request.action == "budget":
            self._set_total(request)
        elif request.action == "forget":
            self._forget(request)
        elif has_costly_steps(search.problem):
            raise ValueError("steps cannot be proposed or told by a request: the search says which to take")
        elif request.action == "propose":
            wanted = self._way_to(request.leaf)
            self.put_first(search.propose(wanted.leaf, wanted.actions, request.note))
        else:
            search.tell(self._way_to(request.leaf), request.value["reward"], note=request.note)
            self._left = max(0, self._left - 1)

    def _way_to(self, leaf: State) -> Proposal:
        """The proposal of a leaf that the user names; raises unless it may be evaluated now."""
        search = self._search
        if search.data.find(leaf) is not None:
            raise ValueError("the leaf is being evaluated: forget that evaluation first")
        if not search.repeats and search.index.is_closed(leaf):
            raise ValueError("the leaf was evaluated already, or failed")
        try:
            actions = tuple(search.space.actions_to(leaf))
            reached = search.space.replayed(actions)
            if reached is None or not search.space.same(reached, leaf):
                raise ProblemError(f"{leaf!r} is not a leaf of the problem")
            return Proposal(leaf, actions)
        except (DagSearchError, ValueError):
            raise
        except Exception as error:  # the problem's own methods, of a leaf that it may not understand
            raise ValueError(
                f"{leaf!r} is not a leaf of the problem ({type(error).__name__}: {error})"
            ) from error

    def _set_total(self, request: Request) -> None:
        """Change the number of rewards at which the run ends."""
        if self.stopped != "budget":
            raise ValueError(f"the run is ending ({self.stopped}): the budget no longer counts")
        before, self._total = self._total, request.value
        self._left = max(0, self._left + self._total - before)
        self._record(request, {"now": self._total, "instead": before})

    def _forget(self, request: Request) -> None:
        """Take back a pending proposal, and wait no longer for its evaluation."""
        key = self._search.space.key
        proposal = next((one for one in self._search.pending if key(one.leaf) == key(request.leaf)), None)
        if proposal is None:
            raise ValueError("the leaf is not pending: it was told or forgotten already")
        note = {**request.note, "failure": "forgotten at the user's request"}
        self._search.forget(proposal, again=False, note=note)
        self._first = [one for one in self._first if one is not proposal]
        for one in [one for one in self._running if one.proposal is proposal]:
            self._running.remove(one)
            self._pool.abandon(one)


def steps(
    search: "Search", budget: int, stop: Stop | None = None, **execution: Unpack[Execution]
) -> Iterator[Evaluation]:
    """What :meth:`dagsearch.Search.steps` returns."""
    check_execution(execution, search.recorder.keeps_pending, search.problem)
    on_error, budget = checked_on_error(execution.get("on_error", "raise")), checked_budget(budget)
    deterministic = checked_flag("deterministic", execution.get("deterministic", False))
    steer, join = bool(execution.get("steer")), bool(execution.get("join"))
    callback, executor, n_jobs = execution.get("callback"), execution.get("executor"), execution.get("n_jobs")
    timeout = execution.get("timeout")
    if join and executor is None and n_jobs is None:
        n_jobs = 1
    pool = make_pool(search.problem, executor, n_jobs, timeout, deterministic)
    if join:
        known = len(search.history)
        pool = wiring.join(search, pool, timeout, deterministic)
        budget = max(0, budget - len(search.history) + known)  # results that an earlier run did not take
    return _evaluations(search, pool, budget, stop or Stop(), on_error, steer, callback)


def _evaluations(
    search: "Search",
    pool: Pool,
    budget: int,
    stop: Stop,
    on_error: OnError,
    steer: bool,
    callback: Callback | None,
) -> Iterator[Evaluation]:
    """Evaluate ``budget`` leaves by the problem's ``reward``."""
    total = min(search.spent + budget, LARGEST_WHOLE)
    search.recorder.running(total, stop.rules(), steer)

    def take(ended: Running, closing: bool) -> Evaluation | None:
        return tell_or_fail(search, ended, "skip" if closing else on_error)

    runner = Runner(search, pool, take, stop, steer=steer)
    with closing(runner.steps(budget, total)) as steps:
        for evaluation in steps:
            # Only True itself: what a function happens to return, such as a number of characters, is no wish.
            if callback is not None and isinstance(wish := callback(evaluation), bool | np.bool_) and wish:
                runner.end("callback")
            yield evaluation


def tell_or_fail(search: "Search", ended: Running, on_error: OnError) -> Evaluation | None:
    """Tell the reward of an evaluation; ``None`` if it failed and failures do not count.

    Parameters
    ----------
    search : Search
        The search that asked for the evaluation.
    ended : Running
        The evaluation.
    on_error : "raise", "skip" or float
        What to do about a failure: raise :class:`dagsearch.EvaluationError`, skip it, or tell this reward.
    """
    proposal, leaf = ended.proposal, ended.proposal.leaf
    try:
        found = _outcome_of(ended)
        if isinstance(found, tuple):  # with the leaf that was really evaluated
            return search.tell(proposal, found[1], leaf=found[0], note=ended.note)
        return search.tell(proposal, found, note=ended.note)
    except _Failed as failed:
        error: BaseException = failed.error
    except ProblemError as wrong:  # what can be done where a step has led is said wrongly
        if not isinstance(leaf, Edge):
            raise
        error = wrong
    problem_with_it, at = described(error), dict[str, Any]()
    if isinstance(search.problem, FunctionProblem):
        at["leaf"] = search.space.failed(error)
    if isinstance(on_error, str):
        note = {"failure": problem_with_it, **(ended.note or {})}
        search.forget(proposal, again=False, note=note, **at)
    if on_error == "raise":
        failure = EvaluationError(
            f"evaluating {leaf!r} failed after {len(search.history)} evaluations "
            f"({problem_with_it}). Nothing told before is lost: error.result is the result so far, and "
            "on_error='skip' goes on without such leaves"
        )
        search.data.stopped = "error"
        failure.result = search.result()
        raise failure from error
    logger.warning("evaluating %r failed (%s)", leaf, problem_with_it)
    return None if on_error == "skip" else search.tell(proposal, float(on_error), **at)


class _Failed(Exception):
    """An evaluation has failed."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _outcome_of(ended: Running) -> Any:
    """The reward or step of an evaluation; raises if it failed or the search cannot learn from it."""
    try:
        if ended.late:
            raise TimeoutError("it took longer than the timeout")
        found = ended.future.result()
        return checked_outcome(found.get() if isinstance(found, Outcome) else found, ended.proposal.leaf)
    except (Exception, SystemExit) as error:
        raise _Failed(error) from error


def checked_budget(budget: int) -> int:
    """``budget``; raises unless it is a positive whole number that a journal can hold."""
    if not is_budget(budget):
        raise ValueError(
            f"budget must be a positive whole number of evaluations, at most {LARGEST_WHOLE}, got "
            f"{shown(budget)}"
        )
    return int(budget)


def check_execution(
    execution: Execution, has_journal: bool, problem: object, others: Iterable[str] = ()
) -> None:
    """Raise if there are other keywords than those of :class:`Execution`, or some that do not apply here.

    ``others`` are more keywords that could have been meant.
    """
    for name in execution.keys() - Execution.__annotations__.keys():
        hint = did_you_mean(name, [*Execution.__annotations__, *others], "help(dagsearch.search) lists all")
        raise TypeError(f"{name!r} is not a setting of a search: {hint}")
    if checked_flag("steer", execution.get("steer", False)) and not has_journal:
        raise ValueError("steer=True needs a journal: 'dagsearch watch --steer' sends requests beside it")
    if checked_flag("join", execution.get("join", False)) and not has_journal:
        raise ValueError("join=True needs a journal: other processes join the run by its path")
    if execution.get("join") and has_costly_steps(problem):
        raise ValueError("join=True does not apply to costly steps: n_jobs takes several at once")
    checked_callback(execution.get("callback"))


def checked_callback(callback: Callback | None) -> Callback | None:
    """``callback``; raises unless it can be called with an evaluation."""
    if callback is not None and not (callable(callback) and takes(callback, 1)):
        raise ValueError(f"callback must be a function of one argument, an Evaluation, got {shown(callback)}")
    return callback


def checked_on_error(on_error: OnError) -> OnError:
    """``on_error``; raises unless it is ``"raise"``, ``"skip"`` or a reward that can be told."""
    if isinstance(on_error, str):
        if on_error in ("raise", "skip"):
            return on_error
    elif is_finite(on_error) and abs(on_error) <= LARGEST_REWARD:
        return float(on_error)
    raise ValueError(
        f"on_error must be 'raise', 'skip' or a reward of size {LARGEST_REWARD:g} or less, "
        f"got {shown(on_error)}"
    )


def log_if_poor(result: Result) -> Result:
    """The same result; a model that hardly predicted is logged."""
    if result.skill is not None and result.skill < _POOR:
        logger.warning(
            "the model hardly predicted the rewards (skill %.2f; 1 is perfect, 0 no better than their mean). "
            "Another covariance may describe better which states are alike",
            result.skill,
        )
    return result
