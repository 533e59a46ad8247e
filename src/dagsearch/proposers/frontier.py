"""Proposes the costly step to take next."""

import math
import zlib
from typing import NamedTuple

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray
from dagsearch.posterior.steps import RARE, StepBelief
from dagsearch.problem import Edge
from dagsearch.results import StepProposal
from dagsearch.values.steps import KNOWN, NEW, PENDING, UNTAKEN, Steps

# Number of steps without an improvement after which a part of the search has dried up: of the first part, of
# later ones, for each step that it took to its best, and at most.
_FIRST, _LATER, _SHARE, _MOST = 25.0, 12.0, 0.2, 100.0
# Probability that a new part begins on the best path of all; the next best has the same share of the rest.
_BEST = 0.8


class Part:
    """A part of the search: the states that were reached after one step away from what was known before."""

    def __init__(self) -> None:
        self.tries, self.improved = 0, 0
        """Number of steps taken in it, and how many it were at its last improvement."""
        self.best, self.node = -math.inf, 0
        """What its best path earns, and where that ends."""

    def is_dry(self, first: bool) -> bool:
        """Whether improvements have dried up."""
        patience = (_FIRST if first else _LATER) + _SHARE * self.improved
        return self.tries - self.improved > min(patience, _MOST)


class Walk(NamedTuple):
    """A path that is being completed, because only its end tells what it is worth."""

    node: int
    """Where it has come to."""
    tail: tuple[int, ...]
    """Numbers of the actions that are taken next, as on the path that it has left; random ones follow."""

    def forward(self, steps: Steps) -> "tuple[Walk, int]":
        """The walk as far as it leads along known steps, and the slot that is next; −1 if a random one is.

        The slot may be pending: this walk's own, or another's that this one has to wait for.
        """
        node, tail = self
        while tail:
            action, tail = tail[0], tail[1:]
            slots = steps.slots_of(node)
            slots = slots[steps.slot_action[slots] == action]
            if slots.size == 0:  # not offered here
                continue
            slot = int(slots[0])
            if steps.slot_became[slot] in (UNTAKEN, PENDING):
                return Walk(node, tail), slot
            if steps.slot_became[slot] in (NEW, KNOWN):
                node = int(steps.slot_child[slot])
        return Walk(node, ()), -1


class Frontier:
    """Proposes the step with the largest expected improvement per cost.

    Where one can stop after every step, improvements near the best state dry up long before better states are
    exhausted. A part of the search that has dried up is left: a step that was not taken on the best path
    begins a new part, and steps from its best states are then chosen to improve on them. What was learnt of
    the actions makes it grow much faster than the first.

    Where one can stop only at the end, and neither gains nor a prior show what that is worth, the belief over
    steps cannot tell good ones. There, good paths are changed: a step that was not taken on one begins a new
    path, which goes on as the old one did, or at random. Without a prior, so does the first path.
    """

    def __init__(self) -> None:
        self._parts = [Part()]
        self._active = 0
        self._of_node = np.zeros(64, dtype=np.int64)
        self._beginnings: set[int] = set()  # pending slots that begin a new part
        self._walks: list[Walk] = []  # that go on with the next proposal
        self._walking: dict[int, tuple[int, ...]] = {}  # tails of walks whose next slot is pending

    def propose(self, steps: Steps, belief: StepBelief, rng: np.random.Generator) -> StepProposal | None:
        """A step that is pending from now on; ``None`` if none is left."""
        while steps.open.any():
            slot = self._walked(steps, rng)
            begins = slot is None and self._leaves(steps)
            if begins:
                slot = self._beginning(steps, belief, rng)
                begins = slot is not None
            if slot is None:
                improvements = belief.improvements(self.goals(steps))
                best = np.flatnonzero(improvements == improvements.max())
                slot = int(best[0] if best.size == 1 else best[rng.integers(best.size)])
            if steps.draw(slot):
                return self.chosen(steps, slot, begins)
        return None

    def chosen(self, steps: Steps, slot: int, begins: bool) -> StepProposal:
        """The proposal of a slot that was drawn; ``begins`` says whether it begins a new part."""
        if begins:
            self._beginnings.add(slot)
        if self._changes_paths(steps):
            self._walking[slot] = self._tail(steps, slot) if begins else self._taken_up(steps, slot)
            if begins:  # because no walk could go on
                self._walks.clear()
        node, action = int(steps.slot_node[slot]), steps.action(slot)
        way = (*steps.way_to(node), action)
        return StepProposal(Edge(steps.graph.states[node], action), way, slot=slot, begins=begins)

    def learn(self, steps: Steps, slot: int) -> None:
        """A step was taken or has failed."""
        part = int(self._of_node[steps.slot_node[slot]])
        self._parts[part].tries += 1
        begins = slot in self._beginnings
        self._beginnings.discard(slot)
        child, became = int(steps.slot_child[slot]), int(steps.slot_became[slot])
        if (tail := self._walking.pop(slot, None)) is not None:
            self._walks.append(Walk(child if became in (NEW, KNOWN) else int(steps.slot_node[slot]), tail))
        if became != NEW:
            return
        self._of_node = grown(self._of_node, child + 1)
        if begins:
            part = self._active = len(self._parts)
            self._parts.append(Part())
        self._of_node[child] = part
        total, own = float(steps.reach[child] + steps.graph.stop[child]), self._parts[part]
        if total > own.best:
            own.best, own.node, own.improved = total, child, own.tries

    def goals(self, steps: Steps) -> FloatArray:
        """What a step from each node is to improve on: the best of the active part, nothing elsewhere.

        Later parts go on from their best states only: what the actions do is known by then, and the first
        part has tried them in other states.
        """
        nodes = len(steps.graph)
        if not self._has_parts(steps):
            return np.full(nodes, steps.best)
        active = self._of_node[:nodes] == self._active
        slots = steps.slot_node[: steps.slots][steps.open]
        if not active[slots].any():  # all was tried there: the search goes on anywhere
            return np.full(nodes, steps.best)
        best = self._parts[self._active].best
        if self._active == 0:
            return np.where(active, max(best, float(steps.graph.stop[0])), np.inf)
        top = active & (steps.reach[:nodes] + steps.graph.stop[:nodes] >= best)
        return np.where(top if top[slots].any() else active, best, np.inf)

    def _has_parts(self, steps: Steps) -> bool:
        """Whether one can stop somewhere and go on."""
        return bool(np.isfinite(steps.graph.stop[steps.slot_node[0]])) if steps.slots else False

    def _leaves(self, steps: Steps) -> bool:
        """Whether the active part has dried up, and no step is on its way that begins another."""
        if self._changes_paths(steps):
            return True
        return (
            self._has_parts(steps)
            and not self._beginnings
            and self._parts[self._active].is_dry(self._active == 0)
        )

    # Where only ends tell ----------------------------------------------------------------------------------

    def _changes_paths(self, steps: Steps) -> bool:
        """Whether only the end of a path tells what it is worth, or nothing is known to go by yet."""
        return (
            not self._has_parts(steps)
            and not steps.has_prior
            and (steps.ends_tell or not math.isfinite(steps.best))
        )

    def _walked(self, steps: Steps, rng: np.random.Generator) -> int | None:
        """The next slot of the first walk that can go on."""
        for walk in self._walks:
            walk, slot = walk.forward(steps)
            slots = np.array([slot]) if slot >= 0 else steps.slots_of(walk.node)
            slots = slots[steps.open[slots]]
            if slots.size:
                return int(rng.choice(slots))
        return None

    def _taken_up(self, steps: Steps, slot: int) -> tuple[int, ...]:
        """What is left of the tail of the walk that goes on by a slot; those before it have ended."""
        while self._walks:
            walk, following = self._walks.pop(0).forward(steps)
            if following in (slot, -1) and walk.node == steps.slot_node[slot]:
                return walk.tail
        return ()

    def _tail(self, steps: Steps, slot: int) -> tuple[int, ...]:
        """The actions after a slot that begins a new path.

        A third of them each go on at random, with the rest of the best path through there, and with that
        after the step that is replaced. It depends on nothing but the known steps, so that a resumed search
        goes on alike.
        """
        node, way = int(steps.slot_node[slot]), zlib.crc32(str(slot).encode()) % 3
        for part in self._ranked() if way else ():
            nodes = steps.nodes_to(part.node)
            if node in nodes:
                place = nodes.index(node) + (way == 2)
                return tuple(int(steps.slot_action[by]) for by in steps.by[nodes[1:]][place:])
        return ()

    def _ranked(self) -> list[Part]:
        """The parts, the best one first."""
        return sorted(self._parts, key=lambda part: -part.best)

    def _beginning(self, steps: Steps, belief: StepBelief, rng: np.random.Generator) -> int | None:
        """A step that was not taken on a good path and probably changes something, at a random place."""
        ranked = self._ranked()
        part = ranked[min(int(rng.geometric(_BEST)) - 1, len(ranked) - 1)]
        on_path = np.zeros(len(steps.graph), dtype=np.bool_)
        on_path[steps.nodes_to(part.node)] = True
        slots = np.flatnonzero(steps.open)
        slots = slots[on_path[steps.slot_node[slots]]]
        if slots.size == 0:
            return None
        node, kind = steps.slot_node[slots], belief.slot_kind[slots]
        weight = np.clip(belief.change.at(kind, node)[0], RARE, 1.0)
        weight /= np.bincount(node, weight)[node]
        return int(rng.choice(slots, p=weight / weight.sum()))

    def __repr__(self) -> str:
        return "Frontier()"
