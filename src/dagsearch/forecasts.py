"""A forecast of the best reward, from the record of a search.

| symbol | name | meaning |
|---|---|---|
| t | `rewards` | number of rewards so far |
| n | | number of further evaluations |
| r = log(1 + n / t) | | the resulting change of log t: searches improve about evenly in log t |
| b, s | `best`, `spread` | best reward, and standard deviation of all rewards |
| k, d | `improvements`, `gained` | number of improvements of the best reward since t / 2, and their sum |
| w | `since_best` | number of rewards since the best one |
| e | `error` | root mean square error of the last predictions, at most s |

The best reward improves with probability 1 − exp(−H), and then by an amount with an exponential distribution
of mean m:

    log H = a₀ + a₁ log r + a₂ log(k + ½) + a₃ log((w + 1) / t) + a₄ log t
    log (m / s) = c₀ + c₁ log r + c₂ log(d / s + 0.01) + c₃ log(e / s + 0.01)

The coefficients were fitted by maximum likelihood to runs on the problems of ``docs/results.md``.
``docs/calibration.md`` reports how often the intervals hold on problems left out of the fit. A Weibull
distribution instead of the exponential one has a fitted shape of 1.00. No gain is larger than three times the
distance between the best reward and the lower quartile.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dagsearch._internal.checks import check, is_budget
from dagsearch.results import Gaussian

# Probability that an interval contains the reward.
_LEVEL = 0.9
# Smallest number of rewards for a forecast.
_FEWEST = 5
FARTHEST = 9
"""Longest horizon at which forecasts were validated, as a multiple of the evaluations so far."""
# Largest number of predictions from which their error is computed.
_RECENT = 20
# Largest predicted gain, in distances between the best reward and the lower quartile. A few very bad rewards
# widen the spread, but not this distance.
_FARTHEST_GAIN = 3.0
# Keeps the logarithms of shares finite.
_SHARE = 0.01


# a₀ to a₄, and c₀ to c₃.
_HAZARD = (1.334, 0.835, 0.392, -0.172, -0.317)
_SIZE = (0.927, 0.59, 0.184, 0.852)


class Forecast(NamedTuple):
    """The best reward after further evaluations, in units of the reward."""

    evaluations: int
    """Number of further evaluations."""
    mean: float
    """Expected best reward."""
    low: float
    """Lower end of a 90 % interval; the best reward so far if it may well stay the best."""
    high: float
    """Upper end of that interval."""
    chance: float
    """Probability that the best reward improves at all."""


class Past(NamedTuple):
    """The inputs of a forecast, as named above, and the largest reward that it predicts."""

    rewards: int
    best: float
    spread: float
    improvements: int
    gained: float
    since_best: int
    error: float
    largest: float


def progress_of(
    rewards: Sequence[float], predicted: Sequence[Gaussian | None], largest: float = math.inf
) -> Past | None:
    """The inputs of a forecast; ``None`` with fewer than five rewards, or if all are equal.

    ``predicted`` holds the belief about each reward just before it. Forecasts do not exceed ``largest``.
    """
    told = np.asarray(rewards, dtype=np.float64)
    if len(told) < _FEWEST:
        return None
    spread = float(told.std())
    if not spread > 1e-12 * float(np.abs(told).max()):
        return None
    best = np.maximum.accumulate(told)
    half, recent = len(told) // 2, min(_RECENT, len(told) // 2)
    means = [belief.mean for belief in predicted[-recent:] if belief is not None]
    last = told[-recent:]
    errors = last[-len(means) :] - np.array(means) if len(means) > 2 else last - last.mean()
    return Past(
        len(told),
        float(best[-1]),
        spread,
        int((np.diff(best[half - 1 :]) > 0.0).sum()),
        float(best[-1] - best[half - 1]),
        len(told) - 1 - int(np.argmax(told)),
        min(float(np.sqrt(np.mean(errors**2))), spread),
        min(largest, float(best[-1] + _FARTHEST_GAIN * (best[-1] - np.quantile(told, 0.25)))),
    )


def forecast(progress: Past, n: int) -> Forecast:
    """The best reward after ``n`` further evaluations."""
    check(is_budget(n), "n", "a positive whole number of evaluations", n)
    t, spread = progress.rewards, progress.spread
    r, k, since = math.log1p(n / t), progress.improvements + 0.5, (progress.since_best + 1) / t
    shares = progress.gained / spread + _SHARE, progress.error / spread + _SHARE
    hazard = math.exp(min(np.dot(_HAZARD, [1.0, *np.log([r, k, since, t])]), 50.0))
    size = spread * math.exp(min(np.dot(_SIZE, [1.0, *np.log([r, *shares])]), 50.0))
    stays = math.exp(-hazard)
    tail = (1.0 - _LEVEL) / 2.0

    def gain(probability: float) -> float:
        """Quantile of the gain."""
        if probability <= stays:
            return 0.0
        return -size * (math.log1p(-probability) - math.log1p(-stays))

    # If the best reward may well stay, the interval begins there, and only its upper end can be wrong.
    low, high = (0.0, gain(_LEVEL)) if stays >= tail else (gain(tail), gain(1.0 - tail))
    b, chance = progress.best, -math.expm1(-hazard)
    mean, low, high = (min(b + more, progress.largest) for more in (chance * size, low, high))
    return Forecast(int(n), mean, low, high, chance)
