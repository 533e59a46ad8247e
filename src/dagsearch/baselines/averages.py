"""Values as averages of rewards without a belief over g, and their bandit rule: UCT, UCD and variants."""

import math
from collections.abc import Sequence

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.checks import checked_constant
from dagsearch._internal.compiled import compiled
from dagsearch._internal.parts import Configured
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray, Pair
from dagsearch.posterior.base import Scores
from dagsearch.posterior.units import Episode
from dagsearch.problem import State
from dagsearch.proposers.expansions import Options
from dagsearch.proposers.policies import Policy
from dagsearch.values.backups import Backup
from dagsearch.values.explored import Explored


class NoScores(Scores):
    """A null model: mean and variance are 0 everywhere."""

    def __init__(self) -> None:
        self._zeros, self._nodes = np.zeros(0), 0  # zeros with room for more nodes

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Zeros, shape ``(nodes,)``."""
        return self._zeros[: self._nodes], self._zeros[: self._nodes]

    def track(self, states: Sequence[State]) -> None:
        """Number new states."""
        self._nodes += len(states)
        self._zeros = grown(self._zeros, self._nodes)

    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Zeros."""
        return np.zeros(len(states)), np.zeros(len(states))

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Do nothing."""


class Averages(Backup):
    """v of a node: the mean of the rewards of all descents through it.

    Statistics belong to nodes, not to edges: a node with several parents has one mean and one count for all
    of them.
    """

    def __init__(self) -> None:
        self.count = np.zeros(64)
        """Number of rewards credited to each node."""
        self.mean = np.zeros(64)
        """Mean of each node's rewards."""
        self._squares = np.zeros(64)  # sum of squared deviations from the mean

    @property
    def variance(self) -> FloatArray:
        """Empirical variance of the rewards credited to each node."""
        return self._squares / np.maximum(self.count, 1.0)

    def learn(self, explored: Explored, episodes: Sequence[Episode]) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``, the latter as the variance of the mean."""
        graph = explored.graph
        self.reserve(len(graph))
        for episode in episodes:
            nodes, reward = np.array(episode.path, dtype=np.int64), episode.reward
            self.count[nodes] += 1.0  # Welford's method
            before = reward - self.mean[nodes]
            self.mean[nodes] += before / self.count[nodes]
            self._squares[nodes] += before * (reward - self.mean[nodes])
            graph.v_mean[nodes] = self.mean[nodes]
            graph.v_var[nodes] = self._squares[nodes] / self.count[nodes] ** 2

    def back_up(self, explored: Explored) -> None:
        """Do nothing: rewards have already changed the values."""

    def reserve(self, nodes: int) -> None:
        """Make room for this number of nodes; the last entry stays 0, for options that are not in the DAG."""
        if nodes >= self.count.size:
            self.count, self.mean = grown(self.count, nodes + 1), grown(self.mean, nodes + 1)
            self._squares = grown(self._squares, nodes + 1)

    def of(self, options: Options, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Number and mean of the rewards of each option, by its node; means are negated at MIN's turn."""
        self.reserve(len(options.explored.graph))
        return self.count[nodes], options.sign * self.mean[nodes]

    def value(self, options: Options, nodes: IntArray) -> FloatArray:
        """Mean of each option's rewards; −∞ without any."""
        number, mean = self.of(options, nodes)
        return np.where(number > 0.0, mean, -np.inf)


class UCB1(Configured, Policy):
    """Mean reward plus a bonus for few visits: ``μ_i + c sqrt(ln(n) / n_i)``.

    ``n`` counts the rewards of the node that decides, ``n_i`` those of the option. Hence:

    - options without a reward come first, in random order, and so do options that were not yet entered from
      this node, regardless of their rewards from other parents;
    - a leaf with a known reward gets no bonus: there is nothing left to learn about it;
    - a MIN node chooses the smallest ``μ_i − c sqrt(ln(n) / n_i)``.

    Parameters
    ----------
    averages : Averages
        The back-up of the search, which has the statistics.
    c : float
        Exploration constant.
    """

    def __init__(self, averages: Averages, c: float) -> None:
        self._averages = averages
        self.c = checked_constant("c", c)

    def rate(self, options: Options) -> FloatArray:
        """The bound of every option; infinite for options without rewards."""
        averages, graph = self._averages, options.explored.graph
        averages.reserve(len(graph))
        known = averages.count, averages.mean
        return _ucb1(options.node, options.children, known, graph.terminal, options.sign, self.c)

    def value(self, options: Options) -> FloatArray:
        """Mean reward of every option; −∞ for options without rewards."""
        return self._averages.value(options, options.children)


@compiled
def _ucb1(node: int, children: IntArray, known: Pair, leaf: BoolArray, sign: int, c: float) -> FloatArray:
    count, mean = known
    spent, ratings = math.log(max(1.0, count[node])), np.full(children.size, np.inf)
    for option in range(children.size):
        child = children[option]
        if count[child] > 0.0:
            bonus = 0.0 if leaf[child] else c * math.sqrt(spent / count[child])
            ratings[option] = sign * mean[child] + bonus
    return ratings
