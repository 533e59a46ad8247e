"""The belief over costly steps that were not taken yet.

==========  ===============================================================================================
symbol      meaning
==========  ===============================================================================================
B           what the best known path earns
q(s)        gains on the best known path to s, plus value(s) where a path can end at s
x(s, a)     probability that a step leads to a new state
d(s, a)     what it adds if a path can end on both sides: q(t) − q(s)
y(s, a)     sign(d) log(1 + |d| / u), with u a small change; 0 for a step that changes nothing
g(s, a)     the gain, if a path can end on neither side
==========  ===============================================================================================

x and the effect of a step, which is y or g, are fields over the edges, see :mod:`dagsearch.costly.fields`.
The prior mean of the effect is linear in the logarithm of ``prior``. ``docs/costly.md`` says how steps are
rated.
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


class StepModel:
    """Beliefs over all edges, learnt from the steps that were taken."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges
        self.change, self.effect = self._fields = Field(edges), Field(edges)
        """x, and y or g."""
        self.unit = 1.0
        """u."""
        self._constant, self._slope = 0.0, 1.0  # of the prior mean in the log prior
        self._described = 0  # number of edges with a belief
        self._taken: list[int] = []  # edges, in order
        self._met = np.zeros(64, dtype=np.bool_)  # actions that were taken
        self._due = _FIRST
        self._errors = np.ones(2)  # sum of squared errors over their variances, and number
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
        self._met = grown(self._met, edges.kinds // 2)
        for field in self._fields:
            field.grow()
        self._described = edges.count
        return np.unique(edges.kind[new])

    def learn(self, edge: int) -> None:
        """Learn from a step that was taken or has failed."""
        edges = self._edges
        kinds = self._extend()
        self._check(edge)
        self._taken.append(edge)
        self._met[edges.kind[edge] // 2] = True
        if len(self._taken) >= self._due:
            self._due = max(self._due + 1, int(_MORE * self._due))
            self._fit()
            return
        self._observe(np.array([edge]))
        for field in self._fields:
            field.update(np.union1d(kinds, edges.kind[edge]))

    def _check(self, edge: int) -> None:
        """Compare the effect of a step with what was believed of it."""
        shown, added = self._added(np.array([edge]))
        if shown.size and len(self._taken) >= _FIRST:  # before, the scale is not known
            mean, variance = self.believed(shown)
            error = float(self._scaled(shown, added)[0] - mean[0])
            self._errors += error * error / float(variance[0]), 1.0

    def _added(self, taken: IntArray) -> tuple[IntArray, FloatArray]:
        """Edges with an effect, and d, or g where a path cannot end; 0 if the step has led nowhere."""
        edges, moved = self._edges, np.isin(self._edges.became[taken], (NEW, KNOWN))
        before = edges.stop[edges.node[taken]]
        after = np.where(moved, edges.stop[edges.child[taken]], before)
        can_stop = np.isfinite(before) & np.isfinite(after)
        added = np.where(moved, edges.gain[taken], 0.0)
        added[can_stop] += after[can_stop] - before[can_stop]
        shown = can_stop | (moved & np.isinf(before) & np.isinf(after))
        return taken[shown], added[shown]

    def _observe(self, taken: IntArray) -> None:
        """Give the fields what taken edges have shown."""
        edges = self._edges
        self.change.add(taken, (edges.became[taken] == NEW).astype(np.float64))
        shown, added = self._added(taken)
        became = edges.became[shown]
        # What is good about a state that was known is known already.
        effect = self._scaled(shown, np.where(became == KNOWN, np.minimum(added, 0.0), added))
        self.effect.add(shown, effect - np.where(became >= KNOWN, self.expected(shown), 0.0))

    def _scaled(self, taken: IntArray, added: FloatArray) -> FloatArray:
        """y of d; g stays as it is."""
        can_stop = np.isfinite(self._edges.stop[self._edges.node[taken]])
        return np.where(can_stop, np.copysign(np.log1p(np.abs(added) / self.unit), added), added)

    def _fit(self) -> None:
        """Learn the unit, the prior mean and the variances."""
        edges, taken = self._edges, np.array(self._taken, dtype=np.int64)
        moved, added = self._added(taken[edges.became[taken] >= KNOWN])
        can_stop = np.isfinite(edges.stop[edges.node[moved]])
        if (changes := np.abs(added[can_stop & (added != 0.0)])).size:
            self.unit = float(np.quantile(changes, _SMALL))
        if moved.size and (np.any(edges.log_prior[: edges.count]) or not can_stop.any()):
            self._regress(edges.log_prior[moved], self._scaled(moved, added))
        self._observe(taken)
        for field in self._fields:
            field.fit()

    def _regress(self, log_prior: FloatArray, effect: FloatArray) -> None:
        """Learn the prior mean by least squares, the slope with a little ridge towards 1."""
        centred, spread = log_prior - log_prior.mean(), float(log_prior.var())
        ridge, towards = 1e-3 * max(spread, 1e-6), float(np.any(log_prior))
        self._slope = float(centred @ effect + ridge * towards) / (effect.size * spread + ridge)
        self._constant = float(effect.mean() - self._slope * log_prior.mean())

    # What is believed --------------------------------------------------------------------------------------

    def expected(self, edges: "int | slice | IntArray") -> FloatArray:
        """Prior mean of the effect of some edges."""
        return np.asarray(self._constant + self._slope * self._edges.log_prior[edges])

    def believed(self, edges: "slice | IntArray") -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the effect of some edges."""
        mean, variance = self.effect.at(edges)
        return self.expected(edges) + mean, variance + self.effect.noise[self._edges.kind[edges]]

    @property
    def inflation(self) -> float:
        """By how much errors were larger than believed."""
        return max(math.sqrt(self._errors[0] / self._errors[1]), 1.0)

    def improvements(self, goal: FloatArray) -> FloatArray:
        """Logarithm of the expected improvement per cost of every edge; −∞ for those that cannot be taken.

        Parameters
        ----------
        goal : array of shape ``(nodes,)``
            What is to be improved on by a step from each node; ∞ if none is to be taken there.
        """
        edges, nodes, kind = self._edges, self._edges.nodes, self._edges.kind[: self._edges.count]
        expected = self.expected(slice(edges.count))
        found: FloatArray = _improvements(  # type: ignore[no-untyped-call]
            (edges.node, kind, edges.became, edges.cost, expected, ~self._met[kind // 2]),
            (self.effect.shared, self.effect.own, self.effect.noise, self.unit),
            (edges.standings(), np.isfinite(edges.stop[:nodes]), goal),
        )
        return found


@compiled
def expected_improvement(mean: float, deviation: float) -> float:
    """E max(0, X) with X ~ N(mean, deviation²)."""
    z = mean / deviation
    tail = math.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)
    return deviation * (0.5 * z * math.erfc(-z / math.sqrt(2.0)) + tail)


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
def _improvements(edges, effect, nodes):  # type: ignore[no-untyped-def]
    node, kind, became, cost, expected, unknown = edges
    shared, own, noise, unit = effect
    standing, can_stop, goal = nodes
    found = np.full(kind.size, -np.inf)
    for edge in range(kind.size):
        s = node[edge]
        if became[edge] != UNTAKEN or goal[s] == np.inf:
            continue
        mean = expected[edge] + shared[0, s] + own[0, edge]
        var = shared[1, s] + own[1, edge] + noise[kind[edge]]
        missing = max(goal[s] - standing[s], 0.0)
        if can_stop[s]:
            improvement = _scaled_improvement(mean, var, unit, missing)
        else:
            improvement = expected_improvement(mean - missing, math.sqrt(var))
        if unknown[edge]:
            improvement *= _UNKNOWN
        found[edge] = math.log(max(improvement / cost[edge], 1e-300))
    return found
