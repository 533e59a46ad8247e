"""Which part of the search goes on. Every part begins anew, and has a model of its own rewards alone.

A part is left once it is more likely than not that as many evaluations again bring it nothing better, as the
forecast of its own rewards says: a new part with as many evaluations is better with probability 1/2. That
new part is better than all of k parts with probability 1 / (k + 1), so the best part is taken up again, and
goes on, where the forecast promises more than that.
"""

from collections.abc import Sequence

from dagsearch.data import Rewards
from dagsearch.forecasts import forecast, progress_of

# Number of evaluations below which no part is left: its model is still learning.
_SHORTEST = 200


def next_part(parts: Sequence[Rewards], present: int) -> int:
    """The number of the part that the next evaluation belongs to; that of a part without rewards is new."""
    begun = {number: part.best.reward for number, part in enumerate(parts) if part.best is not None}
    if present not in begun:
        return present
    best, fresh = max(begun, key=begun.__getitem__), 1.0 / (len(begun) + 1)
    if promise(parts[present]) >= (fresh if present == best else 0.5):
        return present
    if present != best and promise(parts[best]) >= fresh:
        return best
    return next((number for number in range(len(parts)) if number not in begun), len(parts))


def promise(part: Rewards) -> float:
    """Probability that as many evaluations again bring a part a better reward; 1 while it is too short."""
    own = [one for one in part.evaluations if one.asked]
    if len(own) < _SHORTEST:
        return 1.0
    progress = progress_of([one.reward for one in own], [one.predicted for one in own])
    return 0.0 if progress is None else forecast(progress, len(own)).chance
