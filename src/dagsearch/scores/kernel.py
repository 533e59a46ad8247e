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

One matrix–vector product, no solve. L⁻¹ grows along, by the row (−lᵀL⁻¹, 1)/d: V of new nodes and of children
is then a product with a triangle, which takes half the time of a solve. With many nodes of which few are
looked at, V is not kept (``as_lazy``): those get their columns when they are refreshed.

Joint samples keep a draw f of the prior at the tracked nodes, from the growing factor F of their covariance,
and E = L⁻¹(r + ε − μ_O − f_O) for draws ε of the noise; then g = μ + f + VᵀE. A reward appends the row
(r + ε − μ_t − f_t − l·E)/d to E.
"""

from collections.abc import Sequence
from itertools import islice

import numpy as np

from dagsearch._internal import linalg
from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.covariances import Covariance
from dagsearch.covariances.rows import Rows, RowStore
from dagsearch.errors import CovarianceError
from dagsearch.problem import Children, Families, State
from dagsearch.scores._linear import PackedBelief
from dagsearch.scores.base import (
    Capability,
    MeanFunction,
    Wanted,
    checked_noise,
    joint_draws,
    prior_means,
    upper_of,
)

# A posterior variance below −_SLACK times the prior one is no rounding error.
_SLACK = 1e-6
# Rewards beyond which, where few nodes are looked at, a model of constant size takes over.
_MOST_EXACT = 1000
# Columns that are computed at once.
_AT_ONCE = 256
# Of more children than these, where the most promising one is wanted, only those of the best means are
# looked at closer: so many of them.
_MANY, _CLOSER = 128, 48

# Rewards after which what is known of a node's children is kept; nodes of which it is kept, and how many
# numbers in all, of which 64 MB are made.
_BLOCK, _MOST_SIBLINGS, _MOST_KEPT = 32, 64, 2**23
# Nodes whose rows are kept prepared, too.
_MOST_PREPARED = 2000


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

    can = frozenset(Capability)
    uses_blas = True

    def __init__(self, covariance: Covariance, noise: float, mean: MeanFunction = 0.0) -> None:
        self.covariance = covariance
        self.noise = checked_noise(noise)
        self._prior_mean = mean
        self._nodes = 0
        self._rewards = 0
        self._rows = RowStore()  # of all tracked nodes
        self._prepared, self._seen = RowStore(), RowStore()  # prepared, of the same if few; of the rewards
        self._observed = np.zeros(0, dtype=np.int64)
        self._factor = np.zeros((0, 0))
        self._inverse = np.zeros((0, 0))  # of the factor, not larger than it must be
        self._whitened = np.zeros((0, 0))
        self._residuals, self._alpha_now = np.zeros(0), np.zeros(0)
        self._pretended = 0  # of the rewards, the last
        self._variance_before = np.zeros(0)  # anything was pretended
        self._keeps_columns, self._stale = True, False
        self._siblings: dict[int, _Siblings] = {}  # by parent, those looked at last at the end
        self._kept = 0  # numbers in V of all of these
        self._scale = 0.0  # largest prior variance seen
        self._prior = np.zeros(0)
        self._mean, self._variance = np.zeros(0), np.zeros(0)
        self._samples: KernelSamples | None = None

    def refitted(self, covariance: Covariance, noise: float, states: Sequence[State]) -> "KernelScores":
        """A model without rewards of the same nodes, with another covariance and noise."""
        fresh = KernelScores(covariance, noise, self._prior_mean)
        if not self._keeps_columns:
            fresh.as_lazy()
        fresh._adopt_nodes(self)
        return fresh

    def _adopt_nodes(self, other: "KernelScores") -> None:
        """Track what another model tracks: rows do not depend on hyperparameters."""
        self._rows, self._nodes, self._prior = other._rows, other._nodes, other._prior
        if self._keeps_prepared(self._nodes):
            self._prepared.append(self.covariance.prepared(self._rows.rows))
        variances = self._prior_variances(self.covariance.variances(self._rows.rows))
        self._mean, self._variance = self._prior.copy(), grown(variances, self._prior.size)
        self._scale = float(variances.max(initial=0.0))

    def _keeps_prepared(self, nodes: int) -> bool:
        """Of many nodes it would be more than all else; and it is worth little beside their columns."""
        return self._keeps_columns and nodes <= _MOST_PREPARED

    def additive(self) -> PackedBelief | None:
        """None: features are not added one by one."""
        return None

    @property
    def outgrown(self) -> bool:
        """Whether there are so many rewards that a model of constant size should take over."""
        return not self._keeps_columns and self._rewards - self._pretended >= _MOST_EXACT

    def induced(self, leaves: Sequence[int]) -> "KernelScores":
        """A fresh model of constant size, for as many rewards as there may be; of these leaves, so far."""
        from dagsearch.scores.induced import InducedScores  # which is made of this class

        rows = self._rows.rows[np.asarray(leaves, dtype=np.int64)]
        fresh = InducedScores(self.covariance, self.noise, self._prior_mean, rows)
        fresh._adopt_nodes(self)
        return fresh

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
        """Number new states and keep their beliefs current from now on."""
        rows = self.covariance.represent(states)
        prior, whitened = self._whiten(rows)
        means = prior_means(self._prior_mean, states)
        n, old, new = self._rewards, self._nodes, self._nodes + len(states)
        prepared = self.covariance.prepared(rows) if self._keeps_prepared(new) else None
        self._rows.append(rows)
        self._nodes = new
        if prepared is not None:
            self._prepared.append(prepared)
        else:
            self._prepared = RowStore()
        if self._keeps_columns:
            self._whitened = grown(self._whitened, n, new)
            self._whitened[:n, old:new] = whitened
        self._prior = grown(self._prior, new)
        self._prior[old:new] = means
        self._mean, self._variance = grown(self._mean, new), grown(self._variance, new)
        self._mean[old:new], self._variance[old:new] = self._moments(means, prior, whitened)
        self._scale = max(self._scale, float(prior.max(initial=0.0)))

    def as_lazy(self) -> "KernelScores":
        """Itself, from now on without the columns of V."""
        self._keeps_columns, self._whitened, self._prepared = False, np.zeros((0, 0)), RowStore()
        return self

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

    def predict_children(self, children: Children, node: int | None = None) -> tuple[FloatArray, FloatArray]:
        """:meth:`predict` for all children of a state, whose node helps if it is tracked."""
        if self._rewards == 0:
            return self.predict(children.states)
        siblings = self._siblings_of(children, node)
        lasting = self._rewards - self._pretended
        while siblings.rewards + _BLOCK <= lasting:
            self._learn_siblings(siblings, siblings.rewards + _BLOCK)
        gain, told = siblings.gain, siblings.told
        if siblings.rewards < self._rewards:
            rows, residuals = self._next_rows(siblings, self._rewards)
            gain, told = gain + residuals @ rows, told + np.einsum("ij,ij->j", rows, rows)
        variance = siblings.prior + self.covariance.private - told
        return self._prior_of(children) + gain, np.maximum(variance, 0.0)

    def _learn_siblings(self, siblings: "_Siblings", end: int) -> None:
        """Let siblings know V up to the reward ``end``."""
        before = siblings.whitened.size
        siblings.learn(*self._next_rows(siblings, end))
        self._kept += siblings.whitened.size - before if siblings.kept else 0

    def _siblings_of(self, children: Children, node: int | None) -> "_Siblings":
        """What is known of a node's children, from when they were looked at last."""
        if node is None:
            return _Siblings(children, kept=False)
        siblings = self._siblings.pop(node, None) or _Siblings(children, kept=True)
        if self._rewards * siblings.prior.size > _MOST_KEPT:  # too many for this on their own
            self._kept -= siblings.whitened.size
            return _Siblings(children, kept=False)
        self._siblings[node] = siblings
        while len(self._siblings) > (_MOST_SIBLINGS if self._kept <= _MOST_KEPT else 1):
            self._kept -= self._siblings.pop(next(iter(self._siblings))).whitened.size
        return siblings

    def _next_rows(self, siblings: "_Siblings", end: int) -> tuple[FloatArray, FloatArray]:
        """V of siblings for the rewards from where they are to ``end``, and z of these."""
        some = slice(siblings.rewards, end)
        cross, siblings.prior = self.covariance.of_children(siblings.children, self._seen.rows[some])
        left = cross.T
        if siblings.rewards > 0:
            left = left - self._factor[some, : siblings.rewards] @ siblings.whitened
        return _times_triangle(self._inverse[some, some], left), self._residuals[some]

    def upper_confidence(
        self, families: Families, signs: Sequence[int], beta: float, wanted: Wanted | None = None
    ) -> FloatArray:
        """Upper confidence ``sign · μ + β σ`` of the children of some states.

        Where there are many, only those of the best means are looked at closer, of the ``wanted`` ones; the
        others get −∞.
        """
        if self._rewards == 0:
            return upper_of([self.predict_children(children) for children in families.each()], signs, beta)
        sign = np.asarray(signs, dtype=np.float64)[families.family]
        if sign.size <= _MANY:
            return self._upper_of(families, sign, beta, None)
        means = self.covariance.sums_of_children(families, self._seen.rows, self._alpha())
        means = sign * (means + self._prior_of(families))
        closer = _largest(means, _CLOSER, wanted)
        found = np.full(sign.size, -np.inf)
        if closer.size > 0:
            found[closer] = self._upper_of(families, sign[closer], beta, closer)
        return found

    def _upper_of(
        self, families: Families, sign: FloatArray, beta: float, places: IntArray | None
    ) -> FloatArray:
        """:meth:`upper_confidence` of the children at some places, or of all."""
        cross, prior = self.covariance.of_children(families, self._seen.rows, places)
        means = self._prior_of(families)
        means = means if places is None else means[places]
        # Without private variance: it is no reason to prefer one child, no other reward tells about it.
        mean, variance = self._moments(means, prior, self._solve(cross.T))
        return sign * mean + beta * np.sqrt(variance)

    def _alpha(self) -> FloatArray:
        """L⁻ᵀz, so that the mean of g is μ + Σ_iO L⁻ᵀz."""
        n = self._rewards
        if self._alpha_now.size != n:
            self._alpha_now = self._residuals[:n] @ self._inverse
        return self._alpha_now

    def _prior_of(self, families: Families) -> FloatArray:
        """Prior mean of all children; they are made only if it varies."""
        if callable(self._prior_mean):
            return prior_means(self._prior_mean, families.states)
        return np.full(families.family.size, float(self._prior_mean))

    def joint(self, nodes: Sequence[int], states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and covariance of g of some tracked nodes and then of states that are not tracked."""
        n = self._rewards
        rows = self._rows.rows[np.asarray(nodes, dtype=np.int64)]
        own = self.covariance.cross(rows, rows)
        self.refresh(nodes)
        places = np.asarray(nodes, dtype=np.int64)
        whitened = self._whitened[:n, nodes] if self._keeps_columns else self._whiten_nodes(places)[1]
        mean = self._mean[nodes]
        if len(states) > 0:
            fresh = self.covariance.represent(states)
            prior, fresh_whitened = self._whiten(fresh)
            moments = self._moments(prior_means(self._prior_mean, states), prior, fresh_whitened)
            across = self.covariance.cross(rows, fresh)
            own = np.block([[own, across], [across.T, self.covariance.cross(fresh, fresh)]])
            whitened = np.hstack([whitened, fresh_whitened])
            mean = np.concatenate([mean, moments[0]])
        joint = own - self._told_covariance(whitened)
        joint[np.diag_indices(len(joint))] += self.covariance.private
        return mean, joint

    def draw(self, children: Children, rng: np.random.Generator) -> FloatArray:
        """One joint posterior sample of g of all children of a state, shape ``(children,)``."""
        return joint_draws(*self.joint([], children.states), 1, rng)[:, 0]

    def sampled(self, count: int, rng: np.random.Generator) -> "KernelSamples":
        """Joint posterior samples of all tracked nodes that are kept current from now on."""
        self._samples = KernelSamples(self, count, rng)
        return self._samples

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Learn that the leaf ``node`` earned ``reward``, with its own noise variance if given."""
        assert self._pretended == 0, "release what was pretended first"
        self._append(node, reward, self.noise if noise is None else checked_noise(noise))

    def _append(self, node: int, reward: float, variance: float) -> None:
        if not self._keeps_columns:
            self._append_alone(node, reward, variance)
            return
        n = self._rewards
        row, pivot = self._next_row(node, variance)
        remaining = self._variance[: self._nodes] - row * row
        if remaining.min(initial=0.0) < -_SLACK * self._scale:
            self._refuse(node)
        if self._samples is not None:
            self._samples.condition(node, reward, variance, row, pivot)
        self._extend(node, self._whitened[:n, node], pivot, (reward - self._mean[node]) / pivot)
        self._whitened = grown(self._whitened, n + 1, self._nodes)
        self._whitened[n, : self._nodes] = row
        self._mean[: self._nodes] += self._residuals[n] * row
        self._variance[: self._nodes] = np.maximum(remaining, 0.0)

    def _append_alone(self, node: int, reward: float, variance: float) -> None:
        """A further row of L and z, and nothing else."""
        assert self._samples is None, "joint samples need all columns of V"
        n = self._rewards
        cross, prior = self._nodes_with_rewards(np.array([node]))
        # By L itself: what L⁻¹ has lost in digits would come back to it with every row.
        whitened = cross
        if n > 0 and np.all(np.isfinite(cross)):
            whitened = linalg.solve_triangular(self._factor[:n, :n], cross, lower=True, check_finite=False)
        mean, left = self._moments(self._prior[node : node + 1], prior, whitened)
        if not np.all(np.isfinite(whitened)) or left[0] < -_SLACK * self._scale:
            self._refuse(node)
        pivot = float(np.sqrt(left[0] + variance))
        self._extend(node, whitened[:, 0], pivot, float(reward - mean[0]) / pivot)
        self._stale = True

    def _extend(self, node: int, row: FloatArray, pivot: float, residual: float) -> None:
        n = self._rewards
        self._observed = grown(self._observed, n + 1)
        self._observed[n] = node
        own = slice(node, node + 1)
        kept = self._keeps_prepared(self._nodes)
        self._seen.append(
            self._prepared.rows[own] if kept else self.covariance.prepared(self._rows.rows[own])
        )
        self._factor = grown(self._factor, n + 1, n + 1)
        self._factor[n, :n] = row
        self._factor[n, n] = pivot
        inverse = np.empty((n + 1, n + 1))
        inverse[:n, :n], inverse[:n, n] = self._inverse, 0.0
        inverse[n, :n] = row @ self._inverse / -pivot
        inverse[n, n] = 1.0 / pivot
        self._inverse = inverse
        self._residuals = grown(self._residuals, n + 1)
        self._residuals[n] = residual
        self._rewards = n + 1

    def fantasise(self, node: int) -> None:
        """Count a leaf as observed for the variance of g, but not for its mean, until :meth:`discard`.

        A reward equal to the mean does that: its row of V comes after those of all rewards, and its z is 0.
        """
        self.refresh([node])
        if self._pretended == 0 and self._keeps_columns:
            self._variance_before = self._variance[: self._nodes].copy()
        samples, self._samples = self._samples, None  # they follow real rewards only
        try:
            self._append(node, float(self._mean[node]), self.noise)
        finally:
            self._samples = samples
        self._pretended += 1

    def discard(self) -> None:
        """Take back all that was pretended, to the last digit: nobody shall see who looked in between."""
        if self._pretended == 0:
            return
        told = self._rewards - self._pretended
        self._seen.truncate(told)
        self._inverse = np.ascontiguousarray(self._inverse[:told, :told])
        self._rewards, self._pretended, self._alpha_now = told, 0, np.zeros(0)
        self._stale = not self._keeps_columns
        if self._keeps_columns:
            known = self._variance_before.size
            self._variance[:known] = self._variance_before
            since = np.arange(known, self._nodes)
            if since.size > 0:
                prior, whitened = self._whiten_nodes(since)
                self._whitened[:told, since] = whitened
                self._mean[since], self._variance[since] = self._moments(self._prior[since], prior, whitened)

    def condition_all(
        self, nodes: Sequence[int], rewards: Sequence[float], noises: Sequence[float | None]
    ) -> None:
        """:meth:`condition` on many rewards at once; the scores must have none before."""
        assert self._rewards == 0, "a fresh model is needed"
        self._observed = np.array(nodes, dtype=np.int64)
        rows = self._rows.rows[self._observed]
        joint = self.covariance.cross(rows, rows)
        joint += self.covariance.private * (self._observed[:, None] == self._observed)
        joint += np.diag([self.noise if noise is None else checked_noise(noise) for noise in noises])
        if not np.all(np.isfinite(joint)):
            self._refuse(int(self._observed[0]))
        try:
            self._factor = np.asarray(np.linalg.cholesky(joint), dtype=np.float64)
        except np.linalg.LinAlgError:
            self._refuse(int(self._observed[0]))
        self._inverse = inverse_of_triangle(self._factor)
        self._rewards = len(nodes)
        residuals = np.array(rewards, dtype=np.float64) - self._prior[self._observed]
        self._residuals = self._solve(residuals[:, None])[:, 0]
        self._seen.append(self.covariance.prepared(rows))
        self._stale = True
        if self._keeps_columns:
            prior, self._whitened = self._whiten_nodes(np.arange(self._nodes))
            moments = self._moments(self._prior[: self._nodes], prior, self._whitened)
            self._mean[: self._nodes], self._variance[: self._nodes] = moments
            self._stale = False

    def _next_row(self, node: int, variance: float) -> tuple[FloatArray, float]:
        """The new row of V, and the new pivot of L."""
        n = self._rewards
        row = self._rows.rows[node : node + 1]
        if self._keeps_prepared(self._nodes):
            prior = self.covariance.of_rows(row, self._prepared.rows)[0][0]
        else:
            prior = self.covariance.cross(row, self._rows.rows)[0]
        if not np.all(np.isfinite(prior)):
            self._refuse(node)
        prior[node] += self.covariance.private
        across = prior - self._whitened[:n, node] @ self._whitened[:n, : self._nodes]
        if across[node] < -_SLACK * self._scale:
            self._refuse(node)
        pivot = float(np.sqrt(max(across[node], 0.0) + variance))
        return across / pivot, pivot

    def _whiten(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Prior variances of untracked rows, and their columns of V."""
        cross, prior = self._with_rewards(rows)
        return prior, self._solve(cross)

    def _whiten_nodes(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """The same of tracked nodes."""
        cross, prior = self._nodes_with_rewards(nodes)
        return prior, self._solve(cross)

    def _nodes_with_rewards(self, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """:meth:`_with_rewards` of tracked nodes, which share their private offset with their own rewards."""
        cross, prior = self._with_rewards(self._rows.rows[nodes])
        if self.covariance.private > 0.0:
            cross = cross + self.covariance.private * (self._observed[: self._rewards, None] == nodes)
        return cross, prior

    def _with_rewards(self, rows: Rows) -> tuple[FloatArray, FloatArray]:
        """Covariances of the rewards with rows, shape ``(rewards, rows)``, and prior variances of these."""
        if self._rewards == 0:
            return np.zeros((0, len(rows))), self._prior_variances(self.covariance.variances(rows))
        cross, variances = self.covariance.of_rows(rows, self._seen.rows)
        return cross.T, self._prior_variances(variances)

    def _prior_variances(self, shared: FloatArray) -> FloatArray:
        """With what every state has for itself."""
        prior = shared + self.covariance.private
        if not np.all(np.isfinite(prior)) or np.any(prior < 0.0):
            raise CovarianceError(
                f"the covariance {self.covariance!r} gives variances that are negative or not finite: {prior}"
            )
        return prior

    def _solve(self, cross: FloatArray) -> FloatArray:
        """L⁻¹ times covariances with the rewards, shape ``(rewards, columns)``."""
        if self._rewards == 0:
            return cross
        return _times_triangle(self._inverse, cross)

    def _moments(
        self, means: FloatArray, prior: FloatArray, whitened: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        mean = means + self._residuals[: self._rewards] @ whitened
        return mean, np.maximum(prior - self._told_variance(whitened), 0.0)

    def _told_variance(self, whitened: FloatArray) -> FloatArray:
        """How much of the prior variance rewards have taken away."""
        return np.asarray(np.einsum("ij,ij->j", whitened, whitened))

    def _told_covariance(self, whitened: FloatArray) -> FloatArray:
        return np.asarray(whitened.T @ whitened)

    def _refuse(self, node: int) -> None:
        raise CovarianceError(
            f"the covariance {self.covariance!r} is not positive semi-definite: after "
            f"{self._rewards} rewards it leaves node {node} or its relatives a negative variance. "
            "This reward was not used; use a valid kernel or add private variance"
        )


class _Siblings:
    """V of all children of a node, for the first blocks of rewards.

    Blocks are whole, so that the last digit does not depend on when somebody looked.
    """

    def __init__(self, children: Children, kept: bool) -> None:
        self.children = children
        self.kept = kept
        self.rewards = 0
        count = len(children.actions)
        self.prior = np.zeros(count)  # variance, without private
        self.whitened = np.zeros((0, count))
        self.gain, self.told = np.zeros(count), np.zeros(count)  # Vᵀz and Σ V²

    def learn(self, rows: FloatArray, residuals: FloatArray) -> None:
        """Further rows of V, and z of these."""
        self.whitened = np.concatenate([self.whitened, rows])
        self.gain = self.gain + residuals @ rows
        self.told = self.told + np.einsum("ij,ij->j", rows, rows)
        self.rewards += len(rows)


def _largest(values: FloatArray, count: int, wanted: Wanted | None) -> IntArray:
    """Places of the ``count`` largest values that are wanted, or of as many as there are, in order."""
    if wanted is None:
        return np.sort(np.argpartition(-values, count)[:count])
    found: list[int] = []
    for looked_at in (2 * count, values.size):  # most of them are wanted, as a rule
        if len(found) < count:
            best = np.argpartition(-values, min(looked_at, values.size) - 1)[:looked_at]
            best = best[np.argsort(-values[best], kind="stable")]
            found = list(islice(filter(wanted, best.tolist()), count))
    return np.sort(np.array(found, dtype=np.int64))


def _times_triangle(triangle: FloatArray, columns: FloatArray) -> FloatArray:
    """A lower triangle times columns."""
    if columns.shape[1] == 1:
        return triangle @ columns  # no zero is left out, but nothing is copied
    # BLAS itself, which makes use of the triangle; it wants columns first, so everything is transposed.
    return np.asarray(linalg.dtrmm(1.0, triangle.T, columns.T, side=1, lower=0).T)


def inverse_of_triangle(factor: FloatArray) -> FloatArray:
    """Of a lower triangle."""
    return np.ascontiguousarray(linalg.dtrtri(factor.T, lower=0)[0].T)


class KernelSamples:
    """Joint samples of all tracked nodes: O(nodes · K) per reward, O(nodes²) per new node."""

    def __init__(self, scores: KernelScores, count: int, rng: np.random.Generator) -> None:
        self._scores, self._count, self._rng = scores, count, rng
        self._nodes = 0
        self._factor = np.zeros((0, 0))
        self._normals = np.zeros((0, count))
        self._prior = np.zeros((0, count))
        self._values = np.zeros((0, count))
        self._rewards = 0
        self._whitened = np.zeros((0, count))
        self._grow()
        assert scores._pretended == 0, "release what was pretended first"
        n = scores._rewards
        if n > 0:  # rewards that came before the samples
            observed, factor = scores._observed[:n], scores._factor[:n, :n]
            pivots = scores._factor.diagonal()[:n]
            left = pivots**2 - self._posterior_variances_in_order()
            noise = np.sqrt(np.maximum(left, 0.0))[:, None] * rng.standard_normal((n, count))
            rewards = factor @ scores._residuals[:n]  # less the prior mean
            gap = rewards[:, None] + noise - self._prior[observed]
            self._whitened = np.asarray(linalg.solve_triangular(factor, gap, lower=True))
            self._rewards = n
            self._values = self._values + scores._whitened[:n, : self._nodes].T @ self._whitened

    def _posterior_variances_in_order(self) -> FloatArray:
        """Variance of each rewarded leaf's g just before its reward came."""
        scores, n = self._scores, self._scores._rewards
        rows = scores._rows.rows[scores._observed[:n]]
        prior = scores.covariance.variances(rows) + scores.covariance.private
        factor = np.tril(scores._factor[:n, :n], -1)
        return np.asarray(prior - np.einsum("ij,ij->i", factor, factor))

    def _grow(self) -> None:
        """Draw the prior at new nodes, given what it is at the others."""
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
        # Nodes that others determine leave rest singular: a jitter far below what rewards can tell.
        rest[np.diag_indices(new - old)] += 1e-9 * max(scores._scale, 1e-300)
        block = np.linalg.cholesky(rest)
        self._factor = grown(self._factor, new, new)
        self._factor[old:new, :old], self._factor[old:new, old:new] = across.T, block
        self._normals = np.vstack([self._normals, self._rng.standard_normal((new - old, self._count))])
        drawn = self._factor[old:new, :new] @ self._normals
        self._prior = np.vstack([self._prior, drawn])
        n = self._rewards
        values = scores._prior[old:new, None] + drawn + scores._whitened[:n, old:new].T @ self._whitened
        self._values = np.vstack([self._values, values])
        self._nodes = new

    def condition(self, node: int, reward: float, noise: float, row: FloatArray, pivot: float) -> None:
        """Move the samples; called before the scores themselves move."""
        self._grow()
        told = reward + np.sqrt(noise) * self._rng.standard_normal(self._count)
        missing = (told - self._values[node]) / pivot
        self._values += np.outer(row, missing)
        self._whitened = np.vstack([self._whitened, missing])
        self._rewards += 1

    def values(self) -> FloatArray:
        """One row per tracked node, shape ``(nodes, count)``."""
        self._grow()
        return self._values
