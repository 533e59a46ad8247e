"""How well the model predicts rewards before they are told."""

from typing import NamedTuple

import numpy as np

from dagsearch.gaussians import Gaussian

# Smallest number of predictions that the skill is computed from.
_FEWEST = 10
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
        self._total, self._count = 0.0, 0

    def record(self, belief: Gaussian | None, reward: float) -> None:
        """Add a reward with the prediction just before, noise included; ``None`` if there was none yet."""
        if belief is not None and self._count > 0:
            error = (reward - belief.mean) / max(belief.variance, 1e-300) ** 0.5
            self._predictions.append(Prediction(belief.mean, self._total / self._count, reward, error))
        self._total += reward
        self._count += 1

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

    @property
    def surprise(self) -> float | None:
        """Root mean square of the errors of the same rewards, in predicted deviations; 1 is right."""
        recent = self._recent()
        return None if recent is None else float(np.sqrt(np.mean([one.error**2 for one in recent])))

    def _recent(self) -> list[Prediction] | None:
        """The latter half of the predictions; ``None`` if they are too few."""
        recent = self._predictions[len(self._predictions) // 2 :]
        return recent if len(recent) >= _FEWEST else None
