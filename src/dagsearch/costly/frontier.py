"""Chooses the costly step to take next."""

import math

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.costly.edges import BACK, FAILED, KNOWN, NEW, UNTAKEN, Edges
from dagsearch.costly.model import StepModel
from dagsearch.costly.paths import Paths

# Number of steps without an improvement after which a part of the search has dried up: of the first part, of
# later ones, for each step that it took to its best, and at most.
_FIRST, _LATER, _SHARE, _MOST = 25.0, 12.0, 0.2, 100.0
# Probability that a new part begins on the best path; the next best has the same share of the rest.
_BEST = 0.8
# Paths count as ending with fewer dried-up parts than this for each state without actions.
_ENDING = 10
# Number of actions at the root up to which a search begins with a sweep: with more, a sweep costs much more
# than a path that shows where paths end.
_FEW = 12
# Smallest expected improvement on the best state at its depth for which a step of a sweep is tried, over the
# usual size of effects.
_LEAST = 0.05
# Numbers of states at each depth from which later sweeps go on; with few actions, only the first of them.
_WIDTHS = (1, 2, 4, 8, 16, 32)


class Part:
    """A part of the search: the states that were reached after one new step."""

    def __init__(self) -> None:
        self.tries, self.improved = 0, 0
        """Number of steps from states with a value, and this number at its last improvement."""
        self.best, self.node = -math.inf, 0
        """Earnings of its best path, and the node where that ends."""


class Frontier:
    """Chooses the step with the largest expected improvement per cost.

    A new part replaces one that has dried up, and grows faster, since the actions are known by then. Only
    steps from states with a value count: others cannot improve before their path ends. ``docs/costly.md`` has
    the rules.
    """

    def __init__(self, edges: Edges, model: StepModel) -> None:
        self._edges, self._model = edges, model
        self._parts, self._active = [Part()], 0
        self._of_node = np.zeros(64, dtype=np.int64)
        self._ends, self._dried = 0, 0
        self._sweeping = 0
        """Node of the first sweep's last step."""
        self._tried, self._best = np.zeros((2, 2)), -math.inf
        """Number of steps of sweeps and of paths, and of those that have improved on the best."""
        self._paths = Paths(edges)
        self._under_way: list[tuple[int, tuple[int, ...]]] = []
        """Unfinished paths: the last node of each, and the planned actions."""

    def choose(self, rng: np.random.Generator, beginning: bool) -> tuple[int, bool, tuple[int, ...] | None]:
        """An open edge, whether it begins a part, and the action numbers planned after it.

        The plan is ``None`` if the edge is not a step of a path. There must be an open edge; nothing changes.
        ``beginning`` says whether a pending step begins a part.
        """
        if self._by_paths and (found := self._step_of_path(rng)) is not None:
            return found[0], False, found[1]
        is_dry = self._is_dry and not beginning and not self._paths_end
        if is_dry and (edge := self._beginning(rng)) is not None:
            return edge, True, None
        openly, goals = np.flatnonzero(self._edges.open), self._goals()
        openly = openly[goals[self._edges.node[openly]] < np.inf]
        rated = self._model.improvements(openly, goals[self._edges.node[openly]])
        best = openly[rated == rated.max()]
        depth = self._edges.depth[self._edges.node[best]]
        return int(rng.choice(best[depth == depth.max()])), False, None

    def _open_at(self, node: int) -> IntArray:
        own = np.array(self._edges.leaving[node], dtype=np.int64)
        return np.asarray(own[self._edges.became[own] == UNTAKEN])

    # Where paths end ---------------------------------------------------------------------------------------

    @property
    def _paths_end(self) -> bool:
        """Whether paths end rather than dry up, or have no value before their end."""
        return _ENDING * self._ends > self._dried or self._edges.best == -math.inf

    @property
    def _is_dry(self) -> bool:
        """Whether improvements of the active part have dried up."""
        part, patience = self._parts[self._active], _LATER if self._active else _FIRST
        return part.tries - part.improved > min(patience + _SHARE * part.improved, _MOST)

    @property
    def _few(self) -> bool:
        """Whether a sweep comes first."""
        return len(self._edges.leaving[0]) <= _FEW

    @property
    def _by_paths(self) -> bool:
        """Whether steps are chosen as if paths end."""
        return (self._few and self._active == 0 and not self._is_dry) or self._paths_end

    def _step_of_path(self, rng: np.random.Generator) -> tuple[int, tuple[int, ...] | None] | None:
        """A step of an unfinished path, else of the sweep, else the start of a path close to a good one."""
        for node, plan in self._under_way:
            edge, place = self._paths.follow(node, plan)
            if edge >= 0 and self._edges.became[edge] == UNTAKEN:
                return edge, plan[place + 1 :]
            if edge < 0 and (openly := self._open_at(-1 - edge)).size:
                return self._likely(openly, rng), ()
        first = self._open_at(0) if self._edges.best == -math.inf else np.zeros(0, dtype=np.int64)
        if (self._few or not first.size) and (edge := self._sweep()) >= 0:
            return edge, None
        return (self._likely(first, rng), ()) if first.size else self._paths.choose(rng)

    def _likely(self, openly: IntArray, rng: np.random.Generator) -> int:
        """The most promising of some steps, for a path without a plan."""
        mean, _ = self._model.believed(openly)
        return int(rng.choice(openly[mean == mean.max()]))

    def _sweep(self) -> int:
        """A step of the narrowest sweep that has one left, or −1.

        The first goes on where it took its last step: with another state above, all below would be lost.
        Later ones begin at the root again.
        """
        edge, (steps, improved) = self._swept([self._sweeping], 1), self._tried
        for width in _WIDTHS[:1] if self._few else _WIDTHS:
            rates = (improved + 1.0) / (steps + 1.0)
            if edge >= 0 or (width > 1 and rates[0] < rates[1]):
                break
            edge = self._swept([0], width)
        return edge

    def _swept(self, level: list[int], width: int) -> int:
        """A step that may lead to one of the best states at its depth, on the way down by these, or −1."""
        edges, standing, least = self._edges, self._edges.standings(), _LEAST * self._model.size
        while level and least > 0.0:  # else siblings look the same
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

    # Learning ----------------------------------------------------------------------------------------

    def asked(self, edge: int, plan: tuple[int, ...] | None) -> None:
        """A step was asked for: suspend the path that it continues."""
        for place, path in enumerate(self._under_way if plan is not None else ()):
            if self._paths.follow(*path)[0] in (edge, -1 - int(self._edges.node[edge])):
                del self._under_way[place]
                return

    def learn(self, edge: int, begins: bool, plan: tuple[int, ...] | None) -> None:
        """A step was taken or has failed; ``begins`` and ``plan`` are those of :meth:`choose`."""
        edges, node = self._edges, int(self._edges.node[edge])
        part, became, child = int(self._of_node[node]), edges.became[edge], int(edges.child[edge])
        self._parts[part].tries += math.isfinite(edges.stop[node])
        self._dried += begins
        if self._by_paths:
            self._tried[:, int(plan is not None)] += 1.0, edges.best > self._best
            if plan is None and edges.depth[node] > edges.depth[self._sweeping]:
                self._sweeping = node
        self._best = edges.best
        if became == NEW:
            if begins:
                part = self._active = len(self._parts)
                self._parts.append(Part())
            self._of_node = grown(self._of_node, child + 1)
            self._of_node[child] = part
            total, own = float(edges.reach[child] + edges.stop[child]), self._parts[part]
            if total > own.best:
                own.best, own.node, own.improved = total, child, own.tries
            if not edges.leaving[child]:
                self._ends += 1
                self._paths.add(child)
        if plan is not None and became != FAILED:
            self._under_way.append((node if became == BACK else child, plan))
        self._under_way = [path for path in self._under_way if self._goes_on(*path)]

    def _goes_on(self, node: int, plan: tuple[int, ...]) -> bool:
        """Whether a path can continue; if not, it has ended."""
        edge, _ = self._paths.follow(node, plan)
        if edge >= 0 or self._open_at(-1 - edge).size:
            return True
        if edge < -1:
            self._paths.add(-1 - edge)
        return False

    # Where paths do not end --------------------------------------------------------------------------------

    def _goals(self) -> FloatArray:
        """The total that a step from each node should improve on, ∞ for nodes to leave out.

        Later parts continue from their best states only: the effects of actions are known by then. If no step
        is left there, the search continues anywhere.
        """
        edges, nodes, best = self._edges, self._edges.nodes, self._parts[self._active].best
        totals = edges.reach[:nodes] + edges.stop[:nodes]
        top = (self._of_node[:nodes] == self._active) & (totals >= best)
        if self._active == 0 or not top[edges.node[: edges.count][edges.open]].any():
            return np.full(nodes, edges.best)
        return np.where(top, best, np.inf)

    def _beginning(self, rng: np.random.Generator) -> int | None:
        """An open step at a random place of a good path; promising ones are more likely."""
        edges = self._edges
        ranked = sorted(self._parts, key=lambda part: -part.best)
        node = ranked[min(int(rng.geometric(_BEST)) - 1, len(ranked) - 1)].node
        path = [*edges.node[edges.path_to(node)].tolist(), node]
        openly = [own for one in path if (own := self._open_at(one)).size]
        if not openly:
            return None
        found = openly[rng.integers(len(openly))]
        rated = np.exp(self._model.improvements(found, edges.standings()[edges.node[found]]))
        return int(rng.choice(found, p=rated / rated.sum()))
