"""The common interface of searches over leaves and over costly steps, for users, runners and logs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Generic, TypeVar, cast, overload

from dagsearch._internal.checks import check, is_budget
from dagsearch._internal.deadline import Deadline
from dagsearch._internal.wiring import wiring
from dagsearch.data import Data
from dagsearch.errors import SearchExhausted, StorageError
from dagsearch.log import Log
from dagsearch.results import Evaluation, Proposal, Result
from dagsearch.space import Space

P = TypeVar("P", bound=Proposal)


class Session(ABC, Generic[P]):
    """A search with ask and tell, a run loop and a log."""

    data: Data
    """Every evaluation, and what is pending."""
    log: Log
    """Receives every event, and delivers those of other processes."""
    seed: int
    """Proposal number i draws from ``default_rng([seed, i])``."""
    asked: int
    """Number of proposals so far."""

    problem: Any
    """The problem that is searched."""
    space: Space
    """The examined problem."""
    deadline: Deadline
    """Time at which the current run must end."""

    @abstractmethod
    def try_ask(self) -> P | None:
        """The next proposal; interrupted evaluations come first.

        ``None`` if another process has asked since this one last caught up; the caller then tries again.
        """

    @abstractmethod
    def result(self) -> Result:
        """The result so far."""

    def after_error(self) -> Result:
        """The result after an error; only the rewards if the model or the problem fails again."""
        with suppress(Exception):
            return self.result()
        best, told = self.data.best, (None, None, self.data.stopped, tuple(self.data.evaluations))
        if best is None:
            return Result(None, None, None, *told)
        return Result(best.leaf, best.actions, best.reward, *told)

    @overload
    def ask(self) -> P: ...

    @overload
    def ask(self, n: int) -> list[P]: ...

    def ask(self, n: int | None = None) -> P | list[P]:
        """The next proposal to evaluate, or ``n`` different ones to evaluate at once.

        A proposal without a reward is pending. A pending leaf lowers the uncertainty but does not move the
        mean, so that the next proposals lie elsewhere.

        Parameters
        ----------
        n : int, optional
            Number of proposals. A list is returned, which is shorter if fewer are left.

        Raises
        ------
        SearchExhausted
            If everything has been evaluated or asked for, and nothing may be evaluated again.
        """
        check(n is None or is_budget(n), "n", "a positive whole number of proposals", n)
        found = list[P]()
        try:
            while len(found) < (n or 1):
                self.log.catch_up()
                if (proposal := self.try_ask()) is not None:
                    found.append(proposal)
        except SearchExhausted:
            if not found:
                raise
        return found[0] if n is None else found

    def _catch_up_before(self, told: str) -> None:
        """Read what other processes have written; an error says that what is ``told`` now was not stored."""
        try:
            self.log.catch_up()
        except StorageError as error:
            raise StorageError(f"{error}; tell {told} after resuming") from error

    def __dir__(self) -> list[str]:
        """The public names."""
        return [name for name in super().__dir__() if not name.startswith("_")]

    @property
    def spent(self) -> int:
        """Total cost of all evaluations so far, in units of the budget."""
        return len(self.data) + self.data.failed

    def note(self, content: Any) -> None:
        """Store a note with the run, if there is storage; as text where JSON has no such type."""
        self.log.write("note", note=content)

    def log_with(self, log: Log) -> None:
        """Report all further events to a log."""
        self.log = log

    def close(self) -> None:
        """Leave the stored run, if there is one; later events are not stored.

        Its pending leaves are offered again, to other processes or when the run is resumed.
        """
        self.log.close()
        self.log_with(Log())

    def steps(self, budget: int, stop: Any = None, **execution: Any) -> Iterator[Evaluation]:
        """Evaluate as much as ``budget`` allows, one evaluation per iteration; all workers work at once.

        The iterator ends early if nothing is left to evaluate, or if a rule of ``stop`` holds. It waits for
        evaluations that have begun.

        Parameters
        ----------
        budget : int
            Number of evaluations, failed ones included, or the total cost of costly steps.
        stop : Stop, optional
            Rules for stopping before the budget is spent.
        **execution
            Keywords of :class:`dagsearch.run.runner.Execution`: where and how to evaluate.
        """
        return wiring.steps(self, budget, stop, **execution)  # type: ignore[no-any-return]

    def run(self, budget: int, stop: Any = None, **execution: Any) -> Result:
        """Evaluate as :meth:`steps` does, and return the result."""
        for _ in self.steps(budget, stop, **execution):
            pass
        return self.result()

    @property
    def history(self) -> list[Evaluation]:
        """Every evaluation, in the order reported."""
        return self.data.evaluations

    @property
    def pending(self) -> tuple[P, ...]:
        """Pending proposals, the oldest first."""
        return tuple(cast(list[P], self.data.pending))
