"""What a score model must do."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from dagsearch._checks import is_finite
from dagsearch._typing import FloatArray
from dagsearch.covariances import Covariance
from dagsearch.problem import Children, State

MeanFunction = float | Callable[[State], float]
"""Prior mean of g: one number, or a function of the state."""


class Scores(Protocol):
    """Gaussian belief over g of the tracked nodes, numbered in the order of their tracking."""

    @property
    def covariance(self) -> Covariance | None:
        """Prior covariance of g; ``None`` for a model that has none."""

    @property
    def mean(self) -> FloatArray:
        """Posterior mean of every tracked node's g, shape ``(nodes,)``."""

    @property
    def variance(self) -> FloatArray:
        """Posterior variance of every tracked node's g, shape ``(nodes,)``."""

    def track(self, states: Sequence[State]) -> None:
        """Number new states and keep their beliefs current from now on."""

    def project(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of states that are not tracked."""

    def preview(self, node: int, children: Children) -> tuple[FloatArray, FloatArray]:
        """:meth:`project` for all children of a tracked node."""

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Learn that the leaf ``node`` earned ``reward``, with its own noise variance if given."""


def prior_means(mean: MeanFunction, states: Sequence[State]) -> FloatArray:
    """The mean function at each state."""
    if not callable(mean):
        return np.full(len(states), float(mean))
    means = np.array([float(mean(state)) for state in states], dtype=np.float64)
    if not np.all(np.isfinite(means)):
        wrong = states[int(np.argmin(np.isfinite(means)))]
        raise ValueError(f"mean must be finite everywhere, but is {mean(wrong)!r} at {wrong!r}")
    return means


# The inverse of a smaller one overflows on the way.
_SMALLEST = 1e-100


def checked_noise(noise: float) -> float:
    """``noise`` if it can be the variance of an observation."""
    if not is_finite(noise) or noise < _SMALLEST:
        raise ValueError(
            f"noise must be a positive, finite variance, got {noise!r}; "
            "for rewards without noise use a small one such as 1e-6"
        )
    return float(noise)
