"""Chooses the costly step to take next."""

import math
from typing import NamedTuple

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.compiled import compiled
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.costly.edges import BACK, FAILED, KNOWN, NEW, UNTAKEN, Edges
from dagsearch.costly.model import RARE, StepModel, expected_improvement
from dagsearch.costly.paths import Paths

# Number of steps without an improvement after which a part of the search has dried up: of the first part, of
# later ones, for each step that it took to its best, and at most.
_FIRST, _LATER, _SHARE, _MOST = 25.0, 12.0, 0.2, 100.0
# Probability that a new part begins on the best path of all; the next best has the same share of the rest.
_BEST = 0.8
# Number of parts that have dried up, for each state where nothing can be done, with which paths still end.
_ENDING = 10
# Number of actions at the root up to which a search begins with a sweep: with more, a single path that shows
# where paths end costs little beside it.
_FEW = 12
# Sweeps in turn: the number of states at each depth from which one goes on, and the smallest expected
# improvement on them for which a step is tried, over the usual size of effects. The first is for problems
# where one cannot stop on the way: half of a sweep has earned nothing there.
_SWEEPS = ((1, 0.2), (1, 0.05), (2, 0.05), (4, 0.05), (8, 0.05), (16, 0.05), (32, 0.05))


class Choice(NamedTuple):
    """A step, and why it was chosen."""

    edge: int
    """The step."""
    begins: bool = False
    """Whether it begins a new part."""
    plan: tuple[int, ...] | None = None
    """Numbers of the actions that are planned after it; ``None`` if it is not a step of a path."""


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
        self._ends, self._dried = 0, 0
        self._tried, self._best = np.zeros((2, 2)), -math.inf
        """Number of steps of sweeps and of paths, and of those that have improved on the best."""
        self._paths = Paths(edges)
        self._under_way: list[tuple[int, tuple[int, ...]]] = []
        """Paths that go on: the last node of each, and the actions that are planned from there."""

    def choose(self, rng: np.random.Generator, beginning: bool) -> Choice:
        """An open edge, of which there must be one. Nothing changes.

        ``beginning`` says whether a step is on its way that begins a part.
        """
        is_dry = self._parts[self._active].is_dry(self._active == 0)
        few = self._active == 0 and not is_dry and self._edges.leaving(0).size <= _FEW
        if (few or self._paths_end) and (path := self._path(rng)) is not None:
            return path
        is_dry = is_dry and not beginning and not self._paths_end
        if is_dry and (edge := self._beginning(rng)) is not None:
            return Choice(edge, True)
        rated = self._model.improvements(self.goals())
        best = np.flatnonzero(rated == rated.max())
        depth = self._edges.depth[self._edges.node[best]]
        return Choice(int(rng.choice(best[depth == depth.max()])))

    # Where paths end ---------------------------------------------------------------------------------------

    def _path(self, rng: np.random.Generator) -> Choice | None:
        """A step of a path under way, else of a sweep, else one that begins a path close to a good one."""
        for node, plan in self._under_way:
            edge, place = self._paths.follow(node, plan)
            if edge >= 0 and self._edges.became[edge] == UNTAKEN:
                return Choice(edge, plan=plan[place + 1 :])
            if edge < 0 and (begun := self._without_plan(self._open_at(-1 - edge), rng)) is not None:
                return begun
        if self._edges.best == -math.inf and (begun := self._without_plan(self._open_at(0), rng)) is not None:
            return begun
        if (edge := self._sweep()) >= 0:
            return Choice(edge)
        if (found := self._paths.choose(rng)) is not None:
            return Choice(found[0], plan=found[1])
        return None

    def _without_plan(self, openly: IntArray, rng: np.random.Generator) -> Choice | None:
        """The step of some that seems best, with which a path goes on without a plan."""
        if not openly.size:
            return None
        mean, _ = self._model.believed(openly)
        return Choice(int(rng.choice(openly[mean == mean.max()])), plan=())

    @property
    def _paths_end(self) -> bool:
        """Whether paths come to an end, rather than dry up, or have no value before."""
        return _ENDING * self._ends > self._dried or self._edges.best == -math.inf

    def _open_at(self, node: int) -> IntArray:
        own = self._edges.leaving(node)
        return np.asarray(own[self._edges.became[own] == UNTAKEN])

    def _sweep(self) -> int:
        """A step that may lead to one of the best states at its depth, on the way down by these, or −1."""
        edges, model = self._edges, self._model
        count, nodes = edges.count, edges.nodes
        mean, variance = model.believed(slice(count))
        another = (edges.kind[:count] // 2 == edges.another) & (edges.became[:count] == UNTAKEN)
        known = (
            (edges.last, edges.sibling, edges.became, edges.child, another),
            (edges.standings(), np.isfinite(edges.stop[:nodes])),
            (mean, model.inflation * np.sqrt(variance), model.unit),
        )
        steps, improved = self._tried
        rate = (improved + 1) / (steps + 1)
        for width, least in _SWEEPS[int(math.isfinite(edges.stop[0])) :]:
            if width > 1 and rate[0] < rate[1]:
                break
            edge = int(_swept(*known, (width, least * model.effect.size)))  # type: ignore[no-untyped-call]
            if edge >= 0:
                return edge
        return -1

    # Learning ----------------------------------------------------------------------------------------

    def asked(self, edge: int, plan: tuple[int, ...] | None) -> None:
        """A step was asked for: the path that it continues waits until it has been taken."""
        if plan is None:
            return
        for place, path in enumerate(self._under_way):
            if self._paths.follow(*path)[0] in (edge, -1 - int(self._edges.node[edge])):
                del self._under_way[place]
                return

    def learn(self, edge: int, begins: bool, plan: tuple[int, ...] | None) -> None:
        """A step was taken or has failed; it was chosen for this reason."""
        edges, node = self._edges, int(self._edges.node[edge])
        part = int(self._of_node[node])
        self._parts[part].tries += math.isfinite(edges.stop[node])
        if self._paths_end:
            self._tried[:, int(plan is not None)] += 1.0, edges.best > self._best
        self._best = edges.best
        became, child = edges.became[edge], int(edges.child[edge])
        self._dried += begins
        if became == NEW:
            self._of_node = grown(self._of_node, child + 1)
            if begins:
                part = self._active = len(self._parts)
                self._parts.append(Part())
            self._of_node[child] = part
            total, own = float(edges.reach[child] + edges.stop[child]), self._parts[part]
            if total > own.best:
                own.best, own.node, own.improved = total, child, own.tries
            if not edges.leaving(child).size:
                self._ends += 1
                self._paths.add(child)
        if plan is not None and became != FAILED:
            self._under_way.append((node if became == BACK else child, plan))
        self._under_way = [path for path in self._under_way if self._goes_on(*path)]

    def _goes_on(self, node: int, plan: tuple[int, ...]) -> bool:
        """Whether a path can go on; if not, it has ended."""
        edge, _ = self._paths.follow(node, plan)
        if edge >= 0 or self._open_at(-1 - edge).size:
            return True
        if edge < -1:
            self._paths.add(-1 - edge)
        return False

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


@compiled
def _swept(edges, nodes, beliefs, limits):  # type: ignore[no-untyped-def]
    last, sibling, became, child, another = edges
    standing, can_stop = nodes
    mean, deviation, unit = beliefs
    width, least = limits
    level, met = np.zeros(1, dtype=np.int64), np.full(standing.size, -1)
    depth = 0
    while least > 0.0 and level.size > 0:  # with least = 0, siblings look the same
        depth += 1
        found = []
        best, highest = -1, -np.inf
        for s in level:
            edge = last[s]
            while edge >= 0:
                t = child[edge]
                if became[edge] >= KNOWN and met[t] < depth:
                    met[t] = depth
                    found.append(t)
                if became[edge] == UNTAKEN and mean[edge] > highest:
                    best, highest = edge, mean[edge]
                edge = sibling[edge]
        if len(found) == 0:
            return best
        states = np.array(found)
        states = states[np.argsort(-standing[states], kind="mergesort")[:width]]
        goal = standing[states[-1]]
        best, highest = -1, least
        for s in level:
            added = goal - standing[s]
            if can_stop[s]:
                added = math.copysign(math.log1p(abs(added) / unit), added)
            edge = last[s]
            while edge >= 0:
                if became[edge] == UNTAKEN and not another[edge]:  # an iterator names any number of siblings
                    ahead = expected_improvement(mean[edge] - added, deviation[edge])
                    if ahead > highest:
                        best, highest = edge, ahead
                edge = sibling[edge]
        if best >= 0:
            return best
        level = states
    return -1
