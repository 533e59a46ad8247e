"""Rewards between the user and the model: checks and standardisation."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.texts import shown
from dagsearch.errors import RewardError
from dagsearch.problem import State

LARGEST_REWARD = 1e100
"""Size of the largest reward that can be told: squares of larger ones would overflow."""


class Episode(NamedTuple):
    """A reward, with the descent that led to it."""

    path: tuple[int, ...]
    """Nodes that the descent came through; empty if the leaf was told without a descent."""
    leaf: int
    """The evaluated leaf."""
    reward: float
    """Its reward; in the user's units, or after :meth:`Units.standardized` in the model's."""
    noise: float | None
    """Noise variance of this reward; ``None`` if it was not told."""
    state: State = None
    """The leaf as it was told: equal to that of the node, which may have been reached in another way."""


def checked_reward(reward: Any, leaf: State) -> float:
    """``reward`` as a float; :class:`RewardError` unless the model can learn from it."""
    try:
        if isinstance(reward, (str, bytes)):
            raise TypeError("it is text")
        if reward is None:
            raise TypeError("nothing was returned")
        if isinstance(reward, (np.ndarray, np.generic)) and np.iscomplexobj(reward):
            raise TypeError("it is complex")  # NumPy would leave the imaginary part out
        value = float(reward)
    except OverflowError:
        value = math.inf
    except Exception as error:  # an object of the user's may raise anything
        raise RewardError(
            f"the reward of {leaf!r} is {shown(reward)}, which is not a number ({error}): return or "
            "tell a finite number; the model is unchanged"
        ) from error
    if not abs(value) <= LARGEST_REWARD:
        raise RewardError(
            f"the reward of {leaf!r} is {shown(reward)}; return or tell a finite number below "
            f"{LARGEST_REWARD:g}, for a failed evaluation one close to the worst successful reward; the "
            "model is unchanged"
        )
    return value


class Units(NamedTuple):
    """The model's units: rewards are shifted, then divided by a scale (section 4.3)."""

    shift: float = 0.0
    """What is subtracted from rewards."""
    scale: float = 1.0
    """What they are divided by then."""

    @classmethod
    def of(cls, rewards: Sequence[float]) -> "Units":
        """Units in which these rewards have mean 0 and standard deviation 1."""
        size, deviation = float(np.abs(rewards).max()), float(np.std(rewards))
        # If all rewards are equal up to rounding, their absolute value is the scale, or 1 if it is 0.
        return cls(float(np.mean(rewards)), deviation if deviation > 1e-12 * size else size or 1.0)

    def standardized(self, episode: Episode) -> Episode:
        """A raw episode in the model's units."""
        reward, noise = episode.reward, episode.noise
        # If the first rewards were tiny, others may be too large in these units until the next calibration.
        if noise is not None:
            noise = min(noise / self.scale / self.scale, LARGEST_REWARD)
        reward = min(max((reward - self.shift) / self.scale, -LARGEST_REWARD), LARGEST_REWARD)
        return episode._replace(reward=reward, noise=noise)
