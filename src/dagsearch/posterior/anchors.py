r"""Scores that see a state by its covariances with some others, the anchors.

==========  ================  ====================  ==============================================
symbol      code              shape                 meaning
==========  ================  ====================  ==============================================
Z           anchors           ``(n,)``              rewarded leaves in :class:`FunctionScores`,
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

import math
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import NoReturn

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.covariances.rows import Rows, RowStore
from dagsearch.errors import CovarianceError
from dagsearch.posterior.base import JointScores, LeafOf, MeanFunction, largest, prior_means
from dagsearch.posterior.cholesky import GrowingCholesky
from dagsearch.problem import State

AT_ONCE = 512
"""Number of states whose rows, and covariances with all anchors, are made at once: they may be large."""


class AnchoredScores(JointScores):
    """Base of score models over the whitened covariances with anchors.

    Beliefs over tracked nodes are computed when somebody asks for them.

    Parameters
    ----------
    covariance : Covariance
        Any positive semi-definite one.
    noise, mean
        As for :class:`dagsearch.posterior.JointScores`.
    """

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> None:
        super().__init__(noise, mean)
        self.covariance = covariance
        self._rows = RowStore()  # of all tracked nodes
        self._stale = False  # whether some nodes have not seen the last rewards
        self._scale = 0.0  # largest prior variance seen
        self._anchors = RowStore()  # prepared
        self._factor = GrowingCholesky()
        self._weights = np.zeros(0)

    def track(self, states: Sequence[State]) -> None:
        self._add(self.covariance.represent(states), prior_means(self._prior_mean, states))

    def _adopt_nodes(self, other: "AnchoredScores") -> None:
        """Track the same nodes as another model: rows do not depend on hyperparameters."""
        self._add(other._rows.rows, other._prior[: other._nodes])

    def _add(self, rows: Rows, means: FloatArray) -> None:
        """Number new nodes. Until they are refreshed, their beliefs are those before any reward."""
        variances = self._with_private(self.covariance.variances(rows))
        self._rows.append(rows)
        new = self._number(means)
        self._variance[new] = variances
        self._scale = max(self._scale, float(variances.max(initial=0.0)))
        self._stale = True

    def refresh(self, nodes: Sequence[int] | IntArray | None = None) -> None:
        if not self._stale:
            return
        wanted = np.arange(self._nodes) if nodes is None else np.asarray(nodes, dtype=np.int64)
        for first in range(0, wanted.size, AT_ONCE):
            some = wanted[first : first + AT_ONCE]
            self._mean[some], self._variance[some] = self._node_moments(some)
        self._stale = nodes is not None

    @abstractmethod
    def _node_moments(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of tracked nodes."""

    def _changed(self) -> None:
        """What was computed from the anchors or their weights no longer holds."""
        self._stale = True
        self.__dict__.pop("_alpha", None)

    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        if len(states) > AT_ONCE:
            parts = [self.predict(states[i : i + AT_ONCE]) for i in range(0, len(states), AT_ONCE)]
            return np.concatenate([mean for mean, _ in parts]), np.concatenate([var for _, var in parts])
        rows = self.covariance.represent(states)
        return self._moments(prior_means(self._prior_mean, states), *self._related(rows))

    def predict_codes(
        self, codes: IntArray, most: int, leaf_of: LeafOf
    ) -> tuple[IntArray, FloatArray, FloatArray]:
        # Leaves are made only if the covariance cannot read codes or the prior mean varies.
        reads, varies = self.covariance.reads_codes, callable(self._prior_mean)
        made = [] if reads and not varies else [leaf_of(row) for row in codes]
        means = prior_means(self._prior_mean, made if varies else range(len(codes)))
        rows = self.covariance.from_codes(codes) if reads else self.covariance.represent(made)
        cross, prior = self._related(rows)
        closer = largest(means + self._alpha @ cross, most)
        return closer, *self._moments(means[closer], cross[:, closer], prior[closer])

    @property
    def rates_swaps(self) -> bool:  # type: ignore[override]
        return self.covariance.rates_swaps and self._factor.size > 0 and not callable(self._prior_mean)

    def best_swaps(self, codes: IntArray, most: int, closed: FloatArray) -> IntArray:
        chosen, unchosen = np.flatnonzero(codes == 1), np.flatnonzero(codes != 1)
        if chosen.size == 0 or unchosen.size == 0:
            return np.zeros((0, codes.size), dtype=codes.dtype)
        sums = self.covariance.sums_of_swaps(codes, self._anchors.rows, self._alpha)
        out, into = (closed[:, chosen] != 1).argmax(axis=1), (closed[:, unchosen] == 1).argmax(axis=1)
        sums[out, into] = -np.inf
        best = largest(sums.ravel(), most)
        drop, add = np.divmod(best[sums.ravel()[best] > -np.inf], sums.shape[1])
        rows = np.tile(codes, (drop.size, 1))
        rows[np.arange(drop.size), chosen[drop]] = 0
        rows[np.arange(drop.size), unchosen[add]] = 1
        return rows

    @cached_property
    def _alpha(self) -> FloatArray:
        """L⁻ᵀω, so that the mean of g is μ + Σ_xZ L⁻ᵀω."""
        return self._weights @ self._factor.inverse

    def _related(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Covariances of the anchors with rows, shape ``(anchors, rows)``, and the rows' prior variances."""
        if self._factor.size == 0:
            return np.zeros((0, len(rows))), self._with_private(self.covariance.variances(rows))
        cross, shared = self.covariance.related(rows, self._anchors.rows)
        return cross.T, self._with_private(shared)

    def _with_private(self, shared: FloatArray) -> FloatArray:
        """Prior variances: the shared part that the covariance gives, plus the private one."""
        prior = shared + self.covariance.private
        # By reductions alone, which are quick: a sum is finite only if all numbers are.
        if np.minimum.reduce(prior, initial=0.0) < 0.0 or not math.isfinite(np.add.reduce(prior)):
            raise CovarianceError(
                f"the covariance {self.covariance!r} gives variances that are negative or not finite: "
                f"{prior}; use a valid kernel"
            )
        return prior

    def _refuse(self, node: int) -> NoReturn:
        raise CovarianceError(
            f"the covariance {self.covariance!r} is not positive semi-definite: with the rewards so far it "
            f"leaves node {node} or its relatives a variance that is negative or not finite. "
            "This reward was not used; use a valid kernel or add private variance"
        )

    def _moments(
        self, means: FloatArray, cross: FloatArray, prior: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g, from prior means, covariances with the anchors and prior variances."""
        whitened = self._factor.whiten(cross)
        return means + self._weights @ whitened, np.maximum(prior - self._explained(whitened), 0.0)

    @abstractmethod
    def _explained(self, whitened: FloatArray) -> FloatArray:
        """By how much rewards reduce the prior variance, from φ."""
