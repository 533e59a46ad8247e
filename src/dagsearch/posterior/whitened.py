r"""What score models share that see a state by its covariances with some others, the anchors.

==========  ================  ====================  ==============================================
symbol      code              shape                 meaning
==========  ================  ====================  ==============================================
Z           anchors           ``(n,)``              rewarded leaves in :class:`KernelScores`,
                                                    landmarks in :class:`InducedScores`
L Lᵀ        factor            ``(n, n)``            their covariance, factored; with the noise where
                                                    they are rewards
φ(x)        whitened          ``(n, states)``       features L⁻¹ Σ_Zx
ω           weights           ``(n,)``              posterior mean of g: μ(x) + φ(x)·ω
—           explained         ``(states,)``         by how much rewards reduce the prior variance
==========  ================  ====================  ==============================================

The models differ in where the anchors come from, in how a reward changes L and ω, and in the explained
variance.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from itertools import islice
from typing import cast

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance, Views
from dagsearch.covariances.rows import Rows, RowStore
from dagsearch.errors import CovarianceError
from dagsearch.posterior.base import (
    MeanFunction,
    Wanted,
    checked_noise,
    joint_draws,
    prior_means,
    promising_of,
)
from dagsearch.posterior.cholesky import GrowingCholesky, times_triangle
from dagsearch.posterior.linear import PackedBelief
from dagsearch.posterior.siblings import SiblingCache, Siblings
from dagsearch.problem import Children, Families, State

# Nodes that are refreshed at once.
_AT_ONCE = 256
# Of more children than the first number, only those with the best means are looked at; how many.
_MANY, _CLOSER = 128, 48


class WhitenedScores(ABC):
    """Base of score models over the whitened covariances with anchors.

    Parameters
    ----------
    covariance : Covariance
        Any positive semi-definite one.
    noise : float
        Variance λ of a reward around its leaf's g.
    mean : float or callable
        Prior mean of g.
    """

    uses_blas = True

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> None:
        self.covariance = covariance
        self.noise = checked_noise(noise)
        self._prior_mean = mean
        self._nodes = 0
        self._rows = RowStore()  # of all tracked nodes
        self._prior = np.zeros(0)
        self._mean, self._variance = np.zeros(0), np.zeros(0)
        self._stale = False  # whether some nodes have not seen the last rewards
        self._scale = 0.0  # largest prior variance seen
        self._anchors = RowStore()  # prepared
        self._factor = GrowingCholesky()
        self._weights = np.zeros(0)  # with room for more
        self._alpha_now = np.zeros(0)
        self._siblings = SiblingCache()

    def _adopt_nodes(self, other: "WhitenedScores") -> None:
        """Track the same nodes as another model: rows do not depend on hyperparameters."""
        self._rows, self._nodes, self._prior = other._rows, other._nodes, other._prior
        variances = self._prior_variances(self.covariance.variances(self._rows.rows))
        self._mean, self._variance = self._prior.copy(), grown(variances, self._prior.size)
        self._scale = float(variances.max(initial=0.0))

    def additive(self) -> PackedBelief | None:
        """None: the features of a child are not those of its parent and one more."""
        return None

    @property
    def mean(self) -> FloatArray:
        """Posterior mean of every tracked node's g, shape ``(nodes,)``."""
        self.refresh()
        return self._mean[: self._nodes]

    @property
    def variance(self) -> FloatArray:
        """Posterior variance of every tracked node's g, shape ``(nodes,)``."""
        self.refresh()
        return self._variance[: self._nodes]

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """:attr:`mean` and :attr:`variance`, of each node as of its last :meth:`refresh`."""
        return self._mean[: self._nodes], self._variance[: self._nodes]

    def track(self, states: Sequence[State]) -> None:
        """Number new states and bring their beliefs up to date."""
        rows = self.covariance.represent(states)
        prior, whitened = self._whiten(rows)
        means = prior_means(self._prior_mean, states)
        self._add_nodes(rows, whitened)
        old, new = self._nodes, self._nodes + len(states)
        self._rows.append(rows)
        self._nodes = new
        self._prior = grown(self._prior, new)
        self._prior[old:new] = means
        self._mean, self._variance = grown(self._mean, new), grown(self._variance, new)
        self._mean[old:new], self._variance[old:new] = self._moments(means, prior, whitened)
        self._scale = max(self._scale, float(prior.max(initial=0.0)))

    @abstractmethod
    def _add_nodes(self, rows: Rows, whitened: FloatArray) -> None:
        """Keep what the model needs of new nodes, before they are counted; it raises before any change."""

    def refresh(self, nodes: Sequence[int] | IntArray | None = None) -> None:
        """Bring mean and variance of some nodes up to date, or of all."""
        if not self._stale:
            return
        wanted = np.arange(self._nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
        for some in np.array_split(wanted, max(1, wanted.size // _AT_ONCE)):
            moments = self._moments(self._prior[some], *self._whiten_nodes(some))
            self._mean[some], self._variance[some] = moments
        self._stale = nodes is not None

    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of states that are not tracked."""
        means = prior_means(self._prior_mean, states)
        return self._moments(means, *self._whiten(self.covariance.represent(states)))

    def predict_leaves(self, codes: IntArray, most: int) -> tuple[IntArray, FloatArray, FloatArray]:
        """:meth:`predict` for the most promising of some leaves that are given by their codes.

        The covariance must know codes, and the prior mean must be a number. Returns the places of the
        ``most`` leaves with the best means, and the mean and variance of each; of none before the first
        reward.
        """
        if self._factor.size == 0:
            return np.empty(0, dtype=np.int64), np.empty(0), np.empty(0)
        cross, variances = cast(Views, self.covariance).of_leaves(codes, self._anchors.rows)
        closer = np.arange(len(codes))
        if len(codes) > most:
            closer = np.argpartition(-(cross @ self._alpha()), most)[:most]
        means = np.full(len(closer), float(cast(float, self._prior_mean)))
        prior = self._prior_variances(variances[closer])
        return closer, *self._moments(means, prior, self._factor.whiten(cross[closer].T))

    def predict_children(self, children: Children, node: int | None = None) -> tuple[FloatArray, FloatArray]:
        """:meth:`predict` for all children of a state; faster if its ``node`` is given."""
        if self._factor.size == 0:
            return self.predict(children.states)
        siblings = self._siblings.of(children, node, self._factor.size)
        return self._sibling_moments(siblings, self._prior_means(children))

    @abstractmethod
    def _sibling_moments(self, siblings: Siblings, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of siblings with these prior means."""

    def _next_rows(self, siblings: Siblings, end: int) -> tuple[FloatArray, FloatArray]:
        """φ of siblings for the anchors from the first they do not know to ``end``, and ω of these."""
        some = slice(siblings.anchors, end)
        cross, siblings.prior = self.covariance.of_children(siblings.children, self._anchors.rows[some])
        left = cross.T
        if siblings.anchors > 0:
            left = left - self._factor.lower[some, : siblings.anchors] @ siblings.whitened
        return times_triangle(self._factor.inverse[some, some], left), self._weights[some]

    def upper_confidence(
        self, families: Families, signs: Sequence[int], beta: float, wanted: Wanted | None = None
    ) -> FloatArray:
        """Upper confidence ``sign · μ + β σ`` of the children of some states; −∞ if not :meth:`promising`."""
        places, mean, variance = self.promising(families, signs, wanted)
        found = np.full(families.family.size, -np.inf)
        found[places] = mean + beta * np.sqrt(variance)
        return found

    def promising(
        self, families: Families, signs: Sequence[int], wanted: Wanted | None = None
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        """Indices of children, with ``sign · μ`` and the variance of g of each.

        Of many children, those with the best means among the ``wanted`` ones.
        """
        if self._factor.size == 0:
            return promising_of([self.predict_children(children) for children in families.each()], signs)
        sign = np.asarray(signs, dtype=np.float64)[families.family]
        places: IntArray | None = None
        if sign.size > _MANY:
            means = self.covariance.sums_of_children(families, self._anchors.rows, self._alpha())
            places = _largest(sign * (means + self._prior_means(families)), _CLOSER, wanted)
            if places.size == 0:
                return places, np.zeros(0), np.zeros(0)
        cross, prior = self.covariance.of_children(families, self._anchors.rows, places)
        means = self._prior_means(families)
        means = means if places is None else means[places]
        # Without private variance: it is not a reason to prefer a child, as it is shared with no other state.
        mean, variance = self._moments(means, prior, self._factor.whiten(cross.T))
        if places is None:
            return np.arange(sign.size), sign * mean, variance
        return places, sign[places] * mean, variance

    def _alpha(self) -> FloatArray:
        """L⁻ᵀω, so that the mean of g is μ + Σ_xZ L⁻ᵀω."""
        n = self._factor.size
        if self._alpha_now.size != n:
            self._alpha_now = self._weights[:n] @ self._factor.inverse
        return self._alpha_now

    def _prior_means(self, families: Families) -> FloatArray:
        """Prior mean of all children; they are made only if it varies."""
        if callable(self._prior_mean):
            return prior_means(self._prior_mean, families.states)
        return np.full(families.family.size, float(self._prior_mean))

    @abstractmethod
    def joint(self, nodes: Sequence[int], states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of g of some tracked nodes and then of states that are not tracked."""

    def draw(self, children: Children, rng: np.random.Generator) -> FloatArray:
        """One joint posterior sample of g of all children of a state, shape ``(children,)``."""
        return joint_draws(*self.joint([], children.states), 1, rng)[:, 0]

    def _whiten(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Prior variances of untracked rows, and their φ."""
        cross, prior = self._with_anchors(rows)
        return prior, self._factor.whiten(cross)

    def _whiten_nodes(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """:meth:`_whiten` of tracked nodes."""
        return self._whiten(self._rows.rows[nodes])

    def _with_anchors(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Covariances of anchors with rows, shape ``(anchors, rows)``, and the rows' prior variances."""
        if self._factor.size == 0:
            return np.zeros((0, len(rows))), self._prior_variances(self.covariance.variances(rows))
        cross, variances = self.covariance.of_rows(rows, self._anchors.rows)
        return cross.T, self._prior_variances(variances)

    def _prior_variances(self, shared: FloatArray) -> FloatArray:
        """Prior variances: the shared part that the covariance gives, plus the private one."""
        prior = shared + self.covariance.private
        if not np.all(np.isfinite(prior)) or np.any(prior < 0.0):
            raise CovarianceError(
                f"the covariance {self.covariance!r} gives variances that are negative or not finite: "
                f"{prior}; use a valid kernel"
            )
        return prior

    def _moments(
        self, means: FloatArray, prior: FloatArray, whitened: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g, from prior means and variances and φ."""
        mean = means + self._weights[: self._factor.size] @ whitened
        return mean, np.maximum(prior - self._explained(whitened), 0.0)

    @abstractmethod
    def _explained(self, whitened: FloatArray) -> FloatArray:
        """By how much rewards reduce the prior variance, from φ."""


def _largest(values: FloatArray, count: int, wanted: Wanted | None) -> IntArray:
    """Places of the ``count`` largest values that are wanted, or of all that are, in order."""
    if wanted is None:
        return np.sort(np.argpartition(-values, count)[:count])
    found: list[int] = []
    for looked_at in (2 * count, values.size):  # usually most of them are wanted
        if len(found) < count:
            best = np.argpartition(-values, min(looked_at, values.size) - 1)[:looked_at]
            best = best[np.argsort(-values[best], kind="stable")]
            found = list(islice(filter(wanted, best.tolist()), count))
    return np.sort(np.array(found, dtype=np.int64))
