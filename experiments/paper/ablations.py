"""Alternatives to choices that the paper leaves open, to measure how much depends on them."""

import math

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.baselines import UCB1, Averages
from dagsearch.proposers.expansions import OneChild, Options
from dagsearch.search import Search
from dagsearch.values.explored import Explored


class RandomChild(OneChild):
    """Children enter one at a time; the descent sees those in the DAG and one option for all others.

    That option is the back-up's summary variable; taking it adds a child chosen uniformly at random. With
    ``OneChild`` the descent sees every child instead.
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def options(self, explored: Explored, node: int) -> Options | None:
        """The children in the DAG, then the summary; ``None`` at a leaf."""
        graph = explored.graph
        if graph.terminal[node]:
            return None
        edges = graph.edges(node)
        actions, children = graph.edge_action[edges], graph.children(node)
        missing = np.setdiff1d(np.arange(graph.branching[node]), actions)
        if missing.size > 0:
            actions, children = np.append(actions, self._rng.choice(missing)), np.append(children, -1)
        return _WithSummary(explored, node, actions, children, missing.size)

    def __repr__(self) -> str:
        return "RandomChild()"


class _WithSummary(Options):
    def __init__(
        self, explored: Explored, node: int, actions: IntArray, children: IntArray, missing: int
    ) -> None:
        super().__init__(explored, node, actions, children)
        self._missing = missing

    def _computed(self) -> tuple[FloatArray, FloatArray]:
        explored, graph = self.explored, self.explored.graph
        mean, variance = graph.v_mean[self.children], graph.v_var[self.children]
        if self._missing > 0:
            increments, level = explored.increments, int(graph.level[self.node])
            increments.widen(self._missing)
            mean[-1] = explored.scores.mean[self.node] + increments.mean_table[level, self._missing]
            variance[-1] = explored.scores.variance[self.node] + increments.var_table[level, self._missing]
        return mean, variance


class LeafBonus(UCB1):
    """:class:`UCB1` with its bonus for leaves too."""

    def rate(self, options: Options) -> FloatArray:
        """The bound of every option; infinite for options without rewards."""
        number, mean = self._averages.of(options, options.children)
        visits = max(1.0, float(self._averages.count[options.node]))
        bonus = self.c * np.sqrt(math.log(visits) / np.maximum(number, 1.0))
        return np.where(number > 0.0, mean + bonus, np.inf)


def with_leaf_bonus(search: Search) -> Search:
    """A UCT or UCD search that explores leaves like any other option."""
    descent, backup = search.portfolio.descent, search.values.backup
    assert descent is not None
    assert isinstance(descent.policy, UCB1)
    assert isinstance(backup, Averages)
    descent.policy = LeafBonus(backup, descent.policy.c)
    return search
