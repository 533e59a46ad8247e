"""A method's evaluations: counted, timed, and ended when the budget is spent."""

import time
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any

import numpy as np


class BudgetSpent(BaseException):
    """The run has used all its evaluations, or proposes nothing new.

    Not an ``Exception``, so that a search that skips failed evaluations does not skip this one.
    """


class EvaluationFailed(Exception):
    """An evaluation failed: it counts and has no reward."""


class Evaluations:
    """The evaluations of one run. One more than the budget allows raises :class:`BudgetSpent`.

    Only distinct points count: the reward of a repeated point is looked up.

    Parameters
    ----------
    reward : callable
        ``reward(point)``, larger is better; it may raise :class:`EvaluationFailed`.
    budget : int
        Number of evaluations.
    key : callable, optional
        Makes points hashable; two points with the same key are the same point.
    noisy : bool
        Whether rewards are noisy, which methods may want to know.
    """

    def __init__(
        self,
        reward: Callable[[Any], float],
        budget: int,
        key: Callable[[Any], Hashable] | None = None,
        noisy: bool = False,
    ) -> None:
        self.budget, self.noisy = budget, noisy
        self.patience = 10_000
        """Number of consecutive known points that also ends the run."""
        self.points: list[Any] = []
        """What was evaluated, in this order."""
        self.rewards: list[float] = []
        """Their rewards; −∞ for failed evaluations."""
        self.recommended: dict[int, Any] = {}
        """The method's recommendations by number of evaluations, for noisy rewards."""
        self._reward, self._named = reward, key or (lambda point: point)
        self._known: dict[Hashable, float] = {}
        self._repeats = 0
        self._began = self._ended = time.process_time()
        self._spent = 0.0

    @property
    def own_seconds(self) -> float:
        """CPU time until the last evaluation, without the evaluations themselves."""
        return self._ended - self._began - self._spent

    def __call__(self, point: Any) -> float:
        """The reward of a point; raises :class:`EvaluationFailed` each time if its evaluation failed."""
        key = self._named(point)
        if key not in self._known:
            self._repeats = 0
            self._evaluate(point, key)
        else:
            self._repeats += 1
            if self._repeats >= self.patience:
                raise BudgetSpent
        if self._known[key] == -np.inf:
            raise EvaluationFailed("the point has no reward")
        return self._known[key]

    def or_worst(self, point: Any) -> float:
        """The same, but −∞ for a failed evaluation."""
        with suppress(EvaluationFailed):
            return self(point)
        return -np.inf

    def knows(self, point: Any) -> bool:
        """Whether a point has been evaluated."""
        return self._named(point) in self._known

    def _evaluate(self, point: Any, key: Hashable) -> None:
        if len(self.rewards) == self.budget:
            raise BudgetSpent
        began, found = time.process_time(), -np.inf
        with suppress(EvaluationFailed):
            found = float(self._reward(point))
        self._ended = time.process_time()
        self._spent += self._ended - began
        self.points.append(point)
        self.rewards.append(found)
        self._known[key] = found
