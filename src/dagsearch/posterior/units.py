"""Checks and standardisation of rewards."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.texts import shown
from dagsearch.errors import RewardError
from dagsearch.problem import State

LARGEST_REWARD = 1e100
"""Largest absolute reward: squares of larger ones would overflow."""


class Episode(NamedTuple):
    """A reward and the descent that led to it."""

    path: tuple[int, ...]
    """Nodes of the descent; empty if there was none."""
    leaf: int
    """The evaluated leaf."""
    reward: float
    """Its reward; in the user's units, or after :meth:`Units.standardized` in the model's."""
    noise: float | None
    """Noise variance of this reward, if given."""
    state: State = None
    """The leaf as reported: equal to that of the node, but perhaps reached in another way."""


def checked_reward(reward: Any, leaf: State) -> float:
    """``reward`` as a float; :class:`RewardError` unless the model can learn from it."""
    try:
        if isinstance(reward, (str, bytes)):
            raise TypeError("it is text")
        if reward is None:
            raise TypeError("nothing was returned")
        if isinstance(reward, (np.ndarray, np.generic)) and np.iscomplexobj(reward):
            raise TypeError("it is complex")  # NumPy would drop the imaginary part
        value = float(reward)
    except OverflowError:
        value = math.inf
    except Exception as error:  # the user's objects may raise anything
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
    """Subtracted from rewards."""
    scale: float = 1.0
    """Divides the shifted rewards."""

    @classmethod
    def of(cls, rewards: Sequence[float]) -> "Units":
        """Units in which these rewards have mean 0 and standard deviation 1."""
        size, deviation = float(np.abs(rewards).max()), float(np.std(rewards))
        # If all rewards are equal up to rounding, the scale is their absolute value, or 1 if that is 0.
        return cls(float(np.mean(rewards)), deviation if deviation > 1e-12 * size else size or 1.0)

    def standardized(self, episode: Episode) -> Episode:
        """A raw episode in the model's units."""
        reward, noise = episode.reward, episode.noise
        # If the first rewards were tiny, later ones may overflow these units until the next calibration.
        if noise is not None:
            noise = min(noise / self.scale / self.scale, LARGEST_REWARD)
        reward = min(max((reward - self.shift) / self.scale, -LARGEST_REWARD), LARGEST_REWARD)
        return episode._replace(reward=reward, noise=noise)
