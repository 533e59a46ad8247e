"""The increments Δ: the gain of optimal over random play, before any data (section 3.2).

==========  ==============  ===================  ==================================================
paper       code            shape                meaning
==========  ==============  ===================  ==================================================
b           branching       ``(depth,)``         children of a node at each level
c           step_variance   ``(depth,)``         variance of the Brownian step ξ to a child
Δ_i         mean, variance  ``(depth + 1,)``     by level; zero at the leaves
—           tables          ``(depth + 1, B)``   Δ "as if b children remained", by level and b ≥ 1
==========  ==============  ===================  ==================================================

Below the boundary the DAG is treated as a tree: a child's score is its parent's plus a step ξ, so
Δ_i = max_j (Δ_j + ξ_j), with identical children at one level. Folding these one by one yields Δ for every
number of children in between, so that all tables cost one pass over the branching factors.
"""

import math
from collections.abc import Sequence
from itertools import zip_longest

import numpy as np
from numpy.typing import ArrayLike

from dagsearch._internal.checks import check
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray
from dagsearch.covariances import Covariance
from dagsearch.problem import MAX, MIN, Problem
from dagsearch.results import Gaussian
from dagsearch.space import Space
from dagsearch.values.gaussians import checked_prior, pair_maximum, with_prior


@compiled
def _fold_copies(mean: float, var: float, copies: int, prior_mean: float, prior_var: float) -> FloatArray:
    """Moments of the maximum of 1, 2, …, ``copies`` independent copies of a Gaussian, under the prior."""
    moments = np.empty((2, copies))
    folded, spread = mean, var
    for b in range(copies):
        if b > 0:
            moments[0, b], moments[1, b] = pair_maximum(folded, spread, mean, var, 0.0, prior_mean, prior_var)
            folded, spread = pair_maximum(folded, spread, mean, var, 0.0, 0.0, math.inf)
        else:
            moments[0, b], moments[1, b] = with_prior(mean, var, prior_mean, prior_var)
    return moments


class Increments:
    """Δ by level, tabulated before the search.

    Parameters
    ----------
    branching : sequence of int, length ``depth``
        Number of children of a node at level 0 (the root), 1, …, ``depth - 1``.
    step_variance : float or sequence of float
        Variance of the Brownian step to a child: one number, or one per level of the parent. It must match
        the covariance; otherwise the values of unexplored nodes mislead the search.
    players : sequence of MAX or MIN, optional
        The player at each level; MAX everywhere by default.
    prior : (mean, variance), optional
        Gaussian prior on Δ itself, at every level.

    Examples
    --------
    >>> increments = Increments(branching=[4, 3, 2], step_variance=1.0)
    >>> increments.mean.round(3).tolist()
    [3.092, 1.663, 0.564, 0.0]
    """

    def __init__(
        self,
        branching: Sequence[int],
        step_variance: ArrayLike,
        players: Sequence[int] | None = None,
        prior: Sequence[float] | None = None,
    ) -> None:
        self.branching = tuple(int(b) for b in branching)
        check(all(b >= 1 for b in self.branching), "branching", "at least 1 at every level", branching)
        depth = len(self.branching)
        steps = np.asarray(step_variance, dtype=np.float64)
        sound = np.all(np.isfinite(steps)) and np.all(steps >= 0.0)
        check(bool(sound), "step_variance", "finite and not negative", step_variance)
        self.step_variance: FloatArray = np.broadcast_to(steps, (depth,)).copy()
        self.players = tuple(players) if players is not None else (MAX,) * depth
        if len(self.players) != depth or any(who not in (MAX, MIN) for who in self.players):
            raise ValueError(f"players must be MAX or MIN for each of the {depth} levels, got {players!r}")
        self._prior = checked_prior(prior)
        self.mean_table, self.var_table = self._tabulate(max(self.branching, default=1))

    def _tabulate(self, widest: int) -> tuple[FloatArray, FloatArray]:
        depth = len(self.branching)
        means, variances = np.zeros((depth + 1, widest + 1)), np.zeros((depth + 1, widest + 1))
        self.mean, self.variance = np.zeros(depth + 1), np.zeros(depth + 1)
        for level in reversed(range(depth)):
            sign = self.players[level]
            mean, variance = sign * self.mean[level + 1], self.variance[level + 1] + self.step_variance[level]
            moments = _fold_copies(mean, variance, widest, sign * self._prior[0], self._prior[1])
            means[level, 1:], variances[level, 1:] = sign * moments[0], moments[1]
            b = self.branching[level]
            self.mean[level], self.variance[level] = means[level, b], variances[level, b]
        return means, variances

    @property
    def depth(self) -> int:
        """Number of decisions from the root to the deepest leaf."""
        return len(self.branching)

    def at(self, level: int) -> Gaussian:
        """Δ of a boundary node at ``level``; 0 from ``depth`` on, where nothing is left to decide."""
        level = min(level, self.depth)
        return Gaussian(float(self.mean[level]), float(self.variance[level]))

    def widen(self, children: int) -> None:
        """Extend the tables to nodes with this number of remaining children."""
        if children >= self.mean_table.shape[1]:
            widest = max(children, 2 * self.mean_table.shape[1])
            self.mean_table, self.var_table = self._tabulate(widest)

    @classmethod
    def of(
        cls,
        problem: Problem | Space,
        covariance: Covariance,
        prior: Sequence[float] | None = None,
        step_variance: ArrayLike | None = None,
    ) -> "Increments":
        """The increments of a problem under a covariance.

        ``depth`` and ``branching`` are the problem's own if declared. Otherwise they are measured on random
        paths, as are the players and, by default, the variance of a step.
        """
        space = Space.of(problem)
        levels = space.levels
        branching = [max(1, round(level.branching)) for level in levels]
        players = [MAX if level.player >= 0 else MIN for level in levels]
        steps = _step_variances(space, covariance) if step_variance is None else step_variance
        return cls(branching, steps, players, prior)


def _step_variances(space: Space, covariance: Covariance) -> list[float]:
    """Mean variance of a step by level, one path at a time: their rows may be large."""
    steps = [covariance.step_variances(covariance.represent(path.states)).tolist() for path in space.paths]
    levels = [[step for step in level if step is not None] for level in zip_longest(*steps)]
    means = [float(np.mean(level)) for level in levels]
    depth = len(space.levels)
    return (means + means[-1:] * depth)[:depth]  # also for levels that no path has reached
