"""Where a descent goes (section 3.3)."""

import math
from typing import Protocol

import numpy as np

from dagsearch._internal.checks import checked_constant
from dagsearch._internal.compiled import compiled
from dagsearch._internal.parts import Configured
from dagsearch._internal.typing import FloatArray
from dagsearch.proposers.expansions import Options


class Policy(Protocol):
    """Rates the options at a node; the descent takes the best, ties broken at random.

    Options show values from the point of view of the player who decides: the largest is best at either turn.
    """

    def rate(self, options: Options) -> FloatArray:
        """The priority of every option."""

    def value(self, options: Options) -> FloatArray:
        """The estimated value of every option."""
        return options.mean


class UpperConfidence(Configured, Policy):
    """Mean value plus a bonus for uncertainty: ``μ + β sqrt(log(n) σ²)``.

    ``n`` counts the visits of the node that decides. Hence:

    - at a node's first visit, log(1) = 0, the option with the best mean is taken;
    - the bonus grows with the node's visits, but only an option's own uncertainty earns it;
    - at a MIN node the smallest ``μ − β sqrt(log(n) σ²)`` is taken, as the options' means are negated there.

    Parameters
    ----------
    beta : float
        Exploration constant β ≥ 0.
    """

    def __init__(self, beta: float) -> None:
        self.beta = checked_constant("beta", beta)

    def rate(self, options: Options) -> FloatArray:
        """``μ + β sqrt(log(n) σ²)`` of every option."""
        width = self.beta * math.sqrt(math.log(options.visits))
        return _upper_bounds(options.mean, options.variance, width)


@compiled
def _upper_bounds(mean: FloatArray, variance: FloatArray, width: float) -> FloatArray:
    return mean + width * np.sqrt(variance)
