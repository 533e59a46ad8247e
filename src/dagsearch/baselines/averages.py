"""Values as averages of rewards, and the bandit rule that goes with them: UCT, UCD and variants."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.checks import is_finite, is_whole
from dagsearch._internal.compiled import compiled
from dagsearch._internal.ties import TieBreaker
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.posterior.units import Episode
from dagsearch.proposers.descent import follow_bounds
from dagsearch.proposers.expansions import Options
from dagsearch.proposers.policies import CompiledPolicy
from dagsearch.values.backups import Backup
from dagsearch.values.explored import Explored
from dagsearch.values.graph import Graph


class Credit(Protocol):
    """The rule for which nodes a reward counts."""

    def nodes(self, graph: Graph, path: Sequence[int]) -> IntArray:
        """The nodes that are credited with the reward after a descent along ``path``."""


class Traversed:
    """The nodes on the path of the descent."""

    def nodes(self, graph: Graph, path: Sequence[int]) -> IntArray:
        """The path itself."""
        return np.array(path, dtype=np.int64)

    def __repr__(self) -> str:
        return "Traversed()"


class WithinDistance:
    """The nodes on the path of the descent, and other ancestors of its end up to a distance.

    Parameters
    ----------
    distance : int or None
        Largest number of edges on the shortest path up; ``None`` for all ancestors.
    """

    def __init__(self, distance: int | None) -> None:
        if distance is not None and not (is_whole(distance) and distance >= 0):
            raise ValueError(f"distance must be None or a whole number of at least 0, got {distance!r}")
        self.distance = distance

    def nodes(self, graph: Graph, path: Sequence[int]) -> IntArray:
        """The path and the near ancestors of its last node."""
        order = graph.deepest_first()
        up = _distances_up(path[-1], order, graph.first, graph.count, graph.edge_child, len(graph))
        near = up >= 0 if self.distance is None else (up >= 0) & (up <= self.distance)
        near[list(path)] = True
        return np.flatnonzero(near)

    def __repr__(self) -> str:
        return f"WithinDistance({self.distance})"


@compiled
def _distances_up(
    node: int, order: IntArray, first: IntArray, count: IntArray, edge_child: IntArray, nodes: int
) -> IntArray:
    """Number of edges on the shortest path from every ancestor to ``node``; −1 for other nodes."""
    up = np.full(nodes, -1, dtype=np.int64)
    up[node] = 0
    for ancestor in order:
        for edge in range(first[ancestor], first[ancestor] + count[ancestor]):
            child = edge_child[edge] if edge_child[edge] >= 0 else ~edge_child[edge]
            if up[child] >= 0 and (up[ancestor] < 0 or up[child] + 1 < up[ancestor]):
                up[ancestor] = up[child] + 1
    return up


@dataclass(frozen=True)
class Statistics:
    """Statistics of a node's options."""

    visits: float
    """Number of rewards credited to the deciding node."""
    count: FloatArray
    """Number of rewards credited to each option."""
    mean: FloatArray
    """Mean of each option's rewards."""
    variance: FloatArray
    """Empirical variance of each option's rewards."""

    def value(self, sign: int) -> FloatArray:
        """Mean reward of every option, negated at MIN's turn; −∞ for options without rewards."""
        return np.asarray(np.where(self.count > 0.0, sign * self.mean, -np.inf))


class Averages(Backup):
    """v of a node: the mean of the rewards it was credited with.

    Statistics belong to nodes, not to edges: a node that is reached from several parents has one mean and
    one count for all of them. But until a node is entered from the deciding node itself, it counts there as
    an option that was not tried. On a tree there is no difference.

    Parameters
    ----------
    credit : Credit
        Rule for which nodes a reward counts.
    """

    def __init__(self, credit: Credit) -> None:
        self._credit = credit
        self.count = np.zeros(64)
        """Number of rewards credited to each node."""
        self.mean = np.zeros(64)
        """Mean of each node's rewards."""
        self._squares = np.zeros(64)  # sum of squared deviations from the mean

    @property
    def variance(self) -> FloatArray:
        """Empirical variance of the rewards credited to each node."""
        return self._squares / np.maximum(self.count, 1.0)

    def back_up(self, explored: Explored, episodes: Sequence[Episode]) -> None:
        """Write ``graph.v_mean`` and ``graph.v_var``, the latter as the variance of the mean."""
        graph = explored.graph
        self.reserve(len(graph))
        for episode in episodes:
            if episode.path:
                _credit(
                    self._credit.nodes(graph, episode.path),
                    episode.reward,
                    self.count,
                    self.mean,
                    self._squares,
                    graph.v_mean,
                    graph.v_var,
                )

    def reserve(self, nodes: int) -> None:
        """Make room for this number of nodes."""
        if nodes > self.count.size:
            self.count, self.mean = grown(self.count, nodes), grown(self.mean, nodes)
            self._squares = grown(self._squares, nodes)

    def of(self, options: Options) -> Statistics:
        """Statistics of each option; no rewards for those that are not in the DAG."""
        self.reserve(max(options.node, int(options.children.max(initial=0))) + 1)
        seen, children = options.children >= 0, options.children
        return Statistics(
            visits=float(self.count[options.node]),
            count=np.where(seen, self.count[children], 0.0),
            mean=np.where(seen, self.mean[children], 0.0),
            variance=np.where(seen, self._squares[children] / np.maximum(self.count[children], 1.0), 0.0),
        )


class UCB1(CompiledPolicy):
    """Mean reward plus a bonus for few visits: ``μ_i + c sqrt(ln(n) / n_i)``.

    ``n`` counts the rewards of the node that decides, ``n_i`` those of the option. Hence:

    - options without a reward come first, in random order;
    - a leaf that has its reward gets no bonus: there is nothing left to learn about it;
    - at a MIN node the smallest ``μ_i − c sqrt(ln(n) / n_i)`` is taken.

    Parameters
    ----------
    averages : Averages
        The back-up of the search, which keeps the statistics.
    c : float
        Exploration constant.
    """

    def __init__(self, averages: Averages, c: float) -> None:
        if not is_finite(c) or c < 0.0:
            raise ValueError(f"c must be finite and not negative, got {c!r}")
        self._averages = self.reads = averages
        self.c = float(c)

    def rate(self, options: Options) -> FloatArray:
        """The bound of every option; infinite for options without rewards."""
        known = self._averages.of(options)
        bonus = self.c * np.sqrt(math.log(max(1.0, known.visits)) / np.maximum(known.count, 1.0))
        bound = options.sign * known.mean + self._bonus(options, bonus)
        return np.where(known.count > 0.0, bound, np.inf)

    def _bonus(self, options: Options, bonus: FloatArray) -> FloatArray:
        return np.where(options.terminal, 0.0, bonus)

    def follow(
        self, explored: Explored, node: int, tie_breaker: TieBreaker, one_by_one: bool
    ) -> tuple[IntArray, IntArray, int]:
        """Where :meth:`rate` leads from a node, see ``CompiledPolicy.follow``."""
        graph, averages = explored.graph, self._averages
        averages.reserve(len(graph))
        nodes, actions, next_action, tie_breaker.value, tie_breaker.resolution = follow_bounds(
            node,
            tie_breaker.value,
            tie_breaker.resolution,
            one_by_one,
            self.c,
            graph.arrays,
            averages.count,
            averages.mean,
        )
        return nodes, actions, next_action

    def value(self, options: Options) -> FloatArray:
        """Mean reward of every option, negated at MIN's turn; −∞ for options without rewards."""
        return self._averages.of(options).value(options.sign)

    def __repr__(self) -> str:
        return f"UCB1(c={self.c})"


@compiled
def _credit(
    nodes: IntArray,
    reward: float,
    count: FloatArray,
    mean: FloatArray,
    squares: FloatArray,
    v_mean: FloatArray,
    v_var: FloatArray,
) -> None:
    """Update the statistics of nodes with a reward (Welford's method), and their values."""
    for node in nodes:
        count[node] += 1.0
        before = reward - mean[node]
        mean[node] += before / count[node]
        squares[node] += before * (reward - mean[node])
        v_mean[node], v_var[node] = mean[node], squares[node] / (count[node] * count[node])
