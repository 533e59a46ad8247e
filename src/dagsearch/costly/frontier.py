"""Chooses the costly step to take next.

Every step belongs to a sweep or to a path. ``docs/costly.md`` has the rules.
"""

import math
from dataclasses import dataclass

import numpy as np

from dagsearch._internal.typing import BoolArray, IntArray
from dagsearch.costly.edges import BACK, FAILED, KNOWN, NEW, UNTAKEN, Edges
from dagsearch.costly.model import StepModel
from dagsearch.costly.paths import Paths

# Number of actions at the root up to which paths are taken to end before one has.
_FEW = 12
# Number of steps below the best state after which a path is taken to have no end.
_DEEPEST = 25
# Smallest expected improvement on the best state at its depth for which a sweep tries a step, divided by the
# usual effect: with few actions and with many if paths may stop (on the logarithmic scale), else of gains.
_LEAST_OF_FEW, _LEAST, _LEAST_GAIN = 0.05, 0.02, 0.005
# Number of the best states with open steps whose steps are rated where paths do not end.
_BEGINS = 20
# Numbers of states at each depth from which sweeps go on; with few actions, only the first of them. Paths
# have their turn after the second: what a sweep gains shows at its end only.
_WIDTHS = (1, 2, 4, 8, 16, 32)
# Number of steps without an improvement after which a path without an end is given up: the first path, later
# ones, and for each step until the last improvement.
_FIRST, _LATER, _MORE = 25.0, 12.0, 0.2


@dataclass
class Branch:
    """States that a path without an end has led to first."""

    best: float = -math.inf
    """The largest earnings at its states."""
    tries: int = 0
    improved: int = 0
    """Numbers of its steps, and of those until its last improvement."""


class Frontier:
    """Chooses between the next step of a sweep and that of a path."""

    def __init__(self, edges: Edges, model: StepModel) -> None:
        self._edges, self._model, self._paths = edges, model, Paths(edges)
        self._ends = False
        """Whether a state where nothing can be done is known."""
        self._sweeping = 0
        """Node of the first sweep's last step."""
        self._brought, self._steps, self._best = np.zeros((2, 2)), 0, -math.inf
        """Steps of sweeps and of paths since paths end, and their gains, all times the number of the step."""
        self._top = 0
        """Where the best path ends."""
        self._under_way: list[tuple[int, tuple[int, ...], int]] = []
        """Unfinished paths: the last node of each, the planned actions, and the branch."""
        self._branches, self._branch_of, self._pending = [Branch(edges.best)], [0], dict[int, int]()
        """All branches, and the numbers of those of nodes and of pending steps of paths."""

    def choose(self, rng: np.random.Generator) -> tuple[int, tuple[int, ...] | None]:
        """An open edge, of which there must be one. Nothing changes.

        The numbers of the actions that are planned after it come with it, ``None`` if it is not a step of a
        path.
        """
        edges = self._edges
        for node, plan, _ in self._under_way:
            edge, place = self._paths.follow(node, plan)
            if edge >= 0 and edges.became[edge] == UNTAKEN:
                return edge, plan[place + 1 :]
            if edge < 0 and (openly := self._open_at(-1 - edge)).size:
                return self._likely(openly, rng), ()
        first = self._open_at(0) if edges.best == -math.inf else np.zeros(0, dtype=np.int64)
        if (not first.size or self._has_few()) and (edge := self._sweep(rng)) >= 0:
            return edge, None
        if first.size:
            return self._likely(first, rng), ()
        anywhere = np.ones(edges.nodes, dtype=np.bool_)
        return self._paths.choose(rng) or (self._best_first(rng, anywhere, edges.best), None)

    def _has_few(self) -> bool:
        """Whether there are few actions at the root, so that a sweep is cheap."""
        return len(self._edges.leaving[0]) <= _FEW

    def _open_at(self, node: int) -> IntArray:
        own = np.array(self._edges.leaving[node], dtype=np.int64)
        return np.asarray(own[self._edges.became[own] == UNTAKEN])

    def _likely(self, openly: IntArray, rng: np.random.Generator) -> int:
        """The most promising of some steps, for a path without a plan."""
        mean, _ = self._model.believed(openly)
        return int(rng.choice(openly[mean == mean.max()]))

    # Sweeps ------------------------------------------------------------------------------------------------

    def _sweep(self, rng: np.random.Generator) -> int:
        """The next step of a sweep or of the present branch, or −1 if a new path is to begin.

        The first sweep goes on where it took its last step: with another state above, all below would be
        lost. Later ones begin at the root again.
        """
        few, (steps, gains) = self._has_few(), self._brought
        if not self._ends and not (few and self._may_end(self._sweeping)):
            return self._grown(rng)
        # All gains, as if by all steps, count for both, so that neither ends.
        rates = (gains + gains.sum() + 1e-300) / (steps + steps.sum() + 1e-300)
        ahead = steps[0] * rates[1] <= steps[1] * rates[0]
        edge = self._swept([self._sweeping], 1)
        for width in _WIDTHS[:1] if few else _WIDTHS if ahead else _WIDTHS[:2]:
            if edge < 0:
                edge = self._swept([0], width)
        return edge

    def _swept(self, level: list[int], width: int) -> int:
        """A step that may lead to one of the best states at its depth, on the way down by these, or −1."""
        edges, standing = self._edges, self._edges.standings()
        least = _LEAST_OF_FEW if self._has_few() else _LEAST
        least = self._model.size * (least if math.isfinite(edges.stop[0]) else _LEAST_GAIN)
        while level and least > 0.0 and self._may_end(level[0]):  # else siblings look the same
            own = np.array([edge for node in level for edge in edges.leaving[node]], dtype=np.int64)
            states = np.unique(edges.child[own[edges.became[own] >= KNOWN]])
            openly = own[edges.became[own] == UNTAKEN]
            if not states.size:
                return int(openly[np.argmax(self._model.believed(openly)[0])]) if openly.size else -1
            states = states[np.argsort(-standing[states], kind="stable")[:width]]
            openly = openly[edges.kind[openly] // 2 != edges.another]  # it names any number of siblings
            if openly.size:
                ahead = self._model.outlook(openly, standing[states[-1]] - standing[edges.node[openly]])
                if ahead.max() > least:
                    return int(openly[np.argmax(ahead)])
            level = states.tolist()
        return -1

    def _grown(self, rng: np.random.Generator) -> int:
        """The next step from the best states of the present branch, or −1 if it is given up."""
        branch, edges, later = self._branches[-1], self._edges, len(self._branches) > 1
        if branch.tries - branch.improved > (_LATER if later else _FIRST) + _MORE * branch.improved:
            return -1
        own = np.array(self._branch_of) == len(self._branches) - 1
        best = own & (edges.standings() >= branch.best)
        edge = self._best_first(rng, best, branch.best) if later else -1
        return edge if edge >= 0 else self._best_first(rng, own, branch.best)

    def _best_first(self, rng: np.random.Generator, begins: BoolArray, goal: float) -> int:
        """The step from some states with the largest expected improvement per cost; the deepest of equals."""
        edges, standing = self._edges, self._edges.standings()
        openly = np.flatnonzero(edges.open & begins[edges.node[: edges.count]])
        nodes = np.unique(edges.node[openly])
        nodes = nodes[np.argsort(-standing[nodes], kind="stable")[:_BEGINS]]
        openly = openly[np.isin(edges.node[openly], nodes)]
        if not openly.size:
            return -1
        rated = self._model.improvements(openly, goal)
        best = openly[rated == rated.max()]
        depth = edges.depth[edges.node[best]]
        return int(rng.choice(best[depth == depth.max()]))

    def _may_end(self, node: int) -> bool:
        """Whether a path is not yet far below the best state."""
        return bool(self._edges.depth[node] <= self._edges.depth[self._top] + _DEEPEST)

    # Learning ----------------------------------------------------------------------------------------------

    def asked(self, edge: int, plan: tuple[int, ...] | None) -> None:
        """A step was asked for: suspend the path that it continues, or begin one."""
        node = int(self._edges.node[edge])
        if plan is None:
            return
        for place, (last, planned, branch) in enumerate(self._under_way):
            if self._paths.follow(last, planned)[0] in (edge, -1 - node):
                del self._under_way[place]
                self._pending[edge] = branch
                return
        self._branches.append(Branch())
        self._pending[edge] = len(self._branches) - 1

    def learn(self, edge: int, plan: tuple[int, ...] | None) -> None:
        """A step was taken or has failed; ``plan`` is what was planned after it."""
        edges, node = self._edges, int(self._edges.node[edge])
        became, child = edges.became[edge], int(edges.child[edge])
        number = self._pending.pop(edge, self._branch_of[node])
        branch = self._branches[number]
        branch.tries += 1
        if became == NEW:
            self._branch_of.append(number)
            if (total := float(edges.reach[child] + edges.stop[child])) > branch.best:
                branch.best, branch.improved = total, branch.tries
                if not self._ends:
                    self._paths.add(child, number)
        if self._ends:
            self._steps += 1
            gain = edges.best - self._best if self._best > -math.inf else 0.0
            self._brought[:, int(plan is not None)] += self._steps, self._steps * gain
        if edges.best > self._best:
            self._best = edges.best
            self._top = int(np.argmax(edges.reach[: edges.nodes] + edges.stop[: edges.nodes]))
        if plan is None and edges.depth[node] > edges.depth[self._sweeping]:
            self._sweeping = node
        if became == NEW and not edges.leaving[child]:
            if not self._ends:
                self._paths, self._ends = Paths(edges), True  # those before had no end
            self._paths.add(child)
        if plan is not None and became != FAILED:
            self._under_way.append((node if became == BACK else child, plan, number))
        self._under_way = [path for path in self._under_way if self._goes_on(*path[:2])]

    def _goes_on(self, node: int, plan: tuple[int, ...]) -> bool:
        """Whether a path can continue; if not, it has ended."""
        edge, _ = self._paths.follow(node, plan)
        if edge >= 0:
            return True
        unknown = self._edges.best == -math.inf
        if self._open_at(-1 - edge).size and (unknown or (self._ends and self._may_end(-1 - edge))):
            return True
        if edge < -1:
            self._paths.add(-1 - edge)
        return False
