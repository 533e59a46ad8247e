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
from dagsearch.values.gaussians import Gaussian

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


class Warp(NamedTuple):
    """w(y) = −log((top − y) / gap + offset), which tells good rewards apart where most others are far below.

    Above ``top`` it continues as a line. An infinite offset leaves rewards as they are.
    """

    top: float = 0.0
    """The largest reward when it was made."""
    gap: float = 1.0
    """Median distance of rewards from it."""
    offset: float = math.inf
    """How much good rewards are told apart: the smaller, the more."""

    @classmethod
    def of(cls, rewards: Sequence[float], offset: float) -> "Warp":
        """The warp of these rewards; the identity if half of them are the largest."""
        top, gap = max(rewards), max(rewards) - float(np.median(rewards))
        return cls(top, gap, offset) if gap > 0.0 and math.isfinite(offset) else cls()

    def __call__(self, reward: float) -> float:
        """A warped reward."""
        if self.offset == math.inf:
            return reward
        below = (self.top - reward) / self.gap
        return -math.log(below + self.offset) if below > 0.0 else -below / self.offset - math.log(self.offset)

    def slope(self, reward: float) -> float:
        """Its derivative."""
        if self.offset == math.inf:
            return 1.0
        return 1.0 / (self.gap * (max((self.top - reward) / self.gap, 0.0) + self.offset))

    def back(self, warped: FloatArray) -> FloatArray:
        """The rewards that were warped."""
        if self.offset == math.inf:
            return warped
        kink = -math.log(self.offset)
        curve = np.exp(-np.minimum(warped, kink)) - self.offset
        return np.asarray(self.top - self.gap * (curve - self.offset * np.maximum(warped - kink, 0.0)))


class Standardizer:
    """Warps, shifts and scales rewards, by the mean and standard deviation of the first ones (section 4.3).

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
        self.units = Units()
        """How rewards become numbers of the model."""

    def admit(self, episode: Episode) -> Sequence[Episode]:
        """Take a reward; returns the episodes that the model may learn from now, in its units."""
        if self._missing == 0:
            return [self.standardized(episode)]
        self._waiting.append(episode)
        self._missing -= 1
        return [] if self._missing > 0 else self.release()

    def release(self) -> Sequence[Episode]:
        """Standardise by the rewards so far, and return those that were held back."""
        self._missing = 0
        if self._waiting:
            self.recalibrate([waiting.reward for waiting in self._waiting])
        ready, self._waiting = [self.standardized(waiting) for waiting in self._waiting], []
        return ready

    def recalibrate(self, rewards: Sequence[float], offset: float = math.inf) -> None:
        """Standardise by the mean and deviation of these rewards from now on, warped with this offset."""
        self.units = Units.of(rewards, Warp.of(rewards, offset))

    @property
    def waiting(self) -> bool:
        """Whether rewards are still held back."""
        return self._missing > 0

    def standardized(self, episode: Episode) -> Episode:
        """A raw episode in the model's units."""
        path, leaf, reward, noise = episode
        return Episode(path, leaf, self.units.of_reward(reward), self.units.of_noise(reward, noise))


class Units(NamedTuple):
    """The model's units: rewards are warped, shifted and scaled."""

    warp: Warp = Warp()
    """Comes first."""
    shift: float = 0.0
    """What is subtracted then."""
    scale: float = 1.0
    """What is divided by then."""

    @classmethod
    def of(cls, rewards: Sequence[float], warp: Warp) -> "Units":
        """Units in which these rewards have mean 0 and deviation 1."""
        warped = np.array([warp(reward) for reward in rewards])
        return cls(warp, float(np.mean(warped)), _spread(warped))

    def of_reward(self, reward: float) -> float:
        """A reward in these units."""
        # If the first rewards were tiny, others may be too large in these units until the next calibration.
        return min(max((self.warp(reward) - self.shift) / self.scale, -LARGEST_REWARD), LARGEST_REWARD)

    def of_noise(self, reward: float, noise: float | None) -> float | None:
        """The noise variance of a reward in these units."""
        slope = self.warp.slope(reward)
        return None if noise is None else min(noise * slope / self.scale * slope / self.scale, LARGEST_REWARD)

    def log_slopes(self, rewards: Sequence[float]) -> float:
        """Sum of the logarithms of the derivatives at these rewards."""
        slopes = sum(math.log(self.warp.slope(reward)) for reward in rewards)
        return slopes - len(rewards) * math.log(self.scale)

    def belief_in_rewards(self, belief: Gaussian) -> Gaussian:
        """A belief of the model in the user's units; if rewards are warped, with the moments it has there."""
        mean, variance = self.shift + self.scale * belief.mean, self.scale**2 * belief.variance
        if self.warp.offset == math.inf:
            return Gaussian(mean, variance)
        nodes, weights = _QUADRATURE
        rewards = self.warp.back(mean + math.sqrt(variance) * nodes)
        centre = float(weights @ rewards)
        return Gaussian(centre, float(weights @ (rewards - centre) ** 2))

    def samples_in_rewards(self, samples: FloatArray) -> FloatArray:
        """Samples from the model in the user's units."""
        return self.warp.back(self.shift + self.scale * samples)


def _quadrature() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for the mean of a function of a standard normal number."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    return nodes, weights / weights.sum()


_QUADRATURE = _quadrature()


def _spread(rewards: FloatArray) -> float:
    """Standard deviation; if all rewards are equal up to rounding, their absolute value, or 1 if it is 0."""
    size = float(np.abs(rewards).max())
    deviation = float(rewards.std())
    return deviation if deviation > 1e-12 * size else size or 1.0
