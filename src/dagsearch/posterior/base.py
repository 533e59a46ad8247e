"""Base classes of score models, with and without a joint belief."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from typing import Self

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.checks import check, is_finite
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.problem import Children, State

AT_ONCE = 512
"""Batch size of states for rows and their covariances with all rewarded leaves."""
# Inverses of smaller variances overflow.
_SMALLEST = 1e-100


def check_requirements(scores: "Scores", *parts: object) -> None:
    """Raise :class:`ValueError` if a part requires a joint belief that the scores do not have."""
    for part in parts:
        if getattr(part, "requires_joint", False) and not scores.is_joint:
            raise ValueError(
                f"{part!r} needs scores with a joint belief; {type(scores).__name__} has none. "
                "Use WeightScores or FunctionScores"
            )


class Scores(ABC):
    """Gaussian belief over g of tracked nodes, which are numbered in the order of tracking."""

    is_joint = False
    """Whether the model is one of :class:`JointScores`."""
    covariance: Covariance | None = None
    """Prior covariance of g, if the model has one."""

    @property
    def mean(self) -> FloatArray:
        """Posterior mean of every tracked node's g, shape ``(nodes,)``."""
        self.refresh()
        return self.moments()[0]

    @property
    def variance(self) -> FloatArray:
        """Posterior variance of every tracked node's g, shape ``(nodes,)``."""
        self.refresh()
        return self.moments()[1]

    @abstractmethod
    def moments(self) -> tuple[FloatArray, FloatArray]:
        """:attr:`mean` and :attr:`variance`, of each node as of its last :meth:`refresh`."""

    @abstractmethod
    def track(self, states: Sequence[State]) -> None:
        """Add states, which get the next numbers."""

    def refresh(self, nodes: Sequence[int] | IntArray | None = None) -> None:  # noqa: B027
        """Update mean and variance of some nodes, or of all."""

    @abstractmethod
    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of states that are not tracked, as new arrays."""

    def predict_children(self, children: Children, node: int | None = None) -> tuple[FloatArray, FloatArray]:
        """:meth:`predict` for all children of a state; faster if the state's ``node`` is given."""
        return self.predict(children.states)

    @abstractmethod
    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Condition on a ``reward`` of the leaf ``node``, with its own noise variance if given."""


class JointScores(Scores):
    """Scores with a joint belief over g of any states.

    Parameters
    ----------
    covariance : Covariance
        Prior covariance of g.
    noise : float
        Variance λ of a reward around its leaf's g.
    mean : float
        Prior mean of g.
    """

    is_joint = True
    covariance: Covariance

    def __init__(self, covariance: Covariance, noise: float, mean: float = 0.0) -> None:
        self.covariance = covariance
        self.noise = checked_noise(noise)
        """Variance of a reward around its leaf's g."""
        check(is_finite(mean), "mean", "a finite number", mean)
        self.prior_mean = float(mean)
        """Prior mean of g."""
        self._nodes = 0
        # By node, with room for more: the belief, and r̄ and λ̄, see dagsearch.posterior.weights.
        self._mean, self._variance = np.zeros(0), np.zeros(0)
        self._observed, self._observed_noise = np.zeros(0), np.zeros(0)
        self._stale = False  # whether some nodes have not seen the last rewards

    def _number(self, count: int) -> slice:
        new = slice(self._nodes, self._nodes + count)
        self._nodes = new.stop
        if new.stop > len(self._mean):
            for name in ("_mean", "_variance", "_observed", "_observed_noise"):
                setattr(self, name, grown(getattr(self, name), new.stop))
        self._observed[new], self._observed_noise[new] = 0.0, np.inf
        return new

    def moments(self) -> tuple[FloatArray, FloatArray]:
        return self._mean[: self._nodes], self._variance[: self._nodes]

    def refresh(self, nodes: Sequence[int] | IntArray | None = None) -> None:
        if not self._stale:
            return
        wanted = np.arange(self._nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
        for first in range(0, wanted.size, AT_ONCE):
            some = wanted[first : first + AT_ONCE]
            mean, variance = self._shared_of(some)
            kappa, offset = offsets(self._observed_noise[some], self.covariance.private)
            rest = 1.0 - kappa
            self._mean[some] = self.prior_mean + rest * mean + kappa * self._observed[some]
            self._variance[some] = rest * rest * variance + offset
        self._stale = nodes is not None

    def means(self, nodes: Sequence[int]) -> FloatArray:
        """Posterior mean of g of tracked nodes."""
        self.refresh(nodes)
        return self._mean[nodes]

    @abstractmethod
    def _shared_of(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean minus μ and variance of the shared part of g of tracked nodes."""

    def joint(self, nodes: Sequence[int]) -> FloatArray:
        """Covariance of g of some tracked nodes."""
        places = np.asarray(nodes, dtype=np.int64)
        kappa, offset = offsets(self._observed_noise[places], self.covariance.private)
        found = (1.0 - kappa)[:, None] * (1.0 - kappa) * self._joint(places)
        found[np.diag_indices(len(found))] += offset
        return found

    @abstractmethod
    def _joint(self, nodes: IntArray) -> FloatArray:
        """Covariance of the shared part of g of tracked nodes."""

    def fantasised(self, nodes: Sequence[int]) -> Self:
        """A copy in which leaves count as observed: this lowers variances but does not move means.

        Then use only one of the two: they share memory for further nodes and rewards.
        """
        other = copy(self)
        for name in ("_mean", "_variance", "_observed", "_observed_noise"):
            setattr(other, name, getattr(self, name).copy())
        other._fantasise(nodes)
        return other

    @abstractmethod
    def _fantasise(self, nodes: Sequence[int]) -> None:
        """Count leaves as observed; copy whatever is then changed in place."""

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        """:meth:`condition` on many rewards; the model must be fresh."""
        for node, reward, noise in zip(nodes, rewards, noises, strict=True):
            self.condition(node, reward, noise)

    def _noise_of(self, noise: float | None) -> float:
        return self.noise if noise is None else checked_noise(noise)

    def _merge(self, node: int, reward: float, variance: float, private: float) -> tuple[float, float]:
        """Merge a reward into its leaf's r̄ and λ̄; returns δ and h, which it adds on the shared part of g."""
        residual = reward - self.prior_mean
        old, old_noise = float(self._observed[node]), float(self._observed_noise[node])
        if old_noise == math.inf:
            self._observed[node], self._observed_noise[node] = residual, variance
            precision = 1.0 / (private + variance)
            return precision, precision * residual
        noise = old_noise * variance / (old_noise + variance)
        merged = old + (residual - old) * noise / variance
        self._observed[node], self._observed_noise[node] = merged, noise
        precision = (old_noise / variance) * noise / ((private + old_noise) * (private + noise))
        return precision, precision * merged + (merged - old) / (private + old_noise)


def offsets(noise: FloatArray, private: float) -> tuple[FloatArray, FloatArray]:
    """κ of nodes, and the variance of their private offsets given the shared part of g, from λ̄ and p."""
    kappa = private / (private + noise)  # 0 without rewards
    return kappa, np.multiply(kappa, noise, out=np.full(noise.shape, private), where=np.isfinite(noise))


def checked_noise(noise: float) -> float:
    """``noise`` as a float; raises :class:`ValueError` unless it can be a noise variance."""
    if not is_finite(noise) or noise < _SMALLEST:
        raise ValueError(
            f"noise must be a positive, finite variance, got {noise!r}; "
            "for rewards without noise use a small one such as 1e-6"
        )
    return float(noise)


def largest(values: FloatArray, most: int) -> IntArray:
    """Indices of the ``most`` largest values, or of all."""
    return np.arange(values.size) if values.size <= most else np.argpartition(-values, most)[:most]


def evenly(count: int, most: int) -> IntArray:
    """At most ``most`` indices below ``count``, evenly spaced."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)
