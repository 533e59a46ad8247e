"""Choice of the next path, if paths end: a Gaussian process over whole paths.

    k(p, p′) = share of the places with equal actions, alone and together with the place before,
               and the cosine between the counts of actions.

Candidates are good paths with one action replaced or inserted. They are rated by expected improvement over
the square root of the number of new steps, because deviations grow at this rate: per step, changes at the end
would always win. Steps that were taken before are free.
"""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.costly.edges import DRAWN, KNOWN, PENDING, UNTAKEN, Edges
from dagsearch.costly.model import expected_improvement

# Weights of equal places, of equal pairs of places, of equal actions anywhere, and of the independent part.
_PLACES, _PAIRS, _ANYWHERE, _ALONE = 0.5, 0.25, 0.25, 0.05
# Number of best paths that the process is fitted to, and of new ones that it rates at a time.
_KEPT, _RATED = 100, 60
# Number of paths close to which an open edge is looked for.
_LOOKED_AT = 2
# Probability that a new path is close to the best one; the next best has the same share of the rest.
_BEST: Final = 0.8


class Paths:
    """The completed paths, and the choice of the next one."""

    def __init__(self, edges: Edges) -> None:
        self._edges = edges
        self._found: dict[tuple[int, ...], tuple[float, list[int]]] = {}
        """Value and edges of every path, by the numbers of its actions."""
        self._growing: dict[int, tuple[int, ...]] = {}

    def add(self, node: int, branch: int | None = None) -> None:
        """A path has come to its end at a node; its value is the best that stopping on it earns.

        The best path of a branch takes the place of what it was before.
        """
        edges = self._edges
        path = edges.path_to(node)
        nodes, actions = edges.child[path], tuple([edges.number(edge) for edge in path])
        value = float((edges.reach[nodes] + edges.stop[nodes]).max(initial=-math.inf))
        if branch is not None:
            self._found.pop(self._growing.get(branch, ()), None)
            self._growing[branch] = actions
        if math.isfinite(value):
            self._found[actions] = value, path

    def choose(self, rng: np.random.Generator) -> tuple[int, tuple[int, ...]] | None:
        """An open edge and the numbers of the actions after it; ``None`` if there is no candidate."""
        ranked = sorted(self._found, key=lambda path: -self._found[path][0])
        if not ranked:
            return None
        first = min(int(rng.geometric(_BEST)) - 1, len(ranked) - 1)
        for path in (ranked[first:] + ranked[:first])[:_LOOKED_AT]:
            if close := self._close(path, rng):
                rated = self._improvements([plan for plan, _, _ in close])
                rated -= 0.5 * np.log([len(plan) - place for plan, _, place in close])
                plan, edge, place = close[int(rng.choice(np.flatnonzero(rated == rated.max())))]
                return edge, plan[place + 1 :]
        return None

    def _close(
        self, path: tuple[int, ...], rng: np.random.Generator
    ) -> list[tuple[tuple[int, ...], int, int]]:
        """Paths with one action replaced or inserted, each with its first open edge and the edge's place."""
        edges = self._edges
        once = all(len(set(other)) == len(other) for other in self._found)  # no action is taken twice
        changes = []
        for place, edge in enumerate(self._found[path][1]):
            node = int(edges.node[edge])
            changes += [(place, node, one, more) for one in edges.leaving[node] for more in (0, 1)]
        found = {}
        for chosen in rng.permutation(len(changes)).tolist():
            place, node, edge, more = changes[chosen]  # 1 where the action is inserted
            number = edges.number(edge)
            rest = [one for one in path[place + 1 - more :] if one < DRAWN and not (once and one == number)]
            plan = (*path[:place], number, *rest)[: len(path)]
            if edges.became[edge] >= KNOWN:
                edge, place = self.follow(int(edges.child[edge]), plan, place + 1)
            if edge >= 0 and edges.became[edge] == UNTAKEN:
                found[edge, plan] = (plan, edge, place)
            if len(found) == _RATED:
                break
        return list(found.values())

    def follow(self, node: int, plan: Sequence[int], place: int = 0) -> tuple[int, int]:
        """The first open or pending edge of a plan from a node on, and its place.

        Unavailable actions are skipped. Without such an edge, it is −1 − node, with the node at the end.
        """
        edges = self._edges
        while place < len(plan):
            edge = edges.at.get((node, plan[place]), -1)
            if edge >= 0 and edges.became[edge] <= PENDING:
                return edge, place
            if edge >= 0 and edges.became[edge] >= KNOWN:
                node = int(edges.child[edge])
            place += 1
        return -1 - node, place

    def _improvements(self, plans: Sequence[tuple[int, ...]]) -> FloatArray:
        """Logarithm of the expected improvement on the best path."""
        known = sorted(self._found, key=lambda path: -self._found[path][0])[:_KEPT]
        values = np.array([self._found[path][0] for path in known])
        length = max(map(len, (*known, *plans)))
        old, new = _as_array(known, length), _as_array(plans, length)
        gram = _alike(old, old) + _ALONE * np.eye(len(known))
        cross = _alike(new, old)
        solved = np.linalg.solve(gram, np.column_stack([values, np.ones(len(known)), cross.T]))
        mean = float(solved[:, 0].sum() / solved[:, 1].sum())
        left = solved[:, 0] - mean * solved[:, 1]
        scale = (float((values - mean) @ left) + 0.5 * float(values.var())) / (len(known) + 0.5)
        variance = _PLACES + _PAIRS + _ANYWHERE + _ALONE - np.einsum("ij,ji->i", cross, solved[:, 2:])
        deviation = np.sqrt(np.maximum(scale * variance, 1e-300))
        improvement = expected_improvement(mean + cross @ left - self._edges.best, deviation)
        return np.asarray(np.log(np.maximum(improvement, 1e-300)))


def _as_array(paths: Sequence[tuple[int, ...]], length: int) -> IntArray:
    """The paths as rows; −1 after their end."""
    return np.array([(*path, *[-1] * (length - len(path))) for path in paths])


def _alike(one: IntArray, other: IntArray) -> FloatArray:
    """k between all rows of two arrays of paths."""
    same = (one[:, None] == other) & (other >= 0)
    places = same.mean(axis=-1)
    pairs = (same[..., 1:] & same[..., :-1]).mean(axis=-1) if one.shape[1] > 1 else places
    actions = np.unique(np.concatenate([[-1], one.ravel(), other.ravel()]))  # −1 is none
    counts = []
    for paths in (one, other):
        count = np.zeros((len(paths), actions.size))
        np.add.at(count, (np.arange(len(paths))[:, None], np.searchsorted(actions, paths)), 1.0)
        counts.append(count[:, 1:])
    units = [count / np.linalg.norm(count, axis=1, keepdims=True) for count in counts]
    return np.asarray(_PLACES * places + _PAIRS * pairs + _ANYWHERE * units[0] @ units[1].T)
