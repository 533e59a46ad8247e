"""The belief over costly steps that were not taken yet.

==========  ===============================================================================================
symbol      meaning
==========  ===============================================================================================
B           what the best known path earns
q(s)        gains on the best known path to s, plus value(s) where one can stop at s
x(s, a)     probability that a step leads to a new state
d(s, a)     what it adds if one can stop on both sides: q(t) − q(s)
y(s, a)     sign(d) log(1 + |d| / u), with u a small change; 0 for a step that changes nothing
g(s, a)     the gain, if one can stop on neither side
==========  ===============================================================================================

x, y and g are fields over the edges, see :mod:`dagsearch.costly.fields`. The prior mean of y and g is linear
in the logarithm of ``prior`` and in ``features``.

Where one can stop, d is compared with what is missing to the goal. Because d follows a log-normal law beyond
its median, E max(0, d − h) has the form of Black and Scholes. An action that was never taken counts three
times: what it does here tells what it does elsewhere.

Where one cannot stop, the rest of the path is added: Δ is linear in the number of steps that are left, with a
variance proportional to it. Both are learnt from the completed paths. Steps are rated by the probability of
more than the goal: with the expected improvement, per step left or not, the same text takes more calls of a
language model.

A step to a state that is known already adds nothing new: its y is at most 0.
"""

import math
from typing import Final

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.costly.edges import KNOWN, NEW, UNTAKEN, Edges
from dagsearch.costly.fields import Field

# Number of steps after which hyperparameters are learnt first, and by what factor more they are learnt again.
_FIRST, _MORE = 4, 1.1
# Quantile of all changes that is a small one.
_SMALL = 0.2
# Weight of the first step with an action.
_UNKNOWN = 3.0
RARE: Final = 0.02
"""Smallest probability that a step leads to a new state."""
# Number of steps below a state after which half of its V is taken for final.
_HALF = 5.0


class StepModel:
    """Beliefs over all edges, learnt from the steps that were taken.

    Parameters
    ----------
    edges : Edges
        The explored part.
    """

    def __init__(self, edges: Edges) -> None:
        self._edges = edges
        self.change, self.effect, self.gain = self._fields = [Field(edges) for _ in range(3)]
        """x, y and g."""
        self.unit = 1.0
        """u."""
        self.expected = np.zeros(64)
        """Prior mean of each edge's gain or effect."""
        self._described = 0  # number of edges with a belief
        self._taken: list[int] = []  # edges, in order
        self._below = np.zeros(64)  # number of steps taken below each node
        self._met = np.zeros(64, dtype=np.bool_)  # actions that were taken
        known = next((own for own in edges.features if own is not None), ())
        self._weights = np.zeros(2 + len(known))  # of the prior mean: constant, log prior, features
        self._weights[1] = 1.0
        self._due = _FIRST
        self.grow()

    # Learning ----------------------------------------------------------------------------------------------

    def grow(self) -> None:
        """Form a belief over the edges that are new."""
        kinds = self._extend()
        for field in self._fields if kinds.size else ():
            field.update(kinds)

    def _extend(self) -> IntArray:
        """Make room for the nodes and edges that are new; returns the kinds of the latter."""
        edges, new = self._edges, np.arange(self._described, self._edges.count)
        self._below, self._met = grown(self._below, edges.nodes), grown(self._met, edges.kinds // 2)
        self.expected = grown(self.expected, edges.count)
        for field in self._fields:
            field.grow()
        self._described = edges.count
        self._expect(new)
        return np.unique(edges.kind[new])

    def learn(self, edge: int) -> None:
        """Learn from a step that was taken or has failed."""
        edges = self._edges
        kinds = self._extend()
        self._taken.append(edge)
        self._met[edges.kind[edge] // 2] = True
        above = int(edges.node[edge])
        while above >= 0:
            self._below[above] += 1.0
            above = int(edges.parent[above])
        if len(self._taken) >= self._due:
            self._due = max(self._due + 1, int(_MORE * self._due))
            self._fit()
            return
        for field, observed in zip(self._fields, self._observed(np.array([edge])), strict=True):
            field.add(*observed)
            field.update(np.union1d(kinds, edges.kind[edge]))

    def _observed(self, taken: IntArray) -> list[tuple[IntArray, FloatArray]]:
        """What taken edges have shown of x, y and g: for each field the edges, and their values."""
        edges, became = self._edges, self._edges.became[taken]
        moved = (became == NEW) | (became == KNOWN)
        before = edges.stop[edges.node[taken]]
        after = np.where(moved, edges.stop[edges.child[taken]], before)
        added = np.where(moved, edges.gain[taken], 0.0)
        both, neither = np.isfinite(before) & np.isfinite(after), np.isinf(before) & np.isinf(after) & moved
        effect = added[both] + after[both] - before[both]
        # What is good about a state that was known is known already.
        effect = np.where(became[both] == KNOWN, np.minimum(effect, 0.0), effect)
        scaled = self._scaled(effect) - np.where(moved[both], self.expected[taken[both]], 0.0)
        return [
            (taken, (became == NEW).astype(np.float64)),
            (taken[both], scaled),
            (taken[neither], added[neither] - self.expected[taken[neither]]),
        ]

    def _scaled(self, added: FloatArray) -> FloatArray:
        found: FloatArray = np.copysign(np.log1p(np.abs(added) / self.unit), added)
        return found

    def _fit(self) -> None:
        """Learn the unit, the prior mean and the variances."""
        edges, taken = self._edges, np.array(self._taken, dtype=np.int64)
        moved = taken[np.isin(edges.became[taken], (NEW, KNOWN))]
        one, other = edges.stop[edges.node[moved]], edges.stop[edges.child[moved]]
        both, neither = np.isfinite(one) & np.isfinite(other), np.isinf(one) & np.isinf(other)
        added = edges.gain[moved[both]] + other[both] - one[both]
        if np.any(added != 0.0):
            self.unit = float(np.quantile(np.abs(added[added != 0.0]), _SMALL))
        described = self._weights.size > 2 or np.any(edges.log_prior[: edges.count])
        if both.any() and described:
            self._weights = self._regression(moved[both], self._scaled(added))
        elif neither.any() and not both.any():
            self._weights = self._regression(moved[neither], edges.gain[moved[neither]])
        self._expect(np.arange(edges.count))
        for field, observed in zip(self._fields, self._observed(taken), strict=True):
            field.add(*observed)
            field.fit()

    def _regressors(self, edges: IntArray) -> FloatArray:
        found = np.zeros((edges.size, self._weights.size))
        found[:, 0], found[:, 1] = 1.0, self._edges.log_prior[edges]
        if self._weights.size > 2:
            for row, edge in enumerate(edges.tolist()):
                own = self._edges.features[edge]
                found[row, 2:] = 0.0 if own is None else own
        return found

    def _regression(self, edges: IntArray, target: FloatArray) -> FloatArray:
        """Weights of a linear prior mean, with a little ridge towards 0, of the log prior towards 1."""
        design = self._regressors(edges)
        towards = np.zeros(design.shape[1])
        towards[1] = float(np.any(design[:, 1] != 0.0))
        ridge = np.sqrt(1e-3 * np.maximum(design.var(axis=0), 1e-6))
        ridge[0] = 0.0
        rows, goal = np.vstack([design, np.diag(ridge)]), np.append(target, ridge * towards)
        weights: FloatArray = np.linalg.lstsq(rows, goal, rcond=None)[0]
        return weights

    def _expect(self, edges: IntArray) -> None:
        """Set the prior mean of some edges."""
        self.expected[edges] = self._regressors(edges) @ self._weights

    # What is believed --------------------------------------------------------------------------------------

    def predict(self, edge: int) -> tuple[float, float]:
        """Mean and variance of an edge's gain or, where one can stop, of its effect y."""
        can_stop = math.isfinite(self._edges.stop[self._edges.node[edge]])
        field = self.effect if can_stop else self.gain
        mean, variance = field.at(edge)
        return float(self.expected[edge] + mean), float(variance + field.noise[self._edges.kind[edge]])

    def rest(self) -> tuple[float, float, float]:
        """Δ where one cannot stop: the depth at which paths end, and mean and variance of what a step brings.

        Until a path is complete, each step is taken to bring what the best next steps brought on average.
        """
        edges, best = self._edges, self._edges.best_node()
        depth, stop = edges.depth[: edges.nodes], edges.stop[: edges.nodes]
        if best < 0:
            top = np.full(edges.nodes, -np.inf)  # what is expected of the best next step of every node
            np.maximum.at(top, edges.node[: edges.count], self.expected[: edges.count])
            top = top[np.isfinite(top)]
            slope, variance = (float(top.mean()), float(top.var())) if top.size else (0.0, 1.0)
            return float(depth.max()) + 1.0, slope, variance
        end = float(depth[best]) + 1.0  # what stopping is worth counts as a step
        v, below = edges.best_below[: edges.nodes], self._below[: edges.nodes]
        known = np.isinf(stop) & np.isfinite(v)
        weight, left = below[known] / (below[known] + _HALF), end - depth[known]
        slope = float((weight * left * v[known]).sum() / max((weight * left * left).sum(), 1e-12))
        errors = weight * (v[known] - slope * left) ** 2 / np.maximum(left, 1.0)
        prior = 0.25 * (self.gain.private + self.gain.root)
        return end, slope, (float(errors.sum()) + prior) / (1.0 + float(weight.sum()))

    def improvements(self, goal: FloatArray) -> FloatArray:
        """Logarithm of the expected improvement per cost of every edge; −∞ for those that cannot be taken.

        Parameters
        ----------
        goal : array of shape ``(nodes,)``
            What is to be improved on by a step from each node; ∞ if none is to be taken there.
        """
        edges, nodes, kind = self._edges, self._edges.nodes, self._edges.kind[: self._edges.count]
        found: FloatArray = _improvements(  # type: ignore[no-untyped-call]
            (edges.node, kind, edges.became, edges.cost, self.expected, ~self._met[kind // 2]),
            (self.change.shared, self.change.own),
            (self.effect.shared, self.effect.own, self.effect.noise, self.unit),
            (self.gain.shared, self.gain.own, self.gain.noise),
            (edges.reach[:nodes], edges.stop[:nodes], edges.depth[:nodes], goal),
            self.rest(),
        )
        return found


@compiled
def _log_probability(z: float) -> float:
    """Logarithm of the standard normal distribution function, also far in its tail."""
    if z < -30.0:
        return -0.5 * z * z - math.log(-z * math.sqrt(2.0 * math.pi))
    return math.log(0.5 * math.erfc(-z / math.sqrt(2.0)))


@compiled
def _scaled_improvement(mean: float, variance: float, unit: float, missing: float) -> float:
    """E max(0, d − missing) with d = unit (exp(Y) − 1) and Y ~ N(mean, variance)."""
    deviation, strike = math.sqrt(variance), unit + missing
    z = (mean - math.log(strike / unit)) / deviation
    if z < -8.0:
        return 0.0
    above = (
        unit * math.exp(min(mean + 0.5 * variance, 50.0)) * 0.5 * math.erfc(-(z + deviation) / math.sqrt(2.0))
    )
    return max(above - strike * 0.5 * math.erfc(-z / math.sqrt(2.0)), 0.0)


@compiled
def _improvements(edges, change, effect, gain, nodes, rest):  # type: ignore[no-untyped-def]
    node, kind, became, cost, expected, unknown = edges
    change_shared, change_own = change
    effect_shared, effect_own, effect_noise, unit = effect
    gain_shared, gain_own, gain_noise = gain
    reach, stop, depth, goal = nodes
    end, slope, variance = rest
    found = np.full(kind.size, -np.inf)
    for edge in range(kind.size):
        s, k = node[edge], kind[edge]
        if became[edge] != UNTAKEN or goal[s] == np.inf:
            continue
        if np.isfinite(stop[s]):
            mean = expected[edge] + effect_shared[0, s] + effect_own[0, edge]
            var = effect_shared[1, s] + effect_own[1, edge] + effect_noise[k]
            improvement = _scaled_improvement(mean, var, unit, max(goal[s] - reach[s] - stop[s], 0.0))
            if unknown[edge]:
                improvement *= _UNKNOWN
            found[edge] = math.log(max(improvement / cost[edge], 1e-300))
            continue
        mean = expected[edge] + gain_shared[0, s] + gain_own[0, edge]
        if goal[s] == -np.inf:  # nothing to compare with yet
            found[edge] = reach[s] + mean - slope * depth[s]
            continue
        var = gain_shared[1, s] + gain_own[1, edge] + gain_noise[k]
        left = max(end - depth[s] - 1.0, 0.0)
        mean += reach[s] + slope * left - goal[s]
        deviation = math.sqrt(var + variance * left)
        p = min(max(change_shared[0, s] + change_own[0, edge], RARE), 1.0)
        found[edge] = math.log(p / cost[edge]) + _log_probability(mean / deviation)
    return found
