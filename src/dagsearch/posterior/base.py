"""What every score model does, what one with a joint belief does beyond that, and how parts require it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.problem import Children, State

MeanFunction = float | Callable[[State], float]
"""Prior mean of g: one number, or a function of the state."""

LeafOf = Callable[[IntArray], State]
"""The leaf with given codes."""


def check_requirements(scores: "Scores", *parts: object) -> None:
    """Raise :class:`ValueError` for the first part whose ``requires_joint`` the scores do not meet."""
    for part in parts:
        if getattr(part, "requires_joint", False) and not scores.is_joint:
            raise ValueError(
                f"{part!r} needs scores with a joint belief; {type(scores).__name__} has none. "
                "Use WeightScores or FunctionScores"
            )


class Scores(ABC):
    """Gaussian belief over g of the tracked nodes, which are numbered in the order of their tracking."""

    is_joint = False
    """Whether the model is one of :class:`JointScores`."""
    covariance: Covariance | None = None
    """Prior covariance of g; ``None`` for a model that has none."""

    @property
    def outgrown(self) -> bool:
        """Whether there are too many rewards for this model; see :meth:`FunctionScores.induced`."""
        return False

    @property
    @abstractmethod
    def mean(self) -> FloatArray:
        """Posterior mean of every tracked node's g, shape ``(nodes,)``."""

    @property
    @abstractmethod
    def variance(self) -> FloatArray:
        """Posterior variance of every tracked node's g, shape ``(nodes,)``."""

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """:attr:`mean` and :attr:`variance`, of each node as of its last :meth:`refresh`."""
        return self.mean, self.variance

    @abstractmethod
    def track(self, states: Sequence[State]) -> None:
        """Number new states."""

    def refresh(self, nodes: Sequence[int] | IntArray | None = None) -> None:  # noqa: B027
        """Bring mean and variance of some nodes up to date with the rewards, or of all nodes."""

    @abstractmethod
    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of states that are not tracked."""

    def predict_children(self, children: Children, node: int | None = None) -> tuple[FloatArray, FloatArray]:
        """:meth:`predict` for all children of a state; faster if the state's ``node`` is given."""
        return self.predict(children.states)

    @abstractmethod
    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Learn that the leaf ``node`` earned ``reward``, with its own noise variance if given."""


class JointScores(Scores):
    """Scores that know how g of any states varies together.

    Parameters
    ----------
    noise : float
        Variance λ of a reward around its leaf's g.
    mean : float or callable
        Prior mean of g.
    """

    is_joint = True
    rates_swaps = False
    """Whether :meth:`best_swaps` works."""
    covariance: Covariance
    _by_node: tuple[str, ...] = ("_prior", "_mean", "_variance", "_observed", "_observed_noise")
    """Arrays with one entry per node, and room for more."""

    def __init__(self, noise: float, mean: MeanFunction) -> None:
        self.noise = checked_noise(noise)
        """Variance of a reward around its leaf's g."""
        self._prior_mean = mean
        self._nodes = 0
        self._prior, self._mean, self._variance = np.zeros(0), np.zeros(0), np.zeros(0)
        # r̄ and λ̄, see dagsearch.posterior.weights.
        self._observed, self._observed_noise = np.zeros(0), np.zeros(0)

    def _number(self, means: FloatArray) -> slice:
        """Number new nodes with their prior means; returns their numbers."""
        new = slice(self._nodes, self._nodes + means.size)
        self._nodes = new.stop
        if new.stop > self._prior.size:
            for name in self._by_node:
                setattr(self, name, grown(getattr(self, name), new.stop))
        self._prior[new] = self._mean[new] = means
        self._observed[new], self._observed_noise[new] = 0.0, np.inf
        return new

    @property
    def mean(self) -> FloatArray:
        self.refresh()
        return self._mean[: self._nodes]

    @property
    def variance(self) -> FloatArray:
        self.refresh()
        return self._variance[: self._nodes]

    def moments(self) -> tuple[FloatArray, FloatArray]:
        return self._mean[: self._nodes], self._variance[: self._nodes]

    def predict_codes(
        self, codes: IntArray, most: int, leaf_of: LeafOf
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """:meth:`predict` for the most promising of some leaves that are given by their codes.

        Returns the places of the ``most`` leaves with the largest means, and the mean and variance of each.
        """
        mean, variance = self.predict([leaf_of(row) for row in codes])
        closer = largest(mean, most)
        return closer, mean[closer], variance[closer]

    def best_swaps(self, codes: IntArray, most: int, closed: FloatArray) -> IntArray:
        """Codes of the leaves with one chosen place exchanged for another that have the largest means.

        ``closed`` are leaves of this kind that are left out: one row each, 1 for every place that is chosen.
        """
        raise NotImplementedError(f"{type(self).__name__} does not rate swaps")

    @abstractmethod
    def joint(self, nodes: Sequence[int], states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of g of some tracked nodes and then of states that are not tracked."""

    @abstractmethod
    def fantasise(self, nodes: Sequence[int]) -> None:
        """Count leaves as observed for the variance of g, but not for its mean, until :meth:`discard`.

        No reward may be conditioned on before that.
        """

    @abstractmethod
    def discard(self) -> None:
        """Take back all fantasies."""

    @abstractmethod
    def refitted(self, covariance: Covariance, noise: float, states: Sequence[State]) -> "JointScores":
        """A model of the same nodes without rewards, with another covariance and noise.

        ``states`` are the states of all nodes.
        """

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        """:meth:`condition` on many rewards; the model must be fresh."""
        for node, reward, noise in zip(nodes, rewards, noises, strict=True):
            self.condition(node, reward, noise)

    def _noise_of(self, noise: float | None) -> float:
        """The noise variance of a reward that was told with its own or without."""
        return self.noise if noise is None else checked_noise(noise)

    def _merge(self, node: int, reward: float, variance: float, private: float) -> tuple[float, float]:
        """Merge a reward into its leaf's r̄ and λ̄; returns what it adds on the shared part of g: δ and h."""
        residual = reward - float(self._prior[node])
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

    def _snapshot(self) -> list[FloatArray]:
        """What is known of all nodes."""
        return [getattr(self, name)[: self._nodes].copy() for name in self._by_node]

    def _restore(self, snapshot: list[FloatArray]) -> IntArray:
        """Return to a snapshot; returns the nodes that are new since, which have no rewards."""
        for name, old in zip(self._by_node, snapshot, strict=True):
            getattr(self, name)[: old.size] = old
        fresh = np.arange(snapshot[0].size, self._nodes)
        self._observed[fresh], self._observed_noise[fresh] = 0.0, np.inf
        return fresh

    def _merged(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """The distinct leaves of many rewards, r̄ − μ and λ̄ of each."""
        leaves, place = np.unique(np.asarray(nodes, dtype=np.int64), return_inverse=True)
        variances = np.array([self._noise_of(noise) for noise in noises])
        precision = np.bincount(place, weights=1.0 / variances)
        total = np.bincount(place, weights=np.asarray(rewards, dtype=np.float64) / variances)
        return leaves, total / precision - self._prior[leaves], 1.0 / precision


def offsets(noise: FloatArray, private: float | FloatArray) -> tuple[FloatArray, FloatArray]:
    """κ of nodes, and the variance of their private offsets given the shared part of g, from λ̄ and p."""
    seen = np.isfinite(noise)
    noise = np.where(seen, noise, 1.0)
    kappa = np.where(seen, private / (private + noise), 0.0)
    return kappa, np.where(seen, kappa * noise, private)


def prior_means(mean: MeanFunction, states: Sequence[State]) -> FloatArray:
    """The mean function at each state."""
    if not callable(mean):
        return np.full(len(states), float(mean))
    means = np.array([float(mean(state)) for state in states], dtype=np.float64)
    if not np.all(np.isfinite(means)):
        wrong = states[int(np.argmin(np.isfinite(means)))]
        raise ValueError(f"mean must be finite for every state, but is {mean(wrong)!r} for {wrong!r}")
    return means


# Inverses of smaller variances overflow.
_SMALLEST = 1e-100


def checked_noise(noise: float) -> float:
    """``noise`` if it can be the variance of an observation."""
    if not is_finite(noise) or noise < _SMALLEST:
        raise ValueError(
            f"noise must be a positive, finite variance, got {noise!r}; "
            "for rewards without noise use a small one such as 1e-6"
        )
    return float(noise)


def largest(values: FloatArray, most: int) -> IntArray:
    """Places of the ``most`` largest values, or of all."""
    return np.arange(values.size) if values.size <= most else np.argpartition(-values, most)[:most]


def evenly(count: int, most: int) -> IntArray:
    """At most ``most`` of the numbers below ``count``, evenly spaced."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)
