"""Proposes the costly step to take next."""

import math

import numpy as np

from dagsearch._internal.arrays import grown
from dagsearch._internal.typing import FloatArray
from dagsearch.posterior.steps import StepBelief
from dagsearch.problem import Edge
from dagsearch.results import StepProposal
from dagsearch.values.steps import NEW, Steps

# Number of steps without an improvement after which a part of the search has dried up: of the first part, of
# later ones, for each step that it took to its best, and at most.
_FIRST, _LATER, _SHARE, _MOST = 25.0, 12.0, 0.2, 100.0
# Probability that a new part begins on the best path of all; the next best has the same share of the rest.
_BEST = 0.8
# Weight of a step that is believed to change nothing, where a new part begins.
_STILL = 0.1


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


class Frontier:
    """Proposes the step with the largest expected improvement per cost.

    Where one can stop after every step, improvements near the best state dry up long before better states are
    exhausted. A part of the search that has dried up is left: a step that was not taken on the best path
    begins a new part, and steps are then chosen to improve on the best of that part. What was learnt of the
    actions makes it grow much faster than the first.
    """

    def __init__(self) -> None:
        self._parts = [Part()]
        self._active = 0
        self._of_node = np.zeros(64, dtype=np.int64)
        self._beginnings: set[int] = set()  # pending slots that begin a new part

    def propose(self, steps: Steps, belief: StepBelief, rng: np.random.Generator) -> StepProposal | None:
        """A step that is pending from now on; ``None`` if none is left."""
        while steps.open.any():
            slot = self._beginning(steps, belief, rng) if self._leaves(steps) else None
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
        node, action = int(steps.slot_node[slot]), steps.action(slot)
        way = (*steps.way_to(node), action)
        return StepProposal(Edge(steps.graph.states[node], action), way, slot=slot, begins=begins)

    def learn(self, steps: Steps, slot: int) -> None:
        """A step was taken or has failed."""
        part = int(self._of_node[steps.slot_node[slot]])
        self._parts[part].tries += 1
        begins = slot in self._beginnings
        self._beginnings.discard(slot)
        if steps.slot_became[slot] != NEW:
            return
        child = int(steps.slot_child[slot])
        self._of_node = grown(self._of_node, child + 1)
        if begins:
            part = self._active = len(self._parts)
            self._parts.append(Part())
        self._of_node[child] = part
        total, own = float(steps.reach[child] + steps.graph.stop[child]), self._parts[part]
        if total > own.best:
            own.best, own.node, own.improved = total, child, own.tries

    def goals(self, steps: Steps) -> FloatArray:
        """What a step from each node is to improve on: the best of the active part, nothing elsewhere."""
        nodes = len(steps.graph)
        if not self._has_parts(steps):
            return np.full(nodes, steps.best)
        active = self._of_node[:nodes] == self._active
        slots = steps.slot_node[: steps.slots][steps.open]
        if not active[slots].any():  # all was tried there: the search goes on anywhere
            return np.full(nodes, steps.best)
        best = max(
            self._parts[self._active].best, float(steps.graph.stop[0]) if self._active == 0 else -math.inf
        )
        return np.where(active, best, np.inf)

    def _has_parts(self, steps: Steps) -> bool:
        """Whether one can stop somewhere and go on."""
        return bool(np.isfinite(steps.graph.stop[steps.slot_node[0]])) if steps.slots else False

    def _leaves(self, steps: Steps) -> bool:
        """Whether the active part has dried up, and no step is on its way that begins another."""
        return (
            self._has_parts(steps)
            and not self._beginnings
            and self._parts[self._active].is_dry(self._active == 0)
        )

    def _beginning(self, steps: Steps, belief: StepBelief, rng: np.random.Generator) -> int | None:
        """A step that was not taken on a good path, each place on the path being equally likely."""
        ranked = sorted(self._parts, key=lambda part: -part.best)
        part = ranked[min(int(rng.geometric(_BEST)) - 1, len(ranked) - 1)]
        on_path = np.zeros(len(steps.graph), dtype=np.bool_)
        on_path[steps.nodes_to(part.node)] = True
        slots = np.flatnonzero(steps.open)
        slots = slots[on_path[steps.slot_node[slots]]]
        if slots.size == 0:
            return None
        node, kind = steps.slot_node[slots], belief.slot_kind[slots]
        new, changed = belief.change.at(kind, node)[0], np.abs(belief.effect.at(kind, node)[0])
        weight = np.clip(new, 0.02, 1.0) * (changed + _STILL)
        weight /= np.bincount(node, weight)[node]
        return int(rng.choice(slots, p=weight / weight.sum()))

    def __repr__(self) -> str:
        return "Frontier()"
