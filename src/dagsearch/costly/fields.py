r"""A function of state and action, learnt from its values at some edges.

    k((s, a), (s', a')) = c (1 + k_S(s, s')) + δ(a, a') (1 + k_S(s, s')) + private,

where k_S counts the steps that the first known paths to s and s' share; see ``docs/costly.md``. The posterior
is stored by edge, so that actions of a single state take no more room.

On the tree of first paths, a child's value is its parent's plus an independent step. So the posterior follows
by message passing, in time linear in the number of nodes:

==================  =====================  =======================================================
symbol              code                   meaning
==================  =====================  =======================================================
τ_i, h_i            up_precision, _info    likelihood of all observations below node i, as a function
                                           of its value: precision and precision times mean
τ/(1+τξ), h/(1+τξ)  —                      the same, seen from the parent, a step of variance ξ away
m_i, V_i            mean, variance         marginal of node i's value given all observations
==================  =====================  =======================================================

Down again: given the parent's value and the observations below the child, the child's value has mean
(parent + ξh)/(1 + ξτ) and variance ξ/(1 + ξτ), whatever the other observations are.
"""

from collections.abc import Sequence

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.costly.edges import Edges

# Shares of the variance: of the part that all actions share; then, of the variance that action means do not
# explain, of the walk per step and of the private part. The common walk is slower.
_COMMON, _WALK, _PRIVATE, _SLOWER = 0.05, 0.1, 0.5, 0.2
# Number of pseudo-observations of usual size for each action.
_TYPICAL = 3.0
# Smallest and largest share of the variance between actions.
_LEAST, _MOST = 0.1, 0.9
# Keeps variances positive.
_TINY = 1e-12


@compiled
def pass_messages(
    parent: IntArray,
    precision: FloatArray,
    info: FloatArray,
    root_mean: float,
    root_var: float,
    step: float,
    mean: FloatArray,
    variance: FloatArray,
) -> None:
    """Marginals of all nodes; parents come before their children."""
    nodes = parent.size
    up_precision, up_info = precision[:nodes].copy(), info[:nodes].copy()
    for node in range(nodes - 1, 0, -1):
        lost = 1.0 + step * up_precision[node]
        up_precision[parent[node]] += up_precision[node] / lost
        up_info[parent[node]] += up_info[node] / lost
    lost = 1.0 + root_var * up_precision[0]
    variance[0] = root_var / lost
    mean[0] = (root_mean + root_var * up_info[0]) / lost
    for node in range(1, nodes):
        lost = 1.0 + step * up_precision[node]
        mean[node] = (mean[parent[node]] + step * up_info[node]) / lost
        variance[node] = step / lost + variance[parent[node]] / (lost * lost)


class Field:
    """A function of state and action: one common walk, and one for each kind of edge."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges
        self.mean, self.common, self.root, self.walk, self.private = 0.0, 0.5, 0.5, 0.05, 0.5
        self._group = np.zeros(2)  # how first and repeated actions differ from the mean
        self._square = 1.0  # mean square of all values
        self._shared, self._own = np.zeros((2, 64)), np.zeros((2, 64))  # moments by node; added by edge
        self._noise = np.zeros(64)  # variance of the private part of every kind
        self._value, self._seen = np.zeros(64), np.zeros(64, dtype=np.bool_)  # by edge
        self._described = 0  # number of edges with a belief
        self.update()

    def add(self, edges: IntArray, values: FloatArray) -> None:
        """Add values; beliefs are stale until the next :meth:`update`."""
        self._value, self._seen = grown(self._value, self._edges.count), grown(self._seen, self._edges.count)
        self._value[edges], self._seen[edges] = values, True

    def fit(self) -> None:
        """Learn the variances from all values, and compute the beliefs."""
        seen = np.flatnonzero(self._seen)
        if seen.size:
            values, kind = self._value[seen], self._edges.kind[seen]
            self.mean, total = float(values.mean()), float(values.var()) + _TINY
            count, sums = np.bincount(kind), np.bincount(kind, values)
            known = np.flatnonzero(count)
            means, weights = sums[known] / count[known] - self.mean, count[known] / seen.size
            for repeated in (0, 1):
                own = means[known % 2 == repeated]
                self._group[repeated] = own.sum() / (own.size + 1.0)
            self.root = min(max(float(weights @ means**2), _LEAST * total), _MOST * total)
            rest = total - _MOST * self.root
            self.common, self.walk = _COMMON * total, _WALK * rest
            self.private = _PRIVATE * rest + 1e-6 * total
            self._square = float(np.mean(values**2)) + _TINY
        self.update(np.arange(self._edges.kinds))

    def update(self, kinds: Sequence[int] | IntArray = ()) -> None:
        """Update the beliefs over the common walk, over some kinds, and over those of new edges."""
        edges, nodes, count = self._edges, self._edges.nodes, self._edges.count
        kinds = np.union1d(edges.kind[self._described : count], kinds).astype(np.int64)
        self._described = count
        self._shared, self._own = grown(self._shared, 2, nodes), grown(self._own, 2, count)
        self._noise, actions = grown(self._noise, edges.kinds), edges.kinds // 2
        seen = np.flatnonzero(self._seen)
        node, action, values = edges.node[seen], edges.kind[seen] // 2, self._value[seen]
        noise, walk = self.private + self.root, _SLOWER * self.walk
        precision = np.bincount(node, minlength=nodes) / noise
        info = np.bincount(node, values, minlength=nodes) / noise
        tree = edges.parent[:nodes], edges.depth[:nodes]
        pass_messages(tree[0], precision, info, self.mean, self.common, walk, *self._shared)
        times = np.bincount(action, minlength=actions)[kinds // 2]
        squares = np.bincount(action, values**2, minlength=actions)[kinds // 2]
        activity = np.minimum((_TYPICAL + squares / self._square) / (_TYPICAL + times), 1.0)
        self._noise[kinds] = activity * self.private
        own = np.flatnonzero(np.isin(edges.kind[:count], kinds))
        own = own[np.argsort(edges.kind[own], kind="stable")]
        ends = np.searchsorted(edges.kind[own], kinds, side="right")
        _pass_kinds(  # type: ignore[no-untyped-call]
            (self._noise[kinds], activity * self.walk, self._group[kinds % 2], self.root),
            (own, ends, edges.node),
            tree,
            (grown(self._seen, count), grown(self._value, count), self._shared[0]),
            self._own,
        )

    def at(self, edge: "slice | IntArray") -> tuple[FloatArray, FloatArray]:
        """Mean and variance at edges."""
        mean, variance = self._shared[:, self._edges.node[edge]] + self._own[:, edge]
        return mean, variance + self._noise[self._edges.kind[edge]]


@compiled
def _pass_kinds(kinds, edges, tree, values, found):  # type: ignore[no-untyped-def]
    """Write to ``found`` how the edges of each kind differ from the common walk."""
    noises, walks, groups, root = kinds
    own, ends, node_of = edges
    parent, depth = tree
    seen, value, shared = values
    precision, info = np.zeros(parent.size), np.zeros(parent.size)
    mean, variance = np.zeros(parent.size), np.zeros(parent.size)
    begin = 0
    for place in range(ends.size):
        mine, begin = own[begin : ends[place]], ends[place]
        noise, walk, group = noises[place], walks[place], groups[place]
        if seen[mine].any():
            precision[:] = 0.0
            info[:] = 0.0
            for edge in mine[seen[mine]]:  # an iterator's edges may have several values at a node
                precision[node_of[edge]] += 1.0 / noise
                info[node_of[edge]] += (value[edge] - shared[node_of[edge]]) / noise
            pass_messages(parent, precision, info, group, root, walk, mean, variance)
            for edge in mine:
                found[0, edge], found[1, edge] = mean[node_of[edge]], variance[node_of[edge]]
        else:
            for edge in mine:
                found[0, edge], found[1, edge] = group, root + walk * depth[node_of[edge]]
