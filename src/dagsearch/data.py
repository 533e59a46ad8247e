"""Rewards in the user's units, the accuracy of the surrogate, and pending proposals."""

import math
import time
from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from dagsearch.problem import Action, State
from dagsearch.results import Evaluation, Proposal

# Number of good leaves from which proposers may start.
_GOOD = 6
# Smallest number of predictions for R².
_FEWEST = 10
# Factor that discounts earlier improvements with every reward.
_DECAY = 0.97
# Margin per logarithm of the ratio of predicted to actual improvements, in deviations of the rewards.
_MARGIN = 0.15
REACH = 1.6448536269514722
"""Half-width of a central 90 % interval in standard deviations."""


class Accuracy(NamedTuple):
    """Accuracy of the predictions of the second half of the rewards."""

    rewards: int
    """Number of these rewards."""
    r2: float
    """R² relative to the mean of all earlier rewards: 1 is perfect, 0 is no better than that mean."""
    coverage: float
    """Share of the rewards inside their predicted central 90 % intervals."""


def accuracy(evaluations: Sequence[Any]) -> Accuracy | None:
    """Accuracy of the predictions made just before each reward; ``None`` with too few of them."""
    known = [place for place, one in enumerate(evaluations) if place > 0 and one.predicted is not None]
    recent = np.array(known[len(known) // 2 :], dtype=np.int64)
    if recent.size < _FEWEST:
        return None
    rewards = np.array([one.reward for one in evaluations])
    mean, variance = np.array([evaluations[place].predicted for place in recent]).T
    error, naive = rewards[recent] - mean, rewards[recent] - np.cumsum(rewards)[recent - 1] / recent
    within = np.abs(error) <= REACH * np.maximum(np.sqrt(variance), 1e-300)
    naively = float(naive @ naive)
    r2 = 1.0 - float(error @ error) / naively if naively > 0.0 else 1.0
    return Accuracy(recent.size, r2, float(within.mean()))


class Rewards:
    """Evaluations in the order reported."""

    def __init__(self) -> None:
        self.evaluations: list[Evaluation] = []
        """All evaluations, in the order reported."""
        self.best: Evaluation | None = None
        """The first evaluation with the largest reward."""
        self.known = 0
        """Number of rewards that were passed as known."""
        self.since_best = 0
        """Number of evaluations since the best one, known rewards excluded."""

    def __len__(self) -> int:
        return len(self.evaluations)

    def add(self, evaluation: Evaluation) -> None:
        """Add an evaluation."""
        self.known += evaluation.known
        self.since_best += not evaluation.known
        if evaluation.reward > (-math.inf if self.best is None else self.best.reward):
            self.best, self.since_best = evaluation, 0
        self.evaluations.append(evaluation)


class Part(Rewards):
    """The evaluations of one part of a search, and its predicted and actual improvements."""

    def __init__(self) -> None:
        super().__init__()
        self.reached: list[Evaluation] = []
        """Evaluations of leaves with known actions from the root, of which there is at least one."""
        self.own: list[Evaluation] = []
        """Evaluations that the part itself asked for."""
        self._expected = self._improved = 0.0  # numbers of improvements, predicted and actual

    def add(self, evaluation: Evaluation) -> None:
        """Add an evaluation."""
        if self.best is not None and (belief := evaluation.predicted) is not None:
            from scipy import special  # slow to import

            z = (belief.mean - self.best.reward) / max(math.sqrt(belief.variance), 1e-300)
            self._expected = _DECAY * self._expected + float(special.ndtr(z))
            self._improved = _DECAY * self._improved + (evaluation.reward > self.best.reward)
        super().add(evaluation)
        if evaluation.actions:
            self.reached.append(evaluation)
        if evaluation.asked:
            self.own.append(evaluation)

    @property
    def realised_ratio(self) -> float:
        """Ratio of the actual to the predicted number of improvements of the best reward, at most 1.

        It is low on a plateau, and where rewards fall off faster than the model predicts.
        """
        return min(1.0, (self._improved + 1.0) / (self._expected + 1.0))

    @property
    def margin(self) -> float:
        """Distance above the best reward at which the search aims, in standard deviations of the rewards.

        It grows when predicted improvements do not materialise, so that the search explores more.
        """
        return -_MARGIN * math.log(self.realised_ratio)

    def good(self, first: Evaluation | None) -> list[Evaluation]:
        """The best evaluations of different leaves with known actions, after ``first``."""
        ranked: dict[int, Evaluation] = {}
        for one in sorted(self.reached, key=attrgetter("reward"), reverse=True):  # ties: the first
            ranked.setdefault(one.row, one)
            if len(ranked) == _GOOD:
                break
        if first is None or not first.actions:
            return list(ranked.values())
        ranked.pop(first.row, None)
        return [first, *ranked.values()]


class Data(Rewards):
    """Every evaluation in the order reported, and every pending proposal. ``key`` identifies a leaf."""

    def __init__(self, key: Callable[[State], Hashable]) -> None:
        super().__init__()
        self._key = key
        self.parts: list[Part] = []
        """The rewards of every part of the search."""
        self._by_leaf: defaultdict[int, list[float]] = defaultdict(list)
        self._started = time.perf_counter()
        self.stopped: str | None = None
        """Why the last run ended; ``None`` if there was no run."""
        self.failed = 0
        """Number of failed evaluations."""
        self.pending: list[Proposal] = []
        """Pending proposals, the oldest first."""
        self.offered: list[Proposal] = []
        """Proposals to hand out again before new ones because their evaluations were interrupted; some may
        no longer be pending."""

    # Evaluations -----------------------------------------------------------------------------------------

    def evaluation(
        self, leaf: State, actions: tuple[Action, ...] | None, reward: float, seconds: float, **about: Any
    ) -> Evaluation:
        """The next evaluation, for :meth:`add`; ``about`` holds its other fields."""
        told = self.evaluations
        best = max(reward, told[-1].best_reward) if told else reward
        return Evaluation(len(told) + 1, leaf, actions, reward, best, seconds, **about)

    def add(self, evaluation: Evaluation) -> None:
        """Add an evaluation, also to its part."""
        super().add(evaluation)
        self._by_leaf[evaluation.row].append(evaluation.reward)
        self.part(evaluation.part).add(evaluation)

    def part(self, number: int) -> Part:
        """The rewards of a part, which may be new."""
        while len(self.parts) <= number:
            self.parts.append(Part())
        return self.parts[number]

    def of_leaf(self, row: int) -> list[float]:
        """The rewards of a leaf, in the order reported."""
        return self._by_leaf.get(row, [])

    def remove(self, leaf: State) -> None:
        """Remove all evaluations of a leaf."""
        key, before = self._key(leaf), self.evaluations
        super().__init__()
        self.parts.clear()
        self._by_leaf.clear()
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
        """Place of this proposal among the pending ones, else that of the oldest one for the leaf."""
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
