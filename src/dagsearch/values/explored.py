"""The explored DAG with the beliefs over its nodes."""

from collections.abc import Sequence

from dagsearch.posterior.base import Scores
from dagsearch.posterior.index import Index
from dagsearch.problem import Action, Children, Problem, State
from dagsearch.results import Gaussian, Proposal
from dagsearch.space import Space
from dagsearch.values.graph import Graph
from dagsearch.values.increments import Increments


class Explored(Index):
    """The graph and the beliefs over its nodes; graph and scores number nodes in the same way."""

    def __init__(
        self, problem: Problem | Space, scores: Scores, increments: Increments | None = None
    ) -> None:
        self.graph = Graph()
        super().__init__(problem, scores, self.graph)
        self._increments = self._given = increments
        self.has_lazy_children = self.space.added_items is not None
        """Whether children can be rated without making their states. Either all children of a state are then
        leaves, or none is."""
        self.root = self.node(self.problem.root())
        self.graph.set_root(self.root)

    def _about(self, state: State) -> tuple[int, int]:
        return self.space.player(state), len(self.problem.actions(state))

    def is_leaf(self, row: int) -> bool:
        return bool(self.graph.terminal[row])

    @property
    def increments(self) -> Increments:
        """Δ by level: as given, else computed from the problem and the covariance when first needed."""
        if self._increments is None:
            covariance = self.scores.covariance
            self._increments = (
                Increments([], 0.0) if covariance is None else Increments.of(self.space, covariance)
            )
        return self._increments

    def replace_scores(self, scores: Scores) -> None:
        """Use another model of the same nodes; Δ follows it, unless it was given."""
        super().replace_scores(scores)
        self._increments = self._given

    def value(self, node: int) -> Gaussian:
        """Belief over a node's v; for a leaf that was told without a path from the root, over its g."""
        if self.graph.level[node] >= 0:
            return Gaussian(float(self.graph.v_mean[node]), float(self.graph.v_var[node]))
        return self.score(node)

    def children(self, node: int) -> Children:
        """The node's children, in the DAG or not."""
        state = self.graph.states[node]
        return Children(self.problem, state, self.problem.actions(state))

    def enter(self, node: int, children: Children, action: int) -> int:
        """The child that an action (by index) leads to, linked to the node."""
        state = self.problem.step(children.parent, children.actions[action])
        child = self.node(state)
        self.link(node, [child], [action])
        return child

    def link(self, node: int, children: Sequence[int], actions: Sequence[int]) -> None:
        """Add edges. A child that had no path to it starts at the boundary: v = g + Δ, or g at a leaf."""
        graph = self.graph
        fresh = graph.link(node, children, actions)
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

    def complete(self) -> bool:
        """Add all states to the DAG, each with all its children; returns whether any was missing."""
        graph, known, waiting, added = self.graph, {self.root}, [self.root], False
        while waiting:
            node = waiting.pop()
            linked = set(graph.edge_action[graph.edges(node)].tolist())
            made = self.children(node)
            missing = [action for action in range(len(made.actions)) if action not in linked]
            if missing:
                added = True
                states = [self.problem.step(made.parent, made.actions[action]) for action in missing]
                self.link(node, self.nodes(states), missing)
            fresh = set(graph.children(node).tolist()) - known
            known |= fresh
            waiting.extend(sorted(fresh))
        return added

    def reopen(self, leaves: Sequence[int]) -> None:
        """Let leaves be evaluated again. All inner nodes are reopened; descents close them again."""
        super().reopen(leaves)
        graph = self.graph
        graph.closed[: len(graph)][~graph.terminal[: len(graph)]] = False

    def visited(
        self, path: Sequence[int], actions: Sequence[Action], end: tuple[State, Sequence[Action]]
    ) -> Proposal:
        """Count a descent along ``path`` and propose the leaf at its ``end``."""
        visits = self.graph.visits
        for node in path:  # paths are short: faster than indexing by a list
            visits[node] += 1
        return Proposal(end[0], (*actions, *end[1]), tuple(path))
