"""Which part of the search goes on. Every part begins anew, and has a model of its own rewards alone.

A part that is not the best one goes on as long as it was ahead of the best one after as many evaluations.
So a new part becomes the best of k + 1 with probability 1 / (k + 1), and takes as long as the best one with
this probability only. The best part goes on as long as its forecast promises a better reward with a larger
probability, within as many evaluations as a new part takes on average.
"""

from collections.abc import Sequence

from dagsearch.data import Rewards
from dagsearch.forecasts import forecast, progress_of
from dagsearch.results import Evaluation

# Number of evaluations below which no part is left: its model is still learning.
_SHORTEST = 200


def next_part(parts: Sequence[Rewards], present: int) -> int:
    """The number of the part that the next evaluation belongs to; that of a part without rewards is new."""
    reached = {number: part.best.reward for number, part in enumerate(parts) if part.best is not None}
    if present not in reached:
        return present
    best = max(reached, key=reached.__getitem__)
    if present != best and _is_ahead(_own(parts[present]), _own(parts[best])):
        return present
    if promise(parts[best], len(reached) + 1) >= 1.0 / (len(reached) + 1):
        return best
    return next((number for number in range(len(parts)) if number not in reached), len(parts))


def _own(part: Rewards) -> list[Evaluation]:
    """What the part itself has asked for."""
    return [one for one in part.evaluations if one.asked]


def _is_ahead(own: Sequence[Evaluation], others: Sequence[Evaluation]) -> bool:
    """Whether a part is as good as another one was after as many evaluations, or is too short to say."""
    others = others[: len(own)]
    return len(own) < _SHORTEST or max(one.reward for one in own) >= max(one.reward for one in others)


def promise(part: Rewards, share: int) -> float:
    """Probability that a ``share`` of its number of evaluations brings a part a better reward.

    1 while the part is too short to say.
    """
    own = _own(part)
    if len(own) < _SHORTEST:
        return 1.0
    progress = progress_of([one.reward for one in own], [one.predicted for one in own])
    return 0.0 if progress is None else forecast(progress, max(_SHORTEST, len(own) // share)).chance
