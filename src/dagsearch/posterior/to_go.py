r"""What the rest of a path brings where one cannot stop on the way, such as in a text that must be complete.

==========  ===========================================================================
symbol      meaning
==========  ===========================================================================
B           what the best known complete path earns
R(s)        gains on the best known path to s
d(s, a)     gain of a step that was not taken, with mean and variance
n           number of steps from a state to the level where the best known path ends
V(t)        the best that can follow t; N(c n, ς² n)
==========  ===========================================================================

c and ς² are learnt from the states with a known V, weighted by how much was tried below them: the more, the
closer V is to the best that can follow. Before the first path is complete, c is the mean over the states of
the largest expected gain of a step. Steps are rated by the probability that R + d + V > B, and before
there is a B by the mean of R + d + V: the search is a best-first search whose heuristic is learnt. Rating by the
expected improvement, per step left or not, needed more steps for the same.
"""

import math

import numpy as np
from scipy.special import log_ndtr

from dagsearch._internal.typing import FloatArray
from dagsearch.values.steps import Steps

# Number of tries below a state at which its V counts half.
_HALF = 5.0
# What each of the steps that are left adds to ς² before anything is known, in units of c².
_UNKNOWN = 0.2


class ToGo:
    """Rates steps of a problem in which one cannot stop at the root.

    Parameters
    ----------
    steps : Steps
        The explored part.
    """

    def __init__(self, steps: Steps) -> None:
        self._steps = steps

    def scores(self, gain: FloatArray, variance: FloatArray, tries: FloatArray) -> FloatArray:
        """Rating of every slot; −∞ of those that cannot be taken.

        ``gain`` and ``variance`` are those of d for all slots, and ``tries`` counts the steps that were taken
        below each node.
        """
        steps, count = self._steps, self._steps.slots
        open_ = steps.open
        if math.isinf(steps.best):
            level = steps.graph.level[steps.slot_node[:count]]
            rating = self._reached(gain) - self._greedy(gain) * level
        else:
            rating = log_ndtr(self._excess(gain, variance, tries)) - np.log(steps.slot_cost[:count])
        return np.where(open_, rating, -np.inf)

    def certainty(self, gain: FloatArray, variance: FloatArray, tries: FloatArray) -> float:
        """Probability that no step that was not taken leads to more than the best known path.

        Steps count as independent. What follows one of them and what follows another are alike rather than
        not, so the probability is rather too small.
        """
        if math.isinf(self._steps.best):
            return 0.0
        excess = self._excess(gain, variance, tries)[self._steps.open]
        return float(np.exp(log_ndtr(-excess).sum()))

    def _reached(self, gain: FloatArray) -> FloatArray:
        """R + E[d] of all slots."""
        steps = self._steps
        return steps.reach[steps.slot_node[: steps.slots]] + gain

    def _greedy(self, gain: FloatArray) -> float:
        """Mean over the states of the largest expected gain of a step."""
        steps = self._steps
        best = np.full(len(steps.graph), -np.inf)
        np.maximum.at(best, steps.slot_node[: steps.slots], gain)
        return float(best[np.isfinite(best)].mean())

    def _excess(self, gain: FloatArray, variance: FloatArray, tries: FloatArray) -> FloatArray:
        """By how many standard deviations R + d + V is expected to exceed B, for all slots."""
        steps = self._steps
        graph, nodes = steps.graph, len(steps.graph)
        level = graph.level[:nodes].astype(np.float64)
        end = float(level[steps.best_node()]) + 1.0  # what is earned by stopping counts as a step
        v, stop = graph.v_mean[:nodes], graph.stop[:nodes]
        known = np.isfinite(v) & np.isinf(stop) & (level < end)
        n = end - level[known]
        weight = tries[:nodes][known] / (tries[:nodes][known] + _HALF)
        slope = float((weight * n * v[known]).sum() / (weight * n * n).sum())
        squares = (weight * (v[known] - slope * n) ** 2 / n).sum() + _UNKNOWN * slope * slope
        spread = float(squares / (1.0 + weight.sum()))
        left = np.maximum(end - level[steps.slot_node[: steps.slots]] - 1.0, 0.0)
        deviation = np.sqrt(variance + spread * left + 1e-300)
        excess: FloatArray = (self._reached(gain) + slope * left - steps.best) / deviation
        return excess
