"""Which part of the search continues. Each part starts afresh and models its own rewards alone.

A new part becomes the best of k + 1 with probability 1 / (k + 1), and takes as long as the best one with
about this probability only. The best part continues while its forecast promises a better reward with a larger
probability within as many evaluations. Other parts follow the median stopping rule of Golovin et al. ("Google
Vizier", 2017): they stop at 400, 800, 1,600, … evaluations if they are behind the median at the same age.
"""

from collections.abc import Sequence
from statistics import median

from dagsearch.data import Part
from dagsearch.forecasts import forecast, progress_of

# Smallest age at which a part may stop, because its model is still learning. With 200, six of 23 runs on
# problems of `benchmark long` were behind after 500 evaluations and one ahead; after 1,000 they were level.
_SHORTEST = 400


def next_part(parts: Sequence[Part], present: int) -> int:
    """The part of the next evaluation; the number of a part without rewards if a new one begins."""
    reached = {number: part.best.reward for number, part in enumerate(parts) if part.best is not None}
    if present not in reached:
        return present
    best = max(reached, key=reached.__getitem__)
    if present != best and not _is_behind(present, best, parts):
        return present
    if promise(parts[best], len(reached) + 1) >= 1.0 / (len(reached) + 1):
        return best
    return next((number for number in range(len(parts)) if number not in reached), len(parts))


def _is_behind(number: int, best: int, parts: Sequence[Part]) -> bool:
    """Whether a part was, at its last milestone, behind the median of the best part and others as old."""
    own = [[one.reward for one in part.own] for part in parts]
    if len(own[number]) < _SHORTEST:
        return False
    age = _SHORTEST << (len(own[number]) // _SHORTEST).bit_length() - 1
    others = {other for other, one in enumerate(own) if len(one) >= age} - {number} | {best}
    return max(own[number][:age]) < median(max(own[other][:age]) for other in others)


def promise(part: Part, share: int) -> float:
    """Probability of a better reward of a part within its number of evaluations divided by ``share``.

    1 for a part that is too short to judge.
    """
    own = part.own
    if len(own) < _SHORTEST:
        return 1.0
    progress = progress_of([one.reward for one in own], [one.predicted for one in own])
    return 0.0 if progress is None else forecast(progress, max(_SHORTEST, len(own) // share)).chance
