"""Chooses the costly step to take next."""

import math

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray
from dagsearch.costly.edges import NEW, Edges
from dagsearch.costly.model import RARE, StepModel

# Number of steps without an improvement after which a part of the search has dried up: of the first part, of
# later ones, for each step that it took to its best, and at most.
_FIRST, _LATER, _SHARE, _MOST = 25.0, 12.0, 0.2, 100.0
# Probability that a new part begins on the best path of all; the next best has the same share of the rest.
_BEST = 0.8


class Part:
    """A part of the search: the states that were reached after one step away from what was known before."""

    def __init__(self) -> None:
        self.tries, self.improved = 0, 0
        """Number of steps taken where one could have stopped, and how many there were at its last
        improvement."""
        self.best, self.node = -math.inf, 0
        """What its best path earns, and where that ends."""

    def is_dry(self, first: bool) -> bool:
        """Whether improvements have dried up."""
        patience = (_FIRST if first else _LATER) + _SHARE * self.improved
        return self.tries - self.improved > min(patience, _MOST)


class Frontier:
    """Chooses the step with the largest expected improvement per cost.

    Improvements near the best state dry up long before better states are exhausted. A part of the search that
    has dried up is left: a step that was not taken on the best path begins a new part, and steps from its
    best states are then chosen to improve on them. What was learnt of the actions makes it grow much faster
    than the first. Only steps where one could have stopped count: others show no improvement before their
    path ends.
    """

    def __init__(self, edges: Edges, model: StepModel) -> None:
        self._edges, self._model = edges, model
        self._parts = [Part()]
        self._active = 0
        self._of_node = np.zeros(64, dtype=np.int64)

    def choose(self, rng: np.random.Generator, beginning: bool) -> tuple[int, bool]:
        """An open edge, of which there must be one, and whether it begins a new part. Nothing changes.

        ``beginning`` says whether a step is on its way that begins one.
        """
        is_dry = not beginning and self._parts[self._active].is_dry(self._active == 0)
        if is_dry and (edge := self._beginning(rng)) is not None:
            return edge, True
        rated = self._model.improvements(self.goals())
        best = np.flatnonzero(rated == rated.max())
        depth = self._edges.depth[self._edges.node[best]]
        return int(rng.choice(best[depth == depth.max()])), False

    def learn(self, edge: int, begins: bool) -> None:
        """A step was taken or has failed; ``begins`` says whether it was chosen to begin a new part."""
        edges, node = self._edges, int(self._edges.node[edge])
        part = int(self._of_node[node])
        self._parts[part].tries += math.isfinite(edges.stop[node])
        if edges.became[edge] != NEW:
            return
        child = int(edges.child[edge])
        self._of_node = grown(self._of_node, child + 1)
        if begins:
            part = self._active = len(self._parts)
            self._parts.append(Part())
        self._of_node[child] = part
        total, own = float(edges.reach[child] + edges.stop[child]), self._parts[part]
        if total > own.best:
            own.best, own.node, own.improved = total, child, own.tries

    def goals(self) -> FloatArray:
        """What a step from each node is to improve on: the best of the active part, nothing elsewhere.

        Later parts go on from their best states only: what the actions do is known by then, and the first
        part has tried them in other states.
        """
        edges, nodes = self._edges, self._edges.nodes
        active = self._of_node[:nodes] == self._active
        is_open = np.zeros(nodes, dtype=np.bool_)
        is_open[edges.node[: edges.count][edges.open]] = True
        if self._active == 0 or not (active & is_open).any():  # the search goes on anywhere
            return np.full(nodes, edges.best)
        best = self._parts[self._active].best
        top = active & (edges.totals() >= best)
        return np.where(top if (top & is_open).any() else active, best, np.inf)

    def _beginning(self, rng: np.random.Generator) -> int | None:
        """A step that was not taken on a good path and probably changes something, at a random place."""
        edges = self._edges
        ranked = sorted(self._parts, key=lambda part: -part.best)
        part = ranked[min(int(rng.geometric(_BEST)) - 1, len(ranked) - 1)]
        on_path = np.zeros(edges.nodes, dtype=np.bool_)
        on_path[[*edges.node[edges.path_to(part.node)], part.node]] = True
        found = np.flatnonzero(edges.open & on_path[edges.node[: edges.count]])
        if found.size == 0:
            return None
        node, weight = edges.node[found], np.clip(self._model.change.at(found)[0], RARE, 1.0)
        weight /= np.bincount(node, weight)[node]
        return int(rng.choice(found, p=weight / weight.sum()))
