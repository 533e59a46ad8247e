"""Rewards on their way from the user to the model."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dagsearch.errors import RewardError
from dagsearch.gaussians import Gaussian
from dagsearch.problem import State


class Episode(NamedTuple):
    """A reward, and how it was come by."""

    path: tuple[int, ...]
    """Nodes that the descent came through; empty if the leaf was told without a descent."""
    leaf: int
    """The evaluated leaf."""
    reward: float
    """Its reward; in the model's units, once a :class:`Standardizer` has let it pass."""
    noise: float | None
    """Variance of this very reward, if it was told."""


def checked_reward(reward: Any, leaf: State) -> float:
    """``reward`` as a number, or :class:`RewardError` if it is none that a model can learn from."""
    try:
        if isinstance(reward, (str, bytes)):
            raise TypeError("text is no number")
        value = float(reward)
    except (TypeError, ValueError) as error:
        raise RewardError(
            f"the reward of {leaf!r} is {reward!r}, which is not a number ({error}); the model is "
            "unchanged: tell a finite number instead"
        ) from error
    if not math.isfinite(value):
        raise RewardError(
            f"the reward of {leaf!r} is {value}; the model is unchanged: tell a finite number instead, "
            "such as a low penalty for a failed evaluation"
        )
    return value


class Standardizer:
    """Shifts and scales rewards by the mean and deviation of the first of them (section 4.3).

    Parameters
    ----------
    count : int
        How many of them. They are held back until the last has come; 0 leaves rewards as they are.
    """

    def __init__(self, count: int) -> None:
        if count < 0:
            raise ValueError(f"standardize must not be negative, got {count!r}")
        self._missing = count
        self._waiting: list[Episode] = []
        self._shift, self._scale = 0.0, 1.0

    def admit(self, episode: Episode) -> Sequence[Episode]:
        """The episodes that the model may learn from now, in its units."""
        if self._missing == 0:
            return [self._standardized(episode)]
        self._waiting.append(episode)
        self._missing -= 1
        if self._missing > 0:
            return []
        rewards = [waiting.reward for waiting in self._waiting]
        # Equal rewards tell nothing of the scale.
        self._shift, self._scale = float(np.mean(rewards)), float(np.std(rewards)) or 1.0
        ready, self._waiting = [self._standardized(waiting) for waiting in self._waiting], []
        return ready

    def _standardized(self, episode: Episode) -> Episode:
        return episode._replace(
            reward=(episode.reward - self._shift) / self._scale,
            noise=None if episode.noise is None else episode.noise / self._scale**2,
        )

    def in_units_of_reward(self, belief: Gaussian) -> Gaussian:
        """A belief of the model's, in the user's units."""
        return Gaussian(self._shift + self._scale * belief.mean, self._scale**2 * belief.variance)
