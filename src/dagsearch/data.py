"""The rewards so far, in the user's units, and how well they were predicted."""

import math
import time
from bisect import insort
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dagsearch._internal import special
from dagsearch.posterior.posterior import Posterior
from dagsearch.problem import Action, State
from dagsearch.results import Evaluation, Proposal
from dagsearch.values.explored import Explored
from dagsearch.values.gaussians import Gaussian

# Number of good leaves that proposers may start from.
_GOOD = 6
# Smallest number of predictions that the skill is computed from.
_FEWEST = 10
# Factor by which earlier improvements count less with every reward.
_DECAY = 0.97
# Margin per logarithm of the ratio of predicted to actual improvements, in deviations of the rewards.
_MARGIN = 0.15
# Probability that central intervals hold, and standard deviations on either side of the mean that they reach.
CENTRAL = 0.9
REACH = 1.6448536269514722


class Told(NamedTuple):
    """A reward that was told, after all checks."""

    leaf: State
    """The evaluated leaf."""
    node: int
    """Its node."""
    proposal: Proposal | None
    """The proposal that it was evaluated for; ``None`` if the leaf was told without one."""
    reward: float
    """The reward in the user's units."""
    noise: float | None
    """Noise variance of this reward; ``None`` if it was not told."""
    seconds: float
    """When it was told, in seconds from the start of the search."""
    known: bool = False
    """Whether the user gave it as known: it does not count as an evaluation of the run."""


class Prediction(NamedTuple):
    """A reward, what was predicted for it, and what the mean of all earlier rewards would have predicted."""

    predicted: float
    """Mean of the model's belief over the leaf's g."""
    naive: float
    """Mean of all rewards told before."""
    reward: float
    """The reward."""
    error: float
    """Its difference from the predicted mean, in predicted standard deviations, noise included."""


class Foresight:
    """Compares predictions with the rewards that were told later, in units of the reward."""

    def __init__(self) -> None:
        self._predictions: list[Prediction] = []
        self._total, self._count, self._best = 0.0, 0, -math.inf
        self._expected = self._improved = 0.0  # numbers of improvements, predicted and actual

    def record(self, belief: Gaussian | None, reward: float) -> None:
        """Add a reward with the prediction just before, noise included; ``None`` if there was none yet."""
        if belief is not None and self._count > 0:
            deviation = max(math.sqrt(belief.variance), 1e-300)
            error = (reward - belief.mean) / deviation
            self._predictions.append(Prediction(belief.mean, self._total / self._count, reward, error))
            self._expected = _DECAY * self._expected + float(
                special.ndtr((belief.mean - self._best) / deviation)
            )
            self._improved = _DECAY * self._improved + (reward > self._best)
        self._total += reward
        self._count += 1
        self._best = max(self._best, reward)

    @property
    def kept(self) -> float:
        """Ratio of the actual to the predicted number of improvements on the best reward, at most 1.

        It is low where rewards are on a plateau, or fall off faster than the model thinks.
        """
        return min(1.0, (self._improved + 1.0) / (self._expected + 1.0))

    @property
    def margin(self) -> float:
        """How far above the best reward the next one is aimed, in deviations of the rewards.

        More where improvements were predicted that did not come, so that the search looks further away.
        """
        return -_MARGIN * math.log(self.kept)

    @property
    def skill(self) -> float | None:
        """Share of the variance of the latter half of the rewards that was predicted.

        1 is a perfect prediction; 0 is no better than the mean of all rewards told before, and less is worse.
        ``None`` with too few predictions.
        """
        recent = self._recent()
        if recent is None:
            return None
        predicted, naive, reward, _ = np.array(recent).T
        naively = float(((reward - naive) ** 2).sum())
        return 1.0 - float(((reward - predicted) ** 2).sum()) / naively if naively > 0.0 else 1.0

    @property
    def coverage(self) -> float | None:
        """Share of the same rewards inside the central 90% intervals predicted for them; 0.9 is right."""
        return self.covered(REACH)

    def covered(self, reach: float) -> float | None:
        """Share of the same rewards that missed their prediction by ``reach`` standard deviations or less."""
        recent = self._recent()
        return None if recent is None else float(np.mean([abs(one.error) <= reach for one in recent]))

    @property
    def recent(self) -> int:
        """Number of these rewards; 0 if they are too few."""
        return len(self._recent() or ())

    @property
    def error(self) -> float | None:
        """Root mean square of the same rewards' errors in predicted standard deviations; 1 is right."""
        recent = self._recent()
        return None if recent is None else float(np.sqrt(np.mean([one.error**2 for one in recent])))

    def _recent(self) -> list[Prediction] | None:
        """The latter half of the predictions; ``None`` if they are too few."""
        recent = self._predictions[len(self._predictions) // 2 :]
        return recent if len(recent) >= _FEWEST else None


class History:
    """Every evaluation in the order told, the best one, and the clock that gives their times."""

    def __init__(self) -> None:
        self.evaluations: list[Evaluation] = []
        """All evaluations, in the order told."""
        self.best: Evaluation | None = None
        """The first evaluation with the largest reward."""
        self.foresight = Foresight()
        """How well rewards were predicted before they were told."""
        self.known = 0
        """Number of rewards that were given as known."""
        self.since_best = 0
        """Number of evaluations since the best one, without rewards that were given as known."""
        self.stopped: str | None = None
        """Why the last run ended; ``None`` if there was no run."""
        self._started = time.perf_counter()

    def __len__(self) -> int:
        return len(self.evaluations)

    def add(
        self,
        leaf: State,
        actions: tuple[Action, ...] | None,
        reward: float,
        seconds: float,
        predicted: Gaussian | None = None,
        known: bool = False,
    ) -> Evaluation:
        """Add an evaluation, and keep what a subclass keeps of it."""
        before = self.evaluations
        best = max(reward, before[-1].best_reward) if before else reward
        evaluation = Evaluation(len(before) + 1, leaf, actions, reward, best, seconds, predicted, known=known)
        self.known += known
        self.since_best += not known
        if reward > (-math.inf if self.best is None else self.best.reward):
            self.best, self.since_best = evaluation, 0
        before.append(evaluation)
        self._keep(evaluation)
        return evaluation

    def _keep(self, evaluation: Evaluation) -> None:
        """Called with every evaluation that was added."""

    def incumbent(self) -> Evaluation | None:
        """The best evaluation."""
        return self.best

    def clock(self) -> float:
        """Seconds since the search began."""
        return time.perf_counter() - self._started

    def continue_clock(self) -> None:
        """Continue the clock from the last evaluation, as if no time had passed since."""
        if self.evaluations:
            self._started = time.perf_counter() - self.evaluations[-1].seconds


class Data(History):
    """Every evaluation of a leaf, and the best ones of different leaves, from which proposers start."""

    def __init__(self, explored: Explored, posterior: Posterior) -> None:
        super().__init__()
        self._explored, self._posterior = explored, posterior
        self.reached: list[Evaluation] = []
        """Those of leaves to which actions are known."""
        self._largest: list[tuple[float, int, Evaluation]] = []  # of different leaves, the largest first
        self._incumbent: tuple[int, Evaluation] | None = None  # with the number of evaluations it is from

    def _keep(self, evaluation: Evaluation) -> None:
        """Keep an evaluation among the best if it is one of them."""
        if evaluation.actions is not None:
            self.reached.append(evaluation)
            self._rank(evaluation)

    def _rank(self, evaluation: Evaluation) -> None:
        """Keep an evaluation among those with the largest rewards, if it is one; the first of equal ones."""
        ranked = self._largest
        if len(ranked) == _GOOD and evaluation.reward <= -ranked[-1][0]:
            return
        same = self._explored.space.same
        again = next((one for one in ranked if same(one[2].leaf, evaluation.leaf)), None)
        if again is not None:
            if -again[0] >= evaluation.reward:
                return
            ranked.remove(again)
        insort(ranked, (-evaluation.reward, evaluation.step, evaluation))
        del ranked[_GOOD:]

    def incumbent(self) -> Evaluation | None:
        """The best evaluation: by reward, or by mean g where noise is learnt."""
        if self.best is None or not self._posterior.learns_noise or not self._posterior.informed:
            return self.best
        if self._incumbent is None or self._incumbent[0] != len(self.evaluations):
            mean, _ = self._posterior.moments([episode.leaf for episode in self._posterior.told])
            self._incumbent = len(self.evaluations), self.evaluations[int(np.argmax(mean))]
        return self._incumbent[1]

    def good(self) -> Sequence[Evaluation]:
        """The best evaluations of different leaves to which actions are known, the incumbent first."""
        ranked, best = [evaluation for _, _, evaluation in self._largest], self.incumbent()
        if best is None or best.actions is None or (ranked and ranked[0] is best):
            return ranked
        return [best, *(one for one in ranked if not self._explored.space.same(one.leaf, best.leaf))]
