"""Values of positions from one belief over all moves, and where a descent goes by them.

======  ===========  ==================================================================================
symbol  code         meaning
======  ===========  ==================================================================================
g       linear       score of a position: a sum over its moves, one linear belief for all positions
h_m     move_sum     Σ of reward − g(end) over the games through a node in which m was made later on
n_m     move_count   number of these games
tref    reference    the last node of the descent so far with more than ``ref`` rewards, as in GRAVE
r̄, n    mean, count  mean and number of the rewards of the games through a position
======  ===========  ==================================================================================

g knows no context: a move is worth the same everywhere. Two residuals add it. What the belief does not
explain of the games through tref is credited to their moves, h_m/(n_m + κ). And what it does not explain of a
position is a Gaussian of variance τ², about which the rewards of the games through the position tell:

    prior      g + h_m/(n_m + κ), with the variance of g, and τ² more
    posterior  v, given n rewards of mean r̄ and noise variance 1

With n own rewards dominate, as in Monte Carlo tree search. A descent goes by upper confidence bounds of v.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.baselines.grave import MoveAverages, WithReference, checked_constant
from dagsearch.posterior.units import Episode
from dagsearch.posterior.weights import WeightScores
from dagsearch.problem import State
from dagsearch.proposers.expansions import Options
from dagsearch.values.backups import Backup
from dagsearch.values.explored import Explored

# Variance τ² of what the belief over moves does not explain of a position; number κ of games that count as
# much as the belief that the context of a move makes no difference; noise variance of a reward; rewards after
# which a position has its own statistics of moves.
_OWN, _CONTEXT, _NOISE, _REF = 0.003, 20.0, 1.0, 25.0


class MoveValues(MoveAverages):
    """v of every position: its score, and the rewards of the games through it, as above without h.

    There is no maximum over moves, so that nothing is overestimated: descents come through good moves more
    and more often, and so do the rewards.

    Parameters
    ----------
    scores : WeightScores
        The scores of the search.
    moves, move_numbers : callable
        As for :class:`dagsearch.baselines.MoveAverages`.
    """

    def __init__(
        self,
        scores: WeightScores,
        moves: Callable[[State], Sequence[int]],
        move_numbers: Callable[[State], IntArray],
    ) -> None:
        super().__init__(moves, move_numbers)
        self.scores = scores
        self.columns, self.worth = np.zeros(64, dtype=np.int64), np.zeros(64)
        """The feature that each action adds, and its value."""

    def prepare(self, explored: Explored, node: int) -> None:
        """Make room for a node and its actions."""
        if node < self.first.size and self.first[node] >= 0:
            return
        super().prepare(explored, node)
        added = self.scores.covariance.added_features(explored.children(node))
        assert added is not None, "the covariance rates children"
        begin, end = int(self.first[node]), int(self.first[node]) + added.columns.size
        self.columns, self.worth = grown(self.columns, end), grown(self.worth, end)
        self.columns[begin:end], self.worth[begin:end] = added.columns, added.values
        self.scores.reserve(int(added.columns.max(initial=0)) + 1)

    def back_up(self, explored: Explored, episodes: Sequence[Episode]) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``, and update the averages of rewards and moves."""
        super().back_up(explored, episodes)
        mean, variance = explored.scores.moments()
        graph, seen = explored.graph, slice(mean.size)
        own = np.where(graph.terminal[seen], 0.0, _OWN)  # terminal: final, or proven
        count = np.where(graph.terminal[seen], 0.0, self.count[seen])
        graph.v_mean[seen], graph.v_var[seen] = _with_rewards(mean, variance + own, count, self.mean[seen])

    def _credit_of(self, episode: Episode) -> float:
        """What the belief does not explain of the reward."""
        return episode.residual


class MoveBounds(WithReference):
    """``sign · μ + β sqrt(log(n) σ²)`` of v with the context of moves, see the head of the module.

    Parameters
    ----------
    values : MoveValues
        Keeps the statistics.
    backup : Backup
        The back-up of the search: the values, or one around them.
    beta : float
        Exploration constant β ≥ 0.
    """

    def __init__(self, values: MoveValues, backup: Backup, beta: float) -> None:
        super().__init__(values, backup, _REF)
        self._values, self.beta = values, checked_constant("beta", beta)

    def rate(self, options: Options) -> FloatArray:
        """The bound of every option."""
        mean, variance = self._believed(options)
        width = self.beta * math.sqrt(math.log(options.visits))
        return options.sign * mean + width * np.sqrt(variance)

    def value(self, options: Options) -> FloatArray:
        """Mean v of every option, negated at MIN's turn."""
        return options.sign * self._believed(options)[0]

    def _believed(self, options: Options) -> tuple[FloatArray, FloatArray]:
        values, explored, children = self._values, options.explored, options.children
        values.prepare(explored, options.node)
        self._refer(explored, options.node)
        seen, moves = children >= 0, values.numbers[values.first[options.node] + options.actions]
        g = explored.scores.predict_children(explored.children(options.node), options.node)
        mean, variance = (array[options.actions] for array in g)
        mean = np.where(seen, explored.scores.mean[children], mean)
        variance = np.where(seen, explored.scores.variance[children], variance)
        reference = self._reference
        mean += values.move_sum[reference, moves] / (values.move_count[reference, moves] + _CONTEXT)
        rewards = np.where(seen, values.count[children], 0.0)
        return _with_rewards(mean, variance + _OWN, rewards, values.mean[children])

    def __repr__(self) -> str:
        return f"MoveBounds(beta={self.beta:g})"


def _with_rewards(
    mean: FloatArray, variance: FloatArray, count: FloatArray, average: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Gaussian beliefs after ``count`` rewards with an ``average``."""
    kept = _NOISE / (_NOISE + count * variance)
    return kept * mean + (1.0 - kept) * average, kept * variance
