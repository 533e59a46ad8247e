"""The belief over costly steps that have not been taken.

==========  ===============================================================================================
symbol      meaning
==========  ===============================================================================================
B           earnings of the best known path
q(s)        gains on the best known path to s, plus value(s) if a path can end at s
d(s, a)     change q(t) − q(s) if a path can end on both sides
y(s, a)     sign(d) log(1 + |d| / u), with u a small change; 0 for a step that changes nothing
g(s, a)     the gain, if a path can end on neither side
==========  ===============================================================================================

The effect of a step, which is y or g, is a field over the edges, see :mod:`dagsearch.costly.fields`.
The prior mean of the effect is linear in the logarithm of ``prior``. ``docs/costly.md`` explains the ratings.
"""

import math

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.costly.edges import EXHAUSTED, FAILED, KNOWN, Edges
from dagsearch.costly.fields import Field

# Number of steps after which hyperparameters are first learnt, and its growth factor until the next time.
_FIRST, _MORE = 4, 1.1
# Quantile of changes that defines a small one.
_SMALL = 0.2
# Weight of an action's first step.
_UNKNOWN = 3.0


class StepModel:
    """Beliefs over all edges, learnt from taken steps."""

    def __init__(self, edges: Edges) -> None:
        self._edges, self.effect = edges, Field(edges)
        """y or g, minus its prior mean."""
        self.size = 1.0
        """Usual size of effects; 0 if all of them are 0."""
        self._unit = 1.0  # u
        self._constant, self._slope = 0.0, 1.0  # of the prior mean in the log prior
        self._taken, self._due = 0, _FIRST  # numbers of steps
        self._errors = np.ones(2)  # sum of squared errors over their variances, and number

    # Learning ----------------------------------------------------------------------------------------------

    def learn(self, edge: int) -> None:
        """Learn from a step that was taken or has failed."""
        taken = np.array([edge])
        shown, added = self._added(taken)
        if shown.size and self._taken >= _FIRST:  # before, the scale is unknown
            mean, variance = self.believed(shown)
            error = float(self._scaled(shown, added)[0] - mean[0])
            self._errors += error * error / float(variance[0]), 1.0
        self._taken += 1
        if self._taken >= self._due:
            self._due = max(self._due + 1, int(_MORE * self._due))
            self._fit()
        else:
            self._observe(shown, added)
            self.effect.update(self._edges.kind[taken])

    def _added(self, taken: IntArray) -> tuple[IntArray, FloatArray]:
        """Edges with an effect, and d, or g if a path cannot end; 0 if the step has led nowhere."""
        edges, moved = self._edges, self._edges.became[taken] >= KNOWN
        before = edges.stop[edges.node[taken]]
        after = np.where(moved, edges.stop[edges.child[taken]], before)
        can_stop = np.isfinite(before) & np.isfinite(after)
        added = np.where(moved, edges.gain[taken], 0.0)
        added[can_stop] += after[can_stop] - before[can_stop]
        shown = can_stop | (moved & np.isinf(before) & np.isinf(after))
        return taken[shown], added[shown]

    def _observe(self, shown: IntArray, added: FloatArray) -> None:
        became = self._edges.became[shown]
        # A known state's gains are not new.
        effect = self._scaled(shown, np.where(became == KNOWN, np.minimum(added, 0.0), added))
        self.effect.add(shown, effect - np.where(became >= KNOWN, self._expected(shown), 0.0))

    def _scaled(self, at: IntArray, added: FloatArray) -> FloatArray:
        """y of d at some edges; g is unchanged."""
        can_stop = np.isfinite(self._edges.stop[self._edges.node[at]])
        return np.where(can_stop, np.copysign(np.log1p(np.abs(added) / self._unit), added), added)

    def _fit(self) -> None:
        edges, taken = self._edges, np.flatnonzero(self._edges.became[: self._edges.count] > EXHAUSTED)
        moved, added = self._added(taken[edges.became[taken] >= KNOWN])
        can_stop = np.isfinite(edges.stop[edges.node[moved]])
        if (changes := np.abs(added[can_stop & (added != 0.0)])).size:
            self._unit = float(np.quantile(changes, _SMALL))
        if moved.size and (np.any(edges.log_prior[: edges.count]) or not can_stop.any()):
            # Least squares, the slope with a little ridge towards 1.
            log_prior, effect = edges.log_prior[moved], self._scaled(moved, added)
            centred, spread = log_prior - log_prior.mean(), float(log_prior.var())
            ridge, towards = 1e-3 * max(spread, 1e-6), float(np.any(log_prior))
            self._slope = float(centred @ effect + ridge * towards) / (effect.size * spread + ridge)
            self._constant = float(effect.mean() - self._slope * log_prior.mean())
        if moved.size:
            self.size = float(np.sqrt(np.mean(self._scaled(moved, added) ** 2)))
        self._observe(*self._added(taken))
        self.effect.fit()

    # What is believed --------------------------------------------------------------------------------------

    def _expected(self, at: IntArray) -> FloatArray:
        return np.asarray(self._constant + self._slope * self._edges.log_prior[at])

    def believed(self, at: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the effect of some edges."""
        mean, variance = self.effect.at(at)
        return self._expected(at) + mean, variance

    def outlook(self, at: IntArray, missing: FloatArray) -> FloatArray:
        """Expected excess of the effect of some edges over what is missing, on the scale of effects.

        Deviations are inflated to match past errors.
        """
        mean, variance = self.believed(at)
        inflation = max(math.sqrt(self._errors[0] / self._errors[1]), 1.0)
        return expected_improvement(mean - self._scaled(at, missing), inflation * np.sqrt(variance))

    def improvements(self, at: IntArray, goal: float) -> FloatArray:
        """Logarithm of the expected improvement per cost of some edges on what a path earns."""
        edges, node, kind = self._edges, self._edges.node[at], self._edges.kind
        mean, variance = self.believed(at)
        deviation, missing = np.sqrt(variance), np.maximum(goal - edges.standings()[node], 0.0)
        improvement = expected_improvement(mean - missing, deviation)
        if (can_stop := np.isfinite(edges.stop[node])).any():
            scaled = self._scaled_improvement(mean, deviation, missing)
            improvement = np.where(can_stop, scaled, improvement)
        met = np.zeros(edges.kinds // 2, dtype=np.bool_)
        met[kind[: edges.count][edges.became[: edges.count] >= FAILED] // 2] = True
        improvement = np.where(met[kind[at] // 2], improvement, _UNKNOWN * improvement)
        return np.asarray(np.log(np.maximum(improvement / edges.cost[at], 1e-300)))

    def _scaled_improvement(self, mean: FloatArray, deviation: FloatArray, missing: FloatArray) -> FloatArray:
        """E max(0, d − missing) with d = u (exp(Y) − 1) and Y ~ N(mean, deviation²)."""
        from scipy.special import ndtr  # slow to import

        strike = self._unit + missing
        z = (mean - np.log(strike / self._unit)) / deviation
        above = self._unit * np.exp(np.minimum(mean + 0.5 * deviation**2, 50.0)) * ndtr(z + deviation)
        return np.where(z < -8.0, 0.0, np.maximum(above - strike * ndtr(z), 0.0))


def expected_improvement(mean: FloatArray, deviation: FloatArray) -> FloatArray:
    """E max(0, X) with X ~ N(mean, deviation²)."""
    from scipy.special import ndtr  # slow to import

    z = mean / deviation
    return np.asarray(deviation * (z * ndtr(z) + np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)))
