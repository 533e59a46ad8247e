r"""Scores in function space, for any covariance.

==========  ================  ==================  ================================================
paper       code              shape               meaning
==========  ================  ==================  ================================================
Σ_OO + λ    L Lᵀ              ``(n, n)``          covariance of the n rewards, factored
Σ_Oi        V = L⁻¹ Σ_Oi      ``(n, nodes)``      whitened covariance of rewards and tracked nodes
r − μ_O     z = L⁻¹(r − μ_O)  ``(n,)``            whitened residuals
μ', Σ'_ii   mean, variance    ``(nodes,)``        μ + Vᵀz and Σ_ii − Σ_n V²
==========  ================  ==================  ================================================

A reward at the tracked leaf t appends a row to everything. Its row of L is (l, d) with l = L⁻¹Σ_Ot, which
already stands in column t of V, and d² = Σ_tt − l·l + λ = Σ'_tt + λ; so

    V_new = (Σ_t· − lᵀV)/d,    z_new = (r − μ'_t)/d,    μ' += z_new V_new,    Σ'_ii −= V_new².

One matrix–vector product, no solve. A new node gets its column of V by one triangular solve.
"""

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from dagsearch._arrays import grown
from dagsearch._typing import FloatArray
from dagsearch.covariances import Covariance, Rows
from dagsearch.errors import CovarianceError
from dagsearch.problem import Children, State
from dagsearch.scores.base import MeanFunction, checked_noise, prior_means

# A posterior variance below −_SLACK times the prior one is no rounding error.
_SLACK = 1e-6


class KernelScores:
    """Exact Gaussian regression with a growing Cholesky factor: O(n · nodes) for the n-th reward.

    Parameters
    ----------
    covariance : Covariance
        Any positive semi-definite one.
    noise : float
        Variance λ of a reward around its leaf's g.
    mean : float or callable
        Prior mean of g.
    """

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> None:
        self.covariance = covariance
        self.noise = checked_noise(noise)
        self._prior_mean = mean
        self._nodes = 0
        self._rewards = 0
        self._rows: Rows | None = None
        self._observed = np.zeros(0, dtype=np.int64)
        self._factor = np.zeros((0, 0))
        self._whitened = np.zeros((0, 0))
        self._residuals = np.zeros(0)
        self._scale = 0.0  # largest prior variance seen
        self._mean, self._variance = np.zeros(0), np.zeros(0)

    @property
    def mean(self) -> FloatArray:
        """Posterior mean of every tracked node's g, shape ``(nodes,)``."""
        return self._mean[: self._nodes]

    @property
    def variance(self) -> FloatArray:
        """Posterior variance of every tracked node's g, shape ``(nodes,)``."""
        return self._variance[: self._nodes]

    def track(self, states: Sequence[State]) -> None:
        """Number new states and keep their beliefs current from now on."""
        rows = self.covariance.represent(states)
        prior, whitened = self._whiten(rows)
        n, old, new = self._rewards, self._nodes, self._nodes + len(states)
        stored = np.zeros((0, 0), dtype=rows.dtype) if self._rows is None else self._rows
        self._rows = grown(stored, new, rows.shape[1])
        self._rows[old:new, : rows.shape[1]] = rows
        self._whitened = grown(self._whitened, n, new)
        self._whitened[:n, old:new] = whitened
        self._mean, self._variance = grown(self._mean, new), grown(self._variance, new)
        self._mean[old:new], self._variance[old:new] = self._moments(states, prior, whitened)
        self._scale = max(self._scale, float(prior.max(initial=0.0)))
        self._nodes = new

    def project(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of g of states that are not tracked."""
        return self._moments(states, *self._whiten(self.covariance.represent(states)))

    def preview(self, node: int, children: Children) -> tuple[FloatArray, FloatArray]:
        """:meth:`project` for all children of a tracked node."""
        return self.project(children.states)

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Learn that the leaf ``node`` earned ``reward``, with its own noise variance if given."""
        variance = self.noise if noise is None else checked_noise(noise)
        n = self._rewards
        row, pivot = self._next_row(node, variance)
        remaining = self.variance - row * row
        if remaining.min(initial=0.0) < -_SLACK * self._scale:
            self._refuse(node)
        self._observed = grown(self._observed, n + 1)
        self._observed[n] = node
        self._factor = grown(self._factor, n + 1, n + 1)
        self._factor[n, :n] = self._whitened[:n, node]
        self._factor[n, n] = pivot
        self._whitened = grown(self._whitened, n + 1, self._nodes)
        self._whitened[n, : self._nodes] = row
        self._residuals = grown(self._residuals, n + 1)
        self._residuals[n] = (reward - self._mean[node]) / pivot
        self._mean[: self._nodes] += self._residuals[n] * row
        self._variance[: self._nodes] = np.maximum(remaining, 0.0)
        self._rewards = n + 1

    def _next_row(self, node: int, variance: float) -> tuple[FloatArray, float]:
        """The new row of V, and the new pivot of L."""
        n = self._rewards
        rows = self._stored()
        prior = self.covariance.cross(rows[node : node + 1], rows)[0]
        if not np.all(np.isfinite(prior)):
            self._refuse(node)
        prior[node] += self.covariance.private
        across = prior - self._whitened[:n, node] @ self._whitened[:n, : self._nodes]
        if across[node] < -_SLACK * self._scale:
            self._refuse(node)
        pivot = float(np.sqrt(max(across[node], 0.0) + variance))
        return across / pivot, pivot

    def _stored(self) -> Rows:
        assert self._rows is not None, "track comes first"
        return self._rows[: self._nodes]

    def _whiten(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Prior variances of untracked rows, and their columns of V."""
        prior = self.covariance.variances(rows) + self.covariance.private
        if not np.all(np.isfinite(prior)) or np.any(prior < 0.0):
            raise CovarianceError(
                f"the covariance {self.covariance!r} gives variances that are negative or not finite: {prior}"
            )
        n = self._rewards
        if n == 0:
            return prior, np.zeros((0, len(rows)))
        width = rows.shape[1]
        observed = self._stored()[self._observed[:n]]
        if observed.shape[1] < width:
            observed = grown(observed, n, width)
        cross = self.covariance.cross(observed[:, :width], rows)
        factor = self._factor[:n, :n]
        return prior, solve_triangular(factor, cross, lower=True, check_finite=False)

    def _moments(
        self, states: Sequence[State], prior: FloatArray, whitened: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        mean = prior_means(self._prior_mean, states) + self._residuals[: self._rewards] @ whitened
        variance = prior - np.einsum("ij,ij->j", whitened, whitened)
        return mean, np.maximum(variance, 0.0)

    def _refuse(self, node: int) -> None:
        raise CovarianceError(
            f"the covariance {self.covariance!r} is not positive semi-definite: after "
            f"{self._rewards} rewards it leaves node {node} or its relatives a negative variance. "
            "This reward was not used; use a valid kernel or add private variance"
        )
