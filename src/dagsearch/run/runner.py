"""The run loop: ask, evaluate, tell, until the budget is spent or there is a reason to stop.

A run may begin with known results, and with leaves to evaluate first.
"""

import logging
import math
import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar, cast

import numpy as np

from dagsearch._internal.checks import LARGEST_WHOLE, check, checked_flag, is_budget, is_finite, is_positive
from dagsearch._internal.deadline import OutOfTime
from dagsearch._internal.hints import OF_OTHERS, did_you_mean
from dagsearch._internal.texts import described, shown
from dagsearch.errors import EvaluationError, ProblemError, SearchExhausted
from dagsearch.log import LOST_AFTER
from dagsearch.posterior.units import LARGEST_REWARD, checked_reward
from dagsearch.problem import Edge, has_costly_steps, takes
from dagsearch.results import Evaluation, Proposal, Result
from dagsearch.run.pools import Pool, breakdown
from dagsearch.space import Space

if TYPE_CHECKING:
    from dagsearch.search import Search

logger = logging.getLogger(__name__)

# Seconds between two checks of other processes and of requests.
_GLANCE = 0.1
# Characters of each end of a long leaf in a message.
_OF_LEAF = 500

OnError = Literal["raise", "skip"] | float
"""What to do about a failed evaluation: raise an error, skip it, or use this reward."""

Callback = Callable[[Evaluation], object]
"""Called with every evaluation; the run ends if it returns ``True``."""


@dataclass(frozen=True)
class Execution:
    """Where and how rewards are computed: the keywords of :meth:`Search.steps`."""

    executor: Executor | None = None
    """Executor that evaluates leaves; by default the calling thread does."""
    n_jobs: int | None = None
    """Number of processes to evaluate in; -1 for one per core."""
    timeout: float | None = None
    """Seconds after which an evaluation counts as failed."""
    on_error: OnError = "raise"
    """What to do about a failed evaluation: ``"raise"`` an error, ``"skip"`` it, or use this reward."""
    deterministic: bool = False
    """Whether rewards are learnt in the order of the proposals."""
    lost_after: float = LOST_AFTER
    """Seconds after which a process of a stored run that is silent counts as dead."""
    callback: Callback | None = None
    """Called with every evaluation after its tell; the run ends if it returns ``True``."""

    def __post_init__(self) -> None:
        jobs, timeout, on_error = self.n_jobs, self.timeout, self.on_error
        sound = jobs in (None, -1) or is_budget(jobs)
        check(sound, "n_jobs", "a positive whole number, or -1 for all cores", jobs)
        check(timeout is None or is_positive(timeout), "timeout", "a positive number of seconds", timeout)
        check(is_positive(self.lost_after), "lost_after", "a positive number of seconds", self.lost_after)
        sound = on_error in ("raise", "skip") or (
            is_finite(on_error) and abs(float(on_error)) <= LARGEST_REWARD
        )
        check(sound, "on_error", f"'raise', 'skip' or a reward of size {LARGEST_REWARD:g} or less", on_error)
        checked_flag("deterministic", self.deterministic)
        checked_callback(self.callback)
        if self.executor is not None and jobs is not None:
            raise ValueError("executor and n_jobs are both given: give only one of them")
        if timeout is not None and jobs is None:
            raise ValueError("timeout needs n_jobs: only an evaluation in a process of its own can be ended")


@dataclass(frozen=True)
class Stop:
    """Rules for stopping before the budget is spent; the first that holds ends the run."""

    patience: int | None = None
    """Stop after this number of evaluations in a row without a better reward."""
    target: float | None = None
    """Stop once a reward is at least this large."""
    seconds: float | None = None
    """Stop after this number of seconds; evaluations that have begun are finished."""
    tolerance: float | None = None
    """Stop once the forecast's upper limit for the rest of the budget is a gain of less than this."""

    def __post_init__(self) -> None:
        patience, target, seconds, tolerance = self.patience, self.target, self.seconds, self.tolerance
        whole = "a positive whole number (below 2**63)"
        check(patience is None or is_budget(patience), "patience", whole, patience)
        check(target is None or is_finite(target), "target", "a finite number", target)
        check(seconds is None or is_positive(seconds), "seconds", "positive and finite", seconds)
        sound = tolerance is None or (is_finite(tolerance) and tolerance >= 0.0)
        check(sound, "tolerance", "finite and not negative", tolerance)


T = TypeVar("T")
Take = Callable[[Proposal, "Future[Any]", bool], T | None]
"""Called with a completed evaluation to report its reward to the search. It returns ``None`` if the
evaluation does not count. The last argument is true if the run is ending: a failure must not raise then."""


class Runner(Generic[T]):
    """Keeps the workers of a pool busy with the leaves that a search asks for.

    With storage, other processes may take part in the run: they share its budget, and it ends for all of them
    together. The pool is closed at the end.
    """

    def __init__(self, search: "Search", pool: Pool, take: Take[T], stop: Stop) -> None:
        self._search, self._pool, self._take, self._stop = search, pool, take, stop
        self._data = search.data
        self._began = time.perf_counter()
        self._running: dict[Future[Any], Proposal] = {}
        self._total, self._exhausted = 0.0, False

    def steps(self, total: float, lost_after: float = LOST_AFTER) -> Generator[T]:
        """Evaluate until the evaluations have taken ``total``; yields what ``take`` returns for each."""
        self._data.stopped, self._total = "budget", total
        self._search.log.begun(total - self._data.known, lost_after)  # the budget counts no known ones
        seconds = math.inf if self._stop.seconds is None else self._stop.seconds
        with closing(self._pool):
            try:
                with self._search.deadline.until(self._began + seconds):
                    yield from self._until_the_end()
            finally:
                self._finish()

    def _until_the_end(self) -> Generator[T]:
        self._end_if_due(0.0)  # what an earlier run has found may be enough
        while self._go_on():
            for ended in self._pool.finished(list(self._running), _GLANCE) if self._running else ():
                taken = self._take(self._running.pop(ended), ended, False)
                if taken is not None:
                    yield taken
            self._end_if_due(time.perf_counter() - self._began)

    def _end_if_due(self, seconds: float) -> None:
        """End the run if a rule for stopping holds after so many seconds."""
        stop, data, best = self._stop, self._data, self._data.best
        if data.stopped != "budget":
            return
        if best is not None and best.reward >= (math.inf if stop.target is None else stop.target):
            data.stopped = "target"
        elif best is not None and data.since_best >= (stop.patience or math.inf):
            data.stopped = "patience"
        elif seconds >= (stop.seconds or math.inf):
            data.stopped = "seconds"
        elif stop.tolerance is not None and best is not None:
            ahead = self._search.forecast(max(1, round(self._left)))
            if ahead is not None and ahead.high - best.reward < stop.tolerance:
                data.stopped = "tolerance"

    def _go_on(self) -> bool:
        """Start evaluations, unless users of the run say otherwise; returns whether to wait for any."""
        log, paused = self._search.log, False
        log.catch_up()
        if log.record is not None:
            self._total = log.record.budget + self._data.known
            if log.record.last_stop > log.began and self._data.stopped == "budget":
                self._data.stopped = "steered"
            paused = log.record.paused and self._left > 0
            for request, leaf in log.record.wanted.items() if self._left > 0 and not paused else ():
                self._propose(request, leaf)
        if not paused and not (self._exhausted and self._elsewhere):
            self._start_evaluations()
        if self._running:
            return True
        # The rewards of other processes count, too; or these processes die, and their leaves are free.
        waits = paused or (self._data.stopped == "budget" and bool(self._elsewhere))
        if waits:
            time.sleep(_GLANCE)
        return waits

    @property
    def _elsewhere(self) -> list[Proposal]:
        """What other processes evaluate now."""
        return [one for one in self._search.pending if self._search.log.is_elsewhere(one)]

    @property
    def _left(self) -> float:
        """The budget left for further evaluations."""
        if self._data.stopped != "budget":
            return 0.0
        busy = [*self._running.values(), *self._elsewhere]
        return self._total - self._search.spent - sum(one.cost for one in busy)

    def _start_evaluations(self) -> None:
        """Start evaluations until all workers are busy."""
        while self._left > 0 and len(self._running) < self._pool.workers():
            try:
                if self._running:  # at least one leaf is evaluated, however little time there is
                    self._search.deadline.check()
                proposal = self._search.try_ask()
            except OutOfTime:
                self._data.stopped = "seconds"
                break
            except SearchExhausted:
                if not self._elsewhere:  # otherwise one of them may die
                    self._data.stopped = "exhausted"
                self._exhausted = True
                break
            if proposal is not None:  # else another process has asked in between
                try:
                    self._running[self._pool.start(self._search.problem, proposal.leaf)] = proposal
                except BaseException:
                    self._data.offered.append(proposal)
                    raise
            self._search.log.catch_up()  # others ask, too, so that less may be left

    def _finish(self) -> None:
        """Take the evaluations that have ended; the other leaves stay pending, and are offered again."""
        for future in self._running:
            future.cancel()
        if self._search.log.broken is not None:
            return  # the search must not know more than its log
        for future, proposal in self._running.items():
            if future.done() and breakdown(future) is None:
                self._take(proposal, future, True)  # it was paid for
            else:
                self._data.offered.append(proposal)
        self._search.log.write("end", stopped=self._data.stopped)

    def _propose(self, request: int, encoded: Any) -> None:
        """Evaluate the leaf of a user's request next; refuse it in the log if that is impossible."""
        search, log = self._search, cast(Any, self._search.log)
        try:
            if has_costly_steps(search.problem):
                raise ValueError("only the search chooses steps")
            proposal = search.checked_proposal(log.decoded(encoded))
            closed = not search.repeats and search.index.is_closed(proposal.leaf)
            if closed or search.data.find(proposal.leaf) is not None:
                raise ValueError("the leaf has been evaluated, or is being evaluated")
        except Exception as error:  # the problem's own methods, of a leaf that it may not understand
            log.write("answer", request=request, refused=described(error))
            return
        number = log.write("ask", proposal, None, request=request)
        if number is not None:  # else another process was faster
            search.data.offered.insert(0, search.add_pending(replace(proposal, number=number)))


def steps(search: "Search", budget: int, stop: Stop | None = None, **execution: Any) -> Iterator[Evaluation]:
    """What :meth:`dagsearch.Search.steps` returns."""
    check_names(execution, Execution.__annotations__)
    total = min(search.spent + checked_budget(budget), LARGEST_WHOLE)
    return until(search, total, stop, Execution(**execution))


def until(
    search: "Search", total: float, stop: Stop | None = None, execution: Execution | None = None
) -> Iterator[Evaluation]:
    """Evaluate leaves by the problem's ``reward`` until the evaluations have taken ``total`` in all."""
    how, stop = execution or Execution(), stop or Stop()
    if has_costly_steps(search.problem):
        if not isinstance(how.on_error, str):
            raise ValueError("on_error must be 'raise' or 'skip': a failed step has no reward")
        if stop.tolerance is not None:
            raise ValueError("tolerance does not apply to costly steps, for which there is no forecast")

    def take(proposal: Proposal, future: "Future[Any]", closing: bool) -> Evaluation | None:
        evaluation = tell_or_fail(search, proposal, future, "skip" if closing else how.on_error)
        wish = None if evaluation is None or how.callback is None or closing else how.callback(evaluation)
        # Only True itself: a function may return something by accident, such as a number of characters.
        if isinstance(wish, bool | np.bool_) and wish:
            search.data.stopped = "callback"
        return evaluation

    pool = Pool(search.problem, how.executor, how.n_jobs, how.timeout, how.deterministic)
    runner = Runner(search, pool, take, stop)
    return runner.steps(total, how.lost_after)


def tell_or_fail(
    search: "Search", proposal: Proposal, future: "Future[Any]", on_error: OnError
) -> Evaluation | None:
    """Tell the reward of an evaluation; ``None`` if it failed and failures do not count."""
    at, known_by_run = dict[str, Any](), search.space.by_run is not None
    try:
        found = future.result()
    except Exception as failed:
        error = failed
    else:
        try:
            if known_by_run:
                at["leaf"], found = found
            return search.tell(proposal, found, **at)
        except ProblemError as wrong:  # the new state's actions are invalid
            if not isinstance(proposal.leaf, Edge):
                raise
            error = wrong
    what, note = described(error), {"failure": described(error)}
    if known_by_run:
        at["leaf"] = search.space.failed(error)
    if isinstance(on_error, str):
        search.forget(proposal, again=False, note=note, **at)
    asked = getattr(error, "asked", None)  # a suggestion is not what the function chose
    tried = shown(asked or proposal.leaf, _OF_LEAF) if asked or not known_by_run else "the function"
    if on_error == "raise":
        failure = EvaluationError(
            f"evaluating {tried} failed after {len(search.history)} evaluations ({what}). The result so "
            "far is error.result, and on_error='skip' continues without such leaves"
        )
        search.data.stopped = "error"
        failure.result = search.result()
        raise failure from error
    logger.warning("evaluating %s failed (%s)", tried, what)
    return None if on_error == "skip" else search.tell(proposal, float(on_error), note=note, **at)


def checked_budget(budget: int) -> int:
    """``budget``; raises unless it is a positive whole number that can be stored."""
    what = "a positive whole number of evaluations (below 2**63)"
    check(is_budget(budget), "budget", what, budget)
    return int(budget)


def check_names(given: Iterable[str], names: Collection[str]) -> None:
    """Raise if one of the given names is no keyword; those of other libraries are translated."""
    for name in given:
        if name not in names:
            hint = OF_OTHERS.get(name) or did_you_mean(name, names, "help(dagsearch.search) lists all")
            raise TypeError(f"{name!r} is not a setting of a search: {hint}")


def checked_callback(callback: Callback | None) -> Callback | None:
    """``callback``; raises unless it can be called with an evaluation."""
    sound = callback is None or (callable(callback) and takes(callback, 1))
    check(sound, "callback", "a function of one argument, an Evaluation", callback)
    return callback


# Known results ------------------------------------------------------------------------------------------

Known = Iterable[tuple[Any, float] | Evaluation] | Mapping[Any, float] | Result
"""Leaves with their rewards: pairs, a mapping, or another result."""
Given = tuple[list[tuple[Any, float]], list[Any]]
"""Leaves with their rewards, and leaves to evaluate first."""


def checked_given(problem: Any, known: Known, start: Iterable[Any]) -> Given:
    """The arguments ``known`` and ``start`` as lists; raises if a leaf or reward is unusable."""
    told, first = pairs_of(known), _listed("start", start, "leaves")
    if has_costly_steps(problem) and (told or first):
        raise ValueError("known and start do not apply to costly steps: only the search chooses steps")
    space = Space(problem)
    named = [(f"known[{place}]", leaf) for place, (leaf, _) in enumerate(told)]
    named += [(f"start[{place}]", leaf) for place, leaf in enumerate(first)]
    for name, given in named:
        try:
            leaf = given.leaf if isinstance(given, Proposal) else space.as_leaf(given)
            space.key(leaf)
            if len(space.problem.actions(leaf)) > 0:
                raise ProblemError("the problem has actions there")
        except Exception as error:  # the problem's own methods, of a leaf that it may not understand
            what = f"{name}: {shown(given)} is not a leaf of the problem"
            raise ProblemError(f"{what} ({described(error)})") from error
    return told, first


def give(search: "Search", given: Given) -> None:
    """Report known results to a search, and propose the first leaves.

    A continued run already has its known results. Leaves that are pending or have a reward are not evaluated
    first.
    """
    (told, first), space, key = given, search.space, search.space.key
    before = {(key(one.leaf), one.reward) for one in search.history if one.known and told}
    for one, reward in told:
        leaf = space.learn(one.leaf if isinstance(one, Proposal) else space.as_leaf(one))
        if (key(leaf), reward) not in before:
            search.tell(one, reward, known=True)
    evaluated = {key(one.leaf) for one in search.history if first}
    for one in first:
        leaf, actions = (one.leaf, one.actions) if isinstance(one, Proposal) else (one, None)
        leaf = space.as_leaf(leaf if space.by_run is None else dict(leaf))
        # Leaves that failed are closed, too.
        if not (key(leaf) in evaluated or search.index.is_closed(leaf) or search.data.find(leaf) is not None):
            search.data.offered.append(search.propose(leaf, actions))


def pairs_of(known: Known) -> list[tuple[Any, float]]:
    """Leaves as they were given, and valid rewards."""
    if isinstance(known, Result):
        known = known.history
    known = list(known.items()) if isinstance(known, Mapping) else known
    pairs = list[tuple[Any, float]]()
    for place, one in enumerate(_listed("known", known, "pairs of a leaf and its reward")):
        pair = (one.leaf, one.reward) if isinstance(one, Evaluation) else one
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"known[{place}] must be a pair of a leaf and its reward, got {shown(one)}")
        pairs.append((pair[0], checked_reward(pair[1], pair[0])))
    return pairs


def _listed(name: str, given: Any, what: str) -> list[Any]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"{name} must be a list of {what}, got {shown(given)}")
    return list(given)
