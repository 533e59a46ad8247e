"""The children that a descent sees at a node, and how the DAG grows."""

from typing import Protocol

from dagsearch._internal.compiled import compiled
from dagsearch._internal.parts import Configured
from dagsearch._internal.typing import BoolArray, FloatArray, IntArray, Pair
from dagsearch.problem import Action
from dagsearch.space import Space
from dagsearch.values.explored import Explored

# Number of children beyond which a node adds them one at a time.
_MANY_CHILDREN = 40


class Options:
    """A node's children from the point of view of the player who decides, one entry per action.

    At MIN's turn values are negated, so that the largest one is best at either turn.
    """

    def __init__(self, explored: Explored, node: int, actions: IntArray, children: IntArray) -> None:
        graph = explored.graph
        self.explored = explored
        """The DAG and the beliefs."""
        self.node = node
        self.made = explored.children(node)
        """The node's children with their states, in the DAG or not, by index of the action."""
        self.actions = actions
        """Index of each option in ``problem.actions(state)``, shape ``(options,)``."""
        self.children = children
        """Node each option leads to, −1 where it is not in the DAG; shape ``(options,)``."""
        self.sign = int(graph.sign[node])
        """+1 where MAX decides, −1 where MIN does."""
        self.visits = int(graph.visits[node]) + 1
        """Number of descents through the node, including the current one."""
        self._moments: Pair | None = None

    @property
    def nodes(self) -> IntArray:
        """Like :attr:`children`, but with nodes that only other parents have reached so far."""
        nodes, states = self.children.copy(), self.made.states
        for option in (nodes < 0).nonzero()[0]:
            nodes[option] = self.explored.find(states[self.actions[option]])
        return nodes

    @property
    def mean(self) -> FloatArray:
        """Mean of each option's v, or of g + Δ for an option outside the DAG; negated at MIN's turn."""
        mean = self._values()[0]
        return mean if self.sign > 0 else -mean

    @property
    def variance(self) -> FloatArray:
        """Variance of each option's v, or of g + Δ for an option outside the DAG."""
        return self._values()[1]

    def _values(self) -> Pair:
        """Means and variances from the point of view of MAX, computed once."""
        if self._moments is None:
            explored, graph, children = self.explored, self.explored.graph, self.children
            if graph.count[self.node] >= children.size:  # all are in the DAG
                self._moments = graph.v_mean[children], graph.v_var[children]
            else:
                self._moments = g = explored.scores.predict_children(self.made, self.node)
                delta = (increments := explored.increments).mean, increments.variance
                known, level = (graph.v_mean, graph.v_var), int(graph.level[self.node]) + 1
                _to_values(g, self.made.inner, children, known, delta, level)
        return self._moments

    @property
    def closed(self) -> BoolArray:
        """Which options have nothing left to evaluate."""
        return self.explored.graph.closed[self.children]

    def action(self, option: int) -> Action:
        """The problem's action of an option."""
        return self.made.actions[int(self.actions[option])]

    def enter(self, option: int) -> tuple[int, bool]:
        """The node that an option leads to, and whether it is new in the DAG."""
        child = int(self.children[option])
        if child >= 0:
            return child, False
        before = len(self.explored.graph)
        child = self.explored.enter(self.node, self.made, int(self.actions[option]))
        return child, child == before


@compiled
def _to_values(g: Pair, inner: BoolArray, children: IntArray, v: Pair, delta: Pair, level: int) -> None:
    """Turn moments of g of children into those of v in the DAG, and of g + Δ outside it, unless at a leaf."""
    (mean, variance), (v_mean, v_var), (delta_mean, delta_var) = g, v, delta
    level = min(level, delta_mean.size - 1)
    for i in range(children.size):
        if children[i] >= 0:
            mean[i], variance[i] = v_mean[children[i]], v_var[children[i]]
        elif inner[i]:
            mean[i] += delta_mean[level]
            variance[i] += delta_var[level]


class Expansion(Protocol):
    """How the DAG grows."""

    def options(self, explored: Explored, node: int) -> Options | None:
        """The options at a node; ``None`` where the descent ends."""

    def expand(self, explored: Explored, node: int) -> object:
        """Grow the DAG at the node where a descent ended."""


class AllChildren(Configured, Expansion):
    """Expanding a node adds all its children at once, as in the paper's Tic-Tac-Toe experiment."""

    def options(self, explored: Explored, node: int) -> Options | None:
        """The children in the DAG; ``None`` at the boundary."""
        graph = explored.graph
        if graph.count[node] == 0:
            return None
        edges = graph.edges(node)
        distinct = graph.edge_child[edges] >= 0
        return Options(explored, node, graph.edge_action[edges][distinct], graph.edge_child[edges][distinct])

    def expand(self, explored: Explored, node: int) -> None:
        """Add all children."""
        if explored.graph.terminal[node] or explored.graph.count[node] > 0:
            return
        children = explored.nodes(explored.children(node).states)
        explored.link(node, children, range(len(children)))


class OneChild(Configured, Expansion):
    """Children enter the DAG one at a time, for problems with many children per node.

    The descent compares all children, those outside the DAG by g + Δ, and adds the one it picks. In the
    back-up, one summary variable represents the missing children.
    """

    def options(self, explored: Explored, node: int) -> Options | None:
        """All children, in the DAG or not; ``None`` at a leaf."""
        if explored.graph.terminal[node]:
            return None
        made = explored.children(node)
        return Options(explored, node, made.numbers, made.nodes)

    def expand(self, explored: Explored, node: int) -> object:
        """Do nothing: the descent has added the child that it picked."""


class ChildAndLeaves(OneChild):
    """Like :class:`OneChild`, but leaves enter the DAG at once; for problems whose rewards are free.

    In a game, immediate wins are then known before they are tried.
    """

    looks_ahead = True
    """Whether the root is expanded before the first descent."""

    def expand(self, explored: Explored, node: int) -> bool:
        """Add the children that are leaves first; returns whether there were any."""
        graph, problem = explored.graph, explored.problem
        if graph.terminal[node] or graph.count[node] > 0:
            return False
        for number, child in enumerate(explored.children(node).states):
            if len(problem.actions(child)) == 0:
                explored.link(node, [explored.node(child)], [number])
        return bool(graph.count[node] > 0)


def default_expansion(space: Space) -> Expansion:
    """One child at a time if nodes have many children, else all at once."""
    many = max((round(level.branching) for level in space.levels), default=1) > _MANY_CHILDREN
    return OneChild() if many else AllChildren()
