"""The best part of what was explored: the way to the best leaf, and where good leaves left it."""

import heapq
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from dagsearch.report.parts import Part, Shown

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


def best_part(
    told: Sequence[Shown], way: Sequence[Part], sign: float, by_count: bool = False
) -> dict[str, Any]:
    """Nodes and edges: decisions one after another, and alternatives to each.

    Parameters
    ----------
    told : sequence of Shown
        The evaluations.
    way : sequence of Part
        The decisions, such as those of the best leaf.
    sign : float
        −1 if small rewards are good.
    by_count : bool
        Whether the alternatives are those that were evaluated most often, as in a game, rather than those
        with the best rewards.
    """
    below, chosen = list(told), 0
    nodes: list[dict[str, Any]] = [
        {"id": 0, "label": "start", "depth": 0, "best": True, **_all(below).described(sign)}
    ]
    edges, parent = [], 0
    for depth, part in enumerate(way[:_LONGEST], start=1):
        taken = set(way[: depth - 1])
        options = _options(below, part, taken)
        others = sorted(
            (other for other in options if other != part),
            key=lambda other: -options[other].leaves if by_count else -options[other].best,
        )
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


def best_told(told: Sequence[Shown]) -> list[Shown]:
    """The best 3,000 evaluations."""
    return heapq.nlargest(MOST, told, key=lambda one: one.reward)


def decisions(leaf: Shown, order: Sequence[Part]) -> list[Part]:
    """The parts of a leaf in the order in which they are shown: a sequence's own, else a given one."""
    if leaf.parts and leaf.parts[0].place:
        return leaf.parts
    rank = {part: place for place, part in enumerate(order)}
    return sorted(leaf.parts, key=lambda part: rank.get(part, len(rank)))


def main_line(told: Sequence[Shown]) -> list[Part]:
    """The moves of a game that were evaluated most often, one after another."""
    line: list[Part] = []
    below = list(told)
    while below:
        moves = Counter(one.parts[len(line)] for one in below if len(one.parts) > len(line))
        if not moves:
            break
        line.append(moves.most_common(1)[0][0])
        below = [one for one in below if one.parts[: len(line)] == line]
    return line


def _all(told: Sequence[Shown]) -> _Below:
    rewards = [one.reward for one in told]
    return _Below(max(rewards), sum(rewards), len(rewards))


def _options(told: Sequence[Shown], part: Part, taken: set[Part]) -> dict[Part, _Below]:
    """What could be chosen instead of a part, with what was evaluated below each."""
    rewards: dict[Part, list[float]] = {}
    for one in told:
        for other in one.parts:
            if other.place == part.place and other not in taken:
                rewards.setdefault(other, []).append(one.reward)
    return {other: _Below(max(found), sum(found), len(found)) for other, found in rewards.items()}
