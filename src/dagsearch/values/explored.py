"""The explored DAG with the beliefs over its nodes."""

from collections.abc import Sequence
from typing import Any, Protocol

from dagsearch._internal.deadline import Deadline
from dagsearch.errors import ProblemError
from dagsearch.posterior import Scores
from dagsearch.problem import Action, Children, Problem, State
from dagsearch.results import Proposal
from dagsearch.space import Space
from dagsearch.space.walks import passed
from dagsearch.values.gaussians import Gaussian
from dagsearch.values.graph import Graph
from dagsearch.values.increments import Increments


class DagListener(Protocol):
    """Receives the changes of the explored DAG."""

    def dag_changed(self, kind: str, *details: Any) -> None:
        """Nodes have been linked, closed or reopened, according to ``kind``."""


class _NoListener:
    def dag_changed(self, kind: str, *details: Any) -> None:
        """Do nothing."""


class Explored:
    """The graph and the beliefs over its nodes; graph and scores number nodes in the same way."""

    def __init__(
        self, problem: Problem | Space, scores: Scores, increments: Increments | None = None
    ) -> None:
        self.space = Space.of(problem)
        self.scores = scores
        self._increments = self._given = increments
        self.graph = Graph()
        self.listener: DagListener = _NoListener()
        """Receives every change of the DAG."""
        self.deadline = Deadline()
        """When the current run must end."""
        self.reopenings = 0
        """Number of times that leaves were reopened."""
        self.key = self.space.key
        """What identifies a state."""
        self.has_lazy_children = self.space.added_items is not None or getattr(
            scores.covariance, "rates_children", False
        )
        """Whether children can be rated without making their states. Either all children of a state are then
        leaves, or none is, or Δ is 0 everywhere."""
        self.root = self.node(self.problem.root())
        self.graph.set_root(self.root)

    @property
    def problem(self) -> Problem:
        """The problem."""
        return self.space.problem

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
        self.scores, self._increments = scores, self._given

    def find(self, state: State) -> int:
        """The state's node, or −1."""
        return self.graph.find(self.key(state))

    def same(self, one: State, other: State) -> bool:
        """Whether two states are one node."""
        return self.space.same(one, other)

    def is_closed(self, state: State) -> bool:
        """Whether the state is known to have no leaf left to evaluate, neither itself nor below it."""
        node = self.graph.find(self.key(state))
        return node >= 0 and bool(self.graph.closed[node])

    def node(self, state: State) -> int:
        """The state's node, made if it does not exist."""
        key = self.key(state)
        node = self.graph.find(key)
        if node < 0:
            sign, branching = self.space.player(state), len(self.problem.actions(state))
            self.scores.track([state])
            node = self.graph.add(key, state, sign, branching)
        return node

    def nodes(self, states: Sequence[State]) -> list[int]:
        """The states' nodes, made where they do not exist."""
        keys = [self.key(state) for state in states]
        fresh = {
            key: (state, self.space.player(state), len(self.problem.actions(state)))
            for key, state in zip(keys, states, strict=True)
            if self.graph.find(key) < 0
        }
        # The user's problem and covariance may fail, so they are called before the graph grows.
        if fresh:
            self.scores.track([state for state, _, _ in fresh.values()])
            for key, (state, sign, branching) in fresh.items():
                self.graph.add(key, state, sign, branching)
        return [self.graph.find(key) for key in keys]

    def leaf(self, state: State) -> int:
        """The node of a leaf, made if it does not exist; raises if the state is not a leaf."""
        node = self.find(state)
        if node < 0:
            if self.space.validate is not None:
                self.space.validate(state)
            node = self.node(state) if len(self.problem.actions(state)) == 0 else -1
        if node < 0 or not self.graph.terminal[node]:
            raise ProblemError(
                f"{state!r} is not a leaf: the problem has actions there. Only a complete sequence of "
                "decisions has a reward"
            )
        return node

    def value(self, node: int) -> Gaussian:
        """Belief over a node's v; for a leaf that was told without a path from the root, over its g."""
        if self.graph.level[node] >= 0:
            return Gaussian(float(self.graph.v_mean[node]), float(self.graph.v_var[node]))
        return self.score(node)

    def score(self, node: int) -> Gaussian:
        """Belief over a node's g."""
        self.scores.refresh([node])
        mean, variance = self.scores.moments()
        return Gaussian(float(mean[node]), float(variance[node]))

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
        self.changed("link", node, actions)
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

    def close(self, node: int) -> None:
        """Mark a node below which no leaf is left to evaluate."""
        self.changed("close", node)
        self.graph.closed[node] = True

    def reopen(self, leaves: Sequence[int]) -> None:
        """Let leaves be evaluated again. All inner nodes are reopened; descents close them again."""
        self.changed("reopen", list(leaves))
        graph, self.reopenings = self.graph, self.reopenings + 1
        graph.closed[leaves] = False
        graph.closed[: len(graph)][~graph.terminal[: len(graph)]] = False

    def changed(self, kind: str, *details: Any) -> None:
        """Tell the listener about a change."""
        self.listener.dag_changed(kind, *details)

    def visited(
        self, path: Sequence[int], actions: Sequence[Action], end: tuple[State, Sequence[Action]]
    ) -> Proposal:
        """Count a descent along ``path`` and propose the leaf at its ``end``."""
        visits = self.graph.visits
        for node in path:  # paths are short: faster than indexing by a list
            visits[node] += 1
        return Proposal(end[0], (*actions, *end[1]), tuple(path))

    def describes(self, proposal: Proposal) -> bool:
        """Whether the proposal's actions lead from the root to its leaf, and its path is the way there."""
        try:
            states = passed(self.problem, proposal.actions)
        except ValueError:
            return False
        path = [self.find(state) for state in states[: len(proposal.path)]]
        return list(proposal.path) == path and self.same(states[-1], proposal.leaf)

    def repeat(self, change: Sequence[Any]) -> None:
        """Repeat a change that a listener received in another run."""
        kind, what = change[0], change[1]
        if kind == "link":
            family, actions = self.children(what), change[2]
            made = [self.problem.step(family.parent, family.actions[action]) for action in actions]
            self.link(what, self.nodes(made), actions)
        elif kind == "close":
            self.close(what)
        else:
            self.reopen(what)
