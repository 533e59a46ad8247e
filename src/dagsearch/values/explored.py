"""The explored DAG with the beliefs over its nodes."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from dagsearch._internal.typing import BoolArray, IntArray
from dagsearch.posterior.base import Scores
from dagsearch.posterior.index import Index
from dagsearch.posterior.posterior import Posterior
from dagsearch.posterior.units import Episode
from dagsearch.problem import Action, Children, Problem, State
from dagsearch.results import Belief, Gaussian, Proposal
from dagsearch.space import Space
from dagsearch.space.walks import shape_rng
from dagsearch.values.graph import Graph
from dagsearch.values.increments import Increments

if TYPE_CHECKING:
    from dagsearch.values.backups import Backup

# Number of children that are cached, of all nodes together, if there is more than one node.
_MOST_MADE = 1 << 15


class NodeChildren(Children):
    """The children of a node of the DAG."""

    def __init__(self, space: Space, graph: Graph, node: int) -> None:
        state = graph.states[node]
        super().__init__(space.problem, state, space.problem.actions(state))
        self._are_alike = space.added_items is not None
        self.numbers: IntArray = np.arange(len(self.actions))
        """Index of each action."""
        self.nodes: IntArray = np.full(len(self.actions), -1)
        """Node of each child, −1 where it is not in the DAG; kept up to date by :meth:`Explored.link`."""
        self.nodes[graph.edge_action[graph.edges(node)]] = graph.children(node)

    @cached_property
    def inner(self) -> BoolArray:
        """Which children are not leaves."""
        if self._are_alike:  # all or none: their states need not be created
            child = self.problem.step(self.parent, self.actions[0])
            return np.full(len(self.actions), len(self.problem.actions(child)) > 0)
        return np.array([len(self.problem.actions(state)) > 0 for state in self.states])


class Explored(Index):
    """The DAG that descents have explored, with the beliefs over g and v of its nodes.

    Graph and scores number nodes in the same way. A change of the belief or of the DAG makes values stale;
    readers call :meth:`current` first.
    """

    def __init__(
        self, problem: Problem | Space, scores: Scores, backup: "Backup", increments: Increments | None = None
    ) -> None:
        self.graph, self.backup = Graph(), backup
        super().__init__(problem, scores, self.graph)
        self._increments = self._given = increments
        self._stale = True
        self._made: dict[int, NodeChildren] = {}  # descents visit the same nodes again and again
        self.root = self.node(self.problem.root())
        self.graph.level[self.root] = 0

    def _about(self, state: State) -> tuple[int, int]:
        return self.space.player(state), len(self.problem.actions(state))

    def is_leaf(self, row: int) -> bool:
        return bool(self.graph.terminal[row])

    @property
    def increments(self) -> Increments:
        """Δ by level: as given, or computed from the problem and the covariance when first needed."""
        if self._increments is None:
            covariance = self.scores.covariance
            self._increments = (
                Increments([], 0.0) if covariance is None else Increments.of(self.space, covariance)
            )
        return self._increments

    def replace_scores(self, scores: Scores) -> None:
        """Use another model of the same nodes; Δ is computed from it unless it was given."""
        super().replace_scores(scores)
        self._increments = self._given

    # Values ------------------------------------------------------------------------------------------

    def outdated(self) -> None:
        self._stale = True

    def learnt(self, episodes: Sequence[Episode]) -> None:
        self.scores.refresh()  # not when values are read, which must not change the run
        self.backup.learn(self, episodes)
        self._stale = True

    def current(self) -> "Explored":
        """The explored DAG with all scores and values up to date."""
        if self._stale:
            self.scores.refresh()
            self.backup.back_up(self)
            self._stale = False
        return self

    def value(self, node: int) -> Gaussian:
        """Belief over a node's v; for a leaf without a known path from the root, over its g."""
        if self.graph.level[node] >= 0:
            return Gaussian(float(self.graph.v_mean[node]), float(self.graph.v_var[node]))
        return self.score(node)

    def belief(self, posterior: Posterior, state: State) -> Belief:
        """Belief over g and v of a state, in units of the reward; outside the DAG v is g + Δ."""
        node = self.current().find(state)
        if node >= 0:
            g, v, visits = self.score(node), self.value(node), int(self.graph.visits[node])
        else:
            g, visits = Gaussian(*map(float, np.concatenate(posterior.predict([state])))), 0
            left = len(self.space.walk(state, shape_rng())[1])
            delta = self.increments.at(max(0, self.increments.depth - left))
            v = Gaussian(g.mean + delta.mean, g.variance + delta.variance)
        return Belief(posterior.in_reward_units(g), posterior.in_reward_units(v), visits)

    # Nodes and edges -----------------------------------------------------------------------------------

    def children(self, node: int) -> NodeChildren:
        """The node's children, whether in the DAG or not."""
        made = self._made.get(node)
        if made is None:
            if (len(self._made) + 1) * self.graph.widest > _MOST_MADE:
                self._made.clear()
            made = self._made[node] = NodeChildren(self.space, self.graph, node)
        return made

    def enter(self, node: int, children: Children, action: int) -> int:
        """The child that an action (by index) leads to, linked to the node."""
        child = self.node(self.problem.step(children.parent, children.actions[action]))
        self.link(node, [child], [action])
        return child

    def link(self, node: int, children: Sequence[int], actions: Sequence[int]) -> None:
        """Add edges. A child without an earlier path starts at the boundary: v = g + Δ, or g at a leaf."""
        graph = self.graph
        fresh = graph.link(node, children, actions)
        if (made := self._made.get(node)) is not None:
            made.nodes[actions] = children
        if not fresh:
            return
        self.scores.refresh(fresh)
        mean, variance = self.scores.moments()
        for child in fresh:
            graph.v_mean[child], graph.v_var[child] = mean[child], variance[child]
            if not graph.terminal[child]:
                delta = self.increments.at(int(graph.level[child]))
                graph.v_mean[child] += delta.mean
                graph.v_var[child] += delta.variance

    def reopen(self, leaves: Sequence[int]) -> None:
        """Allow leaves to be evaluated again. All inner nodes are reopened; descents close them again."""
        super().reopen(leaves)
        graph = self.graph
        graph.closed[: len(graph)][~graph.terminal[: len(graph)]] = False
        self.outdated()

    def leave(self, path: Sequence[int]) -> None:
        self.graph.visits[list(path)] -= 1
        self.outdated()

    def visited(
        self, path: Sequence[int], actions: Sequence[Action], end: tuple[State, Sequence[Action]]
    ) -> Proposal:
        """Count a descent along ``path`` and propose the leaf at its ``end``."""
        visits = self.graph.visits
        for node in path:  # paths are short: faster than indexing by a list
            visits[node] += 1
        return Proposal(end[0], (*actions, *end[1]), tuple(path))
