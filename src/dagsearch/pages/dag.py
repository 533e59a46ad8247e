"""The best part of what was explored: the way to the best leaf, and where good leaves left it."""

import heapq
from collections.abc import Sequence
from typing import Any, NamedTuple

from dagsearch.pages.leaves import Part
from dagsearch.pages.record import Told

MOST = 3000
"""Number of evaluations, the best ones, that the drawing is made from."""
# Longest way, and largest number of states beside it that are shown at a depth.
_LONGEST, _BREADTH = 12, 4


class _Below(NamedTuple):
    """What was evaluated below a state."""

    best: float
    total: float
    leaves: int

    def described(self, sign: float) -> dict[str, Any]:
        return {"reward": sign * self.best, "mean": sign * self.total / self.leaves, "count": self.leaves}


def best_part(told: Sequence[Told], best: Told, order: Sequence[Part], sign: float) -> dict[str, Any]:
    """Nodes and edges: the decisions of the best leaf, one after another, and alternatives to each.

    Parameters
    ----------
    told : sequence of Told
        All evaluations; the best 3,000 of them are used.
    best : Told
        The best of them.
    order : sequence of Part
        Order in which the parts of a set are shown; those of a sequence keep their own.
    sign : float
        −1 if small rewards are good.
    """
    told = heapq.nlargest(MOST, told, key=lambda one: one.reward)
    way = best.parts if best.parts and best.parts[0].place else _sorted(best.parts, order)
    below, chosen = list(told), 0
    nodes: list[dict[str, Any]] = [
        {"id": 0, "label": "start", "depth": 0, "best": True, **_all(below).described(sign)}
    ]
    edges, parent = [], 0
    for depth, part in enumerate(way[:_LONGEST], start=1):
        taken = set(way[: depth - 1])
        options = _options(below, part, taken)
        others = sorted((other for other in options if other != part), key=lambda other: -options[other].best)
        for other in [part, *others[:_BREADTH]]:
            edges.append([parent, len(nodes)])
            if other == part:
                chosen = len(nodes)
            nodes.append(
                {
                    "id": len(nodes),
                    "label": str(other),
                    "depth": depth,
                    "best": other == part,
                    **options[other].described(sign),
                }
            )
        parent = chosen
        below = [one for one in below if part in one.parts]
    return {"nodes": nodes, "edges": edges, "more": max(0, len(way) - _LONGEST)}


def _sorted(parts: Sequence[Part], order: Sequence[Part]) -> list[Part]:
    rank = {part: place for place, part in enumerate(order)}
    return sorted(parts, key=lambda part: rank.get(part, len(rank)))


def _all(told: Sequence[Told]) -> _Below:
    rewards = [one.reward for one in told]
    return _Below(max(rewards), sum(rewards), len(rewards))


def _options(told: Sequence[Told], part: Part, taken: set[Part]) -> dict[Part, _Below]:
    """What could be chosen instead of a part, with what was evaluated below each."""
    rewards: dict[Part, list[float]] = {}
    for one in told:
        for other in one.parts:
            if other.place == part.place and other not in taken:
                rewards.setdefault(other, []).append(one.reward)
    return {other: _Below(max(found), sum(found), len(found)) for other, found in rewards.items()}
