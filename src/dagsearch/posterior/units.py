"""Rewards between the user and the model: checks and standardisation."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dagsearch._internal.checks import is_whole
from dagsearch._internal.texts import shown
from dagsearch._internal.typing import FloatArray
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
    """Its reward; in the model's units after :meth:`Standardizer.admit`, before in the user's."""
    noise: float | None
    """Noise variance of this reward; ``None`` if it was not told."""
    state: State = None
    """The leaf as it was told: equal to that of the node, which may have been reached in another way."""


def checked_reward(reward: Any, leaf: State) -> float:
    """``reward`` as a float; :class:`RewardError` unless the model can learn from it."""
    try:
        if isinstance(reward, (str, bytes)):
            raise TypeError("it is text")
        if isinstance(reward, (np.ndarray, np.generic)) and np.iscomplexobj(reward):
            raise TypeError("it is complex")  # NumPy would leave the imaginary part out
        value = float(reward)
    except OverflowError:
        value = math.inf
    except Exception as error:  # an object of the user's may raise anything
        raise RewardError(
            f"the reward of {leaf!r} is {shown(reward)}, which is not a number ({error}); the model is "
            "unchanged: tell a finite number instead"
        ) from error
    if not abs(value) <= LARGEST_REWARD:
        raise RewardError(
            f"the reward of {leaf!r} is {shown(reward)}; the model is unchanged: tell a finite number below "
            f"{LARGEST_REWARD:g} instead; for a failed evaluation, one close to the worst successful reward"
        )
    return value


class Standardizer:
    """Shifts and scales rewards by the mean and standard deviation of the first rewards (section 4.3).

    Parameters
    ----------
    count : int
        Number of first rewards. They are held back until the last one is told; 0 leaves rewards as they are.
    """

    def __init__(self, count: int) -> None:
        if not is_whole(count) or count < 0:
            raise ValueError(f"standardize must be a whole number of at least 0, got {shown(count)}")
        self._missing = int(count)
        self._waiting: list[Episode] = []
        self.shift, self.scale = 0.0, 1.0
        """What is subtracted from rewards, and what they are divided by then."""

    def admit(self, episode: Episode) -> Sequence[Episode]:
        """Take a reward; returns the episodes that the model may learn from now, in its units."""
        if self._missing == 0:
            return [self.standardized(episode)]
        self._waiting.append(episode)
        self._missing -= 1
        return [] if self._missing > 0 else self.release()

    def miss(self) -> Sequence[Episode]:
        """One of the first rewards will not come; returns what :meth:`admit` does. At least two must come."""
        self._missing = max(self._missing - 1, 2 - len(self._waiting))
        return [] if self._missing > 0 else self.release()

    def release(self) -> Sequence[Episode]:
        """Standardise by the rewards so far, and return those that were held back."""
        self._missing = 0
        if self._waiting:
            self.recalibrate([waiting.reward for waiting in self._waiting])
        ready, self._waiting = [self.standardized(waiting) for waiting in self._waiting], []
        return ready

    def drop(self, leaf: int) -> None:
        """Forget the rewards of a leaf that are held back."""
        left = [waiting for waiting in self._waiting if waiting.leaf != leaf]
        self._missing += len(self._waiting) - len(left)
        self._waiting = left

    def recalibrate(self, rewards: Sequence[float]) -> None:
        """Standardise by the mean and deviation of these rewards from now on."""
        self.shift, self.scale = float(np.mean(rewards)), _spread(np.array(rewards))

    @property
    def waiting(self) -> bool:
        """Whether rewards are still held back."""
        return self._missing > 0

    def standardized(self, episode: Episode) -> Episode:
        """A raw episode in the model's units."""
        reward, noise = episode.reward, episode.noise
        # If the first rewards were tiny, others may be too large in these units until the next calibration.
        if noise is not None:
            noise = min(noise / self.scale / self.scale, LARGEST_REWARD)
        reward = min(max((reward - self.shift) / self.scale, -LARGEST_REWARD), LARGEST_REWARD)
        return episode._replace(reward=reward, noise=noise)

    def samples_in_units_of_reward(self, samples: FloatArray) -> FloatArray:
        """Samples from the model in the user's units."""
        return self.shift + self.scale * samples


def _spread(rewards: FloatArray) -> float:
    """Standard deviation; if all rewards are equal up to rounding, their absolute value, or 1 if it is 0."""
    size = float(np.abs(rewards).max())
    deviation = float(rewards.std())
    return deviation if deviation > 1e-12 * size else size or 1.0
