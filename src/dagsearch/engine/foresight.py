"""How well the model predicts rewards before they are told."""

from typing import NamedTuple

import numpy as np

from dagsearch.gaussians import Gaussian

# Smallest number of predictions that the skill is computed from.
_FEWEST = 10


class Prediction(NamedTuple):
    """A reward, what was predicted for it, and what the mean of all earlier rewards would have predicted."""

    predicted: float
    """Mean of the model's belief over the leaf's g."""
    naive: float
    """Mean of all rewards told before."""
    reward: float
    """The reward."""


class Foresight:
    """Compares predictions with the rewards that were told later, in units of the reward."""

    def __init__(self) -> None:
        self._predictions: list[Prediction] = []
        self._total, self._count = 0.0, 0

    def record(self, belief: Gaussian | None, reward: float) -> None:
        """Add a reward with the belief over its leaf just before; ``None`` if there was none yet."""
        if belief is not None and self._count > 0:
            self._predictions.append(Prediction(belief.mean, self._total / self._count, reward))
        self._total += reward
        self._count += 1

    @property
    def skill(self) -> float | None:
        """Share of the variance of the latter half of the rewards that was predicted.

        1 is a perfect prediction; 0 is no better than the mean of all rewards told before, and less is worse.
        ``None`` with too few predictions.
        """
        recent = self._predictions[len(self._predictions) // 2 :]
        if len(recent) < _FEWEST:
            return None
        predicted, naive, reward = np.array(recent).T
        naively = float(((reward - naive) ** 2).sum())
        return 1.0 - float(((reward - predicted) ** 2).sum()) / naively if naively > 0.0 else 1.0
