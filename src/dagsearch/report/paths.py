"""The path to the best solution, with what was evaluated instead of each decision."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from dagsearch.report.parts import Part, Shown

# Largest number of alternatives to a decision that are shown.
_BREADTH = 3


def path_to(
    told: Sequence[Shown], way: Sequence[Part], sign: float, by_count: bool = False
) -> list[dict[str, Any]]:
    """Decisions one after another, each with the alternatives after the same earlier decisions.

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
    below, steps = list(told), []
    for part in way:
        rewards: dict[Part, list[float]] = {part: []}
        for one in below:
            instead = [other for other in one.parts if other.place == part.place and other not in way]
            for other in [part] if part in one.parts else instead:
                rewards.setdefault(other, []).append(one.reward)
        first = rewards.pop(part)
        others = sorted(rewards, key=lambda other: -(len if by_count else max)(rewards[other]))[:_BREADTH]
        described = [_described(other, rewards[other], sign) for other in others]
        steps.append({**_described(part, first, sign), "others": described})
        below = [one for one in below if part in one.parts]
    return steps


def _described(part: Part, rewards: Sequence[float], sign: float) -> dict[str, Any]:
    best = sign * max(rewards) if rewards else None
    mean = sign * sum(rewards) / len(rewards) if rewards else None
    return {"label": str(part), "best": best, "mean": mean, "count": len(rewards)}


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
