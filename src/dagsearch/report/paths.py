"""The path to the best solution, with what was evaluated instead of each decision."""

from collections.abc import Sequence
from typing import Any

from dagsearch.report.parts import Part, Shown

# Largest number of alternatives to a decision that are shown.
_BREADTH = 3


def path_to(told: Sequence[Shown], way: Sequence[Part], sign: float) -> list[dict[str, Any]]:
    """Decisions one after another, each with the best alternatives after the same earlier decisions.

    Parameters
    ----------
    told : sequence of Shown
        The evaluations.
    way : sequence of Part
        The decisions, such as those of the best leaf.
    sign : float
        −1 if small rewards are good.
    """
    below, steps = list(told), []
    for part in way:
        rewards: dict[Part, list[float]] = {part: []}
        for one in below:
            instead = [other for other in one.parts if other.place == part.place and other not in way]
            for other in [part] if part in one.parts else instead:
                rewards.setdefault(other, []).append(one.reward)
        first = rewards.pop(part)
        others = sorted(rewards, key=lambda other: -max(rewards[other]))[:_BREADTH]
        described = [_described(other, rewards[other], sign) for other in others]
        steps.append({**_described(part, first, sign), "others": described})
        below = [one for one in below if part in one.parts]
    return steps


def _described(part: Part, rewards: Sequence[float], sign: float) -> dict[str, Any]:
    mean = sign * sum(rewards) / len(rewards)
    return {"label": str(part), "best": sign * max(rewards), "mean": mean, "count": len(rewards)}
