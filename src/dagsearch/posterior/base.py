"""What a score model must do, what only some can do, and how parts of a search require it."""

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from typing import Protocol

import numpy as np

from dagsearch._internal.checks import is_finite
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.posterior.linear import PackedBelief
from dagsearch.problem import Children, Families, State

MeanFunction = float | Callable[[State], float]
"""Prior mean of g: one number, or a function of the state."""


Wanted = Callable[[int], bool]
"""Whether the child with a given index may be chosen."""


class Capability(Enum):
    """What only some score models can do; the value completes "scores that can ..."."""

    UPPER_CONFIDENCE = "rate children by upper confidence"
    """:meth:`JointScores.upper_confidence`."""
    JOINT = "give the joint belief over several states"
    """:meth:`JointScores.joint` and :meth:`JointScores.draw`."""
    SAMPLES = "keep joint samples of all nodes"
    """:meth:`SampledScores.sampled`."""
    FANTASIES = "count pending leaves as observed"
    """:meth:`JointScores.fantasise` and :meth:`JointScores.discard`."""
    REFIT = "be fitted again with other hyperparameters"
    """:meth:`JointScores.refitted` and :meth:`JointScores.condition_all`."""
    LAZY = "update some nodes and leave out others"
    """:meth:`JointScores.as_lazy`."""


NOTHING: frozenset[Capability] = frozenset()
"""No capability."""


def requirements(part: object) -> frozenset[Capability]:
    """What a part of a search requires of the scores: its ``requires``, or nothing if it has none."""
    found: frozenset[Capability] = getattr(part, "requires", NOTHING)
    return found


def in_words(capabilities: Iterable[Capability]) -> str:
    """Capabilities as they stand in an error message, after "scores that can"."""
    return " and ".join(sorted(capability.value for capability in capabilities))


def check_requirements(scores: "Scores", *parts: object) -> None:
    """Raise :class:`ValueError` for the first part that requires what the scores cannot do."""
    for part in parts:
        missing = requirements(part) - scores.can
        if missing:
            raise ValueError(
                f"{part!r} needs scores that can {in_words(missing)}; {type(scores).__name__} cannot. "
                "Use WeightScores or KernelScores"
            )


class Scores(Protocol):
    """Gaussian belief over g of the tracked nodes, which are numbered in the order of their tracking.

    A model of your own may inherit from :class:`SimpleScores`, which declares that it has no capability.
    """

    @property
    def can(self) -> frozenset[Capability]:
        """What the model can do beyond this protocol."""

    @property
    def uses_blas(self) -> bool:
        """Whether a step multiplies matrices by BLAS, which the search then restricts to one thread."""

    @property
    def outgrown(self) -> bool:
        """Whether there are too many rewards for this model; see :meth:`KernelScores.induced`."""

    def additive(self) -> PackedBelief | None:
        """What compiled code needs to know g of all children without making them; ``None`` if it cannot.

        See :class:`dagsearch.posterior.linear.AdditiveBelief`.
        """

    @property
    def covariance(self) -> Covariance | None:
        """Prior covariance of g; ``None`` for a model that has none."""

    @property
    def mean(self) -> FloatArray:
        """Posterior mean of every tracked node's g, shape ``(nodes,)``."""

    @property
    def variance(self) -> FloatArray:
        """Posterior variance of every tracked node's g, shape ``(nodes,)``."""

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """:attr:`mean` and :attr:`variance`, of each node as of its last :meth:`refresh`."""

    def track(self, states: Sequence[State]) -> None:
        """Number new states and bring their beliefs up to date."""

    def refresh(self, nodes: Sequence[int] | IntArray | None = None) -> None:
        """Bring mean and variance of some nodes up to date with the rewards, or of all nodes."""

    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of states that are not tracked."""

    def predict_children(self, children: Children, node: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of all children of a state; faster if the state's ``node`` is given."""

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Learn that the leaf ``node`` earned ``reward``, with its own noise variance if given."""


class SimpleScores:
    """Base of score models without any capability, for any number of rewards and without BLAS."""

    can = NOTHING
    uses_blas = False
    outgrown = False

    def additive(self) -> PackedBelief | None:
        """None: children must be made."""
        return None


class JointScores(Scores, Protocol):
    """Scores with all capabilities but :attr:`Capability.SAMPLES`."""

    @property
    def covariance(self) -> Covariance:
        """Prior covariance of g."""

    noise: float
    """Variance of a reward around its leaf's g."""

    def as_lazy(self) -> "JointScores":
        """A model with the same belief that does no work for nodes until they are refreshed."""

    def refitted(self, covariance: Covariance, noise: float, states: Sequence[State]) -> "JointScores":
        """A model of the same nodes without rewards, with another covariance and noise.

        ``states`` are the states of all nodes.
        """

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        """:meth:`condition` on many rewards; the model must be fresh."""

    def fantasise(self, node: int) -> None:
        """Count a leaf as observed for the variance of g, but not for its mean, until :meth:`discard`.

        No reward may be conditioned on before that.
        """

    def discard(self) -> None:
        """Take back all fantasies."""

    def upper_confidence(
        self, families: Families, signs: Sequence[int], beta: float, wanted: Wanted | None = None
    ) -> FloatArray:
        """Upper confidence ``sign · μ + β σ`` of the children of some states; see :meth:`promising`.

        It may be −∞ for children that are far from the best.
        """

    def promising(
        self, families: Families, signs: Sequence[int], wanted: Wanted | None = None
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Indices of children of some states, with ``sign · μ`` and the variance of g of each.

        Of many children, those with the best means. ``signs`` are the states' players. ``wanted`` says by a
        child's index whether it may be chosen; the numbers of the others have no meaning.
        """

    def joint(self, nodes: Sequence[int], states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of g of some tracked nodes and then of states that are not tracked."""

    def draw(self, children: Children, rng: np.random.Generator) -> FloatArray:
        """One joint posterior sample of g of all children of a state, shape ``(children,)``."""


class SampledScores(JointScores, Protocol):
    """Scores with all capabilities."""

    def sampled(self, count: int, rng: np.random.Generator) -> "Samples":
        """Joint posterior samples of all tracked nodes; they follow later rewards."""


class Samples(Protocol):
    """Joint posterior samples of g, by pathwise conditioning (Matheron's rule)."""

    def values(self) -> FloatArray:
        """One row per tracked node, shape ``(nodes, count)``."""


def promising_of(
    beliefs: Sequence[tuple[FloatArray, FloatArray]], signs: Sequence[int]
) -> tuple[IntArray, FloatArray, FloatArray]:
    """All children, from means and variances of one family after the other."""
    means = np.concatenate([sign * mean for sign, (mean, _) in zip(signs, beliefs, strict=True)])
    return np.arange(means.size), means, np.concatenate([variance for _, variance in beliefs])


def joint_draws(mean: FloatArray, covariance: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Samples of a Gaussian whose covariance may be singular, shape ``(variables, count)``."""
    jittered = covariance.copy()
    jittered[np.diag_indices(mean.size)] += 1e-10 * max(float(covariance.diagonal().max(initial=0.0)), 1e-300)
    try:
        spread = np.linalg.cholesky(jittered)
    except np.linalg.LinAlgError:  # slower, but rounding cannot make it fail
        values, vectors = np.linalg.eigh(covariance)
        spread = vectors * np.sqrt(np.maximum(values, 0.0))
    return np.asarray(mean[:, None] + spread @ rng.standard_normal((mean.size, count)))


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
