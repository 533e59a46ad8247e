"""Rewards in the user's units, the accuracy of their predictions, and pending proposals."""

import math
import time
from collections.abc import Callable, Hashable
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from dagsearch.problem import Action, State
from dagsearch.results import Evaluation, Gaussian, Proposal

# Number of good leaves that proposers may start from.
_GOOD = 6
# Smallest number of predictions for R².
_FEWEST = 10
# Factor by which earlier improvements count less with every reward.
_DECAY = 0.97
# Margin per logarithm of the ratio of predicted to actual improvements, in deviations of the rewards.
_MARGIN = 0.15
REACH = 1.6448536269514722
"""Standard deviations on either side of the mean that a central interval of 90% reaches."""


class Foresight:
    """Compares predictions with the rewards reported later, in units of the reward."""

    def __init__(self) -> None:
        # Rewards, the mean predicted for each, the mean of all before it, and the error of the prediction in
        # standard deviations, noise included.
        self._predictions: list[tuple[float, float, float, float]] = []
        self._total, self._count, self._best = 0.0, 0, -math.inf
        self._expected = self._improved = 0.0  # numbers of improvements, predicted and actual

    def record(self, belief: Gaussian | None, reward: float) -> None:
        """Add a reward with the prediction just before, noise included; ``None`` if there was none yet."""
        if belief is not None and self._count > 0:
            from scipy import special  # slow to import

            deviation = max(math.sqrt(belief.variance), 1e-300)
            error = (reward - belief.mean) / deviation
            self._predictions.append((reward, belief.mean, self._total / self._count, error))
            self._expected = _DECAY * self._expected + float(
                special.ndtr((belief.mean - self._best) / deviation)
            )
            self._improved = _DECAY * self._improved + (reward > self._best)
        self._total += reward
        self._count += 1
        self._best = max(self._best, reward)

    @property
    def realised_ratio(self) -> float:
        """Ratio of the actual to the predicted number of improvements on the best reward, at most 1.

        It is low where rewards are on a plateau, or fall off faster than the model thinks.
        """
        return min(1.0, (self._improved + 1.0) / (self._expected + 1.0))

    @property
    def margin(self) -> float:
        """How far above the best reward the search aims, in standard deviations of the rewards.

        It is large if predicted improvements did not materialise, so that the search explores more.
        """
        return -_MARGIN * math.log(self.realised_ratio)

    @property
    def r2(self) -> float | None:
        """R² of the predictions for the second half of the rewards, relative to the mean of all earlier ones.

        1 is perfect, 0 is no better than that mean. ``None`` with too few predictions.
        """
        recent = self.recent
        if not recent:
            return None
        reward, predicted, naive, _ = np.array(recent).T
        naively = float(((reward - naive) ** 2).sum())
        return 1.0 - float(((reward - predicted) ** 2).sum()) / naively if naively > 0.0 else 1.0

    def covered(self, reach: float = REACH) -> float | None:
        """Share of the same rewards that missed their prediction by ``reach`` standard deviations or less."""
        recent = self.recent
        return float(np.mean([abs(error) <= reach for *_, error in recent])) if recent else None

    @property
    def recent(self) -> list[tuple[float, float, float, float]]:
        """The second half of the predictions; empty if there are too few."""
        recent = self._predictions[len(self._predictions) // 2 :]
        return recent if len(recent) >= _FEWEST else []


class Rewards:
    """Evaluations in the order reported, of one part of a search or of all parts.

    Parameters
    ----------
    key : callable
        Identifies a leaf: leaves with equal keys are the same.
    """

    def __init__(self, key: Callable[[State], Hashable]) -> None:
        self._key = key
        self._clear()

    def _clear(self) -> None:
        self.evaluations: list[Evaluation] = []
        """All evaluations, in the order reported."""
        self.best: Evaluation | None = None
        """The first evaluation with the largest reward."""
        self.reached: list[Evaluation] = []
        """Evaluations of leaves with known actions from the root."""
        self.foresight = Foresight()
        """How well rewards were predicted before they were observed."""
        self.known = 0
        """Number of rewards that were given as known."""
        self.since_best = 0
        """Number of evaluations since the best one, without rewards that were given as known."""

    def __len__(self) -> int:
        return len(self.evaluations)

    def add(self, evaluation: Evaluation) -> None:
        """Add an evaluation."""
        self.foresight.record(evaluation.predicted, evaluation.reward)
        self.known += evaluation.known
        self.since_best += not evaluation.known
        if evaluation.reward > (-math.inf if self.best is None else self.best.reward):
            self.best, self.since_best = evaluation, 0
        self.evaluations.append(evaluation)
        if evaluation.actions is not None:
            self.reached.append(evaluation)

    def good(self, first: Evaluation | None) -> list[Evaluation]:
        """The best evaluations of different leaves with known actions, after ``first``."""
        ranked: dict[int, Evaluation] = {}
        for one in sorted(self.reached, key=attrgetter("reward"), reverse=True):  # of equal ones, the first
            ranked.setdefault(one.row, one)
            if len(ranked) == _GOOD:
                break
        if first is None or first.actions is None:
            return list(ranked.values())
        ranked.pop(first.row, None)
        return [first, *ranked.values()]


class Data(Rewards):
    """Every evaluation in the order reported, and every pending proposal.

    Parameters
    ----------
    key : callable
        Identifies a leaf: leaves with equal keys are the same.
    """

    def __init__(self, key: Callable[[State], Hashable]) -> None:
        super().__init__(key)
        self._started = time.perf_counter()
        self.stopped: str | None = None
        """Why the last run ended; ``None`` if there was no run."""
        self.failed = 0
        """Number of evaluations that have failed."""
        self.pending: list[Proposal] = []
        """Pending proposals, the oldest first."""
        self.offered: list[Proposal] = []
        """Proposals to give out again before new ones, because their evaluations were cut off; some may no
        longer be pending."""

    def _clear(self) -> None:
        super()._clear()
        self.parts: list[Rewards] = []
        """The rewards of every part of the search."""

    # Evaluations -----------------------------------------------------------------------------------------

    def evaluation(
        self, leaf: State, actions: tuple[Action, ...] | None, reward: float, seconds: float, **about: Any
    ) -> Evaluation:
        """The next evaluation, for :meth:`add`; ``about`` has its other fields."""
        best = max(reward, self.evaluations[-1].best_reward) if self.evaluations else reward
        return Evaluation(len(self) + 1, leaf, actions, reward, best, seconds, **about)

    def add(self, evaluation: Evaluation) -> None:
        """Add an evaluation, also to its part."""
        super().add(evaluation)
        self.part(evaluation.part).add(evaluation)

    def part(self, number: int) -> Rewards:
        """The rewards of a part, which may be new."""
        while len(self.parts) <= number:
            self.parts.append(Rewards(self._key))
        return self.parts[number]

    def of_leaf(self, row: int) -> list[float]:
        """The rewards of a leaf, in the order reported."""
        return [one.reward for one in self.evaluations if one.row == row]

    def remove(self, leaf: State) -> None:
        """Remove all evaluations of a leaf."""
        key, before = self._key(leaf), self.evaluations
        self._clear()
        for one in before:
            if self._key(one.leaf) != key:
                best = max(one.reward, self.evaluations[-1].best_reward) if self.evaluations else one.reward
                self.add(replace(one, step=len(self) + 1, best_reward=best))

    def clock(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self._started

    def continue_clock(self) -> None:
        """Continue the clock from the last evaluation, as if no time had passed since."""
        if self.evaluations:
            self._started = time.perf_counter() - self.evaluations[-1].seconds

    # Pending proposals -----------------------------------------------------------------------------------

    def find(self, leaf: State, proposal: Proposal | None = None) -> int | None:
        """Place of this proposal among the pending ones, else of the oldest one for the leaf, if any."""
        for place, other in enumerate(self.pending):
            if other is proposal:
                return place
        key = self._key(leaf) if self.pending else None
        return next((place for place, one in enumerate(self.pending) if self._key(one.leaf) == key), None)

    def next_offered(self) -> Proposal | None:
        """The next proposal that is offered again and still pending."""
        while self.offered:
            offered = self.offered.pop(0)
            if any(offered is proposal for proposal in self.pending):
                return offered
        return None
