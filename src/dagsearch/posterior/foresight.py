"""How well the model predicts rewards before they are told."""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from dagsearch.values.gaussians import Gaussian

# Smallest number of predictions that the skill is computed from.
_FEWEST = 10
# Factor by which earlier improvements count less with every reward.
_DECAY = 0.97
# Margin per logarithm of the ratio of predicted to actual improvements, in deviations of the rewards.
_MARGIN = 0.15
# Standard deviations on either side of the mean that a central 90% interval reaches.
REACH = 1.6448536269514722


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
            self._expected = _DECAY * self._expected + float(ndtr((belief.mean - self._best) / deviation))
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
        recent = self._recent()
        return None if recent is None else float(np.mean([abs(one.error) <= REACH for one in recent]))

    def _recent(self) -> list[Prediction] | None:
        """The latter half of the predictions; ``None`` if they are too few."""
        recent = self._predictions[len(self._predictions) // 2 :]
        return recent if len(recent) >= _FEWEST else None
