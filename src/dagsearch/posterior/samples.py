"""Joint posterior samples of g of all tracked nodes, by pathwise conditioning (Matheron's rule).

A sample of the posterior is a sample of the prior, moved by each reward as far as the same reward with fresh
noise moves it. So existing samples follow every reward, and new nodes join them. Samples belong to one score
model and read its arrays.
"""

from typing import TYPE_CHECKING

import numpy as np

from dagsearch._internal import linalg
from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray
from dagsearch.posterior.belief import gain_vector, linear_samples
from dagsearch.posterior.cholesky import Rotation

if TYPE_CHECKING:
    from dagsearch.posterior.function import KernelScores
    from dagsearch.posterior.weights import WeightScores


class WeightSamples:
    """Joint samples of the weights, and with them of all tracked nodes.

    A reward that adds the precision δ and the information h on φ·w moves every sample w by
    q (h + sqrt(δ) ε − δ φ·w)/(1 + δs), with fresh ε ~ N(0, 1): O(dK) for K samples. The private offset of a
    leaf follows from w: at an observed one it is κ(r̄ − φ·w) + sqrt(κλ̄) z, else sqrt(p) z, with one z for
    every node and sample that never changes. The symbols are those of :mod:`dagsearch.posterior.weights`.
    """

    def __init__(self, scores: "WeightScores", count: int, rng: np.random.Generator) -> None:
        self._scores, self._count, self._rng = scores, count, rng
        mean, cov, recent = scores._weights.arrays
        cov = cov - recent.T @ recent
        values, vectors = np.linalg.eigh(cov)
        spread = vectors * np.sqrt(np.maximum(values, 0.0))
        self._weights = mean[:, None] + spread @ rng.standard_normal((mean.size, count))
        self._offsets = np.zeros((0, count))

    def _grow(self) -> None:
        """Draw weights of new features and offsets of new nodes."""
        new = self._scores._weights.dimension - len(self._weights)
        if new > 0:
            self._weights = np.vstack([self._weights, self._rng.standard_normal((new, self._count))])
        new = self._scores._nodes - len(self._offsets)
        if new > 0:
            self._offsets = np.vstack([self._offsets, self._rng.standard_normal((new, self._count))])

    def condition(self, node: int, precision: float, information: float) -> None:
        """Move the samples; called before the scores themselves move."""
        self._grow()
        scores = self._scores
        columns, values = scores._row(node)
        q, _, s = gain_vector(columns, values, scores._weights.arrays)
        noise = np.sqrt(precision) * self._rng.standard_normal(self._count)
        missing = information + noise - precision * (values @ self._weights[columns])
        self._weights += np.outer(q, missing / (1.0 + precision * s))

    def values(self) -> FloatArray:
        """One row per tracked node, shape ``(nodes, count)``."""
        self._grow()
        scores, nodes = self._scores, self._scores._nodes
        linear = linear_samples(scores._tracked, self._weights)
        kappa, spread = scores._offsets(slice(nodes))
        seen = scores._prior[:nodes] + kappa * scores._observed[:nodes]
        offsets = np.sqrt(spread)[:, None] * self._offsets[:nodes]
        return np.asarray(seen[:, None] + (1.0 - kappa)[:, None] * linear + offsets)


class KernelSamples:
    """Joint samples of all tracked nodes: O(nodes · K) per reward for K samples, O(nodes²) per new node.

    They keep a draw f of the prior at the tracked nodes, from the growing factor F of their covariance, and
    E = L⁻¹(r + ε − μ_O − f_O) for draws ε of the noise; then g = μ + f + VᵀE. A reward appends the row
    (r + ε − μ_t − f_t − l·E)/d to E, and a further one of the same leaf changes E as it changes z. The
    symbols are those of :mod:`dagsearch.posterior.function`.
    """

    def __init__(self, scores: "KernelScores", count: int, rng: np.random.Generator) -> None:
        self._scores, self._count, self._rng = scores, count, rng
        self._nodes = 0
        self._factor = np.zeros((0, 0))
        self._normals = np.zeros((0, count))
        self._prior = np.zeros((0, count))
        self._values = np.zeros((0, count))
        self._whitened = np.zeros((0, count))
        self._grow()
        assert scores._fantasies == 0, "discard fantasies first"
        leaves = scores._rewarded
        if leaves.size > 0:  # rewards that came before the samples
            normals = rng.standard_normal((leaves.size, count))
            noise = np.sqrt(scores._observed_noise[leaves])[:, None] * normals
            self._whitened = scores._factor.solve(
                scores._observed[leaves, None] + noise - self._prior[leaves]
            )
            whitened = scores._whitened[: leaves.size, : self._nodes]
            self._values = self._values + whitened.T @ self._whitened

    def _grow(self) -> None:
        """Draw the prior at new nodes, given its draw at the others."""
        scores, old, new = self._scores, self._nodes, self._scores._nodes
        if new == old:
            return
        rows = scores._rows.rows
        covariance = scores.covariance
        own = covariance.cross(rows[old:new], rows[old:new])
        own[np.diag_indices(new - old)] += covariance.private
        across = np.zeros((old, new - old))
        if old > 0:
            factor = self._factor[:old, :old]
            across = linalg.solve_triangular(factor, covariance.cross(rows[:old], rows[old:new]), lower=True)
        rest = own - across.T @ across
        # rest is singular if other nodes determine a new one: add a jitter too small to matter.
        rest[np.diag_indices(new - old)] += 1e-9 * max(scores._scale, 1e-300)
        block = np.linalg.cholesky(rest)
        self._factor = grown(self._factor, new, new)
        self._factor[old:new, :old], self._factor[old:new, old:new] = across.T, block
        self._normals = np.vstack([self._normals, self._rng.standard_normal((new - old, self._count))])
        drawn = self._factor[old:new, :new] @ self._normals
        self._prior = np.vstack([self._prior, drawn])
        known = scores._whitened[: len(self._whitened), old:new].T @ self._whitened
        values = scores._prior[old:new, None] + drawn + known
        self._values = np.vstack([self._values, values])
        self._nodes = new

    def condition(self, node: int, reward: float, noise: float, row: FloatArray, pivot: float) -> None:
        """Move the samples; called before the scores themselves move."""
        self._grow()
        rewards = reward + np.sqrt(noise) * self._rng.standard_normal(self._count)
        missing = (rewards - self._values[node]) / pivot
        self._values += np.outer(row, missing)
        place = self._scores._place.get(node)
        if place is None:
            self._whitened = np.vstack([self._whitened, missing])
            return
        # Of a further reward, only its share of the leaf's mean is new.
        old, factor = float(self._scores._observed_noise[node]), self._scores._factor
        gap = rewards - self._scores._prior[node] - self._prior[node] - factor.lower[place] @ self._whitened
        self._whitened += np.outer(factor.inverse[:, place], gap * old / (old + noise))

    def turn(self, rotation: Rotation) -> None:
        """Follow the scores' L, which has changed because a leaf has a further reward."""
        rotation.turn(self._whitened)

    def values(self) -> FloatArray:
        """One row per tracked node, shape ``(nodes, count)``."""
        self._grow()
        return self._values
